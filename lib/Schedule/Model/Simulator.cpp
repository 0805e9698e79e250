//===- Simulator.cpp - Simulation of the time of a step -------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Schedule/Model/Simulator.h"

#include "CommSched/Schedule/Model/Verify.h"
#include "RunState.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <queue>

using namespace mlir::commsched;
using namespace mlir::commsched::schedule;

//===----------------------------------------------------------------------===//
// Without contention
//===----------------------------------------------------------------------===//

Result<Timeline> schedule::simulate(const Problem &problem,
                                    const Order &order) {
  Result<Positions> positions = invert(problem, order);
  if (!positions)
    return Error{positions.error()};

  Timeline timeline;
  timeline.beginNs.resize(order.size());
  timeline.endNs.resize(order.size());
  timeline.exposedNs.resize(order.size());
  Clocks clocks(problem);
  for (NodeId node : order) {
    NodeId start = problem.startOf(node);
    if (start != noNode && (*positions)[start] > (*positions)[node])
      return Error{problem.describe(node) + " at position " +
                   std::to_string((*positions)[node]) + " comes before its " +
                   problem.describe(start) + " at position " +
                   std::to_string((*positions)[start])};
    Clocks::Interval interval = clocks.issue(node);
    timeline.beginNs[node] = interval.beginNs;
    timeline.endNs[node] = interval.endNs;
    timeline.exposedNs[node] = interval.exposedNs;
    if (start != noNode)
      timeline.exposedNs[start] = interval.exposedNs;
    if (problem.isCollective(node))
      timeline.commNs += problem.costNs(node);
    else
      timeline.computeNs += problem.costNs(node);
  }
  // Every start has been waited for, so the other streams are idle too.
  timeline.stepNs = clocks.nowNs();
  timeline.exposedCommNs = timeline.stepNs - timeline.computeNs;
  return timeline;
}

//===----------------------------------------------------------------------===//
// Shared links
//===----------------------------------------------------------------------===//

namespace {

/// Wide enough for any time in fractions of a nanosecond, times any number of
/// streams.
__extension__ using WideTime = unsigned __int128;

/// The time of an event that does not come.
inline constexpr int64_t neverNs = std::numeric_limits<int64_t>::max();

/// One link. Times do not decrease from call to call.
class SharedLink {
public:
  /// The parts of a nanosecond in which the clock counts: divisible by all
  /// numbers up to 16.
  static constexpr int64_t partsPerNs = 720'720;

  /// O(log collectives).
  void begin(NodeId collective, int64_t costNs, int64_t nowNs);
  /// Ends the collective that nextEndNs() is about, which is now. Of several
  /// the one with the lowest index. O(log collectives).
  NodeId end(int64_t nowNs);
  /// When a collective ends next if none begins before: the first nanosecond
  /// at which it has made all of its progress. neverNs if there is none.
  int64_t nextEndNs() const;

private:
  struct InFlight {
    /// By the clock of the link.
    WideTime end;
    NodeId collective;
    bool operator>(const InFlight &other) const {
      return end != other.end ? end > other.end : collective > other.collective;
    }
  };

  void setClock(int64_t nowNs);

  std::priority_queue<InFlight, std::vector<InFlight>, std::greater<>> inFlight;
  WideTime clock = 0;
  /// When the clock was last set.
  int64_t clockSetNs = 0;
};

/// All links, and which of them has the next end.
class SharedLinks {
public:
  /// `linkOf`: by stream its link, any number from 0 on, or -1 for one of its
  /// own. Empty: all have their own. O(streams * log streams).
  SharedLinks(StreamId numStreams, const std::vector<int32_t> &linkOf);

  /// O(log events).
  void begin(StreamId stream, NodeId collective, int64_t costNs, int64_t nowNs);
  /// When a collective ends next if none begins before, or neverNs. O(1), and
  /// O(log events) once for each begin and end.
  int64_t nextEndNs();
  /// Ends it: sets `nowNs` to nextEndNs(), which is not neverNs, and returns
  /// the collective. O(log events).
  NodeId end(int64_t &nowNs);

private:
  /// When a link was about to have its next end. Out of date if the link says
  /// otherwise now.
  struct Event {
    int64_t timeNs;
    int32_t link;
    bool operator>(const Event &other) const {
      return timeNs != other.timeNs ? timeNs > other.timeNs : link > other.link;
    }
  };

