//===- ComputeOrdersTest.cpp - Tests of orders of the computation ---------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Step/ComputeOrders.h"

#include "../Random.h"
#include "../Seeds.h"
#include "RandomProblem.h"
#include "RandomStep.h"
#include "TestProblems.h"

#include <gtest/gtest.h>

#include <algorithm>

using namespace mlir::commsched;
using namespace mlir::commsched::schedule;
using namespace mlir::commsched::testing;
using namespace mlir::commsched::schedule::testing;

namespace {

StepStructure analyze(Problem &problem) {
  const Status &status = problem.finalize();
  EXPECT_TRUE(status) << status.error();
  return *StepStructure::create(problem);
}

/// Two layers of a backward, each with the gradient of its input and of its
/// weight. Only the last weight gradient is reduced, in 100 ns.
struct BackwardExample {
  Problem problem;
  NodeId input0 = addCompute(problem, 50);
  NodeId weight0 = addCompute(problem, 50, {input0});
  NodeId input1 = addCompute(problem, 50, {input0});
  NodeId weight1 = addCompute(problem, 50, {input1});
  NodeId reduction = addStart(problem, 100, {weight1});
  NodeId wait = problem.addWait(reduction);

  BackwardExample() {
    for (NodeId node : {input0, weight0, input1, weight1})
      problem.setExpensive(node);
  }
};

TEST(ComputeOrders, TheEndIsFilledBesideTheLastCollective) {
  BackwardExample example;
  StepStructure structure = analyze(example.problem);
  Order program{example.input0, example.weight0, example.input1,
                example.weight1};
  EXPECT_EQ(getProgramComputeOrder(structure), program);
  EXPECT_EQ(fillEnd(structure, 0), (Order{example.input0, example.input1,
                                          example.weight1, example.weight0}));
  // All of the reduction may stick out.
  EXPECT_EQ(fillEnd(structure, 100), program);
  EXPECT_EQ(fillEnd(structure, std::numeric_limits<int64_t>::max()), program);
}

/// An exchange of 100 ns between two operations, with one in front and one
/// behind that have nothing to do with it; `between` operations of 10 ns keep
/// them away from it.
struct ExchangeExample {
  explicit ExchangeExample(bool hasFront, bool hasBack, int between = 0) {
    if (hasFront)
      front = addCompute(problem, 100);
    first = addCompute(problem, 10);
    for (int i = 0; i < between; ++i)
      first = addCompute(problem, 10, {first});
    exchange = addStart(problem, 100, {first});
    wait = problem.addWait(exchange);
    last = second = addCompute(problem, 10, {wait});
    for (int i = 0; i < between; ++i)
      last = addCompute(problem, 10, {last});
    if (hasBack)
      back = addCompute(problem, 100);
    // Direct successors of an exchange would move along with it.
    for (NodeId node = 0; node < problem.numNodes(); ++node)
      if (problem.kind(node) == NodeKind::Compute)
        problem.setExpensive(node);
  }

  Order fill(int32_t maxDistance) {
    StepStructure structure = analyze(problem);
    Order program = programOrder(problem);
    return fillStalls(structure, program, *simulate(problem, program),
                      maxDistance);
  }

