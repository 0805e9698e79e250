//===- ImplementationScheduler.cpp - Implementations and an order ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Choices.h"
#include "CommSched/Schedule/Model/MemoryTimeline.h"
#include "CommSched/Schedule/Model/ProblemTransforms.h"
#include "CommSched/Schedule/Model/Verify.h"

#include <algorithm>
#include <map>

using namespace mlir::commsched;
using namespace mlir::commsched::schedule;

//===----------------------------------------------------------------------===//
// Starts of streams that share a link
//===----------------------------------------------------------------------===//

/// `contention` with streams of one link that are exclusive; false if too many
/// share one.
static bool makeExclusive(const Problem &problem, Contention &contention) {
  constexpr size_t mostStreams = 64;
  std::map<int32_t, std::vector<StreamId>> streamsOf;
  StreamId numStreams = std::min(
      problem.numStreams(), static_cast<StreamId>(contention.links.size()));
  for (StreamId stream = 0; stream < numStreams; ++stream)
    if (contention.links[stream] >= 0)
      streamsOf[contention.links[stream]].push_back(stream);
  for (const auto &[link, streams] : streamsOf) {
    if (streams.size() > mostStreams)
      return false;
    for (size_t second = 1; second < streams.size(); ++second)
      for (size_t first = 0; first < second; ++first)
        contention.exclusive.push_back({streams[first], streams[second]});
  }
  std::sort(contention.exclusive.begin(), contention.exclusive.end());
  auto end =
      std::unique(contention.exclusive.begin(), contention.exclusive.end());
  contention.exclusive.erase(end, contention.exclusive.end());
  return true;
}

/// The order in which each start is issued at the last operation of the compute
/// stream that begins no later than the collective does, and before its wait.
static Order issueAtBegin(const Problem &problem, const Order &order,
                          const std::vector<int64_t> &beginNs) {
  std::vector<NodeId> issuing;
  std::vector<size_t> placeOf(order.size());
  for (NodeId node : order)
    if (problem.kind(node) != NodeKind::Start) {
      placeOf[node] = issuing.size();
      issuing.push_back(node);
    }
  struct Issue {
    size_t place;
    NodeId start;
  };
  std::vector<Issue> issues;
  for (NodeId node : order) {
    if (problem.kind(node) != NodeKind::Start)
      continue;
    auto after = std::upper_bound(
        issuing.begin(), issuing.end(), beginNs[node],
        [&](int64_t ns, NodeId other) { return ns < beginNs[other]; });
    auto number = static_cast<size_t>(after - issuing.begin());
    size_t place = number == 0 ? 0 : number - 1;
    issues.push_back({std::min(place, placeOf[problem.waitOf(node)]), node});
  }
  std::stable_sort(
      issues.begin(), issues.end(), [&](const Issue &a, const Issue &b) {
        return a.place != b.place ? a.place < b.place
                                  : beginNs[a.start] < beginNs[b.start];
      });
  Order result;
  auto issue = issues.begin();
  for (size_t place = 0; place < issuing.size(); ++place) {
    for (; issue != issues.end() && issue->place == place; ++issue)
      result.push_back(issue->start);
    result.push_back(issuing[place]);
  }
  return result;
}

/// Returns `order` with starts moved back to where their link is free: to the
/// operation of the compute stream during which they would begin if streams of
/// one link were exclusive. Returns `order` itself where the result is not
/// legal, or where more than 64 streams share a link. Error: that of
/// simulate(). O(nodes * log nodes).
///
/// The scheduler starts collectives as early as it can. On one stream that does
/// no harm, as they wait for each other; on two streams of one link the later
/// one takes bandwidth from the one that is needed first.
static Result<Order> separateStarts(const Problem &problem, const Order &order,
                                    const Contention &contention) {
  Contention separate = contention;
  if (!makeExclusive(problem, separate))
    return order;
  Result<Timeline> timeline = simulate(problem, order, separate);
  if (!timeline)
    return Error{timeline.error()};
  Order separated = issueAtBegin(problem, order, timeline->beginNs);
  if (!verify(problem, separated))
    return order;
  return separated;
}