  std::vector<SharedLink> links;
  /// By stream: an index of `links`.
  std::vector<int32_t> linkIndices;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events;
};

} // namespace

void SharedLink::setClock(int64_t nowNs) {
  if (!inFlight.empty())
    clock += static_cast<WideTime>(nowNs - clockSetNs) * partsPerNs /
             inFlight.size();
  clockSetNs = nowNs;
}

void SharedLink::begin(NodeId collective, int64_t costNs, int64_t nowNs) {
  setClock(nowNs);
  inFlight.push(
      {clock + static_cast<WideTime>(costNs) * partsPerNs, collective});
}

NodeId SharedLink::end(int64_t nowNs) {
  setClock(nowNs);
  NodeId collective = inFlight.top().collective;
  inFlight.pop();
  return collective;
}

int64_t SharedLink::nextEndNs() const {
  if (inFlight.empty())
    return neverNs;
  // Others of the same instant may have let the clock pass.
  WideTime end = std::max(inFlight.top().end, clock);
  WideTime parts = (end - clock) * inFlight.size();
  return clockSetNs +
         static_cast<int64_t>((parts + partsPerNs - 1) / partsPerNs);
}

SharedLinks::SharedLinks(StreamId numStreams,
                         const std::vector<int32_t> &linkOf) {
  std::vector<int32_t> shared = linkOf;
  std::sort(shared.begin(), shared.end());
  shared.erase(std::unique(shared.begin(), shared.end()), shared.end());
  size_t numLinks = shared.size();
  for (StreamId stream = 0; stream < numStreams; ++stream) {
    int32_t link = linkOf.empty() ? -1 : linkOf[stream];
    size_t index =
        link == -1 ? numLinks++
                   : static_cast<size_t>(
                         std::lower_bound(shared.begin(), shared.end(), link) -
                         shared.begin());
    linkIndices.push_back(static_cast<int32_t>(index));
  }
  links.resize(numLinks);
}

void SharedLinks::begin(StreamId stream, NodeId collective, int64_t costNs,
                        int64_t nowNs) {
  int32_t link = linkIndices[stream];
  links[link].begin(collective, costNs, nowNs);
  events.push({links[link].nextEndNs(), link});
}

int64_t SharedLinks::nextEndNs() {
  while (!events.empty()) {
    Event event = events.top();
    if (links[event.link].nextEndNs() == event.timeNs)
      return event.timeNs;
    events.pop();
  }
  return neverNs;
}

NodeId SharedLinks::end(int64_t &nowNs) {
  nowNs = nextEndNs();
  int32_t link = events.top().link;
  events.pop();
  NodeId collective = links[link].end(nowNs);
  if (int64_t next = links[link].nextEndNs(); next != neverNs)
    events.push({next, link});
  return collective;
}

//===----------------------------------------------------------------------===//
// With contention
//===----------------------------------------------------------------------===//

namespace {

constexpr int64_t millionths = 1'000'000;

WideTime divideUp(WideTime dividend, WideTime divisor) {
  return (dividend + divisor - 1) / divisor;
}

/// The speed of computation beside the collectives in flight.
class ComputeSpeed {
public:
  /// O(streams * log streams).
  ComputeSpeed(StreamId numStreams, const std::vector<int64_t> &slowdownPpm);

  /// A collective of the stream begins or ends. O(1) and O(log slowdowns).
  void begin(StreamId stream);
  void end(StreamId stream);
  /// The present speed, in parts of a nanosecond of cost for each nanosecond.
  /// O(1), and O(log slowdowns) once for each begin.
  int64_t get();
  /// The number of these parts in a nanosecond of cost: the speed if nothing
  /// slows computation down.
  int64_t full() const { return partsPerNs; }

private:
  static constexpr int64_t maxPartsPerNs = int64_t(1) << 62;
  /// The level of streams that slow nothing down.
  static constexpr int32_t noLevel = -1;

