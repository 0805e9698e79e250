//===- AccumulateGradients.cpp - Pass for micro-batches -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "../Bucketing/DeduplicateGathers.h"
#include "../Bucketing/SumBeforeReduceScatter.h"
#include "../PassSupport.h"
#include "../Schedule/BlockScheduler.h"
#include "../Schedule/SchedulingPass.h"
#include "../Trial.h"
#include "InlinedCalls.h"
#include "JoinedFunction.h"
#include "MicroBatches.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace mlir::commsched {
#define GEN_PASS_DEF_ACCUMULATEGRADIENTS
#include "CommSched/Transforms/Passes.h.inc"
} // namespace mlir::commsched

using namespace mlir;
using namespace mlir::commsched;

namespace {

/// One way to run the micro-batches.
struct Alternative {
  /// Keep gathered parameters between micro-batches, as far as memory allows.
  bool keepsGathers = false;
  /// Reduce the sum of all gradients, not each of them.
  bool sumsFirst = false;
  func::FuncOp function;
  int64_t stepNs = 0;
  int64_t peakBytes = 0;
  schedule::Rank rank = {0, 0, 0};

  std::string describe() const {
    return std::string(keepsGathers ? "keeping parameters"
                                    : "gathering again") +
           " and reducing " + (sumsFirst ? "once" : "each time");
  }
};

struct AccumulateGradients
    : SchedulingPass<
          mlir::commsched::impl::AccumulateGradientsBase<AccumulateGradients>> {
  using SchedulingPass::SchedulingPass;

  void runOnOperation() override;

protected:
  std::optional<std::string> readOwnOptions() override;

private:
  void decline(Location location, const Twine &reason);
  FailureOr<std::unique_ptr<BlockScheduler>> read(func::FuncOp function);
  LogicalResult price(Alternative &alternative, int64_t limitBytes);
  FailureOr<func::FuncOp> choose(func::FuncOp plain, ModuleOp trials);
  LogicalResult accumulate(const AccumulatedStep &step, SymbolTable &symbols);

  /// Of the option, or of the step itself; 0 for a loop that stays.
  int64_t numMicroBatches = 0;
};

} // namespace

std::optional<std::string> AccumulateGradients::readOwnOptions() {
  if (microBatches < 0 || microBatches == 1 || microBatches > mostMicroBatches)
    return makeOptionError(*this, microBatches,
                           "must be 0 or from 2 to " + Twine(mostMicroBatches) +
                               ", but is " + Twine(microBatches));
  if (name.empty())
    return makeOptionError(*this, name, "must not be empty");
  return std::nullopt;
}

/// Emits the remark `GradientsNotAccumulated`.
void AccumulateGradients::decline(Location location, const Twine &reason) {
  remark::missed(location, makeRemark("GradientsNotAccumulated", name))
      << ("the step keeps its one batch: " + reason).str();
}

/// Reads the only block of `function`.
FailureOr<std::unique_ptr<BlockScheduler>>
AccumulateGradients::read(func::FuncOp function) {
  return BlockScheduler::create(
      function, function.getBody().front(), scheduling,
      [&](Location location, StringRef reason) { decline(location, reason); });
}

/// Makes the function of an alternative from the plain one and schedules it, if
/// its sizes are known.
LogicalResult AccumulateGradients::price(Alternative &alternative,
                                         int64_t limitBytes) {
  func::FuncOp function = alternative.function;
  if (alternative.sumsFirst) {
    if (numMicroBatches == 0)
      sinkReductions(function);
    sumBeforeReduceScatter(function);
  }
  if (alternative.keepsGathers) {
    FailureOr<std::shared_ptr<CostAnalysis>> pricing =
        CostAnalysis::create(function);
    if (failed(pricing))
      return failure();
    Block &block = function.getBody().front();
    if (numMicroBatches == 0 &&
        failed(hoistGathers(function, *(*pricing)->getCosts(), limitBytes)))
      return failure();
    if (failed(deduplicateGathers(function, block, FsdpAnalysis(block),
                                  *(*pricing)->getCosts(), limitBytes)))
      return failure();
  }
  FailureOr<std::unique_ptr<BlockScheduler>> scheduler = read(function);
  if (failed(scheduler) || !*scheduler)
    return scheduler;
  FailureOr<BlockSchedule> schedule = (*scheduler)->scheduleWithinBudget();
  if (failed(schedule))
    return failure();
  alternative.stepNs = schedule->step.stepNs;
  alternative.peakBytes = schedule->step.peakBytes;
  alternative.rank = schedule->rank();
  return success();
}

