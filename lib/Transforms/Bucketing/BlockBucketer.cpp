//===- BlockBucketer.cpp - Merging in the blocks of a function ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "BucketChoice.h"

#include "../MemoryBudget.h"
#include "../PassSupport.h"
#include "CommSched/Analysis/Fsdp/FsdpAnalysis.h"
#include "CommSched/Schedule/Graphs/ContractedGraph.h"
#include "CommSched/Schedule/Model/MemoryTimeline.h"
#include "CommSched/Schedule/Model/Simulator.h"
#include "CommSched/Support/Unlimited.h"

using namespace mlir;
using namespace mlir::commsched;
using namespace mlir::commsched::schedule;

namespace {

/// Merges the collectives of one block, one round of buckets after the other.
class BlockBucketer {
public:
  BlockBucketer(func::FuncOp function, Block &block,
                const BucketingPassOptions &options, OperationCosts &costs,
                SmallVectorImpl<bool> &usedEntries, bool emitsRemarks)
      : function(function), block(block), options(options), costs(costs),
        usedEntries(usedEntries),
        emitsRemarks(emitsRemarks && areRemarksEnabled(function)) {}

  FailureOr<bool> run();

private:
  FailureOr<bool> runRound();
  FailureOr<BucketChoice> choose(const BlockProblem &problem,
                                 const MergeableKind &kind);
  FailureOr<BucketChoice> chooseAutomatically(BucketChooser &chooser,
                                              const BlockProblem &problem,
                                              const MergeableKind &kind);
  LogicalResult merge(const BlockProblem &problem, const BucketChoice &choice);
  void noteUnbucketed(const BlockProblem &problem, const BucketChoice &choice,
                      ArrayRef<RefusedCollective> refused);

  func::FuncOp function;
  Block &block;
  const BucketingPassOptions &options;
  OperationCosts &costs;
  /// By entry of the plan: whether it names a collective of the function.
  SmallVectorImpl<bool> &usedEntries;
  bool emitsRemarks;
  /// The starts of buckets.
  DenseSet<Operation *> made;
  /// Why collectives are unbucketed; only if remarks are enabled.
  UnbucketedReasons unbucketed;
};

} // namespace

/// Keeps for the remarks why collectives are unbucketed. The first reason
/// counts: in later rounds its partners are gone.
void BlockBucketer::noteUnbucketed(const BlockProblem &problem,
                                   const BucketChoice &choice,
                                   ArrayRef<RefusedCollective> refused) {
  for (const RefusedCollective &collective :
       llvm::concat<const RefusedCollective>(
           refused, ArrayRef(choice.candidates.refused)))
    if (!made.contains(collective.op))
      unbucketed.try_emplace(collective.op, collective.reason);
  for (auto [candidate, assignment] : llvm::zip_equal(
           choice.candidates.candidates, choice.bucketing.assignments)) {
    Operation *op = problem.getOperation(candidate.start);
    if (assignment.bucket < 0)
      unbucketed.try_emplace(op, explainUnbucketed(problem, assignment));
    else
      unbucketed.erase(op);
  }
}

/// Moves all collectives out of their buckets.
static void dropBuckets(const BlockProblem &problem, BucketChoice &choice,
                        StringRef reason) {
  for (auto [candidate, assignment] : llvm::zip_equal(
           choice.candidates.candidates, choice.bucketing.assignments))
    if (assignment.bucket >= 0)
      choice.candidates.refused.push_back(
          {problem.getOperation(candidate.start), reason.str()});
  choice.candidates.candidates.clear();
  choice.bucketing = {};
}

