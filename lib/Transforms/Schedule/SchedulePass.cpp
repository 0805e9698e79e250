//===- SchedulePass.cpp - Pass that schedules blocks ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "../AssumedFusion.h"
#include "../PassSupport.h"
#include "../SteadyState/LoopPipeliner.h"
#include "../Trial.h"
#include "BlockScheduler.h"
#include "CommSched/Analysis/Costs/RegionRuns.h"
#include "CommSched/Analysis/Joint/JointFunction.h"
#include "CommSched/Analysis/Problem/StorageAnalysis.h"
#include "CommSched/Dialect/CommSchedAttributes.h"
#include "CommSched/Report/StepReport.h"
#include "CommSched/Schedule/Model/Objective.h"
#include "CommSched/Support/Unlimited.h"
#include "SchedulingPass.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/OperationSupport.h"
#include "mlir/IR/Threading.h"

namespace mlir::commsched {
#define GEN_PASS_DEF_SCHEDULE
#include "CommSched/Transforms/Passes.h.inc"
} // namespace mlir::commsched

using namespace mlir;
using namespace mlir::commsched;

static_assert(schedule::StepSchedulerOptions::defaultSlackPercent == 40,
              "Schedule.td names the slack without a profile");

/// Overlaps the iterations of the loops of `function`, and renews what is
/// assumed of fusion.
static FailureOr<LoopChanges> overlapLoops(func::FuncOp function,
                                           const SchedulingOptions &options,
                                           OperationCosts &costs) {
  LoopPipeliningOptions pipelining;
  pipelining.budget = options.budget;
  pipelining.hoistsGathers = options.hoistsGathers;
  pipelining.isTrial = options.isTrial;
  pipelining.cache = options.cache.get();
  FailureOr<LoopChanges> changes =
      options.triesLoops ? pipelineLoopsWithin(function, pipelining, costs)
                         : pipelineLoops(function, pipelining, costs);
  if (succeeded(changes))
    changes->any |= renewAssumedFusion(function, costs);
  return changes;
}

namespace {

/// What is decided on a loop, and then on the blocks one after the other, is
/// best for each of them, and may not be for the function: with another depth,
/// other operations are neighbours that fuse, and the prices are others. So
/// copies of a function with loops are scheduled for several budgets, and the
/// best of these is taken.
class BudgetTrials {
public:
  BudgetTrials(func::FuncOp function, const SchedulingOptions &options,
               std::shared_ptr<CostAnalysis> pricing)
      : function(function), given(options), options(options),
        pricing(std::move(pricing)), trials(createTrialModule(function)),
        peakBytes(simulateBlockMemory(function.front()).peakBytes) {
    this->options.isTrial = true;
    this->options.triesLoops = false;
    given.cache = this->options.cache = std::make_shared<schedule::StepCache>();
  }

  FailureOr<SchedulingOptions> choose();

private:
  /// A budget, and what becomes of the function within it.
  struct Attempt {
    MemoryBudget budget;
    /// With its loops overlapped, or as they are, and its blocks not scheduled.
    func::FuncOp overlapped = nullptr;
    /// Whether a larger budget may give other schedules of its blocks.
    bool isLimited = false;
    /// Whether the body, before prices are renewed, is within the budget.
    bool fits = true;
    /// None if the function cannot be simulated.
    std::optional<schedule::Rank> rank = std::nullopt;
    /// Whether all of the above is known.
    bool isScheduled = false;
  };

  int64_t getLimitBytes(const MemoryBudget &budget) {
    return BlockLimit(function, function.front(), peakBytes).get(budget);
  }
  SmallVector<MemoryBudget> listBudgets();
  FailureOr<Attempt> begin(const MemoryBudget &budget);
  LogicalResult schedule(Attempt &attempt, func::FuncOp copy);
  LogicalResult measure(Attempt &attempt, func::FuncOp scheduled,
                        OperationCosts &costs);
  LogicalResult scheduleAtOnce(MutableArrayRef<Attempt> begun);
  LogicalResult tryAll(ArrayRef<MemoryBudget> budgets);
  static bool isWithin(const Attempt &attempt) {
    return attempt.rank && attempt.fits && !attempt.rank->isOver;
  }
  FailureOr<bool> isBetterApart(size_t best);
  void remarkLess(const Attempt &best, const Attempt &given);

