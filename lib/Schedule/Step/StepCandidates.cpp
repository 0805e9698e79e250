//===- StepCandidates.cpp - Candidates for the order of a step ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "StepCandidates.h"

#include "CommSched/Schedule/Bounds/LowerBounds.h"
#include "CommSched/Schedule/Inductor/PeakMemoryOrders.h"
#include "CommSched/Schedule/Model/MemoryTimeline.h"
#include "CommSched/Schedule/Reordering/SimpleOverlap.h"
#include "CommSched/Support/Unlimited.h"
#include "ComputeOrders.h"
#include "IssuedOrder.h"
#include "ListScheduling.h"
#include "SmallSteps.h"
#include "StepConstruction.h"

#include <algorithm>
#include <array>
#include <iterator>

using namespace mlir::commsched;
using namespace mlir::commsched::schedule;

namespace {

/// One round of the scheduler: makes candidates for the order of one program
/// and keeps the best.
class CandidateSearch {
public:
  /// `isRepeated`: whether the program is what a round before has made.
  CandidateSearch(const Problem &problem, const StepSchedulerOptions &options,
                  bool isRepeated = false)
      : problem(problem), options(options), isRepeated(isRepeated) {}

  /// Returns the best of all candidates.
  Result<StepSchedule> run();
  /// Returns the best of the program and of the orders that are constructed for
  /// its compute order, and if `mayReorder`, for two others, as far as these
  /// take less than `knownNs`.
  Result<StepSchedule> sketch(bool mayReorder, int64_t knownNs);

private:
  /// The best order that was constructed with some slack, and the options that
  /// it was constructed with.
  struct Plan {
    int32_t slackPercent = 0;
    Order order;
    int64_t stepNs = std::numeric_limits<int64_t>::max();
    /// Whether an order may be within the limit, also one that is too long.
    bool mayFit = false;
    /// Whether a construction with a higher limit may give another order.
    bool isLimited = false;
    /// The step with the slack, or what it has to be shorter than.
    int64_t expectedNs = std::numeric_limits<int64_t>::max();
    int64_t lookAheadNs = 0;
  };

  bool isWorthwhile(int64_t gainNs) const {
    return schedule::isWorthwhile(gainNs, best.stepNs);
  }
  /// Whether the program is small enough for the searches of improve().
  bool isSearched() const {
    int64_t numNodes = problem.numNodes();
    return options.effort / (numNodes + 1) >= 4 * numNodes;
  }
  Status begin();
  Status offer(const Order &order, ScheduleOrigin origin);
  void construct(const StepConstruction &construction, int64_t lookAheadNs,
                 int64_t limitBytes, Plan &plan) const;
  bool constructWithin(const StepConstruction &construction,
                       ConstructionOptions with, Plan &plan) const;
  Plan construct(const StepStructure &structure, const Order &computeOrder,
                 int32_t slackPercent, const std::vector<int64_t> &lookAheadsNs,
                 int64_t knownNs = unlimited) const;
  const Order &list(size_t index);
  void takeIfBetter(const Order &order, Plan &plan) const;
  Result<Plan> construct(const StepStructure &structure, int32_t slackPercent,
                         const std::vector<int64_t> &lookAheadsNs);
  Status constructAll();
  Status improve();
  Status saveMemory();

  const Problem &problem;
  const StepSchedulerOptions &options;
  bool isRepeated;
  /// The orders of list(), each empty until it was needed.
  static constexpr size_t numLists = 6;
  std::array<Order, numLists> listed;
  int64_t boundNs = 0;
  StepSchedule best;
  bool hasBest = false;
};

} // namespace

/// Keeps an order if it is the best so far. Error: the order is not legal.
Status CandidateSearch::offer(const Order &order, ScheduleOrigin origin) {
  Result<StepSchedule> schedule =
      measureStep(problem, order, options.contention, origin);
  if (!schedule)
    return Error{schedule.error()};
  int64_t limitBytes = options.limitBytes;
  if (hasBest && !isBetter(schedule->rank(limitBytes), best.rank(limitBytes)))
    return Status::success();
  best = std::move(*schedule);
  hasBest = true;
  return Status::success();
}

/// Returns the look-aheads to try, in nanoseconds: from 0, which takes the
/// least memory, to unlimited, in multiples of the longest collective.
static std::vector<int64_t> listLookAheads(const Problem &problem) {
  int64_t longestNs = 0;
  for (NodeId node = 0; node < problem.numNodes(); ++node)
    if (problem.kind(node) == NodeKind::Start)
      longestNs = std::max(longestNs, problem.costNs(node));
  int64_t fewNs = std::min(longestNs, unlimited / 16);
  return {0, fewNs / 4, fewNs, 2 * fewNs, 4 * fewNs, 16 * fewNs, unlimited};
}

