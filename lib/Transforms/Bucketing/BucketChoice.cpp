//===- BucketChoice.cpp - Choice of the buckets of a block ----------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BucketChoice.h"

#include "CommSched/Analysis/Fsdp/FsdpAnalysis.h"
#include "CommSched/Dialect/CommSchedAttributes.h"
#include "CommSched/Schedule/Bucketing/Bucketing.h"

using namespace mlir;
using namespace mlir::commsched;
using schedule::Bucket;
using schedule::BucketBuffers;
using schedule::BucketCandidate;
using schedule::BucketCost;
using schedule::BucketedProblem;
using schedule::Bucketing;
using schedule::BucketPlacement;
using schedule::NodeId;
using schedule::Order;
using schedule::StepSchedule;

//===----------------------------------------------------------------------===//
// Prices
//===----------------------------------------------------------------------===//

SmallVector<CollectiveOpInterface>
mlir::commsched::getMembers(const BlockProblem &problem,
                            ArrayRef<NodeId> starts) {
  return llvm::map_to_vector(starts, [&](NodeId start) {
    return cast<CollectiveOpInterface>(problem.getOperation(start));
  });
}

void PricedBucket::pin(const MergedCollective &merged) const {
  if (!pinnedNs)
    return;
  OpBuilder builder(merged.start);
  merged.start->setDiscardableAttr(runtimeNsAttrName,
                                   builder.getI64IntegerAttr(*pinnedNs));
}

BucketPricer::BucketPricer(const BlockProblem &problem, OperationCosts &costs)
    : problem(problem), costs(costs) {
  for (NodeId node = 0; node < problem.getProblem().numNodes(); ++node)
    nodes[problem.getOperation(node)] = node;
}

PricedBucket BucketPricer::price(ArrayRef<NodeId> starts,
                                 ArrayRef<BucketMode> modes) const {
  SmallVector<CollectiveOpInterface> members = getMembers(problem, starts);
  PricedBucket best;
  best.mode = modes.front();
  int64_t leastNs = std::numeric_limits<int64_t>::max();
  for (BucketMode mode : modes) {
    SmallVector<Operation *> casts = getAbsorbedCasts(members, mode);
    std::optional<BucketCost> cost =
        estimateBucket(costs, members, mode, casts);
    if (!cost)
      continue;
    int64_t totalNs = cost->copyInNs + cost->collectiveNs + cost->copyOutNs;
    for (Operation *cast : casts) {
      totalNs -= costs.getRuntimeNs(cast);
      cost->absorbed.push_back(nodes.at(cast));
    }
    if (totalNs >= leastNs)
      continue;
    leastNs = totalNs;
    best = {mode, std::move(*cost), std::move(casts), std::nullopt};
    if (hasKnownMember(costs, members))
      best.pinnedNs = best.cost.collectiveNs;
  }
  return best;
}

//===----------------------------------------------------------------------===//
// Comparison
//===----------------------------------------------------------------------===//

std::optional<size_t> mlir::commsched::findBest(const StepSchedule &best,
                                                ArrayRef<StepSchedule> merged,
                                                int64_t limitBytes) {
  std::optional<size_t> found;
  for (auto [index, candidate] : llvm::enumerate(merged))
    if (isBetter(candidate.rank(limitBytes),
                 (found ? merged[*found] : best).rank(limitBytes),
                 schedule::Gain::Worthwhile))
      found = index;
  return found;
}

//===----------------------------------------------------------------------===//
// Mergeable collectives
//===----------------------------------------------------------------------===//

/// How collectives of that kind may travel, in the order of preference.
static SmallVector<BucketMode, 2> getModes(const MergingOptions &options,
                                           CollectiveKind kind) {
  bool reduces = kind == CollectiveKind::ReduceScatter ||
                 kind == CollectiveKind::AllReduce;
  bool keepsPlaces = options.isBitwise && reduces;
  if (keepsPlaces || options.mode == BucketModeOption::Coalesced)
    return {BucketMode::Coalesced};
  if (options.mode == BucketModeOption::Copy)
    return {BucketMode::Copy};
  return {BucketMode::Copy, BucketMode::Coalesced};
}

/// Whether collectives of that kind may gather parameters or reduce gradients.
static bool gathersOrReduces(CollectiveKind kind) {
  return kind == CollectiveKind::AllGather ||
         kind == CollectiveKind::ReduceScatter ||
         kind == CollectiveKind::AllReduce;
}

