//===- SplitRulesOfLinalgTest.cpp - Tests of linalg operations' rules -----===//
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

using RulesOfLinalg = RuleTest;

TEST_F(RulesOfLinalg, Product) {
  EXPECT_EQ(getRule("%a: tensor<6x4xf32>, %b: tensor<4x2xf32>", R"(
    %zero = arith.constant 0.0 : f32
    %empty = tensor.empty() : tensor<6x2xf32>
    %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<6x2xf32>)
      -> tensor<6x2xf32>
    %0 = linalg.matmul {test} ins(%a, %b : tensor<6x4xf32>, tensor<4x2xf32>)
      outs(%init : tensor<6x2xf32>) -> tensor<6x2xf32>)"),
            "a c, c b, a b -> a b");
}

TEST_F(RulesOfLinalg, ProductThatAccumulates) {
  // Each partial sum would have the destination once more.
  EXPECT_EQ(getRule("%a: tensor<6x4xf32>, %b: tensor<4x2xf32>, "
                    "%init: tensor<6x2xf32>",
                    R"(
    %0 = linalg.matmul {test} ins(%a, %b : tensor<6x4xf32>, tensor<4x2xf32>)
      outs(%init : tensor<6x2xf32>) -> tensor<6x2xf32>)"),
            "a _, _ b, a b -> a b");
}

TEST_F(RulesOfLinalg, BatchedProductOfDynamicSize) {
  EXPECT_EQ(getRule("%a: tensor<6x?x3xf32>, %b: tensor<6x3x2xf32>, "
                    "%init: tensor<6x?x2xf32>",
                    R"(
    %0 = linalg.batch_matmul {test}
      ins(%a, %b : tensor<6x?x3xf32>, tensor<6x3x2xf32>)
      outs(%init : tensor<6x?x2xf32>) -> tensor<6x?x2xf32>)"),
            "a _ _, a _ b, a _ b -> a _ b");
}

TEST_F(RulesOfLinalg, TransposeBroadcastCopyFill) {
  EXPECT_EQ(getRule("%a: tensor<6x4xf32>, %i: tensor<4x6xf32>", R"(
    %0 = linalg.transpose ins(%a : tensor<6x4xf32>)
      outs(%i : tensor<4x6xf32>) permutation = [1, 0] {test})"),
            "b a, a b -> a b");
  EXPECT_EQ(getRule("%a: tensor<6xf32>, %i: tensor<4x6xf32>", R"(
    %0 = linalg.broadcast ins(%a : tensor<6xf32>)
      outs(%i : tensor<4x6xf32>) dimensions = [0] {test})"),
            "b, a b -> a b");
  EXPECT_EQ(getRule("%a: tensor<4x6xf32>, %i: tensor<4x6xf32>", R"(
    %0 = linalg.copy {test} ins(%a : tensor<4x6xf32>)
      outs(%i : tensor<4x6xf32>) -> tensor<4x6xf32>)"),
            "a b, a b -> a b");
  EXPECT_EQ(getRule("%a: f32, %i: tensor<4x6xf32>", R"(
    %0 = linalg.fill {test} ins(%a : f32)
      outs(%i : tensor<4x6xf32>) -> tensor<4x6xf32>)"),
            ", a b -> a b");
}

TEST_F(RulesOfLinalg, ReductionThatIsNoSum) {
  EXPECT_EQ(getRule("%a: tensor<6x4xf32>", R"(
    %init = arith.constant dense<0.0> : tensor<6xf32>
    %0 = linalg.reduce ins(%a : tensor<6x4xf32>)
      outs(%init : tensor<6xf32>) dimensions = [1] {test}
      (%in: f32, %out: f32) {
        %max = arith.maximumf %in, %out : f32
        linalg.yield %max : f32
      })"),
            "a _, a -> a");
  EXPECT_EQ(getRule("%a: tensor<6x4xf32>", R"(
    %init = arith.constant dense<0.0> : tensor<6xf32>
    %0 = linalg.reduce ins(%a : tensor<6x4xf32>)
      outs(%init : tensor<6xf32>) dimensions = [1] {test}
      (%in: f32, %out: f32) {
        %sum = arith.addf %in, %out : f32
        linalg.yield %sum : f32
      })"),
            "a b, a -> a");
}

TEST_F(RulesOfLinalg, LoopWhoseIndexIsRead) {
  EXPECT_EQ(getRule("%a: tensor<6x4xi64>", R"(
    %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>],
        iterator_types = ["parallel", "parallel"]}
        outs(%a : tensor<6x4xi64>) attrs = {test} {
      ^bb0(%out: i64):
        %row = linalg.index 0 : index
        %cast = arith.index_cast %row : index to i64
        %sum = arith.addi %cast, %out : i64
        linalg.yield %sum : i64
      } -> tensor<6x4xi64>)"),
            "_ a -> _ a");
}

TEST_F(RulesOfLinalg, WindowsAndDiagonals) {
  EXPECT_EQ(getRule("%a: tensor<2x9x4xf32>, %k: tensor<3x4x6xf32>, "
                    "%i: tensor<2x7x6xf32>",
                    R"(
    %0 = linalg.conv_1d_nwc_wcf {test}
      ins(%a, %k : tensor<2x9x4xf32>, tensor<3x4x6xf32>)
      outs(%i : tensor<2x7x6xf32>) -> tensor<2x7x6xf32>)"),
            "a _ _, _ _ b, a _ b -> a _ b");
  EXPECT_EQ(getRule("%a: tensor<4x4x2xf32>, %i: tensor<4x2xf32>", R"(
    %0 = linalg.generic {indexing_maps = [
          affine_map<(d0, d1) -> (d0, d0, d1)>,
          affine_map<(d0, d1) -> (d0, d1)>],
        iterator_types = ["parallel", "parallel"]}
        ins(%a : tensor<4x4x2xf32>) outs(%i : tensor<4x2xf32>)
        attrs = {test} {
      ^bb0(%in: f32, %out: f32):
        linalg.yield %in : f32
      } -> tensor<4x2xf32>)"),
            "_ _ a, _ a -> _ a");
}

TEST_F(RulesOfLinalg, BodyWithEffects) {
  EXPECT_EQ(getRule("%a: tensor<4xf32>, %f: f32", R"(
    %0 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>],
        iterator_types = ["parallel"]}
        outs(%a : tensor<4xf32>) attrs = {test} {
      ^bb0(%out: f32):
        commsched.compute "log"(%out) : (f32) -> ()
        linalg.yield %out : f32
      } -> tensor<4xf32>)"),
            "none");
}

TEST_F(RulesOfLinalg, Softmax) {
  EXPECT_EQ(getRule("%a: tensor<2x6x4xf32>, %i: tensor<2x6x4xf32>", R"(
    %0 = linalg.softmax {test} dimension(1) ins(%a : tensor<2x6x4xf32>)
      outs(%i : tensor<2x6x4xf32>) -> tensor<2x6x4xf32>)"),
            "a _ b, a _ b -> a _ b");
}

} // namespace
