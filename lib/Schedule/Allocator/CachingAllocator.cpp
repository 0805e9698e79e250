//===- CachingAllocator.cpp - Model of PyTorch's allocator ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/Schedule/Allocator/CachingAllocator.h"

#include "../Model/RunState.h"
#include "CommSched/Schedule/Model/Verify.h"
#include <algorithm>
#include <cassert>
#include <iterator>
#include <limits>

using namespace mlir::commsched::schedule;
using namespace mlir::commsched;

using Sizes = AllocatorSizes;

static int64_t roundUp(int64_t bytes, int64_t multiple) {
  return (bytes + multiple - 1) / multiple * multiple;
}

CachingAllocator::BlockId CachingAllocator::makeBlock(const Block &block) {
  if (unused.empty()) {
    blocks.push_back(block);
    return static_cast<BlockId>(blocks.size()) - 1;
  }
  BlockId id = unused.back();
  unused.pop_back();
  blocks[id] = block;
  return id;
}

/// Takes the free block that fits best out of its pool; `none` if none fits.
CachingAllocator::BlockId CachingAllocator::findFree(bool isSmall,
                                                     int64_t bytes) {
  Pool &pool = poolOf(isSmall);
  auto it =
      pool.free.lower_bound({bytes, std::numeric_limits<int64_t>::min(), none});
  if (it == pool.free.end())
    return none;
  // The last block of an expandable segment counts as one of all the memory
  // that it can grow to, so another block that fits is preferred.
  if (isExpandable() && it->block == pool.last &&
      std::next(it) != pool.free.end())
    ++it;
  BlockId block = it->block;
  pool.free.erase(it);
  return block;
}

/// Makes the last block of an expandable segment, or a new one behind it, one
/// of at least `bytes` that is not in the pool.
CachingAllocator::BlockId CachingAllocator::growSegment(bool isSmall,
                                                        int64_t bytes) {
  Pool &pool = poolOf(isSmall);
  int64_t page = isSmall ? Sizes::smallSegment : Sizes::largeSegment;
  BlockId block = pool.last;
  if (block != none && blocks[block].isFree) {
    pool.free.erase(placeOf(block));
  } else {
    block = makeBlock(
        {pool.nextAddress, 0, pool.last, none, isSmall, /*isFree=*/true});
    if (pool.last != none)
      blocks[pool.last].next = block;
    pool.last = block;
  }
  int64_t grown = roundUp(bytes - blocks[block].bytes, page);
  blocks[block].bytes += grown;
  pool.nextAddress += grown;
  reserved += grown;
  return block;
}

/// Gets a block of at least `bytes` from the device, which is not in the pool.
CachingAllocator::BlockId CachingAllocator::reserveBlock(bool isSmall,
                                                         int64_t bytes) {
  if (isExpandable())
    return growSegment(isSmall, bytes);
  int64_t segment = isSmall ? Sizes::smallSegment
                    : bytes < Sizes::leastOwnSegment
                        ? Sizes::largeSegment
                        : roundUp(bytes, Sizes::segmentGranule);
  Pool &pool = poolOf(isSmall);
  BlockId block = makeBlock(
      {pool.nextAddress, segment, none, none, isSmall, /*isFree=*/true});
  pool.nextAddress += segment;
  reserved += segment;
  return block;
}

/// Whether what `block` has beyond `bytes` becomes a block of its own.
bool CachingAllocator::leavesUsefulRest(BlockId block, int64_t bytes) const {
  int64_t rest = blocks[block].bytes - bytes;
  return blocks[block].isSmall || isExpandable() ? rest >= Sizes::granule
                                                 : rest > Sizes::largestSmall;
}

/// Makes what `block` has beyond `bytes` a free block of its own.
void CachingAllocator::split(BlockId block, int64_t bytes) {
  Block left = blocks[block];
  BlockId rest = makeBlock({left.address + bytes, left.bytes - bytes, block,
                            left.next, left.isSmall, /*isFree=*/true});
  if (left.next != none)
    blocks[left.next].previous = rest;
  blocks[block].next = rest;
  blocks[block].bytes = bytes;
  Pool &pool = poolOf(left.isSmall);
  if (pool.last == block)
    pool.last = rest;
  pool.free.insert(placeOf(rest));
}

/// Makes `left` and the block behind it one. Neither is in the pool.
void CachingAllocator::mergeWithNext(BlockId left) {
  BlockId right = blocks[left].next;
  Block &merged = blocks[left];
  merged.bytes += blocks[right].bytes;
  merged.next = blocks[right].next;
  if (merged.next != none)
    blocks[merged.next].previous = left;
  Pool &pool = poolOf(merged.isSmall);
  if (pool.last == right)
    pool.last = left;
  unused.push_back(right);
}

CachingAllocator::BlockId CachingAllocator::allocate(int64_t bytes,
                                                     int64_t nowNs) {
  assert(bytes > 0 && "PyTorch allocates nothing for empty tensors");
  while (!inUse.empty() && inUse.begin()->first <= nowNs) {
    BlockId block = inUse.begin()->second;
    inUse.erase(inUse.begin());
    release(block);
  }
  int64_t rounded = roundUp(bytes, Sizes::granule);
  bool isSmall = rounded <= Sizes::largestSmall;
  BlockId block = findFree(isSmall, rounded);
  if (block == none)
    block = reserveBlock(isSmall, rounded);
  if (leavesUsefulRest(block, rounded))
    split(block, rounded);
  blocks[block].isFree = false;
  return block;
}

void CachingAllocator::release(BlockId block) {
  assert(!blocks[block].isFree && "the block is free already");
  blocks[block].isFree = true;
  Pool &pool = poolOf(blocks[block].isSmall);
  BlockId next = blocks[block].next;
  if (next != none && blocks[next].isFree) {
    pool.free.erase(placeOf(next));
    mergeWithNext(block);
  }
  BlockId previous = blocks[block].previous;
  if (previous != none && blocks[previous].isFree) {
    pool.free.erase(placeOf(previous));
    mergeWithNext(previous);
    block = previous;
  }
  pool.free.insert(placeOf(block));
}

//===----------------------------------------------------------------------===//
// Replay of an order
//===----------------------------------------------------------------------===//

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
