//===- AlignRuntimes.cpp - Pass that makes ranks agree on times -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "../PassSupport.h"
#include "CommSched/Analysis/Costs/Callees.h"
#include "CommSched/Analysis/Costs/CostAnalysis.h"
#include "CommSched/Analysis/OptionErrors.h"
#include "CommSched/Dialect/CommSchedAttributes.h"
#include "CommSched/Dialect/CommSchedDialect.h"
#include "CommSched/Report/RankTimes.h"
#include "CommSched/Transforms/Passes.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringSet.h"

namespace mlir::commsched {
#define GEN_PASS_DEF_ALIGNRUNTIMES
#include "CommSched/Transforms/Passes.h.inc"
} // namespace mlir::commsched

using namespace mlir;
using namespace mlir::commsched;

namespace {

/// The median of what ranks say of one operation, and how far they are apart.
struct Agreement {
  int64_t medianNs;
  int64_t minNs;
  int64_t maxNs;
};

struct AlignRuntimes : mlir::commsched::impl::AlignRuntimesBase<AlignRuntimes> {
  using AlignRuntimesBase::AlignRuntimesBase;

  LogicalResult initialize(MLIRContext *context) override {
    return reportOptionError(context, findBadOption());
  }
  void runOnOperation() override;

private:
  std::optional<std::string> findBadOption();
  LogicalResult writeTimes(ArrayRef<TimedFunction> functions);
  LogicalResult alignTimes(ArrayRef<TimedFunction> functions);
};

} // namespace

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

static FunctionTimes getTimes(const TimedFunction &timed,
                              OperationCosts &costs) {
  return makeFunctionTimes(timed, [&](Operation *op) {
    OperationPrice price = costs.price(op);
    std::optional<int64_t> time;
    if (price.isKnown())
      time = price.timeNs;
    else if (areRemarksEnabled(op))
      remark::missed(op->getLoc(), makeRemark("UnknownCost", timed.name))
          << (describe(op) + " has no time: " + explainUnknownCost(costs, op));
    return time;
  });
}

LogicalResult AlignRuntimes::writeTimes(ArrayRef<TimedFunction> functions) {
  OperationCosts *costs = getAnalysis<CostAnalysis>().getCosts();
  if (!costs)
    return failure();
  Callees callees(getOperation(), *costs);
  RankTimes times;
  for (const TimedFunction &timed : functions)
    times[toFileText(timed.name)] = getTimes(timed, *costs);
  return writeOutputFile(getOperation().getLoc(), output, "the times",
                         [&](raw_ostream &os) { printRankTimes(times, os); });
}

//===----------------------------------------------------------------------===//
// Aligning
//===----------------------------------------------------------------------===//

/// Reports where `times`, read from `path`, are those of another program.
static LogicalResult checkSameProgram(const TimedFunction &timed,
                                      const FunctionTimes &times,
                                      StringRef path) {
  size_t here = timed.operations.size(), there = times.operations.size();
  // The first that differs says more than the numbers.
  for (size_t index = 0; index < std::min(here, there); ++index) {
    Operation *op = timed.operations[index];
    std::string text = toFileText(describe(op));
    if (text != times.operations[index])
      return emitError(op->getLoc(), "cannot align with '")
             << path << "': operation " << index << " of @" << timed.name
             << " is " << times.operations[index] << " there, but " << text
             << " here";
  }
  if (here != there)
    return emitError(timed.loc, "cannot align with '")
           << path << "': @" << timed.name << " has " << there
           << " operations there, but " << here << " here";
  return success();
}

