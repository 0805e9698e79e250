//===- ImplementationChoice.cpp - Implementations at one order ------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ChoiceSimulator.h"

#include "CommSched/Schedule/Model/MemoryTimeline.h"
#include "CommSched/Schedule/Model/Verify.h"

#include <algorithm>

using namespace mlir::commsched;
using namespace mlir::commsched::schedule;

//===----------------------------------------------------------------------===//
// Check
//===----------------------------------------------------------------------===//

static Status checkWays(const std::vector<Implementation> &ways, NodeId node,
                        const Problem &problem) {
  auto name = [&](size_t index) {
    return "implementation " + std::to_string(index) + " of " +
           problem.describe(node);
  };
  if (!problem.isCollective(node))
    return Error{problem.describe(node) + " has " +
                 std::to_string(ways.size()) +
                 " implementations, but it is no collective"};
  for (size_t i = 0; i < ways.size(); ++i) {
    if (ways[i].costNs < 0)
      return Error{name(i) + " has a negative cost of " +
                   std::to_string(ways[i].costNs) + " ns"};
    if (ways[i].stream < 0 || ways[i].stream >= maxStreams)
      return Error{name(i) + " is on stream " +
                   std::to_string(ways[i].stream) +
                   ", but streams are numbered from 0 to " +
                   std::to_string(maxStreams - 1)};
  }
  const Implementation &first = ways.front();
  if (first.costNs != problem.costNs(node) ||
      first.stream != problem.stream(node))
    return Error{name(0) + " takes " + std::to_string(first.costNs) +
                 " ns on stream " + std::to_string(first.stream) +
                 ", but that of the problem takes " +
                 std::to_string(problem.costNs(node)) + " ns on stream " +
                 std::to_string(problem.stream(node))};
  return Status::success();
}

Status schedule::check(const Implementations &implementations,
                       const Problem &problem) {
  if (implementations.size() != static_cast<size_t>(problem.numNodes()))
    return Error{"there are implementations for " +
                 std::to_string(implementations.size()) +
                 " operations, but the problem has " +
                 std::to_string(problem.numNodes())};
  int64_t totalNs = 0;
  for (NodeId node = 0; node < problem.numNodes(); ++node) {
    const std::vector<Implementation> &ways = implementations[node];
    int64_t longestNs = problem.costNs(node);
    if (!ways.empty())
      if (Status status = checkWays(ways, node, problem); !status)
        return status;
    for (const Implementation &way : ways)
      longestNs = std::max(longestNs, way.costNs);
    if (longestNs > std::numeric_limits<int64_t>::max() - totalNs)
      return Error{"the sum of the longest implementations up to " +
                   problem.describe(node) + ", which takes up to " +
                   std::to_string(longestNs) + " ns, does not fit 64 bits"};
    totalNs += longestNs;
  }
  return Status::success();
}

Result<Problem>
schedule::withImplementations(const Problem &problem,
                              const Implementations &implementations,
                              const ImplementationChoice &choice) {
  if (!problem.check())
    return problem.check();
  if (Status status = check(implementations, problem); !status)
    return status;
  if (choice.size() != implementations.size())
    return Error{"the choice is one for " + std::to_string(choice.size()) +
                 " operations, but the problem has " +
                 std::to_string(problem.numNodes())};
  for (NodeId node = 0; node < problem.numNodes(); ++node) {
    size_t count = std::max<size_t>(implementations[node].size(), 1);
    if (choice[node] < 0 || static_cast<size_t>(choice[node]) >= count)
      return Error{"implementation " + std::to_string(choice[node]) +
                   " is chosen for " + problem.describe(node) +
                   ", which has " +
                   std::to_string(implementations[node].size())};
  }
  Problem result = problem;
  result.reserveStreams(countStreams(problem, implementations));
  if (Status status = result.replaceCollectives(
          getCollectiveCosts(implementations, choice));
      !status)
    return status;
  return result;
}

//===----------------------------------------------------------------------===//
// Choice
//===----------------------------------------------------------------------===//

