//===- CostAnalysisTest.cpp - Tests of the analysis of costs --------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Analysis/Costs/CostAnalysis.h"
#include "CommSched/Analysis/Costs/TargetSpec.h"

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
  /// The last diagnostic.
  std::string message;
  ScopedDiagnosticHandler handler{&context, [&](Diagnostic &diagnostic) {
                                    message = diagnostic.str();
                                    return success();
                                  }};
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
  CostAnalysis analysis(function);
  EXPECT_FALSE(analysis.getCosts());
  EXPECT_NE(message.find("unknown preset 'abacus'"), std::string::npos);
}

TEST_F(CostAnalyses, TakesTheTargetAndTheProfileOfTheModule) {
  parse("");
  Operation *gather = &function.front().front();
  auto price = [&] {
    CostAnalysis analysis(function);
    return analysis.getCosts()->getRuntimeNs(gather);
  };
  int64_t usualNs = price();
  ASSERT_TRUE(succeeded(setTarget(*module, "b200")));
  int64_t newerNs = price();
  EXPECT_NE(newerNs, usualNs);
  OwningOpRef<ModuleOp> other = module->clone();
  (*other)->setAttrs(DictionaryAttr::get(&context));
  inheritCosts(*other, *module);
  EXPECT_EQ((*other)->getAttrDictionary(), (*module)->getAttrDictionary());
  gather->setAttr(measuredNsAttrName, Builder(&context).getI64IntegerAttr(7));
  EXPECT_EQ(price(), 7);
}

TEST_F(CostAnalyses, HasNoCostsForAnInvalidProfile) {
  parse(R"(attributes {commsched.profile = {rows = [{bytes = 8}]}})");
  CostAnalysis analysis(function);
  EXPECT_FALSE(analysis.getCosts());
  EXPECT_EQ(message, "attribute 'commsched.profile' cannot be used: row 0: "
                     "column 'collective' is missing");
}

TEST_F(CostAnalyses, NamesTheUserOfAProfileThatCannotBeRead) {
  parse("");
  EXPECT_TRUE(failed(setProfile(*module, "/nonexistent/table.json", "X")));
  EXPECT_EQ(message.find("option 'profile' of X cannot be used: "), 0u);
  EXPECT_NE(message.find("/nonexistent/table.json"), std::string::npos);
}

} // namespace