  func::FuncOp function;
  /// Those that are chosen from, with the cache of the trials.
  SchedulingOptions given;
  /// Those of the trials at hand.
  SchedulingOptions options;
  std::shared_ptr<CostAnalysis> pricing;
  OwningOpRef<ModuleOp> trials;
  int64_t peakBytes;
  /// In ascending order of the budgets; then, if gathers have left loops, again
  /// without that.
  std::vector<Attempt> attempts;
  bool areHoisted = false;
};

} // namespace

/// The fixed budgets below that of the options, and last that.
SmallVector<MemoryBudget> BudgetTrials::listBudgets() {
  SmallVector<MemoryBudget> budgets;
  for (int32_t percent : budgetStepPercent) {
    MemoryBudget step;
    step.fraction = percent / 100.0;
    if (getLimitBytes(step) < getLimitBytes(options.budget))
      budgets.push_back(step);
  }
  budgets.push_back(options.budget);
  return budgets;
}

/// Overlaps the loops of a copy within `budget`, which is larger than those
/// before, and finds out whether one of these gives the same schedules.
FailureOr<BudgetTrials::Attempt>
BudgetTrials::begin(const MemoryBudget &budget) {
  Attempt made = {budget, function.clone()};
  trials->push_back(made.overlapped);
  options.budget = budget;
  if (options.overlapsLoops) {
    FailureOr<LoopChanges> changes =
        overlapLoops(made.overlapped, options, *pricing->getCosts());
    if (failed(changes))
      return failure();
    areHoisted |= changes->areHoisted;
  }
  for (const Attempt &known : attempts)
    if (known.isScheduled && !known.isLimited &&
        OperationEquivalence::isEquivalentTo(
            made.overlapped, known.overlapped,
            OperationEquivalence::IgnoreLocations)) {
      made.rank = known.rank;
      made.fits = known.fits;
      made.isScheduled = true;
      break;
    }
  return made;
}

/// Schedules the blocks of a copy, as commsched-schedule does, and measures it.
/// Others are scheduled meanwhile.
LogicalResult BudgetTrials::schedule(Attempt &attempt, func::FuncOp copy) {
  FailureOr<std::shared_ptr<CostAnalysis>> costs = CostAnalysis::create(copy);
  if (failed(costs))
    return failure();
  SchedulingOptions within = options;
  within.budget = attempt.budget;
  for (Block *block : getBlocksWithCollectives(copy)) {
    FailureOr<std::unique_ptr<BlockScheduler>> scheduler =
        BlockScheduler::create(
            copy, *block, within, [](Location, StringRef) {}, *costs);
    if (failed(scheduler))
      return failure();
    if (!*scheduler)
      continue;
    FailureOr<BlockSchedule> schedule = (*scheduler)->scheduleWithinBudget();
    if (failed(schedule))
      return failure();
    attempt.isLimited |= schedule->isLimited;
    attempt.fits &= !isBody(copy, *block) || schedule->fits();
    if (failed(applySchedule(copy, **scheduler, *schedule, within)))
      return failure();
  }
  return measure(attempt, copy, *(*costs)->getCosts());
}

LogicalResult BudgetTrials::measure(Attempt &attempt, func::FuncOp scheduled,
                                    OperationCosts &costs) {
  if (options.overlapsLoops)
    renewAssumedFusion(scheduled, costs);
  std::string reason;
  FailureOr<std::optional<StepReport>> report =
      simulateFunction(scheduled, costs, reason,
                       {options.budgetAllocator, /*withBounds=*/false});
  if (failed(report))
    return failure();
  if (*report)
    attempt.rank =
        schedule::Rank((*report)->stepTimeNs,
                       (*report)->reserved ? (*report)->reserved->reservedBytes
                                           : (*report)->peakMemoryBytes,
                       getLimitBytes(attempt.budget));
  attempt.isScheduled = true;
  return success();
}

