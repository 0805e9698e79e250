//===- BlockScheduling.h - Blocks of scheduling passes ----------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A pass that reorders operations does so block by block. Here are the list of
// these blocks and the remark on a block that keeps its order because the pass
// lacks a fact on it.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_TRANSFORMS_BLOCKSCHEDULING_H
#define COMMSCHED_LIB_TRANSFORMS_BLOCKSCHEDULING_H

#include "CommSched/Analysis/Problem/BlockProblem.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Remarks.h"

namespace mlir::commsched {

/// The blocks of `function` that hold collectives themselves, inner ones
/// first. Linear in the operations.
SmallVector<Block *> getBlocksWithCollectives(func::FuncOp function);

/// Emits the remark `BlockKept`: a block of `function` keeps its order, for
/// `reason`. `location` is the operation or value that the reason is about.
/// Metrics may be added to the returned remark.
remark::detail::InFlightRemark
remarkBlockKept(func::FuncOp function, Location location, const Twine &reason);

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_TRANSFORMS_BLOCKSCHEDULING_H
