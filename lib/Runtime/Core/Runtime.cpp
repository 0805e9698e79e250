//===- Runtime.cpp - The C interface of the runtime -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each function of Runtime.h finds the rank of the calling thread, returns at
// once after an error, and works on the `Rank`. No exception leaves these
// functions.
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
/// an error for commsched_last_error. `function` is the caller's name.
static Rank *getCurrentRank(const char *function = __builtin_FUNCTION()) {
  if (!currentRank && lastError.empty())
    lastError =
        concat(function, " outside of commsched_init and commsched_finalize");
  return currentRank.get();
}

/// Runs `body(rank)`, which returns a Status, and keeps its error in the rank.
/// Returns 0 if it succeeded, otherwise 1. After an earlier error the body runs
/// only with `evenIfFailed`.
template <bool evenIfFailed = false, class Body>
static int32_t callRank(Body &&body,
                        const char *function = __builtin_FUNCTION()) {
  Rank *rank = getCurrentRank(function);
  if (!rank || (rank->hasFailed() && !evenIfFailed))
    return 1;
  Status status;
  try {
    status = body(*rank);
  } catch (const std::exception &exception) {
    status = concat(function, ": ", exception.what());
  }
  if (!status)
    rank->fail(status.getMessage());
  return status ? 0 : 1;
}
static constexpr bool evenIfFailed = true;

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
  return callRank([&](Rank &rank) { return rank.join(*options); });
}

int32_t commsched_finalize(void) {
  Rank *rank = getCurrentRank();
  if (!rank)
    return 1;
  callRank<evenIfFailed>([](Rank &rank) {
    rank.leave();
    return rank.status;
  });
  lastError = rank->hasFailed() ? rank->status.getMessage() : "";
  currentRank.reset();
  return lastError.empty() ? 0 : 1;
}

const char *commsched_last_error(void) {
  if (!currentRank)
    return lastError.c_str();
  return currentRank->hasFailed() ? currentRank->status.getMessage().c_str()
                                  : "";
}

void commsched_fail(const char *text) {
  if (Rank *rank = getCurrentRank())
    rank->fail(text ? text : "");
}

int32_t commsched_rank(void) {
  Rank *rank = getCurrentRank();
  return rank && rank->backend ? rank->backend->getRank() : -1;
}

int32_t commsched_num_ranks(void) {
  Rank *rank = getCurrentRank();
  return rank && rank->backend ? rank->backend->getNumRanks() : -1;
}

const char *commsched_backend_name(void) {
  return currentRank ? currentRank->backendName.c_str() : "";
}

int32_t commsched_load_program(const char *json) {
  return callRank([&](Rank &rank) { return rank.load(json); });
}

int64_t commsched_counter(const char *name) {
  Rank *rank = getCurrentRank();
  if (!rank || !name)
    return 0;
  auto found = rank->counters.find(name);
  return found == rank->counters.end() ? 0 : found->second;
}

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

int64_t commsched_start(int32_t index, const void *const *inputs,
                        void *const *outputs) {
  int64_t request = 0;
  callRank([&](Rank &rank) -> Status {
    const Site *site = nullptr;
    COMMSCHED_TRY(rank.findSite(index, site));
    if (site->kind == COMMSCHED_BARRIER)
      return describeSite(*site) + " is started by commsched_barrier only";
    if (site->hasSplitValues())
      return describeSite(*site) + " is started by commsched_start_uneven only";
    return rank.start(*site, inputs, outputs, nullptr, request);
  });
  return request;
}

int64_t commsched_start_uneven(int32_t index, const void *const *inputs,
                               void *const *outputs, int64_t inputRows,
                               const int64_t *inputSplits, int64_t outputRows,
                               const int64_t *outputSplits) {
  int64_t request = 0;
  callRank([&](Rank &rank) {
    return rank.startUneven(index, inputs, outputs, {inputRows, inputSplits},
                            {outputRows, outputSplits}, request);
  });
  return request;
}

int64_t commsched_read_splits(int32_t index, int32_t output, const void *buffer,
                              int64_t *splits, int32_t numSplits) {
  // Behind an error, too: programs run to their end, and their code on the
  // processor works on as many rows as these numbers say.
  std::fill(splits, splits + numSplits, 0);
  int64_t rows = 0;
  callRank<evenIfFailed>([&](Rank &rank) {
    return rank.readSplits(index, output ? "output" : "input", buffer, splits,
                           numSplits, rows);
  });
  return rows;
}