/// Schedules those of which nothing is known yet.
LogicalResult BudgetTrials::scheduleAtOnce(MutableArrayRef<Attempt> begun) {
  SmallVector<std::pair<Attempt *, func::FuncOp>> open;
  for (Attempt &attempt : begun)
    if (!attempt.isScheduled) {
      open.push_back({&attempt, attempt.overlapped.clone()});
      trials->push_back(open.back().second);
    }
  LogicalResult isScheduled =
      failableParallelForEach(function.getContext(), open, [&](auto &each) {
        return schedule(*each.first, each.second);
      });
  for (auto [attempt, copy] : open)
    copy.erase();
  return isScheduled;
}

/// Says that `best` is for a smaller budget than `given`, that of the options.
void BudgetTrials::remarkLess(const Attempt &best, const Attempt &given) {
  if (!areRemarksEnabled(function))
    return;
  const schedule::Rank &own = *given.rank;
  int64_t limitBytes = getLimitBytes(best.budget);
  remark::analysis(function.getLoc(),
                   makeRemark("LoopsWithinLess", function.getSymName()))
      << ("its loops and blocks are scheduled for a budget of " +
          Twine(limitBytes) + " bytes, for which the function takes " +
          Twine(best.rank->ns) + " ns and " + Twine(best.rank->bytes) +
          " bytes; for " + Twine(getLimitBytes(given.budget)) + " it takes " +
          Twine(own.ns) + " ns and " + Twine(own.bytes) + " bytes")
             .str()
      << remark::metric("BudgetBytes", limitBytes)
      << remark::metric("StepNs", best.rank->ns)
      << remark::metric("StepNsOfBudget", own.ns);
}

/// Makes attempts for the budgets, in their order.
LogicalResult BudgetTrials::tryAll(ArrayRef<MemoryBudget> budgets) {
  constexpr size_t numAtOnce = 2;
  for (ArrayRef<MemoryBudget> left = budgets; !left.empty();) {
    size_t numKnown = attempts.size();
    ArrayRef<MemoryBudget> now = left.take_front(numAtOnce);
    for (const MemoryBudget &budget : now) {
      FailureOr<Attempt> made = begin(budget);
      if (failed(made))
        return failure();
      attempts.push_back(*made);
    }
    if (failed(scheduleAtOnce(MutableArrayRef(attempts).drop_front(numKnown))))
      return failure();
    left = left.drop_front(now.size());
  }
  return success();
}

/// Whether the function is better than the attempt `best` with its loops as
/// they are, if that overlaps any. Collectives that are in flight from one
/// iteration to the next are not merged, and their loop may carry more than its
/// schedule says, such as a counter of its own.
FailureOr<bool> BudgetTrials::isBetterApart(size_t best) {
  if (!given.overlapsLoops || OperationEquivalence::isEquivalentTo(
                                  attempts[best].overlapped, function,
                                  OperationEquivalence::IgnoreLocations))
    return false;
  options.overlapsLoops = false;
  if (failed(tryAll(given.budget)))
    return failure();
  const Attempt &apart = attempts.back();
  return isWithin(apart) &&
         (!isWithin(attempts[best]) || *apart.rank < *attempts[best].rank);
}

