//===- BucketChoice.cpp - Choice of the buckets of a block ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "BucketChoice.h"

#include "CommSched/Analysis/Fsdp/FsdpAnalysis.h"
#include "CommSched/Dialect/CommSchedAttributes.h"
#include "CommSched/Schedule/Bucketing/Bucketing.h"

using namespace mlir;
using namespace mlir::commsched;
using namespace mlir::commsched::schedule;

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
  bool isFusionAssumed = false;
  for (NodeId node = 0; node < problem.getProblem().numNodes(); ++node) {
    Operation *op = problem.getOperation(node);
    nodes[op] = node;
    isFusionAssumed |= isAssumed(op);
  }
  if (!isFusionAssumed)
    return;
  fusion.emplace(costs);
  fusion->decide(*problem.getOperation(0)->getBlock());
}

/// What the copy-out of a bucket takes where what reads a result may compute it
/// on the way, the transposition behind it included. None where a size is not
/// known.
std::optional<int64_t>
BucketPricer::getFusedCopyOutNs(ArrayRef<CollectiveOpInterface> members) {
  int64_t totalNs = 0;
  for (CollectiveOpInterface member : members) {
    Operation *wait = detail::getWait(member->getResult(0));
    std::optional<int64_t> time =
        wait ? fusion->getSlicesNs(wait) : std::nullopt;
    if (!time || llvm::AddOverflow(totalNs, *time, totalNs))
      return std::nullopt;
  }
  return totalNs;
}

/// Lets the copy-in of a bucket compute on the way what only its members read.
/// Returns what this takes without it.
int64_t BucketPricer::fuseIntoCopyIn(ArrayRef<CollectiveOpInterface> members,
                                     BucketCost &cost) {
  // Casts; all others are reached once.
  DenseSet<NodeId> known(cost.absorbed.begin(), cost.absorbed.end());
  int64_t totalNs = 0;
  for (CollectiveOpInterface member : members)
    for (Value operand : member->getOperands()) {
      Operation *op = operand.getDefiningOp();
      auto node = nodes.find(op);
      std::optional<int64_t> bytes = getStaticBytes(getSizedType(operand));
      if (node == nodes.end() || !bytes || !fusion->mayJoinCopyIn(op) ||
          problem.getProblem().kind(node->second) !=
              schedule::NodeKind::Compute ||
          known.contains(node->second))
        continue;
      int64_t ns = costs.getRuntimeNs(op);
      // It reads what `op` does in place of what `op` writes.
      int64_t copyNs = cost::computeTimeNs(costs.getTarget(), /*flops=*/0,
                                           cost::ElementKind::F32, 2 * *bytes);
      cost.copyInNs += std::max<int64_t>(ns - copyNs, 0);
      cost.absorbed.push_back(node->second);
      totalNs += ns;
    }
  return totalNs;
}

