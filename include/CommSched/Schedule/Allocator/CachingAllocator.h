//===- CachingAllocator.h - Model of PyTorch's allocator --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A model of PyTorch's caching allocator for device memory, for blocks that one
// stream allocates. It follows c10/cuda/CUDACachingAllocator.cpp and
// c10/core/AllocatorConfig.h of PyTorch 2.13 with default settings:
// docs/guide/allocator.md lists the rules, and what is left out.
//
// Replays the allocations and frees of an order with the model of PyTorch's
// caching allocator.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_SCHEDULE_ALLOCATOR_CACHINGALLOCATOR_H
#define COMMSCHED_SCHEDULE_ALLOCATOR_CACHINGALLOCATOR_H

#include "CommSched/Schedule/Model/Simulator.h"

#include <array>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

namespace mlir::commsched::schedule {

/// How the allocator gets memory from the device.
enum class SegmentKind : uint8_t {
  /// In segments that keep their size (`cudaMalloc`).
  Fixed,
  /// In one segment a pool that grows by pages (`expandable_segments:True`).
  Expandable,
};

/// Sizes in bytes, named as what they are of.
struct AllocatorSizes {
  /// Every request is rounded up to a multiple.
  static constexpr int64_t granule = 512;
  /// The largest request of the pool of small blocks.
  static constexpr int64_t largestSmall = int64_t(1) << 20;
  /// The segments, and the pages of an expandable segment, of that pool.
  static constexpr int64_t smallSegment = int64_t(2) << 20;
  /// The segments for other requests below `leastOwnSegment`, and the pages of
  /// an expandable segment.
  static constexpr int64_t largeSegment = int64_t(20) << 20;
  /// Requests from here on get segments of their own size, rounded up to a
  /// multiple of `segmentGranule`.
  static constexpr int64_t leastOwnSegment = int64_t(10) << 20;
  static constexpr int64_t segmentGranule = int64_t(2) << 20;
};

/// The state of the allocator. Segments are never given back to the device, as
/// long as it has memory that is also what PyTorch does. Deterministic.
class CachingAllocator {
public:
  using BlockId = int32_t;

  explicit CachingAllocator(SegmentKind kind) : kind(kind) {}

  /// Allocates `bytes` > 0 at the time `nowNs`. The block is at the lowest
  /// address of the smallest free ones that are large enough, or in new memory.
  /// The sum of all requests, plus `maxExcessBytes` for each, fits 64 bits.
  /// O(log blocks), amortized.
  BlockId allocate(int64_t bytes, int64_t nowNs);

  /// By how much the reserved bytes may grow beyond the bytes of a request.
  static constexpr int64_t maxExcessBytes =
      AllocatorSizes::largeSegment + AllocatorSizes::segmentGranule;

  /// Frees `block`, which is allocated and which no other stream uses.
  /// O(log blocks).
  void free(BlockId block) { release(block); }
  /// Frees `block`, which is allocated. Other streams use it until
  /// `usedUntilNs` (PyTorch: `record_stream`), so that it stays active until
  /// the first allocation at that time or later. O(log blocks).
  void freeAfter(BlockId block, int64_t usedUntilNs) {
    inUse.insert({usedUntilNs, block});
  }

  /// The bytes that the allocator has got from the device.
  int64_t reservedBytes() const { return reserved; }
  /// Where the block begins, from the first segment of its pool on. Later
  /// segments have larger addresses.
  int64_t address(BlockId block) const { return blocks[block].address; }

private:
  static constexpr BlockId none = -1;

  struct Block {
    int64_t address;
    int64_t bytes;
    /// The neighbors in the segment.
    BlockId previous;
    BlockId next;
    bool isSmall;
    bool isFree;
  };
  /// The place of a free block among those of its pool.
  struct FreeBlock {
    int64_t bytes;
    int64_t address;
    BlockId block;
    bool operator<(const FreeBlock &other) const {
      return bytes != other.bytes ? bytes < other.bytes
                                  : address < other.address;
    }
  };
  struct Pool {
    std::set<FreeBlock> free;
    /// The last block of the expandable segment.
    BlockId last = none;
    /// Of the next memory from the device.
    int64_t nextAddress = 0;
  };

  Pool &poolOf(bool isSmall) { return pools[isSmall]; }
  bool isExpandable() const { return kind == SegmentKind::Expandable; }
  FreeBlock placeOf(BlockId block) const {
    return {blocks[block].bytes, blocks[block].address, block};
  }
  BlockId makeBlock(const Block &block);
  BlockId findFree(bool isSmall, int64_t bytes);
  BlockId reserveBlock(bool isSmall, int64_t bytes);
  BlockId growSegment(bool isSmall, int64_t bytes);
  bool leavesUsefulRest(BlockId block, int64_t bytes) const;
  void split(BlockId block, int64_t bytes);
  void mergeWithNext(BlockId left);
  void release(BlockId block);

  SegmentKind kind;
  /// [1]: of small blocks.
  std::array<Pool, 2> pools;
  std::vector<Block> blocks;
  /// Indices of `blocks` that are not used.
  std::vector<BlockId> unused;
  /// Freed blocks that other streams still use, by the time until when.
  std::set<std::pair<int64_t, BlockId>> inUse;
  int64_t reserved = 0;
};

/// What the allocator takes from the device for an order.
struct ReservedMemory {
  /// In all: segments are not given back.
  int64_t reservedBytes = 0;
  /// The part of it that is not live at the peak of live bytes: what rounding,
  /// segments that are not full, and gaps between blocks cost.
  int64_t fragmentationBytes = 0;
};

/// Replays `order` in an allocator that has nothing reserved. Buffers that are
/// live from the start come first, in the order of their indices; then every
/// operation allocates its buffers in that order when the compute stream issues
/// it, and frees those that simulateMemory() frees. What a collective uses is
/// free for others when it has ended by `timeline`, that of the order. Buffers
/// of no bytes take nothing.
///
/// Error: as simulateMemory(), or the sizes do not fit 64 bits once they are
/// rounded. O((nodes + buffers) * log buffers + uses).
Result<ReservedMemory> replayAllocations(const Problem &problem,
                                         const Order &order,
                                         const Timeline &timeline,
                                         SegmentKind kind);

} // namespace mlir::commsched::schedule

#endif // COMMSCHED_SCHEDULE_ALLOCATOR_CACHINGALLOCATOR_H
