//===- ReinplaceableGathers.cpp - Gathers that can be done in place -------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Analysis/Fsdp/ReinplaceableGathers.h"
#include "CommSched/Analysis/Problem/StorageAnalysis.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace mlir::commsched;

/// The copy-in whose slice `gather` sends, or the first of several; null if it
/// sends none.
static AllGatherCopyInOp getCopyIn(AllGatherOp gather) {
  for (Value input : gather.getInputs()) {
    auto copyIn = input.getDefiningOp<AllGatherCopyInOp>();
    if (copyIn && input == copyIn.getSlice())
      return copyIn;
  }
  return {};
}

/// The obstacle that follows from the two operations alone.
static GatherObstacle findObstacle(AllGatherOp gather,
                                   AllGatherCopyInOp copyIn) {
  if (gather.getInputs().size() > 1)
    return GatherObstacle::Coalesced;
  if (gather->getBlock() != copyIn->getBlock())
    return GatherObstacle::OtherBlock;
  if (gather.getGroupAttr() != copyIn.getGroupAttr())
    return GatherObstacle::OtherGroup;
  if (gather.getFutureTypes().front() != copyIn.getBuffer().getType())
    return GatherObstacle::OtherType;
  return GatherObstacle::None;
}

namespace {

/// The uses of the storage of copy-ins' buffers in one block.
class BufferUses {
public:
  BufferUses(Block &block, ArrayRef<SliceGather *> gathers);

  /// Completes `gather`.
  void check(SliceGather &gather) const;

private:
  /// The operations of one object, as indices in the block, ascending.
  struct Object {
    SmallVector<int32_t> users;
    bool livesOn = false;
  };

  int32_t getObject(Value value) const {
    return storages.getStorages()[storages.getStorage(value)].object;
  }

  StorageAnalysis storages;
  SmallVector<Operation *> operations;
  /// By the object's index among storages.
  DenseMap<int32_t, Object> objects;
  /// Of each gather and its wait in the block.
  DenseMap<Operation *, int32_t> indexOf;
};

} // namespace

BufferUses::BufferUses(Block &block, ArrayRef<SliceGather *> gathers)
    : storages(block) {
  for (SliceGather *gather : gathers) {
    objects.try_emplace(getObject(gather->copyIn.getBuffer()));
    indexOf[gather->gather] = -1;
  }
  for (const Storage &storage : storages.getStorages())
    if (auto it = objects.find(storage.object); it != objects.end())
      it->second.livesOn |= !storage.freed;
  for (Operation &op : getScheduledOperations(block)) {
    auto index = static_cast<int32_t>(operations.size());
    operations.push_back(&op);
    if (auto it = indexOf.find(&op); it != indexOf.end())
      it->second = index;
    for (int32_t storage : storages.getUses(index)) {
      auto it = objects.find(storages.getStorages()[storage].object);
      if (it != objects.end())
        it->second.users.push_back(index);
    }
  }
}

void BufferUses::check(SliceGather &gather) const {
  int32_t index = getObject(gather.copyIn.getBuffer());
  const Object &object = objects.at(index);
  if (storages.getStorages()[index].isMemory) {
    gather.obstacle = GatherObstacle::Memory;
    return;
  }
  // Buffers in flight are used until the wait, also those of this gather.
  Operation *wait = gather.gather.getWait();
  if (!wait) {
    gather.obstacle = GatherObstacle::LivesOn;
    return;
  }
  const int32_t *later =
      llvm::upper_bound(object.users, indexOf.at(gather.gather));
  for (; later != object.users.end(); ++later)
    if (operations[*later] != wait) {
      gather.obstacle = GatherObstacle::UsedLater;
      gather.user = operations[*later];
      return;
    }
  if (object.livesOn)
    gather.obstacle = GatherObstacle::LivesOn;
}

ReinplaceableGathers::ReinplaceableGathers(Operation *op) {
  op->walk([&](AllGatherOp gather) {
    if (!gather.getInto().empty())
      return;
    if (AllGatherCopyInOp copyIn = getCopyIn(gather))
      gathers.push_back({gather, copyIn, findObstacle(gather, copyIn)});
  });
  llvm::MapVector<Block *, SmallVector<SliceGather *>> blocks;
  for (SliceGather &gather : gathers)
    if (gather.obstacle == GatherObstacle::None)
      blocks[gather.gather->getBlock()].push_back(&gather);
  for (auto &[block, candidates] : blocks) {
    BufferUses uses(*block, candidates);
    for (SliceGather *gather : candidates) {
      uses.check(*gather);
      if (gather->obstacle == GatherObstacle::None)
        buffers[gather->gather] = gather->copyIn.getBuffer();
    }
  }
}
