//===- ImplementationChoice.cpp - Implementations at one order ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "ChangeEstimates.h"
#include "Choices.h"
#include "CommSched/Schedule/Model/MemoryTimeline.h"
#include "CommSched/Schedule/Model/Verify.h"

#include <algorithm>
#include <map>
#include <queue>
#include <set>

using namespace mlir::commsched;
using namespace mlir::commsched::schedule;

namespace {

/// Improves the choice for one order.
class ImplementationChooser {
public:
  /// `problem` has the streams of all implementations.
  ImplementationChooser(Problem problem, const Implementations &implementations,
                        const Order &order,
                        const StepSchedulerOptions &options);

  /// Simulates the choice that is to be improved.
  Status begin(ImplementationChoice choice);
  /// Tries several prices for what may be exposed.
  void tryPrices();
  /// Tries one implementation for all collectives of one stream, and for parts
  /// of them.
  void tryStreams();
  /// Tries the changes that are estimated to gain something, and parts of them.
  void tryEstimates();
  /// Tries all changes, one by one, until none improves the choice.
  void tryEach();
  /// Tries pairs of changes if these are few, until one improves the choice,
  /// and returns whether one does.
  bool tryPairs();
  /// Undoes changes that gain nothing.
  void simplify();

  /// The best choice and its step.
  ImplementationSchedule takeBest();

private:
  /// An operation and another implementation of it.
  using OtherWay = std::pair<NodeId, int32_t>;

  Result<Timeline> simulate(const ImplementationChoice &choice);
  bool offer(const ImplementationChoice &choice);
  ChangeEstimates estimate() const {
    return ChangeEstimates(problem, implementations, order, contention, best,
                           timeline);
  }
  /// Tries all of `ways` together; then the halves, quarters and so on of what
  /// is no improvement.
  void tryParts(const std::vector<OtherWay> &ways, int64_t lastRun);
  std::vector<OtherWay> listGaining(bool apart) const;

  /// With the choice that was simulated last.
  Problem problem;
  const Implementations &implementations;
  const Order &order;
  const Contention &contention;
  /// How many choices may be simulated, and were.
  int64_t maxRuns;
  int64_t numRuns = 0;
  /// What was no improvement alone.
  std::set<OtherWay> failed;

  ImplementationChoice best;
  Timeline timeline;
  int32_t numChanged = 0;
};

} // namespace

ImplementationChooser::ImplementationChooser(
    Problem problem, const Implementations &implementations, const Order &order,
    const StepSchedulerOptions &options)
    : problem(std::move(problem)), implementations(implementations),
      order(order), contention(options.contention) {
  constexpr int64_t fewestRuns = 32, mostRuns = 4096;
  maxRuns = std::clamp(options.effort / (this->problem.numNodes() + 1),
                       fewestRuns, mostRuns);
}

Result<Timeline>
ImplementationChooser::simulate(const ImplementationChoice &choice) {
  if (Status status = problem.replaceCollectives(
          getCollectiveCosts(implementations, choice));
      !status)
    return status;
  return schedule::simulate(problem, order, contention);
}

Status ImplementationChooser::begin(ImplementationChoice choice) {
  Result<Timeline> simulated = simulate(choice);
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
  ++numRuns;
  Result<Timeline> simulated = simulate(choice);
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
  std::vector<bool> isCritical;
  ChangeEstimates estimates = estimate();
  for (size_t node = 0; node < best.size(); ++node)
    isCritical.push_back(estimates.isCritical(static_cast<NodeId>(node)));
  std::vector<ImplementationChoice> tried;
  for (bool uniform : {true, false})
    for (int64_t fractionPpm : fractionsPpm) {
      std::vector<int64_t> exposedPpm(best.size(), fractionPpm);
      for (size_t node = 0; !uniform && node < best.size(); ++node)
        if (isCritical[node])
          exposedPpm[node] = 1'000'000;
      ImplementationChoice choice =
          choosePrices(implementations, contention, exposedPpm);
      if (std::find(tried.begin(), tried.end(), choice) != tried.end())
        continue;
      offer(choice);
      tried.push_back(std::move(choice));
    }
}

void ImplementationChooser::tryParts(const std::vector<OtherWay> &ways,
                                     int64_t lastRun) {
  std::queue<std::pair<size_t, size_t>> ranges;
  ranges.push({0, ways.size()});
  while (!ranges.empty() && numRuns < lastRun) {
    auto [begin, end] = ranges.front();
    ranges.pop();
    bool isOther = std::any_of(
        ways.begin() + static_cast<std::ptrdiff_t>(begin),
        ways.begin() + static_cast<std::ptrdiff_t>(end),
        [&](const OtherWay &way) { return best[way.first] != way.second; });
    if (!isOther)
      continue;
    ImplementationChoice choice = best;
    for (size_t i = begin; i < end; ++i)
      choice[ways[i].first] = ways[i].second;
    if (offer(choice))
      continue;
    if (end - begin == 1) {
      failed.insert(ways[begin]);
      continue;
    }
    size_t middle = begin + (end - begin) / 2;
    ranges.push({begin, middle});
    ranges.push({middle, end});
  }
}

