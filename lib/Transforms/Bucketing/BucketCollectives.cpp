//===- BucketCollectives.cpp - Merges collectives of a function -----------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BucketCollectives.h"

#include "../BlockScheduling.h"
#include "../MemoryBudget.h"
#include "../Remarks.h"
#include "BucketRemarks.h"
#include "CommSched/Analysis/BucketCosts.h"
#include "CommSched/Analysis/FsdpAnalysis.h"
#include "CommSched/Analysis/ScanningSymbolTables.h"
#include "CommSched/Analysis/TargetSpec.h"
#include "CommSched/Schedule/MemoryTimeline.h"
#include "CommSched/Schedule/OverlapPreservingBucketing.h"
#include "CommSched/Schedule/Simulator.h"

using namespace mlir;
using namespace mlir::commsched;
using ::commsched::Bucket;
using ::commsched::BucketCandidate;
using ::commsched::BucketCost;
using ::commsched::BucketedProblem;
using ::commsched::Bucketing;
using ::commsched::BucketPlacement;
using ::commsched::NodeId;
using ::commsched::Order;
using ::commsched::Problem;

/// By operation of a block.
using NodeMap = DenseMap<Operation *, NodeId>;

namespace {

/// What is to become of the collectives of a block.
struct Decision {
  BucketCandidates candidates;
  Bucketing bucketing;
  /// By bucket.
  SmallVector<BucketMode> modes;
  /// Only if there are buckets: the merged program, and its order.
  std::optional<BucketedProblem> program;
  Order order;
  /// What the merged program takes; without buckets, as long as can be.
  int64_t stepNs = std::numeric_limits<int64_t>::max();
};

/// How a bucket travels, and what that costs.
struct PricedMode {
  BucketMode mode = BucketMode::Copy;
  BucketCost cost;
};

/// Merges the collectives of one block, one round of buckets after the other.
class BlockBucketer {
public:
  BlockBucketer(func::FuncOp function, Block &block,
                BucketingPassOptions &options, OperationCosts &costs,
                SymbolTableCollection &symbolTables,
                SmallVectorImpl<bool> &usedEntries)
      : function(function), block(block), options(options), costs(costs),
        symbolTables(symbolTables), usedEntries(usedEntries) {}

  FailureOr<bool> run();

private:
  FailureOr<bool> runRound();
  FailureOr<Decision> decide(const BlockProblem &problem, const NodeMap &nodes,
                             const MergeableCollectives &collectives);
  FailureOr<Decision> decide(const BlockProblem &problem, const NodeMap &nodes,
                             ArrayRef<MergeableCollective> collectives,
                             const StepRule *rule);
  FailureOr<Bucketing> form(const BlockProblem &problem, const NodeMap &nodes,
                            const BucketCandidates &candidates);
  PricedMode choose(const BlockProblem &problem, const NodeMap &nodes,
                    ArrayRef<NodeId> starts, ArrayRef<BucketMode> modes);
  LogicalResult place(const BlockProblem &problem,
                      std::vector<BucketCost> prices, bool hasSteps,
                      Decision &decision);
  LogicalResult merge(const BlockProblem &problem, const Decision &decision);
  void noteAlone(const BlockProblem &problem, const Decision &decision,
                 ArrayRef<RefusedCollective> refused);

  func::FuncOp function;
  Block &block;
  BucketingPassOptions &options;
  OperationCosts &costs;
  SymbolTableCollection &symbolTables;
  /// By entry of the plan: whether it names a collective of the function.
  SmallVectorImpl<bool> &usedEntries;
  /// The starts of buckets.
  DenseSet<Operation *> made;
  /// Why collectives are alone; only if anybody wants to know.
  AloneReasons alone;
};

} // namespace

static SmallVector<CollectiveOpInterface>
getMembers(const BlockProblem &problem, ArrayRef<NodeId> starts) {
  return llvm::map_to_vector(starts, [&](NodeId start) {
    return cast<CollectiveOpInterface>(problem.getOperation(start));
  });
}

