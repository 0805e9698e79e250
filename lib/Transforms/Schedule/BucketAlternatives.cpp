//===- BucketAlternatives.cpp ---------------------------------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BucketAlternatives.h"

#include "../Bucketing/BucketDecision.h"
#include "CommSched/Analysis/Fsdp/FsdpAnalysis.h"
#include "CommSched/Schedule/MemoryTimeline.h"
#include "CommSched/Schedule/Renumbering.h"
#include "CommSched/Schedule/Simulator.h"
#include "CommSched/Schedule/Verify.h"

using namespace mlir;
using namespace mlir::commsched;
using cost::CollectiveKind;
using schedule::Bucket;
using schedule::BucketBuffers;
using schedule::BucketCandidate;
using schedule::BucketedProblem;
using schedule::BucketingOptions;
using schedule::NodeId;
using schedule::noNode;
using schedule::Order;
using schedule::Problem;
using schedule::StepSchedule;
using schedule::StepSchedulerOptions;
using schedule::Timeline;

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
