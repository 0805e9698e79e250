//===- PeakMemoryOrdersTest.cpp - Tests of orders for peak memory ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/Schedule/Inductor/PeakMemoryOrders.h"
#include "CommSched/Schedule/Step/SmallerOrders.h"
#include "TestProblems.h"

using namespace mlir::commsched::schedule::testing;

namespace {

constexpr PeakMemoryMethod incoming = PeakMemoryMethod::Incoming;
constexpr PeakMemoryMethod lpmf = PeakMemoryMethod::LeastPeakMemoryFirst;
constexpr PeakMemoryMethod bfs = PeakMemoryMethod::BreadthFirst;
constexpr PeakMemoryMethod dfs = PeakMemoryMethod::DepthFirst;

/// The method that is chosen.
PeakMemoryMethod choose(const Problem &problem,
                        const std::vector<PeakMemoryMethod> &methods = {
                            lpmf, bfs, dfs}) {
  return need(choosePeakMemoryOrder(problem, methods)).best.method;
}

/// The peaks of the order of the program, and by lpmf, bfs and dfs.
std::vector<int64_t> peaks(const Problem &problem) {
  std::vector<int64_t> bytes;
  for (const PeakMemoryCandidate &candidate :
       need(choosePeakMemoryOrder(problem)).candidates)
    bytes.push_back(candidate.peakBytes);
  return bytes;
}

/// Two products of one input and a product of each, summed; the first two are
/// returned, for the backward pass, and the sum.
TEST(PeakMemoryOrders, TheFirstOfEqualsIsChosen) {
  TextProblem problem(R"(
    x = arg 8192!; wide1 = 1 x -> 81920!; narrow1 = 1 x -> 8192!
    narrow2 = 1 wide1 -> 8192; wide2 = 1 narrow1 -> 81920
    sum1 = 1 narrow2 -> 4; sum2 = 1 wide2 -> 40; sum = 1 sum1 sum2 -> 4!)");
  EXPECT_EQ(peaks(problem),
            (std::vector<int64_t>{188420, 180268, 188420, 180268}));
  PeakMemoryChoice choice = need(choosePeakMemoryOrder(problem));
  EXPECT_EQ(choice.best.method, lpmf);
  EXPECT_EQ(choice.best.peakBytes, 180268);
  EXPECT_EQ(choice.order, (Order{1, 0, 2, 4, 3, 5, 6}));
  EXPECT_EQ(choose(problem, {bfs}), incoming);
  EXPECT_EQ(choose(problem, {dfs, lpmf}), dfs);
  EXPECT_EQ(choose(problem, {}), incoming);
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
  EXPECT_EQ(need(sortLeastPeakMemoryFirst(problem)), (Order{1, 0}));
}

TEST(PeakMemoryOrders, RejectsAUseThatDependsOnNothing) {
  EXPECT_EQ(
      sortLeastPeakMemoryFirst(TextProblem("a = 1 -> 8; b = 1 use:a")).error(),
      "the sort by least peak memory made an invalid order: node 1 (compute) "
      "at position 0 uses buffer 0 before node 0 (compute) at position 1 makes "
      "it");
}

TEST(PeakMemoryOrders, ReadsCountOnceAndNotByTheProducer) {
  Problem problem;
  for (int64_t bytes : {8, 9, 2, 14})
    problem.addBuffer(bytes, addCompute(problem, 1), /*freed=*/true);
  problem.addDependence(0, 2, DependenceKind::Data);
  for (NodeId user : {0, 2, 2})
    problem.addUse(0, user);
  problem.finalize();
  EXPECT_EQ(need(sortDepthFirst(problem)), programOrder(problem));
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
    PeakMemoryChoice choice = need(choosePeakMemoryOrder(problem));
    EXPECT_EQ(choice.order, programOrder(problem));
  }
}