/// The choice by the rule that makes the shortest simulated program, if that is
/// worth it.
FailureOr<BucketChoice>
BlockBucketer::chooseAutomatically(BucketChooser &chooser,
                                   const BlockProblem &problem,
                                   const MergeableKind &kind) {
  const Problem &program = problem.getProblem();
  StepSchedule unmerged;
  unmerged.stepNs = simulate(program, program.programOrder())->stepNs;
  // Blocks of the model, parts of blocks, and sizes; of equally good ones the
  // first is taken. The simulation does not count the memory that larger
  // buckets take.
  const PlanRule rules[] = {PlanRule::byModules(1), PlanRule::byModules(0),
                            PlanRule::bySize(25), PlanRule::bySize(50)};
  std::vector<BucketChoice> choices;
  choices.reserve(std::size(rules));
  SmallVector<StepSchedule> merged(std::size(rules));
  std::string account = "as it is " + std::to_string(unmerged.stepNs);
  for (auto [rule, step] : llvm::zip_equal(rules, merged)) {
    FailureOr<BucketChoice> choice = chooser.choose(kind, rule);
    if (failed(choice))
      return failure();
    step.stepNs = unlimited;
    if (choice->merged) {
      step.stepNs =
          simulate(choice->merged->getProblem(), choice->order)->stepNs;
      account += ", " + choice->rule + " " + std::to_string(step.stepNs);
    }
    choices.push_back(std::move(*choice));
  }
  std::optional<size_t> best = findBest(unmerged, merged, unlimited);
  if (!best) {
    // The reasons are those of the choice that would have been best.
    best = findBest(merged.front(), merged, unlimited).value_or(0);
    if (choices[*best].merged)
      dropBuckets(problem, choices[*best], "no steps make the program shorter");
    return std::move(choices[*best]);
  }
  if (emitsRemarks)
    remark::passed(function.getLoc(),
                   makeRemark("StepsChosen", function.getSymName()))
        << "steps " + choices[*best].rule +
               " make the shortest program: " + account
        << remark::metric("StepNs", merged[*best].stepNs);
  return std::move(choices[*best]);
}

FailureOr<BucketChoice> BlockBucketer::choose(const BlockProblem &problem,
                                              const MergeableKind &kind) {
  BucketChooser chooser(function, problem, MergedUse::Run, costs);
  switch (options.grouping) {
  case BucketGrouping::Size:
    return chooser.choose(kind, /*rules=*/{});
  case BucketGrouping::Plan:
    return chooser.choose(kind, PlanRule());
  case BucketGrouping::AutomaticPlan:
    break;
  }
  if (!kind.collectives.hasBucket)
    return chooseAutomatically(chooser, problem, kind);
  BucketChoice nothing;
  for (const MergeableCollective &collective : kind.collectives.mergeable)
    nothing.candidates.refused.push_back(
        {collective.op, "the program has been put into steps before"});
  return nothing;
}

/// Emits a remark on the collectives that are merged next.
static void remarkBucket(func::FuncOp function, const BlockProblem &problem,
                         const Bucket &bucket, BucketMode mode) {
  Operation *first = problem.getOperation(bucket.starts.front());
  std::string text;
  llvm::raw_string_ostream os(text);
  os << bucket.starts.size() << " collectives of " << bucket.bytes
     << " bytes become one "
     << (mode == BucketMode::Copy ? "copied" : "coalesced") << " "
     << first->getName() << ": ";
  llvm::interleaveComma(bucket.starts, os, [&](NodeId start) {
    os << describe(problem.getOperation(start));
  });
  remark::passed(first->getLoc(),
                 makeRemark("CollectivesMerged", function.getSymName()))
      << text
      << remark::metric("Members", static_cast<int64_t>(bucket.starts.size()))
      << remark::metric("Bytes", bucket.bytes);
}

LogicalResult BlockBucketer::merge(const BlockProblem &problem,
                                   const BucketChoice &choice) {
  Result<Order> order = choice.merged->expand(choice.order);
  if (!order)
    return reportNoOrder(function, order.error());
  const Problem &program = problem.getProblem();
  if (problem.getUnsized().empty()) {
    Result<schedule::MemoryTimeline> memory =
        simulateMemory(program, program.programOrder());
    if (!memory)
      return reportNoOrder(function, memory.error());
    keepBaselineBytes(function, block, memory->peakBytes);
  }
  problem.apply(*order);
  IRRewriter rewriter(function.getContext());
  for (auto [bucket, price] :
       llvm::zip_equal(choice.bucketing.buckets, choice.prices)) {
    if (emitsRemarks)
      remarkBucket(function, problem, bucket, price.mode);
    MergedCollective merged =
        mergeCollectives(rewriter, getMembers(problem, bucket.starts),
                         price.mode, options.multiDtype);
    price.pin(merged);
    made.insert(merged.start);
  }
  return success();
}

