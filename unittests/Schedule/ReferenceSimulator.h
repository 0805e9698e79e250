//===- ReferenceSimulator.h - Time model in ticks ---------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Simulates the time model in steps of one nanosecond, with streams that poll
// their queues. It shares no formula with the simulator that it checks.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_UNITTESTS_SCHEDULE_REFERENCESIMULATOR_H
#define COMMSCHED_UNITTESTS_SCHEDULE_REFERENCESIMULATOR_H

#include "CommSched/Schedule/Model/Problem.h"

#include <deque>

namespace mlir::commsched::schedule::testing {

class ReferenceSimulator {
public:
  ReferenceSimulator(const Problem &problem, const Order &order)
      : problem(problem), order(order), queues(problem.numStreams()),
        beginNs(problem.numNodes(), -1), endNs(problem.numNodes(), -1) {}

  /// Returns the time of the step.
  int64_t run() {
    while (true) {
      while (makeProgress())
        ;
      if (nextToIssue == order.size() && isIdle())
        return now;
      ++now;
    }
  }

  const std::vector<int64_t> &begins() const { return beginNs; }
  const std::vector<int64_t> &ends() const { return endNs; }

private:
  bool isIdle() const {
    for (const std::deque<NodeId> &queue : queues)
      if (!queue.empty())
        return false;
    return running == noNode;
  }

  /// Ends `node` if it has begun and its time is over.
  bool finish(NodeId node) {
    if (beginNs[node] < 0 || now < beginNs[node] + problem.costNs(node))
      return false;
    endNs[node] = now;
    return true;
  }

  /// Whatever can happen at this instant; false if nothing can.
  bool makeProgress() {
    for (std::deque<NodeId> &queue : queues) {
      if (queue.empty())
        continue;
      NodeId head = queue.front();
      if (beginNs[head] < 0) {
        beginNs[head] = now;
        return true;
      }
      if (finish(head)) {
        queue.pop_front();
        return true;
      }
    }
    if (running != noNode) {
      bool isWait = problem.kind(running) == NodeKind::Wait;
      // A blocking collective was put on its stream, and ends there.
      bool isOver = isWait ? endNs[problem.startOf(running)] >= 0
                           : endNs[running] >= 0 || finish(running);
      if (!isOver)
        return false;
      if (isWait)
        endNs[running] = now;
      running = noNode;
      return true;
    }
    return issue();
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
  std::vector<std::deque<NodeId>> queues;
  /// The operation that holds the compute stream.
  NodeId running = noNode;
  size_t nextToIssue = 0;
  int64_t now = 0;
  std::vector<int64_t> beginNs, endNs;
};

} // namespace mlir::commsched::schedule::testing

#endif // COMMSCHED_UNITTESTS_SCHEDULE_REFERENCESIMULATOR_H
