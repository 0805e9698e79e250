//===- TightLowerBoundTest.cpp - The bound against the optimum --*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Schedule/TightLowerBound.h"

#include "CommSched/Schedule/LowerBound.h"
#include "CommSched/Schedule/Simulator.h"

#include "../Random.h"
#include "RandomProblem.h"
#include "ReferenceBestStep.h"
#include "TestProblems.h"

#include <gtest/gtest.h>

using namespace commsched;
using namespace commsched::testing;

namespace {

/// The bound of a problem that has one.
TightLowerBound getBound(const Problem &problem) {
  Result<TightLowerBound> bound = computeTightLowerBound(problem);
  EXPECT_TRUE(bound) << bound.error();
  return *bound;
}

void expectBound(const Problem &problem, int64_t ns, BoundKind kind,
                 StreamId stream = noStream) {
  TightLowerBound bound = getBound(problem);
  EXPECT_EQ(bound.ns, ns);
  EXPECT_EQ(bound.kind, kind);
  EXPECT_EQ(bound.stream, stream);
}

TEST(TightLowerBound, TimelineExample) {
  // Both gathers, the shorter tail of 20 last; the plain bound is 150.
  TimelineExample example;
  expectBound(example.problem, 170, BoundKind::Stream, 0);
  EXPECT_EQ(ReferenceBestStep(example.problem).stepNs, 170);
}

TEST(TightLowerBound, SaysWhatLimits) {
  Problem empty;
  empty.finalize();
  expectBound(empty, 0, BoundKind::Computation);

  Problem compute;
  addCompute(compute, 10, {addCompute(compute, 10)});
  compute.finalize();
  expectBound(compute, 20, BoundKind::Computation);

  Problem streams;
  for (StreamId stream : {0, 1, 1})
    streams.addWait(addStart(streams, 10, {}, stream));
  streams.finalize();
  expectBound(streams, 20, BoundKind::Stream, 1);

  Problem chain;
  NodeId start = addStart(chain, 30, {addCompute(chain, 10)});
  addCompute(chain, 5, {chain.addWait(start)});
  chain.finalize();
  expectBound(chain, 45, BoundKind::CriticalPath);

  // A Blocking is on both machines: 5 + 10 on each, and neither waits.
  Problem blocking;
  addCompute(blocking, 5);
  blocking.addNode(NodeKind::Blocking, 10, 0);
  blocking.finalize();
  expectBound(blocking, 15, BoundKind::Computation);
}

TEST(TightLowerBound, ReportsTheProblemsOwnError) {
  Problem problem;
  EXPECT_EQ(computeTightLowerBound(problem).error(),
            "the problem is not finalized");
}

TEST(TightLowerBound, ComputationWaitsForItsFirstGatherAndItsLastReduction) {
  // 10 before, 3 computations of 20 that no chain connects, 7 after.
  Problem problem;
  NodeId gathered = problem.addWait(addStart(problem, 10));
  for (int i = 0; i < 3; ++i)
    problem.addWait(
        addStart(problem, 7, {addCompute(problem, 20, {gathered})}));
  problem.finalize();
  EXPECT_EQ(computeLowerBound(problem)->ns(), 60);
  expectBound(problem, 77, BoundKind::Computation);
  EXPECT_EQ(ReferenceBestStep(problem).stepNs, 77);
}

/// A chain of layers, each of which needs weights of its own gathered. A layer
/// is several products side by side and a sum of them.
struct Layers {
  Problem problem;
  /// The optimum: until weights k are there nothing of layer k has run.
  int64_t bestNs = 0;

