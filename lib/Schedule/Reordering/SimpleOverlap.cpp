//===- SimpleOverlap.cpp - Overlap without cost estimates -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/Schedule/Reordering/SimpleOverlap.h"

#include "../Model/MovingGroup.h"
#include "CommSched/Schedule/Model/Simulator.h"
#include "CommSched/Schedule/Model/Verify.h"

using namespace mlir::commsched;
using namespace mlir::commsched::schedule;

namespace {

class SimpleOverlapRun {
public:
  SimpleOverlapRun(const Problem &problem, EditableSchedule &schedule)
      : problem(problem), schedule(schedule), limitBytes(schedule.peakBytes()) {
  }

  CollectiveMoves raise(NodeId start);
  CollectiveMoves sink(NodeId wait);

private:
  void move(MovingGroup &group, CollectiveMoves &moved);

  const Problem &problem;
  EditableSchedule &schedule;
  int64_t limitBytes;
};

} // namespace

/// The nearest collective on the way, or `until`.
static int32_t findCollective(const MovingGroup &group, int32_t until) {
  return group.findNearest(
      until, [](const StretchLoad &, const StretchLoad &stretch) {
        return stretch.numStarts > 0 || stretch.numBlocking > 0;
      });
}

void SimpleOverlapRun::move(MovingGroup &group, CollectiveMoves &moved) {
  bool isStart = problem.kind(moved.node) == NodeKind::Start;
  int32_t dependence = group.nextDependence();
  int32_t obstacle = isStart ? findCollective(group, dependence) : dependence;
  while (group.front() != obstacle) {
    int32_t until = group.nearer(obstacle, group.nextHandover());
    int32_t reached = group.findOverflow(until, limitBytes);
    if (reached != until)
      moved.neededBytes = group.peakWhenPassing(reached);
    moved.moves += group.passUntil(reached);
    if (reached == until && until != obstacle) {
      moved.neededBytes = group.passOne(limitBytes);
      if (moved.neededBytes <= limitBytes) {
        moved.neededBytes = 0;
        ++moved.moves;
      }
    }
    if (moved.neededBytes > limitBytes) {
      moved.limit = MoveLimit::Memory;
      moved.obstacle = group.frontNode();
      return;
    }
  }
  if (obstacle == group.wayEnd())
    return;
  moved.obstacle = group.frontNode();
  if (obstacle == dependence) {
    moved.limit = MoveLimit::Dependence;
    moved.dependence = group.nextDependenceKind();
  } else {
    moved.limit = MoveLimit::Collective;
  }
}

CollectiveMoves SimpleOverlapRun::raise(NodeId start) {
  CollectiveMoves moved;
  moved.node = start;
  MovingGroup group(schedule, Direction::Up);
  group.startWith(start);
  move(group, moved);
  return moved;
}

CollectiveMoves SimpleOverlapRun::sink(NodeId wait) {
  CollectiveMoves moved;
  moved.node = wait;
  int32_t origin = schedule.position(wait);
  MovingGroup group(schedule, Direction::Down);
  group.startWith(wait);
  move(group, moved);
  // Back up over the waits that it passed last.
  int32_t worthwhile = schedule.getTree().findLast(
      origin, group.first(),
      [](const StretchLoad &, const StretchLoad &stretch) {
        return stretch.numWaits < stretch.numNodes;
      });
  int32_t place = worthwhile < 0 ? origin : worthwhile + 1;
  moved.moves -= group.first() - place;
  schedule.moveUp(group.first(), group.end(), place);
  return moved;
}

/// Whether `order` keeps what overlapSimply() promises.
static Status checkOverlap(const Problem &problem, const Order &program,
                           const Order &order, int64_t oldPeakBytes) {
  if (Status status = verify(problem, order); !status)
    return status;
  Result<MemoryTimeline> memory = simulateMemory(problem, order);
  if (!memory)
    return Error{memory.error()};
  if (memory->peakBytes > oldPeakBytes)
    return Error{"its peak of " + std::to_string(memory->peakBytes) +
                 " bytes is over that of the program, " +
                 std::to_string(oldPeakBytes)};
  Result<Timeline> before = simulate(problem, program);
  Result<Timeline> after = simulate(problem, order);
  if (!before || !after)
    return Error{before ? after.error() : before.error()};
  if (after->stepNs > before->stepNs)
    return Error{"its step of " + std::to_string(after->stepNs) +
                 " ns is longer than that of the program, " +
                 std::to_string(before->stepNs)};
  return Status::success();
}

Result<IterativeReordering> schedule::overlapSimply(const Problem &problem) {
  if (!problem.check())
    return problem.check();
  Order program = problem.programOrder();
  if (Status status = verify(problem, program); !status)
    return Error{"the program is not a legal order: " + status.error()};
  Result<EditableSchedule> schedule =
      EditableSchedule::create(problem, program);
  if (!schedule)
    return Error{schedule.error()};
  IterativeReordering result;
  result.oldPeakBytes = schedule->peakBytes();
  SimpleOverlapRun run(problem, *schedule);
  for (NodeId node = 0; node < problem.numNodes(); ++node)
    if (problem.kind(node) == NodeKind::Start)
      result.collectives.push_back(run.raise(node));
  for (NodeId node = problem.numNodes() - 1; node >= 0; --node)
    if (problem.kind(node) == NodeKind::Wait)
      result.collectives.push_back(run.sink(node));
  result.order = schedule->order();
  result.newPeakBytes = schedule->peakBytes();
  if (Status status =
          checkOverlap(problem, program, result.order, result.oldPeakBytes);
      !status)
    return Error{"overlapping made a bad order: " + status.error()};
  return result;
}
