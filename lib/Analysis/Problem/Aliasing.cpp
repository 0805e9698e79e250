//===- Aliasing.cpp - Storage that results share --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/Analysis/Problem/Aliasing.h"
#include "CommSched/Analysis/Costs/RegionRuns.h"
#include "CommSched/Analysis/Problem/CalleeSummary.h"
#include "CommSched/Analysis/Problem/CommunicationEffects.h"
#include "CommSched/Dialect/CommSchedAttributes.h"
#include "CommSched/Dialect/CommSchedDialect.h"
#include "CommSched/Interfaces/CommSchedInterfaces.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace mlir::commsched;

void mlir::commsched::visitReads(Operation *op,
                                 function_ref<void(Value)> visit) {
  llvm::for_each(op->getOperands(), visit);
  llvm::SetVector<Value> captured;
  getUsedValuesDefinedAbove(op->getRegions(), captured);
  llvm::for_each(captured, visit);
}

Value mlir::commsched::getAliasedValue(OpResult result) {
  Operation *op = result.getOwner();
  if (Value operand = getFusedOperand(op))
    return operand;
  if (isa<CallOpInterface>(op)) {
    std::optional<CalleeSummary> callee = CalleeSummary::find(op);
    int64_t operand = callee && !callee->aliases.empty()
                          ? callee->aliases[result.getResultNumber()]
                          : -1;
    return operand < 0 ? Value() : op->getOperand(operand);
  }
  if (auto alias = dyn_cast<AliasOpInterface>(op))
    return alias.getAliasedValue(result);
  if (auto view = dyn_cast<ViewLikeOpInterface>(op))
    return view.getViewDest() == result ? view.getViewSource() : Value();
  if (auto destination = dyn_cast<DestinationStyleOpInterface>(op)) {
    // Bufferization writes in place only values without other users, and none
    // that a region gets from outside, as it may run again.
    OpOperand *init = destination.getTiedOpOperand(result);
    bool isFree = init &&
                  init->get().getParentRegion() == op->getParentRegion() &&
                  llvm::all_of(init->get().getUsers(),
                               [&](Operation *user) { return user == op; });
    return isFree ? init->get() : Value();
  }
  return {};
}

OpOperand *mlir::commsched::getOverwrittenOperand(OpResult result) {
  Operation *op = result.getOwner();
  if (auto alias = dyn_cast<AliasOpInterface>(op))
    return alias.getOverwrittenOperand(result);
  auto destination = dyn_cast<DestinationStyleOpInterface>(op);
  return destination ? destination.getTiedOpOperand(result) : nullptr;
}

bool mlir::commsched::mayAliasUnknown(OpResult result) {
  Operation *op = result.getOwner();
  if (isa<RegionBranchOpInterface, SelectLikeOpInterface,
          UnrealizedConversionCastOp>(op) ||
      hasUnknownMemoryEffects(op))
    return true;
  // A loop or branch may yield what it captures.
  if (auto regions = dyn_cast<RegionUseOpInterface>(op))
    return regions.getRegionUse() != RegionUse::Element;
  if (!isa<BaseMemRefType>(result.getType()))
    return false;
  auto effects = dyn_cast<MemoryEffectOpInterface>(op);
  return !effects || !effects.getEffectOnValue<MemoryEffects::Allocate>(result);
}

bool mlir::commsched::allResultsAlias(Operation *op) {
  return op->getNumResults() > 0 &&
         llvm::all_of(op->getResults(), [](OpResult result) {
           return getAliasedValue(result) != nullptr;
         });
}

bool mlir::commsched::makesOnlyViews(Operation *op) {
  return !isa<DestinationStyleOpInterface, CallOpInterface>(op) &&
         !writesDestination(op) && allResultsAlias(op);
}