FailureOr<bool> BlockBucketer::runRound() {
  // Estimating costs takes longer than everything else here, and merging by
  // size or by a given plan does not use them.
  bool isPriced = options.grouping == BucketGrouping::AutomaticPlan;
  FailureOr<std::optional<BlockProblem>> read = readBlock(
      function, block, isPriced ? &costs : nullptr, StreamOrder::Free);
  if (failed(read))
    return failure();
  if (!*read)
    return false;
  const BlockProblem &problem = **read;
  // Once, in the first round.
  if (emitsRemarks && made.empty())
    remarkAssumptions(function.getSymName(), listAssumedTimes(problem, costs));
  std::optional<FsdpAnalysis> fsdp;
  if (options.fsdpOnly || options.grouping != BucketGrouping::Size)
    fsdp.emplace(block);
  MergeableKind kind{
      options, findMergeable(problem, options, fsdp ? &*fsdp : nullptr, costs)};
  FailureOr<BucketChoice> choice = choose(problem, kind);
  if (failed(choice))
    return failure();
  for (auto [entry, isUsed] : llvm::enumerate(choice->candidates.usedEntries))
    usedEntries[entry] |= isUsed;
  if (emitsRemarks)
    noteUnbucketed(problem, *choice, kind.collectives.refused);
  if (choice->bucketing.buckets.empty())
    return false;
  if (failed(merge(problem, *choice)))
    return failure();
  return true;
}

FailureOr<bool> BlockBucketer::run() {
  // Every round but the last makes a bucket, so there is an end. The last one
  // is what a second run of the pass would do: nothing. An automatic plan is
  // not applied to a program that has buckets.
  bool isChanged = false;
  while (true) {
    FailureOr<bool> changed = runRound();
    if (failed(changed))
      return failure();
    isChanged |= *changed;
    if (!*changed || options.grouping == BucketGrouping::AutomaticPlan)
      break;
  }
  if (emitsRemarks)
    remarkUnbucketed(function, block, unbucketed);
  return isChanged;
}

static bool hasCollectives(Block &block, CollectiveKind kind) {
  return llvm::any_of(block, [&](Operation &op) {
    auto collective = dyn_cast<CollectiveOpInterface>(op);
    return collective && collective.getCollectiveKind() == kind;
  });
}

/// Emits a remark on each entry of the plan that names no collective.
static void remarkUnusedEntries(func::FuncOp function, const BucketPlan &plan,
                                ArrayRef<bool> usedEntries) {
  for (auto [entry, isUsed] : llvm::enumerate(usedEntries))
    if (!isUsed)
      remark::missed(function.getLoc(),
                     makeRemark("PlanEntryUnused", function.getSymName()))
          << ("entry " + Twine(entry) + " of the plan, '" +
              plan.getText(entry) + "', names no collective")
                 .str();
}

FailureOr<bool>
mlir::commsched::bucketCollectives(func::FuncOp function,
                                   const BucketingPassOptions &options,
                                   OperationCosts &costs) {
  SmallVector<bool> usedEntries(options.plan.getNumEntries());
  bool isAny = false, changed = false;
  for (Block *block : getBlocksWithCollectives(function)) {
    // A scheduling problem is more work than to see that there is nothing to
    // do.
    if (!hasCollectives(*block, options.kind))
      continue;
    isAny = true;
    FailureOr<bool> blockChanged =
        BlockBucketer(function, *block, options, costs, usedEntries,
                      /*emitsRemarks=*/true)
            .run();
    if (failed(blockChanged))
      return failure();
    changed |= *blockChanged;
  }
  if (isAny && areRemarksEnabled(function))
    remarkUnusedEntries(function, options.plan, usedEntries);
  return changed;
}

FailureOr<bool>
mlir::commsched::bucketCollectivesIn(Block &block, func::FuncOp function,
                                     const BucketingPassOptions &options,
                                     OperationCosts &costs) {
  SmallVector<bool> usedEntries(options.plan.getNumEntries());
  return BlockBucketer(function, block, options, costs, usedEntries,
                       /*emitsRemarks=*/false)
      .run();
}

std::string
mlir::commsched::explainUnbucketed(const BlockProblem &problem,
                                   const BucketAssignment &assignment) {
  std::string other = assignment.other == schedule::noNode
                          ? std::string("another collective")
                          : describe(problem.getOperation(assignment.other));
  switch (assignment.reason) {
  case UnbucketedReason::None:
    break;
  case UnbucketedReason::NoPartner:
    return "no other collective may travel with it";
  case UnbucketedReason::OverCap:
    return "it is larger than a bucket may be";
  case UnbucketedReason::BucketFull:
    return "the buckets that it might join are full";
  case UnbucketedReason::Dependent:
    return "a dependence joins it to " + other;
  }
  llvm_unreachable("a collective that is not alone");
}

