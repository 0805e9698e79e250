//===- BudgetTrials.cpp - Budgets for functions with loops ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "BudgetTrials.h"

#include "../AssumedFusion.h"
#include "../PassSupport.h"
#include "../Trial.h"
#include "CommSched/Analysis/Costs/RegionRuns.h"
#include "CommSched/Analysis/Problem/StorageAnalysis.h"
#include "CommSched/Report/StepReport.h"
#include "CommSched/Schedule/Model/Objective.h"
#include "mlir/IR/OperationSupport.h"
#include "mlir/IR/Threading.h"

using namespace mlir;
using namespace mlir::commsched;

FailureOr<LoopChanges>
mlir::commsched::overlapLoops(func::FuncOp function,
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
  /// The same for a function whose blocks are scheduled. None if it does not
  /// become shorter by what is worthwhile.
  FailureOr<std::optional<SchedulingOptions>> chooseAgain();

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
  /// What the function takes as chosen; none if that is not within its budget.
  std::optional<int64_t> chosenNs;
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
  const Attempt &taken = *isApart ? attempts.back() : attempts[best];
  if (isWithin(taken))
    chosenNs = taken.rank->ns;
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

FailureOr<std::optional<SchedulingOptions>> BudgetTrials::chooseAgain() {
  using Outcome = std::optional<SchedulingOptions>;
  FailureOr<Attempt> made = begin(given.budget);
  if (failed(made))
    return failure();
  if (OperationEquivalence::isEquivalentTo(
          made->overlapped, function, OperationEquivalence::IgnoreLocations))
    return Outcome();
  Attempt now = {given.budget, function.clone()};
  trials->push_back(now.overlapped);
  if (failed(measure(now, now.overlapped, *pricing->getCosts())) ||
      failed(scheduleAtOnce(*made)))
    return failure();
  // Other budgets are worth their time where the one that is given gains.
  auto isWorthwhile = [&](int64_t ns) {
    return schedule::isWorthwhile(now.rank->ns - ns, now.rank->ns);
  };
  if (!now.rank || !isWithin(*made) || !isWorthwhile(made->rank->ns))
    return Outcome();
  FailureOr<SchedulingOptions> chosen = choose();
  if (failed(chosen))
    return failure();
  if (!chosenNs || !isWorthwhile(*chosenNs))
    return Outcome();
  return Outcome(*chosen);
}

/// Whether the time of `function` is that of loops whose iterations are known.
static bool hasKnownLoops(func::FuncOp function) {
  SmallVector<Operation *> loops = getLoopsWithCollectives(function);
  return !loops.empty() && llvm::all_of(loops, [](Operation *loop) {
    return getTripCount(loop).source == TripCount::Source::Bounds;
  });
}

/// Whether there is a choice for `function`: not without loops that hold
/// collectives, with one whose number of iterations is not known, or with more
/// than 65,536 operations.
static bool hasChoice(func::FuncOp function) {
  constexpr int64_t maxOperations = 1 << 16;
  int64_t numOperations = 0;
  function.walk([&](Operation *) { ++numOperations; });
  return function.getBody().hasOneBlock() && numOperations <= maxOperations &&
         hasKnownLoops(function);
}

FailureOr<SchedulingOptions>
mlir::commsched::chooseBudget(func::FuncOp function,
                              const SchedulingOptions &options,
                              std::shared_ptr<CostAnalysis> pricing) {
  if (!hasChoice(function))
    return options;
  return BudgetTrials(function, options, std::move(pricing)).choose();
}

FailureOr<std::optional<SchedulingOptions>>
mlir::commsched::chooseAgain(func::FuncOp function,
                             const SchedulingOptions &options,
                             std::shared_ptr<CostAnalysis> pricing) {
  if (!options.overlapsLoops || !hasChoice(function))
    return std::optional<SchedulingOptions>();
  return BudgetTrials(function, options, std::move(pricing)).chooseAgain();
}
