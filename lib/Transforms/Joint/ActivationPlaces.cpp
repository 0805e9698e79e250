//===- ActivationPlaces.cpp - Where saved values are converted ------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ActivationPlaces.h"

using namespace mlir;
using namespace mlir::commsched;

LastUses::LastUses(Block &block) : block(block), storages(block) {
  for (Operation &op : getScheduledOperations(block)) {
    indices[&op] = static_cast<int32_t>(operations.size());
    operations.push_back(&op);
  }
  lastUse.assign(storages.getStorages().size(), -1);
  int32_t numOperations = static_cast<int32_t>(operations.size());
  for (int32_t index = 0; index < numOperations; ++index)
    for (int32_t storage : storages.getUses(index))
      lastUse[storage] = index;
}

Operation *LastUses::getNext(Value value) const {
  int32_t last = -1;
  if (Operation *op = value.getDefiningOp())
    last = indices.lookup(op);
  int32_t storage = storages.getStorage(value);
  if (storage != StorageAnalysis::none)
    last = std::max(last, lastUse[storage]);
  size_t next = static_cast<size_t>(last + 1);
  return next < operations.size() ? operations[next] : block.getTerminator();
}

Operation *mlir::commsched::findFirstUser(BlockArgument argument) {
  Block *block = argument.getOwner();
  Operation *first = nullptr;
  for (Operation *user : argument.getUsers()) {
    Operation *inBlock = block->findAncestorOpInBlock(*user);
    if (!first || inBlock->isBeforeInBlock(first))
      first = inBlock;
  }
  return first;
}
