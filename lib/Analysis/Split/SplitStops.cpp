//===- SplitStops.cpp - Why regions end -----------------------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Analysis/OperationTexts.h"
#include "CommSched/Analysis/Problem/CommunicationEffects.h"
#include "CommSched/Dialect/CommSchedAttributes.h"
#include "CommSched/Dialect/CommSchedDialect.h"
#include "RegionGraph.h"

using namespace mlir;
using namespace mlir::commsched;

/// Whether a size of a value that `op` reads or gives is unknown; of a
/// collective, what it delivers counts.
static bool hasUnknownSize(Operation *op) {
  auto isUnknown = [](Type type) {
    auto shaped = dyn_cast<ShapedType>(type);
    return shaped && (!shaped.hasRank() || !shaped.hasStaticShape());
  };
  auto start = dyn_cast<CollectiveOpInterface>(op);
  return llvm::any_of(getSizedTypes(op->getOperands()), isUnknown) ||
         llvm::any_of(start && start.getInFlightFuture()
                          ? getSizedDeliveredTypes(op)
                          : getSizedTypes(op->getResults()),
                      isUnknown);
}

/// Why an operation without a rule has none.
static std::string explainMissingRule(Operation *op) {
  if (hasUnknownMemoryEffects(op))
    return "has unknown effects";
  if (auto collective = dyn_cast<CollectiveOpInterface>(op)) {
    if (isPointToPoint(op))
      return "is a send or a receive";
    if (!collective.getInFlightFuture())
      return "is blocking";
    if (!collective.getDestinations().empty())
      return "writes into a given buffer";
    if (collective.getSentValues().size() > 1)
      return "carries several tensors";
  } else if (!isMemoryEffectFree(op)) {
    return "has an effect";
  }
  if (hasUnknownSize(op))
    return "has a value of unknown size";
  return "has no rule for splitting";
}

std::optional<std::string>
mlir::commsched::getUnsplittableReason(Operation *op) {
  if (op->hasAttr(chunkAttrName))
    return "is a chunk already";
  if (op->hasAttr(orderAttrName))
    return "has a fixed place in the order of collectives";
  if (op->hasAttr(fusedAttrName))
    return "is computed by what reads it";
  // Chunks may be steps of a ring, which it might not carry out.
  if (op->hasAttr(implementationAttrName))
    return "names an implementation";
  auto collective = dyn_cast<CollectiveOpInterface>(op);
  if (collective && collective.getInFlightFuture() && !collective.getWait())
    return "is not waited for";
  if (!isa<SplitOpInterface>(op))
    return explainMissingRule(op);
  if (hasUnknownSize(op))
    return "has a value of unknown size";
  return std::nullopt;
}

/// Why `op`, which reads (or gives) `value` in the chunks of `split`, cannot be
/// divided with it; none if it could be.
static std::optional<std::string> explainStop(Operation *op, Value value,
                                              ValueSplit split, bool isRead,
                                              bool allowSums,
                                              const DenseSet<Value> &written) {
  if (std::optional<std::string> reason = getUnsplittableReason(op))
    return reason;
  SplitRule rule = cast<SplitOpInterface>(op).getSplitRule();
  std::string dimension = "dimension " + std::to_string(split.dim);
  std::optional<AxisSplit> found;
  if (!isRead) {
    found =
        findAxisOfResult(rule, cast<OpResult>(value).getResultNumber(), split);
  } else {
    for (OpOperand &operand : op->getOpOperands())
      if (operand.get() == value && !found)
        found = findAxisOfOperand(rule, operand.getOperandNumber(), split);
  }
  if (found && rule.axes[found->axis].kind == SplitAxisKind::Sum && !allowSums)
    return "adds up over " + dimension +
           ": partial sums are not the same bit for bit";
  auto isWritten = [&](Value operand) {
    return written.contains(getViewedValue(operand));
  };
  if (found && llvm::any_of(op->getOperands(), isWritten))
    return "reads a value that is written in place";
  if (found)
    return std::nullopt;
  return "cannot be divided along " + dimension + " of its " +
         (isRead ? "operand" : "result");
}

std::vector<SplitStop>
mlir::commsched::getSplitStops(const SplitRegion &region,
                               const SplitRegionOptions &options,
                               size_t limit) {
  std::vector<SplitStop> stops;
  DenseSet<Operation *> known;
  for (const SplitMember &member : region.members)
    known.insert(member.op);
  auto add = [&](Operation *op, Operation *member, Value value,
                 ValueSplit split, bool isRead) {
    if (stops.size() >= limit || op->hasTrait<OpTrait::IsTerminator>() ||
        !known.insert(op).second)
      return;
    std::optional<std::string> reason = explainStop(
        op, value, split, isRead, options.allowSums, *region.written);
    stops.push_back({op, member, reason.value_or("gains nothing from it"),
                     /*isDivisible=*/!reason});
  };
  for (const SplitExit &exit : region.exits) {
    if (!exit.split)
      continue;
    SmallVector<Operation *> users(exit.value.getUsers());
    for (Operation *user : llvm::reverse(users))
      if (stops.size() < limit)
        add(user, exit.value.getDefiningOp(), exit.value, *exit.split, true);
  }
  for (const SplitEntry &entry : region.entries)
    if (Operation *op = entry.value.getDefiningOp())
      add(op, region.members[entry.uses.front().member].op, entry.value,
          entry.split, false);
  return stops;
}

std::vector<SplitStop> SplitRegions::getStops(const SplitRegion &region,
                                              size_t limit) const {
  std::vector<SplitStop> stops = getSplitStops(region, options, limit);
  bool isNearest = region.extent == SplitExtent::Nearest;
  const auto &numbers = isNearest ? nearestOf : widestOf;
  for (SplitStop &stop : stops) {
    if (!stop.isDivisible)
      continue;
    if (auto it = numbers.find(stop.op); it != numbers.end()) {
      Operation *start = regions[it->second].collectives.front();
      stop.reason = "divides with " + describe(start) + " (" +
                    getLocationText(start->getLoc()) + ")";
    } else if (isNearest && widestOf.contains(stop.op)) {
      stop.reason = "is beyond the nearest large computation";
    }
  }
  return stops;
}
