//===- SetCosts.cpp - Pass that writes target and profile -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/Analysis/Costs/TargetSpec.h"
#include "CommSched/Analysis/OptionErrors.h"
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

  LogicalResult initialize(MLIRContext *context) override {
    fields.clear();
    optionError.reset();
    set(slack, slack != -1, "slack_percent", slack);
    set(exclusiveGroups, exclusiveGroups, "exclusive_groups", 1);
    set(linkSharing, linkSharing != LinkSharing::None, "link_sharing", 1);
    bool all = linkSharing == LinkSharing::All;
    set(linkSharing, all || linkSharing == LinkSharing::GroupsAndToHost,
        "link_sharing_d2h", 1);
    set(linkSharing, all || linkSharing == LinkSharing::GroupsAndFromHost,
        "link_sharing_h2d", 1);
    set(computeSlowdown, computeSlowdown != 0, "compute_slowdown",
        computeSlowdown);
    return reportOptionError(context, optionError);
  }

  void runOnOperation() override {
    ModuleOp module = getOperation();
    setTargetFields(module, fields);
    if ((!target.empty() && failed(setTarget(module, target))) ||
        (!profile.empty() &&
         failed(setProfile(module, profile, "pass 'commsched-set-costs'"))))
      return signalPassFailure();
    if (!assumeFusion)
      return;
    // Costs that a pass in front has kept are those before the changes above.
    getAnalysisManager().invalidate({});
    OpPassManager fusion(ModuleOp::getOperationName());
    fusion.addPass(createAssumeFusion());
    if (failed(runPipeline(fusion, module)))
      signalPassFailure();
  }

private:
  /// Has the field of the target called `key` set, if `isGiven`.
  void set(const llvm::cl::Option &option, bool isGiven, StringRef key,
           double value) {
    if (!isGiven)
      return;
    fields.push_back({key, value});
    if (llvm::Error error = cost::Target().setField(key, value))
      optionError = makeOptionError(
          *this, option, "cannot be used: " + llvm::toString(std::move(error)));
  }

  SmallVector<std::pair<StringRef, double>> fields;
  /// For reportOptionError().
  std::optional<std::string> optionError;
};

} // namespace
