//===- ExposureReasons.cpp - Reasons for exposed collectives --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/Schedule/Exposure/ExposureReasons.h"

#include "../Model/MovingGroup.h"
#include "CommSched/Schedule/Model/Simulator.h"
#include "CommSched/Schedule/Model/Verify.h"

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

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

//===----------------------------------------------------------------------===//
// IndependentCompute
//
// How much computation neither precedes a collective nor follows it, whatever
// the order: the most that could ever hide it. The exact amount takes all
// ancestors of all operations; this is a bound from some of them.
//===----------------------------------------------------------------------===//

static int64_t getComputeNs(const Problem &problem, NodeId node) {
  return problem.kind(node) == NodeKind::Compute ? problem.costNs(node) : 0;
}

/// By operation: computation that lies certainly beyond it, where `beyond` are
/// its neighbours there and `before` those on the other side. `order` has
/// operations behind those beyond them.
template <typename BeyondFn, typename BeforeFn>
static std::vector<int64_t> boundBeyond(const Problem &problem,
                                        const Order &order, BeyondFn beyond,
                                        BeforeFn before) {
  // Whom each operation passes on to: the neighbour on the longest way.
  std::vector<NodeId> heirs(problem.numNodes(), noNode);
  std::vector<int64_t> depths(problem.numNodes());
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    NodeId &heir = heirs[*it];
    for (DependenceEnd end : before(*it))
      if (heir == noNode || depths[end.node] > depths[heir])
        heir = end.node;
    depths[*it] =
        getComputeNs(problem, *it) + (heir == noNode ? 0 : depths[heir]);
  }
  std::vector<int64_t> passed(problem.numNodes());
  std::vector<int64_t> bounds(problem.numNodes());
  for (NodeId node : order) {
    int64_t &bound = bounds[node];
    bound = passed[node];
    for (DependenceEnd end : beyond(node))
      bound =
          std::max(bound, getComputeNs(problem, end.node) + bounds[end.node]);
    if (heirs[node] != noNode)
      passed[heirs[node]] += getComputeNs(problem, node) + passed[node];
  }
  return bounds;
}

/// By operation: at most how much computation, in nanoseconds, neither has to
/// precede the collective of a Start or Blocking nor to follow it; 0 for other
/// operations. `problem` has no error.
///
/// Counted as ancestors are, of an operation, those of one of its predecessors
/// with that itself, or those that were passed on to it: each operation passes
/// itself and what it was passed to the one of its successors that most
/// computation depends on. Descendants likewise. O(nodes + dependences).
static std::vector<int64_t> boundIndependentCompute(const Problem &problem) {
  auto successors = [&](NodeId node) { return problem.successors(node); };
  auto predecessors = [&](NodeId node) { return problem.predecessors(node); };
  Order order = problem.topologicalOrder();
  std::vector<int64_t> before =
      boundBeyond(problem, order, predecessors, successors);
  std::reverse(order.begin(), order.end());
  std::vector<int64_t> behind =
      boundBeyond(problem, order, successors, predecessors);

  int64_t totalNs = 0;
  for (NodeId node = 0; node < problem.numNodes(); ++node)
    totalNs += getComputeNs(problem, node);
  std::vector<int64_t> independent(problem.numNodes());
  for (NodeId node = 0; node < problem.numNodes(); ++node) {
    if (!problem.isCollective(node))
      continue;
    NodeId wait = problem.waitOf(node);
    independent[node] =
        totalNs - before[node] - behind[wait == noNode ? node : wait];
  }
  return independent;
}

//===----------------------------------------------------------------------===//
// SmallestMove
//===----------------------------------------------------------------------===//

namespace {

/// The smallest move of a collective: its start, with the computation that
/// prepares it, passes the nearest operation in front that holds the compute
/// stream; or its wait, with the computation that follows from it, passes the
/// nearest such operation behind. The constructor makes the move and the
/// destructor takes it back.
class SmallestMove {
public:
  /// Makes the move in `schedule`, whose times are how long operations hold the
  /// compute stream, as far as dependences let it. Memory does not matter.
  SmallestMove(EditableSchedule &schedule, NodeId node, ExposureMove move);
  /// Takes it back.
  ~SmallestMove();
  SmallestMove(const SmallestMove &) = delete;
  SmallestMove &operator=(const SmallestMove &) = delete;

  /// Whether an operation that holds the compute stream was passed.
  bool isPossible() const { return possible; }
  /// The operation that was passed; or else the one that moves no further
  /// because of a dependence; noNode at the end of the order.
  NodeId getOther() const { return other; }
  /// Start or wait, and what moved with it, in their order.
  std::vector<NodeId> getMoving() const;
  /// How long those hold the compute stream.
  int64_t getMovingNs() const { return group.computeTime(); }

  /// The positions, as [first, end), outside of which nothing has moved.
  std::pair<int32_t, int32_t> getChanged() const;
  /// Returns the operation with the highest live memory among those that have
  /// changed. O(log n).
  NodeId getFullest() const;

private:
  void passUntil(int32_t position);

  static constexpr size_t maxMembers = 32;

  EditableSchedule &schedule;
  MovingGroup group;
  ExposureMove move;
  /// The original positions of the members, from the start or wait on.
  std::vector<int32_t> origins;
  bool possible = false;
  NodeId other = noNode;
};

} // namespace

static bool canMoveAlong(const Problem &problem, NodeId node) {
  return problem.kind(node) == NodeKind::Compute && !problem.isExpensive(node);
}

