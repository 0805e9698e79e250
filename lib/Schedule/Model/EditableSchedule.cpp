//===- EditableSchedule.cpp - Orders with incremental memory --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "EditableSchedule.h"

#include "CommSched/Schedule/Model/Verify.h"
#include "RunState.h"

using namespace mlir::commsched;
using namespace mlir::commsched::schedule;

Result<EditableSchedule>
EditableSchedule::create(const Problem &problem, const Order &order,
                         const std::vector<int64_t> &computeTimes) {
  Result<Positions> positions = invert(problem, order);
  if (!positions)
    return Error{positions.error()};
  EditableSchedule schedule(problem);
  std::vector<OperationLoad> loads(problem.numNodes());
  for (NodeId node = 0; node < problem.numNodes(); ++node) {
    loads[node].kind = problem.kind(node);
    if (!computeTimes.empty())
      loads[node].computeTime = computeTimes[node];
    for (BufferId id : problem.buffersMadeBy(node))
      loads[node].allocated += problem.buffer(id).bytes;
  }
  schedule.lastUsers.assign(problem.numBuffers(), noNode);
  LiveBytes live(problem);
  schedule.initial = live.bytes();
  for (NodeId node : order)
    live.issue(node, [&](BufferId id) {
      schedule.lastUsers[id] = node;
      loads[node].freed += problem.buffer(id).bytes;
    });
  schedule.tree = Tree(order, std::move(loads));
  return schedule;
}

Status EditableSchedule::compareWithSimulation() const {
  Order now = order();
  Result<MemoryTimeline> memory = simulateMemory(*problem, now);
  if (!memory)
    return Error{memory.error()};
  int64_t live = initial;
  for (size_t place = 0; place < now.size(); ++place) {
    OperationLoad load = tree.leaf(now[place]);
    int64_t allocated = live + load.allocated;
    live = allocated - load.freed;
    if (allocated == memory->allocatedBytes[place] &&
        live == memory->remainingBytes[place])
      continue;
    return Error{"the live bytes of " + problem->describe(now[place]) +
                 " are kept as " + std::to_string(allocated) + " and then " +
                 std::to_string(live) + ", but a simulation gives " +
                 std::to_string(memory->allocatedBytes[place]) + " and " +
                 std::to_string(memory->remainingBytes[place])};
  }
  if (peakBytes() == memory->peakBytes)
    return Status::success();
  return Error{"the peak is kept as " + std::to_string(peakBytes()) +
               " bytes, but a simulation gives " +
               std::to_string(memory->peakBytes)};
}

void EditableSchedule::setLastUser(BufferId buffer, NodeId user) {
  int64_t bytes = problem->buffer(buffer).bytes;
  OperationLoad load = tree.leaf(lastUsers[buffer]);
  load.freed -= bytes;
  tree.setLeaf(lastUsers[buffer], load);
  load = tree.leaf(user);
  load.freed += bytes;
  tree.setLeaf(user, load);
  lastUsers[buffer] = user;
}

void EditableSchedule::moveUp(int32_t first, int32_t end, int32_t to) {
  // If a passed operation uses a buffer that a member freed, the passed
  // operation frees it now.
  auto update = [&](NodeId member, BufferId buffer) {
    if (lastUsers[buffer] != member)
      return;
    int32_t lastPosition = -1;
    for (NodeId user : problem->users(buffer)) {
      int32_t at = position(user);
      if (at >= to && at < first)
        lastPosition = std::max(lastPosition, at);
    }
    if (lastPosition >= 0)
      setLastUser(buffer, this->at(lastPosition));
  };
  if (to == first)
    return;
  for (int32_t place = first; place < end; ++place) {
    NodeId member = at(place);
    for (BufferId buffer : problem->buffersUsedBy(member))
      update(member, buffer);
  }
  tree.exchange(to, first, end);
}

void EditableSchedule::moveDown(int32_t first, int32_t end, int32_t to) {
  if (to == end)
    return;
  // If a member uses a buffer that a passed operation freed, the last such
  // member frees it now; that member is visited last here.
  for (int32_t place = first; place < end; ++place) {
    NodeId member = at(place);
    for (BufferId buffer : problem->buffersUsedBy(member)) {
      NodeId last = lastUsers[buffer];
      if (last == noNode || last == member)
        continue;
      int32_t lastPosition = position(last);
      if (lastPosition < place || (lastPosition >= end && lastPosition < to))
        setLastUser(buffer, member);
    }
  }
  tree.exchange(first, end, to);
}
