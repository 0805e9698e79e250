//===- LoopPipeliner.cpp - Overlap of the iterations of loops -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "LoopPipeliner.h"

#include "../Bucketing/BucketChoice.h"
#include "../PassSupport.h"
#include "CommSched/Analysis/Costs/RegionRuns.h"
#include "CommSched/Analysis/Problem/StorageAnalysis.h"
#include "CommSched/Dialect/CommSchedAttributes.h"
#include "CommSched/Support/Unlimited.h"
#include "CountedLoop.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/SaveAndRestore.h"
#include "llvm/Support/ScopedPrinter.h"

using namespace mlir;
using namespace mlir::commsched;
using namespace mlir::commsched::schedule;

namespace {

/// A copy of a loop with its schedule, in the function, as what is known of
/// memory around the loop decides what may be merged.
struct MergedLoop {
  OwningOpRef<scf::ForOp> loop;
  ScheduledLoop scheduled;
};

/// A loop that gets another schedule.
struct Decision {
  scf::ForOp loop;
  std::optional<int64_t> count;
  ScheduledLoop original;
  std::optional<MergedLoop> merged;
  /// Of all iterations, if they are to be unrolled or were tried.
  std::optional<StepSchedule> unrolled;
  bool isUnrolled = false;

  const ScheduledLoop &best() const {
    return merged ? merged->scheduled : original;
  }
};

class LoopPipeliner {
public:
  LoopPipeliner(func::FuncOp function, const LoopPipeliningOptions &options,
                OperationCosts &costs)
      : function(function), options(options), costs(costs),
        hasRemarks(!options.isTrial && areRemarksEnabled(function)) {}

  FailureOr<LoopChanges> run();

private:
  /// scheduleLoop(), or where a known number of iterations takes less time one
  /// after the other, as for the few that the shortest period begins and ends
  /// with, their schedule.
  FailureOr<std::optional<ScheduledLoop>>
  scheduleRun(scf::ForOp loop, LoopSchedulingOptions within,
              LoopProblem::DeclineFunction decline);
  LoopSchedulingOptions getOptionsWithin(scf::ForOp loop) const;
  FailureOr<std::optional<ScheduledLoop>> schedule(scf::ForOp loop);
  /// The time of `count` iterations, scheduled where that is shorter, in
  /// nanoseconds; none if they are not within the limit.
  FailureOr<std::optional<int64_t>> computeRunNs(scf::ForOp loop,
                                                 int64_t count);
  /// Moves gathers of what no iteration changes in front of the loop, which is
  /// another one then, where that is shorter. Returns whether it was.
  FailureOr<bool> hoistGathers(CountedLoop &counted);
  /// Returns a copy of the loop, behind it, whose gathers are merged, with its
  /// schedule, if that is better than `scheduled`.
  FailureOr<std::optional<MergedLoop>>
  mergeGathersOf(scf::ForOp loop, const ScheduledLoop &scheduled);
  /// None, after a remark, if the loop stays as it is.
  FailureOr<std::optional<Decision>> decide(scf::ForOp loop);
  /// Schedules all iterations of a short loop as one program.
  LogicalResult tryUnrolled(Decision &decision, bool isPipelined);
  /// Returns the loop that is left, or null if it was unrolled or guarded.
  FailureOr<scf::ForOp> apply(Decision &decision);
  /// Returns whether the loop was changed.
  FailureOr<bool> pipeline(Operation *loop);
  FailureOr<bool> pipelineWhile(scf::WhileOp loop);
  FailureOr<bool> pipelineStableHlo(Operation *loop);
  void readLimit(Operation *loop);
  void remarkKept(Location location, const Twine &reason);
  /// From `leastCount` iterations on.
  void remarkPipelined(Location location, const Decision &decision,
                       int64_t leastCount = 1);
  void remarkUnrolled(Location location, const Decision &decision);

  func::FuncOp function;
  LoopPipeliningOptions options;
  OperationCosts &costs;
  bool hasRemarks;
  /// What the body of the loop at hand may take beyond what is counted around
  /// the loop.
  int64_t insideBytes = 0;
  LoopChanges changes;
};

} // namespace