/// The mode in which the members cost least, of the first of several.
PricedMode BlockBucketer::choose(const BlockProblem &problem,
                                 const NodeMap &nodes, ArrayRef<NodeId> starts,
                                 ArrayRef<BucketMode> modes) {
  SmallVector<CollectiveOpInterface> members = getMembers(problem, starts);
  PricedMode best{modes.front(), {}};
  int64_t leastNs = std::numeric_limits<int64_t>::max();
  for (BucketMode mode : modes) {
    SmallVector<Operation *> casts = getAbsorbedCasts(members, mode);
    std::optional<BucketCost> cost =
        estimateBucket(costs, members, mode, casts);
    if (!cost)
      continue;
    int64_t totalNs = cost->copyInNs + cost->collectiveNs + cost->copyOutNs;
    for (Operation *cast : casts) {
      totalNs -= costs.getRuntimeNs(cast).value_or(0);
      cost->absorbed.push_back(nodes.lookup(cast));
    }
    if (totalNs >= leastNs)
      continue;
    leastNs = totalNs;
    best = {mode, std::move(*cost)};
  }
  return best;
}

FailureOr<Bucketing> BlockBucketer::form(const BlockProblem &problem,
                                         const NodeMap &nodes,
                                         const BucketCandidates &candidates) {
  DenseMap<NodeId, int32_t> keys;
  for (const BucketCandidate &candidate : candidates.candidates)
    keys[candidate.start] = candidate.key;
  auto getCost = [&](const std::vector<NodeId> &starts) {
    int32_t key = keys.lookup(starts.front());
    return choose(problem, nodes, starts, candidates.modes[key]).cost;
  };
  ::commsched::Result<Bucketing> bucketing =
      options.preserveOverlap
          ? formOverlapPreservingBuckets(
                problem.getProblem(), candidates.candidates, candidates.options,
                candidates.crossesNodes, getCost)
          : formBuckets(problem.getProblem(), candidates.candidates,
                        candidates.options);
  if (!bucketing) {
    emitError(function.getLoc(), "no buckets were found: ")
        << bucketing.error();
    return failure();
  }
  return std::move(*bucketing);
}

/// What the plan says about the places of its steps. The buckets of one step
/// are prefetched, or waited for, together.
static BucketPlacement makePlacement(const BucketCandidates &candidates,
                                     ArrayRef<Bucket> buckets, bool isGather) {
  BucketPlacement placement;
  // By group and step.
  std::vector<std::vector<std::vector<int32_t>>> sequence;
  for (auto [index, bucket] : llvm::enumerate(buckets)) {
    PlanStep place = candidates.steps[bucket.key];
    sequence.resize(std::max<size_t>(sequence.size(), place.group + 1));
    auto &steps = sequence[place.group];
    steps.resize(std::max<size_t>(steps.size(), place.step + 1));
    steps[place.step].push_back(index);
  }
  auto &wishes =
      isGather ? placement.startBeforeWait : placement.waitAfterStart;
  for (const auto &steps : sequence)
    for (size_t step = 0; step + 1 < steps.size(); ++step)
      for (int32_t bucket : steps[step])
        for (int32_t next : steps[step + 1])
          wishes.emplace_back(bucket, next);
  return placement;
}

static LogicalResult reportNoOrder(func::FuncOp function,
                                   const std::string &error) {
  return emitError(function.getLoc(), "no order was found: ") << error;
}

/// Finds the order of the program with the buckets of `decision`, whose costs
/// are `prices`, and how long it takes.
LogicalResult BlockBucketer::place(const BlockProblem &problem,
                                   std::vector<BucketCost> prices,
                                   bool hasSteps, Decision &decision) {
  const Problem &program = problem.getProblem();
  std::vector<Bucket> buckets = decision.bucketing.buckets;
  BucketPlacement placement;
  if (hasSteps) {
    // The steps also say when those start that are alone in theirs.
    for (auto [candidate, fate] : llvm::zip_equal(
             decision.candidates.candidates, decision.bucketing.fates)) {
      if (fate.bucket >= 0)
        continue;
      buckets.push_back({candidate.key, {candidate.start}, candidate.bytes});
      prices.emplace_back().collectiveNs = program.costNs(candidate.start);
    }
    placement =
        makePlacement(decision.candidates, buckets,
                      options.kind == ::commsched::CollectiveKind::AllGather);
  }
  ::commsched::Result<BucketedProblem> bucketed =
      BucketedProblem::create(program, buckets, prices);
  if (!bucketed)
    return reportNoOrder(function, bucketed.error());
  ::commsched::Result<Order> order = bucketed->place(placement);
  if (!order)
    return reportNoOrder(function, order.error());
  decision.stepNs = simulate(bucketed->getProblem(), *order)->stepNs;
  decision.program = std::move(*bucketed);
  decision.order = std::move(*order);
  return success();
}

