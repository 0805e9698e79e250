//===- SplitRulesOfCollectivesTest.cpp - Tests of collectives' rules ------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RuleTest.h"

using namespace mlir;
using namespace mlir::commsched;

namespace {

class RulesOfCollectives : public RuleTest {
protected:
  /// The rule of the start `text`, from a tensor type to another.
  std::string getRuleOf(const std::string &text, const std::string &from,
                        const std::string &to) {
    std::string future = "!commsched.future<" + to + ">";
    return getRule("%x: " + from, "%f = commsched." + text +
                                      " {test} : " + from + " -> " + future +
                                      "\n%0 = commsched.wait %f : " + future);
  }
};

TEST_F(RulesOfCollectives, Gather) {
  EXPECT_EQ(getRuleOf("all_gather %x on @g dim(0)", "tensor<6x4xf32>",
                      "tensor<24x4xf32>"),
            "a b -> (4 a) b");
  EXPECT_EQ(getRuleOf("all_gather %x on @g dim(1)", "tensor<?x4xf32>",
                      "tensor<?x16xf32>"),
            "_ a -> _ (4 a)");
}

TEST_F(RulesOfCollectives, Scatter) {
  EXPECT_EQ(getRuleOf("reduce_scatter %x on @g reduction(sum) dim(1)",
                      "tensor<6x8xf32>", "tensor<6x2xf32>"),
            "a (4 b) -> a b");
}

TEST_F(RulesOfCollectives, AllToAll) {
  EXPECT_EQ(getRuleOf("all_to_all %x on @g split_dim(0) concat_dim(0)",
                      "tensor<24x2xf32>", "tensor<24x2xf32>"),
            "(4 a) b -> (4 a) b");
  EXPECT_EQ(getRuleOf("all_to_all %x on @g split_dim(0) concat_dim(1)",
                      "tensor<24x2xf32>", "tensor<6x8xf32>"),
            "(4 a) b -> a (4 b)");
  EXPECT_EQ(getRuleOf("all_to_all %x on @g split_dim(0) concat_dim(0) "
                      "input_splits([1, 2, 3, 0]) "
                      "output_splits([0, 4, 0, 0])",
                      "tensor<6x2xf32>", "tensor<4x2xf32>"),
            "_ a -> _ a");
}

TEST_F(RulesOfCollectives, EqualShapes) {
  EXPECT_EQ(getRuleOf("all_reduce %x on @g reduction(sum)", "tensor<6x4xf32>",
                      "tensor<6x4xf32>"),
            "a b -> a b");
  EXPECT_EQ(getRuleOf("broadcast %x on @g root(1)", "tensor<6x4xf32>",
                      "tensor<6x4xf32>"),
            "a b -> a b");
  EXPECT_EQ(
      getRuleOf("permute %x on @g pairs(dense<[[0, 1]]> : tensor<1x2xi64>)",
                "tensor<6xf32>", "tensor<6xf32>"),
      "a -> a");
}

TEST_F(RulesOfCollectives, NoneOfSeveralTensorsOrInPlace) {
  EXPECT_EQ(
      getRule("%x: tensor<6xf32>",
              "%f = commsched.all_reduce %x, %x on @g reduction(sum) {test} : "
              "tensor<6xf32>, tensor<6xf32> -> "
              "!commsched.future<tensor<6xf32>, tensor<6xf32>>\n"
              "%0:2 = commsched.wait %f : "
              "!commsched.future<tensor<6xf32>, tensor<6xf32>>"),
      "none");
  EXPECT_EQ(
      getRule("%x: tensor<6xf32>",
              "%f = commsched.all_reduce %x on @g reduction(sum) into %x "
              "{test} : tensor<6xf32> into tensor<6xf32> -> "
              "!commsched.future<tensor<6xf32>>\n%0 = commsched.wait %f : "
              "!commsched.future<tensor<6xf32>>"),
      "none");
}

} // namespace
