//===- RegionMemory.h - Live bytes inside of operations ---------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What is live in the regions of an operation while it runs, and how that adds
// up with what is live around the operation.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_ANALYSIS_PROBLEM_REGIONMEMORY_H
#define COMMSCHED_ANALYSIS_PROBLEM_REGIONMEMORY_H

#include "CommSched/Schedule/Model/MemoryTimeline.h"
#include "mlir/IR/Operation.h"

namespace mlir::commsched {

/// The live bytes of the operations of `block` in program order, with what is
/// in their regions. Sizes that are not known count as 0; if the sum does not
/// fit 64 bits, the peak is INT64_MAX. Linear in the operations and operands,
/// those in regions once for each operation around them.
schedule::MemoryTimeline simulateBlockMemory(Block &block);

/// The bytes of what is live in `block`, a block in a region, that the block
/// around counts: arguments, or else results of the operation that holds it.
int64_t computeCountedBytes(Block &block);

/// The bytes that are live in the regions of `op` beyond those that its block
/// counts: the largest over its blocks. 0 for an operation without regions, or
/// one whose regions run for each element or in a way that is not known.
int64_t computeScratchBytes(Operation *op);

} // namespace mlir::commsched

#endif // COMMSCHED_ANALYSIS_PROBLEM_REGIONMEMORY_H
