//===- Attributes.cpp - What starts are as StableHLO ----------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Attributes.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::commsched;
using namespace mlir::commsched::stablehlo;

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

StringRef mlir::commsched::stablehlo::getCollectiveName(Operation *start) {
  return TypeSwitch<Operation *, StringRef>(start)
      .Case([](AllGatherOp) { return allGatherName; })
      .Case([](AllReduceOp) { return allReduceName; })
      .Case([](AllToAllOp) { return allToAllName; })
      .Case([](BroadcastOp) { return collectiveBroadcastName; })
      .Case([](PermuteOp) { return collectivePermuteName; })
      .Case([](RaggedAllToAllOp) { return customCallName; })
      .Case([](ReduceScatterOp) { return reduceScatterName; })
      .Default([](Operation *) { return StringRef(); });
}

static std::optional<std::string> getUnsupportedStart(Operation *start) {
  auto collective = cast<CollectiveOpInterface>(start);
  bool isOriginal = start->hasAttr(propertiesMark);
  SmallVector<Type> delivered = collective.getDeliveredTypes();
  if (collective.getReductionKind() == ReductionKind::Avg &&
      !llvm::all_of(delivered, [](Type type) {
        return cast<ShapedType>(type).hasStaticShape();
      }))
    return "an average of tensors of dynamic shape is not divided here";
  auto exchange = dyn_cast<AllToAllOp>(start);
  if (exchange && exchange.hasSplits())
    return "StableHLO's all_to_all has equal parts only";
  if (isa<RaggedAllToAllOp>(start) && !isOriginal)
    return "it is a custom call of XLA, whose configuration is not known";
  return std::nullopt;
}

std::optional<std::string>
mlir::commsched::stablehlo::getUnsupportedReason(Operation *op) {
  if (isa<GroupOp, WaitOp, AllGatherCopyInOp, SplitWithSizesCopyOp, ChunkCatOp>(
          op))
    return std::nullopt;
  if (!getCollectiveName(op).empty())
    return getUnsupportedStart(op);
  return TypeSwitch<Operation *, std::string>(op)
      .Case([](BarrierOp) {
        return "programs of StableHLO are ordered by their data only";
      })
      .Case<SendOp, RecvOp>([](auto) {
        return "StableHLO's send and recv are ordered by tokens, which are not "
               "known here";
      })
      .Case([](RankOp) {
        return "StableHLO knows a device's number, but not its place in a "
               "group";
      })
      .Case([](ComputeOp) { return "what the operator computes is not known"; })
      .Default([](Operation *) {
        return "it works on memory, and programs of StableHLO on values";
      });
}

//===----------------------------------------------------------------------===//
// Discardable attributes
//===----------------------------------------------------------------------===//

bool mlir::commsched::stablehlo::isOwnAttribute(StringRef name) {
  return name.starts_with("commsched.") || name == groupMark ||
         name == propertiesMark || name == asyncMark || name == reducerMark ||
         name == reducerShardingMark || name == promotionMark ||
         name == outlinedMark || name == namedMark;
}

SmallVector<NamedAttribute>
mlir::commsched::stablehlo::getForeignAttributes(Operation *op) {
  SmallVector<NamedAttribute> kept;
  llvm::copy_if(
      op->getDiscardableAttrs(), std::back_inserter(kept),
      [](NamedAttribute attr) { return !isOwnAttribute(attr.getName()); });
  return kept;
}

//===----------------------------------------------------------------------===//
// Dimensions
//===----------------------------------------------------------------------===//

bool mlir::commsched::stablehlo::isDimension(StringRef name) {
  return name == allGatherDimName || name == scatterDimensionName ||
         name == splitDimensionName || name == concatDimensionName ||
         name == splitCountName;
}

void mlir::commsched::stablehlo::setDimensions(Operation *start,
                                               NamedAttrList &attributes,
                                               int64_t groupSize, bool isFlat) {
  Builder builder(start->getContext());
  auto set = [&](StringRef name, int64_t value) {
    attributes.set(name, builder.getI64IntegerAttr(value));
  };
  auto setDim = [&](StringRef name, int64_t dim) {
    set(name, isFlat ? 0 : dim);
  };
  if (auto gather = dyn_cast<AllGatherOp>(start))
    setDim(allGatherDimName, gather.getDim());
  if (auto scatter = dyn_cast<ReduceScatterOp>(start))
    setDim(scatterDimensionName, scatter.getDim());
  if (auto exchange = dyn_cast<AllToAllOp>(start)) {
    setDim(splitDimensionName, exchange.getSplitDim());
    setDim(concatDimensionName, exchange.getConcatDim());
    set(splitCountName, groupSize);
  }
}

LogicalResult mlir::commsched::stablehlo::verifyDimensions(
    Operation *start, DictionaryAttr original, int64_t groupSize) {
  NamedAttrList expected;
  setDimensions(start, expected, groupSize, /*isFlat=*/false);
  for (NamedAttribute attr : expected) {
    Attribute said = original.get(attr.getName());
    // Older printers wrote inherent attributes among the discardable ones.
    if (!said)
      said = start->getDiscardableAttr(attr.getName());
    if (said == attr.getValue())
      continue;
    InFlightDiagnostic diag = start->emitOpError("needs '")
                              << attr.getName().getValue() << "' of "
                              << attr.getValue() << ", but '" << propertiesMark
                              << "' has ";
    if (said)
      return diag << said;
    return diag << "none";
  }
  return success();
}