/// Constructs an order and keeps it if it is better with the plan's slack. The
/// construction estimates memory; if its order exceeds the limit, it is
/// repeated with a limit that is lower by the excess, then by twice the excess,
/// and so on; and in programs that are not searched, the same with room for
/// what is due.
void CandidateSearch::construct(const StepConstruction &construction,
                                int64_t lookAheadNs, int64_t limitBytes,
                                Plan &plan) const {
  ConstructionOptions with = {options, lookAheadNs};
  with.slackPercent = plan.slackPercent;
  with.limitBytes = limitBytes;
  if (constructWithin(construction, with, plan) || isSearched())
    return;
  with.makesRoom = true;
  constructWithin(construction, with, plan);
}

/// Does so for one setting of ConstructionOptions::makesRoom. Returns whether
/// the first order was within the limit, or is of no interest.
bool CandidateSearch::constructWithin(const StepConstruction &construction,
                                      ConstructionOptions with,
                                      Plan &plan) const {
  int64_t limitBytes = with.limitBytes;
  constexpr int32_t maxTrials = 5;
  for (int32_t trial = 0; trial < maxTrials; ++trial) {
    with.knownNs = plan.expectedNs;
    ConstructedOrder constructed = construction.construct(with);
    if (constructed.stepNs >= with.knownNs) {
      plan.mayFit = true;
      return trial == 0;
    }
    Result<MemoryTimeline> memory = simulateMemory(problem, constructed.order);
    if (memory && memory->peakBytes > options.limitBytes) {
      // All starts are late already.
      if (memory->peakBytes == construction.alapPeakBytes())
        return false;
      int64_t excessBytes = memory->peakBytes - options.limitBytes;
      with.limitBytes -= std::min(excessBytes, unlimited >> maxTrials) << trial;
      // Up to the limit was tried.
      if (limitBytes > options.limitBytes &&
          with.limitBytes <= options.limitBytes)
        return false;
      continue;
    }
    Result<Timeline> timeline =
        simulate(problem, constructed.order, options.contention);
    if (!memory || !timeline) {
      // offer() reports why the order is not legal.
      plan.order = std::move(constructed.order);
      return true;
    }
    plan.mayFit = true;
    int64_t stepNs = timeline->stepNs;
    int64_t expectedNs = plan.slackPercent > 0 ? constructed.stepNs : stepNs;
    if (expectedNs < plan.expectedNs) {
      plan.order = std::move(constructed.order);
      plan.stepNs = stepNs;
      plan.isLimited = constructed.isLimited;
      plan.expectedNs = expectedNs;
      plan.lookAheadNs = with.lookAheadNs;
    }
    return trial == 0;
  }
  return false;
}

/// Returns the best order that is constructed for a compute order; none if none
/// is shorter than `knownNs` with the slack.
CandidateSearch::Plan
CandidateSearch::construct(const StepStructure &structure,
                           const Order &computeOrder, int32_t slackPercent,
                           const std::vector<int64_t> &lookAheadsNs,
                           int64_t knownNs) const {
  StepConstruction construction(structure, computeOrder);
  Plan plan;
  plan.slackPercent = slackPercent;
  plan.expectedNs = knownNs;
  plan.lookAheadNs = lookAheadsNs.front();
  // Where even late starts take too much, other orders of the waits may fit;
  // but if the first does not, the others hardly do.
  bool isTight = construction.alapPeakBytes() > options.limitBytes;
  for (int64_t lookAheadNs : lookAheadsNs) {
    construct(construction, lookAheadNs, options.limitBytes, plan);
    if ((isTight && !plan.mayFit) || !isWorthwhile(plan.expectedNs - boundNs))
      return plan;
  }
  // The construction overestimates memory: an order that is constructed for a
  // higher limit may be within the limit.
  if (plan.isLimited && options.limitBytes < unlimited / 2)
    construct(construction, plan.lookAheadNs,
              options.limitBytes + options.limitBytes / 100, plan);
  return plan;
}

