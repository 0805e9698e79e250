//===- BlockScheduler.h - Scheduling of a block within a limit --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finds the schedule of a block for a limit of live bytes or a budget, buckets
// and chunks included, and applies it. Three classes, each on top of the one
// before:
//
//  1. PricedBlock::read(): the block as a problem with its prices, what its
//     groups contend for, and the program as it stands, measured.
//  2. BlockSearch::find(limit): the best schedule for one limit. It compares
//     findWhole(), the block as it was read, without buckets and with those of
//     the BucketChooser, with findSplit(): findWhole() of the BlockSearch of
//     each copy of the block that a choice of the SplitChooser makes.
//  3. BlockScheduler::schedule(limit): the best of find() for the limit and for
//     fixed smaller ones, so that a larger limit is never worse; of the block
//     in the order that it was read in, and in others that take less memory.
//     scheduleWithinBudget() makes a limit of the budget, and a lower one again
//     if the allocator reserves too much.
//
// A schedule is decided completely before the IR changes: that of a merged
// program is found on the problem that the merge will make, and that of a split
// one on a copy. apply() does what was decided: the order, the buckets, and
// last the copy in place of the block.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_TRANSFORMS_SCHEDULE_BLOCKSCHEDULER_H
#define COMMSCHED_LIB_TRANSFORMS_SCHEDULE_BLOCKSCHEDULER_H

#include "../Bucketing/BucketChoice.h"
#include "../MemoryBudget.h"
#include "../Split/SplitChoice.h"
#include "CommSched/Analysis/Costs/CostAnalysis.h"
#include "CommSched/Analysis/Costs/GroupContention.h"
#include "CommSched/Schedule/Allocator/CachingAllocator.h"
#include "CommSched/Schedule/Exposure/ExposureReasons.h"
#include "CommSched/Transforms/Passes.h"
#include "MergingSearch.h"

#include <map>

namespace mlir::commsched {

/// The budget steps beside the least peak, as percentages over the baseline.
constexpr int32_t budgetStepPercent[] = {0, 1, 2, 5, 10, 20, 50, 100};

/// The options of a pass that schedules blocks, checked.
struct SchedulingOptions {
  MemoryBudget budget;
  /// The allocator whose reserved memory a budget in bytes limits; none if it
  /// limits live bytes.
  std::optional<schedule::SegmentKind> budgetAllocator;
  ScheduleBuckets buckets = ScheduleBuckets::Auto;
  MergingOptions merging;
  SplittingOptions splitting;
  /// Whether a time or a size that is not known is an error.
  bool refusesAssumptions = false;
  /// Whether schedules begin with the order of the program alone.
  bool beginsWithProgram = false;
  /// Whether the iterations of loops that hold collectives overlap.
  bool overlapsLoops = false;
  /// Whether these loops lose gathers of what no iteration changes.
  bool hoistsGathers = true;
  /// Whether copies tell first what the function takes with that.
  bool triesLoops = true;
  /// Whether the function is a copy, of which no remark speaks.
  bool isTrial = false;
  /// Whether schedules are only compared with others, so that less time is
  /// spent on each, and least where no order is within the limit.
  bool isQuick = false;
  /// What trials of the function have scheduled, if there were any.
  std::shared_ptr<schedule::StepCache> cache = nullptr;
};

/// A way to merge or to split collectives that was not taken, and the step that
/// it makes.
struct RejectedWay {
  std::string rule;
  int64_t stepNs;
  int64_t peakBytes;
};

/// What the allocator reserves for a schedule.
struct ReservedBudget {
  int64_t bytes;
  int64_t limitBytes;
};

class BlockSearch;

/// A schedule of a block for a limit of live bytes.
struct BlockSchedule {
  /// Its order is one of the merged program, if there are buckets.
  schedule::StepSchedule step;
  /// Of live bytes.
  int64_t limitBytes = 0;
  /// Whether a larger limit may give another schedule.
  bool isLimited = true;
  /// If the budget limits reserved memory.
  std::optional<ReservedBudget> reserved;
  /// The merged buckets, or null.
  const BucketChoice *buckets = nullptr;
  /// The order of the block directly before the members of buckets, which then
  /// are neighbors, are merged; `step.order` if there are none.
  schedule::Order blockOrder;
  /// If nothing is merged: the best way to merge that was tried, if any was.
  std::optional<RejectedWay> rejected;
  /// What has read the block in the order that all of this is about; null for
  /// the order that the BlockScheduler has read.
  BlockSearch *start = nullptr;
  /// What has read the split copy that all of this is about; null for the block
  /// as it was read.
  BlockSearch *split = nullptr;
  /// The best way to split that was tried and not taken, if any was; of a split
  /// schedule, one that splits more.
  std::optional<RejectedWay> rejectedSplit;
  /// The step without the time of computation.
  int64_t exposedNs = 0;
  int64_t numCollectives = 0;

