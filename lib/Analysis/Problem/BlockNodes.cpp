//===- BlockNodes.cpp - Operations of a block as nodes --------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Analysis/Problem/BlockNodes.h"
#include "CommSched/Interfaces/CommSchedInterfaces.h"
#include "CommSched/Interfaces/Futures.h"

using namespace mlir;
using namespace mlir::commsched;
using schedule::NodeId;
using schedule::NodeKind;
using schedule::StreamId;

StreamId BlockNodes::getStream(Operation *collective) {
  Attribute key = getStreamKey(cast<CollectiveOpInterface>(collective));
  auto [it, inserted] =
      streamOf.try_emplace(key, static_cast<StreamId>(streams.size()));
  if (inserted) {
    streams.push_back(key);
    collectives.push_back(collective);
  }
  return it->second;
}

NodeId BlockNodes::add(Operation *op, CommunicationEffect effect,
                       int64_t costNs) {
  NodeId &node = nodeOf[op];
  switch (effect) {
  case CommunicationEffect::Wait:
    return node = problem.addWait(lookup(cast<WaitOpInterface>(op).getStart()));
  case CommunicationEffect::Start:
    return node = problem.addNode(NodeKind::Start, costNs, getStream(op));
  case CommunicationEffect::Blocking:
    return node = problem.addNode(NodeKind::Blocking, costNs, getStream(op));
  case CommunicationEffect::None:
  case CommunicationEffect::Unknown:
    break;
  }
  node = problem.addNode(NodeKind::Compute, costNs);
  if (auto cost = dyn_cast<CostOpInterface>(op); cost && cost.isExpensive())
    problem.setExpensive(node);
  return node;
}

CommunicationEffect mlir::commsched::getEffectInBlock(Operation *op) {
  CommunicationEffect effect = getCommunicationEffect(op);
  bool isStart = effect == CommunicationEffect::Start;
  if (!(isStart || effect == CommunicationEffect::Wait) || !isHalfOfPair(op))
    return effect;
  return isStart ? CommunicationEffect::Blocking : CommunicationEffect::None;
}

bool mlir::commsched::isInFlightAcrossBlock(Operation *op) {
  if (!isHalfOfPair(op))
    return false;
  // A loop of the block takes the future, or has made it.
  auto isLoop = [&](Operation *other) {
    return other && other->getBlock() == op->getBlock() &&
           isSteadyStateConstruct(other);
  };
  if (auto wait = dyn_cast<WaitOpInterface>(op))
    return !isLoop(wait.getAwaitedFuture().getDefiningOp());
  Value future = cast<CollectiveOpInterface>(op).getInFlightFuture();
  return !llvm::all_of(future.getUsers(), isLoop);
}
