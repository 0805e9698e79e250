//===- CostAnalysisTest.cpp - Tests of the analysis of costs --------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Analysis/Costs/CostAnalysis.h"

#include "CommSched/Dialect/CommSchedDialect.h"
#include "mlir/Dialect/DLTI/DLTI.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/AnalysisManager.h"
#include "llvm/Support/Error.h"

#include "gtest/gtest.h"

using namespace mlir;
using namespace mlir::commsched;

namespace {

class CostAnalyses : public ::testing::Test {
protected:
  CostAnalyses() {
    context.loadDialect<CommSchedDialect, DLTIDialect, func::FuncDialect>();
  }

  void parse(StringRef attributes) {
    module = parseSourceString<ModuleOp>(
        "module " + attributes.str() +
            " {\ncommsched.group @g size(4)\nfunc.func @f(%t: tensor<8xf32>) "
            "{\n%f = commsched.all_gather %t on @g dim(0) : tensor<8xf32> -> "
            "!commsched.future<tensor<32xf32>>\n%w = commsched.wait %f : "
            "!commsched.future<tensor<32xf32>>\nreturn\n}\n}",
        &context);
    ASSERT_TRUE(module);
    function = *module->getOps<func::FuncOp>().begin();
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  func::FuncOp function;
};

TEST_F(CostAnalyses, IsAnAnalysisOfFunctions) {
  parse("");
  ModuleAnalysisManager managers(*module, /*passInstrumentor=*/nullptr);
  AnalysisManager manager = managers;
  CostAnalysis &analysis = manager.nest(function).getAnalysis<CostAnalysis>();
  OperationCosts *costs = analysis.getCosts();
  ASSERT_TRUE(costs);
  EXPECT_GT(costs->getRuntimeNs(&function.front().front()), 0);
  EXPECT_EQ(&manager.nest(function).getAnalysis<CostAnalysis>(), &analysis);
}

TEST_F(CostAnalyses, HasNoCostsForAnInvalidTarget) {
  parse(R"(attributes {dlti.target_system_spec = #dlti.target_system_spec<
      "GPU" = #dlti.target_device_spec<"commsched.preset" = "abacus">>})");
  std::string message;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    message = diagnostic.str();
    return success();
  });
  CostAnalysis analysis(function);
  EXPECT_FALSE(analysis.getCosts());
  EXPECT_NE(message.find("unknown preset 'abacus'"), std::string::npos);
}

TEST_F(CostAnalyses, TakesTheDefaultPresetOfItsUser) {
  parse("");
  CostAnalysis usual(function);
  CostAnalysis other(function, /*profile=*/nullptr, "b200");
  Operation *gather = &function.front().front();
  EXPECT_NE(usual.getCosts()->getRuntimeNs(gather),
            other.getCosts()->getRuntimeNs(gather));
}

TEST(LoadProfile, HasNoneForNoPath) {
  auto loaded = loadProfile("", "commsched-schedule");
  ASSERT_TRUE(bool(loaded));
  EXPECT_EQ(*loaded, nullptr);
}

TEST(LoadProfile, NamesTheOptionAndItsUser) {
  auto loaded = loadProfile("/nonexistent/table.json", "commsched-schedule");
  ASSERT_FALSE(bool(loaded));
  std::string text = llvm::toString(loaded.takeError());
  EXPECT_EQ(
      text.find("option 'profile' of commsched-schedule cannot be used: "), 0u);
  EXPECT_NE(text.find("/nonexistent/table.json"), std::string::npos);
}

} // namespace