  Layers(uint64_t seed, int64_t numProducts) {
    Random random(seed);
    std::vector<int64_t> gathers(1 + random.below(12));
    std::vector<int64_t> layers;
    Order weights;
    for (int64_t &gather : gathers) {
      gather = random.below(20);
      weights.push_back(addStart(problem, gather));
    }
    NodeId last = noNode;
    for (NodeId start : weights) {
      NodeId wait = problem.addWait(start);
      std::vector<NodeId> products;
      layers.push_back(0);
      for (int64_t i = 0; i < numProducts; ++i) {
        products.push_back(addCompute(problem, random.below(10), {wait}));
        if (last != noNode)
          problem.addDependence(last, products.back(), DependenceKind::Data);
        layers.back() += problem.costNs(products.back());
      }
      NodeId sum = addCompute(problem, random.below(5));
      for (NodeId product : products)
        problem.addDependence(product, sum, DependenceKind::Data);
      layers.back() += problem.costNs(sum);
      last = sum;
    }
    problem.finalize();
    int64_t gathered = 0;
    int64_t left = std::accumulate(layers.begin(), layers.end(), int64_t(0));
    for (size_t k = 0; k < layers.size(); ++k) {
      gathered += gathers[k];
      bestNs = std::max(bestNs, gathered + left);
      left -= layers[k];
    }
  }
};

TEST(TightLowerBound, IsTheOptimumOfAChain) {
  int better = 0;
  for (uint64_t seed = 0; seed < 300; ++seed)
    for (int64_t numProducts : {1, 4}) {
      Layers layers(seed, numProducts);
      EXPECT_EQ(getBound(layers.problem).ns, layers.bestNs)
          << "seed " << seed << ", " << numProducts << " products";
      EXPECT_EQ(
          simulate(layers.problem, layers.problem.topologicalOrder())->stepNs,
          layers.bestNs);
      better += computeLowerBound(layers.problem)->ns() < layers.bestNs;
    }
  EXPECT_GT(better, 300);
}

TEST(TightLowerBound, NoOrderBeatsItAndManyReachIt) {
  int reached = 0;
  int reachedByPlain = 0;
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    RandomProblemOptions options;
    options.maxNodes = 12;
    options.maxStreams = 2;
    options.shuffleProgram = seed % 2;
    Problem problem = makeRandomProblem(seed, options);
    ReferenceBestStep best(problem);
    ASSERT_EQ(simulate(problem, best.order)->stepNs, best.stepNs);
    TightLowerBound bound = getBound(problem);
    int64_t plainNs = computeLowerBound(problem)->ns();
    EXPECT_LE(bound.ns, best.stepNs) << "seed " << seed;
    EXPECT_GE(bound.ns, plainNs) << "seed " << seed;
    EXPECT_EQ(bound.kind == BoundKind::Stream, bound.stream != noStream);
    reached += bound.ns == best.stepNs;
    reachedByPlain += plainNs == best.stepNs;
  }
  // 1,982 of 2,000, where the plain bound reaches 1,504.
  EXPECT_GT(reached, 1950);
  EXPECT_LT(reachedByPlain, 1600);
}

TEST(TightLowerBound, LargeProblemsKeepAboveIt) {
  for (uint64_t seed = 0; seed < 500; ++seed) {
    RandomProblemOptions options;
    options.maxNodes = 300;
    options.shuffleProgram = seed % 2;
    Problem problem = makeRandomProblem(seed, options);
    TightLowerBound bound = getBound(problem);
    EXPECT_GE(bound.ns, computeLowerBound(problem)->ns()) << "seed " << seed;
    EXPECT_LE(bound.ns,
              simulate(problem, makeRandomOrder(seed, problem))->stepNs)
        << "seed " << seed;
  }
}

TEST(TightLowerBound, ManySiblingsTakeNoQuadraticTime) {
  // A comb of joins, in which nothing becomes one busy period.
  Problem problem;
  NodeId last = noNode;
  constexpr int32_t size = 100000;
  for (int32_t i = 0; i < size; ++i) {
    NodeId wait = problem.addWait(addStart(problem, 1, {}, i % 1000));
    NodeId join = addCompute(problem, i % 3, {wait});
    if (last != noNode)
      problem.addDependence(last, join, DependenceKind::Data);
    last = join;
  }
  problem.finalize();
  EXPECT_GE(getBound(problem).ns, size - 1);
}

} // namespace
