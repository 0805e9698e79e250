//===- DependenceBuilder.cpp - Dependences of a block's operations --------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DependenceBuilder.h"
#include "CommSched/Analysis/CollectiveOrder.h"
#include "CommSched/Dialect/CommSchedAttributes.h"
#include "CommSched/Interfaces/CommSchedInterfaces.h"
#include "mlir/Interfaces/CallInterfaces.h"

using namespace mlir;
using namespace mlir::commsched;
using ::commsched::DependenceKind;
using ::commsched::NodeId;
using ::commsched::noNode;

//===----------------------------------------------------------------------===//
// MemoryDependences
//===----------------------------------------------------------------------===//

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

/// The storage that `value` lives in, which may be of a region nested in the
/// block. `isLocal`: it has none, as it is allocated in that region.
static int32_t findStorage(const StorageAnalysis &storages, Value value,
                           bool &isLocal) {
  isLocal = false;
  while (value) {
    int32_t storage = storages.getStorage(value);
    auto result = dyn_cast<OpResult>(value);
    if (storage != StorageAnalysis::none || !result)
      return storage;
    value = getAliasedValue(result);
    isLocal =
        !value && isa<ShapedType>(result.getType()) && !mayAliasUnknown(result);
  }
  return StorageAnalysis::none;
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
  bool isLocal;
  int32_t storage = findStorage(storages, value, isLocal);
  if (isLocal)
    return;
  if (storage != StorageAnalysis::none) {
    access(storage, isWrite, node);
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

void MemoryDependences::visitEffects(Operation *op, NodeId node) {
  if (hasUnknownMemoryEffects(op)) {
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
  // What a collective writes in place is written when its wait ends.
  auto wait = dyn_cast<WaitOpInterface>(op);
  auto start = dyn_cast_if_present<CollectiveOpInterface>(wait ? wait.getStart()
                                                               : nullptr);
  if (!start)
    return;
  for (Value destination : start.getDestinations())
    if (int32_t storage = storages.getStorage(destination);
        storage != StorageAnalysis::none)
      access(storage, /*isWrite=*/true, node);
}

//===----------------------------------------------------------------------===//
// CommunicationDependences
//===----------------------------------------------------------------------===//

LogicalResult CommunicationDependences::visitOrder(Operation *op, NodeId node) {
  if (!getCollectiveOrder(op))
    return success();
  if (lastOrderedOp) {
    if (failed(verifyCollectiveOrder(lastOrderedOp, op)))
      return failure();
    problem.addDependence(lastOrdered, node, DependenceKind::Order);
  }
  lastOrdered = node;
  lastOrderedOp = op;
  return success();
}

LogicalResult CommunicationDependences::visit(Operation *op, NodeId node,
                                              CommunicationEffect effect) {
  if (effect == CommunicationEffect::None)
    return success();
  if (::commsched::StreamId stream = problem.stream(node);
      stream != ::commsched::noStream) {
    if (static_cast<size_t>(stream) >= lastOfStream.size())
      lastOfStream.resize(stream + 1, noNode);
    if (lastOfStream[stream] != noNode)
      problem.addDependence(lastOfStream[stream], node, DependenceKind::Order);
    lastOfStream[stream] = node;
    if (failed(visitOrder(op, node)))
      return failure();
  }
  bool isBarrier = effect == CommunicationEffect::Unknown ||
                   effect == CommunicationEffect::Blocking;
  if (!isBarrier) {
    if (lastBarrier != noNode)
      problem.addDependence(lastBarrier, node, DependenceKind::Barrier);
    sinceBarrier.push_back(node);
    return success();
  }
  if (sinceBarrier.empty() && lastBarrier != noNode)
    problem.addDependence(lastBarrier, node, DependenceKind::Barrier);
  for (NodeId earlier : sinceBarrier)
    problem.addDependence(earlier, node, DependenceKind::Barrier);
  sinceBarrier.clear();
  lastBarrier = node;
  return success();
}
