//===- SplitRuleTest.cpp - Tests of rules of splitting --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
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

TEST_F(SplitRules, OfOperatorsWithoutEffects) {
  expectRules(
      {{"commsched.compute", "tensor<6x4xf32>, tensor<4x2xf32>",
        "tensor<6x2xf32>", "a b, b c -> a c",
        "callee = \"mm\", split = \"m k, k n -> m n\""},
       {"commsched.compute", "tensor<6xf32>", "tensor<6xf32>", "none",
        "callee = \"sin_\", split = \"a -> a\", mutates = array<i64: 0>"},
       {"commsched.compute", "tensor<6xf32>", "tensor<6xf32>", "none",
        "callee = \"dropout\", split = \"a -> a\", random"},
       {"commsched.compute", "tensor<6xf32>", "tensor<6xf32>", "none",
        "callee = \"sin\""}});
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

using RulesOfCollectives = RuleTest;

TEST_F(RulesOfCollectives, OneTensor) {
  struct {
    const char *text, *from, *to, *rule;
  } const cases[] = {
      {"all_gather %x on @g dim(0)", "6x4", "24x4", "a b -> (4 a) b"},
      {"all_gather %x on @g dim(1)", "?x4", "?x16", "_ a -> _ (4 a)"},
      {"reduce_scatter %x on @g reduction(sum) dim(1)", "6x8", "6x2",
       "a (4 b) -> a b"},
      {"all_to_all %x on @g split_dim(0) concat_dim(0)", "24x2", "24x2",
       "(4 a) b -> (4 a) b"},
      {"all_to_all %x on @g split_dim(0) concat_dim(1)", "24x2", "6x8",
       "(4 a) b -> a (4 b)"},
      {"all_to_all %x on @g split_dim(0) concat_dim(0) "
       "input_splits([1, 2, 3, 0]) output_splits([0, 4, 0, 0])",
       "6x2", "4x2", "_ a -> _ a"},
      {"all_reduce %x on @g reduction(sum)", "6x4", "6x4", "a b -> a b"},
      {"broadcast %x on @g root(1)", "6x4", "6x4", "a b -> a b"},
      {"permute %x on @g pairs(dense<[[0, 1]]> : tensor<1x2xi64>)", "6", "6",
       "a -> a"}};
  for (const auto &[text, from, to, rule] : cases) {
    std::string source = "tensor<" + std::string(from) + "xf32>",
                future =
                    "!commsched.future<tensor<" + std::string(to) + "xf32>>";
    EXPECT_EQ(
        getRule("%x: " + source, "%f = commsched." + std::string(text) +
                                     " {test} : " + source + " -> " + future +
                                     "\n%0 = commsched.wait %f : " + future),
        rule)
        << text;
  }
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

TEST_F(RulesOfTables, FirstTextThatFitsAndElementwise) {
  expectRules({{"grid.product", "tensor<6x4xf32>, tensor<4x2xf32>",
                "tensor<6x2xf32>", "a b, b c -> a c"},
               {"grid.product", "tensor<3x6x4xf32>, tensor<3x4x2xf32>",
                "tensor<3x6x2xf32>", "a b c, a c d -> a b d"},
               {"grid.product", "tensor<6x4xf32>, tensor<4xf32>",
                "tensor<6xf32>", "_ _, _ -> _"},
               {"grid.square", "tensor<6x4xf32>, tensor<f32>",
                "tensor<6x4xf32>", "a b,  -> a b"},
               {"grid.square", "tensor<6x4xf32>, tensor<4xf32>",
                "tensor<6x4xf32>", "_ _, _ -> _ _"}});
}

} // namespace
