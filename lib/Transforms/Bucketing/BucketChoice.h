//===- BucketChoice.h - Choice of the buckets of a block --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lists the ways in which the collectives of a block can be merged: the
// buckets, their modes and costs, and the merged program. The bucketing passes
// and commsched-schedule choose from the same ways by the same comparison. They
// differ in the score: the passes simulate the merged program in the order
// closest to the original one, commsched-schedule schedules it. Only the last
// functions change the IR.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_TRANSFORMS_BUCKETING_BUCKETCHOICE_H
#define COMMSCHED_LIB_TRANSFORMS_BUCKETING_BUCKETCHOICE_H

#include "../AssumedFusion.h"
#include "CommSched/Analysis/Problem/BlockProblem.h"
#include "CommSched/CostModel/MeasuredTable.h"
#include "CommSched/Interfaces/CommSchedInterfaces.h"
#include "CommSched/Schedule/Bucketing/BucketedProblem.h"
#include "CommSched/Schedule/Bucketing/Bucketing.h"
#include "CommSched/Schedule/Step/StepScheduler.h"
#include "CommSched/Transforms/PassOptionEnums.h"
#include "MergeCollectives.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/GlobPattern.h"
#include <array>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

namespace mlir::commsched {

//===----------------------------------------------------------------------===//
// Plans
//===----------------------------------------------------------------------===//

// The collectives of sharded parameters belong to the entries of a plan, which
// run one after the other with the next one prefetched. The entries come from a
// plan written by hand, or follow from modules or sizes.

class BucketPlan {
public:
  /// Reads "layers.0;layers.1,layers.2;head": entries separated by semicolons,
  /// each a list of paths separated by commas. A path stands for a module and
  /// all below it, and may hold the wildcards of llvm::GlobPattern. Returns
  /// what is wrong with the text, as the end of an error message.
  static std::optional<std::string> parse(StringRef text, BucketPlan &plan);

  size_t getNumEntries() const { return entries.size(); }

  /// The text of an entry.
  StringRef getText(int32_t entry) const { return entries[entry].text; }

  /// The entry that names the module path, or one above it; -1 if none does.
  /// Emits an error at `location` if several entries do.
  FailureOr<int32_t> find(StringRef path, Location location) const;

private:
  struct Entry {
    std::string text;
    std::vector<llvm::GlobPattern> patterns;
  };

  std::vector<Entry> entries;
};

/// The collectives of one kind, in program order, are divided into so many
/// parts of equal length. The buckets of one part may have another size than
/// those of the next.
constexpr size_t numPlanParts = 8;

/// The rule that assigns collectives to entries.
struct PlanRule {
  /// By part, in percent.
  using Percents = std::array<int32_t, numPlanParts>;

  enum class Kind {
    /// The entries of a plan.
    Entries,
    /// Its module: `blocks` consecutive blocks are an entry, a block being what
    /// a number in the module's path counts, such as "layers.7"; with 0, each
    /// module directly inside a block. A module outside of all blocks is an
    /// entry of its own.
    Modules,
    /// Its size: as many collectives as add up to `percents` of what saturates
    /// their group.
    Bytes,
  };

  static PlanRule byModules(int32_t blocks) {
    PlanRule rule;
    rule.kind = Kind::Modules;
    rule.blocks = blocks;
    return rule;
  }
  static PlanRule bySize(int32_t percent) {
    PlanRule rule;
    rule.kind = Kind::Bytes;
    rule.percents.fill(percent);
    return rule;
  }

  bool operator==(const PlanRule &other) const {
    return std::tie(kind, blocks, percents, roomPercent, isCoalesced) ==
           std::tie(other.kind, other.blocks, other.percents, other.roomPercent,
                    other.isCoalesced);
  }
  bool operator!=(const PlanRule &other) const { return !(*this == other); }

  Kind kind = Kind::Entries;
  int32_t blocks = 1;
  Percents percents = {100, 100, 100, 100, 100, 100, 100, 100};
  /// For Kind::Bytes: a bucket has at most that part of the memory that is left
  /// where it is used, in percent; 0: memory does not matter.
  int32_t roomPercent = 0;
  /// Whether members travel without copies wherever they can, which takes no
  /// memory, even if that takes longer.
  bool isCoalesced = false;
};

/// The rule in words, for remarks.
std::string describe(const PlanRule &rule);

/// A place in the sequence of entries that the collectives of a group have.
struct PlanEntry {
  /// Numbers the groups.
  int32_t group = 0;
  /// Numbers the entries of one group in the order of the program. One entry
  /// may be several buckets, of different element types.
  int32_t index = 0;
};

/// Assigns the collectives of a program to the entries of a plan.
class PlanEntries {
public:
  /// `plan` is needed for Kind::Entries.
  explicit PlanEntries(PlanRule rule, const BucketPlan *plan = nullptr);

