//===- BlockScheduling.h - What passes that order blocks share --*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A pass that reorders operations does so block by block: which blocks, what a
// block lacks that the pass needs to know, and the remark that it stays as it
// is for that reason.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_TRANSFORMS_BLOCKSCHEDULING_H
#define COMMSCHED_LIB_TRANSFORMS_BLOCKSCHEDULING_H

#include "CommSched/Analysis/BlockProblem.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Remarks.h"

namespace mlir::commsched {

class OperationCosts;

/// The blocks of `function` that hold collectives themselves, inner ones
/// first. Linear in the operations.
SmallVector<Block *> getBlocksWithCollectives(func::FuncOp function);

/// Why the costs of `block` are not all known: the first operation without one
/// and the value that it is missing for, as text for a remark. Nothing if they
/// are. `costs` must be what priced `block`.
std::optional<std::string> getUnpricedReason(const BlockProblem &block,
                                             OperationCosts &costs);

/// Why the sizes of `block` are not all known, as text for a remark: the first
/// value without one. Nothing if they are.
std::optional<std::string> getUnsizedReason(const BlockProblem &block);

/// Emits the remark `BlockKept`: a block of `function` keeps its order, for
/// `reason`. `location` is the operation or value that the reason is about.
/// Metrics may be added to what is returned.
remark::detail::InFlightRemark
remarkBlockKept(func::FuncOp function, Location location, const Twine &reason);

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_TRANSFORMS_BLOCKSCHEDULING_H