/// Appends the times of all operations of `functions` that the file says.
static LogicalResult appendRank(Location loc, StringRef path,
                                ArrayRef<TimedFunction> functions,
                                std::vector<std::optional<int64_t>> &times) {
  llvm::Expected<RankTimes> file = readRankTimes(path);
  if (!file)
    return emitError(loc, "cannot align: ") << llvm::toString(file.takeError());
  for (const TimedFunction &timed : functions) {
    auto entry = file->find(toFileText(timed.name));
    if (entry == file->end())
      return emitError(timed.loc, "cannot align with '")
             << path << "': it has no times of @" << timed.name;
    if (failed(checkSameProgram(timed, entry->second, path)))
      return failure();
    llvm::append_range(times, entry->second.timesNs);
    file->erase(entry);
  }
  if (!file->empty())
    return emitError(loc, "cannot align with '")
           << path << "': it has times of @" << file->begin()->first
           << ", which is not defined here";
  return success();
}

/// The lower median, so that it is a time that some rank has; none of no times.
/// Sorts `times`.
static std::optional<Agreement> agree(MutableArrayRef<int64_t> times) {
  if (times.empty())
    return std::nullopt;
  llvm::sort(times);
  return Agreement{times[(times.size() - 1) / 2], times.front(), times.back()};
}

static void remarkAgreement(Operation *op, StringRef function,
                            std::optional<Agreement> agreement) {
  if (!areRemarksEnabled(op))
    return;
  if (!agreement)
    remark::missed(op->getLoc(), makeRemark("UnknownCost", function))
        << (describe(op) + " has no time on any rank");
  else if (agreement->minNs != agreement->maxNs)
    remark::analysis(op->getLoc(), makeRemark("AlignedRuntime", function))
        << (describe(op) + ": ranks differ")
        << remark::metric("TimeNs", agreement->medianNs)
        << remark::metric("MinNs", agreement->minNs)
        << remark::metric("MaxNs", agreement->maxNs);
}

LogicalResult AlignRuntimes::alignTimes(ArrayRef<TimedFunction> functions) {
  // One file after the other, each with the times of all operations: all are
  // read before anything changes.
  std::vector<std::optional<int64_t>> times;
  for (StringRef path : ranks)
    if (failed(appendRank(getOperation().getLoc(), path, functions, times)))
      return failure();

  size_t numOperations = times.size() / ranks.size(), index = 0;
  StringAttr attrName = StringAttr::get(&getContext(), runtimeNsAttrName);
  Type timeType = IntegerType::get(&getContext(), 64);
  SmallVector<int64_t> known;
  bool changed = false;
  for (const TimedFunction &timed : functions) {
    for (Operation *op : timed.operations) {
      known.clear();
      for (size_t at = index++; at < times.size(); at += numOperations)
        if (times[at])
          known.push_back(*times[at]);
      std::optional<Agreement> agreement = agree(known);
      remarkAgreement(op, timed.name, agreement);
      Attribute agreed =
          agreement ? IntegerAttr::get(timeType, agreement->medianNs) : nullptr;
      if (agreed == op->getDiscardableAttr(attrName))
        continue;
      changed = true;
      if (agreed)
        op->setDiscardableAttr(attrName, agreed);
      else
        op->removeDiscardableAttr(attrName);
    }
  }
  if (!changed)
    markAllAnalysesPreserved();
  return success();
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

std::optional<std::string> AlignRuntimes::findBadOption() {
  if (output.empty() && ranks.empty())
    return makeOptionError(*this, ranks, "or 'output' must be given");
  if (!output.empty() && !ranks.empty())
    return makeOptionError(*this, ranks, "cannot be given beside 'output'");
  llvm::StringSet<> seen;
  for (StringRef path : ranks)
    if (!seen.insert(path).second)
      return makeOptionError(*this, ranks, "has the file '" + path + "' twice");
  return std::nullopt;
}

void AlignRuntimes::runOnOperation() {
  SmallVector<TimedFunction> functions = getTimedFunctions(getOperation());
  if (ranks.empty()) {
    markAllAnalysesPreserved();
    if (failed(writeTimes(functions)))
      signalPassFailure();
  } else if (failed(alignTimes(functions))) {
    signalPassFailure();
  }
}
