//===- BeamSearchTest.cpp - Orders grown from the beginning ---------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Schedule/BeamSearch.h"

#include "CommSched/Schedule/MemoryTimeline.h"
#include "CommSched/Schedule/Simulator.h"
#include "CommSched/Schedule/Verify.h"
#include "RandomProblem.h"
#include "RandomStep.h"
#include "TestProblems.h"

#include <gtest/gtest.h>

#include <algorithm>

using namespace mlir::commsched;
using namespace mlir::commsched::schedule;
using namespace mlir::commsched::schedule::testing;

namespace {

constexpr int64_t unlimited = std::numeric_limits<int64_t>::max();

/// Tries every legal order.
class AllOrders {
public:
  explicit AllOrders(const Problem &problem) : problem(problem) {
    continueWith({});
  }

  /// The shortest step within the limit.
  int64_t findOptimum(int64_t limitBytes) const {
    int64_t best = unlimited;
    for (auto [stepNs, peakBytes] : costs)
      if (peakBytes <= limitBytes)
        best = std::min(best, stepNs);
    return best;
  }
  /// What every order needs.
  int64_t findLeastPeak() const {
    int64_t least = unlimited;
    for (auto [stepNs, peakBytes] : costs)
      least = std::min(least, peakBytes);
    return least;
  }
  size_t size() const { return costs.size(); }

  static constexpr size_t most = 500;

private:
  void continueWith(const Order &begin) {
    if (costs.size() >= most)
      return;
    if (begin.size() == static_cast<size_t>(problem.numNodes()))
      return costs.push_back({simulate(problem, begin)->stepNs,
                              simulateMemory(problem, begin)->peakBytes});
    auto isIn = [&](NodeId node) {
      return std::find(begin.begin(), begin.end(), node) != begin.end();
    };
    for (NodeId node = 0; node < problem.numNodes(); ++node) {
      ArrayView<DependenceEnd> needed = problem.predecessors(node);
      if (isIn(node) ||
          !std::all_of(needed.begin(), needed.end(),
                       [&](DependenceEnd end) { return isIn(end.node); }))
        continue;
      Order next = begin;
      next.push_back(node);
      continueWith(next);
    }
  }

  const Problem &problem;
  std::vector<std::pair<int64_t, int64_t>> costs;
};

TEST(BeamSearch, FindsTheShortestOfAllOrders) {
  int numTried = 0, numFound = 0, numLimited = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomProblemOptions shape;
    shape.maxNodes = 12;
    shape.waitsMakeBuffers = seed % 2;
    Problem problem = makeRandomProblem(seed, shape);
    AllOrders all(problem);
    if (all.size() == AllOrders::most)
      continue;
    for (int64_t limit : {all.findLeastPeak(), unlimited}) {
      int64_t optimum = all.findOptimum(limit);
      numLimited += optimum > all.findOptimum(unlimited);
      BeamSearchOptions options;
      options.limitBytes = limit;
      options.effort = 1 << 16;
      std::optional<Order> order = searchBeam(problem, options);
      ++numTried;
      // Orders that begin alike hide each other, so that it may miss some.
      ASSERT_TRUE(order);
      ASSERT_FALSE(verify(problem, *order));
      ASSERT_LE(simulateMemory(problem, *order)->peakBytes, limit);
      numFound += simulate(problem, *order)->stepNs == optimum;
      options.belowNs = optimum;
      ASSERT_FALSE(searchBeam(problem, options));
    }
    BeamSearchOptions options;
    options.limitBytes = all.findLeastPeak() - 1;
    options.effort = 1 << 16;
    ASSERT_FALSE(searchBeam(problem, options));
  }
  EXPECT_GT(numTried, 200);
  EXPECT_GT(numLimited, 5);
  EXPECT_GE(numFound * 100, numTried * 99);
}

TEST(BeamSearch, KeepsToItsOptions) {
  int numFound = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Problem problem = makeRandomStep(seed, 4);
    Order program = programOrder(problem);
    BeamSearchOptions options;
    options.limitBytes = simulateMemory(problem, program)->peakBytes;
    options.belowNs = simulate(problem, program)->stepNs;
    options.effort = 100'000;
    std::optional<Order> order = searchBeam(problem, options);
    ASSERT_EQ(order, searchBeam(problem, options));
    if (!order)
      continue;
    ++numFound;
    ASSERT_FALSE(verify(problem, *order));
    ASSERT_LE(simulateMemory(problem, *order)->peakBytes, options.limitBytes);
    int64_t stepNs = simulate(problem, *order)->stepNs;
    ASSERT_LT(stepNs, options.belowNs);
    // More effort finds no longer step; too little finds nothing.
    options.effort *= 8;
    ASSERT_LE(simulate(problem, *searchBeam(problem, options))->stepNs, stepNs);
    options.effort = problem.numNodes();
    ASSERT_FALSE(searchBeam(problem, options));
  }
  EXPECT_GT(numFound, 40);
}

TEST(BeamSearch, HasNothingToDo) {
  Problem problem;
  problem.finalize();
  BeamSearchOptions options;
  options.effort = 1000;
  EXPECT_FALSE(searchBeam(problem, options));
}

} // namespace