void LoopPipeliner::remarkKept(Location location, const Twine &reason) {
  if (hasRemarks)
    remark::missed(location, makeRemark("LoopKept", function.getSymName()))
        << ("the loop keeps its iterations apart: " + reason).str();
}

/// By how much a loop that stays one is better than the unrolled one, if that
/// was tried.
static std::string compareUnrolled(const Decision &decision) {
  if (!decision.unrolled)
    return "";
  const ScheduledLoop &best = decision.best();
  return ("; its " + Twine(*decision.count) + " iterations take " +
          Twine(best.computeRunNs(best.schedule, *decision.count)) +
          " ns, and unrolled " + Twine(decision.unrolled->stepNs) + " ns in " +
          Twine(decision.unrolled->peakBytes) + " bytes")
      .str();
}

void LoopPipeliner::remarkPipelined(Location location, const Decision &decision,
                                    int64_t leastCount) {
  if (!hasRemarks)
    return;
  const ScheduledLoop &scheduled = decision.best();
  const CyclicSchedule &before = decision.original.program;
  const CyclicSchedule &after = scheduled.schedule;
  int64_t depth = after.order.depth();
  auto record = remark::passed(
      location, makeRemark("LoopPipelined", function.getSymName()));
  record << ("an iteration takes " + Twine(after.periodNs) + " ns instead of " +
             Twine(before.periodNs) + ", of at least " +
             Twine(scheduled.bound.ns) + ", with " + Twine(depth) +
             " iterations in progress, and " + Twine(after.peakBytes) +
             " bytes instead of " + Twine(before.peakBytes) + ", for " +
             describeLimit(scheduled.limitBytes) +
             (leastCount > 1 ? ", where it has " + Twine(leastCount) +
                                   " iterations or more"
                             : "") +
             compareUnrolled(decision))
                .str();
  addPeriodMetrics(record, before, scheduled);
  if (leastCount > 1)
    record << remark::metric("LeastCount", leastCount);
  if (std::optional<int64_t> count = decision.count)
    record << remark::metric("RunNsBefore",
                             decision.original.computeRunNs(before, *count))
           << remark::metric("RunNsAfter",
                             scheduled.computeRunNs(after, *count));
}

void LoopPipeliner::remarkUnrolled(Location location,
                                   const Decision &decision) {
  if (!hasRemarks)
    return;
  const ScheduledLoop &best = decision.best();
  int64_t beforeNs = decision.original.computeRunNs(decision.original.program,
                                                    *decision.count);
  int64_t afterNs = decision.unrolled->stepNs;
  remark::passed(location, makeRemark("LoopUnrolled", function.getSymName()))
      << ("unrolled, its " + Twine(*decision.count) + " iterations take " +
          Twine(afterNs) + " ns instead of " + Twine(beforeNs) +
          ", and as a loop " +
          Twine(best.computeRunNs(best.schedule, *decision.count)) +
          "; they take " + Twine(decision.unrolled->peakBytes) +
          " bytes, for " + describeLimit(best.limitBytes))
             .str()
      << remark::metric("RunNsBefore", beforeNs)
      << remark::metric("RunNsAfter", afterNs)
      << remark::metric("PeakBytesAfter", decision.unrolled->peakBytes)
      << remark::metric("BudgetBytes", best.limitBytes);
}

/// The number of iterations, if it is known; of very many, some.
static std::optional<int64_t> getCount(scf::ForOp loop) {
  // Of more iterations only the number of periods differs.
  constexpr int64_t maxCount = 1 << 20;
  TripCount trips = getTripCount(loop);
  return trips.source == TripCount::Source::Bounds
             ? std::optional(std::min(trips.count, maxCount))
             : std::nullopt;
}

/// Why a loop cannot be run in its schedule from `least` iterations on, or is
/// not expected to, or nothing.
static std::optional<std::string> findTooFew(const ScheduledLoop &scheduled,
                                             int64_t least) {
  Operation *op = scheduled.problem.getOperation(0);
  auto loop = op->getParentOfType<scf::ForOp>();
  std::string need = "it is shorter only from " + std::to_string(least) +
                     " iterations on, and ";
  Type type = loop.getInductionVar().getType();
  if (!type.isIndex() && !llvm::isIntN(type.getIntOrFloatBitWidth(), least))
    return need + "its counter is of type " + llvm::to_string(type);
  TripCount trips = getTripCount(loop);
  if (trips.count >= least)
    return std::nullopt;
  return need +
         (trips.source == TripCount::Source::Hint
              ? "'" + tripCountAttrName.str() + "' is "
              : "its iterations are not known and count as ") +
         std::to_string(trips.count);
}

