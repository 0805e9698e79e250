//===- TestProblems.h - Hand-written scheduling problems --------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Problems that several tests share.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_UNITTESTS_SCHEDULE_TESTPROBLEMS_H
#define COMMSCHED_UNITTESTS_SCHEDULE_TESTPROBLEMS_H

#include "CommSched/Schedule/Model/Problem.h"
#include "CommSched/Schedule/Model/ProblemTransforms.h"
#include "ProblemText.h"

#include <initializer_list>
#include <numeric>

namespace mlir::commsched::schedule::testing {

/// The order of the program.
inline Order programOrder(const Problem &problem) {
  Order order(problem.numNodes());
  std::iota(order.begin(), order.end(), 0);
  return order;
}

/// Adds a compute operation that needs the results of others.
inline NodeId addCompute(Problem &problem, int64_t costNs,
                         std::initializer_list<NodeId> operands = {}) {
  NodeId node = problem.addNode(NodeKind::Compute, costNs);
  for (NodeId operand : operands)
    problem.addDependence(operand, node, DependenceKind::Data);
  return node;
}

/// Adds a start that needs the results of others.
inline NodeId addStart(Problem &problem, int64_t costNs,
                       std::initializer_list<NodeId> operands = {},
                       StreamId stream = 0) {
  NodeId node = problem.addNode(NodeKind::Start, costNs, stream);
  for (NodeId operand : operands)
    problem.addDependence(operand, node, DependenceKind::Data);
  return node;
}

/// Two gathers on one stream beside a product and two sums, each of which
/// returns 4096 bytes: every rule of the time and the memory model in seven
/// operations. The numbers are those of the operations in program order.
struct TimelineExample {
  static constexpr NodeId gatherA = 0, mm = 1, gatherB = 2, waitA = 3, addA = 4,
                          waitB = 5, addB = 6;
  Problem problem;

  TimelineExample() {
    addStart(problem, 100);
    addCompute(problem, 60);
    addStart(problem, 50);
    problem.addWait(gatherA);
    addCompute(problem, 30, {mm, waitA});
    problem.addWait(gatherB);
    addCompute(problem, 20, {addA, waitB});
    addBuffers();
    problem.finalize();
  }

private:
  void addBuffers() {
    auto add = [&](int64_t bytes, NodeId producer, bool freed,
                   std::initializer_list<NodeId> users) {
      BufferId buffer = problem.addBuffer(bytes, producer, freed);
      for (NodeId user : users)
        problem.addUse(buffer, user);
    };
    // Arguments: two shards of 1 KiB, used until the waits, and a full tensor.
    add(1024, noNode, false, {gatherA, waitA});
    add(1024, noNode, false, {gatherB, waitB});
    add(4096, noNode, false, {mm});
    // The results of a start are what its wait hands on.
    add(4096, gatherA, true, {waitA, addA});
    add(4096, mm, true, {addA});
    add(4096, gatherB, true, {waitB, addB});
    add(4096, addA, true, {addB});
    add(4096, addB, false, {});
  }
};

} // namespace mlir::commsched::schedule::testing

#endif // COMMSCHED_UNITTESTS_SCHEDULE_TESTPROBLEMS_H
