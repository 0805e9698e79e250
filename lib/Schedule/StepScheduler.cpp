//===- StepScheduler.cpp --------------------------------------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Schedule/StepScheduler.h"

#include "CommSched/Schedule/BackboneOrders.h"
#include "CommSched/Schedule/BeamSearch.h"
#include "CommSched/Schedule/MemoryTimeline.h"
#include "CommSched/Schedule/OrderImprovement.h"
#include "CommSched/Schedule/PeakMemoryOrders.h"
#include "CommSched/Schedule/Renumbering.h"
#include "CommSched/Schedule/SimpleOverlap.h"
#include "CommSched/Schedule/StepConstruction.h"
#include "CommSched/Schedule/TightLowerBound.h"
#include "CommSched/Schedule/Verify.h"

#include <algorithm>

using namespace commsched;

namespace {

/// Looks for the best order of one program.
class StepSearch {
public:
  StepSearch(const Problem &problem, const StepSchedulerOptions &options)
      : problem(problem), options(options) {}

  /// The best of all candidates.
  Result<StepSchedule> run();

private:
  /// An order of computation with the look-ahead that suits it best.
  struct Plan {
    Order order;
    int64_t stepNs = std::numeric_limits<int64_t>::max();
    int64_t lookAheadNs = 0;
  };

  /// What is not worth the trouble: a two-thousandth of the step.
  bool isWorthwhile(int64_t gainNs) const {
    return gainNs > best.stepNs / 2048;
  }
  OptionalError offer(const Order &order, ScheduleOrigin origin);
  bool isBetter(const StepSchedule &a, const StepSchedule &b) const;
  Plan construct(const StepStructure &structure, const Order &backbone,
                 const std::vector<int64_t> &lookAheadsNs);
  OptionalError constructAll();
  OptionalError improve();
  OptionalError saveMemory();

  const Problem &problem;
  const StepSchedulerOptions &options;
  int64_t boundNs = 0;
  StepSchedule best;
};

} // namespace

bool StepSearch::isBetter(const StepSchedule &a, const StepSchedule &b) const {
  bool fitsA = a.fits(options.limitBytes), fitsB = b.fits(options.limitBytes);
  if (fitsA != fitsB)
    return fitsA;
  if (fitsA && a.stepNs != b.stepNs)
    return a.stepNs < b.stepNs;
  return a.peakBytes != b.peakBytes ? a.peakBytes < b.peakBytes
                                    : a.stepNs < b.stepNs;
}

/// Keeps an order if it is the best so far. Error: it is not legal.
OptionalError StepSearch::offer(const Order &order, ScheduleOrigin origin) {
  if (OptionalError error = verify(problem, order))
    return error;
  Result<Timeline> timeline = simulate(problem, order, options.contention);
  if (!timeline)
    return timeline.error();
  StepSchedule schedule;
  schedule.stepNs = timeline->stepNs;
  schedule.peakBytes = simulateMemory(problem, order)->peakBytes;
  schedule.origin = origin;
  if (!best.order.empty() && !isBetter(schedule, best))
    return std::nullopt;
  schedule.order = order;
  best = std::move(schedule);
  return std::nullopt;
}

/// Look-aheads to try, in nanoseconds: from none to no limit, in multiples of
/// the longest collective.
static std::vector<int64_t> listLookAheads(const Problem &problem) {
  int64_t longestNs = 0;
  for (NodeId node = 0; node < problem.numNodes(); ++node)
    if (problem.kind(node) == NodeKind::Start)
      longestNs = std::max(longestNs, problem.costNs(node));
  constexpr int64_t unlimited = std::numeric_limits<int64_t>::max();
  std::vector<int64_t> lookAheads = {0};
  for (int64_t quarters : {1, 2, 4, 8, 16, 32})
    if (longestNs < unlimited / 32)
      lookAheads.push_back(longestNs * quarters / 4);
  lookAheads.push_back(unlimited);
  return lookAheads;
}

