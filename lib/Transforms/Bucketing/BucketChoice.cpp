//===- BucketChoice.cpp - Choice of the buckets of a block ----------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BucketChoice.h"

#include "../Remarks.h"
#include "CommSched/Analysis/Fsdp/FsdpAnalysis.h"
#include "CommSched/Schedule/Bucketing/Bucketing.h"
#include "CommSched/Schedule/Model/MemoryTimeline.h"
#include "CommSched/Schedule/Model/ProblemTransforms.h"
#include "CommSched/Schedule/Model/Simulator.h"
#include "CommSched/Schedule/Model/Verify.h"

using namespace mlir;
using namespace mlir::commsched;
using cost::CollectiveKind;
using schedule::Bucket;
using schedule::BucketBuffers;
using schedule::BucketCandidate;
using schedule::BucketCost;
using schedule::BucketedProblem;
using schedule::Bucketing;
using schedule::BucketingOptions;
using schedule::BucketPlacement;
using schedule::NodeId;
using schedule::noNode;
using schedule::Order;
using schedule::Problem;
using schedule::StepSchedule;
using schedule::StepSchedulerOptions;
using schedule::Timeline;

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
      totalNs -= costs.getRuntimeNs(cast).value_or(0);
      cost->absorbed.push_back(nodes.at(cast));
    }
    if (totalNs >= leastNs)
      continue;
    leastNs = totalNs;
    best = {mode, std::move(*cost), std::move(casts)};
  }
  return best;
}

//===----------------------------------------------------------------------===//
// Decisions by size or plan
//===----------------------------------------------------------------------===//

BucketDecider::BucketDecider(func::FuncOp function, const BlockProblem &problem,
                             BucketingPassOptions &options,
                             OperationCosts &costs,
                             SymbolTableCollection &symbolTables)
    : function(function), problem(problem), options(options),
      pricer(problem, costs), symbolTables(symbolTables) {}

FailureOr<Bucketing> BucketDecider::form(const BucketCandidates &candidates) {
  DenseMap<NodeId, int32_t> keys;
  for (const BucketCandidate &candidate : candidates.candidates)
    keys[candidate.start] = candidate.key;
  auto getCost = [&](const std::vector<NodeId> &starts) {
    int32_t key = keys.lookup(starts.front());
    return pricer.price(starts, candidates.modes[key]).cost;
  };
  Result<Bucketing> bucketing =
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

LogicalResult mlir::commsched::reportNoOrder(func::FuncOp function,
                                             const std::string &error) {
  return emitError(function.getLoc(), "no order was found: ") << error;
}

/// Finds the order of the program with the buckets of `decision`, whose costs
/// are `prices`, and how long it takes.
LogicalResult BucketDecider::place(std::vector<BucketCost> prices,
                                   bool hasSteps, BucketDecision &decision) {
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
    placement = makePlacement(decision.candidates, buckets,
                              options.kind == cost::CollectiveKind::AllGather);
  }
  Result<BucketedProblem> bucketed =
      BucketedProblem::create(program, buckets, prices);
  if (!bucketed)
    return reportNoOrder(function, bucketed.error());
  Result<Order> order = bucketed->place(placement);
  if (!order)
    return reportNoOrder(function, order.error());
  decision.stepNs = simulate(bucketed->getProblem(), *order)->stepNs;
  decision.program = std::move(*bucketed);
  decision.order = std::move(*order);
  return success();
}

FailureOr<BucketDecision>
BucketDecider::decide(ArrayRef<MergeableCollective> collectives,
                      const StepRule *rule) {
  BucketDecision decision;
  FailureOr<BucketCandidates> candidates =
      makeCandidates(collectives, options, rule, symbolTables);
  if (failed(candidates))
    return failure();
  decision.candidates = std::move(*candidates);
  FailureOr<Bucketing> bucketing = form(decision.candidates);
  if (failed(bucketing))
    return failure();
  decision.bucketing = std::move(*bucketing);
  if (decision.bucketing.buckets.empty())
    return decision;
  std::vector<BucketCost> prices;
  for (const Bucket &bucket : decision.bucketing.buckets) {
    PricedBucket priced =
        pricer.price(bucket.starts, decision.candidates.modes[bucket.key]);
    decision.modes.push_back(priced.mode);
    prices.push_back(std::move(priced.cost));
  }
  if (failed(place(std::move(prices), rule != nullptr, decision)))
    return failure();
  return decision;
}

