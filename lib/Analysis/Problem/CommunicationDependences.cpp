//===- CommunicationDependences.cpp - Order of communication --------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommunicationDependences.h"
#include "CommSched/Analysis/Problem/CollectiveOrder.h"
#include "CommSched/Dialect/CommSchedAttributes.h"
#include "CommSched/Interfaces/CommSchedInterfaces.h"

using namespace mlir;
using namespace mlir::commsched;
using schedule::DependenceKind;
using schedule::NodeId;
using schedule::noNode;

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

void CommunicationDependences::advance(Frontier &frontier, NodeId node,
                                       bool isCrossed, DependenceKind kind) {
  // What came since the last already depends on it.
  if (frontier.last != noNode && (isCrossed || frontier.since.empty()))
    problem.addDependence(frontier.last, node, kind);
  if (isCrossed) {
    frontier.since.push_back(node);
    return;
  }
  for (NodeId earlier : frontier.since)
    problem.addDependence(earlier, node, kind);
  frontier.since.clear();
  frontier.last = node;
}

void CommunicationDependences::visitStream(Operation *op, NodeId node) {
  size_t stream = problem.stream(node);
  if (stream >= streams.size())
    streams.resize(stream + 1);
  bool isFree = collectiveOrder == CollectiveOrder::Free && !isPointToPoint(op);
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
