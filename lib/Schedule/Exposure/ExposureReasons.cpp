//===- ExposureReasons.cpp - Why a collective is not hidden ---------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Schedule/ExposureReasons.h"

#include "CommSched/Schedule/Simulator.h"
#include "CommSched/Schedule/Verify.h"
#include "IndependentCompute.h"
#include "SmallestMove.h"

#include <algorithm>
#include <tuple>

using namespace mlir::commsched;
using namespace mlir::commsched::schedule;

const char *schedule::toString(ExposureCause cause) {
  switch (cause) {
  case ExposureCause::Blocking:
    return "blocking";
  case ExposureCause::Unhindered:
    return "unhindered";
  case ExposureCause::Memory:
    return "memory";
  case ExposureCause::StreamBusy:
    return "stream-busy";
  case ExposureCause::NothingLeft:
    return "nothing-left";
  case ExposureCause::WouldNotPay:
    return "would-not-pay";
  case ExposureCause::Dependence:
    return "dependence";
  case ExposureCause::Needed:
    return "needed";
  }
  return "unknown";
}

/// How long each operation computes, or stands still for itself. No wait passes
/// the stall of another one to any purpose: it would stall itself.
static std::vector<int64_t> getHoldingTimes(const Problem &problem,
                                            const Timeline &timeline) {
  std::vector<int64_t> times(problem.numNodes());
  for (NodeId node = 0; node < problem.numNodes(); ++node) {
    if (problem.kind(node) == NodeKind::Compute)
      times[node] = timeline.endNs[node] - timeline.beginNs[node];
    else if (problem.kind(node) == NodeKind::Blocking)
      times[node] = timeline.exposedNs[node];
  }
  return times;
}

namespace {

/// Who had which stream, and whom a collective waited for.
class StreamUse {
public:
  StreamUse(const Problem &problem, const Order &order,
            const Timeline &timeline, const Contention &contention);

  /// How long `start` was issued before it began.
  int64_t delayNs(NodeId start) const {
    return timeline.beginNs[start] - issuedNs[start];
  }
  /// The collective at whose end `start`, which had to wait, began.
  NodeId findHolder(NodeId start) const;

private:
  /// The first collective of `stream` that ends at that time, or noNode.
  NodeId findEnding(StreamId stream, int64_t timeNs) const;

  const Problem &problem;
  const Timeline &timeline;
  /// By stream: its collectives, as they follow on each other, and the streams
  /// that are exclusive with it.
  std::vector<std::vector<NodeId>> collectives;
  std::vector<std::vector<StreamId>> exclusive;
  /// By operation: when the compute stream reaches it.
  std::vector<int64_t> issuedNs;
};

class Explainer {
public:
  Explainer(const Problem &problem, const Order &order,
            const Timeline &timeline, const ExposureOptions &options,
            EditableSchedule &schedule);

  /// What there is to say about a later wait, and whether it is possible.
  struct LaterWait {
    ExposureReason reason;
    bool isPossible = false;
  };
  LaterWait tryLater(NodeId collective);
  /// Lets starts pass what stands still for others. For after tryLater().
  void turnToStarts();
  ExposureReason explain(NodeId collective, const LaterWait &later);

private:
  /// Fills in a move that is possible, and returns true; or else the operation
  /// that it is held by.
  bool tryMove(NodeId node, ExposureReason &reason);
  std::optional<int64_t> simulateMoved();
  int64_t getSpareNs(NodeId start) const;

  const Problem &problem;
  const Timeline &timeline;
  const ExposureOptions &options;
  EditableSchedule &schedule;
  const int64_t limitBytes;
  StreamUse streams;
  std::vector<int64_t> independentNs;
  /// By operation: computation in front of it in the order.
  std::vector<int64_t> computedNs;
  int64_t effortLeft;
};

} // namespace

