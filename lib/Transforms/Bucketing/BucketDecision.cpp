//===- BucketDecision.cpp - What becomes of collectives -------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BucketDecision.h"

#include "../Remarks.h"
#include "CommSched/Schedule/Bucketing/Bucketing.h"
#include "CommSched/Schedule/Simulator.h"

using namespace mlir;
using namespace mlir::commsched;
using schedule::Bucket;
using schedule::BucketCandidate;
using schedule::BucketCost;
using schedule::BucketedProblem;
using schedule::Bucketing;
using schedule::BucketPlacement;
using schedule::NodeId;
using schedule::Order;
using schedule::Problem;

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
