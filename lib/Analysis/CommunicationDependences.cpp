//===- CommunicationDependences.cpp - Order of communication --------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommunicationDependences.h"
#include "CommSched/Analysis/CollectiveOrder.h"
#include "CommSched/Dialect/CommSchedAttributes.h"

using namespace mlir;
using namespace mlir::commsched;
using ::commsched::DependenceKind;
using ::commsched::NodeId;
using ::commsched::noNode;

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
