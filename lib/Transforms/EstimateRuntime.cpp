//===- EstimateRuntime.cpp - Pass that writes estimated times -------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Dialect/CommSchedAttributes.h"
#include "CommSched/Dialect/CommSchedDialect.h"
#include "EstimatingPass.h"
#include "PassSupport.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringExtras.h"

namespace mlir::commsched {
#define GEN_PASS_DEF_ESTIMATERUNTIME
#include "CommSched/Transforms/Passes.h.inc"
} // namespace mlir::commsched

using namespace mlir;
using namespace mlir::commsched;

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
    : EstimatingPass<
          mlir::commsched::impl::EstimateRuntimeBase<EstimateRuntime>> {
  using EstimatingPass::EstimatingPass;

  LogicalResult run(OperationCosts &costs) override {
    attrName = StringAttr::get(&getContext(), runtimeNsAttrName);
    timeType = IntegerType::get(&getContext(), 64);
    changed = false;
    pinMeasured();
    estimateRegion(getOperation().getBody(), costs);
    if (!changed)
      markAllAnalysesPreserved();
    return success();
  }

private:
  /// Inner operations first, because the estimates of outer operations add up
  /// theirs.
  void estimateRegion(Region &region, OperationCosts &costs) {
    for (Operation &op : region.getOps()) {
      // The regions of a collective or an operation that states its own cost
      // are its definition, not operations that are launched.
      if (!isa<CostOpInterface, CollectiveOpInterface>(op))
        for (Region &inner : op.getRegions())
          estimateRegion(inner, costs);
      if (!op.hasTrait<OpTrait::IsTerminator>() && !getPinnedRuntimeNs(&op))
        estimate(&op, costs);
    }
  }

  /// Writes what was measured of single operations, which is more than an
  /// estimate.
  void pinMeasured() {
    if (!getProfile() || !getProfile()->getOperations())
      return;
    pinMeasuredTimes(getOperation(), getProfile());
    changed = true;
  }

  void estimate(Operation *op, OperationCosts &costs) {
    std::optional<int64_t> time;
    auto collective = dyn_cast<CollectiveOpInterface>(op);
    if (collective) {
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

  /// Name and type of the attribute, looked up once.
  StringAttr attrName;
  IntegerType timeType;
  bool changed = false;
};

} // namespace