  bool fits() const { return getBytes() <= getBudgetBytes(); }
  /// What schedules are compared by, with the bytes that the budget limits.
  schedule::Rank rank() const {
    return {step.stepNs, getBytes(), getBudgetBytes()};
  }
  /// What it takes of what the budget limits.
  int64_t getBytes() const {
    return reserved ? reserved->bytes : step.peakBytes;
  }
  /// What the budget allows, of what it limits.
  int64_t getBudgetBytes() const {
    return reserved ? reserved->limitBytes : limitBytes;
  }
};

//===----------------------------------------------------------------------===//
// The block
//===----------------------------------------------------------------------===//

/// A block that was read.
class PricedBlock {
public:
  /// Gets the place of what keeps a block from being scheduled, and the reason.
  /// Null: the remark `BlockKept`.
  using DeclineFunction = function_ref<void(Location, StringRef)>;

  PricedBlock(const PricedBlock &) = delete;
  PricedBlock &operator=(const PricedBlock &) = delete;

  Block &getBlock() const { return block; }
  const BlockProblem &getProblem() const { return problem; }
  /// The program as it stands.
  const BlockSchedule &getProgram() const { return program; }

  /// Emits a remark on each time and size that the block takes as known, if
  /// remarks are enabled.
  void remarkAssumptions();

  /// The live bytes that `budget` allows.
  int64_t getLimitBytes(const MemoryBudget &budget) const;

  /// The options of the step scheduler for `limitBytes`.
  schedule::StepSchedulerOptions makeStepOptions(int64_t limitBytes) const;

  /// Returns the reasons for which collectives are exposed in an order of the
  /// block as it was read. Emits an error if it is not legal.
  FailureOr<std::vector<schedule::ExposureReason>>
  explainExposure(const schedule::Order &order, int64_t limitBytes) const;

  /// A lower bound on the step of any order with any collectives merged and
  /// split.
  FailureOr<int64_t> getOrComputeBoundNs();

  /// Whether a schedule of `stepNs` may gain enough to be worth a search, by
  /// any order and with any collectives merged and split.
  FailureOr<bool> mayGain(int64_t stepNs);

  /// Whether the options allow splitting.
  bool mayBeSplit() const {
    return options.splitting.split != ScheduleSplit::Off;
  }

protected:
  PricedBlock(func::FuncOp function, Block &block,
              const SchedulingOptions &options,
              std::shared_ptr<CostAnalysis> pricing)
      : function(function), block(block), options(options),
        pricing(std::move(pricing)) {}

  /// Reads the block, with the contention of its groups if that is `known`.
  /// False, after a call of `decline`, if a collective is in flight across its
  /// boundary. Remarks on unknown groups only if it is `first`.
  FailureOr<bool> read(DeclineFunction decline,
                       const schedule::Contention *known, bool first = true);
  OperationCosts &getCosts() const { return *pricing->getCosts(); }
  /// What `result` holds. Emits its error if it has one.
  template <typename T> FailureOr<T> unwrap(Result<T> result) const {
    if (result)
      return std::move(*result);
    return emitError(block.getParentOp()->getLoc(), "cannot be scheduled: ")
           << result.error();
  }
  /// The program with `buckets`, or as it stands.
  const schedule::Problem &getProblemOf(const BucketChoice *buckets) const;
  /// The schedule of that order, with what it costs. Emits an error if it is
  /// not legal.
  FailureOr<BlockSchedule> measure(schedule::StepSchedule step,
                                   const BucketChoice *buckets,
                                   int64_t limitBytes) const;

  func::FuncOp function;
  Block &block;
  const SchedulingOptions &options;
  std::shared_ptr<CostAnalysis> pricing;
  BlockProblem problem;
  schedule::Contention contention;
  BlockSchedule program;
  /// How many times as many operations as elsewhere computation may pass.
  int32_t distanceFactor = 1;

private:
  LogicalResult readContention(bool remarks);
  int64_t sumExposedInside() const;

