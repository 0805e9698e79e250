//===- PartitionPlan.cpp - Choice of a partition --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "PartitionPlan.h"
#include "../MemoryBudget.h"
#include "CommSched/Dialect/CommSchedAttributes.h"
#include "CommSched/Partition/Classification.h"
#include "CommSched/Partition/SavedValues.h"
#include "SavedValues.h"

using namespace mlir;
using namespace mlir::commsched;
using partition::NodeId;
using partition::SavedValuesLadder;
using partition::Split;

std::optional<std::string> mlir::commsched::parsePeakBudget(StringRef text,
                                                            int64_t &bytes) {
  if (text.ends_with("%"))
    return ("must be bytes such as 68719476736, 64GiB or 640MB, but is '" +
            text +
            "': a joint function does not run, so that it has no peak to take "
            "a percentage of")
        .str();
  double fraction = 0;
  if (!text.getAsDouble(fraction) && fraction >= 0 && fraction <= 1)
    return ("must be bytes such as 68719476736, 64GiB or 640MB, but is '" +
            text +
            "'; the option for a fraction of the saved activations is "
            "'activation-memory-budget=" +
            text + "'")
        .str();
  return parseByteCount(text, bytes);
}

namespace {

/// Climbs down the ladder to a partition within the budget.
class BudgetSearch {
public:
  BudgetSearch(const JointFunction &joint, const partition::JointGraph &graph,
               const SavedValuesLadder &ladder, PartitionPlan plan)
      : joint(joint), graph(graph), ladder(ladder), plan(std::move(plan)) {}

  FailureOr<PartitionPlan> run();

private:
  /// Solves a rung, and keeps it if it is the best up to now. Returns whether
  /// it is within the budget.
  FailureOr<bool> visit(int32_t rung);
  LogicalResult bisect(int32_t first, int32_t end);

  const JointFunction &joint;
  const partition::JointGraph &graph;
  const SavedValuesLadder &ladder;
  PartitionPlan plan;
};

} // namespace

FailureOr<bool> BudgetSearch::visit(int32_t rung) {
  FailureOr<Split> split = unwrap(joint, ladder.solve(rung));
  if (failed(split))
    return failure();
  int64_t bytes = computeSavedBytes(graph, split->saved);
  bool isWithin = bytes <= plan.allowedBytes;
  bool isBetter = isWithin ? plan.isOverBudget || bytes > plan.bytes
                           : plan.isOverBudget && bytes < plan.bytes;
  if (rung == 0 || isBetter) {
    plan.split = std::move(*split);
    plan.bytes = bytes;
    plan.isOverBudget = !isWithin;
  }
  return isWithin;
}

/// Visits rungs by bisection, as if each saved less than the one before it. Two
/// budgets visit the same rungs up to one that only the larger of them allows:
/// as of all that was visited the largest is taken, the smaller budget saves no
/// more, whatever the rungs save.
LogicalResult BudgetSearch::bisect(int32_t first, int32_t end) {
  while (first < end) {
    int32_t middle = first + (end - first) / 2;
    FailureOr<bool> isWithin = visit(middle);
    if (failed(isWithin))
      return failure();
    if (*isWithin)
      end = middle;
    else
      first = middle + 1;
  }
  return success();
}

FailureOr<PartitionPlan> BudgetSearch::run() {
  int32_t rung = 0;
  for (; rung < SavedValuesLadder::firstKnapsack; ++rung) {
    FailureOr<bool> isWithin = visit(rung);
    if (failed(isWithin))
      return failure();
    if (*isWithin)
      return std::move(plan);
  }
  while (rung < SavedValuesLadder::size() && ladder.isRepetition(rung))
    ++rung;
  int32_t last = SavedValuesLadder::size() - 1;
  // Even if the last rung is over the budget, one before it may be within: a
  // cut takes all that is marked for recomputation for a part of the backward,
  // needed there or not.
  if (failed(visit(last)) ||
      (plan.bytes != plan.allowedBytes && failed(bisect(rung, last))))
    return failure();
  return std::move(plan);
}

FailureOr<PartitionPlan>
mlir::commsched::planPartition(const JointFunction &joint,
                               const PartitionPlanOptions &options) {
  partition::JointGraph graph = joint.getGraph();
  PartitionPlan plan;
  bool isNamed = joint.getFunction()->hasAttr(savedValuesAttrName);
  if (isNamed) {
    FailureOr<Split> split = splitAtSavedValues(joint);
    if (failed(split))
      return failure();
    plan.split = std::move(*split);
    plan.bytes = computeSavedBytes(graph, plan.split.saved);
    if (options.fraction >= 1)
      return plan;
  }
  bool isDefault = options.strategy == PartitionStrategy::Default;
  if (isDefault)
    plan.markedNode = partition::findMarkedForRecomputation(graph);
  FailureOr<partition::Classification> classes = unwrap(joint, classify(graph));
  if (failed(classes))
    return failure();
  if (options.collectives == partition::CollectivePolicy::Cost)
    priceGathers(graph, *classes);
  settlePolicies(graph, *classes, options.collectives);
  if (isDefault && plan.markedNode == partition::noNode) {
    FailureOr<Split> split = unwrap(joint, splitAsEager(graph, *classes));
    if (failed(split))
      return failure();
    plan.split = std::move(*split);
    return plan;
  }
  FailureOr<SavedValuesLadder> ladder = unwrap(
      joint, SavedValuesLadder::create(graph, *classes, options.savedValues));
  if (failed(ladder))
    return failure();
  plan.allowedBytes = static_cast<int64_t>(
      options.fraction * static_cast<double>(ladder->getMostBytes()));
  if (isNamed) {
    plan.isOverBudget = plan.bytes > plan.allowedBytes;
    return plan;
  }
  return BudgetSearch(joint, graph, *ladder, std::move(plan)).run();
}

FailureOr<Split>
mlir::commsched::splitAtSavedValues(const JointFunction &joint) {
  FailureOr<std::vector<NodeId>> saved = readSavedValues(joint);
  if (failed(saved))
    return failure();
  // The attribute decides what is repeated, collectives included.
  constexpr bool allowCollectives = true;
  return unwrap(joint,
                splitAtStorages(joint.getGraph(), *saved, allowCollectives));
}