namespace {

/// Improves the choice for one order.
class ImplementationChooser {
public:
  ImplementationChooser(const Problem &problem,
                        const Implementations &implementations,
                        const Order &order,
                        const StepSchedulerOptions &options);

  /// Simulates the choice that is to be improved.
  Status begin(ImplementationChoice choice);
  /// Tries several prices for what may be exposed.
  void tryPrices();
  /// Tries one implementation for all collectives of one stream at once.
  void tryStreams();
  /// Tries the changes that are estimated to gain something, together.
  void tryEstimates();
  /// Tries all changes, one by one, until none improves the choice.
  void tryEach();
  /// Undoes changes that gain nothing.
  void simplify();

  /// The best choice and its step.
  ImplementationSchedule takeBest();

private:
  bool isExhausted() const { return numRuns >= maxRuns; }
  bool offer(const ImplementationChoice &choice);
  std::vector<Change> listChangesByGain() const;

  const Implementations &implementations;
  const Contention &contention;
  ChoiceSimulator simulator;
  /// How many choices may be simulated, and were.
  int64_t maxRuns;
  int64_t numRuns = 0;

  ImplementationChoice best;
  Timeline timeline;
  int32_t numChanged = 0;
};

} // namespace

ImplementationChooser::ImplementationChooser(
    const Problem &problem, const Implementations &implementations,
    const Order &order, const StepSchedulerOptions &options)
    : implementations(implementations), contention(options.contention),
      simulator(problem, implementations, order, contention) {
  constexpr int64_t fewestRuns = 32, mostRuns = 4096;
  maxRuns = std::clamp(options.effort / (problem.numNodes() + 1), fewestRuns,
                       mostRuns);
}

Status ImplementationChooser::begin(ImplementationChoice choice) {
  Result<Timeline> simulated = simulator.run(choice);
  if (!simulated)
    return Error{simulated.error()};
  timeline = std::move(*simulated);
  numChanged = countChanged(choice);
  best = std::move(choice);
  return Status::success();
}

/// Keeps a choice if it is the best so far. One whose times might not fit 64
/// bits is not.
bool ImplementationChooser::offer(const ImplementationChoice &choice) {
  if (isExhausted() || choice == best)
    return false;
  ++numRuns;
  Result<Timeline> simulated = simulator.run(choice);
  if (!simulated || simulated->stepNs > timeline.stepNs)
    return false;
  int32_t changed = countChanged(choice);
  if (simulated->stepNs == timeline.stepNs &&
      (changed != numChanged ? changed > numChanged : choice > best))
    return false;
  timeline = std::move(*simulated);
  numChanged = changed;
  best = choice;
  return true;
}

void ImplementationChooser::tryPrices() {
  constexpr int64_t fractionsPpm[] = {0,       62'500,  125'000,
                                      250'000, 500'000, 1'000'000};
  std::vector<bool> isExposed = simulator.findExposed(best, timeline);
  std::vector<ImplementationChoice> tried;
  for (bool uniform : {true, false})
    for (int64_t fractionPpm : fractionsPpm) {
      std::vector<int64_t> exposedPpm(isExposed.size(), fractionPpm);
      for (size_t node = 0; !uniform && node < isExposed.size(); ++node)
        if (isExposed[node])
          exposedPpm[node] = 1'000'000;
      ImplementationChoice choice =
          choosePrices(implementations, contention, exposedPpm);
      if (std::find(tried.begin(), tried.end(), choice) != tried.end())
        continue;
      offer(choice);
      tried.push_back(std::move(choice));
    }
}

void ImplementationChooser::tryStreams() {
  int64_t lastRun = numRuns + maxRuns / 4;
  for (const auto &[streams, changes] : groupByStreams(implementations)) {
    if (numRuns >= lastRun)
      return;
    ImplementationChoice choice = best;
    for (auto [node, index] : changes)
      choice[node] = index;
    offer(choice);
  }
}

