//===- IterativeReordering.cpp - Iterative reordering of collectives ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/Schedule/Inductor/IterativeReordering.h"

#include "../Model/MovingGroup.h"
#include "CommSched/Schedule/Model/Verify.h"
#include "Exposure.h"

#include <cmath>

using namespace mlir::commsched;
using namespace mlir::commsched::schedule;

namespace {

/// One run over all starts (up) or waits (down).
class IterativeRun {
public:
  IterativeRun(const Problem &problem,
               const IterativeReorderingOptions &options, Direction direction)
      : problem(problem), options(options), direction(direction),
        walk(isUp() ? ExposureWalk::FromStart : ExposureWalk::FromWait) {}

  Result<IterativeReordering> run();

private:
  bool isUp() const { return direction == Direction::Up; }

  Status prepare();
  Status scaleTimes();
  Status moveAll();
  Status move(NodeId node);
  Result<IterativeReordering> finish();

  bool takeRun(CollectiveMoves &moved);
  bool takeStep(CollectiveMoves &moved, int32_t dependence);
  bool stop(CollectiveMoves &moved, MoveLimit limit, int32_t position);

  bool isForbidden(NodeId node) const;
  bool isOrdered(NodeId node) const;
  bool isGroupable(NodeId node) const;
  int32_t findForbidden(int32_t until) const;
  void absorb(CollectiveMoves &moved);

  int64_t getExposed(NodeId start, NodeId windowEnd) const {
    return commTimes[start] - getHidingTime(*schedule, start, windowEnd);
  }
  int64_t getExposed(NodeId start, ExposureWalk from) const {
    return getExposed(start, findWindowEnd(*schedule, start, from));
  }
  bool isHidden() const;
  int32_t findWeighed(int32_t until) const;
  bool isWorthPassing(NodeId node) const;
  void notePassed(NodeId node);
  void noteTime(int64_t computeTime);
  void listPassed(CollectiveMoves &moved, int32_t until) const;
  Status checkMemory() const;

  const Problem &problem;
  const IterativeReorderingOptions &options;
  Direction direction;
  /// How the exposure of the collective that moves is found.
  ExposureWalk walk;
  /// By node: its time if it is a collective, as the decisions see it.
  std::vector<int64_t> commTimes;
  std::optional<EditableSchedule> schedule;
  std::optional<MovingGroup> group;
  /// With estimations: by start, where its window ends in the program. Until a
  /// start or its wait moves, no other move changes that.
  std::vector<NodeId> windowEnds;
  /// The start of the collective that moves, and where its window ends.
  NodeId start = noNode;
  NodeId windowEnd = noNode;
  /// With estimations: what is exposed of it, and of those whose waits the
  /// group has taken along.
  ExposureTrade trade;
  /// Down: whether the group has taken blocking collectives along, and how long
  /// they take.
  bool hasBlocking = false;
  int64_t blockingTime = 0;
  IterativeReordering result;
};

} // namespace

//===----------------------------------------------------------------------===//
// The rules
//===----------------------------------------------------------------------===//

/// Whether the group has to stop before `node`, whatever the memory.
bool IterativeRun::isForbidden(NodeId node) const {
  if (isUp())
    return !options.reorderCollectives && problem.isCollective(node);
  return !options.withCollectives && problem.kind(node) == NodeKind::Start;
}

/// Whether the rules treat `node` in front as if it depended on the group: two
/// collectives keep their order, or move together.
bool IterativeRun::isOrdered(NodeId node) const {
  return hasBlocking && problem.isCollective(node);
}

/// The nearest position at which isForbidden() or isOrdered() holds; `until` if
/// none is before it.
int32_t IterativeRun::findForbidden(int32_t until) const {
  bool stopsAtBlocking = isUp() ? !options.reorderCollectives : hasBlocking;
  bool stopsAtStarts = stopsAtBlocking || (!isUp() && !options.withCollectives);
  if (!stopsAtStarts)
    return until;
  return group->findNearest(
      until, [&](const StretchLoad &, const StretchLoad &stretch) {
        return stretch.numStarts > 0 ||
               (stopsAtBlocking && stretch.numBlocking > 0);
      });
}