/// Why the schedule of a loop, of so many iterations if that is known, is not
/// taken, or nothing.
static std::optional<std::string> findObstacle(const ScheduledLoop &scheduled,
                                               std::optional<int64_t> count) {
  const CyclicSchedule &before = scheduled.program;
  const CyclicSchedule &after = scheduled.schedule;
  if (after.peakBytes > scheduled.limitBytes)
    return ("no order fits: the one that needs least takes " +
            Twine(after.peakBytes) + " bytes, of " +
            Twine(scheduled.limitBytes))
        .str();
  if (count && *count < after.order.depth())
    return ("it has " + Twine(*count) + " iterations, and " +
            Twine(after.order.depth()) + " would be in progress at once")
        .str();
  std::string ending = (" ns, and nothing that fits " +
                        Twine(scheduled.limitBytes) + " bytes is shorter; " +
                        Twine(scheduled.bound.ns) + " ns are the least, for " +
                        describeBound(scheduled.problem, scheduled.bound))
                           .str();
  if (!count) {
    if (std::optional<int64_t> least = scheduled.findLeastCount())
      return findTooFew(scheduled, *least);
    return ("an iteration takes " + Twine(before.periodNs) + ending).str();
  }
  int64_t beforeNs = scheduled.computeRunNs(before, *count);
  if (scheduled.computeRunNs(after, *count) < beforeNs)
    return std::nullopt;
  return ("its " + Twine(*count) + " iterations take " + Twine(beforeNs) +
          ending)
      .str();
}

constexpr StringLiteral unsupportedText =
    "MLIR's pipeliner does not take its schedule";

/// Reads what may be live in the body of `loop` beyond what the block around it
/// counts.
void LoopPipeliner::readLimit(Operation *loop) {
  Block &body = loop->getRegions().back().front();
  int64_t limitBytes =
      BlockLimit(function, body, simulateBlockMemory(body).peakBytes)
          .get(options.budget);
  insideBytes =
      limitBytes == unlimited
          ? unlimited
          : limitBytes - computeCountedBytes(body) - options.withheldBytes;
}

FailureOr<std::optional<ScheduledLoop>>
LoopPipeliner::scheduleRun(scf::ForOp loop, LoopSchedulingOptions within,
                           LoopProblem::DeclineFunction decline) {
  FailureOr<std::optional<ScheduledLoop>> shortest =
      scheduleLoop(loop, /*outerBytes=*/0, costs, within, decline);
  std::optional<int64_t> count = getCount(loop);
  if (failed(shortest) || !*shortest || !count ||
      (*shortest)->schedule.order.depth() == 1)
    return shortest;
  auto getRunNs = [&](const ScheduledLoop &of) {
    return of.computeRunNs(of.schedule, *count);
  };
  within.maxDepth = 1;
  FailureOr<std::optional<ScheduledLoop>> apart =
      scheduleLoop(loop, /*outerBytes=*/0, costs, within, decline);
  if (failed(apart) || findObstacle(**apart, count) ||
      (!findObstacle(**shortest, count) &&
       getRunNs(**shortest) <= getRunNs(**apart)))
    return failed(apart) ? std::move(apart) : std::move(shortest);
  return apart;
}

LoopSchedulingOptions LoopPipeliner::getOptionsWithin(scf::ForOp loop) const {
  LoopSchedulingOptions within = options;
  within.budget.bytes =
      insideBytes == unlimited
          ? unlimited
          : insideBytes + computeCountedBytes(*loop.getBody());
  return within;
}

