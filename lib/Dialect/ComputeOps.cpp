//===- ComputeOps.cpp - Opaque operators ----------------------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Dialect/CommSchedDialect.h"
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

void ComputeOp::getEffects(
    SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  if (std::optional<ArrayRef<int64_t>> mutates = getMutates())
    for (int64_t index : *mutates)
      effects.emplace_back(MemoryEffects::Write::get(),
                           &getInputsMutable()[index]);
  if (getRandom())
    effects.emplace_back(MemoryEffects::Write::get(),
                         RandomStateResource::get());
  if (getNumResults() == 0)
    effects.emplace_back(MemoryEffects::Write::get());
}
