//===- CompileRegions.cpp - The pass that compiles marked regions ---------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../Remarks.h"
#include "CommSched/Analysis/Costs/CostAnalysis.h"
#include "CommSched/Transforms/Passes.h"
#include "RegionPipelines.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace mlir::commsched {
#define GEN_PASS_DEF_COMPILEREGIONS
#include "CommSched/Transforms/Passes.h.inc"
} // namespace mlir::commsched

using namespace mlir;
using namespace mlir::commsched;

static void remarkOutlined(OutlinedRegion outlined,
                           const MarkedRegion &region) {
  std::string name = region.name.empty()
                         ? "the region without a name"
                         : ("the region '" + region.name + "'").str();
  auto caller = outlined.call->getParentOfType<func::FuncOp>();
  remark::passed(outlined.loc,
                 makeRemark("RegionOutlined", caller.getSymName()))
      << (Twine(outlined.numOperations) + " operation(s) of " + name +
          " are @" + outlined.call.getCallee())
             .str()
      << remark::metric("Operations", outlined.numOperations);
}

namespace {

struct CompileRegions
    : mlir::commsched::impl::CompileRegionsBase<CompileRegions> {
  void runOnOperation() override {
    FailureOr<bool> changed = compile();
    if (failed(changed))
      return signalPassFailure();
    if (!*changed)
      markAllAnalysesPreserved();
  }

private:
  FailureOr<bool> compile();
  LogicalResult compile(ArrayRef<OutlinedRegion> outlined,
                        RegionPipelines &pipelines, OperationCosts &costs);
};

} // namespace

/// Compiles what is outlined, and describes the calls.
LogicalResult CompileRegions::compile(ArrayRef<OutlinedRegion> outlined,
                                      RegionPipelines &pipelines,
                                      OperationCosts &costs) {
  // Threads may not add managers of analyses.
  for (OutlinedRegion region : outlined)
    getAnalysisManager().nest(region.function);
  auto run = [&](OpPassManager &pipeline, Operation *op) {
    return runPipeline(pipeline, op);
  };
  if (failed(pipelines.run(outlined, run)))
    return failure();
  for (const OutlinedRegion &region : outlined)
    if (failed(describeCall(region, costs)))
      return failure();
  return success();
}

FailureOr<bool> CompileRegions::compile() {
  // All that can be refused is refused before anything changes.
  FailureOr<Marks> marks = collectMarks(getOperation());
  if (failed(marks))
    return failure();
  if (marks->regions.empty())
    return false;
  FailureOr<RegionPipelines> pipelines = RegionPipelines::parse(marks->regions);
  CostAnalysis analysis(getOperation());
  OperationCosts *costs = analysis.getCosts();
  if (failed(pipelines) || !costs)
    return failure();
  std::vector<MarkedBlock> blocks;
  bool isChanged = false;
  for (auto &[block, marked] : marks->blocks) {
    FailureOr<MarkedBlock> plan = planBlock(*block, marked);
    if (failed(plan))
      return failure();
    isChanged |= !plan->sets.empty() || !plan->passedOn.empty();
    blocks.push_back(std::move(*plan));
  }

  SmallVector<OutlinedRegion> outlined = outlineRegions(getOperation(), blocks);
  if (areRemarksEnabled(getOperation()))
    for (const OutlinedRegion &region : outlined)
      remarkOutlined(region, marks->regions[region.region]);
  if (failed(compile(outlined, *pipelines, *costs)))
    return failure();
  return isChanged;
}