FailureOr<std::optional<ScheduledLoop>>
LoopPipeliner::schedule(scf::ForOp loop) {
  FailureOr<std::optional<ScheduledLoop>> scheduled = scheduleRun(
      loop, getOptionsWithin(loop),
      [&](Location where, StringRef reason) { remarkKept(where, reason); });
  if (failed(scheduled) || !*scheduled || !hasRemarks)
    return scheduled;
  StringRef name = function.getSymName();
  remarkUnknownGroups(loop.getLoc(), name,
                      (*scheduled)->contention.unknownGroups);
  remarkAssumptions(name, (*scheduled)->problem.getAssumptions());
  return scheduled;
}

FailureOr<std::optional<int64_t>> LoopPipeliner::computeRunNs(scf::ForOp loop,
                                                              int64_t count) {
  using Outcome = std::optional<int64_t>;
  LoopSchedulingOptions within = getOptionsWithin(loop);
  FailureOr<std::optional<ScheduledLoop>> scheduled =
      scheduleRun(loop, within, [](Location, StringRef) {});
  if (failed(scheduled))
    return failure();
  if (!*scheduled)
    return simulateBlockMemory(*loop.getBody()).peakBytes <=
                   *within.budget.bytes
               ? Outcome(costs.price(loop).timeNs)
               : Outcome();
  const auto &[best, program] =
      std::tie((*scheduled)->schedule, (*scheduled)->program);
  if (!findObstacle(**scheduled, count))
    return Outcome((*scheduled)->computeRunNs(best, count));
  return program.peakBytes <= (*scheduled)->limitBytes
             ? Outcome((*scheduled)->computeRunNs(program, count))
             : Outcome();
}

FailureOr<bool> LoopPipeliner::hoistGathers(CountedLoop &counted) {
  std::optional<int64_t> count = getCount(counted.loop);
  if (!options.hoistsGathers || !count || *count < 2)
    return false;
  FailureOr<std::optional<HoistedGathers>> hoisted =
      copyWithoutInvariantGathers(counted.loop, costs);
  if (failed(hoisted))
    return failure();
  if (!*hoisted)
    return false;
  HoistedGathers &gathers = **hoisted;
  FailureOr<std::optional<int64_t>> before = computeRunNs(counted.loop, *count);
  const int64_t roomBytes = insideBytes;
  if (insideBytes != unlimited)
    insideBytes -= gathers.bytes;
  FailureOr<std::optional<int64_t>> after = computeRunNs(gathers.loop, *count);
  if (failed(before) || failed(after))
    return failure();
  if (!*after ||
      (*before && !schedule::isWorthwhile(**before - **after - gathers.timeNs,
                                          **before))) {
    insideBytes = roomBytes;
    gathers.erase();
    return false;
  }
  if (hasRemarks)
    gathers.remark(counted.loop.getLoc(), function.getSymName(), *before,
                   **after);
  for (Value &result : counted.results)
    if (auto made = dyn_cast_if_present<OpResult>(result);
        made && made.getOwner() == counted.loop)
      result = gathers.loop.getResult(made.getResultNumber());
  counted.loop.replaceAllUsesWith(gathers.loop.getResults());
  counted.loop.erase();
  counted.loop = gathers.loop;
  changes.areHoisted = true;
  return true;
}

FailureOr<std::optional<MergedLoop>>
LoopPipeliner::mergeGathersOf(scf::ForOp loop, const ScheduledLoop &scheduled) {
  using Outcome = std::optional<MergedLoop>;
  // Merging saves time of streams only.
  if (!options.mergesGathers ||
      scheduled.bound.kind == PeriodBoundKind::Computation)
    return Outcome();
  OpBuilder builder(loop->getContext());
  builder.setInsertionPointAfter(loop);
  OwningOpRef<scf::ForOp> copy = cast<scf::ForOp>(builder.clone(*loop));
  BucketingPassOptions merging;
  merging.modes = {BucketMode::Coalesced, BucketMode::Copy};
  merging.capBytes = {unlimited};
  FailureOr<bool> merged =
      bucketCollectivesIn(*copy->getBody(), function, merging, costs);
  if (failed(merged))
    return failure();
  if (!*merged)
    return Outcome();
  LoopSchedulingOptions within = options;
  within.budget.bytes = scheduled.limitBytes;
  FailureOr<std::optional<ScheduledLoop>> other =
      scheduleRun(*copy, within, [](Location, StringRef) {});
  if (failed(other))
    return failure();
  std::optional<int64_t> count = getCount(loop);
  if (!*other || findObstacle(**other, count))
    return Outcome();
  auto getNs = [&](const ScheduledLoop &of) {
    return count ? of.computeRunNs(of.schedule, *count) : of.schedule.periodNs;
  };
  int64_t ns = getNs(scheduled);
  if (!findObstacle(scheduled, count) &&
      !schedule::isWorthwhile(ns - getNs(**other), ns))
    return Outcome();
  return Outcome(MergedLoop{std::move(copy), std::move(**other)});
}