  int64_t exposedInsideNs = 0;
  /// Once they were needed.
  std::optional<int64_t> boundNs;
  mutable std::optional<BlockLimit> limit;
};

//===----------------------------------------------------------------------===//
// One limit
//===----------------------------------------------------------------------===//

/// Finds the schedule of a block for one limit.
class BlockSearch : public PricedBlock {
public:
  /// The mergeable collectives; null unless a schedule with buckets was
  /// looked for.
  const MergeableSet *getMergeable() const {
    return merging ? &merging->getMergeable() : nullptr;
  }

  /// If this is about a split copy of a block: what has the copy.
  const SplitProgram &getSplit() const { return *split; }
  /// What has read the block that `schedule` is about.
  const BlockSearch &getReaderOf(const BlockSchedule &schedule) const {
    if (schedule.split)
      return *schedule.split;
    return schedule.start ? *schedule.start : *this;
  }
  /// The program that `schedule` orders.
  const schedule::Problem &getProblemOf(const BlockSchedule &schedule) const {
    return getReaderOf(schedule).PricedBlock::getProblemOf(schedule.buckets);
  }

  /// Returns a lower bound on the step time of all orders of the same
  /// collectives. Emits an error if there is no bound.
  FailureOr<int64_t> computeLowerBoundNs(const BlockSchedule &schedule) const;

  /// Why splitting does not hide `start`, a collective of the block as it was
  /// read, if `schedule` is taken; for before it is applied.
  SplitObstacle explainNotSplit(Operation *start,
                                const BlockSchedule &schedule);

  /// What is known about the regions of the block; null if none was asked for.
  SplitChooser *getChooser() const { return chooser.get(); }

  /// Splits the regions, puts the block into that order and merges the buckets.
  /// The block is in the order that this has read. Returns whether anything
  /// changed.
  bool apply(const BlockSchedule &schedule) const;

  /// Whether the block has few operations, which are scheduled soon.
  bool isSmall() const { return problem.getProblem().numNodes() <= 1 << 10; }

protected:
  friend class BlockScheduler;

  /// Whether a search takes long.
  bool isLarge() const { return problem.getProblem().numNodes() > 1 << 12; }

  using PricedBlock::getProblemOf;
  using PricedBlock::PricedBlock;

  /// The best schedule within `limitBytes`, or the one that needs least memory,
  /// that a search with little effort for small steps finds. `unmerged` is what
  /// scheduleUnmerged() gives.
  FailureOr<BlockSchedule> find(const schedule::StepSchedule &unmerged,
                                int64_t limitBytes);
  FailureOr<BlockSchedule> find(int64_t limitBytes);
  /// The same without buckets and without splitting.
  FailureOr<BlockSchedule> findUnmerged(int64_t limitBytes) const;
  /// The same without slack, which others begin with.
  FailureOr<schedule::StepSchedule> scheduleUnmerged(int64_t limitBytes) const;
  /// What all effort makes of a schedule, for the limit that it was found for.
  FailureOr<BlockSchedule> improve(const BlockSchedule &known) const;
  /// The best way to split the program, which may gain by that, in the order
  /// that it has, if there is one that is worth it.
  FailureOr<std::optional<BlockSchedule>> splitProgram(int64_t limitBytes);
  /// What the allocator of the options reserves for the program in that
  /// schedule.
  FailureOr<int64_t> computeReservedBytes(const BlockSchedule &schedule) const;

private:
  FailureOr<BlockSchedule> findWhole(const schedule::StepSchedule &unmerged,
                                     int64_t limitBytes, bool mayMerge = true);
  FailureOr<bool> mayGainByMerging(const schedule::StepSchedule &schedule,
                                   int64_t limitBytes);
  MergingSearch &getOrMakeMerging();
  FailureOr<SmallVector<MergingSearch::Candidate>>
  findMerged(const schedule::Order &unmerged,
             const schedule::StepSchedulerOptions &stepOptions);
  FailureOr<MergingSearch::Candidate>
  refineBest(ArrayRef<MergingSearch::Candidate> merged,
             const schedule::StepSchedulerOptions &stepOptions);
  LogicalResult improveAll(MutableArrayRef<MergingSearch::Candidate> merged,
                           const schedule::StepSchedulerOptions &stepOptions);
  FailureOr<MergingSearch::Candidate>
  scheduleNearlyBest(MergingSearch::Candidate refined,
                     ArrayRef<MergingSearch::Candidate> merged,
                     const schedule::StepSchedulerOptions &stepOptions);

