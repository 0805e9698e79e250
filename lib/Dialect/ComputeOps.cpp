//===- ComputeOps.cpp - Opaque operators ----------------------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Dialect/CommSchedAttributes.h"
#include "CommSched/Dialect/CommSchedDialect.h"
#include "CommSched/Dialect/RandomState.h"
#include "OperatorNames.h"
#include "llvm/ADT/SmallSet.h"

using namespace mlir;
using namespace mlir::commsched;

LogicalResult ComputeOp::verify() {
  int64_t operands = getInputs().size();
  if (getCallee().empty())
    return emitOpError("needs the name of an operator (C1)");
  if (std::optional<APFloat> flops = getFlops())
    if (!flops->isFinite() || flops->isNegative())
      return emitOpError("'flops' must be finite and not negative, but is ")
             << flops->convertToDouble() << " (C2)";
  if (std::optional<int64_t> bytes = getBytes(); bytes && *bytes < 0)
    return emitOpError("'bytes' must not be negative, but is ")
           << *bytes << " (C3)";
  if (std::optional<int64_t> alias = getAlias())
    if (*alias < 0 || *alias >= operands)
      return emitOpError("'alias' is ")
             << *alias << ", but there are " << operands << " operand(s) (C4)";
  if (std::optional<ArrayRef<int64_t>> mutates = getMutates()) {
    llvm::SmallSet<int64_t, 4> seen;
    for (int64_t index : *mutates) {
      if (index < 0 || index >= operands)
        return emitOpError("'mutates' has ")
               << index << ", but there are " << operands << " operand(s) (C5)";
      if (!seen.insert(index).second)
        return emitOpError("'mutates' has ") << index << " twice (C5)";
    }
  }
  return success();
}

Value ComputeOp::getAliasedValue(OpResult result) {
  std::optional<int64_t> alias = getAlias();
  return alias ? getInputs()[*alias] : Value();
}

std::optional<double> ComputeOp::getFlopCount() {
  if (std::optional<APFloat> flops = getFlops())
    return flops->convertToDouble();
  return std::nullopt;
}

std::optional<int64_t> ComputeOp::getMovedBytes() {
  if (std::optional<int64_t> bytes = getBytes())
    return bytes;
  // A view moves nothing unless it also writes its operand.
  if (getAlias() && !getMutates())
    return 0;
  return getOperandAndResultBytes(*this);
}

/// Whether `op` is given the state that it draws random numbers from, so that
/// it draws the same ones again.
static bool isGivenRandomState(ComputeOp op) {
  return llvm::any_of(op.getInputs(), [](Value input) {
    auto state = input.getDefiningOp<ComputeOp>();
    return getRole(input) == rngStateRole ||
           (state && state.getCallee() == getStateCallee);
  });
}

OperatorClass ComputeOp::getOperatorClass() {
  std::optional<OperatorClass> named = lookupOperatorClass(getCallee());
  if (getRandom() || named == OperatorClass::Random)
    return isGivenRandomState(*this) ? OperatorClass::Other
                                     : OperatorClass::Random;
  if (getAlias() && !getMutates())
    return OperatorClass::View;
  if (named == OperatorClass::Constant &&
      llvm::any_of(getInputs().getTypes(), llvm::IsaPred<ShapedType>))
    return OperatorClass::Pointwise;
  if (named)
    return *named;
  return CostOpInterface(*this).isExpensive() ? OperatorClass::ComputeIntensive
                                              : OperatorClass::Other;
}

void ComputeOp::getEffects(
    SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  if (std::optional<ArrayRef<int64_t>> mutates = getMutates())
    for (int64_t index : *mutates)
      effects.emplace_back(MemoryEffects::Write::get(),
                           &getInputsMutable()[index]);
  if (getRandom() && !isGivenRandomState(*this))
    effects.emplace_back(MemoryEffects::Write::get(),
                         RandomStateResource::get());
  if (getNumResults() == 0)
    effects.emplace_back(MemoryEffects::Write::get());
}