/// Whether the group takes `node` along when there is a dependence.
bool IterativeRun::isGroupable(NodeId node) const {
  switch (problem.kind(node)) {
  case NodeKind::Start:
    return isUp() && options.withCollectives;
  case NodeKind::Wait:
    return isUp();
  case NodeKind::Blocking:
    return isUp() || options.useRuntimeEstimations;
  case NodeKind::Compute:
    return options.useRuntimeEstimations || !problem.isExpensive(node);
  }
  return false;
}

//===----------------------------------------------------------------------===//
// Estimations
//===----------------------------------------------------------------------===//

bool IterativeRun::isHidden() const {
  return static_cast<double>(trade.own) <
         -options.extraOverlap * static_cast<double>(commTimes[start]);
}

/// The nearest position, `until` if none is before it, of an operation that
/// isWorthPassing() has to be asked about, or that makes isHidden() true.
int32_t IterativeRun::findWeighed(int32_t until) const {
  const EditableSchedule::Tree &tree = schedule->getTree();
  // Collectives that the group passes may get exposed by it, and the windows of
  // those on its stream change.
  until = group->findNearest(
      until, [&](const StretchLoad &, const StretchLoad &stretch) {
        return (isUp() ? stretch.numStarts : stretch.numWaits) > 0 ||
               stretch.numBlocking > 0;
      });
  // How much computation may pass before a decision is due.
  double toHidden =
      std::floor(static_cast<double>(trade.own) +
                 options.extraOverlap * static_cast<double>(commTimes[start]));
  int64_t room = trade.turningPoint();
  if (toHidden < static_cast<double>(room))
    room = static_cast<int64_t>(toHidden);
  int64_t total = tree.total().computeTime;
  if (room >= total)
    return until;
  int64_t here =
      tree.range(0, isUp() ? group->first() : group->end()).computeTime;
  if (isUp())
    return group->findNearest(
        until, [&](const StretchLoad &before, const StretchLoad &) {
          return before.computeTime < here - room;
        });
  return group->findNearest(
      until, [&](const StretchLoad &before, const StretchLoad &stretch) {
        return before.computeTime - here + stretch.computeTime > room;
      });
}

/// Whether passing `node`, which is in front, exposes no more communication
/// than it hides.
bool IterativeRun::isWorthPassing(NodeId node) const {
  bool isWeighed = isUp() ? problem.kind(node) == NodeKind::Start
                          : problem.kind(node) == NodeKind::Wait;
  if (isWeighed) {
    // What holds the compute stream in the group is no longer beside that
    // collective. Inductor counts only blocking collectives on the way down.
    int64_t lost = isUp() ? group->computeTime() : blockingTime;
    if (lost == 0)
      return true;
    int64_t exposed = getExposed(isUp() ? node : problem.startOf(node), walk);
    return std::max<int64_t>(0, exposed + lost) <=
           std::max<int64_t>(0, exposed);
  }
  int64_t computeTime = schedule->getTree().leaf(node).computeTime;
  return trade.others.empty() ||
         trade.exposedAfter(computeTime) <= trade.exposedAfter(0);
}

/// Takes note of a collective or wait that the group has passed: the window may
/// end there now.
void IterativeRun::notePassed(NodeId node) {
  NodeKind kind = problem.kind(node);
  bool reachesWait = windowEnd == problem.waitOf(start);
  if (kind == NodeKind::Blocking && (isUp() || reachesWait))
    windowEnd = node;
  if (isUp() && kind == NodeKind::Start &&
      problem.stream(node) == problem.stream(start)) {
    // Now that one starts later, and its wait is for this one too.
    NodeId wait = problem.waitOf(node);
    if (schedule->position(wait) < schedule->position(windowEnd))
      windowEnd = wait;
  }
  if (!isUp() && kind == NodeKind::Wait) {
    // Now that one is waited for before this one.
    NodeId other = problem.startOf(node);
    int32_t place = schedule->position(other);
    if (place > schedule->position(start) &&
        place < schedule->position(windowEnd))
      windowEnd = other;
  }
}

/// Takes note of the computation that the group has passed.
void IterativeRun::noteTime(int64_t computeTime) {
  trade.own = getExposed(start, windowEnd);
  for (int64_t &other : trade.others)
    other += computeTime;
}

//===----------------------------------------------------------------------===//
// The moves
//===----------------------------------------------------------------------===//

