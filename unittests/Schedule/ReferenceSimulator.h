//===- ReferenceSimulator.h - Time model in ticks ---------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Simulates the time model, with contention or without, in steps of one
// nanosecond: operations in flight progress by their share, and streams poll
// their queues. It shares no formula with the simulator that it checks.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_UNITTESTS_SCHEDULE_REFERENCESIMULATOR_H
#define COMMSCHED_UNITTESTS_SCHEDULE_REFERENCESIMULATOR_H

#include "CommSched/Schedule/Model/Simulator.h"

#include <algorithm>
#include <deque>
#include <set>
#include <utility>

namespace mlir::commsched::schedule::testing {

class ReferenceSimulator {
public:
  /// At most 16 streams may share a link. Few slowdowns may differ.
  ReferenceSimulator(const Problem &problem, const Order &order,
                     Contention contention = {})
      : problem(problem), order(order), contention(std::move(contention)),
        queues(problem.numStreams()), positions(problem.numNodes()),
        left(problem.numNodes()), beginNs(problem.numNodes(), -1),
        endNs(problem.numNodes(), -1) {
    std::set<int64_t> slowdowns(this->contention.slowdownPpm.begin(),
                                this->contention.slowdownPpm.end());
    slowdowns.insert(0);
    for (int64_t slowdown : slowdowns)
      computeParts *= millionths + slowdown;
    for (size_t position = 0; position < order.size(); ++position)
      positions[order[position]] = position;
    for (NodeId node = 0; node < problem.numNodes(); ++node)
      left[node] = problem.costNs(node) *
                   (problem.isCollective(node) ? linkParts : computeParts);
  }

  /// Returns the time of the step.
  int64_t run() {
    while (true) {
      while (makeProgress())
        ;
      if (nextToIssue == order.size() && running == noNode)
        return now;
      tick();
    }
  }

  const std::vector<int64_t> &begins() const { return beginNs; }
  const std::vector<int64_t> &ends() const { return endNs; }

private:
  /// Divisible by all shares of a link.
  static constexpr int64_t linkParts = 16 * 9 * 5 * 7 * 11 * 13;
  static constexpr int64_t millionths = 1'000'000;
  /// Wide enough for the product of a few slowdowns.
  __extension__ using Parts = __int128;

  bool isInFlight(NodeId collective) const {
    return beginNs[collective] >= 0 && endNs[collective] < 0;
  }

  int32_t linkOf(NodeId collective) const {
    return contention.links.empty()
               ? -1
               : contention.links[problem.stream(collective)];
  }

  std::vector<NodeId> allInFlight() const {
    std::vector<NodeId> result;
    for (const std::deque<NodeId> &queue : queues)
      if (!queue.empty() && isInFlight(queue.front()))
        result.push_back(queue.front());
    return result;
  }

  int64_t slowdownOf(NodeId collective) const {
    return contention.slowdownPpm.empty()
               ? 0
               : contention.slowdownPpm[problem.stream(collective)];
  }

  void tick() {
    std::vector<NodeId> inFlight = allInFlight();
    for (NodeId node : inFlight) {
      int64_t sharers = 0;
      for (NodeId other : inFlight)
        sharers += other == node ||
                   (linkOf(node) >= 0 && linkOf(other) == linkOf(node));
      left[node] -= linkParts / sharers;
    }
    int64_t slowdown = 0;
    for (NodeId node : inFlight)
      slowdown = std::max(slowdown, slowdownOf(node));
    if (running != noNode && problem.kind(running) == NodeKind::Compute)
      left[running] -= computeParts / (millionths + slowdown) * millionths;
    ++now;
  }

  /// Whether all has ended that was issued before on exclusive streams.
  bool mayBegin(NodeId collective) const {
    StreamId own = problem.stream(collective);
    for (auto [first, second] : contention.exclusive) {
      if (first != own && second != own)
        continue;
      for (NodeId other : queues[first == own ? second : first])
        if (positions[other] < positions[collective])
          return false;
    }
    return true;
  }

  /// Whatever can happen at this instant; false if nothing can.
  bool makeProgress() {
    for (std::deque<NodeId> &queue : queues) {
      if (queue.empty())
        continue;
      NodeId head = queue.front();
      if (beginNs[head] < 0 && mayBegin(head)) {
        beginNs[head] = now;
        return true;
      }
      if (isInFlight(head) && left[head] <= 0) {
        endNs[head] = now;
        queue.pop_front();
        return true;
      }
    }
    if (running == noNode)
      return issue();
    bool isOver = problem.isCollective(running) ? endNs[running] >= 0
                  : problem.kind(running) == NodeKind::Wait
                      ? endNs[problem.startOf(running)] >= 0
                      : left[running] <= 0;
    if (!isOver)
      return false;
    if (!problem.isCollective(running))
      endNs[running] = now;
    running = noNode;
    return true;
  }

  bool issue() {
    if (nextToIssue == order.size())
      return false;
    NodeId node = order[nextToIssue++];
    if (problem.isCollective(node))
      queues[problem.stream(node)].push_back(node);
    else
      beginNs[node] = now;
    if (problem.kind(node) != NodeKind::Start)
      running = node;
    return true;
  }

  const Problem &problem;
  const Order &order;
  Contention contention;
  std::vector<std::deque<NodeId>> queues;
  std::vector<size_t> positions;
  /// The remaining time of each operation.
  std::vector<Parts> left;
  /// Of a nanosecond of computation: divisible by the time that it takes.
  Parts computeParts = 1;
  /// The operation that holds the compute stream.
  NodeId running = noNode;
  size_t nextToIssue = 0;
  int64_t now = 0;
  std::vector<int64_t> beginNs, endNs;
};

} // namespace mlir::commsched::schedule::testing

#endif // COMMSCHED_UNITTESTS_SCHEDULE_REFERENCESIMULATOR_H
