//===- ContendedSimulator.cpp - Times where operations contend ------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Schedule/Simulator.h"

#include "SharedLinks.h"

using namespace mlir::commsched;
using namespace mlir::commsched::schedule;

namespace {

constexpr int64_t millionths = 1'000'000;

WideTime divideUp(WideTime dividend, WideTime divisor) {
  return (dividend + divisor - 1) / divisor;
}

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
  const int64_t slowdownPpm;
  /// By stream: those that are exclusive with it.
  Csr<StreamId> exclusive;
  SharedLinks links;

  Timeline timeline;
  int64_t nowNs = 0;
  std::vector<Stream> streams;
  /// By collective: its place among all, and the one behind it on its stream.
  std::vector<int32_t> issued;
  std::vector<NodeId> behind;
  int32_t numIssued = 0;
};

} // namespace

ContendedSimulator::ContendedSimulator(const Problem &problem,
                                       const Contention &contention)
    : problem(problem), slowdownPpm(contention.computeSlowdownPpm),
      links(problem.numStreams(), contention.links),
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

//===----------------------------------------------------------------------===//
// Communication
//===----------------------------------------------------------------------===//

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
  links.begin(id, stream.first, problem.costNs(stream.first), nowNs);
}

void ContendedSimulator::passEnd() {
  NodeId collective = links.end(nowNs);
  timeline.endNs[collective] = nowNs;
  StreamId id = problem.stream(collective);
  Stream &stream = streams[id];
  stream.first = behind[collective];
  stream.numPassed = 0;
  if (stream.first != noNode)
    beginFirst(id);
  for (StreamId waiting : std::exchange(stream.waiting, {}))
    beginFirst(waiting);
}

//===----------------------------------------------------------------------===//
// Computation
//===----------------------------------------------------------------------===//

void ContendedSimulator::compute(NodeId node) {
  // In parts of a nanosecond of which as many go by in one without
  // communication, and 10^6 in one beside it.
  const WideTime fullSpeed = millionths + slowdownPpm;
  WideTime left = fullSpeed * static_cast<WideTime>(problem.costNs(node));
  const int64_t beginNs = nowNs;
  while (true) {
    WideTime speed = links.isIdle() ? fullSpeed : WideTime(millionths);
    int64_t endNs = nowNs + static_cast<int64_t>(divideUp(left, speed));
    int64_t nextNs = links.nextEndNs();
    if (endNs <= nextNs) {
      nowNs = endNs;
      break;
    }
    left -= speed * static_cast<WideTime>(nextNs - nowNs);
    passEnd();
  }
  timeline.computeNs += problem.costNs(node);
  timeline.slowdownNs += nowNs - beginNs - problem.costNs(node);
}

//===----------------------------------------------------------------------===//
// The order
//===----------------------------------------------------------------------===//

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

//===----------------------------------------------------------------------===//
// What is asked for
//===----------------------------------------------------------------------===//

/// Whether no time can leave 64 bits. Whenever the compute stream waits, some
/// link is at work; and what links lose to rounding is a few nanoseconds for
/// each begin and each end.
static bool fitsAtAll(const Problem &problem, int64_t slowdownPpm) {
  constexpr WideTime maxRoundingNs = 8;
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
  if (OptionalError error = check(contention, problem))
    return Error{std::move(*error)};
  if (!fitsAtAll(problem, contention.computeSlowdownPpm))
    return Error{"the costs, with computation slowed down by " +
                 std::to_string(contention.computeSlowdownPpm) +
                 " millionths, do not fit 64 bits"};
  return ContendedSimulator(problem, contention).run(order);
}
