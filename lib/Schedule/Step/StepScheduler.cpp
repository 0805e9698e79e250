//===- StepScheduler.cpp - Scheduler of training steps --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/Schedule/Step/StepScheduler.h"

#include "CommSched/Schedule/Model/MemoryTimeline.h"
#include "CommSched/Schedule/Model/ProblemTransforms.h"
#include "CommSched/Schedule/Model/Verify.h"
#include "ComputeOrders.h"
#include "SmallSteps.h"
#include "StepCandidates.h"
#include "StepConstruction.h"

#include <algorithm>

using namespace mlir::commsched;
using namespace mlir::commsched::schedule;

Result<StepSchedule> schedule::measureStep(const Problem &problem, Order order,
                                           const Contention &contention,
                                           ScheduleOrigin origin) {
  if (Status status = verify(problem, order); !status)
    return Error{status.error()};
  Result<Timeline> timeline = simulate(problem, order, contention);
  if (!timeline)
    return Error{timeline.error()};
  Result<MemoryTimeline> memory = simulateMemory(problem, order);
  if (!memory)
    return Error{memory.error()};
  StepSchedule schedule;
  schedule.order = std::move(order);
  schedule.stepNs = timeline->stepNs;
  schedule.peakBytes = memory->peakBytes;
  schedule.origin = origin;
  return schedule;
}

//===----------------------------------------------------------------------===//
// Dependences of uses
//===----------------------------------------------------------------------===//

/// Whether dependences keep `user` behind the producer of `buffer`: directly,
/// or through another user, such as a view.
static bool isOrdered(const Problem &problem, BufferId buffer, NodeId user) {
  NodeId producer = problem.buffer(buffer).producer;
  ArrayView<DependenceEnd> needed = problem.predecessors(user);
  return std::any_of(needed.begin(), needed.end(), [&](DependenceEnd end) {
    ArrayView<BufferId> used = problem.buffersUsedBy(end.node);
    return end.node == producer ||
           std::find(used.begin(), used.end(), buffer) != used.end();
  });
}