  Problem problem;
  NodeId front = noNode, first = noNode, exchange = noNode, wait = noNode,
         second = noNode, last = noNode, back = noNode;
};

TEST(ComputeOrders, StallsAreFilledFromTheFront) {
  ExchangeExample example(/*hasFront=*/true, /*hasBack=*/false);
  EXPECT_EQ(example.fill(1),
            (Order{example.first, example.front, example.second}));
  ExchangeExample far(/*hasFront=*/true, /*hasBack=*/false, /*between=*/2);
  NodeId first = far.front + 1, second = far.second;
  EXPECT_EQ(far.fill(2), (Order{far.front, first, first + 1, first + 2, second,
                                second + 1, second + 2}));
  EXPECT_EQ(far.fill(3), (Order{first, first + 1, first + 2, far.front, second,
                                second + 1, second + 2}));
}

TEST(ComputeOrders, StallsAreFilledFromBehind) {
  ExchangeExample example(/*hasFront=*/false, /*hasBack=*/true);
  EXPECT_EQ(example.fill(2),
            (Order{example.first, example.back, example.second}));
  ExchangeExample far(/*hasFront=*/false, /*hasBack=*/true, /*between=*/2);
  NodeId second = far.second;
  EXPECT_EQ(far.fill(3),
            (Order{0, 1, 2, second, second + 1, second + 2, far.back}));
  EXPECT_EQ(far.fill(4),
            (Order{0, 1, 2, far.back, second, second + 1, second + 2}));
}

TEST(ComputeOrders, OneFillingIsEnough) {
  // The operation in front is taken, and fills the stall.
  ExchangeExample example(/*hasFront=*/true, /*hasBack=*/true);
  EXPECT_EQ(example.fill(8), (Order{example.first, example.front,
                                    example.second, example.back}));
}

TEST(ComputeOrders, WhatIsMuchLongerThanTheStallStays) {
  auto move = [](int64_t frontNs) {
    Problem problem;
    NodeId front = addCompute(problem, frontNs);
    NodeId first = addCompute(problem, 10);
    NodeId exchange = addStart(problem, 100, {first});
    NodeId second = addCompute(problem, 10, {problem.addWait(exchange)});
    for (NodeId node : {front, first, second})
      problem.setExpensive(node);
    StepStructure structure = analyze(problem);
    Order program = programOrder(problem);
    Order order = fillStalls(structure, program, *simulate(problem, program),
                             /*maxDistance=*/8);
    return order.front() == first;
  };
  EXPECT_TRUE(move(200));
  EXPECT_FALSE(move(201));
}

/// `computeOrder` has the operations of the compute order, and dependences
/// allow it.
void checkLegal(const StepStructure &structure, const Order &computeOrder) {
  Order sorted = computeOrder, program = getProgramComputeOrder(structure);
  std::sort(sorted.begin(), sorted.end());
  std::sort(program.begin(), program.end());
  ASSERT_EQ(sorted, program);
  Problem chained = structure.getProblem();
  for (size_t i = 1; i < computeOrder.size(); ++i)
    chained.addDependence(computeOrder[i - 1], computeOrder[i],
                          DependenceKind::Order);
  const Status &status = chained.finalize();
  ASSERT_TRUE(status) << status.error();
}

TEST(ComputeOrders, AreLegal) {
  int numEnds = 0, numStalls = 0;
  for (uint64_t seed : Seeds(600)) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Problem problem =
        seed % 2 ? makeRandomStep(seed, 4) : makeRandomProblem(seed, {});
    StepStructure structure = *StepStructure::create(problem);
    Random random(seed);
    for (int64_t overhangNs : {int64_t(0), random.below(200)}) {
      Order computeOrder = fillEnd(structure, overhangNs);
      checkLegal(structure, computeOrder);
      numEnds += computeOrder != getProgramComputeOrder(structure);
    }
    EXPECT_EQ(fillEnd(structure, std::numeric_limits<int64_t>::max()),
              getProgramComputeOrder(structure));
    for (const Order &order :
         {problem.topologicalOrder(), makeRandomOrder(seed, problem)}) {
      Order before;
      for (NodeId node : order)
        if (structure.isInComputeOrder(node))
          before.push_back(node);
      Order computeOrder =
          fillStalls(structure, order, *simulate(problem, order),
                     static_cast<int32_t>(random.below(10)));
      checkLegal(structure, computeOrder);
      numStalls += computeOrder != before;
    }
    if (::testing::Test::HasFatalFailure())
      return;
  }
  EXPECT_GT(numEnds, 30);
  EXPECT_GT(numStalls, 30);
}

} // namespace