FailureOr<Decision>
BlockBucketer::decide(const BlockProblem &problem, const NodeMap &nodes,
                      ArrayRef<MergeableCollective> collectives,
                      const StepRule *rule) {
  Decision decision;
  FailureOr<BucketCandidates> candidates =
      makeCandidates(collectives, options, rule, symbolTables);
  if (failed(candidates))
    return failure();
  decision.candidates = std::move(*candidates);
  FailureOr<Bucketing> bucketing = form(problem, nodes, decision.candidates);
  if (failed(bucketing))
    return failure();
  decision.bucketing = std::move(*bucketing);
  if (decision.bucketing.buckets.empty())
    return decision;
  std::vector<BucketCost> prices;
  for (const Bucket &bucket : decision.bucketing.buckets) {
    PricedMode priced = choose(problem, nodes, bucket.starts,
                               decision.candidates.modes[bucket.key]);
    decision.modes.push_back(priced.mode);
    prices.push_back(std::move(priced.cost));
  }
  if (failed(place(problem, std::move(prices), rule != nullptr, decision)))
    return failure();
  return decision;
}

/// Leaves all collectives alone.
static void dropBuckets(const BlockProblem &problem, Decision &decision,
                        StringRef reason) {
  for (auto [candidate, fate] : llvm::zip_equal(decision.candidates.candidates,
                                                decision.bucketing.fates))
    if (fate.bucket >= 0)
      decision.candidates.refused.push_back(
          {problem.getOperation(candidate.start), reason.str()});
  decision.candidates.candidates.clear();
  decision.bucketing = {};
}

/// The decision by the rule with which the program is shortest. If there is
/// only one rule, or costs are not known, that is the first.
FailureOr<Decision>
BlockBucketer::decide(const BlockProblem &problem, const NodeMap &nodes,
                      const MergeableCollectives &collectives) {
  ArrayRef<StepRule> rules = options.stepRules;
  if (rules.empty())
    return decide(problem, nodes, collectives.mergeable, /*rule=*/nullptr);
  if (rules.size() == 1 || problem.getUnpriced())
    return decide(problem, nodes, collectives.mergeable, &rules.front());
  if (collectives.hasBucket) {
    Decision nothing;
    for (const MergeableCollective &collective : collectives.mergeable)
      nothing.candidates.refused.push_back(
          {collective.op, "the program has been put into steps before"});
    return nothing;
  }

  const Problem &program = problem.getProblem();
  int64_t incomingNs = simulate(program, program.programOrder())->stepNs;
  // Merging takes memory, and moves what a simulation may be wrong about: not
  // for less than a thousandth.
  int64_t worthwhileNs = incomingNs / 1000 + 1;
  Decision best;
  const StepRule *bestRule = nullptr;
  std::string account = "as it is " + std::to_string(incomingNs);
  for (const StepRule &rule : rules) {
    FailureOr<Decision> decision =
        decide(problem, nodes, collectives.mergeable, &rule);
    if (failed(decision))
      return failure();
    if (decision->program)
      account += ", " + describe(rule) + " " + std::to_string(decision->stepNs);
    if (bestRule && decision->stepNs > best.stepNs - worthwhileNs)
      continue;
    best = std::move(*decision);
    bestRule = &rule;
  }
  if (!best.program)
    return best;
  if (best.stepNs > incomingNs - worthwhileNs)
    dropBuckets(problem, best, "no steps make the program shorter");
  else if (areRemarksEnabled(function))
    remark::passed(function.getLoc(),
                   makeRemark("StepsChosen", function.getSymName()))
        << "steps " + describe(*bestRule) +
               " make the shortest program: " + account
        << remark::metric("StepNs", best.stepNs);
  return best;
}

/// Keeps for the account why collectives are alone. The first reason counts: in
/// later rounds its partners are gone.
void BlockBucketer::noteAlone(const BlockProblem &problem,
                              const Decision &decision,
                              ArrayRef<RefusedCollective> refused) {
  for (const RefusedCollective &collective :
       llvm::concat<const RefusedCollective>(
           refused, ArrayRef(decision.candidates.refused)))
    if (!made.contains(collective.op))
      alone.try_emplace(collective.op, collective.reason);
  for (auto [candidate, fate] : llvm::zip_equal(decision.candidates.candidates,
                                                decision.bucketing.fates)) {
    Operation *op = problem.getOperation(candidate.start);
    if (fate.bucket < 0)
      alone.try_emplace(op, explainAlone(problem, fate));
    else
      alone.erase(op);
  }
}

