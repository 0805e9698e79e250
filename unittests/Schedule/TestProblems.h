//===- TestProblems.h - Hand-written scheduling problems --------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the tests of Schedule share: problems, random ones among them, what
// checks and simulates orders, and the part of the standard library that most
// of them use.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_UNITTESTS_SCHEDULE_TESTPROBLEMS_H
#define COMMSCHED_UNITTESTS_SCHEDULE_TESTPROBLEMS_H

#include "../Testing.h"
#include "CommSched/Schedule/Model/MemoryTimeline.h"
#include "CommSched/Schedule/Model/ProblemTransforms.h"
#include "CommSched/Schedule/Model/Simulator.h"
#include "CommSched/Schedule/Model/Verify.h"
#include "ProblemText.h"
#include "RandomProblem.h"

#include <algorithm>
#include <initializer_list>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <random>
#include <set>
#include <tuple>

namespace mlir::commsched::schedule::testing {

using namespace mlir::commsched;
using namespace mlir::commsched::schedule;
using namespace mlir::commsched::testing;

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

/// The operations of a problem with other costs, and their dependences.
template <typename CostFn>
Problem copyOperations(const Problem &from, CostFn costOf) {
  Problem to;
  for (NodeId node = 0; node < from.numNodes(); ++node)
    if (from.kind(node) == NodeKind::Wait)
      to.addWait(from.startOf(node));
    else
      to.addNode(from.kind(node), costOf(node), from.stream(node));
  for (NodeId node = 0; node < from.numNodes(); ++node)
    for (DependenceEnd end : from.predecessors(node))
      to.addDependence(end.node, node, end.kind);
  return to;
}
inline Problem copyOperations(const Problem &from) {
  return copyOperations(from, [&](NodeId node) { return from.costNs(node); });
}

/// Two gathers on one stream beside a product and two sums, each of which
/// returns 4096 bytes: every rule of the time and the memory model in seven
/// operations. The numbers are those of the operations in program order.
struct TimelineExample {
  static constexpr NodeId gatherA = 0, mm = 1, gatherB = 2, waitA = 3, addA = 4,
                          waitB = 5, addB = 6;
  // A weight and two shards of 1 KiB are there from the start.
  TextProblem problem = TextProblem(R"(
    shardA = arg 1024!; shardB = arg 1024!; weight = arg 4096!
    gatherA = start 100 shardA -> 4096; mm = 60 weight -> 4096
    gatherB = start 50 shardB -> 4096; wait gatherA
    addA = 30 mm gatherA' -> 4096; wait gatherB
    addB = 20 addA gatherB' -> 4096!)");
};

} // namespace mlir::commsched::schedule::testing

#endif // COMMSCHED_UNITTESTS_SCHEDULE_TESTPROBLEMS_H