/// Gathers and reductions of sharded parameters with `fsdp`, and else all; all
/// of the other kinds.
static MergeableSet findMergeableOf(const BlockProblem &problem,
                                    const FsdpAnalysis *fsdp,
                                    const MergingOptions &options,
                                    OperationCosts &costs) {
  MergeableSet set;
  set.isSharded = fsdp != nullptr;
  for (CollectiveKind kind :
       {CollectiveKind::AllGather, CollectiveKind::ReduceScatter,
        CollectiveKind::AllReduce, CollectiveKind::AllToAll,
        CollectiveKind::Broadcast, CollectiveKind::Permute}) {
    if (options.onlyGathersAndReductions && !gathersOrReduces(kind))
      continue;
    const FsdpAnalysis *wanted = gathersOrReduces(kind) ? fsdp : nullptr;
    MergeableKind &added = set.kinds.emplace_back();
    added.options.kind = kind;
    added.options.modes = getModes(options, kind);
    added.options.isBitwise = options.isBitwise;
    added.options.capBytes = {std::numeric_limits<int64_t>::max()};
    if (wanted)
      added.options.grouping = BucketGrouping::AutomaticPlan;
    else
      added.options.saturation = true;
    added.collectives = findMergeable(problem, added.options, wanted, costs);
    set.hasBucket |= added.collectives.hasBucket;
  }
  return set;
}

MergeableSet mlir::commsched::findMergeableSet(Block &block,
                                               const BlockProblem &problem,
                                               const MergingOptions &options,
                                               OperationCosts &costs) {
  FsdpAnalysis fsdp(block);
  MergeableSet set = findMergeableOf(problem, &fsdp, options, costs);
  bool isEmpty = llvm::all_of(set.kinds, [](const MergeableKind &kind) {
    return kind.options.grouping == BucketGrouping::Size ||
           kind.collectives.mergeable.empty();
  });
  if (!isEmpty || set.hasBucket)
    return set;
  return findMergeableOf(problem, /*fsdp=*/nullptr, options, costs);
}

//===----------------------------------------------------------------------===//
// Choices
//===----------------------------------------------------------------------===//

LogicalResult mlir::commsched::reportNoOrder(func::FuncOp function,
                                             const std::string &error) {
  return emitError(function.getLoc(), "no order was found: ") << error;
}

/// Appends candidates of another kind of collective, with keys and groups of
/// their own.
static void appendCandidates(BucketCandidates &candidates,
                             BucketCandidates added) {
  auto firstKey = static_cast<int32_t>(candidates.modes.size());
  int32_t firstGroup = 0;
  for (PlanEntry entry : candidates.entries)
    firstGroup = std::max(firstGroup, entry.group + 1);
  for (BucketCandidate candidate : added.candidates) {
    candidate.key += firstKey;
    candidates.candidates.push_back(candidate);
  }
  for (PlanEntry entry : added.entries)
    candidates.entries.push_back({firstGroup + entry.group, entry.index});
  candidates.options.maxCount =
      std::min(candidates.options.maxCount, added.options.maxCount);
  llvm::append_range(candidates.options.capBytes, added.options.capBytes);
  llvm::append_range(candidates.modes, added.modes);
  llvm::append_range(candidates.refused, added.refused);
}

/// Gives each key an entry in a group of its own, which no other entry precedes
/// or follows.
static void addOwnEntries(BucketCandidates &candidates) {
  for (size_t key = 0; key < candidates.modes.size(); ++key)
    candidates.entries.push_back({static_cast<int32_t>(key), 0});
}

/// The candidates of all kinds, in program order.
FailureOr<BucketCandidates>
BucketChooser::findCandidates(ArrayRef<MergeableKind> kinds,
                              const PlanRule *rule) {
  std::optional<BucketCandidates> candidates;
  for (const MergeableKind &kind : kinds) {
    bool isPlanned = rule && kind.options.grouping != BucketGrouping::Size;
    FailureOr<BucketCandidates> made = makeCandidates(
        kind.collectives.mergeable, kind.options, isPlanned ? rule : nullptr);
    if (failed(made))
      return failure();
    if (rule && !isPlanned)
      addOwnEntries(*made);
    if (candidates)
      appendCandidates(*candidates, std::move(*made));
    else
      candidates = std::move(*made);
  }
  llvm::sort(candidates->candidates,
             [](const BucketCandidate &a, const BucketCandidate &b) {
               return a.start < b.start;
             });
  return std::move(*candidates);
}

FailureOr<Bucketing> BucketChooser::form(const BucketCandidates &candidates) {
  Result<Bucketing> bucketing = formBuckets(
      problem.getProblem(), candidates.candidates, candidates.options);
  if (!bucketing) {
    emitError(function.getLoc(), "no buckets were found: ")
        << bucketing.error();
    return failure();
  }
  return std::move(*bucketing);
}

