//===- ChunkCostsTest.cpp - Tests of the costs of chunks ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The chunks of the first operation are priced: the estimate must be what the
// second operation costs, which is such a chunk.
//===----------------------------------------------------------------------===//

#include "CommSched/Analysis/Costs/ChunkCosts.h"

#include "CommSched/Analysis/Costs/CostAnalysis.h"
#include "CommSched/Dialect/CommSchedAttributes.h"
#include "CostsTest.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Dialect/DLTI/DLTI.h"

using namespace mlir;
using namespace mlir::commsched;

using cost::MeasuredTable;

namespace {

class ChunkCosts : public CostsTest {
protected:
  void parse(StringRef body) {
    ASSERT_NO_FATAL_FAILURE(
        parseFunction("tp size(8) ranks_per_node(8)", body));
    for (Operation &op :
         (*module->getOps<func::FuncOp>().begin()).getBody().front())
      if (isa<SplitOpInterface>(op))
        ops.push_back(&op);
    ASSERT_GE(ops.size(), 2u);
  }

  /// Sets the axis of which the second operation is one of `count` parts.
  void setChunk(int64_t axis, int64_t count) {
    ChunkInfo info;
    info.of = StringAttr::get(&context, "whole");
    info.count = count;
    info.index = 1;
    info.axis = axis;
    info.blocks = 1;
    setChunkInfo(ops[1], info);
  }

  std::optional<int64_t> estimateChunk(OperationCosts &costs, int64_t axis,
                                       int64_t count) {
    SplitRule rule = cast<SplitOpInterface>(ops[0]).getSplitRule();
    return estimateChunkNs(costs, ops[0], rule.axes[axis], count);
  }

  /// Returns the estimate, having compared it with the second operation.
  int64_t expectAgreement(int64_t axis, int64_t count,
                          const MeasuredTable *profile = nullptr) {
    setChunk(axis, count);
    OperationCosts costs = makeCosts(profile);
    std::optional<int64_t> estimate = estimateChunk(costs, axis, count);
    EXPECT_TRUE(estimate);
    EXPECT_EQ(estimate, costs.getRuntimeNs(ops[1]));
    return estimate.value_or(0);
  }

  SmallVector<Operation *> ops;
};

constexpr StringRef products = R"(
    %a: tensor<8192x4096xbf16>, %b: tensor<4096x1792xbf16>,
    %c: tensor<1024x4096xbf16>) {
  %whole = commsched.compute "aten.mm"(%a, %b)
      {flops = 120259084288.0, split = "m k, k n -> m n"}
      : (tensor<8192x4096xbf16>, tensor<4096x1792xbf16>)
        -> tensor<8192x1792xbf16>
  %chunk = commsched.compute "aten.mm"(%c, %b)
      {flops = 15032385536.0, split = "m k, k n -> m n"}
      : (tensor<1024x4096xbf16>, tensor<4096x1792xbf16>)
        -> tensor<1024x1792xbf16>
)";

TEST_F(ChunkCosts, ProductsLoseWaves) {
  parse(products);
  OperationCosts costs = makeCosts();
  int64_t whole = costs.getRuntimeNs(ops[0]);
  int64_t plain = costs.getRuntimeNs(ops[1]);
  int64_t chunk = expectAgreement(/*axis=*/0, /*count=*/8);
  // As a program of its own it is a roofline, of an eighth of the flops.
  EXPECT_GT(chunk, plain);
  // 7 waves of 128 x 128 against 8 chunks of 1 wave each: 14 % more.
  double arithmetic = static_cast<double>(whole - 1000) / 8;
  EXPECT_NEAR(static_cast<double>(chunk - 1000), arithmetic * 8 / 7, 10);
}

TEST_F(ChunkCosts, PinsAreScaled) {
  parse(products);
  OperationCosts costs = makeCosts();
  int64_t whole = costs.getRuntimeNs(ops[0]);
  int64_t chunk = *estimateChunk(costs, /*axis=*/0, /*count=*/8);
  Builder builder(&context);
  ops[0]->setAttr(runtimeNsAttrName, builder.getI64IntegerAttr(1000000));
  double ratio = static_cast<double>(chunk) / static_cast<double>(whole);
  int64_t pinned = *estimateChunk(costs, /*axis=*/0, /*count=*/8);
  EXPECT_GE(static_cast<double>(pinned), 1000000 * ratio);
  EXPECT_LT(static_cast<double>(pinned), 1000000 * ratio + 1);
}

