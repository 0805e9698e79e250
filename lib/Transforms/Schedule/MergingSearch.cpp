//===- MergingSearch.cpp - Search for ways to merge collectives -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "MergingSearch.h"

#include "CommSched/Schedule/Model/MemoryTimeline.h"
#include "CommSched/Schedule/Model/ProblemTransforms.h"
#include "mlir/IR/Threading.h"

using namespace mlir;
using namespace mlir::commsched;
using namespace mlir::commsched::schedule;

Result<StepSchedule>
mlir::commsched::scheduleMerged(const BucketChoice &choice, const Order &start,
                                StepSolver solver,
                                const StepSchedulerOptions &stepOptions) {
  const Problem &problem = choice.merged->getProblem();
  Order kept = leaveOutFree(problem, start);
  Result<StepSchedule> schedule = solver(renumber(problem, kept), stepOptions);
  if (!schedule)
    return schedule;
  for (NodeId &node : schedule->order)
    node = kept[node];
  return measureStep(problem, completeOrder(problem, schedule->order),
                     stepOptions.contention, ScheduleOrigin::Constructed);
}

//===----------------------------------------------------------------------===//
// Choices
//===----------------------------------------------------------------------===//

MergingSearch::MergingSearch(func::FuncOp function, Block &block,
                             const BlockProblem &problem,
                             const MergingOptions &options,
                             OperationCosts &costs)
    : function(function), problem(problem),
      mergeable(findMergeableSet(block, problem, options, costs)),
      chooser(function, problem, MergedUse::Schedule, costs) {}

/// Sorts the collectives by the places where they are used, and finds out how
/// much memory is left there.
LogicalResult MergingSearch::sortByUse(const Order &unmerged,
                                       int64_t limitBytes) {
  formed.clear();
  Problem program = renumber(problem.getProblem(), unmerged);
  Result<Order> late = schedule::startLate(program);
  if (!late)
    return emitError(function.getLoc(), "cannot be scheduled: ")
           << late.error();
  Result<MemoryTimeline> memory = simulateMemory(program, *late);
  if (!memory)
    return emitError(function.getLoc(), "cannot be scheduled: ")
           << memory.error();
  // By node: its place.
  std::vector<int32_t> places(late->size());
  // By place: the most that is live up to the next collective.
  std::vector<int64_t> liveBytes(late->size());
  int64_t mostBytes = 0;
  for (size_t place = late->size(); place-- > 0;) {
    NodeId node = (*late)[place];
    places[unmerged[node]] = static_cast<int32_t>(place);
    mostBytes = std::max(mostBytes, memory->allocatedBytes[place]);
    liveBytes[place] = mostBytes;
    if (program.isCollective(node))
      mostBytes = 0;
  }
  for (MergeableKind &kind : mergeable.kinds) {
    std::vector<MergeableCollective> &collectives = kind.collectives.mergeable;
    for (MergeableCollective &collective : collectives)
      collective.roomBytes =
          std::max<int64_t>(limitBytes - liveBytes[places[collective.node]], 0);
    llvm::sort(collectives,
               [&](const MergeableCollective &a, const MergeableCollective &b) {
                 return places[a.node] < places[b.node];
               });
  }
  return success();
}

/// The choice with the buckets of `made`; null if there are none.
BucketChoice *MergingSearch::getOrAdd(BucketChoice made) {
  if (made.bucketing.buckets.empty())
    return nullptr;
  auto same = llvm::find_if(choices, [&](const BucketChoice &other) {
    return llvm::equal(made.bucketing.buckets, other.bucketing.buckets,
                       [&](const Bucket &a, const Bucket &b) {
                         return a.starts == b.starts &&
                                made.candidates.modes[a.key] ==
                                    other.candidates.modes[b.key];
                       });
  });
  if (same != choices.end())
    return &*same;
  chooser.price(made);
  return &choices.emplace_back(std::move(made));
}

/// What each of `rules` makes of the collectives, priced, with a merged program
/// if another limit needed it; null if that is nothing.
FailureOr<SmallVector<BucketChoice *>>
MergingSearch::getOrFormChoices(ArrayRef<Rules> rules) {
  auto find = [&](const Rules &wanted) {
    return llvm::find_if(
        formed, [&](const auto &known) { return known.first == wanted; });
  };
  std::vector<BucketChoice> made(rules.size());
  auto form = [&](size_t index) -> LogicalResult {
    if (find(rules[index]) != formed.end())
      return success();
    FailureOr<BucketChoice> choice =
        chooser.form(mergeable.kinds, rules[index]);
    if (succeeded(choice))
      made[index] = std::move(*choice);
    return choice;
  };
  if (failed(failableParallelForEachN(function.getContext(), 0, rules.size(),
                                      form)))
    return failure();
  SmallVector<BucketChoice *> choices;
  for (auto [wanted, choice] : llvm::zip_equal(rules, made)) {
    if (auto known = find(wanted); known != formed.end()) {
      choices.push_back(known->second);
      continue;
    }
    choices.push_back(getOrAdd(std::move(choice)));
    formed.emplace_back(wanted, choices.back());
  }
  return choices;
}
