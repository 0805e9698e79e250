//===- ReferenceAllocator.h - Slow model of PyTorch's allocator -*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The rules of docs/guide/allocator.md over plain lists of blocks, each search
// a loop over all of them.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_UNITTESTS_SCHEDULE_REFERENCEALLOCATOR_H
#define COMMSCHED_UNITTESTS_SCHEDULE_REFERENCEALLOCATOR_H

#include "CommSched/Schedule/Allocator/CachingAllocator.h"

#include <cstdint>
#include <vector>

namespace mlir::commsched::schedule::testing {

class ReferenceAllocator {
public:
  static constexpr int64_t mib = int64_t(1) << 20;

  explicit ReferenceAllocator(bool isExpandable) : isExpandable(isExpandable) {}

  /// Returns the address in the pool; `tag` names the block.
  int64_t allocate(int32_t tag, int64_t bytes, int64_t nowNs) {
    for (Segment &segment : segments)
      for (Block &block : segment.blocks)
        if (block.state == State::Draining && block.untilNs <= nowNs)
          block.state = State::Free;
    for (Segment &segment : segments)
      merge(segment);
    int64_t size = (bytes + 511) / 512 * 512;
    bool isSmall = size <= mib;
    Place place = findBest(isSmall, size);
    if (place.segment < 0)
      place = reserve(isSmall, size);
    return take(place, tag, size);
  }

  void free(int32_t tag, int64_t untilNs) {
    for (Segment &segment : segments)
      for (Block &block : segment.blocks)
        if (block.state == State::Used && block.tag == tag) {
          block.state = untilNs < 0 ? State::Free : State::Draining;
          block.untilNs = untilNs;
        }
    for (Segment &segment : segments)
      merge(segment);
  }

  int64_t reservedBytes() const {
    int64_t sum = 0;
    for (const Segment &segment : segments)
      for (const Block &block : segment.blocks)
        sum += block.bytes;
    return sum;
  }
  int64_t activeBytes() const {
    int64_t sum = 0;
    for (const Segment &segment : segments)
      for (const Block &block : segment.blocks)
        sum += block.state == State::Free ? 0 : block.bytes;
    return sum;
  }

private:
  enum class State { Free, Used, Draining };
  struct Block {
    int64_t bytes;
    State state;
    int32_t tag;
    int64_t untilNs;
  };
  struct Segment {
    bool isSmall;
    int64_t address;
    std::vector<Block> blocks;
  };
  struct Place {
    int32_t segment = -1;
    size_t block = 0;
  };

  static void merge(Segment &segment) {
    std::vector<Block> merged;
    for (const Block &block : segment.blocks)
      if (!merged.empty() && block.state == State::Free &&
          merged.back().state == State::Free)
        merged.back().bytes += block.bytes;
      else
        merged.push_back(block);
    segment.blocks = std::move(merged);
  }

  /// What counts as the size of a block: the last of an expandable segment can
  /// grow to any size.
  int64_t effectiveBytes(const Segment &segment, size_t block) const {
    bool canGrow = isExpandable && block + 1 == segment.blocks.size();
    return canGrow ? int64_t(1) << 60 : segment.blocks[block].bytes;
  }

  Place findBest(bool isSmall, int64_t size) const {
    Place best;
    int64_t bestBytes = 0;
    // In order of addresses, so that the first of equal ones stays.
    for (size_t i = 0; i < segments.size(); ++i)
      for (size_t j = 0; j < segments[i].blocks.size(); ++j) {
        const Block &block = segments[i].blocks[j];
        if (segments[i].isSmall != isSmall || block.state != State::Free ||
            block.bytes < size)
          continue;
        int64_t bytes = effectiveBytes(segments[i], j);
        if (best.segment >= 0 && bytes >= bestBytes)
          continue;
        best = {static_cast<int32_t>(i), j};
        bestBytes = bytes;
      }
    return best;
  }

  Place reserve(bool isSmall, int64_t size) {
    if (!isExpandable) {
      int64_t bytes = isSmall ? 2 * mib
                      : size < 10 * mib
                          ? 20 * mib
                          : (size + 2 * mib - 1) / (2 * mib) * 2 * mib;
      int64_t address = 0;
      for (const Segment &segment : segments)
        if (segment.isSmall == isSmall)
          for (const Block &block : segment.blocks)
            address += block.bytes;
      segments.push_back({isSmall, address, {{bytes, State::Free, -1, 0}}});
      return {static_cast<int32_t>(segments.size()) - 1, 0};
    }
    int32_t index = -1;
    for (size_t i = 0; i < segments.size(); ++i)
      if (segments[i].isSmall == isSmall)
        index = static_cast<int32_t>(i);
    if (index < 0) {
      index = static_cast<int32_t>(segments.size());
      segments.push_back({isSmall, 0, {}});
    }
    std::vector<Block> &blocks = segments[index].blocks;
    if (blocks.empty() || blocks.back().state != State::Free)
      blocks.push_back({0, State::Free, -1, 0});
    while (blocks.back().bytes < size)
      blocks.back().bytes += isSmall ? 2 * mib : 20 * mib;
    return {index, blocks.size() - 1};
  }

  int64_t take(Place place, int32_t tag, int64_t size) {
    Segment &segment = segments[place.segment];
    int64_t address = segment.address;
    for (size_t j = 0; j < place.block; ++j)
      address += segment.blocks[j].bytes;
    int64_t rest = segment.blocks[place.block].bytes - size;
    bool isSplit = segment.isSmall || isExpandable ? rest >= 512 : rest > mib;
    segment.blocks[place.block].state = State::Used;
    segment.blocks[place.block].tag = tag;
    if (isSplit) {
      segment.blocks[place.block].bytes = size;
      segment.blocks.insert(segment.blocks.begin() + place.block + 1,
                            {rest, State::Free, -1, 0});
    }
    return address;
  }

  bool isExpandable;
  std::vector<Segment> segments;
};

} // namespace mlir::commsched::schedule::testing

#endif // COMMSCHED_UNITTESTS_SCHEDULE_REFERENCEALLOCATOR_H