  /// The entry of the next collective of the program. `parameter` is what it
  /// gathers, or null: gathering a parameter again, as the backward pass does,
  /// begins an entry. `bytes` is its size, `capBytes` that of an entry by size.
  /// None if the rule does not apply to it, for the given `reason`. Emits an
  /// error if two entries of the plan name its module.
  FailureOr<std::optional<PlanEntry>> add(CollectiveOpInterface collective,
                                          Value parameter, int64_t bytes,
                                          int64_t capBytes,
                                          std::string &reason);

  /// By entry of the plan: whether a collective was found for it.
  ArrayRef<bool> getUsedEntries() const { return usedEntries; }

private:
  struct Scope {
    /// Distinguishes the entries that share a name.
    int32_t round = 0;
    int64_t bytes = 0;
  };

  FailureOr<int32_t> findName(CollectiveOpInterface collective,
                              std::string &reason);

  PlanRule rule;
  const BucketPlan *plan;
  SmallVector<bool> usedEntries;
  /// By the name of an entry, for Kind::Modules; by module, for Kind::Entries.
  llvm::StringMap<int32_t> nameOf;
  /// By group and name.
  DenseMap<std::pair<Attribute, int32_t>, Scope> scopes;
  /// By group, name and parameter: the round in which it was gathered last.
  DenseMap<std::pair<std::pair<Attribute, int32_t>, Value>, int32_t> gathered;
  /// By group, name and round.
  DenseMap<std::tuple<Attribute, int32_t, int32_t>, PlanEntry> entries;
  /// By group.
  DenseMap<Attribute, PlanEntry> lastEntries;
};

class FsdpAnalysis;
class OperationCosts;

//===----------------------------------------------------------------------===//
// Collectives that may be merged, as input of the solver (Bucketing.h)
//===----------------------------------------------------------------------===//

/// The criterion by which collectives are assigned to buckets.
enum class BucketGrouping {
  /// Their sizes.
  Size,
  /// The entries of a plan.
  Plan,
  /// A plan by the rule that makes the best program.
  AutomaticPlan,
};

/// The options of a bucketing pass, checked.
struct BucketingPassOptions {
  CollectiveKind kind = CollectiveKind::AllGather;
  /// How members may travel, in the order of preference: of several modes the
  /// cheapest is taken.
  SmallVector<BucketMode, 2> modes;
  /// By bucket index; the last entry stands for all further ones.
  std::vector<int64_t> capBytes;
  int64_t maxCount = std::numeric_limits<int64_t>::max();
  bool saturation = false;
  /// Whether every element keeps its place of a message that rounds by it.
  bool isBitwise = false;
  bool fsdpOnly = false;
  bool multiDtype = false;
  BucketGrouping grouping = BucketGrouping::Size;
  /// For BucketGrouping::Plan.
  BucketPlan plan;
};

/// A collective that may be merged with others.
struct MergeableCollective {
  CollectiveOpInterface op;
  schedule::NodeId node;
  /// How it may travel.
  SmallVector<BucketMode, 2> modes;
  /// Those with equal keys may travel together.
  Attribute key;
  /// The larger of what it sends and delivers.
  int64_t bytes = 0;
  /// From that size on its group gains little.
  int64_t saturatedBytes = 0;
  /// The memory that is left where it is used.
  int64_t roomBytes = std::numeric_limits<int64_t>::max();
  /// The gathered parameter, if there is exactly one.
  Value parameter;
};

/// A collective that stays unbucketed whatever the others are.
struct RefusedCollective {
  Operation *op;
  std::string reason;
  /// Whether it could be merged if elements might change their places.
  bool isForBitwise = false;
};

struct MergeableCollectives {
  /// In program order.
  std::vector<MergeableCollective> mergeable;
  std::vector<RefusedCollective> refused;
  /// Whether one with a wanted role is a bucket already.
  bool hasBucket = false;
};

/// The collectives of the pass's kind in a block. `fsdp` is null unless only
/// those with a role are wanted. Linear in the operations.
MergeableCollectives findMergeable(const BlockProblem &problem,
                                   const BucketingPassOptions &options,
                                   const FsdpAnalysis *fsdp,
                                   OperationCosts &costs);

/// Moves those that gather sharded parameters or reduce their gradients out of
/// `collectives`, which have the kind of the options. Linear in them.
MergeableCollectives takeSharded(MergeableCollectives &collectives,
                                 const BucketingPassOptions &options,
                                 const FsdpAnalysis &fsdp);

/// The input of a bucketing solver.
struct BucketCandidates {
  /// In program order.
  std::vector<schedule::BucketCandidate> candidates;
  schedule::BucketingOptions options;
  /// By key: the modes in which its members can travel together.
  std::vector<SmallVector<BucketMode, 2>> modes;
  /// By key, with a rule only.
  std::vector<PlanEntry> entries;
  /// By entry of the plan: whether it names a candidate.
  SmallVector<bool> usedEntries;
  /// Collectives that the rule does not apply to.
  std::vector<RefusedCollective> refused;
};

/// Assigns collectives to entries by `rule`; without one, keys and the sizes of
/// the options decide, and if the options group by size, keys and the sizes of
/// the rule. Emits an error if two entries of the plan name one module. Linear
/// in the collectives.
FailureOr<BucketCandidates>
makeCandidates(ArrayRef<MergeableCollective> collectives,
               const BucketingPassOptions &options, const PlanRule *rule);

//===----------------------------------------------------------------------===//
// Prices
//===----------------------------------------------------------------------===//

/// The mode and the cost of a bucket.
struct PricedBucket {
  BucketMode mode = BucketMode::Copy;
  schedule::BucketCost cost;
  /// The operations that its copy-in absorbs; cost.absorbed has the same.
  SmallVector<Operation *> casts;
  /// What the merged start has to be pinned to, if it does.
  std::optional<int64_t> pinnedNs;

