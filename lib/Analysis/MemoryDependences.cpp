//===- MemoryDependences.cpp - Order of accesses to memory ----------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MemoryDependences.h"
#include "CommSched/Analysis/Aliasing.h"
#include "CommSched/Analysis/CommunicationEffects.h"
#include "CommSched/Interfaces/CommSchedInterfaces.h"
#include "mlir/Interfaces/CallInterfaces.h"

using namespace mlir;
using namespace mlir::commsched;
using ::commsched::DependenceKind;
using ::commsched::NodeId;
using ::commsched::noNode;

void MemoryDependences::depend(NodeId from, NodeId to) {
  if (from != noNode && from != to)
    problem.addDependence(from, to, DependenceKind::Memory);
}

void MemoryDependences::read(Frontier &frontier, NodeId node) {
  depend(frontier.writer, node);
  if (frontier.readers.empty() || frontier.readers.back() != node)
    frontier.readers.push_back(node);
}

void MemoryDependences::write(Frontier &frontier, NodeId node) {
  if (frontier.readers.empty())
    depend(frontier.writer, node);
  for (NodeId reader : frontier.readers)
    depend(reader, node);
  frontier.readers.clear();
  frontier.writer = node;
}

void MemoryDependences::access(int32_t storage, bool isWrite, NodeId node) {
  Frontier &object = objects[storages.getStorages()[storage].object];
  isWrite ? write(object, node) : read(object, node);
}

void MemoryDependences::writeUses(NodeId node) {
  if (lastWriteOfUses == node)
    return;
  lastWriteOfUses = node;
  for (int32_t storage : storages.getUses(node))
    access(storage, /*isWrite=*/true, node);
}

MemoryDependences::Location MemoryDependences::locate(Value value) {
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
        !value && isa<ShapedType>(result.getType()) && !mayAliasUnknown(result);
  }
  for (Value view : views)
    nested[view] = location;
  return location;
}

void MemoryDependences::visitEffect(const MemoryEffects::EffectInstance &effect,
                                    NodeId node) {
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
    access(location.storage, isWrite, node);
    read(anywhere, node);
  } else if (resource != SideEffects::DefaultResource::get()) {
    Frontier &frontier = resources[resource];
    isWrite ? write(frontier, node) : read(frontier, node);
    read(anywhere, node);
  } else {
    // An argument of a nested region may be whatever the region captures.
    if (value && isWrite)
      writeUses(node);
    write(anywhere, node);
  }
}

void MemoryDependences::visitDestinations(Operation *op, NodeId node) {
  auto collective = dyn_cast<CollectiveOpInterface>(op);
  if (auto wait = dyn_cast<WaitOpInterface>(op))
    collective = dyn_cast_if_present<CollectiveOpInterface>(wait.getStart());
  if (!collective)
    return;
  for (Value destination : collective.getDestinations()) {
    Location location = locate(destination);
    if (location.storage != StorageAnalysis::none)
      access(location.storage, /*isWrite=*/true, node);
    else if (!location.isLocal)
      writeUses(node);
  }
}

void MemoryDependences::visitEffects(Operation *op, NodeId node) {
  visitDestinations(op, node);
  // The interfaces of communication say what is read and written.
  if (hasUnknownMemoryEffects(op) &&
      !isa<CollectiveOpInterface, WaitOpInterface>(op)) {
    // The callee may write its arguments in place.
    if (isa<CallOpInterface>(op))
      writeUses(node);
    write(anywhere, node);
  }
  if (auto effects = dyn_cast<MemoryEffectOpInterface>(op)) {
    SmallVector<MemoryEffects::EffectInstance> instances;
    effects.getEffects(instances);
    for (const MemoryEffects::EffectInstance &instance : instances)
      visitEffect(instance, node);
  }
  for (Region &region : op->getRegions())
    for (Operation &inner : region.getOps())
      visitEffects(&inner, node);
}

void MemoryDependences::visit(Operation *op, NodeId node) {
  // Reading a tensor is no effect in MLIR, but it must not move across an
  // operation that writes the tensor's storage in place.
  for (int32_t storage : storages.getUses(node)) {
    access(storage, /*isWrite=*/false, node);
    if (storages.getStorages()[storage].isMemory)
      read(anywhere, node);
  }
  visitEffects(op, node);
}