  struct Level {
    int64_t speed;
    int32_t numInFlight;
    bool isQueued;
  };

  /// The different slowdowns, ascending.
  std::vector<Level> levels;
  /// By stream: an index of `levels`, or noLevel.
  std::vector<int32_t> levelOf;
  /// Those of which collectives are in flight, and some of which none are any
  /// more.
  std::priority_queue<int32_t> queue;
  int64_t partsPerNs = 1;
};

/// Runs the operations of an order, and between them the ends of collectives,
/// at which others begin. What ends at the instant of an operation may come
/// after it: no progress is made at an instant.
class ContendedSimulator {
public:
  ContendedSimulator(const Problem &problem, const Contention &contention);

  /// `order` has each wait after its start.
  Timeline run(const Order &order);

private:
  /// A stream, whose collectives are issued, begin and end in one order.
  struct Stream {
    /// Those that were issued and have not ended, linked by `behind`.
    NodeId first = noNode;
    NodeId last = noNode;
    /// How many of the streams exclusive with this one have nothing left that
    /// was issued before `first`.
    size_t numPassed = 0;
    /// The streams whose first collective waits for the first of this one.
    std::vector<StreamId> waiting;
  };

  void compute(NodeId node);
  void issue(NodeId collective);
  /// Begins the first collective of the stream if nothing is in its way, and
  /// else lets it wait for one that is.
  void beginFirst(StreamId id);
  /// Goes on to when the next collective ends, and ends it.
  void passEnd();
  /// Goes on until `collective` has ended.
  void passEndOf(NodeId collective) {
    while (timeline.endNs[collective] == neverNs)
      passEnd();
  }

  const Problem &problem;
  /// By stream: those that are exclusive with it.
  Csr<StreamId> exclusive;
  SharedLinks links;
  ComputeSpeed speed;

  Timeline timeline;
  int64_t nowNs = 0;
  std::vector<Stream> streams;
  /// By collective: its place among all, and the one behind it on its stream.
  std::vector<int32_t> issued;
  std::vector<NodeId> behind;
  int32_t numIssued = 0;
};

} // namespace

ComputeSpeed::ComputeSpeed(StreamId numStreams,
                           const std::vector<int64_t> &slowdownPpm)
    : levelOf(numStreams, noLevel) {
  if (slowdownPpm.empty())
    return;
  std::vector<int64_t> slowdowns(slowdownPpm.begin(),
                                 slowdownPpm.begin() + numStreams);
  std::sort(slowdowns.begin(), slowdowns.end());
  slowdowns.erase(std::unique(slowdowns.begin(), slowdowns.end()),
                  slowdowns.end());
  if (!slowdowns.empty() && slowdowns.front() == 0)
    slowdowns.erase(slowdowns.begin());
  for (int64_t slowdown : slowdowns) {
    int64_t divisor = millionths + slowdown;
    int64_t factor = divisor / std::gcd(divisor, partsPerNs);
    if (partsPerNs > maxPartsPerNs / factor) {
      partsPerNs = maxPartsPerNs;
      break;
    }
    partsPerNs *= factor;
  }
  for (int64_t slowdown : slowdowns) {
    auto speed = static_cast<WideTime>(partsPerNs) * millionths /
                 static_cast<WideTime>(millionths + slowdown);
    levels.push_back({static_cast<int64_t>(speed), 0, false});
  }
  for (StreamId stream = 0; stream < numStreams; ++stream)
    if (int64_t slowdown = slowdownPpm[stream])
      levelOf[stream] = static_cast<int32_t>(
          std::lower_bound(slowdowns.begin(), slowdowns.end(), slowdown) -
          slowdowns.begin());
}

void ComputeSpeed::begin(StreamId stream) {
  int32_t index = levelOf[stream];
  if (index == noLevel)
    return;
  Level &level = levels[index];
  ++level.numInFlight;
  if (!std::exchange(level.isQueued, true))
    queue.push(index);
}

void ComputeSpeed::end(StreamId stream) {
  if (levelOf[stream] != noLevel)
    --levels[levelOf[stream]].numInFlight;
}

