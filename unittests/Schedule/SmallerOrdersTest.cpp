//===- SmallerOrdersTest.cpp - Tests of orders that take less memory ------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Schedule/Step/SmallerOrders.h"

#include "CommSched/Schedule/Model/MemoryTimeline.h"
#include "CommSched/Schedule/Model/Verify.h"
#include "TestProblems.h"

#include <gtest/gtest.h>

using namespace mlir::commsched;
using namespace mlir::commsched::schedule;
using namespace mlir::commsched::schedule::testing;

namespace {

/// Two layers, each of which gathers 100 bytes and makes 1 byte of them that
/// stays. The operations of a layer are a start, a wait and a product.
struct Layers {
  Problem problem;
  NodeId nodes[2][3];

  /// With the operations in the order of these pairs of a layer and a part.
  explicit Layers(std::initializer_list<std::pair<int, int>> program) {
    for (auto [layer, part] : program) {
      NodeId *own = nodes[layer];
      own[part] = part == 0   ? addStart(problem, 10)
                  : part == 1 ? problem.addWait(own[0])
                              : addCompute(problem, 10, {own[1]});
    }
    for (auto &[start, wait, product] : nodes) {
      BufferId gathered = problem.addBuffer(100, start, /*freed=*/true);
      problem.addUse(gathered, wait);
      problem.addUse(gathered, product);
      problem.addBuffer(1, product, /*freed=*/false);
    }
    problem.finalize();
  }
};

/// Two chains that make 100 bytes and then 1 byte of them, one after the other
/// or each half of both first.
Problem makeChains(bool areMixed) {
  Problem problem;
  NodeId makers[2], users[2];
  auto addUser = [&](int chain) {
    users[chain] = addCompute(problem, 10, {makers[chain]});
  };
  for (int chain : {0, 1}) {
    makers[chain] = addCompute(problem, 10);
    if (!areMixed)
      addUser(chain);
  }
  for (int chain : {0, 1}) {
    if (areMixed)
      addUser(chain);
    problem.addUse(problem.addBuffer(100, makers[chain], /*freed=*/true),
                   users[chain]);
    problem.addBuffer(1, users[chain], /*freed=*/false);
  }
  problem.finalize();
  return problem;
}

TEST(SmallerOrders, AProgramWithTheLeastPeakHasNone) {
  SmallerOrders found = *findSmallerOrders(makeChains(/*areMixed=*/false));
  EXPECT_TRUE(found.orders.empty());
  EXPECT_EQ(found.leastBytes, 102);
}

TEST(SmallerOrders, ChainsComeOneAfterTheOther) {
  Problem problem = makeChains(/*areMixed=*/true);
  SmallerOrders found = *findSmallerOrders(problem);
  ASSERT_FALSE(found.orders.empty());
  EXPECT_EQ(found.leastBytes, 102);
  EXPECT_TRUE(verify(problem, found.orders.front()));
  EXPECT_EQ(simulateMemory(problem, found.orders.front())->peakBytes, 102);
}

TEST(SmallerOrders, OverlapOfCollectivesIsNoPoorOrder) {
  // Both gathers are in flight at once: that takes memory, and is better.
  Layers layers({{0, 0}, {1, 0}, {0, 1}, {0, 2}, {1, 1}, {1, 2}});
  SmallerOrders found = *findSmallerOrders(layers.problem);
  EXPECT_TRUE(found.orders.empty());
  EXPECT_EQ(found.leastBytes, 102);
}

/// A chain of gradients of 100 bytes, and behind it all products of one, which
/// read it through a view, and of a saved value of 150 bytes. Each makes 400
/// bytes, and of them 1 that stays. The view takes no memory.
Problem makeBackward() {
  constexpr int numLayers = 8;
  Problem problem;
  std::vector<NodeId> gradients, views;
  for (int layer = 0; layer < numLayers; ++layer)
    gradients.push_back(layer == 0
                            ? addCompute(problem, 10)
                            : addCompute(problem, 10, {gradients.back()}));
  for (NodeId gradient : gradients)
    views.push_back(addCompute(problem, 0, {gradient}));
  for (int layer = 0; layer < numLayers; ++layer) {
    NodeId product = addCompute(problem, 10, {views[layer]});
    NodeId sum = addCompute(problem, 1, {product});
    BufferId held = problem.addBuffer(100, gradients[layer], /*freed=*/true);
    problem.addUse(held, views[layer]);
    problem.addUse(held, product);
    if (layer + 1 < numLayers)
      problem.addUse(held, gradients[layer + 1]);
    problem.addUse(problem.addBuffer(150, noNode, /*freed=*/true), product);
    problem.addUse(problem.addBuffer(400, product, /*freed=*/true), sum);
    problem.addBuffer(1, sum, /*freed=*/false);
  }
  problem.finalize();
  return problem;
}

TEST(SmallerOrders, NothingWaitsForAView) {
  Problem problem = makeBackward();
  SmallerOrders found = *findSmallerOrders(problem);
  ASSERT_FALSE(found.orders.empty());
  // All saved values, a gradient with its product, and the next gradient.
  EXPECT_EQ(found.leastBytes, 8 * 150 + 100 + 400 + 100);
}

TEST(SmallerOrders, AnInvalidProgramIsAnError) {
  Problem problem;
  addCompute(problem, 10);
  addCompute(problem, 10);
  problem.addDependence(1, 0, DependenceKind::Data);
  problem.finalize();
  EXPECT_FALSE(findSmallerOrders(problem));
}

} // namespace
