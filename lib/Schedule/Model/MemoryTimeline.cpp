//===- MemoryTimeline.cpp - Memory model ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/Schedule/Model/MemoryTimeline.h"

#include "CommSched/Schedule/Model/Verify.h"
#include "RunState.h"

using namespace mlir::commsched;
using namespace mlir::commsched::schedule;

Result<MemoryTimeline> schedule::simulateMemory(const Problem &problem,
                                                const Order &order) {
  Result<Positions> positions = invert(problem, order);
  if (!positions)
    return Error{positions.error()};
  LiveBytes live(problem);
  MemoryTimeline timeline;
  timeline.initialBytes = timeline.peakBytes = live.bytes();
  timeline.allocatedBytes.reserve(order.size());
  timeline.remainingBytes.reserve(order.size());
  for (int32_t position = 0; position < problem.numNodes(); ++position) {
    int64_t allocated = live.issue(order[position]);
    timeline.allocatedBytes.push_back(allocated);
    timeline.remainingBytes.push_back(live.bytes());
    if (position == 0 || allocated > timeline.peakBytes) {
      timeline.peakBytes = allocated;
      timeline.peakPosition = position;
    }
  }
  return timeline;
}

Result<std::vector<BufferId>> schedule::findLive(const Problem &problem,
                                                 const Order &order,
                                                 int32_t position) {
  Result<Positions> positions = invert(problem, order);
  if (!positions)
    return Error{positions.error()};
  if (position < -1 || position >= problem.numNodes())
    return Error{"there is no position " + std::to_string(position) +
                 " in an order of " + std::to_string(problem.numNodes()) +
                 " nodes"};
  std::vector<char> isLive(problem.numBuffers());
  for (BufferId id = 0; id < problem.numBuffers(); ++id)
    isLive[id] = problem.buffer(id).producer == noNode;
  LiveBytes bytes(problem);
  for (int32_t before = 0; before < position; ++before) {
    for (BufferId id : problem.buffersMadeBy(order[before]))
      isLive[id] = true;
    bytes.issue(order[before], [&](BufferId id) { isLive[id] = false; });
  }
  if (position >= 0)
    for (BufferId id : problem.buffersMadeBy(order[position]))
      isLive[id] = true;
  std::vector<BufferId> live;
  for (BufferId id = 0; id < problem.numBuffers(); ++id)
    if (isLive[id])
      live.push_back(id);
  return live;
}