/// The chunks of the product take no less together than is said, in whatever
/// number and along whatever axis.
static void expectNoLess(OperationCosts &costs, Operation *whole,
                         int64_t leastNs) {
  SplitRule rule = cast<SplitOpInterface>(whole).getSplitRule();
  for (const SplitAxis &axis : rule.axes)
    for (int64_t count : {2, 4, 8})
      EXPECT_GE(*estimateChunkNs(costs, whole, axis, count) * count, leastNs)
          << count << " chunks";
}

TEST_F(ChunkCosts, ChunksTakeNoLessThanTheWhole) {
  parse(products);
  OperationCosts costs = makeCosts();
  int64_t wholeNs = costs.getRuntimeNs(ops[0]);
  EXPECT_EQ(getLeastNsInChunks(costs, ops[0], wholeNs, 8), wholeNs);
  expectNoLess(costs, ops[0], wholeNs);
}

TEST_F(ChunkCosts, ChunksMayBeMeasuredBelowTheirShare) {
  parse(products);
  MeasuredTable table = llvm::cantFail(MeasuredTable::parse(R"({"rows": [],
      "products": [{"m": 2048, "n": 1792, "k": 4096, "type": "bf16",
                    "time_ns": 20000}]})"));
  OperationCosts costs = makeCosts(&table);
  int64_t wholeNs = costs.getRuntimeNs(ops[0]);
  ASSERT_GT(wholeNs, 4 * 20000);
  int64_t leastNs = getLeastNsInChunks(costs, ops[0], wholeNs, 8);
  EXPECT_GE(leastNs, 4 * 20000 - 10);
  EXPECT_LE(leastNs, 4 * 20000);
  expectNoLess(costs, ops[0], leastNs);
  // Pins are scaled by the same ratio.
  Builder builder(&context);
  ops[0]->setAttr(runtimeNsAttrName, builder.getI64IntegerAttr(1000));
  leastNs = getLeastNsInChunks(costs, ops[0], 1000, 8);
  EXPECT_LT(leastNs, 1000);
  expectNoLess(costs, ops[0], leastNs);
}

TEST_F(ChunkCosts, MeasuredProductsReplaceTheModel) {
  parse(products);
  MeasuredTable table = llvm::cantFail(MeasuredTable::parse(R"({"rows": [],
    "products": [
      {"m": 8192, "n": 1792, "k": 4096, "type": "bf16", "time_ns": 200000},
      {"m": 1024, "n": 1792, "k": 4096, "type": "bf16", "time_ns": 31000}]})"));
  OperationCosts costs = makeCosts(&table);
  EXPECT_EQ(costs.getRuntimeNs(ops[0]), 200000);
  EXPECT_EQ(expectAgreement(/*axis=*/0, /*count=*/8, &table), 31000);
}

TEST_F(ChunkCosts, MeasuredWholesScaleTheirChunks) {
  parse(products);
  MeasuredTable table = llvm::cantFail(MeasuredTable::parse(R"({"rows": [],
    "products": [
      {"m": 8192, "n": 1792, "k": 4096, "type": "bf16", "time_ns": 300000}]})"));
  OperationCosts costs = makeCosts();
  double whole = static_cast<double>(costs.getRuntimeNs(ops[0]));
  double chunk =
      static_cast<double>(*estimateChunk(costs, /*axis=*/0, /*count=*/8));
  int64_t measured = expectAgreement(/*axis=*/0, /*count=*/8, &table);
  EXPECT_NEAR(static_cast<double>(measured), 300000 * chunk / whole, 1);
}

TEST_F(ChunkCosts, SumsOfProducts) {
  parse(R"(
    %a: tensor<1024x4096xbf16>, %b: tensor<4096x1792xbf16>,
    %c: tensor<1024x1024xbf16>, %d: tensor<1024x1792xbf16>) {
  %whole = commsched.compute "aten.mm"(%a, %b)
      {flops = 15032385536.0, split = "m k, k n -> m n"}
      : (tensor<1024x4096xbf16>, tensor<4096x1792xbf16>)
        -> tensor<1024x1792xbf16>
  %chunk = commsched.compute "aten.mm"(%c, %d)
      {flops = 3758096384.0, split = "m k, k n -> m n"}
      : (tensor<1024x1024xbf16>, tensor<1024x1792xbf16>)
        -> tensor<1024x1792xbf16>
)");
  expectAgreement(/*axis=*/1, /*count=*/4);
}

TEST_F(ChunkCosts, LinalgProducts) {
  parse(R"(
    %a: tensor<2048x512xf32>, %b: tensor<512x256xf32>,
    %i: tensor<2048x256xf32>, %c: tensor<512x512xf32>,
    %j: tensor<512x256xf32>) {
  %whole = linalg.matmul
      ins(%a, %b : tensor<2048x512xf32>, tensor<512x256xf32>)
      outs(%i : tensor<2048x256xf32>) -> tensor<2048x256xf32>
  %chunk = linalg.matmul
      ins(%c, %b : tensor<512x512xf32>, tensor<512x256xf32>)
      outs(%j : tensor<512x256xf32>) -> tensor<512x256xf32>
)");
  OperationCosts costs = makeCosts();
  int64_t plain = costs.getRuntimeNs(ops[1]);
  EXPECT_GT(expectAgreement(/*axis=*/0, /*count=*/4), plain);
}

