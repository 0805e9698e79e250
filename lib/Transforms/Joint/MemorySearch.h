//===- MemorySearch.h - Search of a step that fits --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Builds the halves of partitions, measures and schedules them, and finds the
// shortest step within a number of bytes. The joint function stays as it is.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_TRANSFORMS_JOINT_MEMORYSEARCH_H
#define COMMSCHED_LIB_TRANSFORMS_JOINT_MEMORYSEARCH_H

#include "../Schedule/BlockScheduler.h"
#include "../Schedule/FrontierFile.h"
#include "CommSched/Analysis/Joint/JointFunction.h"
#include "CommSched/Partition/Classification.h"
#include "CommSched/Partition/PricedCut.h"
#include "CommSched/Report/StepReport.h"
#include "SplitFunction.h"
#include <map>

namespace mlir::commsched {

//===----------------------------------------------------------------------===//
// Partitions to choose from: the same whatever the memory is
//===----------------------------------------------------------------------===//

/// A partition of the list.
struct ListedPartition {
  /// Where it comes from, such as "memory at 64 ns/MiB".
  std::string origin;
  /// What becomes of gathered parameters.
  partition::CollectivePolicy gathers = partition::CollectivePolicy::Cost;
  partition::Split split;
  partition::StepEstimate estimate;
};

/// The list: minimum cuts by price. There is a family for each way to treat
/// gathered parameters (kept, gathered again where that is cheaper, always
/// gathered again) and each division of the forward into segments, whose inputs
/// have to be saved if the backward needs them; in a family the price of memory
/// rises, for the early values of the forward first, which are saved longest.
class PartitionList {
public:
  /// `joint`, whose costs are nanoseconds, must outlive the result; if it names
  /// what is saved, the list has that partition alone. Emits an error, at the
  /// operations at odds, if there is no partition.
  static FailureOr<PartitionList>
  create(const JointFunction &joint, partition::CollectivePolicy collectives);

  /// Whether the graph is so small that looking at the whole list takes no
  /// time.
  bool isSmall() const;
  /// Whether it is so small that there is time for changes of single values,
  /// and for scheduling what others seem to beat.
  bool isTiny() const;
  /// Whether it is so large that schedules take long, and partitions are
  /// compared by quick ones.
  bool isLarge() const;

  /// All of the list, without repetitions, and rungs of the ladder of
  /// commsched-partition-joint: for small graphs. Of tiny ones also changes of
  /// single values that improve the estimate.
  FailureOr<std::vector<const ListedPartition *>> getAll();

  /// Those with the shortest estimates within `bytes`: of a few families the
  /// first that is within; the shortest first. If no family is known to have
  /// one, the one with the least.
  FailureOr<std::vector<const ListedPartition *>> getAround(int64_t bytes);

private:
  /// A way to treat gathered parameters.
  struct Gathers {
    partition::CollectivePolicy policy;
    /// With the costs and policies of it.
    std::unique_ptr<partition::JointGraph> graph;
  };
  struct SolvedCut {
    partition::Split split;
    partition::StepEstimate estimate;
  };
  /// Partitions by the level of the price.
  struct Family {
    const Gathers *gathers;
    std::string name;
    /// By node: whether it is an input of a segment; none if there is one.
    std::vector<char> isInput;
    /// What was asked for, and all that was solved, most of it only to compare.
    std::map<int32_t, const ListedPartition *> byLevel = {};
    std::map<int32_t, SolvedCut> solved = {};
  };

  explicit PartitionList(const JointFunction &joint) : joint(&joint) {}