//===----------------------------------------------------------------------===//
// The scheduler
//===----------------------------------------------------------------------===//

/// The numbers of operations up to which scheduleStep() and scheduleStepOnce()
/// are fast enough to be called several times.
static constexpr NodeId mostForAll = 8'000, mostForOnce = 30'000;

namespace {

/// Improves a choice and an order in turns.
class ImplementationScheduler {
public:
  ImplementationScheduler(const Problem &problem,
                          const Implementations &implementations,
                          const StepSchedulerOptions &options)
      : problem(problem), implementations(implementations), options(options) {}

  Result<ImplementationSchedule> run(const Order &order);

private:
  bool isBetter(const ImplementationSchedule &a,
                const ImplementationSchedule &b) const;
  Result<ImplementationSchedule>
  reschedule(const ImplementationSchedule &from) const;
  Result<std::vector<Order>>
  listOrders(const ImplementationSchedule &from) const;
  Result<bool> improve(const ImplementationSchedule &from);
  std::vector<ImplementationChoice> listStarts() const;

  const Problem &problem;
  const Implementations &implementations;
  const StepSchedulerOptions &options;
  ImplementationSchedule best;
};

} // namespace

bool ImplementationScheduler::isBetter(const ImplementationSchedule &a,
                                       const ImplementationSchedule &b) const {
  auto getKey = [&](const ImplementationSchedule &schedule) {
    return std::make_pair(schedule.schedule.rank(options.limitBytes),
                          schedule.numChanged);
  };
  return getKey(a) < getKey(b);
}

/// Schedules the operations with the choice of `from`, whose order is the
/// program.
Result<ImplementationSchedule>
ImplementationScheduler::reschedule(const ImplementationSchedule &from) const {
  Result<Problem> chosen =
      withImplementations(problem, implementations, from.choice);
  if (!chosen)
    return Error{chosen.error()};
  Problem program = renumber(*chosen, from.schedule.order);
  auto schedule = problem.numNodes() <= mostForAll    ? scheduleStep
                  : problem.numNodes() <= mostForOnce ? scheduleStepOnce
                                                      : sketchStep;
  Result<StepSchedule> scheduled = schedule(program, options);
  if (!scheduled)
    return Error{scheduled.error()};
  for (NodeId &node : scheduled->order)
    node = from.schedule.order[node];
  ImplementationSchedule result;
  result.choice = from.choice;
  result.numChanged = from.numChanged;
  result.schedule = std::move(*scheduled);
  return result;
}

/// Returns the order of `from`, and that in which its collectives do not share
/// links.
Result<std::vector<Order>>
ImplementationScheduler::listOrders(const ImplementationSchedule &from) const {
  std::vector<Order> orders = {from.schedule.order};
  Result<Problem> chosen =
      withImplementations(problem, implementations, from.choice);
  if (!chosen)
    return Error{chosen.error()};
  Result<Order> separated =
      separateStarts(*chosen, from.schedule.order, options.contention);
  if (!separated)
    return Error{separated.error()};
  if (*separated != orders.front())
    orders.push_back(std::move(*separated));
  return orders;
}

/// Schedules the choice of `from`, and chooses for that order. Returns whether
/// the result is the best so far, and keeps it then.
Result<bool>
ImplementationScheduler::improve(const ImplementationSchedule &from) {
  Result<ImplementationSchedule> ordered = reschedule(from);
  if (!ordered)
    return Error{ordered.error()};
  Result<std::vector<Order>> orders = listOrders(*ordered);
  if (!orders)
    return Error{orders.error()};
  bool isImproved = false;
  for (const Order &order : *orders) {
    Result<ImplementationSchedule> chosen = chooseImplementations(
        problem, implementations, order, ordered->choice, options);
    if (!chosen)
      return Error{chosen.error()};
    if (!isBetter(*chosen, best))
      continue;
    chosen->schedule.origin = ordered->schedule.origin;
    best = std::move(*chosen);
    isImproved = true;
  }
  return isImproved;
}