  /// Sets `commsched.runtime_ns` of the merged start, if it has to be pinned.
  void pin(const MergedCollective &merged) const;
};

/// The collectives that start at these nodes of `problem`.
SmallVector<CollectiveOpInterface>
getMembers(const BlockProblem &problem, ArrayRef<schedule::NodeId> starts);

class BucketPricer {
public:
  /// Both have to live on. O(nodes).
  BucketPricer(const BlockProblem &problem, OperationCosts &costs);

  /// The first of the modes in which the members cost least, all on streams and
  /// in copies counted; the first of them if no cost is known. Copies are fused
  /// as commsched-assume-fusion fuses those of the merged program, if it has
  /// priced this one. Linear in the members and the uses of what they send
  /// and deliver.
  PricedBucket price(ArrayRef<schedule::NodeId> starts,
                     ArrayRef<BucketMode> modes);

private:
  std::optional<int64_t>
  getFusedCopyOutNs(ArrayRef<CollectiveOpInterface> members);
  int64_t fuseIntoCopyIn(ArrayRef<CollectiveOpInterface> members,
                         schedule::BucketCost &cost);

  const BlockProblem &problem;
  OperationCosts &costs;
  DenseMap<Operation *, schedule::NodeId> nodes;
  /// Of a program that commsched-assume-fusion has priced.
  std::optional<AssumedFusion> fusion;
};

//===----------------------------------------------------------------------===//
// Comparison
//===----------------------------------------------------------------------===//

/// The index in `merged` of the schedule that replaces `best` if each one that
/// is better than the best before it takes its place; none if `best` stays.
/// Merging takes memory, and moves what a simulation may be wrong about: the
/// gain has to be worthwhile.
std::optional<size_t> findBest(const schedule::StepSchedule &best,
                               ArrayRef<schedule::StepSchedule> merged,
                               int64_t limitBytes);

//===----------------------------------------------------------------------===//
// Choices
//===----------------------------------------------------------------------===//

/// Collectives of one kind, and how they may be merged.
struct MergeableKind {
  BucketingPassOptions options;
  MergeableCollectives collectives;
};

/// The collectives that commsched-schedule may merge.
struct MergeableSet {
  /// Of gathers and reductions those of sharded parameters come first, which
  /// are merged by a plan; all others by size.
  SmallVector<MergeableKind, 8> kinds;
  /// Whether the program has buckets already. Then it keeps those that it has.
  bool hasBucket = false;
};

/// The options of commsched-schedule on merging.
struct MergingOptions {
  /// How members may travel.
  BucketModeOption mode = BucketModeOption::Auto;
  /// Whether permutes, broadcasts and all-to-alls stay as they are.
  bool onlyGathersAndReductions = false;
  /// Whether what OperationCosts::roundsByPlace() keeps every element at its
  /// place of a message: it travels only side by side, whatever the mode, and
  /// not at all where the backend packs it.
  bool isBitwise = false;
};

/// Finds the collectives of `problem` that may share buckets. Linear in the
/// operations.
MergeableSet findMergeableSet(Block &block, const BlockProblem &problem,
                              const MergingOptions &options,
                              OperationCosts &costs);

/// The rules in words; each kind that may be merged by its own, if they differ.
std::string describeRules(ArrayRef<MergeableKind> kinds,
                          ArrayRef<PlanRule> rules);

/// One way to merge the collectives of a block.
struct BucketChoice {
  /// The criterion by which they are assigned to buckets, as text.
  std::string rule;
  BucketCandidates candidates;
  schedule::Bucketing bucketing;
  /// By bucket.
  std::vector<PricedBucket> prices;
  /// The merged program, if there are buckets. The problem that it was made of
  /// has to live on.
  std::optional<schedule::BucketedProblem> merged;
  /// For MergedUse::Run: the order of `merged` that is closest to that of the
  /// program.
  schedule::Order order;
};

/// The use of a merged program.
enum class MergedUse {
  /// It runs in the order of the choice. Buckets of a plan are prefetched.
  Run,
  /// It is scheduled, for which it has buffers.
  Schedule,
};

class BucketChooser {
public:
  /// All of them have to live on. O(nodes).
  BucketChooser(func::FuncOp function, const BlockProblem &problem,
                MergedUse use, OperationCosts &costs)
      : function(function), problem(problem), use(use), pricer(problem, costs) {
  }