FailureOr<SchedulingOptions> BudgetTrials::choose() {
  SmallVector<MemoryBudget> budgets = listBudgets();
  if (budgets.size() == 1 && !given.overlapsLoops)
    return given;
  if (failed(tryAll(budgets)))
    return failure();
  // Where none is within its own budget, that of the options.
  const size_t own = budgets.size() - 1;
  if (areHoisted) {
    options.hoistsGathers = false;
    if (failed(tryAll(budgets)))
      return failure();
  }
  size_t best = own;
  for (size_t other = attempts.size(); other-- > 0;)
    if (isWithin(attempts[other]) && attempts[best].rank &&
        *attempts[other].rank < *attempts[best].rank)
      best = other;
  FailureOr<bool> isApart = isBetterApart(best);
  if (failed(isApart))
    return failure();
  SchedulingOptions chosen = given;
  if (*isApart) {
    chosen.overlapsLoops = false;
    return chosen;
  }
  chosen.hoistsGathers = best < budgets.size();
  chosen.triesLoops = !isWithin(attempts[best]);
  if (best % budgets.size() != own)
    remarkLess(attempts[best], attempts[own]);
  chosen.budget = attempts[best].budget;
  return chosen;
}

/// Whether the time of `function` is that of loops whose iterations are known.
static bool hasKnownLoops(func::FuncOp function) {
  SmallVector<Operation *> loops = getLoopsWithCollectives(function);
  return !loops.empty() && llvm::all_of(loops, [](Operation *loop) {
    return getTripCount(loop).source == TripCount::Source::Bounds;
  });
}

/// `options` with the budget for which `function` becomes shortest: the one
/// that they have, or a fixed percentage over the baseline below it, within
/// which it then is. If it is shorter so, no gathers leave loops; if no overlap
/// of loops is within the budget and the function is with its loops as they
/// are: without that. As they are where there is no choice: for a function
/// without loops that hold collectives, with one whose number of iterations is
/// not known, or with more than 65,536 operations.
static FailureOr<SchedulingOptions>
chooseBudget(func::FuncOp function, const SchedulingOptions &options,
             std::shared_ptr<CostAnalysis> pricing) {
  constexpr int64_t maxOperations = 1 << 16;
  int64_t numOperations = 0;
  function.walk([&](Operation *) { ++numOperations; });
  if (!function.getBody().hasOneBlock() || numOperations > maxOperations ||
      !hasKnownLoops(function))
    return options;
  return BudgetTrials(function, options, std::move(pricing)).choose();
}

namespace {

struct Schedule
    : RewritingPass<
          SchedulingPass<mlir::commsched::impl::ScheduleBase<Schedule>>> {
  using RewritingPass::RewritingPass;

protected:
  FailureOr<bool> rewrite() override;
  std::optional<std::string> readOwnOptions() override;

private:
  /// Decides on a block, and does not change it. None if a
  /// collective is in flight across its boundary.
  FailureOr<std::optional<DecidedBlock>> decide(Block &block);
  FailureOr<bool> reportBudget();
  FailureOr<bool> decideOnFunction();

  /// What the function, whose body has been decided on, is over its budget by,
  /// and why.
  struct Excess {
    int64_t bytes = 0;
    std::string text;
  };
  /// Null until the body has been decided on.
  std::optional<Excess> excessOfBody;
  /// The options, with the budget that is best for the function.
  SchedulingOptions within;
  std::shared_ptr<CostAnalysis> pricing;
};

} // namespace

std::optional<std::string> Schedule::readOwnOptions() {
  scheduling.refusesAssumptions = strict;
  scheduling.overlapsLoops = pipelineLoops;
  return readReservedOptions();
}

FailureOr<std::optional<DecidedBlock>> Schedule::decide(Block &block) {
  using Outcome = std::optional<DecidedBlock>;
  func::FuncOp function = getOperation();
  FailureOr<std::unique_ptr<BlockScheduler>> scheduler = BlockScheduler::create(
      function, block, within, /*decline=*/nullptr, pricing);
  if (failed(scheduler))
    return failure();
  if (!*scheduler)
    return Outcome();
  FailureOr<BlockSchedule> schedule = (*scheduler)->scheduleWithinBudget();
  if (failed(schedule))
    return failure();
  std::string excess;
  if (!schedule->fits())
    excess = explainOverBudget(**scheduler, *schedule);
  if (strict && !schedule->fits())
    return emitError(function.getLoc(), "cannot be scheduled: ") << excess;
  if (isBody(function, block))
    excessOfBody = {schedule->fits()
                        ? 0
                        : schedule->getBytes() - schedule->getBudgetBytes(),
                    std::move(excess)};
  return Outcome(DecidedBlock{std::move(*scheduler), std::move(*schedule)});
}

