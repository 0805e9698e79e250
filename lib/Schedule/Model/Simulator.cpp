//===- Simulator.cpp - Simulation of the time of a step -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/Schedule/Model/Simulator.h"

#include "CommSched/Schedule/Model/Verify.h"
#include "ContendedRun.h"

#include <algorithm>
#include <numeric>

using namespace mlir::commsched;
using namespace mlir::commsched::schedule;

void Timeline::addStall(const Problem &problem, NodeId node) {
  NodeId last = problem.startOf(node);
  for (NodeId start : problem.collectivesEndedBefore(node))
    if (last == noNode || endNs[start] > endNs[last])
      last = start;
  if (last != noNode)
    exposedNs[last] += exposedNs[node];
}

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
    timeline.addStall(problem, node);
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

void SharedLink::setClock(int64_t nowNs) {
  if (!inFlight.empty())
    clock += static_cast<WideTime>(nowNs - clockSetNs) * partsPerNs /
             inFlight.size();
  clockSetNs = nowNs;
}

WideTime SharedLink::begin(NodeId collective, int64_t costNs, int64_t nowNs) {
  setClock(nowNs);
  WideTime end = clock + static_cast<WideTime>(costNs) * partsPerNs;
  inFlight.push({end, collective});
  return end;
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

WideTime SharedLinks::begin(StreamId stream, NodeId collective, int64_t costNs,
                            int64_t nowNs) {
  int32_t link = linkIndices[stream];
  WideTime end = links[link].begin(collective, costNs, nowNs);
  events.push({links[link].nextEndNs(), link});
  return end;
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

ContendedRun::ContendedRun(const Problem &problem, const Contention &contention)
    : problem(problem), links(problem.numStreams(), contention.links),
      speed(problem.numStreams(), contention.slowdownPpm),
      streams(problem.numStreams()), issued(problem.numNodes()),
      beginsNs(problem.numNodes()), endsNs(problem.numNodes(), neverNs),
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

void ContendedRun::issueCollective(NodeId collective) {
  StreamId id = problem.stream(collective);
  Stream &stream = streams[id];
  issued[collective] = numIssued++;
  endsNs[collective] = neverNs;
  behind[collective] = noNode;
  if (stream.first == noNode) {
    stream.first = stream.last = collective;
    beginFirst(id);
  } else {
    stream.last = behind[stream.last] = collective;
  }
}

void ContendedRun::beginFirst(StreamId id) {
  Stream &stream = streams[id];
  ArrayView<StreamId> others = exclusive[id];
  for (; stream.numPassed < others.size(); ++stream.numPassed) {
    Stream &other = streams[others[stream.numPassed]];
    if (other.first != noNode && issued[other.first] < issued[stream.first]) {
      other.waiting.push_back(id);
      return;
    }
  }
  beginsNs[stream.first] = timeNs;
  speed.begin(id);
  stream.linkEnd =
      links.begin(id, stream.first, problem.costNs(stream.first), timeNs);
  stream.hasBegun = true;
}

void ContendedRun::passEnd() {
  NodeId collective = links.end(timeNs);
  endsNs[collective] = timeNs;
  StreamId id = problem.stream(collective);
  speed.end(id);
  Stream &stream = streams[id];
  stream.first = behind[collective];
  stream.hasBegun = false;
  stream.numPassed = 0;
  if (stream.first != noNode)
    beginFirst(id);
  for (StreamId waiting : std::exchange(stream.waiting, {}))
    beginFirst(waiting);
}

void ContendedRun::compute(NodeId node) {
  WideTime left = static_cast<WideTime>(speed.full()) *
                  static_cast<WideTime>(problem.costNs(node));
  while (true) {
    auto partsPerNs = static_cast<WideTime>(speed.get());
    int64_t endNs = timeNs + static_cast<int64_t>(divideUp(left, partsPerNs));
    int64_t nextNs = links.nextEndNs();
    if (endNs <= nextNs) {
      timeNs = endNs;
      break;
    }
    left -= partsPerNs * static_cast<WideTime>(nextNs - timeNs);
    passEnd();
  }
}

ContendedRun::Interval ContendedRun::issue(NodeId node) {
  int64_t reachedNs = timeNs;
  switch (problem.kind(node)) {
  case NodeKind::Compute: {
    for (NodeId start : problem.collectivesEndedBefore(node))
      passEndOf(start);
    int64_t beginNs = timeNs;
    compute(node);
    return {beginNs, timeNs, beginNs - reachedNs};
  }
  case NodeKind::Start:
    issueCollective(node);
    break;
  case NodeKind::Wait:
    passEndOf(problem.startOf(node));
    return {reachedNs, timeNs, timeNs - reachedNs};
  case NodeKind::Blocking:
    issueCollective(node);
    passEndOf(node);
    return {beginsNs[node], timeNs, timeNs - reachedNs};
  }
  return {reachedNs, reachedNs, 0};
}

std::vector<int64_t> ContendedRun::state() const {
  std::vector<NodeId> pending;
  for (const Stream &stream : streams)
    for (NodeId node = stream.first; node != noNode; node = behind[node])
      pending.push_back(node);
  std::sort(pending.begin(), pending.end(),
            [&](NodeId a, NodeId b) { return issued[a] < issued[b]; });
  std::vector<int64_t> state;
  for (NodeId node : pending) {
    state.push_back(node);
    StreamId id = problem.stream(node);
    const Stream &stream = streams[id];
    if (stream.first != node || !stream.hasBegun)
      continue;
    const SharedLink &link = links.linkOf(id);
    // Both may be past: what ends now is not ended yet.
    WideTime left = stream.linkEnd - link.time();
    state.push_back(static_cast<int64_t>(left >> 64));
    state.push_back(static_cast<int64_t>(left));
    state.push_back(timeNs - link.setNs());
  }
  return state;
}

/// Issues the operations in `order`, which has each wait after its start.
static Timeline runContended(const Problem &problem, const Order &order,
                             const Contention &contention) {
  ContendedRun run(problem, contention);
  Timeline timeline;
  timeline.beginNs.resize(order.size());
  timeline.endNs.resize(order.size());
  timeline.exposedNs.resize(order.size());
  auto record = [&](NodeId node, const Clocks::Interval &interval) {
    timeline.beginNs[node] = interval.beginNs;
    timeline.endNs[node] = interval.endNs;
  };
  for (NodeId node : order) {
    Clocks::Interval interval = run.issue(node);
    record(node, interval);
    timeline.exposedNs[node] = interval.exposedNs;
    // Only now it is known when they ended.
    for (NodeId start : problem.collectivesEndedBefore(node))
      record(start, run.intervalOf(start));
    if (NodeId start = problem.startOf(node); start != noNode)
      record(start, run.intervalOf(start));
    timeline.addStall(problem, node);
    (problem.isCollective(node) ? timeline.commNs : timeline.computeNs) +=
        problem.costNs(node);
    if (problem.kind(node) == NodeKind::Compute)
      timeline.slowdownNs +=
          interval.endNs - interval.beginNs - problem.costNs(node);
  }
  // Every start has been waited for, so the other streams are idle too.
  timeline.stepNs = run.nowNs();
  timeline.exposedCommNs = timeline.stepNs - timeline.computeNs;
  return timeline;
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

// Whenever the compute stream waits, some link is at work; and what links lose
// to rounding is a few nanoseconds for each begin and each end.
Status schedule::checkContendedTimes(const Problem &problem,
                                     const Contention &contention,
                                     int64_t count) {
  constexpr WideTime maxRoundingNs = 8;
  int64_t slowdownPpm = contention.maxSlowdown();
  // Speeds are rounded by less than a millionth of the largest slowdown.
  auto roundedPpm = static_cast<WideTime>(slowdownPpm + (slowdownPpm > 0));
  WideTime ns = 0;
  for (NodeId node = 0; node < problem.numNodes(); ++node) {
    auto costNs = static_cast<WideTime>(problem.costNs(node));
    ns += costNs + maxRoundingNs;
    if (problem.kind(node) == NodeKind::Compute)
      ns += costNs * roundedPpm / millionths;
  }
  if (ns * static_cast<WideTime>(count) < static_cast<WideTime>(neverNs))
    return Status::success();
  return Error{
      "the costs, with computation slowed down by " +
      std::to_string(slowdownPpm) + " millionths, do not fit 64 bits" +
      (count > 1 ? " in " + std::to_string(count) + " repetitions" : "")};
}

Result<Timeline> schedule::simulate(const Problem &problem, const Order &order,
                                    const Contention &contention) {
  Result<Timeline> plain = simulate(problem, order);
  if (!plain || contention.isNone())
    return plain;
  if (Status status = check(contention, problem); !status)
    return status;
  if (Status status = checkContendedTimes(problem, contention, /*count=*/1);
      !status)
    return status;
  return runContended(problem, order, contention);
}

int64_t schedule::computeStepNs(const Problem &problem, const Order &order,
                                const Contention &contention) {
  auto runAll = [&](auto run) {
    for (NodeId node : order)
      run.issue(node);
    // Every start has been waited for, so the other streams are idle too.
    return run.nowNs();
  };
  return contention.isNone() ? runAll(Clocks(problem))
                             : runAll(ContendedRun(problem, contention));
}