  void addFamilies(partition::CollectivePolicy policy);
  LogicalResult addLadder(const Gathers &gathers);
  /// The partitions whose estimates no other one beats in time and memory, the
  /// shortest first.
  std::vector<const ListedPartition *> findBestEstimates() const;
  void addNeighbor(const ListedPartition &listed, partition::NodeId node,
                   ArrayRef<const ListedPartition *> best);
  void addNeighbors();
  int32_t getNumPrices() const;
  FailureOr<const SolvedCut *> solve(Family &family, int32_t level) const;
  LogicalResult findPrice(Family &family, int64_t bytes, int32_t &index) const;
  FailureOr<std::vector<int32_t>> findPrices(int64_t bytes);
  LogicalResult findShare(Family &family, int64_t bytes, int32_t &level) const;
  partition::TreatmentPrices getPrices(const Family &family,
                                       int32_t level) const;
  FailureOr<const ListedPartition *> get(Family &family, int32_t level);
  const ListedPartition *add(std::string origin,
                             partition::CollectivePolicy gathers,
                             partition::Split split);

  const JointFunction *joint;
  /// The only partition, if there is one; there are no families then.
  const ListedPartition *fixed = nullptr;
  std::unique_ptr<partition::Classification> classes;
  std::unique_ptr<partition::StepEstimator> estimator;
  std::vector<std::unique_ptr<Gathers>> treatments;
  std::vector<Family> families;
  /// By node, from 0: the share of the forward that it belongs to.
  std::vector<int32_t> shares;
  /// By what is saved.
  std::map<std::vector<partition::NodeId>, ListedPartition> partitions;
  /// Whether getAll() has added all of them.
  bool isComplete = false;
};

//===----------------------------------------------------------------------===//
// Schedules of both halves
//===----------------------------------------------------------------------===//

/// What a step that runs both halves takes, whatever the order of each half is
/// for what is no peak.
struct PairCosts {
  /// The largest number of live bytes over both, in the order of the halves.
  int64_t peakBytes = 0;
  /// The most bytes that are live in the forward, and in the backward, beside
  /// those that a report on the half alone counts: a limit for the step less
  /// this is one for the half.
  int64_t besideBytes[2] = {0, 0};
  /// No orders of the two halves take less, in nanoseconds; collectives of one
  /// stream may change places.
  int64_t boundNs = 0;
  /// The computation of both halves, in nanoseconds.
  int64_t computeNs = 0;
};

/// What a step takes whose halves are scheduled.
struct PairSchedule {
  /// The limit that it was made for.
  int64_t limitBytes = 0;
  /// More than the limit if nothing that is known fits it.
  int64_t peakBytes = 0;
  /// What the allocator reserves, if the budget limits that and it was asked
  /// for.
  std::optional<int64_t> reservedBytes;
  int64_t stepNs = 0;
  int64_t exposedNs = 0;
  int64_t numCollectives = 0;

  bool fits() const { return peakBytes <= limitBytes; }
  /// Whether what the budget limits, live or reserved bytes, is within `bytes`.
  bool isWithin(int64_t bytes) const {
    return reservedBytes.value_or(peakBytes) <= bytes;
  }
};

/// A schedule of both halves, which the scheduler can apply that found it.
struct PairDecision {
  PairSchedule schedule;
  /// Of the forward and of the backward.
  std::vector<BlockSchedule> halves;
};

/// What schedules two halves, which it owns until they are released.
class PairScheduler {
public:
  /// Reads both halves, which take `costs`. `options` must outlive the result.
  /// Errors are those of BlockScheduler.
  static FailureOr<std::unique_ptr<PairScheduler>>
  create(OwnedHalves halves, const PairCosts &costs,
         const SchedulingOptions &options);

  /// Schedules both within `limitBytes`, at once; changes neither.
  FailureOr<PairDecision> schedule(int64_t limitBytes);

  /// Whether schedule() gives what it would give if it had not been called
  /// before.
  bool isAsNew(int64_t limitBytes) const;

  /// The halves are no longer erased with this.
  PartitionHalves release() { return owned.release(); }

  /// Applies a schedule to the halves, and emits the remarks on it. Emits an
  /// error if it cannot be found out what is exposed.
  LogicalResult apply(PairDecision decision);

  /// Applies a schedule to the halves of `joint` without remarks. Returns the
  /// bytes that the allocator of the options, which must have one, reserves for
  /// them. Errors are those of simulateHalves().
  FailureOr<int64_t> applyAndMeasureReserved(func::FuncOp joint,
                                             const PairDecision &decision,
                                             OperationCosts &costs);

private:
  PairScheduler(OwnedHalves owned, const PairCosts &costs,
                const SchedulingOptions &options)
      : owned(std::move(owned)), halves(this->owned.get()), costs(costs),
        options(options) {}