// python/tests/test_inductor_parity.py compares the sorts with PyTorch's.
TEST(PeakMemoryOrders, TheSmallestPeakIsChosen) {
  std::map<PeakMemoryMethod, int> chosen;
  for (uint64_t seed : Seeds(4000)) {
    RandomProblemOptions options;
    options.maxNodes = seed % 10 == 0 ? 40 : 15;
    options.shuffleProgram = seed % 3 == 0;
    Problem problem = makeRandomProblem(seed, options);
    ASSERT_TRUE(sortLeastPeakMemoryFirst(problem) &&
                sortBreadthFirst(problem) && sortDepthFirst(problem));
    if (!verify(problem, programOrder(problem)))
      continue;
    PeakMemoryChoice choice = need(choosePeakMemoryOrder(problem));
    ASSERT_TRUE(verify(problem, choice.order));
    EXPECT_EQ(simulateMemory(problem, choice.order)->peakBytes,
              choice.best.peakBytes);
    EXPECT_LE(choice.best.peakBytes,
              simulateMemory(problem, programOrder(problem))->peakBytes);
    ++chosen[choice.best.method];
  }
  for (PeakMemoryMethod method : {incoming, lpmf, bfs, dfs})
    EXPECT_GT(chosen[method], 10) << toString(method);
}

/// What is found for the program; the first order has to be legal.
SmallerOrders find(const Problem &problem) {
  SmallerOrders found = need(findSmallerOrders(problem));
  if (!found.orders.empty()) {
    EXPECT_TRUE(verify(problem, found.orders.front()));
  }
  return found;
}

TEST(SmallerOrders, AProgramWithTheLeastPeakHasNone) {
  SmallerOrders found =
      find(TextProblem("a = 10 -> 100; b = 10 a -> 1!; c = 10 -> 100; "
                       "d = 10 c -> 1!"));
  EXPECT_TRUE(found.orders.empty());
  EXPECT_EQ(found.leastBytes, 102);
}

TEST(SmallerOrders, PartsOfALossComeOneAfterTheOther) {
  // The gradient of each part is wider than the part.
  TextProblem problem(
      "x = 10 -> 40; loss-1 = arg 0;" +
      repeat(4, "wide$ = 10 x -> 100; loss$ = 10 wide$ loss^ -> 1") +
      repeat(4, "back$ = 10 wide$ -> 100; cast$ = 10 back$ -> 200;"
                "product$ = 1 cast$ x -> 400; sum$ = 1 product$ -> 1!"));
  EXPECT_EQ(find(problem).leastBytes, 40 + 200 + 400 + 3);
}

TEST(SmallerOrders, OverlapOfCollectivesIsNoPoorOrder) {
  // Both gathers are in flight at once: that takes memory, and is better.
  SmallerOrders found = find(TextProblem(R"(
    a = start 10 -> 100; b = start 10 -> 100; wait a; useA = 10 a' -> 1!
    wait b; useB = 10 b' -> 1!)"));
  EXPECT_TRUE(found.orders.empty());
  EXPECT_EQ(found.leastBytes, 102);
}

TEST(SmallerOrders, NothingWaitsForAView) {
  // A chain of gradients, and behind it all products of one, which read it
  // through a view that takes no memory, and of a saved value.
  SmallerOrders found = find(TextProblem(
      "gradient-1 = arg 0;" + repeat(8, "gradient$ = 10 gradient^ -> 100") +
      repeat(8, "view$ = 0 gradient$ -> gradient$") + repeat(8, R"(
        saved$ = arg 150; product$ = 10 view$ saved$ -> 400
        sum$ = 1 product$ -> 1!)")));
  ASSERT_FALSE(found.orders.empty());
  // All saved values, and a gradient with its product.
  EXPECT_EQ(found.leastBytes, 8 * 150 + 100 + 400);
}

TEST(SmallerOrders, OrdersWithThePeakOfTheProgramAreApart) {
  TextProblem problem("a = 10 -> 100; b = 10 a -> 1!; c = 30 -> 100; "
                      "d = 30 c -> 1!");
  SmallerOrders found = find(problem);
  EXPECT_TRUE(found.orders.empty());
  // Along the longest chain.
  ASSERT_FALSE(found.nearOrders.empty());
  EXPECT_EQ(problem.tell(found.nearOrders.front()), "c d a b");
}

TEST(SmallerOrders, AnInvalidProgramIsAnError) {
  EXPECT_FALSE(findSmallerOrders(TextProblem("a = 10 b; b = 10")));
}

} // namespace
