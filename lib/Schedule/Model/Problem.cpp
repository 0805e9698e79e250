//===- Problem.cpp - Building a scheduling problem --------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Schedule/Problem.h"

#include <numeric>

using namespace mlir::commsched;
using namespace mlir::commsched::schedule;

const char *schedule::toString(NodeKind kind) {
  switch (kind) {
  case NodeKind::Compute:
    return "compute";
  case NodeKind::Start:
    return "start";
  case NodeKind::Wait:
    return "wait";
  case NodeKind::Blocking:
    return "blocking";
  }
  return "unknown";
}

const char *schedule::toString(DependenceKind kind) {
  switch (kind) {
  case DependenceKind::Data:
    return "data";
  case DependenceKind::Memory:
    return "memory";
  case DependenceKind::Order:
    return "order";
  case DependenceKind::Barrier:
    return "barrier";
  }
  return "unknown";
}

void Problem::reopen() {
  if (!finalized)
    return;
  finalized = false;
  error = "the problem was changed after it was finalized";
}

NodeId Problem::addNode(NodeKind kind, int64_t costNs, StreamId stream) {
  reopen();
  nodes.push_back({costNs, stream, noNode, kind});
  return numNodes() - 1;
}

NodeId Problem::addWait(NodeId start) {
  NodeId wait = addNode(NodeKind::Wait, 0);
  nodes[wait].partner = start;
  addDependence(start, wait, DependenceKind::Data);
  return wait;
}

void Problem::addDependence(NodeId from, NodeId to, DependenceKind kind) {
  reopen();
  dependences.push_back({from, to, kind});
}

BufferId Problem::addBuffer(int64_t bytes, NodeId producer, bool freed) {
  reopen();
  buffers.push_back({bytes, producer, freed});
  return numBuffers() - 1;
}

void Problem::addUse(BufferId buffer, NodeId node) {
  reopen();
  uses.push_back({buffer, node});
}

Order Problem::programOrder() const {
  Order order(nodes.size());
  std::iota(order.begin(), order.end(), NodeId(0));
  return order;
}

void Problem::reserve(size_t numNodes, size_t numDependences) {
  nodes.reserve(numNodes);
  dependences.reserve(numDependences);
}

const OptionalError &Problem::finalize() {
  if (finalized)
    return error;
  finalized = true;
  successorRows.clear();
  predecessorRows.clear();
  userRows.clear();
  usedRows.clear();
  producedRows.clear();
  topological.clear();
  // Each step relies on what the steps before it have checked.
  error = checkNodes();
  if (!error)
    error = pairWaits();
  if (!error)
    error = checkDependences();
  if (!error)
    error = checkBuffers();
  if (error)
    return error;
  buildRows();
  error = sortTopologically();
  return error;
}

void Problem::buildRows() {
  size_t count = dependences.size();
  successorRows.build(
      nodes.size(), count, [&](size_t i) { return dependences[i].from; },
      [&](size_t i) {
        return DependenceEnd{dependences[i].to, dependences[i].kind};
      });
  predecessorRows.build(
      nodes.size(), count, [&](size_t i) { return dependences[i].to; },
      [&](size_t i) {
        return DependenceEnd{dependences[i].from, dependences[i].kind};
      });
  userRows.build(
      buffers.size(), uses.size(), [&](size_t i) { return uses[i].buffer; },
      [&](size_t i) { return uses[i].node; });
  usedRows.build(
      nodes.size(), uses.size(), [&](size_t i) { return uses[i].node; },
      [&](size_t i) { return uses[i].buffer; });
  producedRows.build(
      nodes.size(), buffers.size(),
      [&](size_t i) { return buffers[i].producer; },
      [&](size_t i) { return static_cast<BufferId>(i); });
}
