//===- MemoryBudget.cpp - Memory budgets of schedules ---------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MemoryBudget.h"
#include "CommSched/Analysis/Problem/StorageAnalysis.h"
#include "CommSched/Dialect/BudgetAttribute.h"
#include "CommSched/Dialect/CommSchedAttributes.h"
#include "CommSched/Support/Unlimited.h"
#include "PassSupport.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace mlir::commsched;
using schedule::Buffer;
using schedule::noNode;
using schedule::Problem;

/// Returns the live bytes that the reference does not count. They are live all
/// the time.
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

bool mlir::commsched::isBody(func::FuncOp function, Block &block) {
  return llvm::hasSingleElement(function.getBody()) &&
         &function.getBody().front() == &block;
}

/// getLimitBytes() for a block that is not the only one of the function's body.
static int64_t getLimitInside(func::FuncOp function, Block &block,
                              int64_t peakBytes, const MemoryBudget &budget) {
  Operation *holder = block.getParentOp();
  Block *outer = holder->getBlock();
  if (holder == function || !outer)
    return peakBytes;
  schedule::MemoryTimeline around = simulateBlockMemory(*outer);
  int64_t outerLimit =
      getLimitBytes(function, *outer, Problem(), around.peakBytes, budget);
  if (outerLimit == unlimited)
    return unlimited;
  auto place = std::distance(outer->begin(), holder->getIterator());
  int64_t spareBytes =
      outerLimit - around.allocatedBytes[static_cast<size_t>(place)];
  return computeCountedBytes(block) + computeScratchBytes(holder) + spareBytes;
}

int64_t mlir::commsched::getLimitBytes(func::FuncOp function, Block &block,
                                       const Problem &problem,
                                       int64_t peakBytes,
                                       const MemoryBudget &budget) {
  if (!isBody(function, block))
    return getLimitInside(function, block, peakBytes, budget);
  int64_t baseline = getBaselinePeakBytes(function).value_or(peakBytes);
  int64_t counted = baseline;
  if (budget.model == MemoryModel::Reference)
    counted -= getUncountedBytes(problem);
  int64_t limitBytes = budget.getLimitBytes(baseline, counted);
  if (!budget.bytes || limitBytes == unlimited)
    return limitBytes;
  return std::max<int64_t>(limitBytes - getBesideBytes(function).value_or(0),
                           0);
}

void mlir::commsched::keepBaselineBytes(func::FuncOp function, Block &block,
                                        int64_t peakBytes) {
  if (getBaselinePeakBytes(function) ||
      !llvm::hasSingleElement(function.getBody()))
    return;
  if (!isBody(function, block))
    peakBytes = simulateBlockMemory(function.getBody().front()).peakBytes;
  function->setDiscardableAttr(
      baselinePeakBytesAttrName,
      Builder(function.getContext()).getI64IntegerAttr(peakBytes));
}

/// Returns the bytes that are live before the first operation.
static int64_t getArgumentBytes(const Problem &problem) {
  int64_t bytes = 0;
  for (schedule::BufferId id = 0; id < problem.numBuffers(); ++id)
    if (problem.buffer(id).producer == noNode)
      bytes += problem.buffer(id).bytes;
  return bytes;
}

std::string mlir::commsched::explainExcess(int64_t leastBytes,
                                           int64_t limitBytes) {
  return ("the schedule that needs least takes " + Twine(leastBytes) +
          " bytes, " + Twine(leastBytes - limitBytes) + " over the budget of " +
          Twine(limitBytes))
      .str();
}

std::string mlir::commsched::explainExcess(const Problem &problem,
                                           int64_t leastBytes,
                                           int64_t limitBytes) {
  return explainExcess(leastBytes, limitBytes) + "; arguments alone take " +
         std::to_string(getArgumentBytes(problem));
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
