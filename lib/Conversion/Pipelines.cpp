//===- Pipelines.cpp - Lowering pipelines to the runtime ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/Conversion/Passes.h"

// mlir/Conversion/Passes.h includes all conversions of MLIR and takes longer to
// compile than the rest of this library.
#include "mlir/Conversion/AffineToStandard/AffineToStandard.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/BufferizationToMemRef/BufferizationToMemRef.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVMPass.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MathToLibm/MathToLibm.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/TosaToArith/TosaToArith.h"
#include "mlir/Conversion/TosaToLinalg/TosaToLinalg.h"
#include "mlir/Conversion/TosaToSCF/TosaToSCF.h"
#include "mlir/Conversion/TosaToTensor/TosaToTensor.h"
#include "mlir/Conversion/UBToLLVM/UBToLLVM.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Bufferization/Pipelines/Passes.h"
#include "mlir/Dialect/Bufferization/Transforms/Passes.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/LLVMIR/Transforms/RequestCWrappers.h"
#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Dialect/Tosa/Transforms/Passes.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace mlir::commsched;

namespace {

/// Replaces branches to one block with different values, as MLIR makes of
/// blocks that do the same, by a choice of these values: bufferization gives
/// the values of only one of the two the types of the block.
struct JoinBranches : PassWrapper<JoinBranches, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(JoinBranches)

  void getDependentDialects(DialectRegistry &dialects) const override {
    dialects.insert<arith::ArithDialect, cf::ControlFlowDialect>();
  }

  void runOnOperation() override {
    getOperation().walk([](cf::CondBranchOp branch) {
      if (branch.getTrueDest() != branch.getFalseDest())
        return;
      OpBuilder builder(branch);
      SmallVector<Value> chosen;
      for (auto [first, second] : llvm::zip_equal(
               branch.getTrueDestOperands(), branch.getFalseDestOperands()))
        chosen.push_back(first == second
                             ? first
                             : arith::SelectOp::create(builder, branch.getLoc(),
                                                       branch.getCondition(),
                                                       first, second));
      cf::BranchOp::create(builder, branch.getLoc(), branch.getTrueDest(),
                           chosen);
      branch.erase();
    });
  }
};

} // namespace

void mlir::commsched::buildCommSchedToRuntimePipeline(OpPassManager &manager) {
  manager.addPass(createConvertCommSchedToRequests());
  // Bufferization does not know arithmetic on whole tensors.
  manager.addPass(createConvertElementwiseToLinalgPass());
  manager.addPass(std::make_unique<JoinBranches>());

  bufferization::OneShotBufferizePassOptions bufferize;
  bufferize.bufferizeFunctionBoundaries = true;
  bufferize.functionBoundaryTypeConversion =
      bufferization::LayoutMapOption::IdentityLayoutMap;
  // Programs of other dialects are lowered here too: nothing may stay a tensor.
  bufferize.allowReturnAllocsFromLoops = true;
  // `#commsched.host` is both.
  bufferize.useEncodingForMemorySpace = true;
  manager.addPass(bufferization::createOneShotBufferizePass(bufferize));
  manager.addNestedPass<func::FuncOp>(createPackRequestBuffers());
  bufferization::buildBufferDeallocationPipeline(manager);
  // Deallocation clones what a function returns but does not own.
  manager.addPass(createConvertBufferizationToMemRefPass());
  manager.addNestedPass<func::FuncOp>(
      bufferization::createOptimizeAllocationLivenessPass());
  manager.addPass(createConvertRequestsToCalls());
}

/// Arithmetic on floating-point types that processors lack, in f32.
static void emulateSmallFloats(OpPassManager &manager) {
  arith::ArithEmulateUnsupportedFloatsOptions emulate;
  emulate.sourceTypeStrs = {"bf16", "f16", "f8E4M3FN", "f8E5M2"};
  emulate.targetTypeStr = "f32";
  manager.addPass(arith::createArithEmulateUnsupportedFloats(emulate));
  manager.addPass(createExpandFloat8Casts());
  arith::ArithExpandOpsPassOptions expand;
  expand.includeBf16 = true;
  manager.addPass(arith::createArithExpandOpsPass(expand));
}

/// From tosa to linalg and tensor, which can be bufferized. MLIR's pipeline
/// for this also canonicalizes, which would change programs without tosa.
static void lowerTosa(OpPassManager &manager) {
  OpPassManager &functions = manager.nest<func::FuncOp>();
  functions.addPass(createTosaToSCFPass());
  functions.addPass(tosa::createTosaOptionalDecompositionsPass());
  functions.addPass(tosa::createTosaMakeBroadcastablePass());
  functions.addPass(tosa::createTosaToLinalgNamed());
  functions.addPass(tosa::createTosaToLinalg());
  functions.addPass(createTosaToTensorPass());
  functions.addPass(createTosaToArithPass());
}

void mlir::commsched::buildCommSchedToLLVMPipeline(OpPassManager &manager) {
  // Before there are calls of the runtime, which are plain symbols.
  manager.addNestedPass<func::FuncOp>(LLVM::createLLVMRequestCWrappersPass());
  lowerTosa(manager);
  buildCommSchedToRuntimePipeline(manager);
  manager.addNestedPass<func::FuncOp>(createConvertLinalgToLoopsPass());
  emulateSmallFloats(manager);
  manager.addPass(memref::createExpandStridedMetadataPass());
  manager.addPass(createLowerAffinePass());
  manager.addPass(createSCFToControlFlowPass());
  manager.addPass(createConvertMathToLLVMPass());
  manager.addPass(createConvertMathToLibmPass());
  FinalizeMemRefToLLVMConversionPassOptions memref;
  memref.useGenericFunctions = true;
  manager.addPass(createFinalizeMemRefToLLVMConversionPass(memref));
  manager.addPass(createArithToLLVMConversionPass());
  manager.addPass(createConvertControlFlowToLLVMPass());
  manager.addPass(createConvertFuncToLLVMPass());
  manager.addPass(createUBToLLVMConversionPass());
  manager.addPass(createReconcileUnrealizedCastsPass());
}

void mlir::commsched::registerConversionPipelines() {
  PassPipelineRegistration<>(
      "convert-commsched-to-runtime",
      "From tensors to calls of the runtime: requests, one-shot bufferization, "
      "deallocation, calls",
      buildCommSchedToRuntimePipeline);
  PassPipelineRegistration<>(
      "commsched-to-llvm",
      "From tosa, linalg, tensor, arith, scf and commsched to the LLVM "
      "dialect, with "
      "calls of the runtime",
      buildCommSchedToLLVMPipeline);
}
