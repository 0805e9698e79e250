//===- Runtime.cpp - The C interface of the runtime -----------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each function of Runtime.h finds the rank of the calling thread, returns at
// once after an error, and calls the method of `Rank`. No exception leaves
// these functions.
//
//===----------------------------------------------------------------------===//

#include "Core/Launcher.h"
#include "Core/Rank.h"
#include "Numerics/ElementTypes.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>

using namespace commsched::runtime;

//===----------------------------------------------------------------------===//
// The rank of a thread
//===----------------------------------------------------------------------===//

/// The rank of this thread; after commsched_finalize only its error is left.
static thread_local std::unique_ptr<Rank> currentRank;
static thread_local std::string lastError;

/// Returns the rank of the calling thread. Without one, returns null and keeps
/// an error for commsched_last_error.
static Rank *getCurrentRank(const char *function) {
  if (currentRank)
    return currentRank.get();
  if (lastError.empty())
    lastError = std::string(function) + " outside of commsched_init and "
                                        "commsched_finalize";
  return nullptr;
}

/// Runs `body(rank)`, which returns a Status, and keeps its error in the rank.
/// Returns 0 if it succeeded, otherwise 1. After an earlier error the body runs
/// only with `evenIfFailed`.
template <class Body>
static int32_t callRank(const char *function, Body &&body,
                        bool evenIfFailed = false) {
  Rank *rank = getCurrentRank(function);
  if (!rank || (rank->hasFailed() && !evenIfFailed))
    return 1;
  Status status;
  try {
    status = body(*rank);
  } catch (const std::exception &exception) {
    status = std::string(function) + ": " + exception.what();
  }
  if (!status)
    rank->fail(status.getMessage());
  return status ? 0 : 1;
}

//===----------------------------------------------------------------------===//
// Types and launchers
//===----------------------------------------------------------------------===//

const char *commsched_type_name(commsched_type type) {
  return isType(type) ? getName(type) : nullptr;
}

int64_t commsched_type_bytes(commsched_type type) {
  return isType(type) ? getByteSize(type) : 0;
}

int32_t commsched_find_launcher(const char *backend,
                                commsched_launcher *launcher) {
  std::optional<commsched_launcher> found;
  if (Status status = findLauncher(backend ? backend : "", found); !status) {
    lastError = status.getMessage();
    return -1;
  }
  if (!found)
    return 0;
  *launcher = *found;
  return 1;
}

//===----------------------------------------------------------------------===//
// Joining and leaving
//===----------------------------------------------------------------------===//

void commsched_default_options(commsched_options *options) {
  *options = {};
  options->backend = "local";
  options->rank = -1;
  options->num_ranks = -1;
  options->job = "default";
  options->deadline_ms = 60000;
  options->check_buffers = 1;
}

int32_t commsched_init(const commsched_options *options) {
  if (currentRank) {
    currentRank->fail("commsched_init on a thread that is a rank already");
    return 1;
  }
  lastError.clear();
  currentRank = std::make_unique<Rank>();
  return callRank("commsched_init",
                  [&](Rank &rank) { return rank.join(*options); });
}

int32_t commsched_finalize(void) {
  Rank *rank = getCurrentRank("commsched_finalize");
  if (!rank)
    return 1;
  callRank(
      "commsched_finalize",
      [](Rank &rank) {
        rank.leave();
        return rank.getStatus();
      },
      /*evenIfFailed=*/true);
  lastError = rank->hasFailed() ? rank->getStatus().getMessage() : "";
  currentRank.reset();
  return lastError.empty() ? 0 : 1;
}

const char *commsched_last_error(void) {
  if (currentRank)
    return currentRank->hasFailed()
               ? currentRank->getStatus().getMessage().c_str()
               : "";
  return lastError.c_str();
}

void commsched_fail(const char *text) {
  if (Rank *rank = getCurrentRank("commsched_fail"))
    rank->fail(text ? text : "");
}

int32_t commsched_rank(void) {
  Rank *rank = getCurrentRank("commsched_rank");
  return rank && rank->getBackend() ? rank->getBackend()->getRank() : -1;
}

int32_t commsched_num_ranks(void) {
  Rank *rank = getCurrentRank("commsched_num_ranks");
  return rank && rank->getBackend() ? rank->getBackend()->getNumRanks() : -1;
}

const char *commsched_backend_name(void) {
  return currentRank ? currentRank->getBackendName().c_str() : "";
}

int32_t commsched_load_program(const char *json) {
  return callRank("commsched_load_program",
                  [&](Rank &rank) { return rank.load(json); });
}

int64_t commsched_counter(const char *name) {
  Rank *rank = getCurrentRank("commsched_counter");
  return rank && name ? rank->getCounter(name) : 0;
}

//===----------------------------------------------------------------------===//
// Calls of lowered programs
//===----------------------------------------------------------------------===//

int64_t commsched_start(int32_t site, const void *const *inputs,
                        void *const *outputs) {
  int64_t request = 0;
  int32_t code = callRank("commsched_start", [&](Rank &rank) {
    return rank.start(site, inputs, outputs, request);
  });
  return code == 0 ? request : 0;
}

