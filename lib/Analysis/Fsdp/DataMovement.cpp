//===- DataMovement.cpp - What a computation makes of tensors -------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DataMovement.h"
#include "CommSched/Analysis/Problem/CommunicationEffects.h"
#include "CommSched/Analysis/Problem/OperatorClasses.h"
#include "CommSched/Interfaces/CommSchedInterfaces.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::commsched;

SmallVector<Value> mlir::commsched::getTensorInputs(Operation *op) {
  auto isTensor = [](Value value) { return !isNumber(value.getType()); };
  SmallVector<Value> inputs =
      llvm::filter_to_vector(op->getOperands(), isTensor);
  if (op->getNumRegions() == 0)
    return inputs;
  llvm::SetVector<Value> captured;
  getUsedValuesDefinedAbove(op->getRegions(), captured);
  llvm::copy_if(captured, std::back_inserter(inputs), isTensor);
  return inputs;
}

static bool isRandom(Operation *op) {
  auto effects = dyn_cast<MemoryEffectOpInterface>(op);
  if (!effects)
    return false;
  SmallVector<MemoryEffects::EffectInstance> instances;
  effects.getEffects(instances);
  return llvm::any_of(instances, [](const auto &instance) {
    return instance.getResource() == RandomStateResource::get();
  });
}

/// Whether the operations nested in `op` give numbers only.
static bool holdsOnlyNumbers(Operation *op) {
  auto givesTensor = [&](Operation *nested) {
    bool isNested = nested != op;
    return isNested && !llvm::all_of(nested->getResultTypes(), isNumber)
               ? WalkResult::interrupt()
               : WalkResult::advance();
  };
  return op->getNumRegions() == 0 || !op->walk(givesTensor).wasInterrupted();
}

bool mlir::commsched::isLocalComputation(Operation *op) {
  return getCommunicationEffect(op) == CommunicationEffect::None &&
         !isRandom(op) && holdsOnlyNumbers(op);
}

bool mlir::commsched::mayDoArithmetic(Operation *op) {
  auto cost = dyn_cast<CostOpInterface>(op);
  if (!cost)
    return false;
  std::optional<double> flops = cost.getFlopCount();
  // A region whose arithmetic nobody counts, as a size is dynamic, may do some.
  return (flops ? *flops > 0 : op->getNumRegions() > 0) || cost.isExpensive();
}

bool mlir::commsched::isConcatenation(Operation *op, ArrayRef<Value> inputs) {
  if (op->getNumResults() != 1)
    return false;
  auto result = dyn_cast<RankedTensorType>(op->getResult(0).getType());
  if (!result)
    return false;
  // The sum along every dimension, and the only one that is not equal.
  SmallVector<int64_t> sums(result.getRank(), 0);
  std::optional<int64_t> joined;
  for (Value input : inputs) {
    auto type = dyn_cast<RankedTensorType>(input.getType());
    if (!type || type.getRank() != result.getRank())
      return false;
    for (auto [dim, size] : llvm::enumerate(type.getShape())) {
      int64_t index = dim;
      if (size == result.getDimSize(index) || joined == index)
        continue;
      if (joined)
        return false;
      joined = index;
    }
    for (auto [sum, size] : llvm::zip_equal(sums, type.getShape()))
      if (ShapedType::isDynamic(size) || llvm::AddOverflow(sum, size, sum))
        return false;
  }
  return joined && sums[*joined] == result.getDimSize(*joined);
}
