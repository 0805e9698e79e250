//===- Problem.cpp - Construction and check of scheduling problems --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/Schedule/Model/Problem.h"

#include "ReadyTracker.h"

#include <algorithm>
#include <limits>
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
  case DependenceKind::Stream:
    return "stream";
  }
  return "unknown";
}

void Problem::reopen() {
  if (!finalized)
    return;
  finalized = false;
  status = Error{"the problem was changed after it was finalized"};
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

const Status &
Problem::replaceCollectives(const std::vector<CollectiveCost> &costs) {
  for (const CollectiveCost &cost : costs) {
    assert(isCollective(cost.node) && "only collectives are on a stream");
    nodes[cost.node].costNs = cost.costNs;
    nodes[cost.node].stream = cost.stream;
  }
  if (status)
    status = checkNodes();
  return status;
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

void Problem::appendTo(std::vector<int64_t> &numbers) const {
  auto append = [&](auto... values) {
    (numbers.push_back(static_cast<int64_t>(values)), ...);
  };
  append(nodes.size(), dependences.size(), buffers.size(), uses.size(),
         streamCount);
  for (const Node &node : nodes)
    append(node.costNs, node.stream, node.partner, node.kind, node.isExpensive);
  for (const Dependence &dependence : dependences)
    append(dependence.from, dependence.to, dependence.kind);
  for (const Buffer &buffer : buffers)
    append(buffer.bytes, buffer.producer, buffer.freed);
  for (const Use &use : uses)
    append(use.buffer, use.node);
}

//===----------------------------------------------------------------------===//
// Check
//===----------------------------------------------------------------------===//

/// Adds `value` (not negative) to `sum`; false if that overflows.
static bool addChecked(int64_t &sum, int64_t value) {
  if (sum > std::numeric_limits<int64_t>::max() - value)
    return false;
  sum += value;
  return true;
}

std::string Problem::describe(NodeId node) const {
  std::string text = "node " + std::to_string(node);
  if (isNode(node))
    text += std::string(" (") + toString(kind(node)) + ")";
  return text;
}

static std::string describeRange(const char *what, size_t count) {
  return std::string("; the problem has ") + std::to_string(count) + " " + what;
}

Status Problem::checkNodes() {
  if (nodes.size() > size_t(std::numeric_limits<NodeId>::max()))
    return Error{"the problem has " + std::to_string(nodes.size()) +
                 " nodes, more than an index can name"};
  int64_t total = 0;
  streamCount = reservedStreams;
  for (NodeId node = 0, end = numNodes(); node < end; ++node) {
    if (costNs(node) < 0)
      return Error{describe(node) + " has a negative cost of " +
                   std::to_string(costNs(node)) + " ns"};
    if (!addChecked(total, costNs(node)))
      return Error{"the sum of the costs up to " + describe(node) +
                   ", which adds " + std::to_string(costNs(node)) +
                   " ns, does not fit 64 bits"};
    if (kind(node) == NodeKind::Wait && costNs(node) != 0)
      return Error{describe(node) + " has a cost of " +
                   std::to_string(costNs(node)) +
                   " ns, but the time of a collective belongs to its start"};
    if (!isCollective(node)) {
      if (stream(node) != noStream)
        return Error{
            describe(node) + " is on stream " + std::to_string(stream(node)) +
            ", but only a start or a blocking collective is on a stream"};
      continue;
    }
    // The bound keeps a stray index from asking for arrays of its size.
    if (stream(node) < 0 || stream(node) >= maxStreams)
      return Error{describe(node) + " is a collective on stream " +
                   std::to_string(stream(node)) +
                   ", but streams are numbered from 0 to " +
                   std::to_string(maxStreams - 1)};
    streamCount = std::max(streamCount, stream(node) + 1);
  }
  return Status::success();
}

Status Problem::pairWaits() {
  for (Node &node : nodes)
    if (node.kind == NodeKind::Start)
      node.partner = noNode;
  for (NodeId wait = 0, end = numNodes(); wait < end; ++wait) {
    if (kind(wait) != NodeKind::Wait)
      continue;
    NodeId start = nodes[wait].partner;
    if (start == noNode)
      return Error{describe(wait) + " has no start"};
    if (!isNode(start))
      return Error{describe(wait) + " waits for node " + std::to_string(start) +
                   describeRange("nodes", nodes.size())};
    if (kind(start) != NodeKind::Start)
      return Error{describe(wait) + " waits for " + describe(start) +
                   ", which is not a start"};
    if (start > wait)
      return Error{describe(wait) + " waits for " + describe(start) +
                   ", which comes later"};
    if (nodes[start].partner != noNode)
      return Error{describe(start) + " has two waits, " +
                   describe(nodes[start].partner) + " and " + describe(wait)};
    nodes[start].partner = wait;
  }
  for (NodeId start = 0, end = numNodes(); start < end; ++start)
    if (kind(start) == NodeKind::Start && nodes[start].partner == noNode)
      return Error{describe(start) + " has no wait"};
  return Status::success();
}

Status Problem::checkDependences() const {
  for (const Dependence &dependence : dependences) {
    if (!isNode(dependence.from) || !isNode(dependence.to))
      return Error{std::string(toString(dependence.kind)) + " dependence of " +
                   describe(dependence.to) + " on " +
                   describe(dependence.from) +
                   " names a node that does not exist" +
                   describeRange("nodes", nodes.size())};
    if (dependence.from == dependence.to)
      return Error{describe(dependence.from) + " depends on itself (" +
                   toString(dependence.kind) + ")"};
    if (dependence.kind == DependenceKind::Stream &&
        (kind(dependence.from) != NodeKind::Start ||
         kind(dependence.to) != NodeKind::Compute))
      return Error{describe(dependence.to) + " has a stream dependence on " +
                   describe(dependence.from) +
                   ", but only a compute has one, on a start"};
  }
  return Status::success();
}

Status Problem::checkBuffers() const {
  int64_t total = 0;
  for (BufferId id = 0, end = numBuffers(); id < end; ++id) {
    const Buffer &buffer = buffers[id];
    auto name = [id] { return "buffer " + std::to_string(id); };
    if (buffer.bytes < 0)
      return Error{name() + " has a negative size of " +
                   std::to_string(buffer.bytes) + " bytes"};
    if (!addChecked(total, buffer.bytes))
      return Error{"the sum of the sizes up to " + name() + ", which adds " +
                   std::to_string(buffer.bytes) +
                   " bytes, does not fit 64 bits"};
    if (buffer.producer != noNode && !isNode(buffer.producer))
      return Error{name() + " is made by " + describe(buffer.producer) +
                   describeRange("nodes", nodes.size())};
  }
  for (const Use &use : uses) {
    if (use.buffer < 0 || use.buffer >= numBuffers())
      return Error{describe(use.node) + " uses buffer " +
                   std::to_string(use.buffer) +
                   describeRange("buffers", buffers.size())};
    if (!isNode(use.node))
      return Error{"buffer " + std::to_string(use.buffer) + " is used by " +
                   describe(use.node) + describeRange("nodes", nodes.size())};
  }
  return Status::success();
}

/// Follows predecessors that were never reached until one repeats. Every node
/// with missing predecessors has one that itself has some, so this ends in a
/// cycle.
std::string Problem::describeCycle(const IndegreeCounter &missing) const {
  NodeId node = 0;
  while (!missing.isPending(node))
    ++node;
  std::vector<int32_t> stepOf(nodes.size(), -1);
  std::vector<NodeId> path;
  while (stepOf[node] < 0) {
    stepOf[node] = static_cast<int32_t>(path.size());
    path.push_back(node);
    for (DependenceEnd predecessor : predecessors(node)) {
      if (!missing.isPending(predecessor.node))
        continue;
      node = predecessor.node;
      break;
    }
  }
  // The path runs against the dependences: print it backwards, from its
  // smallest index, and only so much of a long one as a reader can use.
  std::vector<NodeId> cycle(path.rbegin(), path.rend() - stepOf[node]);
  std::rotate(cycle.begin(), std::min_element(cycle.begin(), cycle.end()),
              cycle.end());
  constexpr size_t maxNamed = 8;
  std::string text = "dependences form a cycle of " +
                     std::to_string(cycle.size()) + " nodes: ";
  for (size_t i = 0; i < std::min(cycle.size(), maxNamed); ++i)
    text += describe(cycle[i]) + " -> ";
  if (cycle.size() > maxNamed)
    text += "... -> ";
  return text + describe(cycle.front());
}

Status Problem::sortTopologically() {
  bool programIsOrder =
      std::all_of(dependences.begin(), dependences.end(),
                  [](const Dependence &edge) { return edge.from < edge.to; });
  topological.resize(nodes.size());
  std::iota(topological.begin(), topological.end(), 0);
  if (programIsOrder)
    return Status::success();

  IndegreeCounter missing(nodes.size());
  for (const Dependence &dependence : dependences)
    missing.addEdgesTo(dependence.to);
  // The order found so far is also the queue of nodes to be expanded.
  topological = missing.listReady();
  for (size_t next = 0; next < topological.size(); ++next)
    for (DependenceEnd successor : successors(topological[next]))
      if (missing.removeEdgeTo(successor.node))
        topological.push_back(successor.node);
  if (topological.size() == nodes.size())
    return Status::success();
  topological.clear();
  return Error{describeCycle(missing)};
}

//===----------------------------------------------------------------------===//
// Finalization
//===----------------------------------------------------------------------===//

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
  std::vector<Dependence> ended;
  std::copy_if(dependences.begin(), dependences.end(),
               std::back_inserter(ended), [](const Dependence &dependence) {
                 return dependence.kind == DependenceKind::Stream;
               });
  endedRows.build(
      nodes.size(), ended.size(), [&](size_t i) { return ended[i].to; },
      [&](size_t i) { return ended[i].from; });
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

const Status &Problem::finalize() {
  if (finalized)
    return status;
  finalized = true;
  successorRows.clear();
  predecessorRows.clear();
  endedRows.clear();
  userRows.clear();
  usedRows.clear();
  producedRows.clear();
  topological.clear();
  // Each step relies on what the steps before it have checked.
  status = checkNodes();
  if (status)
    status = pairWaits();
  if (status)
    status = checkDependences();
  if (status)
    status = checkBuffers();
  if (!status)
    return status;
  buildRows();
  status = sortTopologically();
  return status;
}
