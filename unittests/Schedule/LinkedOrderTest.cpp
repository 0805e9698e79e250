//===- LinkedOrderTest.cpp - Tests of linked orders -----------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../Seeds.h"
#include "CommSched/Schedule/Graphs/ContractedGraph.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <numeric>
#include <random>

using namespace mlir::commsched;
using namespace mlir::commsched::schedule;
using mlir::commsched::testing::Seeds;

namespace {

Order ascending(NodeId count) {
  Order order(count);
  std::iota(order.begin(), order.end(), NodeId(0));
  return order;
}

/// Whether the labels agree with the links.
bool isAscending(const LinkedOrder &order) {
  Order nodes = order.nodes();
  return std::adjacent_find(
             nodes.begin(), nodes.end(), [&](NodeId a, NodeId b) {
               return !order.isBefore(a, b) || order.isBefore(b, a);
             }) == nodes.end();
}

TEST(LinkedOrder, KeepsWhatItIsGiven) {
  EXPECT_EQ(LinkedOrder({2, 0, 1}).nodes(), (Order{2, 0, 1}));
  EXPECT_EQ(LinkedOrder(Order{}).nodes(), Order{});
}

TEST(LinkedOrder, MovesLikeAVector) {
  for (uint64_t seed : Seeds(50)) {
    std::mt19937_64 random(seed);
    NodeId count = static_cast<NodeId>(2 + random() % 40);
    Order expected = ascending(count);
    LinkedOrder order(expected);
    for (int move = 0; move < 500; ++move) {
      NodeId node = static_cast<NodeId>(random() % count);
      NodeId place = static_cast<NodeId>(random() % count);
      if (node == place)
        continue;
      bool isAfter = random() % 2;
      order.erase(node);
      expected.erase(std::find(expected.begin(), expected.end(), node));
      if (isAfter)
        order.insertAfter(node, place);
      else
        order.insertBefore(node, place);
      expected.insert(std::find(expected.begin(), expected.end(), place) +
                          (isAfter ? 1 : 0),
                      node);
      ASSERT_EQ(order.nodes(), expected) << "seed " << seed;
      ASSERT_TRUE(isAscending(order)) << "seed " << seed;
    }
  }
}

/// One gap takes about 40 insertions before its labels are used up.
TEST(LinkedOrder, FindsRoomAtOnePlaceAgainAndAgain) {
  constexpr NodeId count = 100000;
  for (NodeId place : {0, count / 2, count - 1})
    for (bool isAfter : {false, true}) {
      LinkedOrder order(ascending(count));
      for (NodeId node = 0; node < count; ++node) {
        if (node == place)
          continue;
        order.erase(node);
        if (isAfter)
          order.insertAfter(node, place);
        else
          order.insertBefore(node, place);
      }
      Order nodes = order.nodes();
      EXPECT_EQ(nodes.size(), size_t(count));
      EXPECT_EQ(isAfter ? nodes.front() : nodes.back(), place);
      EXPECT_TRUE(isAscending(order));
      EXPECT_LE(order.numReplaced(), 20 * int64_t(count)) << "log2(n) is 17";
    }
}

/// Labels are 2^56 apart at first, so that 56 insertions behind node 0 halve
/// the gap until the labels 2^56 + 2^i are left, of which six are below 2^56
/// + 32.
TEST(LinkedOrder, SpreadsTheSmallestRangeThatIsNotTooDense) {
  constexpr NodeId count = 63;
  LinkedOrder order(ascending(count));
  for (NodeId node = 2; node < count; ++node)
    order.erase(node);
  Order expected = {0, 1};
  auto insert = [&](NodeId node) {
    order.insertAfter(node, 0);
    expected.insert(expected.begin() + 1, node);
  };
  for (NodeId node = 2; node < 58; ++node)
    insert(node);
  EXPECT_EQ(order.numReplaced(), 0);
  insert(58);
  EXPECT_EQ(order.numReplaced(), 6) << "node 0 is at the range's begin";
  EXPECT_EQ(order.nodes(), expected);
  EXPECT_TRUE(isAscending(order));
}

TEST(LinkedOrder, LetsNodesStayAway) {
  LinkedOrder order({0, 1, 2, 3});
  for (NodeId node : {0, 3, 1})
    order.erase(node);
  EXPECT_EQ(order.nodes(), Order{2});
  order.insertBefore(3, 2);
  order.insertAfter(0, 2);
  EXPECT_EQ(order.nodes(), (Order{3, 2, 0}));
}

} // namespace
