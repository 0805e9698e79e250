//===- main.cpp - Example of a downstream tool ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/Dialect/CommSchedDialect.h"
#include "CommSched/Register.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"

using namespace mlir;
namespace cs = mlir::commsched;

/// A step that computes first and gathers then, although the gather needs
/// nothing that is computed.
static OwningOpRef<ModuleOp> buildStep(MLIRContext &context) {
  OpBuilder builder(&context);
  Location loc = builder.getUnknownLoc();
  OwningOpRef<ModuleOp> module = ModuleOp::create(builder, loc);
  builder.setInsertionPointToEnd(module->getBody());

  cs::GroupOp::create(builder, loc, "dp", /*size=*/8,
                      /*ranks_per_node=*/IntegerAttr(),
                      /*stride=*/IntegerAttr(),
                      /*ranks=*/DenseIntElementsAttr(),
                      /*sym_visibility=*/StringAttr());

  auto shard = RankedTensorType::get({128, 1024}, builder.getBF16Type());
  auto full = RankedTensorType::get({1024, 1024}, builder.getBF16Type());
  auto function = func::FuncOp::create(
      builder, loc, "step", builder.getFunctionType({full, shard}, {full}));
  Block *body = function.addEntryBlock();
  builder.setInsertionPointToStart(body);

  auto normalize = cs::ComputeOp::create(
      builder, loc, TypeRange{full}, "normalize", body->getArgument(0),
      /*flops=*/FloatAttr(), /*bytes=*/IntegerAttr(), /*alias=*/IntegerAttr(),
      /*mutates=*/DenseI64ArrayAttr(), /*random=*/false,
      /*split=*/StringAttr());
  auto start = cs::AllGatherOp::create(
      builder, loc, cs::FutureType::get(&context, {full}),
      /*inputs=*/body->getArgument(1), "dp", /*dim=*/0, /*into=*/ValueRange());
  auto wait = cs::WaitOp::create(builder, loc, start.getFuture());
  auto product = cs::ComputeOp::create(
      builder, loc, TypeRange{full}, "matmul",
      ValueRange{normalize.getResult(0), wait.getResult(0)},
      builder.getF64FloatAttr(2.0 * 1024 * 1024 * 1024),
      /*bytes=*/IntegerAttr(), /*alias=*/IntegerAttr(),
      /*mutates=*/DenseI64ArrayAttr(), /*random=*/false,
      /*split=*/StringAttr());
  func::ReturnOp::create(builder, loc, product.getResults());
  return module;
}

int main() {
  DialectRegistry registry;
  registry.insert<func::FuncDialect>();
  cs::registerDialects(registry);
  cs::registerAllPasses();
  MLIRContext context(registry);
  context.loadAllAvailableDialects();

  OwningOpRef<ModuleOp> module = buildStep(context);
  PassManager passes(&context);
  if (failed(parsePassPipeline("func.func(commsched-estimate-runtime,"
                               "commsched-reorder-compute-for-overlap),"
                               "commsched-report{format=json}",
                               passes)) ||
      failed(passes.run(*module)))
    return 1;
  module->print(llvm::outs());
  return 0;
}