PricedBucket BucketPricer::price(ArrayRef<NodeId> starts,
                                 ArrayRef<BucketMode> modes) {
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
    if (fusion && mode == BucketMode::Copy)
      cost->copyOutNs = getFusedCopyOutNs(members).value_or(cost->copyOutNs);
    int64_t absorbedNs = 0;
    for (Operation *cast : casts) {
      absorbedNs += costs.getRuntimeNs(cast);
      cost->absorbed.push_back(nodes.at(cast));
    }
    if (fusion && cost->copyInNs > 0)
      absorbedNs += fuseIntoCopyIn(members, *cost);
    int64_t totalNs =
        cost->copyInNs + cost->collectiveNs + cost->copyOutNs - absorbedNs;
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

/// How collectives of that kind may travel, in the order of preference. What is
/// packed later is copied, if there is a copy-in for it.
static SmallVector<BucketMode, 2> getModes(const MergingOptions &options,
                                           CollectiveKind kind, bool isPacked) {
  if (isPacked && options.mode != BucketModeOption::Copy)
    return {BucketMode::Copy, BucketMode::Coalesced};
  if (options.mode == BucketModeOption::Coalesced)
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

/// Lowers the sizes that saturate a group to that of all that may travel
/// together, so that rules by size divide what there is.
static void limitSizes(MutableArrayRef<MergeableCollective> collectives) {
  DenseMap<Attribute, int64_t> totals;
  for (const MergeableCollective &collective : collectives)
    totals[collective.key] += collective.bytes;
  for (MergeableCollective &collective : collectives)
    collective.saturatedBytes =
        std::min(collective.saturatedBytes, totals[collective.key]);
}

/// Adds the collectives of one kind.
static void addKind(MergeableSet &set, const BlockProblem &problem,
                    CollectiveKind kind, const FsdpAnalysis &fsdp,
                    const MergingOptions &options, bool isPacked,
                    OperationCosts &costs) {
  MergeableKind rest;
  rest.options.kind = kind;
  rest.options.modes = getModes(options, kind, isPacked);
  rest.options.isBitwise = options.isBitwise;
  rest.options.capBytes = {std::numeric_limits<int64_t>::max()};
  rest.collectives =
      findMergeable(problem, rest.options, /*fsdp=*/nullptr, costs);
  if (gathersOrReduces(kind)) {
    MergeableKind &sharded = set.kinds.emplace_back();
    sharded.options = rest.options;
    sharded.options.grouping = BucketGrouping::AutomaticPlan;
    sharded.collectives = takeSharded(rest.collectives, sharded.options, fsdp);
    limitSizes(sharded.collectives.mergeable);
    set.hasBucket |= sharded.collectives.hasBucket;
  }
  limitSizes(rest.collectives.mergeable);
  set.kinds.push_back(std::move(rest));
}

MergeableSet mlir::commsched::findMergeableSet(Block &block,
                                               const BlockProblem &problem,
                                               const MergingOptions &options,
                                               OperationCosts &costs) {
  FsdpAnalysis fsdp(block);
  bool isPacked = hasPackedLaunches(block.getParentOp());
  MergeableSet set;
  for (CollectiveKind kind :
       {CollectiveKind::AllGather, CollectiveKind::ReduceScatter,
        CollectiveKind::AllReduce, CollectiveKind::AllToAll,
        CollectiveKind::Broadcast, CollectiveKind::Permute})
    if (gathersOrReduces(kind) || !options.onlyGathersAndReductions)
      addKind(set, problem, kind, fsdp, options, isPacked, costs);
  return set;
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
                              ArrayRef<PlanRule> rules) const {
  std::optional<BucketCandidates> candidates;
  for (auto [index, kind] : llvm::enumerate(kinds)) {
    FailureOr<BucketCandidates> made =
        makeCandidates(kind.collectives.mergeable, kind.options,
                       rules.empty() ? nullptr : &rules[index]);
    if (failed(made))
      return failure();
    if (!rules.empty() && kind.options.grouping == BucketGrouping::Size)
      addOwnEntries(*made);
    if (candidates)
      appendCandidates(*candidates, std::move(*made));
    else
      candidates = std::move(*made);
  }
  return std::move(*candidates);
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

Status BucketChooser::merge(BucketChoice &choice) const {
  if (choice.bucketing.buckets.empty())
    return Status::success();
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
    return Error{merged.error()};
  choice.merged = std::move(*merged);
  if (use == MergedUse::Schedule)
    return Status::success();
  Result<Order> order = choice.merged->place(placement);
  if (!order)
    return Error{order.error()};
  choice.order = std::move(*order);
  return Status::success();
}

std::string mlir::commsched::describeRules(ArrayRef<MergeableKind> kinds,
                                           ArrayRef<PlanRule> rules) {
  SmallVector<size_t> used;
  for (auto [index, kind] : llvm::enumerate(kinds))
    if (kind.collectives.mergeable.size() > 1)
      used.push_back(index);
  if (rules.empty() || used.empty())
    return "by size";
  if (llvm::all_of(used, [&](size_t index) {
        return rules[index] == rules[used.front()];
      }))
    return describe(rules[used.front()]);
  std::string text;
  for (size_t index : used)
    text += (text.empty() ? "" : ", ") +
            stringifyCollectiveKind(kinds[index].options.kind).str() +
            (kinds[index].options.grouping == BucketGrouping::Size
                 ? " "
                 : " of parameters ") +
            describe(rules[index]);
  return text;
}

FailureOr<BucketChoice> BucketChooser::form(ArrayRef<MergeableKind> kinds,
                                            ArrayRef<PlanRule> rules) const {
  BucketChoice choice;
  choice.rule = describeRules(kinds, rules);
  FailureOr<BucketCandidates> candidates = findCandidates(kinds, rules);
  if (failed(candidates))
    return failure();
  choice.candidates = std::move(*candidates);
  Result<Bucketing> bucketing =
      formBuckets(problem.getProblem(), choice.candidates.candidates,
                  choice.candidates.options);
  if (!bucketing)
    return emitError(func::FuncOp(function).getLoc(), "no buckets were found: ")
           << bucketing.error();
  choice.bucketing = std::move(*bucketing);
  return choice;
}

void BucketChooser::price(BucketChoice &choice) {
  for (const Bucket &bucket : choice.bucketing.buckets) {
    const SmallVector<BucketMode, 2> &modes =
        choice.candidates.modes[bucket.key];
    auto [known, isNew] =
        prices.try_emplace(std::make_pair(bucket.starts, modes));
    if (isNew)
      known->second = pricer.price(bucket.starts, modes);
    choice.prices.push_back(known->second);
  }
}

FailureOr<BucketChoice> BucketChooser::choose(ArrayRef<MergeableKind> kinds,
                                              ArrayRef<PlanRule> rules) {
  FailureOr<BucketChoice> choice = form(kinds, rules);
  if (failed(choice))
    return failure();
  price(*choice);
  if (Status status = merge(*choice); !status)
    return reportNoOrder(function, status.error());
  return choice;
}
