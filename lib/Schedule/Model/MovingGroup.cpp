//===- MovingGroup.cpp - Groups of moving operations ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "MovingGroup.h"

using namespace mlir::commsched::schedule;

MovingGroup::MovingGroup(EditableSchedule &schedule, Direction direction)
    : schedule(schedule), direction(direction) {}

void MovingGroup::startWith(NodeId node) {
  begin = schedule.position(node);
  behind = begin + 1;
  dependences = {};
  withoutHandovers.clear();
  handovers.clear();
  nextHandovers = {};
  addMember(node);
}

void MovingGroup::addDependence(NodeId other, DependenceKind kind) {
  int32_t distance = distanceOf(schedule.position(other));
  if (isAhead(distance))
    dependences.push({distance, kind});
}

void MovingGroup::addMember(NodeId node) {
  const Problem &problem = schedule.getProblem();
  for (DependenceEnd end :
       isUp() ? problem.predecessors(node) : problem.successors(node))
    addDependence(end.node, end.kind);
  // A buffer ties two operations together even if no dependence says it.
  if (isUp()) {
    for (BufferId buffer : problem.buffersUsedBy(node))
      if (NodeId producer = problem.buffer(buffer).producer; producer != noNode)
        addDependence(producer, DependenceKind::Data);
  } else {
    for (BufferId buffer : problem.buffersMadeBy(node))
      for (NodeId user : problem.users(buffer))
        addDependence(user, DependenceKind::Data);
  }
  withoutHandovers.push_back(node);
}

/// Nobody ahead takes over what the member makes: up there are no users of it,
/// and down they are dependences.
void MovingGroup::addHandovers(NodeId member) {
  for (BufferId buffer : schedule.getProblem().buffersUsedBy(member))
    addHandover(member, buffer);
}

void MovingGroup::addHandover(NodeId member, BufferId buffer) {
  NodeId last = schedule.lastUser(buffer);
  if (last == noNode || (isUp() && last != member))
    return;
  Handover handover;
  auto add = [&](NodeId user) {
    if (user == member)
      return;
    int32_t distance = distanceOf(schedule.position(user));
    if (isAhead(distance))
      handover.distances.push_back(distance);
  };
  if (isUp())
    for (NodeId user : schedule.getProblem().users(buffer))
      add(user);
  else
    add(last);
  if (handover.distances.empty())
    return;
  std::sort(handover.distances.begin(), handover.distances.end());
  handover.buffer = buffer;
  handover.member = member;
  handovers.push_back(std::move(handover));
  pushHandover(static_cast<int32_t>(handovers.size()) - 1);
}

void MovingGroup::pushHandover(int32_t handover) {
  Handover &users = handovers[handover];
  while (users.next < users.distances.size() &&
         !isAhead(users.distances[users.next]))
    ++users.next;
  if (users.next < users.distances.size())
    nextHandovers.push({users.distances[users.next], handover});
}

int32_t MovingGroup::nextDependence() {
  while (!dependences.empty() && !isAhead(dependences.top().distance))
    dependences.pop();
  return dependences.empty() ? wayEnd()
                             : positionOf(dependences.top().distance);
}

int32_t MovingGroup::nextHandover() {
  for (NodeId member : withoutHandovers)
    addHandovers(member);
  withoutHandovers.clear();
  while (!nextHandovers.empty() && !isAhead(nextHandovers.top().distance)) {
    int32_t stale = nextHandovers.top().handover;
    nextHandovers.pop();
    // If it was passed, another operation frees the buffer now; if it was
    // absorbed, the next user may.
    NodeId last = schedule.lastUser(handovers[stale].buffer);
    if (isUp() == isMember(last))
      pushHandover(stale);
  }
  return nextHandovers.empty() ? wayEnd()
                               : positionOf(nextHandovers.top().distance);
}

int32_t MovingGroup::findOverflow(int32_t until, int64_t limitBytes) const {
  StretchLoad group = schedule.getTree().range(begin, behind);
  int64_t room = limitBytes - schedule.initialBytes();
  if (isUp())
    return findNearest(
        until, [&](const StretchLoad &before, const StretchLoad &stretch) {
          return before.netBytes + stretch.peakBytes + group.netBytes > room ||
                 before.netBytes + stretch.peakBefore + group.peakBytes > room;
        });
  return findNearest(
      until, [&](const StretchLoad &before, const StretchLoad &stretch) {
        int64_t level = before.netBytes - group.netBytes;
        return level + stretch.peakBytes > room ||
               level + stretch.peakRemaining + group.peakBytes > room;
      });
}

int64_t MovingGroup::peakWhenPassing(int32_t position) const {
  StretchLoad group = schedule.getTree().range(begin, behind);
  NodeId node = schedule.at(position);
  if (isUp())
    return std::max(schedule.allocatedBytes(node) + group.netBytes,
                    schedule.bytesBefore(node) + group.peakBytes);
  return std::max(schedule.allocatedBytes(node),
                  schedule.remainingBytes(node) + group.peakBytes) -
         group.netBytes;
}

int32_t MovingGroup::passUntil(int32_t position) {
  int32_t passed = isUp() ? begin - (position + 1) : position - behind;
  if (passed == 0)
    return 0;
  if (isUp()) {
    schedule.exchange(position + 1, begin, behind);
    begin -= passed;
    behind -= passed;
  } else {
    schedule.exchange(begin, behind, position);
    begin += passed;
    behind += passed;
  }
  return passed;
}

/// Takes the handovers at `distance` off the queue. Of several for one buffer,
/// the last is that of the last member that uses it.
std::vector<int32_t> MovingGroup::takeHandovers(int32_t distance) {
  std::vector<int32_t> taken;
  while (!nextHandovers.empty() && nextHandovers.top().distance <= distance) {
    if (nextHandovers.top().distance == distance)
      taken.push_back(nextHandovers.top().handover);
    nextHandovers.pop();
  }
  std::sort(taken.begin(), taken.end());
  return taken;
}

void MovingGroup::exchangeWithFront() {
  if (isUp())
    schedule.exchange(begin - 1, begin, behind);
  else
    schedule.exchange(begin, behind, behind + 1);
  int32_t step = isUp() ? -1 : 1;
  begin += step;
  behind += step;
}

int64_t MovingGroup::passOne(int64_t limitBytes) {
  if (nextHandover() != front()) {
    int64_t peak = peakWhenPassing(front());
    if (peak <= limitBytes)
      exchangeWithFront();
    return peak;
  }
  NodeId passed = frontNode();
  std::vector<int32_t> taken = takeHandovers(distanceOf(front()));
  for (int32_t index : taken)
    schedule.setLastUser(handovers[index].buffer,
                         isUp() ? passed : handovers[index].member);
  int64_t peak = peakWhenPassing(front());
  if (peak <= limitBytes) {
    exchangeWithFront();
    return peak;
  }
  for (int32_t index : taken)
    schedule.setLastUser(handovers[index].buffer,
                         isUp() ? handovers[index].member : passed);
  return peak;
}

void MovingGroup::absorbFront() {
  NodeId node = frontNode();
  if (isUp())
    --begin;
  else
    ++behind;
  addMember(node);
}