/// Returns an order of list scheduling within a window of the program. By their
/// places, what is ready passes what waits; by their tails, what is critical
/// passes the rest.
const Order &CandidateSearch::list(size_t index) {
  constexpr int32_t lengths[] = {64, 256, 1024};
  static_assert(numLists == 2 * std::size(lengths));
  Order &order = listed[index];
  if (!order.empty())
    return order;
  order = scheduleByRank(problem,
                         index % 2 == 0 ? rankByProgram(problem)
                                        : rankByTail(problem),
                         {lengths[index / 2], {}})
              .order;
  return order;
}

/// Replaces the order of the plan by `order` if that is within the limit and
/// shorter with the plan's slack.
void CandidateSearch::takeIfBetter(const Order &order, Plan &plan) const {
  IssuedOrder issued(problem, options.contention.exclusive, plan.slackPercent);
  for (NodeId node : order)
    issued.issue(node);
  if (issued.takePeak() > options.limitBytes)
    return;
  Result<Timeline> timeline = simulate(problem, order, options.contention);
  if (!timeline)
    return;
  int64_t expectedNs =
      plan.slackPercent > 0 ? issued.stepNs() : timeline->stepNs;
  if (expectedNs >= plan.expectedNs)
    return;
  plan.order = order;
  plan.stepNs = timeline->stepNs;
  plan.expectedNs = expectedNs;
}

/// Constructs orders for the compute order of the program, and for others that
/// fill idle times. The plan has no order if none is within the limit.
Result<CandidateSearch::Plan>
CandidateSearch::construct(const StepStructure &structure, int32_t slackPercent,
                           const std::vector<int64_t> &lookAheadsNs) {
  Plan plan = construct(structure, getProgramComputeOrder(structure),
                        slackPercent, lookAheadsNs);
  if (plan.order.empty())
    return plan;
  std::vector<Order> tried = {getProgramComputeOrder(structure)};
  auto keepIfBetter = [&](Order computeOrder) {
    if (std::find(tried.begin(), tried.end(), computeOrder) != tried.end())
      return false;
    Plan other = construct(structure, computeOrder, slackPercent,
                           {plan.lookAheadNs}, plan.expectedNs);
    tried.push_back(std::move(computeOrder));
    if (other.order.empty())
      return false;
    plan = std::move(other);
    return true;
  };
  // A construction may start collectives that become ready together in another
  // order, and wait for the wrong one first.
  for (size_t i = 0; i < numLists; ++i) {
    if (!isWorthwhile(plan.expectedNs - boundNs))
      return plan;
    keepIfBetter(getComputeOrder(structure, list(i)));
    takeIfBetter(list(i), plan);
  }
  // The overhang: nothing, or a part of what is left to gain.
  for (int64_t part : {0, 1, 2})
    if (int64_t gainNs = plan.expectedNs - boundNs; isWorthwhile(gainNs))
      keepIfBetter(fillEnd(structure, gainNs * part / 4));
  constexpr int32_t maxRounds = 4;
  for (int32_t round = 0;
       round < maxRounds && isWorthwhile(plan.expectedNs - boundNs); ++round) {
    Result<Timeline> timeline =
        simulate(problem, plan.order, options.contention);
    if (!timeline)
      return Error{timeline.error()};
    if (!keepIfBetter(
            fillStalls(structure, plan.order, *timeline, options.maxDistance)))
      break;
  }
  return plan;
}

/// Constructs orders with and without slack.
Status CandidateSearch::constructAll() {
  Result<StepStructure> structure = StepStructure::create(problem);
  if (!structure)
    return Error{structure.error()};
  Result<Plan> plan =
      construct(*structure, /*slackPercent=*/0, listLookAheads(problem));
  if (!plan)
    return Error{plan.error()};
  // The best schedule so far stays unless the gain is worthwhile.
  auto mayTake = [&](const Plan &plan) {
    return !plan.order.empty() && (!best.fits(options.limitBytes) ||
                                   isWorthwhile(best.stepNs - plan.stepNs));
  };
  // A program that is a schedule has its slack, unless it becomes shorter.
  if (plan->order.empty() || (isRepeated && !mayTake(*plan)))
    return Status::success();
  Order computeOrder = getComputeOrder(*structure, plan->order);
  // The most slack, by halves, whose cost is not worthwhile. Slack takes a
  // longer look-ahead, if any.
  for (int32_t part : {1, 2, 4}) {
    int32_t slackPercent = options.slackPercent / part;
    if (slackPercent == 0)
      break;
    int64_t lookAheadNs = plan->lookAheadNs;
    Plan slack = construct(
        *structure, computeOrder, slackPercent,
        {lookAheadNs, std::min(lookAheadNs, unlimited / 4) * 4, unlimited});
    if (slack.order.empty() || (mayTake(*plan) && !mayTake(slack)) ||
        isWorthwhile(slack.stepNs - plan->stepNs))
      continue;
    plan = std::move(slack);
    break;
  }
  return mayTake(*plan) ? offer(plan->order, ScheduleOrigin::Constructed)
                        : Status::success();
}