std::vector<Change> ImplementationChooser::listChangesByGain() const {
  std::vector<Change> changes = simulator.listChanges(best, timeline);
  std::sort(changes.begin(), changes.end(), [](const Change &a,
                                               const Change &b) {
    if (a.gainNs != b.gainNs)
      return a.gainNs > b.gainNs;
    return a.node != b.node ? a.node < b.node
                            : a.implementation < b.implementation;
  });
  return changes;
}

void ImplementationChooser::tryEstimates() {
  int64_t lastRun = numRuns + (maxRuns - numRuns) / 2;
  bool improved = true;
  while (improved && numRuns < lastRun) {
    // The best change of each operation.
    std::vector<Change> changes = listChangesByGain();
    std::vector<bool> isSeen(implementations.size());
    std::vector<Change> gaining;
    for (const Change &change : changes) {
      if (change.gainNs <= 0)
        break;
      if (!isSeen[change.node])
        gaining.push_back(change);
      isSeen[change.node] = true;
    }
    improved = false;
    for (size_t count = gaining.size(); count > 0 && !improved; count /= 2) {
      ImplementationChoice choice = best;
      for (size_t i = 0; i < count; ++i)
        choice[gaining[i].node] = gaining[i].implementation;
      improved = offer(choice);
    }
  }
}

void ImplementationChooser::tryEach() {
  // What is left undoes changes.
  int64_t lastRun = maxRuns - maxRuns / 8;
  bool improved = true;
  while (improved) {
    improved = false;
    for (const Change &change : listChangesByGain()) {
      if (numRuns >= lastRun)
        return;
      ImplementationChoice choice = best;
      choice[change.node] = change.implementation;
      improved |= offer(choice);
    }
  }
}

void ImplementationChooser::simplify() {
  std::vector<NodeId> changed;
  for (size_t node = 0; node < best.size(); ++node)
    if (best[node] != 0)
      changed.push_back(static_cast<NodeId>(node));
  // Ranges of `changed`, of which the last is undone next.
  std::vector<std::pair<size_t, size_t>> ranges = {{0, changed.size()}};
  while (!ranges.empty() && !isExhausted()) {
    auto [begin, end] = ranges.back();
    ranges.pop_back();
    if (begin == end)
      continue;
    ImplementationChoice choice = best;
    for (size_t i = begin; i < end; ++i)
      choice[changed[i]] = 0;
    if (offer(choice) || end - begin == 1)
      continue;
    size_t middle = begin + (end - begin) / 2;
    ranges.push_back({middle, end});
    ranges.push_back({begin, middle});
  }
}

ImplementationSchedule ImplementationChooser::takeBest() {
  ImplementationSchedule result;
  result.choice = std::move(best);
  result.numChanged = numChanged;
  result.schedule.stepNs = timeline.stepNs;
  return result;
}

Result<ImplementationSchedule> schedule::chooseImplementations(
    const Problem &problem, const Implementations &implementations,
    const Order &order, const ImplementationChoice &initial,
    const StepSchedulerOptions &options) {
  // Checks the initial choice; whether an order is legal, and its memory, do not
  // depend on costs and streams.
  Result<Problem> chosen =
      withImplementations(problem, implementations, initial);
  if (!chosen)
    return Error{chosen.error()};
  if (Status status = check(options.contention, *chosen); !status)
    return status;
  if (Status status = verify(problem, order); !status)
    return status;
  Result<MemoryTimeline> memory = simulateMemory(problem, order);
  if (!memory)
    return Error{memory.error()};

  ImplementationChooser chooser(problem, implementations, order, options);
  if (Status status = chooser.begin(initial); !status)
    return status;
  chooser.tryPrices();
  chooser.tryStreams();
  chooser.tryEstimates();
  chooser.tryEach();
  chooser.simplify();

  ImplementationSchedule result = chooser.takeBest();
  result.schedule.order = order;
  result.schedule.peakBytes = memory->peakBytes;
  result.schedule.origin = ScheduleOrigin::Program;
  return result;
}