/// Leaves all collectives alone.
static void dropBuckets(const BlockProblem &problem, BucketDecision &decision,
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
FailureOr<BucketDecision>
BucketDecider::decide(const MergeableCollectives &collectives) {
  ArrayRef<StepRule> rules = options.stepRules;
  if (rules.empty())
    return decide(collectives.mergeable, /*rule=*/nullptr);
  if (rules.size() == 1 || problem.getUnpriced())
    return decide(collectives.mergeable, &rules.front());
  if (collectives.hasBucket) {
    BucketDecision nothing;
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
  BucketDecision best;
  const StepRule *bestRule = nullptr;
  std::string account = "as it is " + std::to_string(incomingNs);
  for (const StepRule &rule : rules) {
    FailureOr<BucketDecision> decision = decide(collectives.mergeable, &rule);
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

//===----------------------------------------------------------------------===//
// Alternatives for the scheduler
//===----------------------------------------------------------------------===//

/// Those of sharded parameters with `fsdp`, and else all.
static MergeableSet
findMergeableSet(const BlockProblem &problem, const FsdpAnalysis *fsdp,
                 bool isBitwise, OperationCosts &costs,
                 std::shared_ptr<const cost::MeasuredTable> profile) {
  MergeableSet set;
  set.hasSteps = fsdp != nullptr;
  for (CollectiveKind kind :
       {CollectiveKind::AllGather, CollectiveKind::ReduceScatter,
        CollectiveKind::AllReduce}) {
    MergeableSet::Kind &added = set.kinds.emplace_back();
    added.options.kind = kind;
    added.options.modes = {BucketMode::Copy, BucketMode::Coalesced};
    if (isBitwise && kind != CollectiveKind::AllGather)
      added.options.modes = {BucketMode::Coalesced};
    added.options.capBytes = {std::numeric_limits<int64_t>::max()};
    if (fsdp)
      added.options.stepRules = {StepRule()};
    else
      added.options.saturation = true;
    added.options.profile = profile;
    added.collectives = findMergeable(problem, added.options, fsdp, costs);
    set.hasBucket |= added.collectives.hasBucket;
  }
  return set;
}

MergeableSet mlir::commsched::findMergeableSet(
    Block &block, const BlockProblem &problem, bool isBitwise,
    OperationCosts &costs, std::shared_ptr<const cost::MeasuredTable> profile) {
  FsdpAnalysis fsdp(block);
  MergeableSet set =
      ::findMergeableSet(problem, &fsdp, isBitwise, costs, profile);
  bool isEmpty = llvm::all_of(set.kinds, [](const MergeableSet::Kind &kind) {
    return kind.collectives.mergeable.empty();
  });
  if (!isEmpty || set.hasBucket)
    return set;
  return ::findMergeableSet(problem, /*fsdp=*/nullptr, isBitwise, costs,
                            profile);
}

namespace {

class AlternativeMaker {
public:
  AlternativeMaker(func::FuncOp function, const BlockProblem &problem,
                   MergeableSet &mergeable, OperationCosts &costs,
                   SymbolTableCollection &symbolTables)
      : function(function), problem(problem), mergeable(mergeable),
        pricer(problem, costs), symbolTables(symbolTables) {}

  /// None if nothing is merged.
  FailureOr<std::optional<BucketAlternative>> make(const StepRule *rule);

private:
  /// What a solver is asked about all kinds of collectives at once.
  struct Question {
    std::vector<BucketCandidate> candidates;
    BucketingOptions options;
    /// By key.
    SmallVector<SmallVector<BucketMode, 2>> modes;
  };

  FailureOr<Question> ask(const StepRule *rule);
  Result<BucketedProblem> merge(const BucketAlternative &alternative) const;

  func::FuncOp function;
  const BlockProblem &problem;
  MergeableSet &mergeable;
  BucketPricer pricer;
  SymbolTableCollection &symbolTables;
};

} // namespace

FailureOr<AlternativeMaker::Question>
AlternativeMaker::ask(const StepRule *rule) {
  Question question;
  for (MergeableSet::Kind &kind : mergeable.kinds) {
    FailureOr<BucketCandidates> candidates = makeCandidates(
        kind.collectives.mergeable, kind.options, rule, symbolTables);
    if (failed(candidates))
      return failure();
    int32_t firstKey = static_cast<int32_t>(question.modes.size());
    for (BucketCandidate candidate : candidates->candidates) {
      candidate.key += firstKey;
      question.candidates.push_back(candidate);
    }
    llvm::append_range(question.options.capBytes, candidates->options.capBytes);
    llvm::append_range(question.modes, candidates->modes);
  }
  llvm::sort(question.candidates,
             [](const BucketCandidate &a, const BucketCandidate &b) {
               return a.start < b.start;
             });
  return question;
}

Result<BucketedProblem>
AlternativeMaker::merge(const BucketAlternative &alternative) const {
  std::vector<schedule::BucketCost> costs;
  for (const PricedBucket &price : alternative.prices)
    costs.push_back(price.cost);
  return BucketedProblem::create(problem.getProblem(), alternative.buckets,
                                 costs, BucketBuffers::Kept);
}

FailureOr<std::optional<BucketAlternative>>
AlternativeMaker::make(const StepRule *rule) {
  FailureOr<Question> question = ask(rule);
  if (failed(question))
    return failure();
  Result<schedule::Bucketing> bucketing = formBuckets(
      problem.getProblem(), question->candidates, question->options);
  if (!bucketing)
    return reportNoOrder(function, bucketing.error());
  if (bucketing->buckets.empty())
    return std::optional<BucketAlternative>();
  BucketAlternative made;
  made.rule = rule ? describe(*rule) : "by what saturates";
  made.buckets = std::move(bucketing->buckets);
  for (const Bucket &bucket : made.buckets)
    made.prices.push_back(
        pricer.price(bucket.starts, question->modes[bucket.key]));
  Result<BucketedProblem> merged = merge(made);
  if (!merged) {
    // Reading what casts have read may contradict who overwrites it.
    for (PricedBucket &price : made.prices) {
      price.casts.clear();
      price.cost.absorbed.clear();
    }
    merged = merge(made);
  }
  if (!merged)
    return reportNoOrder(function, merged.error());
  Result<Order> order = merged->place();
  if (!order)
    return reportNoOrder(function, order.error());
  made.merged = std::move(*merged);
  made.numbering = std::move(*order);
  made.program = renumber(made.merged.getProblem(), made.numbering);
  return std::optional(std::move(made));
}

FailureOr<std::vector<BucketAlternative>>
mlir::commsched::listBucketAlternatives(func::FuncOp function,
                                        const BlockProblem &problem,
                                        MergeableSet &mergeable,
                                        OperationCosts &costs,
                                        SymbolTableCollection &symbolTables) {
  using Kind = StepRule::Kind;
  static constexpr StepRule rules[] = {
      {Kind::Modules, 1, 0}, {Kind::Modules, 0, 0}, {Kind::Bytes, 0, 25},
      {Kind::Bytes, 0, 50},  {Kind::Bytes, 0, 100}, {Kind::Bytes, 0, 200}};
  AlternativeMaker maker(function, problem, mergeable, costs, symbolTables);
  std::vector<BucketAlternative> alternatives;
  SmallVector<const StepRule *> tried = {nullptr};
  if (mergeable.hasSteps)
    tried = llvm::map_to_vector(llvm::ArrayRef(rules),
                                [](const StepRule &rule) { return &rule; });
  for (const StepRule *rule : tried) {
    FailureOr<std::optional<BucketAlternative>> made = maker.make(rule);
    if (failed(made))
      return failure();
    auto isSame = [&](const BucketAlternative &other) {
      return llvm::equal((*made)->buckets, other.buckets,
                         [](const Bucket &a, const Bucket &b) {
                           return a.starts == b.starts;
                         });
    };
    if (*made && llvm::none_of(alternatives, isSame))
      alternatives.push_back(std::move(**made));
  }
  return alternatives;
}

bool mlir::commsched::isBetter(const StepSchedule &a, const StepSchedule &b,
                               int64_t limitBytes) {
  if (a.fits(limitBytes) != b.fits(limitBytes))
    return a.fits(limitBytes);
  if (!a.fits(limitBytes))
    return a.peakBytes < b.peakBytes;
  return a.stepNs < b.stepNs - b.stepNs / 1000;
}

/// The order with copies where the rewritten program has them: directly before
/// the start and directly after the wait of their bucket.
static Order putCopiesBeside(const BucketedProblem &merged,
                             const Order &order) {
  Order result;
  for (NodeId node : order) {
    int32_t index = merged.bucketOf(node);
    if (index < 0) {
      result.push_back(node);
      continue;
    }
    const BucketedProblem::MergedBucket &bucket = merged.bucket(index);
    if (node == bucket.start && bucket.copyIn != noNode)
      result.push_back(bucket.copyIn);
    if (node == bucket.start || node == bucket.wait)
      result.push_back(node);
    if (node == bucket.wait && bucket.copyOut != noNode)
      result.push_back(bucket.copyOut);
  }
  return result;
}

Result<StepSchedule>
mlir::commsched::scheduleMerged(const BucketAlternative &alternative,
                                StepSolver &solver,
                                const StepSchedulerOptions &options) {
  Result<StepSchedule> schedule = solver(alternative.program, options);
  if (!schedule)
    return schedule;
  for (NodeId &node : schedule->order)
    node = alternative.numbering[node];
  const Problem &problem = alternative.merged.getProblem();
  schedule->order = putCopiesBeside(alternative.merged, schedule->order);
  if (OptionalError error = verify(problem, schedule->order))
    return Error{*error};
  Result<Timeline> timeline =
      simulate(problem, schedule->order, options.contention);
  if (!timeline)
    return Error{timeline.error()};
  schedule->stepNs = timeline->stepNs;
  schedule->peakBytes = simulateMemory(problem, schedule->order)->peakBytes;
  schedule->origin = schedule::ScheduleOrigin::Constructed;
  return schedule;
}
