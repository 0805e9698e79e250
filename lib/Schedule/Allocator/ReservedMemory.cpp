//===- ReservedMemory.cpp - Memory that the allocator reserves ------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Schedule/Allocator/ReservedMemory.h"

#include "../Model/RunState.h"
#include "CommSched/Schedule/Model/Verify.h"

#include <algorithm>
#include <limits>

using namespace mlir::commsched;
using namespace mlir::commsched::schedule;

namespace {

/// The blocks of the buffers that are allocated.
class Replay {
public:
  Replay(const Problem &problem, const Timeline &timeline, SegmentKind kind)
      : problem(problem), timeline(timeline), allocator(kind),
        blocks(problem.numBuffers(), -1) {}

  int64_t reservedBytes() const { return allocator.reservedBytes(); }

  void allocate(BufferId buffer) {
    if (int64_t bytes = problem.buffer(buffer).bytes; bytes > 0)
      blocks[buffer] = allocator.allocate(bytes, nowNs);
  }
  void free(BufferId buffer) {
    if (blocks[buffer] < 0)
      return;
    if (int64_t endNs = lastCollectiveEndNs(buffer); endNs > nowNs)
      allocator.freeAfter(blocks[buffer], endNs);
    else
      allocator.free(blocks[buffer]);
  }
  /// The compute stream has issued `node`, and goes on at once behind a start.
  void pass(NodeId node) {
    if (problem.kind(node) != NodeKind::Start)
      nowNs = timeline.endNs[node];
  }

private:
  /// When the last collective ends that makes or uses `buffer`; 0 if none does.
  int64_t lastCollectiveEndNs(BufferId buffer) const {
    int64_t lastNs = 0;
    auto count = [&](NodeId node) {
      if (node != noNode && problem.isCollective(node))
        lastNs = std::max(lastNs, timeline.endNs[node]);
    };
    count(problem.buffer(buffer).producer);
    for (NodeId user : problem.users(buffer))
      count(user);
    return lastNs;
  }

  const Problem &problem;
  const Timeline &timeline;
  CachingAllocator allocator;
  /// By buffer; -1 if it has none.
  std::vector<CachingAllocator::BlockId> blocks;
  /// When the compute stream issues the next operation.
  int64_t nowNs = 0;
};

} // namespace

/// Whether no sum of the allocator overflows.
static bool fitsAllocator(const Problem &problem) {
  int64_t left = std::numeric_limits<int64_t>::max();
  for (BufferId id = 0; id < problem.numBuffers(); ++id) {
    int64_t bytes = problem.buffer(id).bytes;
    if (bytes > left - CachingAllocator::maxExcessBytes)
      return false;
    left -= bytes + CachingAllocator::maxExcessBytes;
  }
  return true;
}

Result<ReservedMemory> schedule::replayAllocations(const Problem &problem,
                                                   const Order &order,
                                                   const Timeline &timeline,
                                                   SegmentKind kind) {
  Result<Positions> positions = invert(problem, order);
  if (!positions)
    return Error{positions.error()};
  if (!fitsAllocator(problem))
    return Error{"the sizes of buffers, rounded up to whole segments, do not "
                 "fit 64 bits"};
  Replay replay(problem, timeline, kind);
  for (BufferId id = 0; id < problem.numBuffers(); ++id)
    if (problem.buffer(id).producer == noNode)
      replay.allocate(id);
  LiveBytes live(problem);
  int64_t peakBytes = live.bytes();
  for (NodeId node : order) {
    for (BufferId id : problem.buffersMadeBy(node))
      replay.allocate(id);
    replay.pass(node);
    int64_t liveBytes = live.issue(node, [&](BufferId id) { replay.free(id); });
    peakBytes = std::max(peakBytes, liveBytes);
  }
  return ReservedMemory{replay.reservedBytes(),
                        replay.reservedBytes() - peakBytes};
}