void ImplementationChooser::tryStreams() {
  StreamGroups groups = groupByStreams(implementations);
  auto left = static_cast<int64_t>(groups.size());
  int64_t lastRun = numRuns + (maxRuns - numRuns) / 4;
  for (const auto &[streams, ways] : groups)
    tryParts(ways,
             std::min(lastRun, numRuns + (lastRun - numRuns) / left-- + 1));
}

/// In the order in which they are tried.
static std::vector<Change> listByGain(const ChangeEstimates &estimates) {
  std::vector<Change> changes = estimates.listChanges();
  std::sort(changes.begin(), changes.end(),
            [](const Change &a, const Change &b) {
              if (a.gainNs != b.gainNs)
                return a.gainNs > b.gainNs;
              return a.node != b.node ? a.node < b.node
                                      : a.implementation < b.implementation;
            });
  return changes;
}

/// Takes changes in their order that are estimated to gain something, while
/// they are apart in time: the collective of one is over, and waited for,
/// before that of another begins.
std::vector<ImplementationChooser::OtherWay>
ImplementationChooser::listGaining(bool apart) const {
  ChangeEstimates estimates = estimate();
  std::vector<bool> isSeen(implementations.size());
  // The times that are taken, from begin to end.
  std::map<int64_t, int64_t> taken;
  std::vector<OtherWay> gaining;
  for (const Change &change : listByGain(estimates)) {
    if (change.gainNs <= 0)
      break;
    OtherWay way(change.node, change.implementation);
    if (isSeen[change.node] || failed.count(way) > 0)
      continue;
    auto [beginNs, endNs] = estimates.getTimes(change);
    auto behind = taken.upper_bound(endNs);
    bool isFree =
        behind == taken.begin() || std::prev(behind)->second < beginNs;
    if (apart && !isFree)
      continue;
    isSeen[change.node] = true;
    taken[beginNs] = endNs;
    gaining.push_back(way);
  }
  return gaining;
}

void ImplementationChooser::tryEstimates() {
  int64_t lastRun = numRuns + (maxRuns - numRuns) / 2;
  for (bool apart : {true, false}) {
    int64_t beforeNs;
    do {
      beforeNs = timeline.stepNs;
      tryParts(listGaining(apart), lastRun);
    } while (timeline.stepNs < beforeNs && numRuns < lastRun);
  }
}

void ImplementationChooser::tryEach() {
  // What is left undoes changes.
  int64_t lastRun = maxRuns - maxRuns / 8;
  bool isOver = false;
  while (!isOver) {
    // What failed before is tried again only after all the rest.
    isOver = failed.empty();
    for (const Change &change : listByGain(estimate())) {
      if (numRuns >= lastRun)
        return;
      if (failed.count({change.node, change.implementation}) > 0)
        continue;
      ImplementationChoice choice = best;
      choice[change.node] = change.implementation;
      if (offer(choice))
        isOver = false;
    }
    failed.clear();
  }
}

bool ImplementationChooser::tryPairs() {
  int64_t lastRun = maxRuns - maxRuns / 8;
  constexpr size_t mostChanges = 48;
  std::vector<Change> changes = listByGain(estimate());
  if (changes.size() > mostChanges)
    return false;
  for (auto first = changes.begin(); first != changes.end(); ++first)
    for (auto second = changes.begin(); second != first; ++second) {
      if (first->node == second->node)
        continue;
      if (numRuns >= lastRun)
        return false;
      ImplementationChoice choice = best;
      choice[first->node] = first->implementation;
      choice[second->node] = second->implementation;
      if (offer(choice))
        return true;
    }
  return false;
}

void ImplementationChooser::simplify() {
  std::vector<OtherWay> firstWays;
  for (size_t node = 0; node < best.size(); ++node)
    if (best[node] != 0)
      firstWays.push_back({static_cast<NodeId>(node), 0});
  tryParts(firstWays, maxRuns);
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
  // Checks the initial choice; whether an order is legal, and its memory, do
  // not depend on costs and streams.
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

  ImplementationChooser chooser(std::move(*chosen), implementations, order,
                                options);
  if (Status status = chooser.begin(initial); !status)
    return status;
  chooser.tryPrices();
  chooser.tryStreams();
  chooser.tryEstimates();
  do
    chooser.tryEach();
  while (chooser.tryPairs());
  chooser.simplify();

  ImplementationSchedule result = chooser.takeBest();
  result.schedule.order = order;
  result.schedule.peakBytes = memory->peakBytes;
  result.schedule.origin = ScheduleOrigin::Program;
  return result;
}
