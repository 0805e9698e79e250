//===- Dependences.cpp - Dependences outside of SSA -----------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Dependences.h"
#include "CommSched/Dialect/CommSchedAttributes.h"
#include "CommSched/Interfaces/CommSchedInterfaces.h"

using namespace mlir;
using namespace mlir::commsched;
using schedule::DependenceKind;
using schedule::NodeId;
using schedule::noNode;

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