int64_t ComputeSpeed::get() {
  while (!queue.empty()) {
    Level &slowest = levels[queue.top()];
    if (slowest.numInFlight > 0)
      return slowest.speed;
    slowest.isQueued = false;
    queue.pop();
  }
  return partsPerNs;
}

ContendedSimulator::ContendedSimulator(const Problem &problem,
                                       const Contention &contention)
    : problem(problem), links(problem.numStreams(), contention.links),
      speed(problem.numStreams(), contention.slowdownPpm),
      streams(problem.numStreams()), issued(problem.numNodes()),
      behind(problem.numNodes(), noNode) {
  // Each pair is one in both directions.
  const auto &pairs = contention.exclusive;
  exclusive.build(
      problem.numStreams(), 2 * pairs.size(),
      [&](size_t i) {
        return i % 2 ? pairs[i / 2].second : pairs[i / 2].first;
      },
      [&](size_t i) {
        return i % 2 ? pairs[i / 2].first : pairs[i / 2].second;
      });
}

void ContendedSimulator::issue(NodeId collective) {
  StreamId id = problem.stream(collective);
  Stream &stream = streams[id];
  issued[collective] = numIssued++;
  if (stream.first == noNode) {
    stream.first = stream.last = collective;
    beginFirst(id);
  } else {
    stream.last = behind[stream.last] = collective;
  }
}

void ContendedSimulator::beginFirst(StreamId id) {
  Stream &stream = streams[id];
  ArrayView<StreamId> others = exclusive[id];
  for (; stream.numPassed < others.size(); ++stream.numPassed) {
    Stream &other = streams[others[stream.numPassed]];
    if (other.first != noNode && issued[other.first] < issued[stream.first]) {
      other.waiting.push_back(id);
      return;
    }
  }
  timeline.beginNs[stream.first] = nowNs;
  speed.begin(id);
  links.begin(id, stream.first, problem.costNs(stream.first), nowNs);
}

void ContendedSimulator::passEnd() {
  NodeId collective = links.end(nowNs);
  timeline.endNs[collective] = nowNs;
  StreamId id = problem.stream(collective);
  speed.end(id);
  Stream &stream = streams[id];
  stream.first = behind[collective];
  stream.numPassed = 0;
  if (stream.first != noNode)
    beginFirst(id);
  for (StreamId waiting : std::exchange(stream.waiting, {}))
    beginFirst(waiting);
}

void ContendedSimulator::compute(NodeId node) {
  WideTime left = static_cast<WideTime>(speed.full()) *
                  static_cast<WideTime>(problem.costNs(node));
  const int64_t beginNs = nowNs;
  while (true) {
    auto partsPerNs = static_cast<WideTime>(speed.get());
    int64_t endNs = nowNs + static_cast<int64_t>(divideUp(left, partsPerNs));
    int64_t nextNs = links.nextEndNs();
    if (endNs <= nextNs) {
      nowNs = endNs;
      break;
    }
    left -= partsPerNs * static_cast<WideTime>(nextNs - nowNs);
    passEnd();
  }
  timeline.computeNs += problem.costNs(node);
  timeline.slowdownNs += nowNs - beginNs - problem.costNs(node);
}

Timeline ContendedSimulator::run(const Order &order) {
  timeline.beginNs.resize(order.size());
  timeline.endNs.resize(order.size(), neverNs);
  timeline.exposedNs.resize(order.size());
  for (NodeId node : order) {
    int64_t reachedNs = nowNs;
    switch (problem.kind(node)) {
    case NodeKind::Compute:
      compute(node);
      timeline.beginNs[node] = reachedNs;
      timeline.endNs[node] = nowNs;
      break;
    case NodeKind::Start:
      issue(node);
      timeline.commNs += problem.costNs(node);
      break;
    case NodeKind::Wait: {
      NodeId start = problem.startOf(node);
      passEndOf(start);
      timeline.beginNs[node] = reachedNs;
      timeline.endNs[node] = nowNs;
      timeline.exposedNs[node] = timeline.exposedNs[start] = nowNs - reachedNs;
      break;
    }
    case NodeKind::Blocking:
      issue(node);
      passEndOf(node);
      timeline.exposedNs[node] = nowNs - reachedNs;
      timeline.commNs += problem.costNs(node);
      break;
    }
  }
  // Every start has been waited for, so the other streams are idle too.
  timeline.stepNs = nowNs;
  timeline.exposedCommNs = timeline.stepNs - timeline.computeNs;
  return std::move(timeline);
}

