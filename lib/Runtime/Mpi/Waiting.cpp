//===- Waiting.cpp - Waiting for other ranks, but not for ever ------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MpiBackend.h"

#include "Session.h"

#include "Core/Describe.h"

#include <algorithm>
#include <ctime>
#include <sched.h>

using namespace commsched::runtime;
using namespace commsched::runtime::mpi;

/// How long a wait gives the processor only to those who ask for it, before it
/// sleeps between its polls.
static constexpr auto awakeTime = std::chrono::milliseconds(2);
/// Polls between two looks at the clock and the board. MPI yields by itself
/// when mpirun has seen more ranks than cores; a yield of ours in every poll,
/// too, would double the time of small collectives.
static constexpr int pollsPerLook = 16;
/// A dead process may be noticed this much later.
static constexpr auto lookInterval = std::chrono::milliseconds(10);
/// A rank may fail right after what this one waits for: how long that may still
/// take to arrive here.
static constexpr auto arrivalTime = std::chrono::milliseconds(100);

void mpi::sleepSlice() {
  timespec slice{0, 20'000};
  nanosleep(&slice, nullptr);
}

Ranks MpiBackend::findFailed(Clock::time_point now, const Launch *launch) {
  bool looks = now - lastLook > lookInterval;
  Ranks failed = board.findFailed(/*lookForProcesses=*/looks);
  if (!looks)
    return failed;
  lastLook = now;
  if (failed.empty() && launch)
    failed = board.findMissing(*launch, /*onlyElsewhere=*/true);
  return failed;
}

Error MpiBackend::pollUntil(const std::function<bool()> &isDone,
                            const Launch *launch, Deadline deadline,
                            Ranks &failed, bool &isDue) {
  Clock::time_point begin = Clock::now();
  isDue = false;
  for (uint32_t numPolls = 1;; ++numPolls) {
    if (Error error = progress())
      return error;
    if (isDone())
      return {};
    if (numPolls % pollsPerLook != 0)
      continue;
    Clock::time_point now = Clock::now();
    if (failed.empty()) {
      failed = findFailed(now, launch);
      if (!failed.empty())
        deadline = std::min(deadline, now + arrivalTime);
    }
    isDue = now >= deadline;
    if (isDue)
      return {};
    if (now - begin > awakeTime)
      sleepSlice();
    else if (isOversubscribed)
      sched_yield();
  }
}

Error MpiBackend::await(MpiRequest &request, Deadline deadline) {
  Ranks failed;
  bool isDue;
  const Launch &launch = request.launch;
  if (Error error = pollUntil([&] { return request.isDone; }, &launch, deadline,
                              failed, isDue))
    return error;
  if (!isDue)
    return {};
  if (!failed.empty())
    return "in the wait for " + describeLaunch(launch) + ": " +
           describeRanks(failed);
  Ranks missing = board.findMissing(launch, /*onlyElsewhere=*/false);
  return describeTimeout(launch, deadlineMs, missing) +
         (missing.empty() ? ": all ranks have started it" : "");
}

Error MpiBackend::awaitAll(MPI_Request &handle, Deadline deadline) {
  Ranks failed;
  bool isDue;
  int code = MPI_SUCCESS;
  auto isDone = [&] {
    int isComplete = 0;
    code = MPI_Test(&handle, &isComplete, MPI_STATUS_IGNORE);
    return isComplete || code != MPI_SUCCESS;
  };
  if (Error error =
          pollUntil(isDone, /*launch=*/nullptr, deadline, failed, isDue))
    return error;
  if (!isDue)
    return checkMpi(code, "MPI_Test");
  if (!failed.empty())
    return describeRanks(failed);
  Ranks missing = board.findMissingFromMeeting();
  return "timed out after " + std::to_string(deadlineMs) +
         " ms while all ranks meet" +
         (missing.empty() ? "" : ": " + describeRanks(missing));
}

Error MpiBackend::meet(Deadline deadline) {
  board.meet();
  MPI_Request handle = MPI_REQUEST_NULL;
  if (Error error = checkMpi(MPI_Ibarrier(world, &handle), "MPI_Ibarrier"))
    return error;
  return awaitAll(handle, deadline);
}

Error MpiBackend::synchronize(Deadline deadline) {
  while (MpiRequest *first = flight.getFirst())
    if (Error error = await(*first, deadline))
      return error;
  return {};
}
