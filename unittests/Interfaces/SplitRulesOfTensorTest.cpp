//===- SplitRulesOfTensorTest.cpp - Tests of rules of tensor, arith, math -===//
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

using RulesOfTensors = RuleTest;

TEST_F(RulesOfTensors, Slices) {
  EXPECT_EQ(getRule("%a: tensor<6x4x8xf32>", R"(
    %0 = tensor.extract_slice %a[0, 1, 0] [6, 1, 8] [1, 1, 1] {test}
      : tensor<6x4x8xf32> to tensor<6x8xf32>)"),
            "a _ b -> a b");
  EXPECT_EQ(getRule("%a: tensor<6x?xf32>, %i: index", R"(
    %0 = tensor.extract_slice %a[0, %i] [6, %i] [1, 1] {test}
      : tensor<6x?xf32> to tensor<6x?xf32>)"),
            "a _, ,  -> a _");
  EXPECT_EQ(getRule("%a: tensor<6x8xf32>", R"(
    %0 = tensor.extract_slice %a[0, 0] [6, 4] [1, 2] {test}
      : tensor<6x8xf32> to tensor<6x4xf32>)"),
            "a _ -> a _");
  EXPECT_EQ(getRule("%a: tensor<6x8xf32>, %b: tensor<6x4x8xf32>", R"(
    %0 = tensor.insert_slice %a into %b[0, 1, 0] [6, 1, 8] [1, 1, 1] {test}
      : tensor<6x8xf32> into tensor<6x4x8xf32>)"),
            "a b, a _ b -> a _ b");
}

TEST_F(RulesOfTensors, Reshapes) {
  EXPECT_EQ(getRule("%a: tensor<24x5xf32>", R"(
    %0 = tensor.expand_shape %a [[0, 1, 2], [3]] output_shape [2, 1, 12, 5]
      {test} : tensor<24x5xf32> into tensor<2x1x12x5xf32>)"),
            "(a b) c -> a _ b c");
  EXPECT_EQ(getRule("%a: tensor<2x12x?xf32>", R"(
    %0 = tensor.collapse_shape %a [[0, 1], [2]] {test}
      : tensor<2x12x?xf32> into tensor<24x?xf32>)"),
            "a b _ -> (a b) _");
}

TEST_F(RulesOfTensors, ConcatPadCastGather) {
  EXPECT_EQ(getRule("%a: tensor<6x4xf32>, %b: tensor<6x2xf32>", R"(
    %0 = tensor.concat dim(1) %a, %b {test}
      : (tensor<6x4xf32>, tensor<6x2xf32>) -> tensor<6x6xf32>)"),
            "a _, a _ -> a _");
  EXPECT_EQ(getRule("%a: tensor<6x4xf32>, %z: f32", R"(
    %0 = tensor.pad %a low[0, 1] high[0, 1] {
      ^bb0(%i: index, %j: index):
        tensor.yield %z : f32
    } {test} : tensor<6x4xf32> to tensor<6x6xf32>)"),
            "a _ -> a _");
  EXPECT_EQ(getRule("%a: tensor<6x?xf32>", R"(
    %0 = tensor.cast %a {test} : tensor<6x?xf32> to tensor<?x4xf32>)"),
            "_ _ -> _ _");
  EXPECT_EQ(getRule("%a: tensor<9x4xf32>, %i: tensor<6x2x1xi64>", R"(
    %0 = tensor.gather %a[%i] gather_dims([0]) {test}
      : (tensor<9x4xf32>, tensor<6x2x1xi64>) -> tensor<6x2x1x4xf32>)"),
            "_ _, a b _ -> a b _ _");
}

TEST_F(RulesOfTensors, Creation) {
  EXPECT_EQ(getRule("", "%0 = tensor.empty() {test} : tensor<6x4xf32>"),
            " -> a b");
  EXPECT_EQ(getRule("%s: f32", "%0 = tensor.splat %s {test} : tensor<6xf32>"),
            " -> a");
  EXPECT_EQ(getRule("", "%0 = arith.constant {test} dense<1.0> : "
                        "tensor<6xf32>"),
            " -> a");
  EXPECT_EQ(getRule("", "%0 = arith.constant {test} dense<[1.0, 2.0]> : "
                        "tensor<2xf32>"),
            "none");
  EXPECT_EQ(getRule("", R"(
    %0 = tensor.generate {
      ^bb0(%i: index):
        tensor.yield %i : index
    } {test} : tensor<6xindex>)"),
            "none");
}

TEST_F(RulesOfTensors, Elementwise) {
  EXPECT_EQ(getRule("%a: tensor<6x?xf32>",
                    "%0 = arith.addf %a, %a {test} : tensor<6x?xf32>"),
            "a _, a _ -> a _");
  EXPECT_EQ(getRule("%a: tensor<6x4xf32>, %c: i1", R"(
    %0 = arith.select %c, %a, %a {test} : tensor<6x4xf32>)"),
            ", a b, a b -> a b");
  EXPECT_EQ(getRule("%a: tensor<6xf32>",
                    "%0 = arith.extf %a {test} : tensor<6xf32> to "
                    "tensor<6xf64>"),
            "a -> a");
  EXPECT_EQ(
      getRule("%a: tensor<6xf32>", "%0 = math.exp %a {test} : tensor<6xf32>"),
      "a -> a");
  EXPECT_EQ(getRule("%a: f32", "%0 = math.exp %a {test} : f32"), "none");
}

} // namespace
