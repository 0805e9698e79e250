//===- PeakMemoryOrdersTest.cpp - Tests of orders for low memory ----------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Schedule/Inductor/PeakMemoryOrders.h"

#include "../Seeds.h"
#include "CommSched/Schedule/Model/MemoryTimeline.h"
#include "CommSched/Schedule/Model/Verify.h"

#include "RandomProblem.h"
#include "ReferencePeakMemoryOrders.h"
#include "TestProblems.h"

#include <gtest/gtest.h>

#include <map>

using namespace mlir::commsched;
using namespace mlir::commsched::schedule;
using namespace mlir::commsched::schedule::testing;
using mlir::commsched::testing::Seeds;

namespace {

constexpr PeakMemoryMethod incoming = PeakMemoryMethod::Incoming;
constexpr PeakMemoryMethod lpmf = PeakMemoryMethod::LeastPeakMemoryFirst;
constexpr PeakMemoryMethod bfs = PeakMemoryMethod::BreadthFirst;
constexpr PeakMemoryMethod dfs = PeakMemoryMethod::DepthFirst;

Order expectOrder(Result<Order> order) {
  EXPECT_TRUE(order) << order.error();
  return order ? *order : Order();
}

/// The method that is chosen.
PeakMemoryMethod choose(const Problem &problem,
                        const std::vector<PeakMemoryMethod> &methods = {
                            lpmf, bfs, dfs}) {
  Result<PeakMemoryChoice> choice = choosePeakMemoryOrder(problem, methods);
  EXPECT_TRUE(choice) << choice.error();
  return choice ? choice->best.method : incoming;
}

/// The peaks of the order of the program, and by lpmf, bfs and dfs.
std::vector<int64_t> peaks(const Problem &problem) {
  Result<PeakMemoryChoice> choice = choosePeakMemoryOrder(problem);
  EXPECT_TRUE(choice) << choice.error();
  std::vector<int64_t> bytes;
  if (choice)
    for (const PeakMemoryCandidate &candidate : choice->candidates)
      bytes.push_back(candidate.peakBytes);
  return bytes;
}

/// Two products of one input and a product of each, summed; the first two are
/// returned, for the backward pass, and the sum.
Problem makeTwoBranches() {
  return TextProblem(R"(
    x = arg 8192!; wide1 = 1 x -> 81920!; narrow1 = 1 x -> 8192!
    narrow2 = 1 wide1 -> 8192; wide2 = 1 narrow1 -> 81920
    sum1 = 1 narrow2 -> 4; sum2 = 1 wide2 -> 40; sum = 1 sum1 sum2 -> 4!)");
}

/// The orders are those that PyTorch's tests expect of this program.
TEST(PeakMemoryOrders, TwoBranches) {
  Problem problem = makeTwoBranches();
  EXPECT_EQ(expectOrder(sortLeastPeakMemoryFirst(problem)),
            (Order{1, 0, 2, 4, 3, 5, 6}));
  EXPECT_EQ(expectOrder(sortBreadthFirst(problem)),
            (Order{0, 1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(expectOrder(sortDepthFirst(problem)), (Order{0, 2, 4, 1, 3, 5, 6}));
}

TEST(PeakMemoryOrders, TheFirstOfEqualsIsChosen) {
  Problem problem = makeTwoBranches();
  EXPECT_EQ(peaks(problem),
            (std::vector<int64_t>{188420, 180268, 188420, 180268}));
  Result<PeakMemoryChoice> choice = choosePeakMemoryOrder(problem);
  ASSERT_TRUE(choice) << choice.error();
  EXPECT_EQ(choice->best.method, lpmf);
  EXPECT_EQ(choice->best.peakBytes, 180268);
  EXPECT_EQ(choice->order, (Order{1, 0, 2, 4, 3, 5, 6}));
  EXPECT_EQ(choose(problem, {bfs}), incoming);
  EXPECT_EQ(choose(problem, {dfs, lpmf}), dfs);
  EXPECT_EQ(choose(problem, {}), incoming);
}

TEST(PeakMemoryOrders, ArgumentsThatStayChangeNoOrder) {
  for (uint64_t seed : Seeds(200)) {
    Problem problem = makeRandomProblem(seed, {});
    Result<PeakMemoryChoice> before = choosePeakMemoryOrder(problem);
    std::vector<Order> orders = {expectOrder(sortLeastPeakMemoryFirst(problem)),
                                 expectOrder(sortBreadthFirst(problem)),
                                 expectOrder(sortDepthFirst(problem))};
    BufferId argument = problem.addBuffer(1000, noNode, false);
    for (NodeId node = 0; node < problem.numNodes(); node += 3)
      problem.addUse(argument, node);
    // Nobody is there to free it.
    problem.addBuffer(500, noNode, true);
    problem.finalize();
    Result<PeakMemoryChoice> after = choosePeakMemoryOrder(problem);
    ASSERT_TRUE(before && after) << "seed " << seed;
    EXPECT_EQ(after->best.method, before->best.method) << "seed " << seed;
    EXPECT_EQ(after->best.peakBytes, before->best.peakBytes + 1500);
    EXPECT_EQ(orders, (std::vector<Order>{
                          expectOrder(sortLeastPeakMemoryFirst(problem)),
                          expectOrder(sortBreadthFirst(problem)),
                          expectOrder(sortDepthFirst(problem))}))
        << "seed " << seed;
  }
}

TEST(PeakMemoryOrders, NoOperationReadsWhatItMakes) {
  TextProblem problem("large = 1 -> 9; small = 1 use:small -> 8");
  EXPECT_EQ(expectOrder(sortDepthFirst(problem)), (Order{1, 0}));
  EXPECT_EQ(expectOrder(sortLeastPeakMemoryFirst(problem)), (Order{1, 0}));
}

TEST(PeakMemoryOrders, NothingToOrder) {
  TextProblem problem("x = arg 5");
  EXPECT_EQ(peaks(problem), (std::vector<int64_t>{5, 5, 5, 5}));
  EXPECT_EQ(choose(problem), incoming);
}

TEST(PeakMemoryOrders, ReportsTheProblemsOwnError) {
  Problem problem;
  const char *error = "the problem is not finalized";
  EXPECT_EQ(sortLeastPeakMemoryFirst(problem).error(), error);
  EXPECT_EQ(sortBreadthFirst(problem).error(), error);
  EXPECT_EQ(sortDepthFirst(problem).error(), error);
  EXPECT_EQ(choosePeakMemoryOrder(problem).error(), error);
}

TEST(PeakMemoryOrders, RejectsAProgramInAnIllegalOrder) {
  TextProblem problem("a = 1 b; b = 1");
  EXPECT_EQ(choosePeakMemoryOrder(problem).error(),
            "node 0 (compute) at position 0 comes before node 1 (compute) at "
            "position 1, on which it depends (data)");
  EXPECT_EQ(expectOrder(sortLeastPeakMemoryFirst(problem)), (Order{1, 0}));
}

TEST(PeakMemoryOrders, RejectsAUseThatDependsOnNothing) {
  EXPECT_EQ(
      sortLeastPeakMemoryFirst(TextProblem("a = 1 -> 8; b = 1 use:a")).error(),
      "the sort by least peak memory made an invalid order: node 1 (compute) "
      "at position 0 uses buffer 0 before node 0 (compute) at position 1 makes "
      "it");
}

/// Everything ready at once, and one chain: neither may take the square of the
/// operations, nor a recursion as deep.
TEST(PeakMemoryOrders, WideAndDeep) {
  constexpr int32_t size = 200000;
  for (bool isDeep : {false, true}) {
    Problem problem;
    problem.addNode(NodeKind::Compute, 1);
    for (NodeId node = 1; node < size; ++node) {
      problem.addNode(NodeKind::Compute, 1);
      problem.addDependence(isDeep ? node - 1 : 0, node, DependenceKind::Data);
      problem.addBuffer(isDeep ? size - node : node, node, true);
    }
    problem.finalize();
    Result<PeakMemoryChoice> choice = choosePeakMemoryOrder(problem);
    ASSERT_TRUE(choice) << choice.error();
    EXPECT_EQ(choice->order, programOrder(problem));
  }
}

TEST(PeakMemoryOrders, AgreeWithTheReference) {
  std::map<PeakMemoryMethod, int> chosen;
  for (uint64_t seed : Seeds(1000)) {
    RandomProblemOptions options;
    options.maxNodes = seed % 10 == 0 ? 40 : 15;
    options.shuffleProgram = seed % 3 == 0;
    Problem problem = makeRandomProblem(seed, options);
    ReferencePeakMemoryOrders reference(problem);
    ASSERT_EQ(expectOrder(sortLeastPeakMemoryFirst(problem)),
              reference.leastPeakMemoryFirst())
        << "seed " << seed;
    ASSERT_EQ(expectOrder(sortBreadthFirst(problem)), reference.breadthFirst())
        << "seed " << seed;
    ASSERT_EQ(expectOrder(sortDepthFirst(problem)), reference.depthFirst())
        << "seed " << seed;
    if (!verify(problem, programOrder(problem)))
      continue;
    Result<PeakMemoryChoice> choice = choosePeakMemoryOrder(problem);
    ASSERT_TRUE(choice) << "seed " << seed << ": " << choice.error();
    ASSERT_TRUE(verify(problem, choice->order)) << "seed " << seed;
    EXPECT_EQ(simulateMemory(problem, choice->order)->peakBytes,
              choice->best.peakBytes)
        << "seed " << seed;
    EXPECT_LE(choice->best.peakBytes,
              simulateMemory(problem, programOrder(problem))->peakBytes)
        << "seed " << seed;
    ++chosen[choice->best.method];
  }
  for (PeakMemoryMethod method : {incoming, lpmf, bfs, dfs})
    EXPECT_GT(chosen[method], 10) << toString(method);
}

} // namespace