StreamUse::StreamUse(const Problem &problem, const Order &order,
                     const Timeline &timeline, const Contention &contention)
    : problem(problem), timeline(timeline), collectives(problem.numStreams()),
      exclusive(problem.numStreams()), issuedNs(problem.numNodes()) {
  for (auto [a, b] : contention.exclusive) {
    exclusive[a].push_back(b);
    exclusive[b].push_back(a);
  }
  int64_t clockNs = 0;
  for (NodeId node : order) {
    issuedNs[node] = clockNs;
    if (problem.isCollective(node))
      collectives[problem.stream(node)].push_back(node);
    if (problem.kind(node) != NodeKind::Start)
      clockNs = timeline.endNs[node];
  }
}

NodeId StreamUse::findEnding(StreamId stream, int64_t timeNs) const {
  const std::vector<NodeId> &row = collectives[stream];
  auto it = std::partition_point(row.begin(), row.end(), [&](NodeId node) {
    return timeline.endNs[node] < timeNs;
  });
  return it != row.end() && timeline.endNs[*it] == timeNs ? *it : noNode;
}

NodeId StreamUse::findHolder(NodeId start) const {
  StreamId stream = problem.stream(start);
  int64_t beginNs = timeline.beginNs[start];
  NodeId holder = findEnding(stream, beginNs);
  if (holder != noNode && holder != start)
    return holder;
  for (StreamId other : exclusive[stream]) {
    holder = findEnding(other, beginNs);
    if (holder != noNode)
      break;
  }
  return holder;
}

Explainer::Explainer(const Problem &problem, const Order &order,
                     const Timeline &timeline, const ExposureOptions &options,
                     EditableSchedule &schedule)
    : problem(problem), timeline(timeline), options(options),
      schedule(schedule),
      limitBytes(std::max(options.limitBytes, schedule.peakBytes())),
      streams(problem, order, timeline, options.contention),
      independentNs(boundIndependentCompute(problem)),
      computedNs(problem.numNodes()), effortLeft(options.effort / 2) {
  int64_t sumNs = 0;
  for (NodeId node : order) {
    computedNs[node] = sumNs;
    if (problem.kind(node) == NodeKind::Compute)
      sumNs += problem.costNs(node);
  }
}

/// What runs beside it is not left, nor what is its ancestor or descendant.
int64_t Explainer::getSpareNs(NodeId start) const {
  return independentNs[start] -
         (computedNs[problem.waitOf(start)] - computedNs[start]);
}

/// By how much the step is shorter as the schedule stands, unless that is too
/// much to find out.
std::optional<int64_t> Explainer::simulateMoved() {
  if (effortLeft < problem.numNodes())
    return std::nullopt;
  effortLeft -= problem.numNodes();
  return timeline.stepNs -
         simulate(problem, schedule.order(), options.contention)->stepNs;
}

bool Explainer::tryMove(NodeId node, ExposureReason &reason) {
  SmallestMove move(schedule, node, reason.move);
  reason.other = move.getOther();
  if (!move.isPossible()) {
    reason.byNs = move.getMovingNs();
    return false;
  }
  reason.moving = move.getMoving();
  reason.byNs = schedule.getTree().leaf(reason.other).computeTime;
  reason.gainNs = simulateMoved();
  if (reason.gainNs.value_or(1) <= 0) {
    reason.cause = ExposureCause::WouldNotPay;
    reason.spareNs = getSpareNs(reason.collective);
    return true;
  }
  reason.cause = ExposureCause::Unhindered;
  NodeId fullest = move.getFullest();
  int64_t bytesShort = schedule.allocatedBytes(fullest) - limitBytes;
  if (bytesShort <= 0)
    return true;
  reason.cause = ExposureCause::Memory;
  reason.bytesShort = bytesShort;
  reason.fullest = fullest;
  return true;
}

/// Whether `a` says more on what could be done than `b`: by its cause, for less
/// memory, or with a larger gain.
static bool isBetter(const ExposureReason &a, const ExposureReason &b) {
  auto rank = [](const ExposureReason &reason) {
    return std::tuple(reason.cause, reason.bytesShort,
                      -reason.gainNs.value_or(0));
  };
  return rank(a) < rank(b);
}

