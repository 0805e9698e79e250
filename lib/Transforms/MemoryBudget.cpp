//===- MemoryBudget.cpp - How much memory a schedule may take -------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MemoryBudget.h"
#include "CommSched/Dialect/CommSchedAttributes.h"
#include "CommSched/Support/Unlimited.h"
#include "Remarks.h"
#include "mlir/IR/Builders.h"
#include <cmath>

using namespace mlir;
using namespace mlir::commsched;
using schedule::Buffer;
using schedule::noNode;
using schedule::Problem;

/// Live bytes that the reference does not count. They are so all the time.
static int64_t getUncountedBytes(const Problem &problem) {
  int64_t bytes = 0;
  for (schedule::BufferId id = 0; id < problem.numBuffers(); ++id) {
    const Buffer &buffer = problem.buffer(id);
    if (buffer.producer == noNode &&
        (!buffer.freed || problem.users(id).empty()))
      bytes += buffer.bytes;
  }
  return bytes;
}

std::optional<std::string>
mlir::commsched::parseMemoryBudget(StringRef text, MemoryBudget &budget) {
  if (text.starts_with("-"))
    return ("must not be negative, but is '" + text + "'").str();
  StringRef number = text;
  double percent;
  if (number.consume_back("%") && !number.getAsDouble(percent) &&
      std::isfinite(percent)) {
    budget.bytes.reset();
    budget.fraction = percent / 100;
    return std::nullopt;
  }
  int64_t bytes;
  if (text.getAsInteger(10, bytes))
    return ("must be bytes such as 12884901888, or a percentage such as 5%, "
            "but is '" +
            text + "'")
        .str();
  budget.bytes = bytes;
  return std::nullopt;
}

bool mlir::commsched::isBody(func::FuncOp function, Block &block) {
  return llvm::hasSingleElement(function.getBody()) &&
         &function.getBody().front() == &block;
}

int64_t mlir::commsched::getLimitBytes(func::FuncOp function, Block &block,
                                       const Problem &problem,
                                       int64_t peakBytes,
                                       const MemoryBudget &budget) {
  if (!isBody(function, block))
    return peakBytes;
  if (budget.bytes)
    return *budget.bytes;
  int64_t baseline = getBaselinePeakBytes(function).value_or(peakBytes);
  int64_t counted = baseline;
  if (budget.model == MemoryModel::Reference)
    counted -= getUncountedBytes(problem);
  double extra = std::floor(static_cast<double>(counted) * budget.fraction);
  if (!(extra < static_cast<double>(unlimited - baseline)))
    return unlimited;
  return baseline + static_cast<int64_t>(extra);
}

void mlir::commsched::keepBaselineBytes(func::FuncOp function, Block &block,
                                        int64_t peakBytes) {
  if (isBody(function, block) && !getBaselinePeakBytes(function))
    function->setDiscardableAttr(
        baselinePeakBytesAttrName,
        Builder(function.getContext()).getI64IntegerAttr(peakBytes));
}

/// Of what is there before the first operation.
static int64_t getArgumentBytes(const Problem &problem) {
  int64_t bytes = 0;
  for (schedule::BufferId id = 0; id < problem.numBuffers(); ++id)
    if (problem.buffer(id).producer == noNode)
      bytes += problem.buffer(id).bytes;
  return bytes;
}

std::string mlir::commsched::explainExcess(const Problem &problem,
                                           int64_t leastBytes,
                                           int64_t limitBytes) {
  return ("the schedule that needs least takes " + Twine(leastBytes) +
          " bytes, " + Twine(leastBytes - limitBytes) + " over the budget of " +
          Twine(limitBytes) + "; arguments alone take " +
          Twine(getArgumentBytes(problem)))
      .str();
}

void mlir::commsched::remarkBudgetExceeded(func::FuncOp function,
                                           const Problem &problem,
                                           int64_t leastBytes,
                                           int64_t limitBytes) {
  remark::missed(function.getLoc(),
                 makeRemark("BudgetExceeded", function.getSymName()))
      << explainExcess(problem, leastBytes, limitBytes)
      << remark::metric("PeakBytes", leastBytes)
      << remark::metric("BudgetBytes", limitBytes)
      << remark::metric("ArgumentBytes", getArgumentBytes(problem));
}