  FailureOr<std::optional<BlockSchedule>>
  findSplit(const BlockSchedule &whole, const schedule::Rank &unmerged);
  std::optional<std::string> getSplitObstacle();
  bool mayGainBySplitting(const BlockSchedule &schedule);
  SplitChooser &getOrMakeChooser();
  FailureOr<BlockSearch *> getOrMakeSplit(SplitChoice choice);

  /// Once it was needed.
  std::unique_ptr<MergingSearch> merging;
  /// The way to merge that was chosen for the limit before, with its schedule
  /// for that: a sketch of it for another limit may say little.
  std::optional<MergingSearch::Candidate> lastMerged;
  /// The same for no limit, whose order of computation is the best. Large
  /// blocks begin with it, too.
  std::optional<MergingSearch::Candidate> unlimitedMerged;
  /// The copy that this is about; null for the block of a function.
  std::unique_ptr<SplitProgram> split;
  /// Once it was needed; empty if there is none.
  std::optional<std::string> splitObstacle;
  /// Once it was needed: what hasLargeComputation() says.
  std::optional<bool> hasLarge;
  /// Once it was needed.
  std::unique_ptr<SplitChooser> chooser;
  /// For every choice that was tried.
  std::vector<std::unique_ptr<BlockSearch>> splits;
};

//===----------------------------------------------------------------------===//
// Budgets
//===----------------------------------------------------------------------===//

/// Finds the schedule of a block for any limit and budget.
class BlockScheduler : public BlockSearch {
public:
  /// Reads `block`. Null, after a call of `decline`, if a collective is in
  /// flight across its boundary. Emits a remark on each group of which it is
  /// not known what it contends for, and an error if there is no problem to be
  /// made of the block, or if the options refuse what it takes as known.
  /// `options` outlives the result. `pricing` has costs; without it, they are
  /// those of `function`.
  static FailureOr<std::unique_ptr<BlockScheduler>>
  create(func::FuncOp function, Block &block, const SchedulingOptions &options,
         DeclineFunction decline,
         std::shared_ptr<CostAnalysis> pricing = nullptr);

  /// The limits of live bytes, in ascending order, whose schedules every larger
  /// limit considers: the least peak that is known, and fixed percentages over
  /// the baseline, and up to that over the least peak.
  FailureOr<SmallVector<int64_t>> listBudgetSteps();

  /// The best schedule within `limitBytes`, or the one that needs least memory.
  /// In a block of up to 65,536 operations, no limit gives a longer step than a
  /// budget step below it, nor an equal step that takes more memory.
  FailureOr<BlockSchedule> schedule(int64_t limitBytes);

  /// Whether schedule() gives what it would give if it had not been called
  /// before: a search for a limit that is no budget step leaves sketches with
  /// which later ones begin.
  bool isAsNew(int64_t limitBytes) const {
    return !hasSearchedLimit && shortestBytes <= limitBytes;
  }

  /// schedule() within the budget of the options, which may limit what the
  /// allocator reserves: the limit of live bytes is then lowered by what the
  /// schedule reserves too much, a fixed number of times. If that does not
  /// suffice, the schedule that reserves least.
  FailureOr<BlockSchedule> scheduleWithinBudget();

  /// Puts the block into the order that `schedule` begins with, for apply() of
  /// getStartOf(). Returns whether anything changed.
  bool begin(const BlockSchedule &schedule) const;
  /// What has read the block in that order.
  BlockSearch &getStartOf(const BlockSchedule &schedule) {
    return schedule.start ? *schedule.start : *this;
  }
  /// Both.
  bool apply(const BlockSchedule &schedule);

private:
  using BlockSearch::BlockSearch;

  /// An order of the block that schedules begin with.
  struct Start {
    schedule::Order order;
    /// Null for the order that this has read.
    std::unique_ptr<BlockSearch> search;
    /// Whether its peak is nearly that of the program.
    bool isNear = false;
    /// By limit: what scheduleUnmerged() gave.
    std::map<int64_t, schedule::StepSchedule> unmerged = {};
    /// By limit: what find() gave, and what improve() made of that.
    std::map<int64_t, BlockSchedule> schedules = {}, improved = {};
  };

  /// A schedule that is considered for a limit, with its rank there.
  struct Considered {
    Start *start;
    /// What it was found for.
    int64_t limitBytes;
    schedule::Rank rank;
  };

