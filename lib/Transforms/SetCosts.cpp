//===- SetCosts.cpp - Pass that writes target and profile -----------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Analysis/Costs/TargetSpec.h"
#include "CommSched/Dialect/CommSchedDialect.h"
#include "CommSched/Transforms/Passes.h"
#include "mlir/Dialect/DLTI/DLTI.h"
#include "mlir/Pass/PassManager.h"

namespace mlir::commsched {
#define GEN_PASS_DEF_SETCOSTS
#include "CommSched/Transforms/Passes.h.inc"
} // namespace mlir::commsched

using namespace mlir;
using namespace mlir::commsched;

namespace {

struct SetCosts : mlir::commsched::impl::SetCostsBase<SetCosts> {
  using SetCostsBase::SetCostsBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if ((!target.empty() && failed(setTarget(module, target))) ||
        (!profile.empty() &&
         failed(setProfile(module, profile, "pass 'commsched-set-costs'"))))
      return signalPassFailure();
    if (!assumeFusion)
      return;
    OpPassManager fusion(ModuleOp::getOperationName());
    fusion.addPass(createAssumeFusion());
    if (failed(runPipeline(fusion, module)))
      signalPassFailure();
  }
};

} // namespace