int32_t commsched_wait(int64_t request) {
  return callRank(
      [&](Rank &rank) { return request == 0 ? Status() : rank.wait(request); });
}

int64_t commsched_hold(int64_t request, int32_t numSent, void *const *sent,
                       int32_t numReceived, void *const *received) {
  int64_t number = 0;
  // Behind an error, too: programs run to their end and use the buffers.
  callRank<evenIfFailed>([&](Rank &rank) {
    number = ++rank.lastHeld;
    rank.held[number] = {
        request, {sent, sent + numSent}, {received, received + numReceived}};
    return Status();
  });
  return number;
}

int32_t commsched_resume(int64_t number, int32_t numReceived,
                         const int64_t *bytes, void **received) {
  HeldRequest held;
  int32_t code = callRank<evenIfFailed>(
      [&](Rank &rank) { return rank.resume(number, numReceived, held); });
  for (void *buffer : held.sent)
    commsched_release(buffer);
  held.received.resize(numReceived);
  for (int32_t index = 0; index < numReceived; ++index)
    received[index] = held.received[index]
                          ? held.received[index]
                          : commsched_allocate(bytes[index], /*alignment=*/0);
  return code;
}

int32_t commsched_test(int64_t number) {
  bool done = true;
  int32_t code = callRank([&](Rank &rank) {
    Status found;
    if (number == 0)
      return found;
    if (Request *request = rank.findRequest(number, found))
      done = rank.backend->test(*request, found);
    return found;
  });
  return code == 0 ? done : -1;
}

int32_t commsched_barrier(int32_t index) {
  return callRank([&](Rank &rank) -> Status {
    const Site *site = nullptr;
    int64_t request = 0;
    COMMSCHED_TRY(rank.findSite(index, site));
    if (site->kind != COMMSCHED_BARRIER)
      return describeSite(*site) + " is no barrier";
    COMMSCHED_TRY(rank.start(*site, nullptr, nullptr, nullptr, request));
    return rank.wait(request);
  });
}

void commsched_poll(void) {
  callRank([](Rank &rank) { return rank.backend->poll(); });
}

int64_t commsched_group_rank(int32_t group) {
  // Programs compute addresses from it, also behind an error.
  Rank *rank = getCurrentRank();
  if (!rank || group < 0 || group >= static_cast<int32_t>(rank->groups.size()))
    return -1;
  return rank->groups[group]->group.rank;
}

//===----------------------------------------------------------------------===//
// Compute
//===----------------------------------------------------------------------===//

int32_t commsched_compute(int32_t index, int64_t ns, const void *const *inputs,
                          void *const *outputs) {
  return callRank(
      [&](Rank &rank) { return rank.compute(index, ns, inputs, outputs); });
}

int32_t commsched_account(int32_t index, int64_t ns) {
  // The operator has no buffers, so that there is nothing to make up.
  return callRank([&](Rank &rank) {
    return rank.options.modelled_times
               ? rank.compute(index, ns, nullptr, nullptr)
               : Status();
  });
}

int32_t commsched_copy(void *target, int32_t targetType, int64_t targetStride,
                       const void *source, int32_t sourceType,
                       int64_t sourceStride, int64_t rows,
                       int64_t rowElements) {
  StridedCopy copy{target,       source,       {},   {},
                   targetStride, sourceStride, rows, rowElements};
  return callRank(
      [&](Rank &rank) { return rank.copy(copy, targetType, sourceType); });
}

int32_t commsched_zero(void *target, int64_t bytes) {
  return callRank([&](Rank &rank) -> Status {
    if (bytes < 0 || (bytes > 0 && !target))
      return concat("cannot set ", bytes, " bytes of ",
                    target ? "a buffer" : "null", " to zero");
    return bytes == 0 ? Status() : rank.backend->zero(target, bytes);
  });
}

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

using RankArena = std::unique_ptr<Arena> Rank::*;

/// Behind an error, too: programs run to their end and write what they
/// allocate.
static void *allocate(RankArena arena, int64_t bytes, int64_t alignment,
                      const char *function = __builtin_FUNCTION()) {
  void *buffer = nullptr;
  auto body = [&](Rank &rank) {
    Status status;
    if (rank.*arena) {
      buffer = (rank.*arena)->allocate(bytes, alignment, status);
      rank.count("allocations", 1);
    }
    return status;
  };
  callRank<evenIfFailed>(body, function);
  return buffer;
}

void *commsched_allocate(int64_t bytes, int64_t alignment) {
  return allocate(&Rank::arena, bytes, alignment);
}