LogicalResult BlockBucketer::merge(const BlockProblem &problem,
                                   const Decision &decision) {
  ::commsched::Result<Order> order = decision.program->expand(decision.order);
  if (!order)
    return reportNoOrder(function, order.error());
  const Problem &program = problem.getProblem();
  if (!problem.getUnsized())
    keepBaselineBytes(
        function, block,
        simulateMemory(program, program.programOrder())->peakBytes);
  problem.apply(*order);
  IRRewriter rewriter(function.getContext());
  for (auto [bucket, mode] :
       llvm::zip_equal(decision.bucketing.buckets, decision.modes)) {
    if (areRemarksEnabled(function))
      remarkBucket(function, problem, bucket, mode);
    made.insert(mergeCollectives(rewriter, getMembers(problem, bucket.starts),
                                 mode, options.multiDtype)
                    .start);
  }
  return success();
}

FailureOr<bool> BlockBucketer::runRound() {
  // Costs take longer to tell than all the rest: only for who looks at them.
  bool isPriced = options.preserveOverlap || options.stepRules.size() > 1;
  FailureOr<BlockProblem> problem = BlockProblem::create(
      block,
      [&](Operation *op) {
        return isPriced ? costs.getRuntimeNs(op) : std::optional<int64_t>(0);
      },
      CollectiveOrder::Free);
  if (failed(problem))
    return failure();
  // Only overlap needs all costs.
  std::optional<std::string> reason = getUnpricedReason(*problem, costs);
  if (reason && options.preserveOverlap) {
    remarkBlockKept(function, problem->getUnpriced()->getLoc(), *reason);
    return false;
  }
  std::optional<FsdpAnalysis> fsdp;
  if (options.fsdpOnly || !options.stepRules.empty())
    fsdp.emplace(block);
  MergeableCollectives collectives =
      findMergeable(*problem, options, fsdp ? &*fsdp : nullptr, costs);
  NodeMap nodes;
  for (NodeId node = 0; node < problem->getProblem().numNodes(); ++node)
    nodes[problem->getOperation(node)] = node;
  FailureOr<Decision> decision = decide(*problem, nodes, collectives);
  if (failed(decision))
    return failure();
  for (auto [entry, isUsed] : llvm::enumerate(decision->candidates.usedEntries))
    usedEntries[entry] |= isUsed;
  if (areRemarksEnabled(function))
    noteAlone(*problem, *decision, collectives.refused);
  if (decision->bucketing.buckets.empty())
    return false;
  if (failed(merge(*problem, *decision)))
    return failure();
  return true;
}

FailureOr<bool> BlockBucketer::run() {
  // Every round but the last makes a bucket, so there is an end. The last one
  // is what a second run of the pass would do: nothing. (Where the best of
  // several rules was applied, that is known beforehand.)
  bool isChanged = false;
  while (true) {
    FailureOr<bool> changed = runRound();
    if (failed(changed))
      return failure();
    isChanged |= *changed;
    if (!*changed || options.stepRules.size() > 1)
      break;
  }
  remarkAlone(function, block, alone);
  return isChanged;
}

static bool hasCollectives(Block &block, ::commsched::CollectiveKind kind) {
  return llvm::any_of(block, [&](Operation &op) {
    auto collective = dyn_cast<CollectiveOpInterface>(op);
    return collective && collective.getCollectiveKind() == kind;
  });
}

FailureOr<bool>
mlir::commsched::bucketCollectives(func::FuncOp function,
                                   BucketingPassOptions &options) {
  FailureOr<::commsched::Target> target = getTarget(function);
  if (failed(target))
    return failure();
  ScanningSymbolTables symbolTables;
  OperationCosts costs(*target, options.profile.get(), symbolTables);
  SmallVector<bool> usedEntries(options.plan.getNumEntries());
  bool isAny = false, changed = false;
  for (Block *block : getBlocksWithCollectives(function)) {
    // A scheduling problem is more work than to see that there is nothing to
    // do.
    if (!hasCollectives(*block, options.kind))
      continue;
    isAny = true;
    FailureOr<bool> blockChanged =
        BlockBucketer(function, *block, options, costs, symbolTables,
                      usedEntries)
            .run();
    if (failed(blockChanged))
      return failure();
    changed |= *blockChanged;
  }
  if (isAny && areRemarksEnabled(function))
    remarkUnusedEntries(function, options.plan, usedEntries);
  return changed;
}
