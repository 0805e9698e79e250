//===- PartialOrder.cpp - How a step begins -------------------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PartialOrder.h"

#include <algorithm>
#include <limits>

using namespace mlir::commsched::schedule;

PartialOrders::PartialOrders(const Problem &problem)
    : problem(problem), tailsNs(problem.numNodes()),
      endTailsNs(problem.numNodes()), headsNs(problem.numNodes()),
      releasesNs(problem.numNodes()) {
  findTails();
  for (NodeId node = 0; node < problem.numNodes(); ++node)
    if (problem.kind(node) != NodeKind::Wait)
      byEndTail.push_back(node);
  std::sort(byEndTail.begin(), byEndTail.end(), [&](NodeId a, NodeId b) {
    return endTailsNs[a] != endTailsNs[b] ? endTailsNs[a] > endTailsNs[b]
                                          : a < b;
  });
}

void PartialOrders::findTails() {
  for (NodeId node = problem.numNodes(); node-- > 0;) {
    int64_t tail = 0;
    for (DependenceEnd end : problem.successors(node)) {
      bool holds = problem.kind(end.node) == NodeKind::Compute ||
                   problem.kind(end.node) == NodeKind::Blocking;
      tail = std::max(tail, tailsNs[end.node] +
                                (holds ? problem.costNs(end.node) : 0));
    }
    tailsNs[node] = endTailsNs[node] = tail;
    if (problem.kind(node) != NodeKind::Start)
      continue;
    endTailsNs[node] = tailsNs[problem.waitOf(node)];
    tailsNs[node] = std::max(tail, problem.costNs(node) + endTailsNs[node]);
  }
}

PartialOrder PartialOrders::makeEmpty() const {
  PartialOrder partial;
  partial.endsNs.resize(problem.numNodes());
  partial.streamsNs.resize(problem.numStreams());
  for (NodeId node = 0; node < problem.numNodes(); ++node)
    partial.numMissing.push_back(
        static_cast<int32_t>(problem.predecessors(node).size()));
  for (BufferId id = 0; id < problem.numBuffers(); ++id) {
    bool isThere = problem.buffer(id).producer == noNode;
    // A producer may be among the users, and then counts twice.
    partial.usersLeft.push_back(static_cast<int32_t>(problem.users(id).size()) +
                                !isThere);
    if (isThere)
      partial.liveBytes += problem.buffer(id).bytes;
  }
  return partial;
}

/// Mixes the bits of an index (S. Vigna, splitmix64).
static uint64_t hash(NodeId node) {
  uint64_t x = (static_cast<uint64_t>(node) + 1) * 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

int64_t PartialOrders::issue(PartialOrder &partial, NodeId node) const {
  for (BufferId id : problem.buffersMadeBy(node))
    partial.liveBytes += problem.buffer(id).bytes;
  int64_t allocated = partial.liveBytes;
  auto release = [&](BufferId id) {
    if (--partial.usersLeft[id] == 0 && problem.buffer(id).freed)
      partial.liveBytes -= problem.buffer(id).bytes;
  };
  for (BufferId id : problem.buffersMadeBy(node))
    release(id);
  for (BufferId id : problem.buffersUsedBy(node))
    release(id);
  switch (problem.kind(node)) {
  case NodeKind::Compute:
    partial.clockNs += problem.costNs(node);
    break;
  case NodeKind::Wait:
    partial.clockNs =
        std::max(partial.clockNs, partial.endsNs[problem.startOf(node)]);
    break;
  case NodeKind::Start:
  case NodeKind::Blocking: {
    int64_t &stream = partial.streamsNs[problem.stream(node)];
    stream = std::max(partial.clockNs, stream) + problem.costNs(node);
    partial.endsNs[node] = stream;
    if (problem.kind(node) == NodeKind::Blocking)
      partial.clockNs = stream;
    break;
  }
  }
  partial.numMissing[node] = -1;
  for (DependenceEnd end : problem.successors(node))
    --partial.numMissing[end.node];
  partial.issuedHash ^= hash(node);
  return allocated;
}

const std::vector<NodeId> &
PartialOrders::listChoices(const PartialOrder &partial) {
  choices.clear();
  for (NodeId node = 0; node < problem.numNodes(); ++node) {
    if (!partial.isReady(node))
      continue;
    if (problem.kind(node) == NodeKind::Wait &&
        problem.buffersMadeBy(node).empty() &&
        partial.endsNs[problem.startOf(node)] <= partial.clockNs) {
      choices = {node};
      return choices;
    }
    choices.push_back(node);
  }
  return choices;
}

int64_t PartialOrders::findBoundNs(const PartialOrder &partial) {
  int64_t bound = partial.clockNs;
  // When each operation begins at the earliest, and when the compute stream is
  // past it; what is issued is past now.
  std::fill(releasesNs.begin(), releasesNs.end(), partial.clockNs);
  for (NodeId node = 0; node < problem.numNodes(); ++node) {
    if (partial.isIssued(node))
      continue;
    int64_t head = partial.clockNs;
    for (DependenceEnd end : problem.predecessors(node))
      head = std::max(head, releasesNs[end.node]);
    int64_t release = head;
    switch (problem.kind(node)) {
    case NodeKind::Compute:
      release += problem.costNs(node);
      break;
    case NodeKind::Wait: {
      NodeId start = problem.startOf(node);
      int64_t end = partial.isIssued(start)
                        ? partial.endsNs[start]
                        : headsNs[start] + problem.costNs(start);
      release = std::max(head, end);
      break;
    }
    case NodeKind::Start:
    case NodeKind::Blocking:
      head = std::max(head, partial.streamsNs[problem.stream(node)]);
      if (problem.kind(node) == NodeKind::Blocking)
        release = head + problem.costNs(node);
      break;
    }
    headsNs[node] = head;
    releasesNs[node] = release;
    bound = std::max(bound, release + tailsNs[node]);
  }
  // Whatever has at least some tail runs one after another on its stream, from
  // the least of the heads on. The compute stream comes last.
  size_t compute = static_cast<size_t>(problem.numStreams());
  firstHeads.assign(compute + 1, std::numeric_limits<int64_t>::max());
  sums.assign(compute + 1, 0);
  auto run = [&](size_t stream, NodeId node) {
    firstHeads[stream] = std::min(firstHeads[stream], headsNs[node]);
    sums[stream] += problem.costNs(node);
    bound =
        std::max(bound, firstHeads[stream] + sums[stream] + endTailsNs[node]);
  };
  for (NodeId node : byEndTail) {
    if (partial.isIssued(node))
      continue;
    if (problem.isCollective(node))
      run(static_cast<size_t>(problem.stream(node)), node);
    if (problem.kind(node) != NodeKind::Start)
      run(compute, node);
  }
  return bound;
}