  func::FuncOp getHalf(unsigned half) {
    return half == 0 ? halves.forward : halves.backward;
  }
  FailureOr<BlockSchedule> scheduleHalf(unsigned half, int64_t limitBytes);
  /// Of `limitBytes` for the step, what is left for the half.
  int64_t getHalfLimit(unsigned half, int64_t limitBytes) const {
    return std::max<int64_t>(limitBytes - costs.besideBytes[half], 0);
  }

  /// Outlives the schedulers, which hold operations of it.
  OwnedHalves owned;
  PartitionHalves halves;
  PairCosts costs;
  const SchedulingOptions &options;
  /// Of the forward and of the backward.
  std::vector<std::unique_ptr<BlockScheduler>> schedulers;
};

/// What becomes of saved values.
struct Treatment {
  /// Whether they go to the host where computation hides that.
  bool offloads = false;
  /// How much of what can be in 8 bits is, by its bytes.
  int32_t quantizedEighths = 0;

  bool operator<(Treatment other) const {
    return std::tie(offloads, quantizedEighths) <
           std::tie(other.offloads, other.quantizedEighths);
  }
};

/// How halves are made of a partition.
struct HalvesOptions {
  PartitionNames names;
  /// Whether they are only measured: there are no remarks.
  bool isTrial = true;
  Treatment treatment;
  /// What the host takes at most of saved values.
  int64_t hostBytes = 0;
  /// Whether the backward computes again in the order of autograd.
  bool mimicsAutograd = true;
};

/// Creates the halves of `split`, or emits an error.
/// What is saved in 8 bits may go to the host as well.
FailureOr<OwnedHalves> createHalves(const JointFunction &working,
                                    const partition::Split &split,
                                    OperationCosts &costs,
                                    const HalvesOptions &options);

/// What the halves of `joint` take; sizes that are not known count as 0. Emits
/// an error if they cannot be scheduled. O(n log² n) in both.
FailureOr<PairCosts> computePairCosts(func::FuncOp joint,
                                      PartitionHalves halves,
                                      OperationCosts &costs);

/// The report on one function that the halves of `joint` are, without bounds.
/// Emits an error if it cannot be simulated.
FailureOr<StepReport>
simulateHalves(func::FuncOp joint, PartitionHalves halves,
               OperationCosts &costs,
               std::optional<schedule::SegmentKind> allocator);

/// A partition that was measured.
struct PartitionTrial {
  const ListedPartition *partition = nullptr;
  Treatment treatment;
  /// Before the halves are scheduled.
  PairCosts costs;

  std::string getOrigin() const;
};

/// A partition that was scheduled.
struct FittedTrial {
  const PartitionTrial *trial = nullptr;
  PairSchedule schedule;
};

/// The best of them, which can be applied.
struct FittedHalves {
  FittedTrial point;
  /// What has the halves.
  std::shared_ptr<PairScheduler> scheduler;
  PairDecision decision;
};

/// Brings halves into the form in which they are scheduled.
using PrepareHalves = function_ref<LogicalResult(PartitionHalves)>;

/// What a search chooses among, and how. All must outlive the search.
struct SearchInput {
  const JointFunction &working;
  PartitionList &list;
  const SchedulingOptions &scheduling;
  OperationCosts &costs;
  PrepareHalves prepare;
};

class MemorySearch : SearchInput {
public:
  struct Options {
    /// What the step may take.
    int64_t limitBytes = 0;
    /// Whether saved values may be in 8 bits.
    bool mayQuantize = false;
    /// What the host takes at most of saved values.
    int64_t hostBytes = 0;
    /// As in HalvesOptions.
    bool mimicsAutograd = true;
  };

  MemorySearch(const SearchInput &input, const Options &options)
      : SearchInput(input), options(options) {}

