//===- Dependences.cpp - Dependences outside of SSA -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Dependences.h"
#include "CommSched/Analysis/Problem/Aliasing.h"
#include "CommSched/Analysis/Problem/CommunicationEffects.h"
#include "CommSched/Dialect/CommSchedAttributes.h"
#include "CommSched/Interfaces/CommSchedInterfaces.h"
#include "mlir/Interfaces/CallInterfaces.h"

using namespace mlir;
using namespace mlir::commsched;
using namespace mlir::commsched::schedule;

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

void MemoryDependences::depend(NodeId from, NodeId to) {
  if (from != noNode && from != to)
    problem.addDependence(from, to, DependenceKind::Memory);
}

void MemoryDependences::read(LastAccesses &last, NodeId node) {
  depend(last.writer, node);
  if (last.readers.empty() || last.readers.back() != node)
    last.readers.push_back(node);
}

void MemoryDependences::write(LastAccesses &last, NodeId node) {
  if (last.readers.empty())
    depend(last.writer, node);
  for (NodeId reader : last.readers)
    depend(reader, node);
  last.readers.clear();
  last.writer = node;
}

MemoryDependences::LastAccesses &
MemoryDependences::getLastAccesses(const MemoryAccess &access) {
  if (access.isAnywhere())
    return anywhere;
  return access.resource ? resources[access.resource] : objects[access.object];
}

/// The storages that other values may be in are another matter: tensors are
/// values, and that these share memory is for this analysis to say.
void MemoryDependences::keepReadersBefore(NodeId node) {
  for (int32_t storage : storages.getUses(node))
    if (storages.isTakenOver(storage))
      read(takenOver[storage], node);
  for (int32_t storage : storages.getTakenOver(node))
    write(takenOver[storage], node);
}

void MemoryDependences::visit(Operation *op, NodeId node) {
  keepReadersBefore(node);
  accesses.visit(op, node, [&](const MemoryAccess &access) {
    LastAccesses &last = getLastAccesses(access);
    access.isWrite ? write(last, node) : read(last, node);
  });
}

//===----------------------------------------------------------------------===//
// Communication
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

void CommunicationDependences::advance(FencedNodes &nodes, NodeId node,
                                       bool isCrossed, DependenceKind kind) {
  // The nodes since the fence already depend on it.
  if (nodes.fence != noNode && (isCrossed || nodes.sinceFence.empty()))
    problem.addDependence(nodes.fence, node, kind);
  if (isCrossed) {
    nodes.sinceFence.push_back(node);
    return;
  }
  for (NodeId earlier : nodes.sinceFence)
    problem.addDependence(earlier, node, kind);
  nodes.sinceFence.clear();
  nodes.fence = node;
}

void CommunicationDependences::visitStream(Operation *op, NodeId node) {
  size_t stream = problem.stream(node);
  if (stream >= streams.size())
    streams.resize(stream + 1);
  // No other rank takes part in a transfer to or from the host.
  bool isFree =
      (streamOrder == StreamOrder::Free && !isPointToPoint(op)) ||
      isHostTransfer(cast<CollectiveOpInterface>(op).getCollectiveKind());
  advance(streams[stream], node, isFree, DependenceKind::Order);
}

LogicalResult CommunicationDependences::visit(Operation *op, NodeId node,
                                              CommunicationEffect effect) {
  if (effect == CommunicationEffect::None)
    return success();
  if (problem.stream(node) != schedule::noStream) {
    visitStream(op, node);
    if (failed(visitOrder(op, node)))
      return failure();
  }
  bool isBarrier = effect == CommunicationEffect::Unknown ||
                   effect == CommunicationEffect::Blocking;
  advance(barriers, node, !isBarrier, DependenceKind::Barrier);
  return success();
}

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
  for (const MemoryEffects::EffectInstance &effect : getStatedEffects(op))
    visitEffect(effect, visit);
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