void mlir::commsched::remarkUnbucketed(func::FuncOp function, Block &block,
                                       const UnbucketedReasons &reasons) {
  if (reasons.empty())
    return;
  for (Operation &op : block)
    if (auto it = reasons.find(&op); it != reasons.end())
      remark::missed(op.getLoc(),
                     makeRemark("CollectiveAlone", function.getSymName()))
          << describe(&op) + " stays alone: " + it->second;
}

//===----------------------------------------------------------------------===//
// Unbucketed collectives of a schedule
//===----------------------------------------------------------------------===//

namespace {

class UnbucketedExplainer {
public:
  UnbucketedExplainer(const BlockProblem &problem, const BucketChoice &chosen,
                      ContractedGraph graph);

  /// Of one kind of collectives.
  void explain(const MergeableCollectives &collectives);
  UnbucketedReasons take() { return std::move(reasons); }

private:
  bool isJoined(NodeId start, NodeId member);
  std::string explain(NodeId start, ArrayRef<NodeId> members);

  const BlockProblem &problem;
  const BucketChoice &chosen;
  /// With the buckets merged.
  ContractedGraph graph;
  /// By node.
  std::vector<char> isMember;
  UnbucketedReasons reasons;
};

} // namespace

UnbucketedExplainer::UnbucketedExplainer(const BlockProblem &problem,
                                         const BucketChoice &chosen,
                                         ContractedGraph graph)
    : problem(problem), chosen(chosen), graph(std::move(graph)),
      isMember(problem.getProblem().numNodes()) {
  for (const Bucket &bucket : chosen.bucketing.buckets)
    for (NodeId start : bucket.starts) {
      isMember[start] = true;
      if (start != bucket.starts.front())
        this->graph.mergeCollectives(bucket.starts.front(), start);
    }
}

/// Whether a path of dependences keeps a collective from a bucket.
bool UnbucketedExplainer::isJoined(NodeId start, NodeId member) {
  const schedule::Problem &known = problem.getProblem();
  return graph.findPath(start, member) ||
         graph.findPath(known.waitOf(start), known.waitOf(member));
}

/// `members` are those of buckets that it might be in, in program order.
std::string UnbucketedExplainer::explain(NodeId start,
                                         ArrayRef<NodeId> members) {
  const NodeId *behind = llvm::lower_bound(members, start);
  SmallVector<NodeId, 2> nearest;
  if (behind != members.begin())
    nearest.push_back(*std::prev(behind));
  if (behind != members.end())
    nearest.push_back(*behind);
  if (!nearest.empty() && llvm::all_of(nearest, [&](NodeId member) {
        return isJoined(start, member);
      }))
    return explainUnbucketed(
        problem, {/*bucket=*/-1, UnbucketedReason::Dependent, nearest.front()});
  return "merging " + chosen.rule +
         ", which makes the best step of the ways that were tried, leaves it "
         "alone";
}

void UnbucketedExplainer::explain(const MergeableCollectives &collectives) {
  for (const RefusedCollective &refused : collectives.refused)
    reasons[refused.op] = refused.reason;
  struct SameKey {
    int32_t count = 0;
    /// In buckets.
    SmallVector<NodeId> members;
  };
  DenseMap<Attribute, SameKey> byKey;
  for (const MergeableCollective &collective : collectives.mergeable) {
    SameKey &same = byKey[collective.key];
    ++same.count;
    if (isMember[collective.node])
      same.members.push_back(collective.node);
  }
  for (const MergeableCollective &collective : collectives.mergeable) {
    if (isMember[collective.node])
      continue;
    const SameKey &same = byKey[collective.key];
    reasons[collective.op] =
        same.count == 1
            ? explainUnbucketed(
                  problem, {/*bucket=*/-1, UnbucketedReason::NoPartner, noNode})
            : explain(collective.node, same.members);
  }
}

UnbucketedReasons
mlir::commsched::explainUnbucketed(const BlockProblem &problem,
                                   const MergeableSet &mergeable,
                                   const BucketChoice &chosen) {
  // It was created before, to find the buckets.
  UnbucketedExplainer explainer(problem, chosen,
                                *ContractedGraph::create(problem.getProblem()));
  for (const MergeableKind &kind : mergeable.kinds)
    explainer.explain(kind.collectives);
  return explainer.take();
}