bool mlir::commsched::isFreeView(Operation *op) {
  if (op->getNumResults() == 0 || op->getNumRegions() != 0 ||
      writesDestination(op))
    return false;
  if (isa<ViewLikeOpInterface>(op))
    return true;
  auto aliases = dyn_cast<AliasOpInterface>(op);
  return aliases && llvm::all_of(op->getOpResults(), [&](OpResult result) {
           return llvm::is_contained(op->getOperands(),
                                     aliases.getAliasedValue(result));
         });
}

//===----------------------------------------------------------------------===//
// Values that loops carry
//===----------------------------------------------------------------------===//

static bool isLoop(Operation *op) {
  return op->getNumRegions() != 0 && getRegionUse(op) == RegionUse::Loop;
}

/// The only block of the last region of `op`, whose end goes on with the next
/// iteration, if it has an argument for each operand and gives a value for each
/// result; else null.
static Block *getIteration(Operation *op) {
  Region &region = op->getRegions().back();
  if (!llvm::hasSingleElement(region) || region.front().empty())
    return nullptr;
  Block &block = region.front();
  unsigned count = op->getNumOperands();
  return op->getNumResults() == count && block.getNumArguments() == count &&
                 block.back().getNumOperands() == count
             ? &block
             : nullptr;
}

/// A table's loop: all regions take what it carries, and the last one gives
/// what the next iteration takes.
static SmallVector<CarriedValue> getCarriedByPosition(Operation *op) {
  SmallVector<CarriedValue> values;
  if (Block *block = getIteration(op))
    for (OpOperand &init : op->getOpOperands()) {
      unsigned index = init.getOperandNumber();
      values.push_back(
          {&init, op->getResult(index),
           block->back().getOperand(index) == block->getArgument(index)});
    }
  return values;
}

/// The condition of a `scf.while` chooses which values go on: a result belongs
/// to the argument that it passes on, or to that of the same number.
static SmallVector<CarriedValue> getCarriedByCondition(scf::WhileOp loop) {
  SmallVector<CarriedValue> values;
  Block *before = loop.getBeforeBody(), *after = loop.getAfterBody();
  Operation *yield = after->getTerminator();
  OperandRange passed = loop.getConditionOp().getArgs();
  for (OpResult result : loop->getResults()) {
    unsigned number = result.getResultNumber(), place = number;
    auto argument = dyn_cast<BlockArgument>(passed[number]);
    bool isArgument = argument && argument.getOwner() == before;
    if (isArgument)
      place = argument.getArgNumber();
    if (place >= loop.getInits().size() ||
        loop.getInits()[place].getType() != result.getType())
      continue;
    values.push_back(
        {&loop->getOpOperand(loop.getInits().getBeginOperandIndex() + place),
         result,
         isArgument && yield->getOperand(place) == after->getArgument(number)});
  }
  return values;
}

static SmallVector<CarriedValue> getCarriedByInterface(LoopLikeOpInterface op) {
  SmallVector<CarriedValue> values;
  std::optional<ResultRange> results = op.getLoopResults();
  if (results && op.getYieldedValuesMutable())
    for (auto [init, argument, yielded, result] :
         llvm::zip_equal(op.getInitsMutable(), op.getRegionIterArgs(),
                         op.getYieldedValues(), *results))
      values.push_back({&init, result, yielded == argument});
  return values;
}

SmallVector<CarriedValue> mlir::commsched::getCarriedValues(Operation *op) {
  if (!isLoop(op))
    return {};
  if (isa<RegionUseOpInterface>(op))
    return getCarriedByPosition(op);
  if (auto loop = dyn_cast<scf::WhileOp>(op))
    return getCarriedByCondition(loop);
  return getCarriedByInterface(cast<LoopLikeOpInterface>(op));
}

bool mlir::commsched::replacesArguments(Block &block) {
  Operation *op = block.getParentOp();
  if (!op || !isLoop(op))
    return false;
  if (isa<RegionUseOpInterface>(op))
    return getIteration(op) == &block;
  return cast<LoopLikeOpInterface>(op).getYieldedValuesMutable().has_value();
}
