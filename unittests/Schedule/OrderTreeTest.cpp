//===- OrderTreeTest.cpp - Tests of the order-statistics tree -------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Model/OrderTree.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <string>

using namespace mlir::commsched;
using namespace mlir::commsched::schedule;

namespace {

/// The letters of a stretch: a summary whose order shows.
struct Letters {
  Letters() = default;
  explicit Letters(char letter) : text(1, letter) {}
  Letters then(const Letters &next) const {
    Letters both;
    both.text = text + next.text;
    return both;
  }
  std::string text;
};

std::string textOf(const Order &order, const std::vector<char> &letters) {
  std::string text;
  for (NodeId node : order)
    text += letters[node];
  return text;
}

TEST(OrderTree, EmptyOrder) {
  OrderTree<char, Letters> tree({}, {});
  EXPECT_EQ(tree.size(), 0);
  EXPECT_EQ(tree.total().text, "");
  EXPECT_TRUE(tree.order().empty());
  tree.exchange(0, 0, 0);
  EXPECT_EQ(tree.findLast(0, 0, [](auto &, auto &) { return true; }), -1);
}

TEST(OrderTree, AgreesWithAVector) {
  std::mt19937_64 engine(7);
  auto below = [&](int32_t bound) {
    return static_cast<int32_t>(engine() % static_cast<uint64_t>(bound));
  };
  for (int32_t size : {1, 2, 3, 10, 60}) {
    Order order(size);
    std::iota(order.begin(), order.end(), 0);
    for (int32_t i = size; i > 1; --i)
      std::swap(order[i - 1], order[below(i)]);
    std::vector<char> letters(size);
    for (char &letter : letters)
      letter = static_cast<char>('a' + below(4));
    OrderTree<char, Letters> tree(order, letters);
    for (int step = 0; step < 200; ++step) {
      int32_t cuts[3] = {below(size + 1), below(size + 1), below(size + 1)};
      std::sort(cuts, cuts + 3);
      tree.exchange(cuts[0], cuts[1], cuts[2]);
      std::rotate(order.begin() + cuts[0], order.begin() + cuts[1],
                  order.begin() + cuts[2]);
      NodeId changed = below(size);
      letters[changed] = static_cast<char>('a' + below(4));
      tree.setLeaf(changed, letters[changed]);

      ASSERT_EQ(tree.order(), order);
      std::string text = textOf(order, letters);
      ASSERT_EQ(tree.total().text, text);
      int32_t first = below(size + 1), end = below(size + 1);
      if (first > end)
        std::swap(first, end);
      ASSERT_EQ(tree.range(first, end).text, text.substr(first, end - first));
      for (int32_t place = 0; place < size; ++place) {
        ASSERT_EQ(tree.at(place), order[place]);
        ASSERT_EQ(tree.position(order[place]), place);
        ASSERT_EQ(tree.before(order[place]).text, text.substr(0, place));
        ASSERT_EQ(tree.leaf(order[place]), text[place]);
      }

      // A letter with an odd number of others before it. For a stretch, whether
      // the letter is there at all.
      auto isHit = [&](const Letters &before, const Letters &stretch) {
        if (stretch.text.size() == 1)
          return stretch.text == "a" && before.text.size() % 2 == 1;
        return stretch.text.find('a') != std::string::npos;
      };
      int32_t last = -1, earliest = -1;
      for (int32_t place = first; place < end; ++place)
        if (text[place] == 'a' && place % 2 == 1) {
          last = place;
          earliest = earliest < 0 ? place : earliest;
        }
      ASSERT_EQ(tree.findLast(first, end, isHit), last);
      ASSERT_EQ(tree.findFirst(first, end, isHit), earliest);
    }
  }
}

} // namespace
