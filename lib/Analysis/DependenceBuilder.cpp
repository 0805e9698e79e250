//===- DependenceBuilder.cpp - Dependences of a block's operations --------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information. SPDX-License-Identifier:
// Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DependenceBuilder.h"
#include "CommSched/Analysis/CollectiveOrder.h"
#include "CommSched/Dialect/CommSchedAttributes.h"
#include "CommSched/Interfaces/CommSchedInterfaces.h"

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

void MemoryDependences::visitEffect(const MemoryEffects::EffectInstance &effect,
                                    NodeId node) {
  SideEffects::Resource *resource = effect.getResource();
  // Communication has rules of its own.
  if (resource == CommunicationResource::get())
    return;
  bool reads = isa<MemoryEffects::Read>(effect.getEffect());
  Value value = effect.getValue();
  int32_t storage = value ? storages.getStorage(value) : StorageAnalysis::none;
  // Allocating a result touches nothing that exists already.
  if (isa<MemoryEffects::Allocate>(effect.getEffect()) && value)
    return;
  if (storage != StorageAnalysis::none) {
    Frontier &object = objects[storages.getStorages()[storage].object];
    reads ? read(object, node) : write(object, node);
    read(anywhere, node);
  } else if (resource != SideEffects::DefaultResource::get()) {
    Frontier &frontier = resources[resource];
    reads ? read(frontier, node) : write(frontier, node);
  } else {
    write(anywhere, node);
  }
}

void MemoryDependences::visitEffects(Operation *op, NodeId node) {
  if (auto effects = dyn_cast<MemoryEffectOpInterface>(op)) {
    SmallVector<MemoryEffects::EffectInstance> instances;
    effects.getEffects(instances);
    for (const MemoryEffects::EffectInstance &instance : instances)
      visitEffect(instance, node);
  }
  for (Region &region : op->getRegions())
    for (Operation &nested : region.getOps())
      visitEffects(&nested, node);
}

void MemoryDependences::visit(Operation *op, NodeId node,
                              bool hasUnknownEffects) {
  // Reading a tensor is no effect in MLIR, but it must not move across an
  // operation that writes the tensor's storage in place.
  for (int32_t storage : storages.getUses(op))
    read(objects[storages.getStorages()[storage].object], node);
  if (hasUnknownEffects)
    write(anywhere, node);
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
      write(objects[storages.getStorages()[storage].object], node);
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