TEST_F(ChunkCosts, ElementwiseOperationsMoveTheirBytes) {
  parse(R"(
    %a: tensor<8192x4096xf32>, %b: tensor<2048x4096xf32>) {
  %whole = arith.addf %a, %a : tensor<8192x4096xf32>
  %chunk = arith.addf %b, %b : tensor<2048x4096xf32>
)");
  OperationCosts costs = makeCosts();
  int64_t plain = costs.getRuntimeNs(ops[1]);
  EXPECT_EQ(expectAgreement(/*axis=*/0, /*count=*/4), plain);
}

TEST_F(ChunkCosts, CollectivesTakeTheirBytes) {
  parse(R"(
    %a: tensor<1024x4096xbf16>, %b: tensor<512x4096xbf16>) {
  %f = commsched.all_gather %a on @tp dim(0)
      : tensor<1024x4096xbf16> -> !commsched.future<tensor<8192x4096xbf16>>
  %g = commsched.all_gather %b on @tp dim(0)
      : tensor<512x4096xbf16> -> !commsched.future<tensor<4096x4096xbf16>>
  %x = commsched.wait %f : !commsched.future<tensor<8192x4096xbf16>>
  %y = commsched.wait %g : !commsched.future<tensor<4096x4096xbf16>>
)");
  expectAgreement(/*axis=*/0, /*count=*/2);
}

TEST_F(ChunkCosts, CopiesConcatenationsAndSums) {
  parse(R"(
    %a: tensor<1024x512xf32>, %b: tensor<1024x512xf32>) {
  %e = tensor.empty() : tensor<1024x512xf32>
  %copy = linalg.copy ins(%a : tensor<1024x512xf32>)
      outs(%e : tensor<1024x512xf32>) -> tensor<1024x512xf32>
  %sum = linalg.generic
      {indexing_maps = [affine_map<(i, j) -> (i, j)>,
                        affine_map<(i, j) -> (i, j)>,
                        affine_map<(i, j) -> (i, j)>],
       iterator_types = ["parallel", "parallel"]}
      ins(%a, %b : tensor<1024x512xf32>, tensor<1024x512xf32>)
      outs(%e : tensor<1024x512xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %s = arith.addf %x, %y : f32
    linalg.yield %s : f32
  } -> tensor<1024x512xf32>
  %concat = tensor.concat dim(0) %a, %b
      : (tensor<1024x512xf32>, tensor<1024x512xf32>) -> tensor<2048x512xf32>
)");
  OperationCosts costs = makeCosts();
  module->walk([&](Operation *op) {
    if (isa<linalg::CopyOp>(op)) {
      EXPECT_EQ(costs.getRuntimeNs(op),
                estimateCopyNs(costs, op->getResult(0).getType()));
    }
    if (isa<linalg::GenericOp>(op)) {
      EXPECT_EQ(costs.getRuntimeNs(op),
                estimateSumNs(costs, op->getResult(0).getType(), 2));
    }
    if (isa<tensor::ConcatOp>(op)) {
      EXPECT_EQ(costs.getRuntimeNs(op),
                estimateCopyNs(costs, op->getResult(0).getType()));
    }
  });
}

using CostAnalyses = CostsTest;

TEST_F(CostAnalyses, HasNoCostsForWhatIsInvalid) {
  context.loadDialect<DLTIDialect>();
  parseFunction("g size(4)", ") {\n");
  std::string message;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    message = diagnostic.str();
    return success();
  });
  auto expectNone = [&](StringRef name, StringRef value) {
    (*module)->setAttr(name, parseAttribute(value, &context));
    CostAnalysis analysis(*module->getOps<func::FuncOp>().begin());
    EXPECT_FALSE(analysis.getCosts());
    (*module)->removeAttr(name);
  };
  expectNone("dlti.target_system_spec",
             R"(#dlti.target_system_spec<"GPU" = #dlti.target_device_spec<
                "commsched.preset" = "abacus">>)");
  EXPECT_NE(message.find("unknown preset 'abacus'"), std::string::npos);
  expectNone("commsched.profile", "{rows = [{bytes = 8}]}");
  EXPECT_EQ(message, "attribute 'commsched.profile' cannot be used: row 0: "
                     "column 'collective' is missing");
}

} // namespace