/// Constructs orders on a backbone and keeps the best. What exceeds the limit
/// although the construction minded it is tried again with a limit that is
/// lower by as much.
StepSearch::Plan
StepSearch::construct(const StepStructure &structure, const Order &backbone,
                      const std::vector<int64_t> &lookAheadsNs) {
  StepConstruction construction(structure, backbone);
  ConstructionOptions with;
  with.slackPercent = options.slackPercent;
  with.exclusive = options.contention.exclusive;
  Plan plan;
  for (int64_t lookAheadNs : lookAheadsNs) {
    with.lookAheadNs = lookAheadNs;
    with.limitBytes = options.limitBytes;
    constexpr int32_t maxTrials = 3;
    for (int32_t trial = 0; trial < maxTrials; ++trial) {
      Order order = construction.construct(with);
      int64_t peakBytes = simulateMemory(problem, order)->peakBytes;
      int64_t excess = peakBytes - options.limitBytes;
      if (peakBytes > options.limitBytes) {
        with.limitBytes -= excess;
        continue;
      }
      int64_t stepNs = simulate(problem, order, options.contention)->stepNs;
      if (stepNs < plan.stepNs)
        plan = {std::move(order), stepNs, lookAheadNs};
      break;
    }
    // More memory would hardly make it better.
    if (!isWorthwhile(plan.stepNs - boundNs))
      break;
  }
  return plan;
}

/// Constructs orders on the backbone of the program, and on others that promise
/// to be better.
OptionalError StepSearch::constructAll() {
  Result<StepStructure> structure = StepStructure::create(problem);
  if (!structure)
    return structure.error();
  Plan plan = construct(*structure, getProgramBackbone(*structure),
                        listLookAheads(problem));
  if (plan.order.empty())
    return std::nullopt;
  auto keepIfBetter = [&](const Order &backbone) {
    Plan other = construct(*structure, backbone, {plan.lookAheadNs});
    if (other.stepNs >= plan.stepNs)
      return false;
    plan = std::move(other);
    return true;
  };
  // What is left to gain at the end, and a quarter or half of it.
  for (int64_t part : {0, 1, 2})
    if (int64_t gainNs = plan.stepNs - boundNs; isWorthwhile(gainNs))
      keepIfBetter(fillEnd(*structure, gainNs * part / 4));
  constexpr int32_t maxRounds = 4, maxDistance = 64;
  for (int32_t round = 0;
       round < maxRounds && isWorthwhile(plan.stepNs - boundNs); ++round) {
    Result<Timeline> timeline =
        simulate(problem, plan.order, options.contention);
    if (!timeline)
      return timeline.error();
    if (!keepIfBetter(
            fillStalls(*structure, plan.order, *timeline, maxDistance)))
      break;
  }
  // Something that is there already stays unless it is clearly worse.
  if (best.fits(options.limitBytes) && !isWorthwhile(best.stepNs - plan.stepNs))
    return std::nullopt;
  return offer(plan.order, ScheduleOrigin::Constructed);
}

/// Grows orders anew and tries small moves, if the program is small enough for
/// them to get anywhere.
OptionalError StepSearch::improve() {
  int64_t numNodes = problem.numNodes();
  if (!best.fits(options.limitBytes) || best.stepNs <= boundNs ||
      options.effort / (numNodes + 1) < 4 * numNodes)
    return std::nullopt;
  BeamSearchOptions beam;
  beam.limitBytes = options.limitBytes;
  beam.belowNs = best.stepNs;
  beam.goalNs = boundNs;
  beam.effort = options.effort;
  if (std::optional<Order> order = searchBeam(problem, beam))
    if (OptionalError error = offer(*order, ScheduleOrigin::Constructed))
      return error;
  if (best.stepNs <= boundNs)
    return std::nullopt;
  OrderImprovementOptions with;
  with.limitBytes = options.limitBytes;
  with.contention = options.contention;
  with.goalNs = boundNs;
  with.effort = options.effort;
  return offer(improveOrder(problem, best.order, with),
               ScheduleOrigin::Constructed);
}