  /// Finds the shortest step within the limit of all that are known, or the one
  /// that needs least. Of a small function, the choice is among points that are
  /// the same for all limits, so that more memory never makes a step longer. If
  /// the budget limits what an allocator reserves, the limit of live bytes is
  /// lowered until that fits.
  LogicalResult run();

  /// Finds steps for limits all over what the partitions take.
  LogicalResult findFrontier();

  /// Finds the partition with the shortest bound of those whose peak is within
  /// the limit before they are scheduled, or with the lowest peak if none is.
  FailureOr<const PartitionTrial *> findUnscheduled();

  /// The best for the limit, of all that was found.
  const FittedHalves &getBest() const { return *best; }

  /// The points between which there is a choice, of all that were scheduled.
  FunctionFrontier makeFrontier(StringRef function) const;

  /// All that was measured, the shortest bound first, of equal ones that which
  /// does nothing to its saved values.
  std::vector<const PartitionTrial *> getMeasured() const;

private:
  FailureOr<OwnedHalves> makeHalves(const ListedPartition &partition,
                                    Treatment treatment);
  FailureOr<const PartitionTrial *> measure(const ListedPartition &partition,
                                            Treatment treatment);
  LogicalResult measureAround(int64_t bytes, Treatment treatment);
  LogicalResult measureAll(Treatment treatment);
  SmallVector<Treatment> listTreatments() const;
  /// A trial and a limit in bytes for its schedule.
  using LimitedTrial = std::pair<const PartitionTrial *, int64_t>;

  LogicalResult findWithinLimit();
  FailureOr<int64_t> computeReservedBytes();
  LogicalResult findReserved();
  LogicalResult measureFor(int64_t bytes);
  LogicalResult find(ArrayRef<int64_t> limits);
  std::vector<int64_t> listLimits() const;
  LogicalResult scheduleFirst(ArrayRef<int64_t> limits);
  FailureOr<std::shared_ptr<PairScheduler>>
  makeScheduler(const PartitionTrial &trial,
                const SchedulingOptions &scheduling);
  FailureOr<std::shared_ptr<PairScheduler>>
  getOrMakeScheduler(const LimitedTrial &wanted);
  PairSchedule keep(const PartitionTrial &trial,
                    const std::shared_ptr<PairScheduler> &scheduler,
                    PairDecision decision);
  LogicalResult scheduleAtOnce(ArrayRef<LimitedTrial> wanted);
  LogicalResult scheduleTrial(const PartitionTrial &trial);
  LogicalResult schedulePromising(int64_t bytes);
  FailureOr<bool> mayFit(const PartitionTrial &trial, int64_t bytes);
  LogicalResult scheduleCompletely(int64_t bytes);
  const PartitionTrial *getLeast() const;
  const FittedTrial *findBest(int64_t bytes) const;
  const FittedTrial *findPoint(const PartitionTrial &trial,
                               int64_t bytes) const;
  bool mayBeBest(const PartitionTrial &trial, int64_t bytes) const;
  std::vector<const PartitionTrial *> getPromising(int64_t bytes) const;

  Options options;
  /// By what is saved, and how.
  std::map<std::pair<std::vector<partition::NodeId>, Treatment>, PartitionTrial>
      trials;
  /// All that was scheduled.
  std::vector<FittedTrial> points;
  /// What quick schedules that need little take.
  DenseMap<const PartitionTrial *, int64_t> quickPeaks;
  /// What has scheduled a trial, and may again for other limits.
  DenseMap<const PartitionTrial *, std::shared_ptr<PairScheduler>> schedulers;
  std::optional<FittedHalves> best;
};

/// Searches with other options for steps that fit, where a search with
/// `options` has found `taken`, which does not, and says what they give: ";
/// 'joint' would fit with host-memory=2GiB in ...". There are up to thirteen
/// searches; of large functions, those that find nothing schedule one
/// partition.
FailureOr<std::string> findBudgetRemedies(const SearchInput &input,
                                          const MemorySearch::Options &options,
                                          const PairSchedule &taken);

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_TRANSFORMS_JOINT_MEMORYSEARCH_H
