//===- SmallestMove.cpp - One operation earlier or later ------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SmallestMove.h"

#include <limits>

using namespace mlir::commsched::schedule;

static bool isCheap(const Problem &problem, NodeId node) {
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
    if (!isCheap(schedule.getProblem(), group.frontNode()) ||
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

NodeId SmallestMove::getFullest() const {
  bool isUp = move == ExposureMove::StartEarlier;
  int32_t first = isUp ? group.first() : origins.front();
  int32_t end = isUp ? origins.front() + 1 : group.end();
  const EditableSchedule::Tree &tree = schedule.getTree();
  int64_t peak = tree.before(schedule.at(first)).netBytes +
                 tree.range(first, end).peakBytes;
  return schedule.at(tree.findFirst(
      first, end, [&](const StretchLoad &before, const StretchLoad &stretch) {
        return before.netBytes + stretch.peakBytes >= peak;
      }));
}
