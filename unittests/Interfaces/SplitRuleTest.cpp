//===- SplitRuleTest.cpp - Tests of rules of splitting --------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/OperationTables/NamedDialects.h"
#include "CommSched/OperationTables/OperationTable.h"
#include "RuleTest.h"

using namespace mlir;
using namespace mlir::commsched;

namespace {

class SplitRules : public RuleTest {
protected:
  RankedTensorType tensor(ArrayRef<int64_t> shape) {
    return RankedTensorType::get(shape, Float32Type::get(&context));
  }

  SplitRule read(StringRef text, TypeRange operands, TypeRange results) {
    return need(parseSplitRule(text, operands, results));
  }

  /// The text that is printed for what `text` says.
  std::string print(StringRef text, TypeRange operands, TypeRange results) {
    return printSplitRule(read(text, operands, results), operands, results);
  }
};

TEST_F(SplitRules, HaveTheAxesOfAProduct) {
  SplitRule rule = read("m k, k n -> m n", {tensor({6, 4}), tensor({4, 2})},
                        {tensor({6, 2})});
  ASSERT_EQ(rule.axes.size(), 3u);
  const SplitAxis &rows = rule.axes[0], &sum = rule.axes[1];
  EXPECT_EQ(rows.size, 6);
  EXPECT_EQ(rows.kind, SplitAxisKind::Parallel);
  ASSERT_EQ(rows.operands.size(), 1u);
  EXPECT_EQ(rows.operands[0].value, 0u);
  EXPECT_EQ(rows.results.size(), 1u);
  EXPECT_EQ(sum.size, 4);
  EXPECT_EQ(sum.kind, SplitAxisKind::Sum);
  ASSERT_EQ(sum.operands.size(), 2u);
  EXPECT_EQ(sum.operands[0].dim, 1);
  EXPECT_EQ(sum.operands[1].dim, 0);
  EXPECT_TRUE(sum.results.empty());
}

TEST_F(SplitRules, TakeSizesOfPartsFromOtherDimensions) {
  SplitRule rule =
      read("(a b c) _ -> c (a _) b", {tensor({24, ShapedType::kDynamic})},
           {tensor({4, 10, 3})});
  ASSERT_EQ(rule.axes.size(), 3u);
  EXPECT_EQ(rule.axes[0].size, 2);
  EXPECT_EQ(rule.axes[1].operands[0].outer, 2);
  EXPECT_EQ(rule.axes[2].operands[0].outer, 6);
  EXPECT_EQ(rule.axes[0].results[0].dim, 1);
}

TEST_F(SplitRules, PrintWhatTheyRead) {
  EXPECT_EQ(print("x y, y z -> x z", {tensor({6, 4}), tensor({4, 2})},
                  {tensor({6, 2})}),
            "a b, b c -> a c");
  EXPECT_EQ(print("s c -> (8 s) c", {tensor({6, 4})}, {tensor({48, 4})}),
            "a b -> (8 a) b");
  EXPECT_EQ(print("(x _ y 2), -> x y, y x _", {tensor({24}), tensor({5})},
                  {tensor({2, 3}), tensor({3, 2, 7})}),
            "(a 2 b 2), _ -> a b, b a _");
}

TEST_F(SplitRules, FindAxesAndBlocks) {
  // A gather of 1024 rows over 8 ranks.
  SplitRule rule =
      read("s c -> (8 s) c", {tensor({1024, 64})}, {tensor({8192, 64})});
  std::optional<AxisSplit> split = findAxisOfOperand(rule, 0, {0, 1});
  ASSERT_TRUE(split);
  EXPECT_EQ(split->axis, 0u);
  EXPECT_EQ(split->blocks, 1);
  EXPECT_EQ(getResultSplit(rule.axes[0], 0), (ValueSplit{0, 8}));
  // Inside the axis.
  split = findAxisOfResult(rule, 0, {0, 32});
  ASSERT_TRUE(split);
  EXPECT_EQ(split->blocks, 4);
  EXPECT_EQ(getSplitLength(rule.axes[0], split->blocks), 256);
  EXPECT_EQ(getOperandSplit(rule.axes[0], 0, split->blocks),
            (ValueSplit{0, 4}));
  // Outside of it, and where nothing is left to divide.
  EXPECT_FALSE(findAxisOfResult(rule, 0, {0, 1}));
  EXPECT_FALSE(findAxisOfResult(rule, 0, {0, 12}));
  EXPECT_FALSE(findAxisOfResult(rule, 0, {0, 8192}));
  EXPECT_FALSE(findAxisOfResult(rule, 1, {0, 8}));
}

TEST_F(SplitRules, FindTheAxisInsideAnother) {
  SplitRule rule = read("a b -> (a b)", {tensor({4, 6})}, {tensor({24})});
  EXPECT_EQ(findAxisOfResult(rule, 0, {0, 1})->axis, 0u);
  EXPECT_EQ(findAxisOfResult(rule, 0, {0, 2})->axis, 0u);
  EXPECT_EQ(findAxisOfResult(rule, 0, {0, 4})->axis, 1u);
  EXPECT_EQ(findAxisOfResult(rule, 0, {0, 8})->blocks, 2);
}

TEST_F(SplitRules, OfAnOperator) {
  EXPECT_EQ(getRule("%x: tensor<6x4xf32>, %w: tensor<4x2xf32>",
                    "%0 = commsched.compute \"mm\"(%x, %w) {test, split = "
                    "\"m k, k n -> m n\"} : (tensor<6x4xf32>, "
                    "tensor<4x2xf32>) -> tensor<6x2xf32>"),
            "a b, b c -> a c");
}

TEST_F(SplitRules, OfNoOperatorThatHasEffects) {
  EXPECT_EQ(getRule("%x: tensor<6xf32>",
                    "%0 = commsched.compute \"sin_\"(%x) {test, split = "
                    "\"a -> a\", mutates = array<i64: 0>} : "
                    "(tensor<6xf32>) -> tensor<6xf32>"),
            "none");
  EXPECT_EQ(getRule("%x: tensor<6xf32>",
                    "%0 = commsched.compute \"dropout\"(%x) {test, split = "
                    "\"a -> a\", random} : (tensor<6xf32>) -> tensor<6xf32>"),
            "none");
  EXPECT_EQ(getRule("%x: tensor<6xf32>",
                    "%0 = commsched.compute \"sin\"(%x) {test} : "
                    "(tensor<6xf32>) -> tensor<6xf32>"),
            "none");
}

TEST_F(SplitRules, ScaleTheCostsOfAnOperator) {
  Operation *op =
      parse("%x: tensor<6x4xf32>, %w: tensor<4x2xf32>",
            "%0 = commsched.compute \"mm\"(%x, %w) {test, flops = 96.0 : f64, "
            "bytes = 1760 : i64, split = \"m k, k n -> m n\"} : "
            "(tensor<6x4xf32>, tensor<4x2xf32>) -> tensor<6x2xf32>");
  ASSERT_TRUE(op);
  auto split = cast<SplitOpInterface>(op);
  auto chunk =
      cast<ComputeOp>(createChunk(split, split.getSplitRule().axes[0], 2));
  EXPECT_EQ(*chunk.getFlopCount(), 48);
  // Operands and results have (24 + 8 + 12) * 4 bytes, those of the chunk
  // (12 + 8 + 6) * 4.
  EXPECT_EQ(chunk.getBytes(), 1040);
}

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

class RulesOfTables : public RuleTest {
protected:
  RulesOfTables() {
    std::shared_ptr<const OperationTable> table = need(OperationTable::parse(
        R"({"version": 1, "dialects": ["grid"], "operations": [
          {"names": ["grid.product"], "effects": "none",
           "split": ["m k, k n -> m n", "b m k, b k n -> b m n"]},
          {"names": ["grid.square"], "effects": "none",
           "split": "elementwise"}]})",
        "grid.json"));
    DialectRegistry registry;
    registerOperationTable(registry, table);
    registerNamedDialects(registry, {"grid"});
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
  }
};

