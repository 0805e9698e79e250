//===- Arena.h - Buffers of a rank ------------------------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Keeps freed blocks and hands them out again: a backend's own allocation may
// be slow or wait for the device. A freed block may be given out at once, since
// programs release buffers in the order of the compute stream.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_RUNTIME_CORE_ARENA_H
#define COMMSCHED_RUNTIME_CORE_ARENA_H

#include "CommSched/Runtime/Backend.h"

#include <map>
#include <unordered_map>

namespace commsched::runtime {

class Arena {
public:
  /// With `isHost`, of memory of the host.
  explicit Arena(Backend &backend, bool isHost = false)
      : backend(backend), isHost(isHost) {}
  Arena(const Arena &) = delete;
  Arena &operator=(const Arena &) = delete;
  ~Arena() { releaseAll(); }

  /// Null and an error when `bytes` is negative, `alignment` no power of two,
  /// or there is no memory left even after giving back what is cached. Zero
  /// bytes give a block, too.
  void *allocate(int64_t bytes, int64_t alignment, Status &status);
  /// An error when the block is not one of this arena's live ones.
  Status release(void *block);
  /// Whether the block is one of this arena's live ones.
  bool owns(void *block) const { return live.count(block) != 0; }

  /// The bytes that callers requested.
  int64_t getLiveBytes() const { return liveBytes; }
  int64_t getPeakBytes() const { return peakBytes; }
  void resetPeak() { peakBytes = liveBytes; }

  /// Gives everything back to the backend, live blocks included.
  void releaseAll();

  /// Blocks are of these sizes only: at most a quarter larger than asked for.
  static int64_t roundUp(int64_t bytes);

private:
  /// Bytes of a block, and its alignment.
  using Class = std::pair<int64_t, int64_t>;
  struct Block {
    Class sizeClass;
    int64_t bytes = 0;
  };

  void *allocateBlock(Class sizeClass, Status &status);
  void releaseCached();

  Backend &backend;
  bool isHost;
  std::unordered_map<void *, Block> live;
  std::map<Class, std::vector<void *>> cached;
  int64_t liveBytes = 0;
  int64_t peakBytes = 0;
};

} // namespace commsched::runtime

#endif // COMMSCHED_RUNTIME_CORE_ARENA_H