/// Returns the best of the ways to run `plain`, which are functions of
/// `trials`; null if its sizes are not known.
FailureOr<func::FuncOp> AccumulateGradients::choose(func::FuncOp plain,
                                                    ModuleOp trials) {
  FailureOr<std::unique_ptr<BlockScheduler>> program = read(plain);
  if (failed(program))
    return failure();
  if (!*program)
    return func::FuncOp();
  keepBaselineBytes(plain, (*program)->getBlock(),
                    (*program)->getProgram().step.peakBytes);
  int64_t limitBytes = (*program)->getLimitBytes(scheduling.budget);
  SmallVector<Alternative> alternatives;
  for (bool sumsFirst : {false, true})
    for (bool keepsGathers : {false, true}) {
      // Keeping more does not make it fit.
      if (sumsFirst && keepsGathers && alternatives.back().rank.isOver)
        continue;
      Alternative &made = alternatives.emplace_back();
      made.sumsFirst = sumsFirst;
      made.keepsGathers = keepsGathers;
      made.function = plain.clone();
      trials.push_back(made.function);
      if (failed(price(made, limitBytes)))
        return failure();
    }
  auto best = llvm::min_element(alternatives,
                                [](const Alternative &a, const Alternative &b) {
                                  return a.rank < b.rank;
                                });
  std::string others;
  for (const Alternative &other : alternatives)
    others += (others.empty() ? "" : "; ") + other.describe() + " takes " +
              std::to_string(other.stepNs) + " ns and " +
              std::to_string(other.peakBytes) + " bytes";
  remark::passed(plain.getLoc(), makeRemark("GradientsAccumulated", name))
      << ((numMicroBatches > 0
               ? std::to_string(numMicroBatches) + " micro-batches run by "
               : std::string("the loop of micro-batches runs by ")) +
          best->describe() + ", for a budget of " + Twine(limitBytes) + ": " +
          others)
             .str()
      << remark::metric("MicroBatches", numMicroBatches)
      << remark::metric("KeepsGathers", best->keepsGathers)
      << remark::metric("SumsFirst", best->sumsFirst)
      << remark::metric("StepNs", best->stepNs)
      << remark::metric("PeakBytes", best->peakBytes)
      << remark::metric("BudgetBytes", limitBytes);
  return best->function;
}

LogicalResult AccumulateGradients::accumulate(const AccumulatedStep &step,
                                              SymbolTable &symbols) {
  OwningOpRef<ModuleOp> trials = createTrialModule(getOperation());
  MicroBatches batches(step, microBatches == 0 ? 1 : microBatches,
                       /*keepsLoops=*/numMicroBatches == 0);
  func::FuncOp plain = batches.create(name, symbols);
  trials->push_back(plain);
  FailureOr<func::FuncOp> best = choose(plain, *trials);
  if (failed(best) || !*best)
    return best;
  (*best)->remove();
  llvm::SetVector<func::FuncOp> parts;
  for (Operation *op : step.repeated)
    op->walk([&](func::CallOp call) {
      if (func::FuncOp callee = getPart(call, symbols))
        parts.insert(callee);
    });
  func::FuncOp caller = step.step;
  symbols.insert(*best, std::next(Block::iterator(caller)));
  batches.replace(*best);
  eraseUnused(parts.getArrayRef(), symbols);
  return success();
}

void AccumulateGradients::runOnOperation() {
  auto explain = [&](Location location, const Twine &reason) {
    decline(location, reason);
  };
  SymbolTable symbols(getOperation());
  std::optional<AccumulatedStep> step =
      divideStep(getOperation(), symbols, explain);
  std::optional<int64_t> count = microBatches;
  if (step && microBatches == 0 && !hasKeptLoop(*step, symbols))
    count = countMicroBatches(*step, symbols, explain);
  if (!step || !count)
    return markAllAnalysesPreserved();
  numMicroBatches = *count;
  if (failed(checkNewSymbol(getOperation(), name, {}, *this, name)) ||
      failed(accumulate(*step, symbols)))
    signalPassFailure();
}