bool IterativeRun::stop(CollectiveMoves &moved, MoveLimit limit,
                        int32_t position) {
  moved.limit = limit;
  if (position != group->wayEnd())
    moved.obstacle = schedule->at(position);
  return false;
}

void IterativeRun::absorb(CollectiveMoves &moved) {
  NodeId node = group->frontNode();
  if (options.useRuntimeEstimations && isUp() &&
      problem.kind(node) == NodeKind::Wait)
    trade.others.push_back(
        getExposed(problem.startOf(node), ExposureWalk::FromWait));
  if (!isUp() && problem.kind(node) == NodeKind::Blocking) {
    hasBlocking = true;
    blockingTime += commTimes[node];
  }
  group->absorbFront();
  ++moved.grouped;
}

/// Passes everything up to the next operation that matters. Returns whether the
/// group may go on.
bool IterativeRun::takeRun(CollectiveMoves &moved) {
  if (group->front() == group->wayEnd())
    return stop(moved, MoveLimit::None, group->wayEnd());
  if (options.useRuntimeEstimations && isHidden())
    return stop(moved, MoveLimit::Hidden, group->wayEnd());
  int32_t dependence = group->nextDependence();
  if (dependence == group->front())
    return takeStep(moved, dependence);
  int32_t until = group->nearer(dependence, group->nextHandover());
  until = findForbidden(until);
  if (options.useRuntimeEstimations)
    until = findWeighed(until);
  int32_t reached = group->findOverflow(until, options.limitBytes);
  if (reached != until)
    moved.neededBytes = group->peakWhenPassing(reached);
  int64_t passedTime = 0;
  if (options.useRuntimeEstimations)
    passedTime =
        isUp()
            ? schedule->getTree().range(reached + 1, group->first()).computeTime
            : schedule->getTree().range(group->end(), reached).computeTime;
  listPassed(moved, reached);
  moved.moves += group->passUntil(reached);
  if (options.useRuntimeEstimations)
    noteTime(passedTime);
  if (reached != until)
    return stop(moved, MoveLimit::Memory, reached);
  return until == group->wayEnd() || takeStep(moved, dependence);
}

/// Lists what the group is about to pass, up to the position `until`.
void IterativeRun::listPassed(CollectiveMoves &moved, int32_t until) const {
  for (int32_t position = group->front();
       position != until && moved.passed.size() < options.maxPassedListed;
       position = group->beyond(position))
    moved.passed.push_back(schedule->at(position));
}

/// Deals with the operation in front.
bool IterativeRun::takeStep(CollectiveMoves &moved, int32_t dependence) {
  int32_t position = group->front();
  NodeId node = group->frontNode();
  if (isForbidden(node))
    return stop(moved, MoveLimit::Collective, position);
  bool isDependence = position == dependence;
  if (isDependence || isOrdered(node)) {
    bool joins = isGroupable(node);
    if (joins && moved.grouped < options.maxGroupSize) {
      absorb(moved);
      return true;
    }
    if (isDependence) {
      moved.dependence = group->nextDependenceKind();
      return stop(moved, joins ? MoveLimit::GroupSize : MoveLimit::Dependence,
                  position);
    }
    if (!options.reorderCollectives)
      return stop(moved, MoveLimit::Collective, position);
  }
  if (options.useRuntimeEstimations && !isWorthPassing(node))
    return stop(moved, MoveLimit::Exposure, position);
  int64_t peak = group->passOne(options.limitBytes);
  if (peak > options.limitBytes) {
    moved.neededBytes = peak;
    return stop(moved, MoveLimit::Memory, position);
  }
  ++moved.moves;
  if (moved.passed.size() < options.maxPassedListed)
    moved.passed.push_back(node);
  if (options.useRuntimeEstimations) {
    notePassed(node);
    noteTime(schedule->getTree().leaf(node).computeTime);
  }
  return true;
}

Status IterativeRun::move(NodeId node) {
  CollectiveMoves moved;
  moved.node = node;
  start = isUp() ? node : problem.startOf(node);
  group->startWith(node);
  trade = {};
  hasBlocking = false;
  blockingTime = 0;
  if (options.useRuntimeEstimations) {
    windowEnd = windowEnds[start];
    trade.own = getExposed(start, windowEnd);
  }
  while (takeRun(moved))
    if (Status status = checkMemory(); !status)
      return status;
  result.collectives.push_back(moved);
  return checkMemory();
}