void *commsched_allocate_host(int64_t bytes, int64_t alignment) {
  return allocate(&Rank::hostArena, bytes, alignment);
}

void commsched_release(void *buffer) {
  if (!buffer)
    return;
  callRank<evenIfFailed>([&](Rank &rank) {
    if (!rank.arena)
      return Status();
    return rank.hostArena->owns(buffer) ? rank.hostArena->release(buffer)
                                        : rank.arena->release(buffer);
  });
}

/// Copies bytes between a buffer and the host.
static int32_t moveBytes(const char *what, void *target, const void *source,
                         int64_t bytes,
                         Status (Backend::*move)(void *, const void *, int64_t),
                         const char *function = __builtin_FUNCTION()) {
  auto body = [&](Rank &rank) -> Status {
    if (bytes < 0 || (bytes > 0 && (!target || !source)))
      return concat("cannot ", what, " ", bytes, " bytes",
                    bytes < 0 ? "" : ": a pointer is null");
    return bytes == 0 ? Status()
                      : (rank.backend.get()->*move)(target, source, bytes);
  };
  return callRank(body, function);
}

int32_t commsched_upload(void *buffer, const void *host, int64_t bytes) {
  return moveBytes("upload", buffer, host, bytes, &Backend::upload);
}

int32_t commsched_download(void *host, const void *buffer, int64_t bytes) {
  return moveBytes("download", host, buffer, bytes, &Backend::download);
}

/// What `get` says of an arena; 0 outside of commsched_init and
/// commsched_finalize.
static int64_t getBytes(RankArena arena, int64_t (Arena::*get)() const,
                        const char *function = __builtin_FUNCTION()) {
  Rank *rank = getCurrentRank(function);
  return rank && rank->*arena ? ((rank->*arena).get()->*get)() : 0;
}

int64_t commsched_allocated_bytes(void) {
  return getBytes(&Rank::arena, &Arena::getLiveBytes);
}

int64_t commsched_peak_bytes(void) {
  return getBytes(&Rank::arena, &Arena::getPeakBytes);
}

int64_t commsched_host_bytes(void) {
  return getBytes(&Rank::hostArena, &Arena::getLiveBytes);
}

int64_t commsched_host_peak_bytes(void) {
  return getBytes(&Rank::hostArena, &Arena::getPeakBytes);
}

void commsched_reset_peak(void) {
  Rank *rank = getCurrentRank();
  if (!rank || !rank->arena)
    return;
  rank->arena->resetPeak();
  rank->hostArena->resetPeak();
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
  return callRank([](Rank &rank) -> Status {
    COMMSCHED_TRY(rank.checkNoRequest("commsched_begin_step"));
    std::vector<std::string> all;
    COMMSCHED_TRY(rank.backend->exchange("", all, rank.getDeadline()));
    rank.records.begin();
    return rank.backend->beginStep();
  });
}

int64_t commsched_end_step(void) {
  int64_t ns = -1;
  int32_t code = callRank([&](Rank &rank) -> Status {
    if (!rank.records.isRunning())
      return "commsched_end_step without commsched_begin_step";
    Status ended = rank.backend->endStep(ns, rank.getDeadline());
    rank.records.end();
    return ended;
  });
  return code == 0 ? ns : -1;
}

int64_t commsched_get_records(const commsched_record **records) {
  Rank *rank = getCurrentRank();
  *records = rank ? rank->records.get().data() : nullptr;
  return rank ? static_cast<int64_t>(rank->records.get().size()) : 0;
}

int32_t commsched_synchronize(void) {
  return callRank(
      [](Rank &rank) { return rank.backend->synchronize(rank.getDeadline()); });
}

int32_t commsched_exchange(const void *mine, void *all, int64_t bytes) {
  return callRank([&](Rank &rank) -> Status {
    if (bytes < 0)
      return concat("cannot exchange ", bytes, " bytes");
    std::vector<std::string> texts;
    COMMSCHED_TRY(rank.backend->exchange(
        std::string(static_cast<const char *>(mine), bytes), texts,
        rank.getDeadline()));
    for (size_t i = 0; i < texts.size(); ++i) {
      if (static_cast<int64_t>(texts[i].size()) != bytes)
        return concat("ranks exchange different numbers of bytes: this one ",
                      bytes, ", rank ", i, " ", texts[i].size());
      std::memcpy(static_cast<char *>(all) + i * bytes, texts[i].data(), bytes);
    }
    return Status();
  });
}