/// Returns choices by price, and for each stream and another one the choice
/// that puts there what can be put there.
std::vector<ImplementationChoice> ImplementationScheduler::listStarts() const {
  std::vector<ImplementationChoice> starts;
  for (int64_t exposedPpm : {1'000'000, 0, 250'000})
    starts.push_back(
        choosePrices(implementations, options.contention,
                     std::vector<int64_t>(implementations.size(), exposedPpm)));
  for (const auto &[streams, changes] : groupByStreams(implementations)) {
    ImplementationChoice choice(implementations.size());
    for (auto [node, index] : changes)
      choice[node] = index;
    starts.push_back(std::move(choice));
  }
  // Each once, and not the first implementations.
  std::vector<ImplementationChoice> distinct;
  for (ImplementationChoice &start : starts)
    if (countChanged(start) > 0 &&
        std::find(distinct.begin(), distinct.end(), start) == distinct.end())
      distinct.push_back(std::move(start));
  size_t most = problem.numNodes() <= mostForAll    ? 6
                : problem.numNodes() <= mostForOnce ? 2
                                                    : 1;
  distinct.resize(std::min(distinct.size(), most));
  return distinct;
}

Result<ImplementationSchedule>
ImplementationScheduler::run(const Order &order) {
  ImplementationChoice first(implementations.size());
  Result<ImplementationSchedule> chosen =
      chooseImplementations(problem, implementations, order, first, options);
  if (!chosen)
    return chosen;
  best = *chosen;
  Result<bool> improved = improve(best);
  bool isOpen = improved && *improved;
  for (ImplementationChoice &start : listStarts()) {
    if (!improved)
      return Error{improved.error()};
    ImplementationSchedule from;
    from.numChanged = countChanged(start);
    from.choice = std::move(start);
    from.schedule.order = order;
    improved = improve(from);
    isOpen |= improved && *improved;
  }
  // The best of all is improved further as long as that works.
  constexpr int32_t maxRounds = 3;
  for (int32_t round = 0; round < maxRounds && improved && isOpen; ++round) {
    improved = improve(best);
    isOpen = improved && *improved;
  }
  if (!improved)
    return Error{improved.error()};
  return std::move(best);
}

/// Checks that the schedule is what it states.
static Status verifySchedule(const Problem &problem,
                             const Implementations &implementations,
                             const ImplementationSchedule &result,
                             const Contention &contention) {
  const StepSchedule &schedule = result.schedule;
  Result<Problem> chosen =
      withImplementations(problem, implementations, result.choice);
  if (!chosen)
    return Error{chosen.error()};
  Result<StepSchedule> measured =
      measureStep(*chosen, schedule.order, contention);
  if (!measured)
    return Error{measured.error()};
  if (measured->stepNs != schedule.stepNs ||
      measured->peakBytes != schedule.peakBytes)
    return Error{"the step of " + std::to_string(measured->stepNs) +
                 " ns with a peak of " + std::to_string(measured->peakBytes) +
                 " bytes was taken for one of " +
                 std::to_string(schedule.stepNs) + " ns with " +
                 std::to_string(schedule.peakBytes) + " bytes"};
  return Status::success();
}

Result<ImplementationSchedule> schedule::scheduleImplementations(
    const Problem &problem, const Implementations &implementations,
    const Order &order, const StepSchedulerOptions &options) {
  if (!problem.check())
    return problem.check();
  if (Status status = check(implementations, problem); !status)
    return status;
  Result<ImplementationSchedule> result =
      ImplementationScheduler(problem, implementations, options).run(order);
  if (!result)
    return result;
  if (Status status =
          verifySchedule(problem, implementations, *result, options.contention);
      !status)
    return Error{"the choice of implementations is wrong: " + status.error()};
  return result;
}