/// Returns the problem with a dependence for each use of a buffer that no
/// dependence keeps behind the buffer's producer, or std::nullopt if there is
/// no such use. O(nodes + dependences + uses), and for each use without a
/// direct dependence on the producer, the uses of all that its user depends on.
static std::optional<Problem> orderUses(const Problem &problem) {
  std::optional<Problem> ordered;
  // By operation: the last operation that it was found to precede.
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

//===----------------------------------------------------------------------===//
// Entry points
//===----------------------------------------------------------------------===//

/// Runs the scheduler once, unless that was done before.
static Result<StepSchedule> runOnce(const Problem &problem,
                                    const StepSchedulerOptions &options,
                                    bool isRepeated) {
  if (!options.cache)
    return chooseCandidate(problem, options, isRepeated);
  StepCache::Key key = StepCache::makeKey(problem, options, isRepeated);
  if (std::optional<StepSchedule> known = options.cache->find(key))
    return std::move(*known);
  Result<StepSchedule> found = chooseCandidate(problem, options, isRepeated);
  if (found)
    options.cache->keep(std::move(key), *found);
  return found;
}

/// One round: the best candidate, or if that is the program, what unhindered
/// moves make of it, if it is small enough for the effort.
static Result<StepSchedule> runRound(const Problem &problem,
                                     const StepSchedulerOptions &options,
                                     bool isRepeated) {
  constexpr int64_t leastOrders = 64;
  Result<StepSchedule> best = runOnce(problem, options, isRepeated);
  if (!best || best->origin != ScheduleOrigin::Program ||
      options.effort / leastOrders < problem.numNodes())
    return best;
  return makeUnhinderedMoves(problem, std::move(*best), options);
}

/// Repeats with the schedule as the program until nothing improves, so that
/// another run of the scheduler changes nothing. Dependences of the problem
/// order all uses.
static Result<StepSchedule> repeat(const Problem &problem,
                                   Result<StepSchedule> schedule,
                                   const StepSchedulerOptions &options) {
  constexpr int32_t maxRounds = 16;
  for (int32_t round = 0; schedule && round < maxRounds; ++round) {
    Problem program = renumber(problem, schedule->order);
    Result<StepSchedule> next = runRound(program, options, /*isRepeated=*/true);
    if (!next)
      return next;
    if (next->origin == ScheduleOrigin::Program)
      break;
    for (NodeId &node : next->order)
      node = schedule->order[node];
    // Rounds that gain less are a long way to little.
    constexpr int64_t leastPart = 65536;
    int64_t gainNs = schedule->stepNs - next->stepNs;
    bool isLast = gainNs > 0 && gainNs <= schedule->stepNs / leastPart;
    // A constructed schedule remains one, whatever improves it.
    if (schedule->origin == ScheduleOrigin::Constructed)
      next->origin = ScheduleOrigin::Constructed;
    schedule = std::move(next);
    if (isLast)
      break;
  }
  return schedule;
}

/// Checks the problem, and calls `search` with a problem that has `start`, a
/// legal order, as its program, with dependences that order all uses, and
/// without operations that make no difference. Returns what `search` does.
template <typename SearchFn>
static Result<StepSchedule>
searchFrom(const Problem &problem, const Order &start,
           const StepSchedulerOptions &options, SearchFn search) {
  if (!problem.check())
    return problem.check();
  if (Status status = verify(problem, start); !status)
    return Error{"the program is not a legal order: " + status.error()};
  std::optional<Problem> ordered = orderUses(problem);
  const Problem &known = ordered ? *ordered : problem;
  Order kept = leaveOutFree(known, start);
  if (kept == known.programOrder())
    return search(known);
  Result<StepSchedule> found = search(renumber(known, kept));
  if (!found)
    return found;
  Order order = start;
  if (found->origin != ScheduleOrigin::Program) {
    for (NodeId &node : found->order)
      node = kept[node];
    order = completeOrder(known, found->order);
  }
  return measureStep(problem, std::move(order), options.contention,
                     found->origin);
}

Result<StepSchedule>
schedule::scheduleStep(const Problem &problem,
                       const StepSchedulerOptions &options) {
  return searchFrom(problem, problem.programOrder(), options,
                    [&](const Problem &ordered) {
                      Result<StepSchedule> first =
                          runRound(ordered, options, /*isRepeated=*/false);
                      if (!first || first->origin == ScheduleOrigin::Program)
                        return first;
                      return repeat(ordered, std::move(first), options);
                    });
}

Result<StepSchedule>
schedule::improveStep(const Problem &problem, StepSchedule schedule,
                      const StepSchedulerOptions &options) {
  Order start = schedule.order;
  // What is improved is a schedule, whatever it was.
  ScheduleOrigin origin = schedule.origin;
  Result<StepSchedule> improved =
      searchFrom(problem, start, options, [&](const Problem &program) {
        schedule.order = program.programOrder();
        schedule.origin = ScheduleOrigin::Program;
        return repeat(program, schedule, options);
      });
  if (improved && (improved->origin == ScheduleOrigin::Program ||
                   origin == ScheduleOrigin::Constructed))
    improved->origin = origin;
  return improved;
}

Result<Order> schedule::startLate(const Problem &problem) {
  Result<StepStructure> structure = StepStructure::create(problem);
  if (!structure)
    return Error{structure.error()};
  return StepConstruction(*structure, getProgramComputeOrder(*structure))
      .alapOrder();
}

Result<StepSchedule>
schedule::scheduleStepOnce(const Problem &problem,
                           const StepSchedulerOptions &options) {
  return searchFrom(problem, problem.programOrder(), options,
                    [&](const Problem &ordered) {
                      return runOnce(ordered, options, /*isRepeated=*/false);
                    });
}

/// sketchStep() and sketchStepInOrders().
static Result<StepSchedule> sketch(const Problem &problem,
                                   const StepSchedulerOptions &options,
                                   bool mayReorder, int64_t knownNs) {
  return searchFrom(
      problem, problem.programOrder(), options, [&](const Problem &ordered) {
        return sketchCandidates(ordered, options, mayReorder, knownNs);
      });
}

Result<StepSchedule> schedule::sketchStep(const Problem &problem,
                                          const StepSchedulerOptions &options) {
  return sketch(problem, options, /*mayReorder=*/false, unlimited);
}

Result<StepSchedule>
schedule::sketchStepInOrders(const Problem &problem,
                             const StepSchedulerOptions &options,
                             int64_t knownNs) {
  return sketch(problem, options, /*mayReorder=*/true, knownNs);
}

StepCache::Key StepCache::makeKey(const Problem &problem,
                                  const StepSchedulerOptions &options,
                                  bool isRepeated) {
  Key key;
  problem.appendTo(key);
  const Contention &contention = options.contention;
  auto append = [&](auto... numbers) {
    (key.push_back(static_cast<int64_t>(numbers)), ...);
  };
  append(options.limitBytes, options.slackPercent, options.maxDistance,
         options.effort, isRepeated, contention.exclusive.size(),
         contention.links.size(), contention.slowdownPpm.size());
  for (auto [a, b] : contention.exclusive)
    append(a, b);
  key.insert(key.end(), contention.links.begin(), contention.links.end());
  key.insert(key.end(), contention.slowdownPpm.begin(),
             contention.slowdownPpm.end());
  return key;
}

std::optional<StepSchedule> StepCache::find(const Key &key) const {
  std::lock_guard<std::mutex> lock(mutex);
  auto it = schedules.find(key);
  return it == schedules.end() ? std::nullopt : std::optional(it->second);
}

void StepCache::keep(Key key, const StepSchedule &schedule) {
  std::lock_guard<std::mutex> lock(mutex);
  if (key.size() > maxNumbers - numNumbers)
    return;
  numNumbers += key.size();
  schedules.emplace(std::move(key), schedule);
}
