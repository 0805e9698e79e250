//===- SplitRulesOfTablesTest.cpp - Tests of rules in operation tables ----===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RuleTest.h"

#include "CommSched/OperationTables/NamedDialects.h"
#include "CommSched/OperationTables/OperationTable.h"

using namespace mlir;
using namespace mlir::commsched;

namespace {

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