  /// The buckets that `rules`, one for each kind, make of the collectives;
  /// without rules, keys and the sizes of the options decide. Emits an error if
  /// they make no program.
  FailureOr<BucketChoice> choose(ArrayRef<MergeableKind> kinds,
                                 ArrayRef<PlanRule> rules);

  /// The same in three steps: the buckets alone, their prices, and if there are
  /// buckets, the merged program. Several threads may form and merge at once.
  /// Error of merge(): the buckets make no program.
  FailureOr<BucketChoice> form(ArrayRef<MergeableKind> kinds,
                               ArrayRef<PlanRule> rules) const;
  void price(BucketChoice &choice);
  Status merge(BucketChoice &choice) const;

private:
  FailureOr<BucketCandidates> findCandidates(ArrayRef<MergeableKind> kinds,
                                             ArrayRef<PlanRule> rules) const;

  func::FuncOp function;
  const BlockProblem &problem;
  MergedUse use;
  BucketPricer pricer;
  /// By members and modes.
  std::map<std::pair<std::vector<schedule::NodeId>, SmallVector<BucketMode, 2>>,
           PricedBucket>
      prices;
};

/// Emits the error that a solver found no order for a block of `function`.
LogicalResult reportNoOrder(func::FuncOp function, const std::string &error);

//===----------------------------------------------------------------------===//
// Passes
//===----------------------------------------------------------------------===//

/// Forms and merges buckets in every block of `function` that holds
/// collectives. What is left unbucketed is left for good: running it again
/// changes nothing. Emits remarks. Returns whether anything changed.
FailureOr<bool> bucketCollectives(func::FuncOp function,
                                  const BucketingPassOptions &options,
                                  OperationCosts &costs);

/// The same in one block of `function`, without remarks.
FailureOr<bool> bucketCollectivesIn(Block &block, func::FuncOp function,
                                    const BucketingPassOptions &options,
                                    OperationCosts &costs);

//===----------------------------------------------------------------------===//
// Remarks
//===----------------------------------------------------------------------===//

/// The reasons for which collectives are in no bucket.
using UnbucketedReasons = DenseMap<Operation *, std::string>;

/// The solver's reason in words, for a candidate that is in no bucket.
std::string explainUnbucketed(const BlockProblem &problem,
                              const schedule::BucketAssignment &assignment);

/// Emits a remark `CollectiveAlone` on every collective of the block that has a
/// reason.
void remarkUnbucketed(func::FuncOp function, Block &block,
                      const UnbucketedReasons &reasons);

/// The reason of each collective of `mergeable` that is in no bucket of
/// `chosen`: it was refused; no other one may travel with it; a dependence
/// joins it to the nearest buckets with others that may; or the rule leaves it
/// out.
///
/// Linear in the operations, and a search for each unbucketed collective, which
/// costs what lies between it and the nearest buckets.
UnbucketedReasons explainUnbucketed(const BlockProblem &problem,
                                    const MergeableSet &mergeable,
                                    const BucketChoice &chosen);

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_TRANSFORMS_BUCKETING_BUCKETCHOICE_H