int64_t commsched_start_uneven(int32_t site, const void *const *inputs,
                               void *const *outputs, int64_t inputRows,
                               const int64_t *inputSplits, int64_t outputRows,
                               const int64_t *outputSplits) {
  int64_t request = 0;
  int32_t code = callRank("commsched_start_uneven", [&](Rank &rank) {
    return rank.startUneven(site, inputs, outputs, {inputRows, inputSplits},
                            {outputRows, outputSplits}, request);
  });
  return code == 0 ? request : 0;
}

int64_t commsched_read_splits(int32_t site, int32_t output, const void *buffer,
                              int64_t *splits, int32_t numSplits) {
  // Behind an error, too: programs run to their end, and their code on the
  // processor works on as many rows as these numbers say.
  std::fill(splits, splits + numSplits, 0);
  int64_t rows = 0;
  callRank(
      "commsched_read_splits",
      [&](Rank &rank) {
        return rank.readSplits(site, output ? "output" : "input", buffer,
                               splits, numSplits, rows);
      },
      /*evenIfFailed=*/true);
  return rows;
}

int32_t commsched_wait(int64_t request) {
  return callRank("commsched_wait", [&](Rank &rank) {
    return request == 0 ? Status() : rank.wait(request);
  });
}

int64_t commsched_hold(int64_t request, int32_t numSent, void *const *sent,
                       int32_t numReceived, void *const *received) {
  int64_t number = 0;
  // Behind an error, too: programs run to their end and use the buffers.
  callRank(
      "commsched_hold",
      [&](Rank &rank) {
        number = rank.hold({request,
                            {sent, sent + numSent},
                            {received, received + numReceived}});
        return Status();
      },
      /*evenIfFailed=*/true);
  return number;
}

int32_t commsched_resume(int64_t number, int32_t numReceived,
                         const int64_t *bytes, void **received) {
  HeldRequest held;
  int32_t code = callRank(
      "commsched_resume",
      [&](Rank &rank) { return rank.resume(number, numReceived, held); },
      /*evenIfFailed=*/true);
  for (void *buffer : held.sent)
    commsched_release(buffer);
  held.received.resize(numReceived);
  for (int32_t index = 0; index < numReceived; ++index)
    received[index] = held.received[index]
                          ? held.received[index]
                          : commsched_allocate(bytes[index], /*alignment=*/0);
  return code;
}

int32_t commsched_test(int64_t request) {
  bool done = true;
  int32_t code = callRank("commsched_test", [&](Rank &rank) {
    return request == 0 ? Status() : rank.test(request, done);
  });
  return code == 0 ? done : -1;
}

int32_t commsched_barrier(int32_t site) {
  return callRank("commsched_barrier",
                  [&](Rank &rank) { return rank.barrier(site); });
}

void commsched_poll(void) {
  callRank("commsched_poll",
           [](Rank &rank) { return rank.getBackend()->poll(); });
}

int64_t commsched_group_rank(int32_t group) {
  // Programs compute addresses from it, also behind an error.
  Rank *rank = getCurrentRank("commsched_group_rank");
  return rank ? rank->getGroupRank(group) : -1;
}

int32_t commsched_compute(int32_t index, int64_t ns, const void *const *inputs,
                          void *const *outputs) {
  return callRank("commsched_compute", [&](Rank &rank) {
    return rank.compute(index, ns, inputs, outputs);
  });
}

int32_t commsched_account(int32_t index, int64_t ns) {
  return callRank("commsched_account",
                  [&](Rank &rank) { return rank.account(index, ns); });
}

int32_t commsched_copy(void *target, int32_t targetType, int64_t targetStride,
                       const void *source, int32_t sourceType,
                       int64_t sourceStride, int64_t rows,
                       int64_t rowElements) {
  return callRank("commsched_copy", [&](Rank &rank) -> Status {
    StridedCopy copy;
    copy.target = target;
    copy.source = source;
    copy.targetStride = targetStride;
    copy.sourceStride = sourceStride;
    copy.rows = rows;
    copy.rowElements = rowElements;
    if (targetType != -1 || sourceType != -1) {
      for (int32_t type : {targetType, sourceType})
        if (!isType(type))
          return "cannot copy: " + std::to_string(type) + " is no type";
      copy.targetType = static_cast<commsched_type>(targetType);
      copy.sourceType = static_cast<commsched_type>(sourceType);
    }
    return rank.copy(copy);
  });
}

int32_t commsched_zero(void *target, int64_t bytes) {
  return callRank("commsched_zero", [&](Rank &rank) -> Status {
    if (bytes < 0 || (bytes > 0 && !target))
      return "cannot set " + std::to_string(bytes) + " bytes of " +
             (target ? "a buffer" : "null") + " to zero";
    return bytes == 0 ? Status() : rank.getBackend()->zero(target, bytes);
  });
}

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

/// Behind an error, too: programs run to their end and write what they
/// allocate.
static void *allocate(const char *function, Arena *(Rank::*getArena)(),
                      int64_t bytes, int64_t alignment) {
  void *buffer = nullptr;
  callRank(
      function,
      [&](Rank &rank) {
        Status status;
        if (Arena *arena = (rank.*getArena)()) {
          buffer = arena->allocate(bytes, alignment, status);
          rank.count("allocations", 1);
        }
        return status;
      },
      /*evenIfFailed=*/true);
  return buffer;
}