void Explainer::turnToStarts() {
  for (NodeId node = 0; node < problem.numNodes(); ++node)
    if (problem.kind(node) == NodeKind::Wait && timeline.exposedNs[node] > 0)
      schedule.setComputeTime(node, timeline.exposedNs[node]);
  effortLeft += options.effort - options.effort / 2;
}

Explainer::LaterWait Explainer::tryLater(NodeId collective) {
  LaterWait later;
  if (problem.kind(collective) == NodeKind::Blocking)
    return later;
  later.reason.collective = collective;
  later.reason.exposedNs = timeline.exposedNs[collective];
  later.reason.move = ExposureMove::WaitLater;
  later.isPossible = tryMove(problem.waitOf(collective), later.reason);
  return later;
}

ExposureReason Explainer::explain(NodeId collective, const LaterWait &later) {
  ExposureReason none;
  none.collective = collective;
  none.exposedNs = timeline.exposedNs[collective];
  if (problem.kind(collective) == NodeKind::Blocking)
    return none;

  ExposureReason reason = none;
  bool isHeld = false;
  if (int64_t delayNs = streams.delayNs(collective)) {
    // Issued earlier, it would wait for its stream.
    reason.cause = ExposureCause::StreamBusy;
    reason.byNs = delayNs;
    reason.other = streams.findHolder(collective);
  } else {
    isHeld = !tryMove(collective, reason);
  }
  if (later.isPossible && (isHeld || isBetter(later.reason, reason))) {
    reason = later.reason;
  } else if (isHeld) {
    bool isAlone = reason.other == noNode && later.reason.other == noNode;
    reason.spareNs = isAlone ? 0 : getSpareNs(collective);
    reason.cause = ExposureCause::Dependence;
    if (reason.other == noNode) {
      reason.cause = ExposureCause::Needed;
      reason.other = later.reason.other;
      reason.byNs = 0;
    }
  }
  if (reason.cause < ExposureCause::WouldNotPay || reason.spareNs > 0)
    return reason;
  none.cause = ExposureCause::NothingLeft;
  return none;
}

Result<std::vector<ExposureReason>>
schedule::explainExposure(const Problem &problem, const Order &order,
                          const ExposureOptions &options) {
  Result<Timeline> timeline = simulate(problem, order, options.contention);
  if (!timeline)
    return Error{timeline.error()};
  if (OptionalError error = verify(problem, order))
    return Error{std::move(*error)};
  Result<EditableSchedule> schedule = EditableSchedule::create(
      problem, order, getHoldingTimes(problem, *timeline));
  if (!schedule)
    return Error{schedule.error()};

  std::vector<NodeId> exposed;
  for (NodeId node : order)
    if (problem.isCollective(node) && timeline->exposedNs[node] > 0)
      exposed.push_back(node);
  std::vector<int32_t> byExposure(exposed.size());
  for (size_t i = 0; i < exposed.size(); ++i)
    byExposure[i] = static_cast<int32_t>(i);
  std::sort(byExposure.begin(), byExposure.end(), [&](int32_t a, int32_t b) {
    int64_t exposedA = timeline->exposedNs[exposed[a]];
    int64_t exposedB = timeline->exposedNs[exposed[b]];
    return exposedA != exposedB ? exposedA > exposedB : a < b;
  });
  Explainer explainer(problem, order, *timeline, options, *schedule);
  std::vector<Explainer::LaterWait> later(exposed.size());
  for (int32_t index : byExposure)
    later[index] = explainer.tryLater(exposed[index]);
  explainer.turnToStarts();
  std::vector<ExposureReason> reasons(exposed.size());
  for (int32_t index : byExposure)
    reasons[index] = explainer.explain(exposed[index], later[index]);
  return reasons;
}