FailureOr<std::optional<Decision>> LoopPipeliner::decide(scf::ForOp loop) {
  using Outcome = std::optional<Decision>;
  if (std::optional<std::string> reason = findUnsupported(loop)) {
    remarkKept(loop.getLoc(), *reason);
    return Outcome();
  }
  FailureOr<std::optional<ScheduledLoop>> original = schedule(loop);
  if (failed(original))
    return failure();
  if (!*original)
    return Outcome();
  FailureOr<std::optional<MergedLoop>> merged =
      mergeGathersOf(loop, **original);
  if (failed(merged))
    return failure();
  Decision decision = {loop, getCount(loop), std::move(**original),
                       std::move(*merged), std::nullopt};
  std::optional<std::string> obstacle =
      findObstacle(decision.best(), decision.count);
  if (failed(tryUnrolled(decision, /*isPipelined=*/!obstacle)))
    return failure();
  if (!obstacle || decision.isUnrolled)
    return Outcome(std::move(decision));
  remarkKept(loop.getLoc(), *obstacle);
  return Outcome();
}

LogicalResult LoopPipeliner::tryUnrolled(Decision &decision, bool isPipelined) {
  if (!decision.count || *decision.count < 1 ||
      *decision.count > options.unroll)
    return success();
  const ScheduledLoop &best = decision.best();
  constexpr int64_t maxOperations = 1 << 20;
  if (best.problem.getProblem().body().numNodes() >
      maxOperations / *decision.count)
    return success();
  FailureOr<std::optional<StepSchedule>> unrolled =
      scheduleUnrolled(decision.loop, best, *decision.count);
  if (failed(unrolled))
    return failure();
  decision.unrolled = std::move(*unrolled);
  int64_t loopNs = best.computeRunNs(isPipelined ? best.schedule : best.program,
                                     *decision.count);
  decision.isUnrolled = decision.unrolled &&
                        decision.unrolled->fits(best.limitBytes) &&
                        decision.unrolled->stepNs < loopNs;
  return success();
}

FailureOr<scf::ForOp> LoopPipeliner::apply(Decision &decision) {
  scf::ForOp loop = decision.loop;
  Location location = loop.getLoc();
  if (decision.merged) {
    scf::ForOp merged = decision.merged->loop.release();
    loop.replaceAllUsesWith(merged.getResults());
    loop.erase();
    loop = merged;
  }
  const ScheduledLoop &best = decision.best();
  if (decision.isUnrolled) {
    remarkUnrolled(location, decision);
    unrollLoop(loop, best, decision.unrolled->order);
    return scf::ForOp();
  }
  if (!decision.count) {
    int64_t leastCount = *best.findLeastCount();
    if (failed(applyGuardedSchedule(loop, best, leastCount)))
      return emitError(location, unsupportedText);
    remarkPipelined(location, decision, leastCount);
    return scf::ForOp();
  }
  FailureOr<scf::ForOp> kernel = applySchedule(loop, best);
  if (failed(kernel))
    return emitError(location, unsupportedText);
  remarkPipelined(location, decision);
  return kernel;
}

FailureOr<bool> LoopPipeliner::pipelineWhile(scf::WhileOp loop) {
  std::optional<CountedLoop> counted =
      copyAsCountedLoop(loop, [&](Location where, StringRef reason) {
        remarkKept(where, reason);
      });
  if (!counted)
    return false;
  FailureOr<bool> isHoisted = hoistGathers(*counted);
  if (failed(isHoisted))
    return failure();
  FailureOr<std::optional<Decision>> decision = decide(counted->loop);
  if (failed(decision))
    return failure();
  if (!*decision && !*isHoisted) {
    counted->loop.erase();
    return false;
  }
  for (auto [result, value] :
       llvm::zip_equal(loop.getResults(), counted->results))
    if (value)
      result.replaceAllUsesWith(value);
  loop.erase();
  if (*decision && failed(apply(**decision)))
    return failure();
  return true;
}