Status IterativeRun::moveAll() {
  NodeKind kind = isUp() ? NodeKind::Start : NodeKind::Wait;
  for (NodeId i = 0; i < problem.numNodes(); ++i) {
    if (options.maxCollectives &&
        static_cast<int64_t>(result.collectives.size()) >=
            *options.maxCollectives)
      break;
    NodeId node = isUp() ? i : problem.numNodes() - 1 - i;
    if (problem.kind(node) != kind)
      continue;
    if (Status status = move(node); !status)
      return status;
  }
  return Status::success();
}

//===----------------------------------------------------------------------===//
// Before and after
//===----------------------------------------------------------------------===//

Status IterativeRun::scaleTimes() {
  commTimes.assign(problem.numNodes(), 0);
  std::vector<int64_t> computeTimes(problem.numNodes());
  // Well within 64 bits, for sums of all of them and differences of these.
  constexpr double limit = 1e18;
  double total = 0;
  for (NodeId node = 0; node < problem.numNodes(); ++node) {
    bool isCompute = problem.kind(node) == NodeKind::Compute;
    double scaled = std::nearbyint(
        static_cast<double>(problem.costNs(node)) *
        (isCompute ? options.computeMultiplier : options.commMultiplier));
    total += scaled;
    if (!(scaled >= 0 && total < limit))
      return Error{
          problem.describe(node) + " takes " + std::to_string(scaled) +
          " ns with the multiplier of its kind, which together with the "
          "operations before it is out of range"};
    if (!isCompute)
      commTimes[node] = static_cast<int64_t>(scaled);
    // No window has a blocking collective inside, but groups may.
    if (isCompute || problem.kind(node) == NodeKind::Blocking)
      computeTimes[node] = static_cast<int64_t>(scaled);
  }
  Order program = problem.programOrder();
  if (Status status = verify(problem, program); !status)
    return Error{"the program is not a legal order: " + status.error()};
  Result<EditableSchedule> created =
      EditableSchedule::create(problem, program, computeTimes);
  if (!created)
    return Error{created.error()};
  schedule = std::move(*created);
  return Status::success();
}

Status IterativeRun::prepare() {
  if (!problem.check())
    return problem.check();
  if (options.limitBytes < 0)
    return Error{"the limit of " + std::to_string(options.limitBytes) +
                 " bytes is negative"};
  if (Status status = scaleTimes(); !status)
    return status;
  group.emplace(*schedule, direction);
  if (options.useRuntimeEstimations)
    windowEnds = computeWindowEnds(problem, problem.programOrder(), walk);
  result.oldPeakBytes = schedule->peakBytes();
  return Status::success();
}

/// Compares with a simulation from scratch, if that was asked for.
Status IterativeRun::checkMemory() const {
  return options.recomputeMemory ? schedule->compareWithSimulation()
                                 : Status::success();
}

Result<IterativeReordering> IterativeRun::finish() {
  result.order = schedule->order();
  if (Status status = verify(problem, result.order); !status)
    return Error{"moving collectives made an invalid order: " + status.error()};
  Result<MemoryTimeline> memory = simulateMemory(problem, result.order);
  if (!memory)
    return Error{memory.error()};
  result.newPeakBytes = memory->peakBytes;
  int64_t allowed = std::max(options.limitBytes, result.oldPeakBytes);
  if (result.newPeakBytes > allowed)
    return Error{"moving collectives made a peak of " +
                 std::to_string(result.newPeakBytes) + " bytes, over " +
                 std::to_string(allowed)};
  return std::move(result);
}

Result<IterativeReordering> IterativeRun::run() {
  if (Status status = prepare(); !status)
    return status;
  if (Status status = moveAll(); !status)
    return status;
  return finish();
}

Result<IterativeReordering>
schedule::reorderComms(const Problem &problem,
                       const IterativeReorderingOptions &options) {
  return IterativeRun(problem, options, Direction::Up).run();
}

Result<IterativeReordering>
schedule::sinkWaitsIteratively(const Problem &problem,
                               const IterativeReorderingOptions &options) {
  return IterativeRun(problem, options, Direction::Down).run();
}
