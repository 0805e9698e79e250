//===- WriteHistory.cpp - When tensors are written in place ---------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WriteHistory.h"
#include "MemoryAccesses.h"

using namespace mlir;
using namespace mlir::commsched;

WriteHistory::WriteHistory(Block &block, ArrayRef<Value> values,
                           function_ref<bool(Operation *)> isIgnored)
    : storages(block) {
  for (Value value : values)
    writers.try_emplace(
        storages.getStorages()[storages.getStorage(value)].object);
  MemoryAccesses accesses(storages);
  int32_t index = 0;
  for (Operation &op : getScheduledOperations(block)) {
    auto addTo = [&](Writers &list) {
      if (list.empty() || list.back() != &op)
        list.push_back(&op);
    };
    if (!isIgnored(&op))
      accesses.visit(&op, index, [&](const MemoryAccess &access) {
        if (!access.isWrite)
          return;
        if (access.isAnywhere())
          addTo(anywhere);
        else if (auto it = writers.find(access.object); it != writers.end())
          addTo(it->second);
      });
    ++index;
  }
}

Operation *WriteHistory::findWrite(Value value, Operation *from,
                                   Operation *to) const {
  auto findIn = [&](const Writers &list) -> Operation * {
    const auto *it = llvm::upper_bound(list, from, [](auto *lhs, auto *rhs) {
      return lhs->isBeforeInBlock(rhs);
    });
    return it == list.end() || to->isBeforeInBlock(*it) ? nullptr : *it;
  };
  const Storage &storage = storages.getStorages()[storages.getStorage(value)];
  Operation *writer = findIn(writers.at(storage.object));
  Operation *unknown = storage.isMemory ? findIn(anywhere) : nullptr;
  if (!writer || (unknown && unknown->isBeforeInBlock(writer)))
    return unknown ? unknown : writer;
  return writer;
}