FailureOr<bool> LoopPipeliner::pipelineStableHlo(Operation *loop) {
  std::optional<StableHloLoop> whole =
      StableHloLoop::read(loop, [&](Location where, StringRef reason) {
        remarkKept(where, reason);
      });
  if (!whole)
    return false;
  CountedLoop counted = whole->copy();
  llvm::scope_exit restore([&] { eraseWithBounds(counted.loop); });
  // StableHLO has no futures that a loop carries.
  llvm::SaveAndRestore<bool> within(options.mayCarryFutures, false);
  FailureOr<bool> isHoisted = hoistGathers(counted);
  if (failed(isHoisted))
    return failure();
  FailureOr<std::optional<Decision>> decision = decide(counted.loop);
  if (failed(decision))
    return failure();
  if (!*decision && !*isHoisted)
    return false;
  restore.release();
  SmallVector<Operation *> bounds = listBounds(counted.loop);
  for (auto [result, value] :
       llvm::zip_equal(loop->getResults(), counted.results))
    result.replaceAllUsesWith(value);
  FailureOr<scf::ForOp> kernel = counted.loop;
  if (*decision)
    kernel = apply(**decision);
  if (failed(kernel))
    return failure();
  if (*kernel)
    whole->write(*kernel);
  eraseUnused(bounds);
  loop->erase();
  return true;
}

FailureOr<bool> LoopPipeliner::pipeline(Operation *loop) {
  if (auto counted = dyn_cast<scf::WhileOp>(loop))
    return pipelineWhile(counted);
  if (isStableHloWhile(loop))
    return pipelineStableHlo(loop);
  auto counting = dyn_cast<scf::ForOp>(loop);
  if (!counting) {
    remarkKept(loop->getLoc(),
               "loops of this kind are not pipelined: " + describe(loop));
    return false;
  }
  CountedLoop counted = {counting, {}};
  FailureOr<bool> isHoisted = hoistGathers(counted);
  if (failed(isHoisted))
    return failure();
  FailureOr<std::optional<Decision>> decision = decide(counted.loop);
  if (failed(decision) || (*decision && failed(apply(**decision))))
    return failure();
  return *decision || *isHoisted;
}

/// Whether collectives are directly in one of its blocks.
static bool holdsCollectives(Operation *loop) {
  return llvm::any_of(loop->getRegions(), [](Region &region) {
    return llvm::any_of(region.getOps(), llvm::IsaPred<CollectiveOpInterface>);
  });
}

FailureOr<LoopChanges> LoopPipeliner::run() {
  bool isFirst = !getBaselinePeakBytes(function);
  if (!getLoopsWithCollectives(function).empty() &&
      function.getBody().hasOneBlock())
    keepBaselineBytes(function, function.front(),
                      isFirst ? simulateBlockMemory(function.front()).peakBytes
                              : 0);
  // A loop comes behind those in it, of which it then holds what was peeled.
  SmallVector<Operation *> loops;
  function.walk([&](Operation *op) {
    if (isLoop(op))
      loops.push_back(op);
  });
  for (Operation *loop : loops) {
    if (!holdsCollectives(loop))
      continue;
    readLimit(loop);
    FailureOr<bool> pipelined = pipeline(loop);
    if (failed(pipelined))
      return failure();
    changes.any |= *pipelined;
  }
  if (!changes.any && isFirst)
    function->removeAttr(baselinePeakBytesAttrName);
  return changes;
}

SmallVector<Operation *>
mlir::commsched::getLoopsWithCollectives(func::FuncOp function) {
  SmallVector<Operation *> loops;
  function.walk([&](Operation *op) {
    if (isLoop(op) && holdsCollectives(op))
      loops.push_back(op);
  });
  return loops;
}

FailureOr<LoopChanges>
mlir::commsched::pipelineLoops(func::FuncOp function,
                               const LoopPipeliningOptions &options,
                               OperationCosts &costs) {
  return LoopPipeliner(function, options, costs).run();
}
