//===- PinnedOperations.cpp - What runs once, and where -------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PinnedOperations.h"
#include "../Problem/MemoryDependences.h"
#include "CommSched/Analysis/Problem/CommunicationEffects.h"
#include "CommSched/Interfaces/CommSchedInterfaces.h"

using namespace mlir;
using namespace mlir::commsched;
using schedule::NodeId;
using schedule::NodeKind;

static bool communicatesOnce(Operation *op) {
  switch (getCommunicationEffect(op)) {
  case CommunicationEffect::None:
    return false;
  case CommunicationEffect::Start:
    return isPointToPoint(op);
  case CommunicationEffect::Wait: {
    Operation *start = cast<WaitOpInterface>(op).getStart();
    return !start || isPointToPoint(start);
  }
  case CommunicationEffect::Blocking:
  case CommunicationEffect::Unknown:
    return true;
  }
  llvm_unreachable("unknown communication effect");
}

namespace {

/// What the operations of a block write.
class Writes {
public:
  explicit Writes(const StorageAnalysis &storages)
      : storages(storages), accesses(storages),
        isWritten(storages.getStorages().size()) {}

  /// Whether `op` writes anything.
  bool visit(Operation *op, int32_t index) {
    bool writes = false;
    accesses.visit(op, index, [&](const MemoryAccess &access) {
      if (!access.isWrite)
        return;
      writes = true;
      anywhere |= access.isAnywhere();
      if (access.object != StorageAnalysis::none)
        isWritten[access.object] = 1;
    });
    return writes;
  }

  /// Whether an operation that was visited may write the storage of `value`.
  bool reach(Value value) const {
    int32_t index = storages.getStorage(value);
    if (index == StorageAnalysis::none)
      return false;
    const Storage &storage = storages.getStorages()[index];
    return isWritten[storage.object] || (anywhere && storage.isMemory);
  }

private:
  const StorageAnalysis &storages;
  MemoryAccesses accesses;
  /// By object.
  std::vector<char> isWritten;
  /// Whether nobody knows all that is written.
  bool anywhere = false;
};

} // namespace

PinnedOperations
mlir::commsched::findPinnedOperations(Block &block,
                                      const StorageAnalysis &storages) {
  // A problem that has no other dependences than those of memory.
  schedule::Problem problem;
  MemoryDependences dependences(problem, storages);
  Writes writes(storages);
  PinnedOperations result;
  for (Operation &op : getScheduledOperations(block)) {
    NodeId index = problem.addNode(NodeKind::Compute, /*costNs=*/0);
    dependences.visit(&op, index);
    result.isPinned.push_back(writes.visit(&op, index) ||
                              communicatesOnce(&op));
  }
  [[maybe_unused]] const OptionalError &error = problem.finalize();
  assert(!error && "dependences lead forwards");
  for (auto [index, op] : llvm::enumerate(getScheduledOperations(block))) {
    auto from = static_cast<NodeId>(index);
    for (const schedule::DependenceEnd &end : problem.successors(from)) {
      result.memoryOrder.emplace_back(from, end.node);
      result.isPinned[from] = result.isPinned[end.node] = 1;
    }
    if (llvm::any_of(op.getResults(),
                     [&](Value value) { return writes.reach(value); }))
      result.isPinned[from] = 1;
  }
  llvm::sort(result.memoryOrder);
  result.memoryOrder.erase(llvm::unique(result.memoryOrder),
                           result.memoryOrder.end());
  return result;
}
