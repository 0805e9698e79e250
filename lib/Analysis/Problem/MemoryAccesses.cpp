//===- MemoryAccesses.cpp - Memory that operations access -----------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MemoryAccesses.h"
#include "CommSched/Analysis/Problem/Aliasing.h"
#include "CommSched/Analysis/Problem/CommunicationEffects.h"
#include "CommSched/Interfaces/CommSchedInterfaces.h"
#include "mlir/Interfaces/CallInterfaces.h"

using namespace mlir;
using namespace mlir::commsched;

//===----------------------------------------------------------------------===//
// MemoryAccesses
//===----------------------------------------------------------------------===//

static MemoryAccess accessAnywhere(bool isWrite) {
  return {StorageAnalysis::none, nullptr, isWrite};
}

void MemoryAccesses::access(int32_t storage, bool isWrite, const Visit &visit) {
  visit.report({storages.getStorages()[storage].object, nullptr, isWrite});
}

void MemoryAccesses::writeUses(const Visit &visit) {
  if (lastWriteOfUses == visit.index)
    return;
  lastWriteOfUses = visit.index;
  for (int32_t storage : storages.getUses(visit.index))
    access(storage, /*isWrite=*/true, visit);
}

MemoryAccesses::Location MemoryAccesses::locate(Value value) {
  Location location;
  SmallVector<Value> views;
  while (value) {
    location.storage = storages.getStorage(value);
    auto result = dyn_cast<OpResult>(value);
    if (location.storage != StorageAnalysis::none || !result)
      break;
    if (auto it = nested.find(value); it != nested.end()) {
      location = it->second;
      break;
    }
    views.push_back(value);
    value = getAliasedValue(result);
    location.isLocal =
        !value && getTensorType(result.getType()) && !mayAliasUnknown(result);
  }
  for (Value view : views)
    nested[view] = location;
  return location;
}

void MemoryAccesses::visitEffect(const MemoryEffects::EffectInstance &effect,
                                 const Visit &visit) {
  SideEffects::Resource *resource = effect.getResource();
  // Communication has rules of its own.
  if (resource == CommunicationResource::get())
    return;
  bool isWrite = !isa<MemoryEffects::Read>(effect.getEffect());
  Value value = effect.getValue();
  // Allocating a result touches nothing that exists already.
  if (isa<MemoryEffects::Allocate>(effect.getEffect()) && value)
    return;
  Location location = locate(value);
  if (location.isLocal)
    return;
  if (location.storage != StorageAnalysis::none) {
    access(location.storage, isWrite, visit);
    visit.report(accessAnywhere(/*isWrite=*/false));
  } else if (resource != SideEffects::DefaultResource::get()) {
    visit.report({StorageAnalysis::none, resource, isWrite});
    visit.report(accessAnywhere(/*isWrite=*/false));
  } else {
    // An argument of a nested region may be whatever the region captures.
    if (value && isWrite)
      writeUses(visit);
    visit.report(accessAnywhere(/*isWrite=*/true));
  }
}

void MemoryAccesses::visitDestinations(Operation *op, const Visit &visit) {
  auto collective = dyn_cast<CollectiveOpInterface>(op);
  if (auto wait = dyn_cast<WaitOpInterface>(op))
    collective = dyn_cast_if_present<CollectiveOpInterface>(wait.getStart());
  if (!collective)
    return;
  for (Value destination : collective.getDestinations()) {
    Location location = locate(destination);
    if (location.storage != StorageAnalysis::none)
      access(location.storage, /*isWrite=*/true, visit);
    else if (!location.isLocal)
      writeUses(visit);
  }
}

void MemoryAccesses::visitEffects(Operation *op, const Visit &visit) {
  visitDestinations(op, visit);
  // The interfaces of communication say what is read and written.
  if (hasUnknownMemoryEffects(op) &&
      !isa<CollectiveOpInterface, WaitOpInterface>(op)) {
    // The callee may write its arguments in place.
    if (isa<CallOpInterface>(op))
      writeUses(visit);
    visit.report(accessAnywhere(/*isWrite=*/true));
  }
  if (auto effects = dyn_cast<MemoryEffectOpInterface>(op)) {
    SmallVector<MemoryEffects::EffectInstance> instances;
    effects.getEffects(instances);
    for (const MemoryEffects::EffectInstance &instance : instances)
      visitEffect(instance, visit);
  }
  for (Region &region : op->getRegions())
    for (Operation &inner : region.getOps())
      visitEffects(&inner, visit);
}

void MemoryAccesses::visit(Operation *op, int32_t index, Report report) {
  Visit visit{index, report};
  // Reading a tensor is no effect in MLIR, but it must not move across an
  // operation that writes the tensor's storage in place.
  for (int32_t storage : storages.getUses(index)) {
    access(storage, /*isWrite=*/false, visit);
    if (storages.getStorages()[storage].isMemory)
      report(accessAnywhere(/*isWrite=*/false));
  }
  visitEffects(op, visit);
}

//===----------------------------------------------------------------------===//
// WriteHistory
//===----------------------------------------------------------------------===//

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
