//===- Attributes.cpp - What starts are as StableHLO ----------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Writing.h"

#include "../StableHlo/StableHlo.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/MapVector.h"
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

//===----------------------------------------------------------------------===//
// Manual computations
//===----------------------------------------------------------------------===//

static void inlineCall(func::CallOp call, func::FuncOp function) {
  Block &body = function.getBody().front();
  for (auto [argument, operand] :
       llvm::zip_equal(body.getArguments(), call.getOperands()))
    argument.replaceAllUsesWith(operand);
  Operation *end = body.getTerminator();
  call->replaceAllUsesWith(end->getOperands());
  end->erase();
  call->getBlock()->getOperations().splice(call->getIterator(),
                                           body.getOperations());
  call->erase();
  function->erase();
}

LogicalResult
mlir::commsched::stablehlo::inlineManualComputations(ModuleOp module) {
  llvm::MapVector<StringAttr, func::FuncOp> outlined;
  for (auto function : module.getOps<func::FuncOp>())
    if (function->hasAttr(outlinedMark))
      outlined[function.getSymNameAttr()] = function;
  if (outlined.empty())
    return success();
  DenseMap<StringAttr, SmallVector<func::CallOp>> calls;
  module.walk([&](func::CallOp call) {
    calls[call.getCalleeAttr().getAttr()].push_back(call);
  });
  for (auto [name, function] : outlined) {
    ArrayRef<func::CallOp> own = calls[name];
    bool isRecursive = own.size() == 1 && function->isAncestor(own.front());
    if (own.size() != 1 || isRecursive || !function.getBody().hasOneBlock()) {
      InFlightDiagnostic diag = function.emitOpError(
          "is the body of a manual computation and cannot be put back: ");
      if (isRecursive)
        return diag << "it calls itself";
      if (own.size() == 1)
        return diag << "it has " << function.getBody().getBlocks().size()
                    << " blocks";
      diag << "it is called " << own.size() << " times";
      for (func::CallOp call : own)
        diag.attachNote(call.getLoc()) << "a call";
      return diag;
    }
    inlineCall(own.front(), function);
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Scheduling groups
//===----------------------------------------------------------------------===//

static constexpr StringLiteral groupIdName = "_scheduling_group_id";

static DictionaryAttr getFrontendAttributes(Operation *op) {
  return dyn_cast_if_present<DictionaryAttr>(
      op->getDiscardableAttr(frontendAttributesName));
}

static bool isAnnotated(Operation *op) {
  DictionaryAttr attributes = getFrontendAttributes(op);
  return attributes && attributes.contains(groupIdName);
}

static void annotate(Operation *op, int64_t id) {
  NamedAttrList attributes(getFrontendAttributes(op));
  attributes.set(groupIdName,
                 StringAttr::get(op->getContext(), std::to_string(id)));
  op->setDiscardableAttr(frontendAttributesName,
                         attributes.getDictionary(op->getContext()));
}

static bool isStart(Operation *op) {
  return op->getName().getStringRef() == asyncStartName &&
         op->getResult(0).hasOneUse();
}

static void annotateBlock(Block &block, int64_t &id) {
  bool hasStart = false;
  for (Operation &op : block) {
    if (isAnnotated(&op))
      return;
    hasStart |= isStart(&op);
  }
  if (!hasStart)
    return;
  // The starts whose done has not come, in order, and the end of the group.
  SmallVector<Operation *> open;
  size_t firstOpen = 0;
  DenseSet<Operation *> done;
  Operation *end = nullptr;
  for (Operation &op : block) {
    if (isStart(&op))
      open.push_back(&op);
    while (firstOpen < open.size() && done.contains(open[firstOpen]))
      ++firstOpen;
    if (!end && firstOpen < open.size()) {
      end = *open[firstOpen]->getUsers().begin();
      ++id;
    }
    if (!end || isStart(&op))
      continue;
    if (op.getName().getStringRef() == asyncDoneName) {
      Operation *start = op.getOperand(0).getDefiningOp();
      done.insert(start);
      annotate(start, id);
      annotate(&op, id);
    } else if (op.getNumOperands() != 0 &&
               !op.hasTrait<OpTrait::IsTerminator>()) {
      annotate(&op, id);
    }
    if (&op == end)
      end = nullptr;
  }
}

void mlir::commsched::stablehlo::annotateSchedulingGroups(ModuleOp module) {
  int64_t id = 0;
  for (auto function : module.getOps<FunctionOpInterface>())
    if (cast<SymbolOpInterface>(*function).isPublic())
      function.walk([&](Block *block) { annotateBlock(*block, id); });
}
