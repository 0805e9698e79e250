//===- RegionMemory.cpp - Live bytes inside of operations -----------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Analysis/Problem/RegionMemory.h"
#include "CommSched/Analysis/Costs/RegionRuns.h"
#include "CommSched/Analysis/Problem/StorageAnalysis.h"
#include "llvm/Support/MathExtras.h"

#include <limits>

using namespace mlir;
using namespace mlir::commsched;
using schedule::MemoryTimeline;
using schedule::NodeId;
using schedule::NodeKind;
using schedule::Problem;

static constexpr int64_t tooMany = std::numeric_limits<int64_t>::max();

MemoryTimeline mlir::commsched::simulateBlockMemory(Block &block) {
  StorageAnalysis storages(block);
  Problem problem;
  for (Operation &op : getScheduledOperations(block)) {
    NodeId node = problem.addNode(NodeKind::Compute, /*costNs=*/0);
    if (int64_t bytes = computeScratchBytes(&op))
      problem.addBuffer(bytes, node, /*freed=*/true);
  }
  schedule::BufferId first = problem.numBuffers();
  for (const Storage &storage : storages.getStorages())
    problem.addBuffer(storage.bytes.value_or(0), storage.producer,
                      storage.freed);
  for (NodeId node = 0; node < problem.numNodes(); ++node)
    for (int32_t storage : storages.getUses(node))
      problem.addUse(first + storage, node);
  if (problem.finalize())
    return *simulateMemory(problem, problem.programOrder());
  MemoryTimeline overflow;
  overflow.allocatedBytes.assign(problem.numNodes(), tooMany);
  overflow.remainingBytes.assign(problem.numNodes(), tooMany);
  overflow.initialBytes = overflow.peakBytes = tooMany;
  return overflow;
}

/// The bytes of `values`, of those whose size is known.
static int64_t sumBytes(ValueRange values) {
  int64_t sum = 0;
  for (Value value : values)
    if (std::optional<int64_t> bytes = getStaticBytes(getSizedType(value));
        bytes && llvm::AddOverflow(sum, *bytes, sum))
      return tooMany;
  return sum;
}

int64_t mlir::commsched::computeCountedBytes(Block &block) {
  if (block.getNumArguments() == 0)
    return sumBytes(block.getParentOp()->getResults());
  int64_t sum = 0;
  StorageAnalysis storages(block);
  for (const Storage &storage : storages.getStorages()) {
    auto argument = dyn_cast<BlockArgument>(storage.root);
    if (storage.producer == StorageAnalysis::none && argument &&
        argument.getOwner() == &block &&
        llvm::AddOverflow(sum, storage.bytes.value_or(0), sum))
      return tooMany;
  }
  return sum;
}

int64_t mlir::commsched::computeScratchBytes(Operation *op) {
  if (op->getNumRegions() == 0 || isa<CollectiveOpInterface>(op))
    return 0;
  RegionUse use = getRegionUse(op);
  if (use == RegionUse::Element || use == RegionUse::Unknown)
    return 0;
  int64_t scratch = 0;
  for (Region &region : op->getRegions())
    for (Block &block : region)
      scratch = std::max(scratch, simulateBlockMemory(block).peakBytes -
                                      computeCountedBytes(block));
  return scratch;
}