int64_t Contention::maxSlowdown() const {
  auto largest = std::max_element(slowdownPpm.begin(), slowdownPpm.end());
  return largest == slowdownPpm.end() ? 0 : *largest;
}

Status schedule::check(const Contention &contention, const Problem &problem) {
  StreamId numStreams = problem.numStreams();
  for (auto [first, second] : contention.exclusive) {
    for (StreamId stream : {first, second})
      if (stream < 0 || stream >= numStreams)
        return Error{"exclusive stream " + std::to_string(stream) +
                     " is not one of the " + std::to_string(numStreams) +
                     " of the problem"};
    if (first == second)
      return Error{"stream " + std::to_string(first) +
                   " is exclusive with itself"};
  }
  const std::vector<int32_t> &links = contention.links;
  if (!links.empty() && links.size() < static_cast<size_t>(numStreams))
    return Error{"there are links for " + std::to_string(links.size()) +
                 " streams, but the problem has " + std::to_string(numStreams)};
  for (size_t stream = 0; stream < links.size(); ++stream)
    if (links[stream] < -1)
      return Error{"stream " + std::to_string(stream) + " is on link " +
                   std::to_string(links[stream])};
  const std::vector<int64_t> &slowdowns = contention.slowdownPpm;
  if (!slowdowns.empty() && slowdowns.size() < static_cast<size_t>(numStreams))
    return Error{"there are slowdowns for " + std::to_string(slowdowns.size()) +
                 " streams, but the problem has " + std::to_string(numStreams)};
  for (size_t stream = 0; stream < slowdowns.size(); ++stream)
    if (slowdowns[stream] < 0 || slowdowns[stream] > Contention::maxSlowdownPpm)
      return Error{
          "stream " + std::to_string(stream) + " slows computation down by " +
          std::to_string(slowdowns[stream]) + " millionths, not by 0 to " +
          std::to_string(Contention::maxSlowdownPpm)};
  return Status::success();
}

/// Whether no time can leave 64 bits. Whenever the compute stream waits, some
/// link is at work; and what links lose to rounding is a few nanoseconds for
/// each begin and each end.
static bool fitsAtAll(const Problem &problem, int64_t slowdownPpm) {
  constexpr WideTime maxRoundingNs = 8;
  // Speeds are rounded by less than a millionth of the largest slowdown.
  if (slowdownPpm > 0)
    ++slowdownPpm;
  WideTime ns = 0;
  for (NodeId node = 0; node < problem.numNodes(); ++node) {
    ns += static_cast<WideTime>(problem.costNs(node)) + maxRoundingNs;
    if (problem.kind(node) == NodeKind::Compute)
      ns += static_cast<WideTime>(problem.costNs(node)) *
            static_cast<WideTime>(slowdownPpm) / millionths;
  }
  return ns < static_cast<WideTime>(neverNs);
}

Result<Timeline> schedule::simulate(const Problem &problem, const Order &order,
                                    const Contention &contention) {
  Result<Timeline> plain = simulate(problem, order);
  if (!plain || contention.isNone())
    return plain;
  if (Status status = check(contention, problem); !status)
    return status;
  if (!fitsAtAll(problem, contention.maxSlowdown()))
    return Error{"the costs, with computation slowed down by " +
                 std::to_string(contention.maxSlowdown()) +
                 " millionths, do not fit 64 bits"};
  return ContendedSimulator(problem, contention).run(order);
}

int64_t schedule::computeStepNs(const Problem &problem, const Order &order,
                                const Contention &contention) {
  if (!contention.isNone())
    return ContendedSimulator(problem, contention).run(order).stepNs;
  Clocks clocks(problem);
  for (NodeId node : order)
    clocks.issue(node);
  return clocks.stepNs();
}