TEST_F(RulesOfTables, FirstTextThatFits) {
  EXPECT_EQ(getRule("%a: tensor<6x4xf32>, %b: tensor<4x2xf32>", R"(
    %0 = "grid.product"(%a, %b) {test}
      : (tensor<6x4xf32>, tensor<4x2xf32>) -> tensor<6x2xf32>)"),
            "a b, b c -> a c");
  EXPECT_EQ(getRule("%a: tensor<3x6x4xf32>, %b: tensor<3x4x2xf32>", R"(
    %0 = "grid.product"(%a, %b) {test}
      : (tensor<3x6x4xf32>, tensor<3x4x2xf32>) -> tensor<3x6x2xf32>)"),
            "a b c, a c d -> a b d");
  EXPECT_EQ(getRule("%a: tensor<6x4xf32>, %b: tensor<4xf32>", R"(
    %0 = "grid.product"(%a, %b) {test}
      : (tensor<6x4xf32>, tensor<4xf32>) -> tensor<6xf32>)"),
            "_ _, _ -> _");
}

TEST_F(RulesOfTables, Elementwise) {
  EXPECT_EQ(getRule("%a: tensor<6x4xf32>, %b: tensor<f32>", R"(
    %0 = "grid.square"(%a, %b) {test}
      : (tensor<6x4xf32>, tensor<f32>) -> tensor<6x4xf32>)"),
            "a b,  -> a b");
  EXPECT_EQ(getRule("%a: tensor<6x4xf32>, %b: tensor<4xf32>", R"(
    %0 = "grid.square"(%a, %b) {test}
      : (tensor<6x4xf32>, tensor<4xf32>) -> tensor<6x4xf32>)"),
            "_ _, _ -> _ _");
}

} // namespace
