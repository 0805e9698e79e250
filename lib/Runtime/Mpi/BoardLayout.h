//===- BoardLayout.h - What the board holds ---------------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The memory that the processes of a node share, in which each has one
// RankBoard: it alone writes there, the others read.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_RUNTIME_MPI_BOARDLAYOUT_H
#define COMMSCHED_RUNTIME_MPI_BOARDLAYOUT_H

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <string>
#include <sys/types.h>

namespace commsched::runtime::mpi {

/// Groups beyond are not on the board; their timeouts tell less.
inline constexpr int32_t maxGroups = 256;
/// How far two ranks may be apart for their collectives to be compared.
inline constexpr int64_t numRecent = 8;

/// A text in shared memory, cut to its place. A reader may see parts of two
/// texts while it is written, but nothing worse.
template <size_t Bytes> class SharedText {
public:
  void set(const std::string &text) {
    char buffer[Bytes] = {};
    size_t length = std::min(text.size(), Bytes - 1);
    // Not within a character of several bytes.
    while (length > 0 && length < text.size() &&
           (static_cast<unsigned char>(text[length]) & 0xc0) == 0x80)
      --length;
    std::memcpy(buffer, text.data(), length);
    for (size_t i = 0; i != numWords; ++i) {
      uint64_t word;
      std::memcpy(&word, buffer + i * sizeof(word), sizeof(word));
      words[i].store(word, std::memory_order_relaxed);
    }
  }

  std::string get() const {
    char buffer[Bytes + 1] = {};
    for (size_t i = 0; i != numWords; ++i) {
      uint64_t word = words[i].load(std::memory_order_relaxed);
      std::memcpy(buffer + i * sizeof(word), &word, sizeof(word));
    }
    return buffer;
  }

private:
  static constexpr size_t numWords = Bytes / sizeof(uint64_t);
  std::atomic<uint64_t> words[numWords] = {};
};

/// One collective that a rank has started.
struct CollectiveBoard {
  /// The low halves of its number + 1 and of its site.
  std::atomic<uint64_t> identity{0};
  SharedText<56> site;
};

/// What a rank has started on one group.
struct GroupBoard {
  SharedText<104> last;
  std::atomic<int64_t> numCollectives{0};
  CollectiveBoard recent[numRecent];
};

struct RankBoard {
  std::atomic<int32_t> hasFailed{0};
  std::atomic<int32_t> hasReported{0};
  std::atomic<pid_t> process{0};
  std::atomic<int64_t> numMeetings{0};
  SharedText<256> text;
  GroupBoard groups[maxGroups];
};

// Only atomics without locks work between processes.
static_assert(std::atomic<uint64_t>::is_always_lock_free &&
              std::atomic<int32_t>::is_always_lock_free);

/// Whether the board has a place for the group.
inline bool isOnBoard(int32_t group) { return group < maxGroups; }

} // namespace commsched::runtime::mpi

#endif // COMMSCHED_RUNTIME_MPI_BOARDLAYOUT_H