SmallestMove::SmallestMove(EditableSchedule &schedule, NodeId node,
                           ExposureMove move)
    : schedule(schedule),
      group(schedule, move == ExposureMove::StartEarlier ? Direction::Up
                                                         : Direction::Down),
      move(move) {
  origins.push_back(schedule.position(node));
  group.startWith(node);
  while (true) {
    int32_t dependence = group.nextDependence();
    int32_t timed = group.findNearest(
        dependence, [](const StretchLoad &, const StretchLoad &stretch) {
          return stretch.computeTime > 0;
        });
    if (timed != dependence) {
      other = schedule.at(timed);
      passUntil(group.beyond(timed));
      possible = true;
      return;
    }
    passUntil(dependence);
    if (dependence == group.wayEnd())
      return;
    if (!canMoveAlong(schedule.getProblem(), group.frontNode()) ||
        origins.size() == maxMembers) {
      other = group.frontNode();
      return;
    }
    origins.push_back(group.front());
    group.absorbFront();
  }
}

void SmallestMove::passUntil(int32_t position) {
  while (group.front() != position) {
    int32_t until = group.nearer(position, group.nextHandover());
    if (until == group.front())
      group.passOne(std::numeric_limits<int64_t>::max());
    else
      group.passUntil(until);
  }
}

SmallestMove::~SmallestMove() {
  // One after the other, beginning with the one that has farthest to go.
  bool isUp = move == ExposureMove::StartEarlier;
  for (size_t i = 0; i < origins.size(); ++i) {
    int32_t offset = static_cast<int32_t>(i);
    if (isUp)
      schedule.moveDown(group.end() - 1 - offset, group.end() - offset,
                        origins[i] + 1);
    else
      schedule.moveUp(group.first() + offset, group.first() + offset + 1,
                      origins[i]);
  }
}

std::vector<NodeId> SmallestMove::getMoving() const {
  std::vector<NodeId> moving;
  for (int32_t place = group.first(); place < group.end(); ++place)
    moving.push_back(schedule.at(place));
  return moving;
}

std::pair<int32_t, int32_t> SmallestMove::getChanged() const {
  if (move == ExposureMove::StartEarlier)
    return {group.first(), origins.front() + 1};
  return {origins.front(), group.end()};
}

NodeId SmallestMove::getFullest() const {
  auto [first, end] = getChanged();
  const EditableSchedule::Tree &tree = schedule.getTree();
  int64_t peak = tree.before(schedule.at(first)).netBytes +
                 tree.range(first, end).peakBytes;
  return schedule.at(tree.findFirst(
      first, end, [&](const StretchLoad &before, const StretchLoad &stretch) {
        return before.netBytes + stretch.peakBytes >= peak;
      }));
}

//===----------------------------------------------------------------------===//
// Explanations
//===----------------------------------------------------------------------===//

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

/// The occupation of the streams, and the collectives that others waited for.
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

  /// The reason about a later wait, and whether a later wait is possible.
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
  std::optional<int64_t> simulateMoved(const SmallestMove &move);
  int64_t getSpareNs(NodeId start) const;

  const Problem &problem;
  const Order &order;
  const Timeline &timeline;
  const ExposureOptions &options;
  EditableSchedule &schedule;
  const int64_t limitBytes;
  /// The order, but while a move is simulated.
  Order moved;
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
    : problem(problem), order(order), timeline(timeline), options(options),
      schedule(schedule),
      limitBytes(std::max(options.limitBytes, schedule.peakBytes())),
      moved(order), streams(problem, order, timeline, options.contention),
      independentNs(boundIndependentCompute(problem)),
      computedNs(problem.numNodes()), effortLeft(options.effort / 2) {
  int64_t sumNs = 0;
  for (NodeId node : order) {
    computedNs[node] = sumNs;
    if (problem.kind(node) == NodeKind::Compute)
      sumNs += problem.costNs(node);
  }
}

/// Counts computation that is neither an ancestor nor a descendant of the start
/// and does not already run beside the collective.
int64_t Explainer::getSpareNs(NodeId start) const {
  return independentNs[start] -
         (computedNs[problem.waitOf(start)] - computedNs[start]);
}

/// By how much the move makes the step shorter, unless that is too much to find
/// out.
std::optional<int64_t> Explainer::simulateMoved(const SmallestMove &move) {
  if (effortLeft < problem.numNodes())
    return std::nullopt;
  effortLeft -= problem.numNodes();
  auto [first, end] = move.getChanged();
  for (int32_t place = first; place < end; ++place)
    moved[place] = schedule.at(place);
  int64_t stepNs = computeStepNs(problem, moved, options.contention);
  std::copy(order.begin() + first, order.begin() + end, moved.begin() + first);
  return timeline.stepNs - stepNs;
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
  reason.gainNs = simulateMoved(move);
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
  NodeId wait = problem.waitOf(collective);
  // What stands still for its stream does so wherever the wait is.
  if (wait == noNode || timeline.exposedNs[wait] == 0)
    return later;
  later.reason.collective = collective;
  later.reason.exposedNs = timeline.exposedNs[collective];
  later.reason.move = ExposureMove::WaitLater;
  later.isPossible = tryMove(wait, later.reason);
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
    bool hasNoNeighbour =
        reason.other == noNode && later.reason.other == noNode;
    reason.spareNs = hasNoNeighbour ? 0 : getSpareNs(collective);
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
  if (Status status = verify(problem, order); !status)
    return status;
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
