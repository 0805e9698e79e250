//===- TestProblems.h - Hand-written scheduling problems --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the tests of Schedule share: problems, random ones among them, what
// checks and simulates orders, and the part of the standard library that most
// of them use. Random problems are small: chains, diamonds and random graphs
// with several streams, waits far from their starts, barriers, parallel
// dependences, zero costs, shared and unused buffers.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_UNITTESTS_SCHEDULE_TESTPROBLEMS_H
#define COMMSCHED_UNITTESTS_SCHEDULE_TESTPROBLEMS_H

#include "../Testing.h"
#include "CommSched/Schedule/Cyclic/CyclicProblem.h"
#include "CommSched/Schedule/Model/MemoryTimeline.h"
#include "CommSched/Schedule/Model/ProblemTransforms.h"
#include "CommSched/Schedule/Model/Simulator.h"
#include "CommSched/Schedule/Model/Verify.h"
#include "ProblemText.h"

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

/// Time and peak.
using Measured = std::pair<int64_t, int64_t>;

inline Measured measure(const Problem &problem, const Order &order,
                        const Contention &contention = {}) {
  return {simulate(problem, order, contention)->stepNs,
          simulateMemory(problem, order)->peakBytes};
}

/// Whether `a` is worse than `b`, by the rule of the documentation, which is
/// written here once more.
inline bool isWorse(Measured a, Measured b, int64_t limitBytes) {
  bool fitsA = a.second <= limitBytes, fitsB = b.second <= limitBytes;
  if (fitsA != fitsB)
    return fitsB;
  if (fitsA)
    return a > b;
  return std::make_pair(a.second, a.first) > std::make_pair(b.second, b.first);
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

struct RandomProblemOptions {
  int32_t maxNodes = 40;
  int32_t maxStreams = 3;
  int64_t maxCostNs = 12;
  /// Number the operations so that dependences also point backwards.
  bool shuffleProgram = false;
  /// How many of a hundred computations are expensive.
  int64_t expensivePercent = 0;
  /// How many of a hundred uses of a buffer have no dependence on its producer.
  /// makeRandomOrder() looks at dependences only.
  int64_t impliedPercent = 0;
  /// Buffers are empty, small or huge, rather than all alike.
  bool unevenBuffers = false;
  /// Let waits make buffers, which those of a program do not: what a collective
  /// delivers is its start's.
  bool waitsMakeBuffers = true;
};

/// A valid (checked) problem. The same seed gives the same problem on every
/// platform.
Problem makeRandomProblem(uint64_t seed, const RandomProblemOptions &options);

/// One that is shuffled if the seed is odd.
inline Problem makeEitherProblem(uint64_t seed, int32_t maxNodes = 40) {
  RandomProblemOptions options;
  options.maxNodes = maxNodes;
  options.shuffleProgram = seed % 2;
  return makeRandomProblem(seed, options);
}

/// A valid (checked) problem with the structure of a training step: parameters
/// that are gathered for a product and freed behind it, weight gradients beside
/// the chain of products that are reduced or scattered, collectives between two
/// products, a second group, casts before collectives, views behind them,
/// updates at the end. It has 1 to `maxLayers` layers, of up to 25 operations
/// each; its program is a legal order. The same seed gives the same problem on
/// every platform.
Problem makeRandomStep(uint64_t seed, int32_t maxLayers);

/// Streams that exclude each other, share links and slow computation down; of
/// each sometimes nothing.
Contention makeRandomContention(Random &random, StreamId numStreams);

/// A legal order of `problem`, drawn by taking any ready operation each time.
Order makeRandomOrder(uint64_t seed, const Problem &problem);

/// A valid problem whose body is one of makeRandomProblem(), with carried
/// dependences and uses at distances of 1 and 2.
CyclicProblem makeRandomCyclicProblem(uint64_t seed,
                                      const RandomProblemOptions &options);

/// A legal order of the period, with random stages of up to `maxStage`.
CyclicOrder makeRandomCyclicOrder(uint64_t seed, const CyclicProblem &problem,
                                  int32_t maxStage);

} // namespace mlir::commsched::schedule::testing

#endif // COMMSCHED_UNITTESTS_SCHEDULE_TESTPROBLEMS_H
