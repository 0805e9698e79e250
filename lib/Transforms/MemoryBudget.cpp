//===- MemoryBudget.cpp - Memory budgets of schedules ---------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MemoryBudget.h"
#include "CommSched/Analysis/Problem/RegionMemory.h"
#include "CommSched/Dialect/CommSchedAttributes.h"
#include "CommSched/Support/Unlimited.h"
#include "PassSupport.h"
#include "mlir/IR/Builders.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>

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

namespace {

struct ByteUnit {
  StringLiteral suffix;
  int64_t bytes;
};

} // namespace

/// A suffix comes before those that it ends with.
static constexpr ByteUnit byteUnits[] = {
    {"KiB", int64_t(1) << 10},
    {"MiB", int64_t(1) << 20},
    {"GiB", int64_t(1) << 30},
    {"TiB", int64_t(1) << 40},
    {"KB", 1000},
    {"MB", 1000 * 1000},
    {"GB", 1000 * 1000 * 1000},
    {"TB", int64_t(1000) * 1000 * 1000 * 1000},
    {"B", 1}};

/// parseByteCount(), where the error message lists `otherForms` as well.
static std::optional<std::string>
parseByteCount(StringRef text, StringRef otherForms, int64_t &bytes) {
  if (text.starts_with("-"))
    return ("must not be negative, but is '" + text + "'").str();
  StringRef number = text;
  int64_t unitBytes = 1;
  for (const ByteUnit &unit : byteUnits)
    if (number.consume_back(unit.suffix)) {
      unitBytes = unit.bytes;
      break;
    }
  if (number.empty() || !llvm::all_of(number, llvm::isDigit))
    return ("must be bytes such as 68719476736, 64GiB or 640MB" + otherForms +
            ", but is '" + text + "'")
        .str();
  int64_t count;
  if (number.getAsInteger(10, count) ||
      llvm::MulOverflow(count, unitBytes, bytes))
    return ("must be at most " + Twine(std::numeric_limits<int64_t>::max()) +
            " bytes, but is '" + text + "'")
        .str();
  return std::nullopt;
}

std::optional<std::string> mlir::commsched::parseByteCount(StringRef text,
                                                           int64_t &bytes) {
  return ::parseByteCount(text, /*otherForms=*/"", bytes);
}

std::optional<std::string>
mlir::commsched::parseMemoryBudget(StringRef text, MemoryBudget &budget) {
  StringRef number = text;
  double percent;
  if (!text.starts_with("-") && number.consume_back("%") &&
      !number.getAsDouble(percent) && std::isfinite(percent)) {
    budget.bytes.reset();
    budget.fraction = percent / 100;
    return std::nullopt;
  }
  int64_t bytes = 0;
  if (std::optional<std::string> problem = ::parseByteCount(
          text, ", or a percentage over the peak of the input such as 5%",
          bytes))
    return problem;
  budget.bytes = bytes;
  return std::nullopt;
}

bool mlir::commsched::isBody(func::FuncOp function, Block &block) {
  return llvm::hasSingleElement(function.getBody()) &&
         &function.getBody().front() == &block;
}

int64_t mlir::commsched::addFraction(int64_t bytes, int64_t counted,
                                     double fraction) {
  double extra = std::floor(static_cast<double>(counted) * fraction);
  if (!(extra < static_cast<double>(unlimited - bytes)))
    return unlimited;
  return bytes + static_cast<int64_t>(extra);
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
  if (budget.bytes)
    return *budget.bytes;
  int64_t baseline = getBaselinePeakBytes(function).value_or(peakBytes);
  int64_t counted = baseline;
  if (budget.model == MemoryModel::Reference)
    counted -= getUncountedBytes(problem);
  return addFraction(baseline, counted, budget.fraction);
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
