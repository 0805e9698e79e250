//===- RuntimeBuffers.cpp - Buffers, for C and for MLIR ---------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Core/Call.h"

#include <cstdio>
#include <cstdlib>

using namespace commsched::runtime;

void *commsched_allocate(int64_t bytes, int64_t alignment) {
  // Behind an error, too: programs run to their end and write what they
  // allocate.
  void *buffer = nullptr;
  callRank(
      "commsched_allocate",
      [&](Rank &rank) {
        Error error;
        if (Arena *arena = rank.getArena()) {
          buffer = arena->allocate(bytes, alignment, error);
          rank.count("allocations", 1);
        }
        return error;
      },
      /*evenIfFailed=*/true);
  return buffer;
}

void commsched_release(void *buffer) {
  if (!buffer)
    return;
  callRank(
      "commsched_release",
      [&](Rank &rank) {
        return rank.getArena() ? rank.getArena()->release(buffer) : Error();
      },
      /*evenIfFailed=*/true);
}

/// Whether bytes can be copied between the two.
static Error checkTransfer(const char *what, const void *buffer,
                           const void *host, int64_t bytes) {
  if (bytes < 0 || (bytes > 0 && (!buffer || !host)))
    return std::string("cannot ") + what + " " + std::to_string(bytes) +
           " bytes" + (bytes < 0 ? "" : ": a pointer is null");
  return std::nullopt;
}

int32_t commsched_upload(void *buffer, const void *host, int64_t bytes) {
  bool ok = callRank("commsched_upload", [&](Rank &rank) -> Error {
    if (Error error = checkTransfer("upload", buffer, host, bytes))
      return error;
    return bytes == 0 ? Error()
                      : rank.getBackend()->upload(buffer, host, bytes);
  });
  return ok ? 0 : 1;
}

int32_t commsched_download(void *host, const void *buffer, int64_t bytes) {
  bool ok = callRank("commsched_download", [&](Rank &rank) -> Error {
    if (Error error = checkTransfer("download", buffer, host, bytes))
      return error;
    return bytes == 0 ? Error()
                      : rank.getBackend()->download(host, buffer, bytes);
  });
  return ok ? 0 : 1;
}

int64_t commsched_allocated_bytes(void) {
  Rank *rank = getCurrentRank("commsched_allocated_bytes");
  return rank && rank->getArena() ? rank->getArena()->getLiveBytes() : 0;
}

int64_t commsched_peak_bytes(void) {
  Rank *rank = getCurrentRank("commsched_peak_bytes");
  return rank && rank->getArena() ? rank->getArena()->getPeakBytes() : 0;
}

void commsched_reset_peak(void) {
  Rank *rank = getCurrentRank("commsched_reset_peak");
  if (rank && rank->getArena())
    rank->getArena()->resetPeak();
}

// MLIR's names for allocations of programs that are lowered with generic
// allocation functions. Such programs use what they get without asking, so
// there is nothing left but to end the process, in words.

static void *allocateOrExit(uint64_t bytes, uint64_t alignment) {
  if (void *buffer = commsched_allocate(static_cast<int64_t>(bytes),
                                        static_cast<int64_t>(alignment)))
    return buffer;
  std::fprintf(stderr, "error: %s\n", commsched_last_error());
  std::fflush(stderr);
  std::_Exit(1);
}

extern "C" {
COMMSCHED_RUNTIME_API void *_mlir_memref_to_llvm_alloc(uint64_t size) {
  return allocateOrExit(size, 0);
}

COMMSCHED_RUNTIME_API void *
_mlir_memref_to_llvm_aligned_alloc(uint64_t alignment, uint64_t size) {
  return allocateOrExit(size, alignment);
}

COMMSCHED_RUNTIME_API void _mlir_memref_to_llvm_free(void *pointer) {
  commsched_release(pointer);
}
}
