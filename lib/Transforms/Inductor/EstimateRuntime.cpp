//===- EstimateRuntime.cpp - Pass that writes estimated times -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "../PassSupport.h"
#include "CommSched/Analysis/Costs/CostAnalysis.h"
#include "CommSched/Analysis/OptionErrors.h"
#include "CommSched/Dialect/CommSchedAttributes.h"
#include "CommSched/Dialect/CommSchedDialect.h"
#include "CommSched/Transforms/Passes.h"
#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/StringExtras.h"

namespace mlir::commsched {
#define GEN_PASS_DEF_ESTIMATERUNTIME
#include "CommSched/Transforms/Passes.h.inc"
} // namespace mlir::commsched

using namespace mlir;
using namespace mlir::commsched;

/// Whether the operation calls a function whose operations have times of their
/// own: with a time the call would no longer stand for them.
static bool callsBody(Operation *op) {
  auto call = dyn_cast<CallOpInterface>(op);
  if (!call)
    return false;
  auto callee = dyn_cast_or_null<FunctionOpInterface>(call.resolveCallable());
  return callee && !callee.isExternal();
}

/// Returns the source of an estimate: the profile, the operation, or an
/// algorithm and protocol of the model.
static std::string describeSource(const CollectiveEstimate &estimate) {
  switch (estimate.source) {
  case CollectiveEstimate::Source::Profile:
    return "measured";
  case CollectiveEstimate::Source::Operation:
    return "by the operation itself";
  case CollectiveEstimate::Source::Implementation:
    return "by the latency and bandwidth of its implementation";
  case CollectiveEstimate::Source::Model:
    break;
  }
  std::string text =
      stringifyNcclAlgorithm(estimate.algorithm).str() + " algorithm";
  if (estimate.algorithm != cost::NcclAlgorithm::Local)
    text += ", " + stringifyNcclProtocol(estimate.protocol).str() + " protocol";
  return text;
}

namespace {

struct EstimateRuntime
    : mlir::commsched::impl::EstimateRuntimeBase<EstimateRuntime> {
  using EstimateRuntimeBase::EstimateRuntimeBase;

  LogicalResult initialize(MLIRContext *context) override {
    given.reset();
    if (profile.empty())
      return success();
    llvm::Expected<cost::MeasuredTable> table =
        cost::MeasuredTable::load(profile);
    if (!table)
      return reportOptionError(
          context, makeOptionError(*this, profile,
                                   "cannot be used: " +
                                       llvm::toString(table.takeError())));
    given = std::make_shared<const cost::MeasuredTable>(std::move(*table));
    return success();
  }

  void runOnOperation() override {
    if (!given) {
      if (OperationCosts *costs = getAnalysis<CostAnalysis>().getCosts())
        return run(*costs);
      return signalPassFailure();
    }
    if (getOperation()->getParentOp()->hasAttr(profileAttrName))
      remark::analysis(
          getOperation().getLoc(),
          makeRemark("ProfileReplaced", getOperation().getSymName()))
          << "the times are those of '" + profile +
                 "', as the option says, and not of the module's profile";
    attachMeasuredTimes(getOperation(), /*operations=*/nullptr);
    CostAnalysis analysis(getOperation(), *given);
    if (OperationCosts *costs = analysis.getCosts())
      return run(*costs);
    signalPassFailure();
  }

private:
  void run(OperationCosts &costs) {
    attrName = StringAttr::get(&getContext(), runtimeNsAttrName);
    timeType = IntegerType::get(&getContext(), 64);
    changed = false;
    estimateRegion(getOperation().getBody(), costs);
    if (!changed)
      markAllAnalysesPreserved();
  }

  /// Inner operations first, because the estimates of outer operations add up
  /// theirs.
  void estimateRegion(Region &region, OperationCosts &costs) {
    for (Operation &op : region.getOps()) {
      // The regions of a collective or an operation that states its own cost
      // are its definition, not operations that are launched.
      if (!isa<CostOpInterface, CollectiveOpInterface>(op))
        for (Region &inner : op.getRegions())
          estimateRegion(inner, costs);
      if (!op.hasTrait<OpTrait::IsTerminator>() && !getPinnedRuntimeNs(&op) &&
          !callsBody(&op))
        estimate(&op, costs);
    }
  }

  void estimate(Operation *op, OperationCosts &costs) {
    // What was measured of the operation is more than an estimate.
    std::optional<int64_t> time = costs.findMeasuredNs(op);
    auto collective = dyn_cast<CollectiveOpInterface>(op);
    if (time) {
    } else if (collective) {
      if (std::optional<CollectiveEstimate> estimate =
              costs.estimateCollective(collective)) {
        time = estimate->timeNs;
        remarkEstimate(op, *estimate);
      }
    } else {
      time = costs.estimateNs(op);
    }
    if (!time)
      return remarkUnknown(op, costs);
    op->setDiscardableAttr(attrName, IntegerAttr::get(timeType, *time));
    changed = true;
  }

  void remarkEstimate(Operation *op, const CollectiveEstimate &estimate) {
    if (!areRemarksEnabled(op))
      return;
    const cost::CollectiveQuery &query = estimate.query;
    remark::analysis(op->getLoc(), makeRemark("EstimatedCollective",
                                              getOperation().getSymName()))
        << (describe(op) + ": " + describeSource(estimate))
        << remark::metric("TimeNs", estimate.timeNs)
        << remark::metric("Bytes", query.bytes)
        << remark::metric("Ranks", query.ranks)
        << remark::metric("Nodes", query.nodes());
  }

  void remarkUnknown(Operation *op, OperationCosts &costs) {
    if (!areRemarksEnabled(op))
      return;
    remark::missed(op->getLoc(),
                   makeRemark("UnknownCost", getOperation().getSymName()))
        << (describe(op) +
            " has no estimate: " + explainUnknownCost(costs, op));
  }

  /// The profile of the option, shared by the copies of the pass that run on
  /// several functions at once; or null.
  std::shared_ptr<const cost::MeasuredTable> given;
  /// Name and type of the attribute, looked up once.
  StringAttr attrName;
  IntegerType timeType;
  bool changed = false;
};

} // namespace
