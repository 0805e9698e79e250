//===- Arena.cpp - Buffers of a rank ----------------------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Core/Rank.h"

#include <algorithm>

using namespace commsched::runtime;

static constexpr int64_t leastBytes = 64;
/// Larger requests are mistakes, and could not be rounded up.
static constexpr int64_t mostBytes = int64_t(1) << 60;

int64_t Arena::roundUp(int64_t bytes) {
  if (bytes <= leastBytes)
    return leastBytes;
  // Four sizes for each power of two, multiples of 64 bytes.
  int64_t power = leastBytes;
  while (power * 2 < bytes)
    power *= 2;
  int64_t step = std::max(power / 4, leastBytes);
  return (bytes + step - 1) / step * step;
}

void *Arena::allocateBlock(Class sizeClass, Status &status) {
  auto [bytes, alignment] = sizeClass;
  return isHost ? backend.allocateHost(bytes, alignment, status)
                : backend.allocate(bytes, alignment, status);
}

void *Arena::allocate(int64_t bytes, int64_t alignment, Status &status) {
  if (bytes < 0 || bytes > mostBytes) {
    status = concat("cannot allocate ", bytes, " bytes");
    return nullptr;
  }
  if (alignment < 0 || (alignment & (alignment - 1)) != 0) {
    status = concat("an alignment of ", alignment, " is no power of two");
    return nullptr;
  }
  Class sizeClass(roundUp(bytes), std::max(alignment, leastBytes));
  void *pointer = nullptr;
  std::vector<void *> &blocks = cached[sizeClass];
  if (!blocks.empty()) {
    pointer = blocks.back();
    blocks.pop_back();
  } else {
    pointer = allocateBlock(sizeClass, status);
    if (!pointer) {
      // Cached blocks of other sizes may make room.
      releaseCached();
      status = Status();
      pointer = allocateBlock(sizeClass, status);
    }
    if (!pointer) {
      status = concat("cannot allocate ", bytes, " bytes",
                      isHost ? " of host memory" : "", " with ", liveBytes,
                      " in use", status ? "" : ": " + status.getMessage());
      return nullptr;
    }
  }
  live[pointer] = {sizeClass, bytes};
  liveBytes += bytes;
  peakBytes = std::max(peakBytes, liveBytes);
  return pointer;
}

Status Arena::release(void *block) {
  auto found = live.find(block);
  if (found == live.end())
    return "released a buffer that is not allocated";
  liveBytes -= found->second.bytes;
  cached[found->second.sizeClass].push_back(block);
  live.erase(found);
  return Status();
}

void Arena::releaseCached() {
  for (auto &[sizeClass, blocks] : cached) {
    for (void *block : blocks)
      backend.release(block);
    blocks.clear();
  }
}

void Arena::releaseAll() {
  releaseCached();
  for (const auto &[block, info] : live)
    backend.release(block);
  live.clear();
  liveBytes = 0;
}