void *commsched_allocate(int64_t bytes, int64_t alignment) {
  return allocate("commsched_allocate", &Rank::getArena, bytes, alignment);
}

void *commsched_allocate_host(int64_t bytes, int64_t alignment) {
  return allocate("commsched_allocate_host", &Rank::getHostArena, bytes,
                  alignment);
}

void commsched_release(void *buffer) {
  if (!buffer)
    return;
  callRank(
      "commsched_release",
      [&](Rank &rank) {
        Arena *host = rank.getHostArena();
        if (host && host->owns(buffer))
          return host->release(buffer);
        return rank.getArena() ? rank.getArena()->release(buffer) : Status();
      },
      /*evenIfFailed=*/true);
}

/// Copies bytes between a buffer and the host.
template <class Transfer>
static int32_t moveBytes(const char *function, const char *what,
                         const void *buffer, const void *host, int64_t bytes,
                         Transfer &&transfer) {
  return callRank(function, [&](Rank &rank) -> Status {
    if (bytes < 0 || (bytes > 0 && (!buffer || !host)))
      return std::string("cannot ") + what + " " + std::to_string(bytes) +
             " bytes" + (bytes < 0 ? "" : ": a pointer is null");
    return bytes == 0 ? Status() : transfer(*rank.getBackend());
  });
}

int32_t commsched_upload(void *buffer, const void *host, int64_t bytes) {
  return moveBytes(
      "commsched_upload", "upload", buffer, host, bytes,
      [&](Backend &backend) { return backend.upload(buffer, host, bytes); });
}

int32_t commsched_download(void *host, const void *buffer, int64_t bytes) {
  return moveBytes(
      "commsched_download", "download", buffer, host, bytes,
      [&](Backend &backend) { return backend.download(host, buffer, bytes); });
}

/// What `get` says of an arena; 0 outside of commsched_init and
/// commsched_finalize.
static int64_t getBytes(const char *function, Arena *(Rank::*getArena)(),
                        int64_t (Arena::*get)() const) {
  Rank *rank = getCurrentRank(function);
  Arena *arena = rank ? (rank->*getArena)() : nullptr;
  return arena ? (arena->*get)() : 0;
}

int64_t commsched_allocated_bytes(void) {
  return getBytes("commsched_allocated_bytes", &Rank::getArena,
                  &Arena::getLiveBytes);
}

int64_t commsched_peak_bytes(void) {
  return getBytes("commsched_peak_bytes", &Rank::getArena,
                  &Arena::getPeakBytes);
}

int64_t commsched_host_bytes(void) {
  return getBytes("commsched_host_bytes", &Rank::getHostArena,
                  &Arena::getLiveBytes);
}

int64_t commsched_host_peak_bytes(void) {
  return getBytes("commsched_host_peak_bytes", &Rank::getHostArena,
                  &Arena::getPeakBytes);
}

void commsched_reset_peak(void) {
  Rank *rank = getCurrentRank("commsched_reset_peak");
  if (!rank || !rank->getArena())
    return;
  rank->getArena()->resetPeak();
  rank->getHostArena()->resetPeak();
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

//===----------------------------------------------------------------------===//
// Steps and their records
//===----------------------------------------------------------------------===//

int32_t commsched_begin_step(void) {
  return callRank("commsched_begin_step",
                  [](Rank &rank) { return rank.beginStep(); });
}

int64_t commsched_end_step(void) {
  int64_t ns = -1;
  int32_t code = callRank("commsched_end_step",
                          [&](Rank &rank) { return rank.endStep(ns); });
  return code == 0 ? ns : -1;
}

int64_t commsched_get_records(const commsched_record **records) {
  Rank *rank = getCurrentRank("commsched_get_records");
  *records = rank ? rank->getRecords().get().data() : nullptr;
  return rank ? static_cast<int64_t>(rank->getRecords().get().size()) : 0;
}

int32_t commsched_synchronize(void) {
  return callRank("commsched_synchronize", [](Rank &rank) {
    return rank.getBackend()->synchronize(rank.getDeadline());
  });
}

int32_t commsched_exchange(const void *mine, void *all, int64_t bytes) {
  return callRank("commsched_exchange", [&](Rank &rank) -> Status {
    if (bytes < 0)
      return "cannot exchange " + std::to_string(bytes) + " bytes";
    std::vector<std::string> texts;
    COMMSCHED_TRY(rank.exchange(
        std::string(static_cast<const char *>(mine), bytes), texts));
    for (size_t i = 0; i < texts.size(); ++i) {
      if (static_cast<int64_t>(texts[i].size()) != bytes)
        return "ranks exchange different numbers of bytes: this one " +
               std::to_string(bytes) + ", rank " + std::to_string(i) + " " +
               std::to_string(texts[i].size());
      std::memcpy(static_cast<char *>(all) + i * bytes, texts[i].data(), bytes);
    }
    return Status();
  });
}