/// Looks for an order within the limit, or near it, whatever the step.
OptionalError StepSearch::saveMemory() {
  if (best.fits(options.limitBytes))
    return std::nullopt;
  Result<StepStructure> structure = StepStructure::create(problem);
  if (!structure)
    return structure.error();
  if (OptionalError error =
          offer(StepConstruction(*structure, getProgramBackbone(*structure))
                    .lastMinuteOrder(),
                ScheduleOrigin::LeastMemory))
    return error;
  // It demands that who uses a buffer depends on who makes it.
  Result<Order> least = sortLeastPeakMemoryFirst(problem);
  return least ? offer(*least, ScheduleOrigin::LeastMemory) : std::nullopt;
}

Result<StepSchedule> StepSearch::run() {
  Result<TightLowerBound> bound = computeTightLowerBound(problem);
  if (!bound)
    return Error{bound.error()};
  boundNs = bound->ns;
  Result<IterativeReordering> simple = overlapSimply(problem);
  if (!simple)
    return Error{simple.error()};
  OptionalError error = offer(problem.programOrder(), ScheduleOrigin::Program);
  if (!error)
    error = offer(simple->order, ScheduleOrigin::SimpleOverlap);
  if (!error)
    error = constructAll();
  if (!error)
    error = saveMemory();
  if (!error)
    error = improve();
  if (error)
    return Error{"scheduling made a bad order: " + *error};
  return std::move(best);
}

/// Whether dependences keep `user` behind who makes `buffer`: directly, or by
/// way of another user, as views have it.
static bool isOrdered(const Problem &problem, BufferId buffer, NodeId user) {
  NodeId producer = problem.buffer(buffer).producer;
  ArrayView<DependenceEnd> needed = problem.predecessors(user);
  return std::any_of(needed.begin(), needed.end(), [&](DependenceEnd end) {
    ArrayView<BufferId> used = problem.buffersUsedBy(end.node);
    return end.node == producer ||
           std::find(used.begin(), used.end(), buffer) != used.end();
  });
}

/// The problem with a dependence for each use of a buffer that has none; none
/// if all have one.
static std::optional<Problem> orderUses(const Problem &problem) {
  std::optional<Problem> ordered;
  // By operation: the last whose predecessor it is.
  std::vector<NodeId> predecessorOf(problem.numNodes(), noNode);
  for (NodeId user = 0; user < problem.numNodes(); ++user) {
    for (DependenceEnd end : problem.predecessors(user))
      predecessorOf[end.node] = user;
    for (BufferId buffer : problem.buffersUsedBy(user)) {
      NodeId producer = problem.buffer(buffer).producer;
      if (producer == noNode || producer == user ||
          predecessorOf[producer] == user || isOrdered(problem, buffer, user))
        continue;
      if (!ordered)
        ordered = problem;
      ordered->addDependence(producer, user, DependenceKind::Memory);
    }
  }
  if (ordered)
    ordered->finalize();
  return ordered;
}

/// For a problem whose dependences order all uses.
static Result<StepSchedule> searchStep(const Problem &problem,
                                       const StepSchedulerOptions &options) {
  Result<StepSchedule> schedule = StepSearch(problem, options).run();
  if (!schedule)
    return schedule;
  // As long as the schedule, taken as a program, can be bettered, so that
  // another run finds nothing.
  constexpr int32_t maxRounds = 16;
  for (int32_t round = 0;
       round < maxRounds && schedule->origin != ScheduleOrigin::Program;
       ++round) {
    Problem program = renumber(problem, schedule->order);
    Result<StepSchedule> next = StepSearch(program, options).run();
    if (!next)
      return next;
    if (next->origin == ScheduleOrigin::Program)
      break;
    for (NodeId &node : next->order)
      node = schedule->order[node];
    // What was constructed stays so, whatever is done to it.
    if (schedule->origin == ScheduleOrigin::Constructed)
      next->origin = ScheduleOrigin::Constructed;
    schedule = std::move(next);
  }
  return schedule;
}

Result<StepSchedule>
commsched::scheduleStep(const Problem &problem,
                        const StepSchedulerOptions &options) {
  if (problem.check())
    return Error{*problem.check()};
  if (OptionalError error = verify(problem, problem.programOrder()))
    return Error{"the program is not a legal order: " + *error};
  std::optional<Problem> ordered = orderUses(problem);
  return searchStep(ordered ? *ordered : problem, options);
}