  void putInto(const schedule::Order &order) const;
  FailureOr<std::unique_ptr<BlockSearch>>
  readIn(const schedule::Order &order) const;
  LogicalResult findStarts();
  FailureOr<BlockSchedule> find(Start &start, int64_t limitBytes);
  FailureOr<BlockSchedule> splitInOrder(BlockSchedule found,
                                        const Start &start);
  FailureOr<const BlockSchedule *> getOrFind(Start &start, int64_t limitBytes);
  FailureOr<const BlockSchedule *>
  getOrImprove(Start &start, int64_t foundBytes, int64_t limitBytes);
  FailureOr<const schedule::StepSchedule *>
  getOrScheduleUnmerged(Start &start, int64_t limitBytes);
  FailureOr<bool> isFar(Start &start);
  LogicalResult consider(int64_t bytes, int64_t limitBytes,
                         SmallVectorImpl<Considered> &considered);
  static bool isBefore(const Considered &a, const Considered &b);
  static schedule::Rank getBest(ArrayRef<Considered> considered);
  FailureOr<bool> isNearlyAll(Start &start, int64_t bytes);
  FailureOr<SmallVector<Considered>> considerAll(int64_t limitBytes);
  SmallVector<Considered>
  selectPromising(ArrayRef<Considered> considered) const;
  FailureOr<bool> mayBecomeBetter(const Considered &considered,
                                  const BlockSchedule *chosen,
                                  int64_t limitBytes);
  FailureOr<BlockSchedule> scheduleReserved(int64_t limitBytes);

  /// Once they were needed: the order of the program, then others.
  std::vector<Start> starts;
  /// Orders that were found, in which the block is split again.
  std::vector<Start> scheduled;
  /// The least peak of those to begin with.
  int64_t leastBytes = 0;
  /// The same without orders that take nearly as much as the program.
  int64_t nearBytes = 0;
  /// What the shortest schedule without a limit takes, once it is known.
  int64_t shortestBytes = 0;
  /// Whether a limit was searched for that is no budget step.
  bool hasSearchedLimit = false;
};

//===----------------------------------------------------------------------===//
// Schedules that are decided, and the remarks on them: CollectiveSplit and
// CollectiveNotSplit are those on what is split, and SplitEnd the one at the
// other place that they are about
//===----------------------------------------------------------------------===//

/// What the collective `start` of `region` is split with, into so many chunks.
std::string describeSplit(Operation *start, const SplitRegion &region,
                          int64_t chunks);

/// Emits a remark `CollectiveSplit` on each collective that `schedule` splits.
/// For before it is applied.
void remarkSplitRegions(func::FuncOp function, BlockSearch &scheduler,
                        const BlockSchedule &schedule);

/// Emits the remark `CollectiveNotSplit` on the collective `start`, and
/// `SplitEnd` at the place of the obstacle, if it has one.
void remarkNotSplit(func::FuncOp function, Operation *start,
                    const SplitObstacle &obstacle);

/// Emits the remark `SplitEnd`: `reason`, about an operation at `place`, ends
/// what is split with the collective `start`.
void remarkSplitEnd(func::FuncOp function, Location place, Operation *start,
                    StringRef reason);

/// A block with the schedule that was decided for it.
struct DecidedBlock {
  std::unique_ptr<BlockScheduler> scheduler;
  BlockSchedule schedule;
};

/// What applySchedule() has done.
struct AppliedSchedule {
  bool isChanged = false;
  /// Whether the block is no longer as the schedule says.
  bool isAgain = false;
};

/// Applies `schedule`, for a block of `function`. If that changes anything, the
/// block is scheduled again where it takes little time and is worth it: a small
/// block with buckets once, and a block of up to 8,192 operations while another
/// run of the pass would find something, such as chunks of buckets. So is any
/// block in which buckets have made transpositions, in its order: they need not
/// stand beside the copy-outs, as the merged program has them. Emits an error
/// if the block cannot be scheduled.
FailureOr<AppliedSchedule> applySchedule(func::FuncOp function,
                                         BlockScheduler &scheduler,
                                         const BlockSchedule &schedule,
                                         const SchedulingOptions &options);

/// Applies the schedule of `block`, which is of `function`, and emits the
/// remarks on it if remarks are enabled. Returns whether anything changed.
/// Emits an error if it cannot be found out what is exposed.
FailureOr<bool> applyDecision(func::FuncOp function, const DecidedBlock &block,
                              const SchedulingOptions &options);

/// That `schedule`, which needs least, is over its budget, by how much, and
/// what takes the memory.
std::string explainOverBudget(const BlockScheduler &scheduler,
                              const BlockSchedule &schedule);

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_TRANSFORMS_SCHEDULE_BLOCKSCHEDULER_H
