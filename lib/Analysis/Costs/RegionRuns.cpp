//===- RegionRuns.cpp - How operations run their regions ------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Analysis/Costs/RegionRuns.h"

#include "CommSched/Dialect/CommSchedAttributes.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "llvm/ADT/APSInt.h"
#include "llvm/Support/MathExtras.h"

#include <limits>

using namespace mlir;
using namespace mlir::commsched;

RegionUse mlir::commsched::getRegionUse(Operation *op) {
  if (auto regions = dyn_cast<RegionUseOpInterface>(op))
    return regions.getRegionUse();
  if (isa<LoopLikeOpInterface>(op))
    return RegionUse::Loop;
  return isa<RegionBranchOpInterface>(op) ? RegionUse::Once
                                          : RegionUse::Unknown;
}

/// Iterations of `loop`, over all its dimensions; none when they are not
/// static.
static std::optional<int64_t> getStaticCount(LoopLikeOpInterface loop) {
  constexpr int64_t most = std::numeric_limits<int64_t>::max();
  auto clamp = [](const APInt &count) {
    return count.isIntN(63) ? static_cast<int64_t>(count.getZExtValue()) : most;
  };
  if (std::optional<APInt> count = loop.getStaticTripCount())
    return clamp(*count);
  std::optional<SmallVector<OpFoldResult>> lower = loop.getLoopLowerBounds();
  std::optional<SmallVector<OpFoldResult>> upper = loop.getLoopUpperBounds();
  std::optional<SmallVector<OpFoldResult>> steps = loop.getLoopSteps();
  if (!lower || !upper || !steps)
    return std::nullopt;
  int64_t iterations = 1;
  for (auto [low, high, step] : llvm::zip_equal(*lower, *upper, *steps)) {
    std::optional<int64_t> constantStep = getConstantIntValue(step);
    std::optional<APInt> count;
    if (constantStep && *constantStep > 0)
      count = constantTripCount(
          low, high, step, /*isSigned=*/true,
          [](Value, Value, bool) -> std::optional<llvm::APSInt> {
            return std::nullopt;
          });
    if (!count)
      return std::nullopt;
    if (llvm::MulOverflow(iterations, clamp(*count), iterations))
      iterations = most;
  }
  return iterations;
}

TripCount mlir::commsched::getTripCount(Operation *loop) {
  std::optional<int64_t> known;
  if (auto regions = dyn_cast<RegionUseOpInterface>(loop))
    known = regions.getTripCount();
  else
    known = getStaticCount(cast<LoopLikeOpInterface>(loop));
  if (known)
    return {*known, TripCount::Source::Bounds};
  if (auto hint = loop->getAttrOfType<IntegerAttr>(tripCountAttrName))
    return {hint.getInt(), TripCount::Source::Hint};
  return {};
}

SmallVector<Region *> mlir::commsched::getAlternatives(Operation *op) {
  SmallVector<Region *> alternatives;
  if (auto regions = dyn_cast<RegionUseOpInterface>(op);
      regions && regions.getRegionUse() == RegionUse::Branch)
    for (Region &region : op->getRegions())
      alternatives.push_back(&region);
  auto branch = dyn_cast<RegionBranchOpInterface>(op);
  if (!branch)
    return alternatives;
  SmallVector<RegionSuccessor> successors;
  branch.getSuccessorRegions(RegionBranchPoint::parent(), successors);
  for (const RegionSuccessor &successor : successors)
    if (!successor.isParent() &&
        !llvm::is_contained(alternatives, successor.getSuccessor()))
      alternatives.push_back(successor.getSuccessor());
  return alternatives;
}

Region *mlir::commsched::getCalledBody(Operation *op,
                                       SymbolTableCollection &symbolTables) {
  auto call = dyn_cast<CallOpInterface>(op);
  if (!call || isa<CostOpInterface, CollectiveOpInterface>(op))
    return nullptr;
  auto callable = dyn_cast_if_present<CallableOpInterface>(
      call.resolveCallableInTable(&symbolTables));
  Region *body = callable ? callable.getCallableRegion() : nullptr;
  return body && !body->empty() ? body : nullptr;
}