/// Warns if the function is over its budget, or fails if that is an error, and
/// keeps by how much for reports. Returns whether that is new. One warning for
/// all blocks: what loops and branches take is in the peak of the body.
FailureOr<bool> Schedule::reportBudget() {
  func::FuncOp function = getOperation();
  if (!function.getBody().hasOneBlock())
    return false;
  if (!excessOfBody) {
    Block &body = function.front();
    int64_t peakBytes = simulateBlockMemory(body).peakBytes;
    int64_t limitBytes =
        BlockLimit(function, body, peakBytes).get(scheduling.budget);
    excessOfBody.emplace();
    if (peakBytes > limitBytes)
      excessOfBody = {peakBytes - limitBytes,
                      explainExcess(peakBytes, limitBytes)};
  }
  std::optional<int64_t> known = getOverBudgetBytes(function);
  if (excessOfBody->bytes == 0) {
    if (known)
      function->removeDiscardableAttr(overBudgetBytesAttrName);
    return known.has_value();
  }
  if (failed(reportOverBudget(function, memoryBudget, excessOfBody->bytes,
                              excessOfBody->text, strict)))
    return failure();
  return known != excessOfBody->bytes;
}

/// Chooses the budget of the blocks, and overlaps loops within it. Returns
/// whether anything has changed.
FailureOr<bool> Schedule::decideOnFunction() {
  func::FuncOp function = getOperation();
  within = scheduling;
  if (!pipelineLoops && getBlocksWithCollectives(function).empty())
    return false;
  CostAnalysis &costs = getAnalysis<CostAnalysis>();
  if (!costs.getCosts())
    return failure();
  // Of the pass manager, which keeps it.
  pricing = std::shared_ptr<CostAnalysis>(std::shared_ptr<void>(), &costs);
  FailureOr<SchedulingOptions> chosen =
      chooseBudget(function, scheduling, pricing);
  if (failed(chosen))
    return failure();
  within = *chosen;
  if (!within.overlapsLoops)
    return false;
  FailureOr<LoopChanges> changes =
      overlapLoops(function, within, *costs.getCosts());
  return failed(changes) ? FailureOr<bool>(failure()) : changes->any;
}

FailureOr<bool> Schedule::rewrite() {
  func::FuncOp function = getOperation();
  excessOfBody.reset();
  if (isJointFunction(function))
    remark::missed(function.getLoc(),
                   makeRemark("JointWhole", function.getSymName()))
        << (saysForwardOutputs(function)
                ? "it is scheduled as one function: a memory budget in bytes "
                  "or 'activation-memory-budget' of commsched-pipeline splits "
                  "it"
                : "it is scheduled as one function: without "
                  "'commsched.num_forward_outputs' nothing splits it");
  FailureOr<bool> isOverlapped = decideOnFunction();
  if (failed(isOverlapped))
    return failure();
  // A block comes behind those in its operations, whose times it counts.
  SmallVector<Block *> held = getBlocksWithCollectives(function);
  FailureOr<bool> isChanged =
      rewriteBlocks(held, [&](Block &block) -> FailureOr<bool> {
        FailureOr<std::optional<DecidedBlock>> decided = decide(block);
        if (failed(decided))
          return failure();
        if (areRemarksEnabled(function))
          remarkBarriers(function, block);
        if (!*decided)
          return false;
        return applyDecision(function, **decided, within);
      });
  if (failed(isChanged))
    return failure();
  if (held.empty())
    return isOverlapped;
  FailureOr<bool> isBudgetNew = reportBudget();
  if (failed(isBudgetNew))
    return failure();
  return *isOverlapped || *isChanged || *isBudgetNew;
}
