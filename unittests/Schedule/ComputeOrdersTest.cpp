//===- ComputeOrdersTest.cpp - Tests of orders of the computation ---------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Step/ComputeOrders.h"
#include "TestProblems.h"

using namespace mlir::commsched::schedule::testing;

namespace {

TEST(ComputeOrders, TheEndIsFilledBesideTheLastCollective) {
  // Two layers of a backward, each with the gradient of its input and of its
  // weight. Only the last weight gradient is reduced, in 100 ns.
  TextProblem problem(R"(
    input0 = mm 50; weight0 = mm 50 input0; input1 = mm 50 input0
    weight1 = mm 50 input1; reduction = start 100 weight1; wait reduction)");
  StepStructure structure = *StepStructure::create(problem);
  Order program = problem.list("input0 weight0 input1 weight1");
  EXPECT_EQ(getProgramComputeOrder(structure), program);
  EXPECT_EQ(problem.tell(fillEnd(structure, 0)),
            "input0 input1 weight1 weight0");
  // All of the reduction may stick out.
  EXPECT_EQ(fillEnd(structure, 100), program);
  EXPECT_EQ(fillEnd(structure, std::numeric_limits<int64_t>::max()), program);
}

std::string fill(const std::string &text, int32_t maxDistance) {
  TextProblem problem(text);
  StepStructure structure = *StepStructure::create(problem);
  Order program = programOrder(problem);
  return problem.tell(
      fillStalls(structure, program, *simulate(problem, program), maxDistance));
}

// An exchange of 100 ns between two operations, with one in front and one
// behind that have nothing to do with it; in the long form two operations of 10
// ns keep them away from it. Direct successors of an exchange would move along
// with it unless they are expensive.
const std::string front = "front = mm 100;", back = "back = mm 100;";
const std::string exchange =
    "a = mm 10; s = start 100 a; wait s; d = mm 10 s';";
const std::string farExchange = R"(
  a = mm 10; b = mm 10 a; c = mm 10 b; s = start 100 c; wait s; d = mm 10 s'
  e = mm 10 d; f = mm 10 e;)";

TEST(ComputeOrders, StallsAreFilledFromTheFront) {
  EXPECT_EQ(fill(front + exchange, 1), "a front d");
  EXPECT_EQ(fill(front + farExchange, 2), "front a b c d e f");
  EXPECT_EQ(fill(front + farExchange, 3), "a b c front d e f");
}

TEST(ComputeOrders, StallsAreFilledFromBehind) {
  EXPECT_EQ(fill(exchange + back, 2), "a back d");
  EXPECT_EQ(fill(farExchange + back, 3), "a b c d e f back");
  EXPECT_EQ(fill(farExchange + back, 4), "a b c back d e f");
}

TEST(ComputeOrders, OneFillingIsEnough) {
  // The operation in front is taken, and fills the stall.
  EXPECT_EQ(fill(front + exchange + back, 8), "a front d back");
}

TEST(ComputeOrders, WhatIsMuchLongerThanTheStallStays) {
  EXPECT_EQ(fill("front = mm 200;" + exchange, 8), "a front d");
  EXPECT_EQ(fill("front = mm 201;" + exchange, 8), "front a d");
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