/// Runs the searches for small steps, if the program is small enough for the
/// effort.
Status CandidateSearch::improve() {
  if (!best.fits(options.limitBytes) || best.stepNs <= boundNs || !isSearched())
    return Status::success();
  Result<TightLowerBound> bound = computeTightLowerBound(problem);
  if (!bound)
    return Error{bound.error()};
  boundNs = bound->ns;
  if (best.stepNs <= boundNs)
    return Status::success();
  SearchOptions search = {options, best.stepNs, boundNs, options.effort};
  if (std::optional<Order> order = searchBeam(problem, search))
    if (Status status = offer(*order, ScheduleOrigin::Constructed); !status)
      return status;
  if (best.stepNs <= boundNs)
    return Status::success();
  return offer(improveOrder(problem, best.order, search),
               ScheduleOrigin::Constructed);
}

/// Offers the orders with the least memory if nothing is within the limit.
Status CandidateSearch::saveMemory() {
  if (best.fits(options.limitBytes))
    return Status::success();
  Result<Order> late = startLate(problem);
  if (!late)
    return Error{late.error()};
  if (Status status = offer(*late, ScheduleOrigin::LeastMemory); !status)
    return status;
  Result<PeakMemoryChoice> least = choosePeakMemoryOrder(problem);
  if (!least)
    return Error{least.error()};
  return offer(least->order, ScheduleOrigin::LeastMemory);
}

/// Computes the lower bound, and offers the order of the program.
Status CandidateSearch::begin() {
  Result<LowerBound> bound = computeLowerBound(problem);
  if (!bound)
    return Error{bound.error()};
  boundNs = bound->ns();
  return offer(problem.programOrder(), ScheduleOrigin::Program);
}

Result<StepSchedule> CandidateSearch::sketch(bool mayReorder, int64_t knownNs) {
  Status status = begin();
  Result<StepStructure> structure = StepStructure::create(problem);
  if (!structure)
    return Error{structure.error()};
  if (status) {
    std::vector<int64_t> lookAheads = listLookAheads(problem);
    Plan plan =
        construct(*structure, getProgramComputeOrder(*structure),
                  /*slackPercent=*/0,
                  {lookAheads[0], lookAheads[2], lookAheads.back()}, knownNs);
    // What is critical passes the rest within a short and a longer window: a
    // program whose collectives were merged may need another order of
    // computation than the one it has.
    for (size_t index : {1, 3}) {
      if (!mayReorder || plan.order.empty() ||
          !isWorthwhile(plan.expectedNs - boundNs))
        break;
      Plan other =
          construct(*structure, getComputeOrder(*structure, list(index)),
                    /*slackPercent=*/0, {plan.lookAheadNs},
                    std::min(plan.expectedNs, knownNs));
      if (!other.order.empty())
        plan = std::move(other);
      takeIfBetter(list(index), plan);
    }
    if (!plan.order.empty())
      status = offer(plan.order, ScheduleOrigin::Constructed);
  }
  if (!status)
    return Error{"scheduling made a bad order: " + status.error()};
  return std::move(best);
}

Result<StepSchedule> CandidateSearch::run() {
  Status status = begin();
  Result<IterativeReordering> simple = overlapSimply(problem);
  if (!simple)
    return Error{simple.error()};
  if (status)
    status = offer(simple->order, ScheduleOrigin::SimpleOverlap);
  if (status)
    status = constructAll();
  if (status)
    status = saveMemory();
  if (status)
    status = improve();
  if (!status)
    return Error{"scheduling made a bad order: " + status.error()};
  return std::move(best);
}

Result<StepSchedule>
schedule::chooseCandidate(const Problem &problem,
                          const StepSchedulerOptions &options,
                          bool isRepeated) {
  return CandidateSearch(problem, options, isRepeated).run();
}

Result<StepSchedule>
schedule::sketchCandidates(const Problem &problem,
                           const StepSchedulerOptions &options, bool mayReorder,
                           int64_t knownNs) {
  return CandidateSearch(problem, options).sketch(mayReorder, knownNs);
}