/// Returns the placement of buckets by the plan. Those of one entry are
/// prefetched, or waited for, together.
static BucketPlacement makePlacement(const BlockProblem &problem,
                                     const BucketCandidates &candidates,
                                     ArrayRef<Bucket> buckets) {
  BucketPlacement placement;
  // By group and entry.
  std::vector<std::vector<std::vector<int32_t>>> sequence;
  for (auto [index, bucket] : llvm::enumerate(buckets)) {
    PlanEntry entry = candidates.entries[bucket.key];
    sequence.resize(std::max<size_t>(sequence.size(), entry.group + 1));
    auto &entries = sequence[entry.group];
    entries.resize(std::max<size_t>(entries.size(), entry.index + 1));
    entries[entry.index].push_back(index);
  }
  auto isGather = [&](int32_t bucket) {
    auto start = cast<CollectiveOpInterface>(
        problem.getOperation(buckets[bucket].starts.front()));
    return start.getCollectiveKind() == CollectiveKind::AllGather;
  };
  for (const auto &entries : sequence)
    for (size_t index = 0; index + 1 < entries.size(); ++index)
      for (int32_t bucket : entries[index])
        for (int32_t next : entries[index + 1])
          (isGather(bucket) ? placement.startBeforeWait
                            : placement.waitAfterStart)
              .emplace_back(bucket, next);
  return placement;
}

/// Finds the merged program of a choice that has buckets, and its order.
LogicalResult BucketChooser::merge(BucketChoice &choice) {
  const schedule::Problem &program = problem.getProblem();
  std::vector<Bucket> buckets = choice.bucketing.buckets;
  BucketPlacement placement;
  if (use == MergedUse::Run && !choice.candidates.entries.empty()) {
    // The plan also says when those start that are alone in their entry.
    for (auto [candidate, assignment] : llvm::zip_equal(
             choice.candidates.candidates, choice.bucketing.assignments))
      if (assignment.bucket < 0)
        buckets.push_back({candidate.key, {candidate.start}, candidate.bytes});
    placement = makePlacement(problem, choice.candidates, buckets);
  }
  auto create = [&] {
    std::vector<BucketCost> costs;
    for (const PricedBucket &price : choice.prices)
      costs.push_back(price.cost);
    for (size_t index = costs.size(); index < buckets.size(); ++index)
      costs.emplace_back().collectiveNs =
          program.costNs(buckets[index].starts.front());
    return BucketedProblem::create(program, buckets, costs,
                                   use == MergedUse::Schedule
                                       ? BucketBuffers::Kept
                                       : BucketBuffers::LeftOut);
  };
  Result<BucketedProblem> merged = create();
  if (!merged) {
    // Another operation may overwrite what a cast reads before the bucket
    // starts, so that its copy-in cannot absorb the cast.
    for (PricedBucket &price : choice.prices) {
      price.casts.clear();
      price.cost.absorbed.clear();
    }
    merged = create();
  }
  if (!merged)
    return reportNoOrder(function, merged.error());
  Result<Order> order = merged->place(placement);
  if (!order)
    return reportNoOrder(function, order.error());
  choice.merged = std::move(*merged);
  choice.order = std::move(*order);
  return success();
}

FailureOr<BucketChoice> BucketChooser::choose(ArrayRef<MergeableKind> kinds,
                                              const PlanRule *rule) {
  BucketChoice choice;
  choice.rule = rule ? describe(*rule) : "by what saturates";
  FailureOr<BucketCandidates> candidates = findCandidates(kinds, rule);
  if (failed(candidates))
    return failure();
  choice.candidates = std::move(*candidates);
  FailureOr<Bucketing> bucketing = form(choice.candidates);
  if (failed(bucketing))
    return failure();
  choice.bucketing = std::move(*bucketing);
  for (const Bucket &bucket : choice.bucketing.buckets)
    choice.prices.push_back(
        pricer.price(bucket.starts, choice.candidates.modes[bucket.key]));
  if (!choice.prices.empty() && failed(merge(choice)))
    return failure();
  return choice;
}

FailureOr<std::vector<BucketChoice>>
BucketChooser::chooseAll(const MergeableSet &mergeable) {
  SmallVector<const PlanRule *> rules = {nullptr};
  if (mergeable.isSharded)
    rules = llvm::map_to_vector(getPlanRules(),
                                [](const PlanRule &rule) { return &rule; });
  std::vector<BucketChoice> choices;
  choices.reserve(rules.size());
  for (const PlanRule *rule : rules) {
    FailureOr<BucketChoice> choice = choose(mergeable.kinds, rule);
    if (failed(choice))
      return failure();
    auto isSame = [&](const BucketChoice &other) {
      return llvm::equal(choice->bucketing.buckets, other.bucketing.buckets,
                         [](const Bucket &a, const Bucket &b) {
                           return a.starts == b.starts;
                         });
    };
    if (choice->merged && llvm::none_of(choices, isSame))
      choices.push_back(std::move(*choice));
  }
  return choices;
}
