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

#include <ctime>
#include <sched.h>

using namespace commsched::runtime;
using namespace commsched::runtime::mpi;

/// How long a wait gives the processor only to those who ask for it, before it
/// sleeps between its polls.
static constexpr auto awakeTime = std::chrono::milliseconds(2);
/// A dead process may be noticed this much later.
static constexpr auto lookInterval = std::chrono::milliseconds(10);

void mpi::sleepSlice() {
  timespec slice{0, 20'000};
  nanosleep(&slice, nullptr);
}

Ranks MpiBackend::findFailed(Clock::time_point now) {
  bool looks = now - lastLook > lookInterval;
  if (looks)
    lastLook = now;
  return board.findFailed(/*lookForProcesses=*/looks);
}

Error MpiBackend::pollUntil(Deadline deadline,
                            const std::function<bool()> &isDone,
                            Outcome &outcome, Ranks &failed) {
  Clock::time_point begin = Clock::now();
  outcome = Outcome::Done;
  for (;;) {
    if (Error error = progress())
      return error;
    if (isDone())
      return {};
    Clock::time_point now = Clock::now();
    failed = findFailed(now);
    if (!failed.empty() || now >= deadline) {
      outcome = failed.empty() ? Outcome::Expired : Outcome::OthersFailed;
      return {};
    }
    if (now - begin > awakeTime)
      sleepSlice();
    else if (isOversubscribed)
      sched_yield();
  }
}

Error MpiBackend::await(MpiRequest &request, Deadline deadline) {
  Outcome outcome;
  Ranks failed;
  if (Error error =
          pollUntil(deadline, [&] { return request.isDone; }, outcome, failed))
    return error;
  switch (outcome) {
  case Outcome::OthersFailed:
    return "gave up the wait for " + describeLaunch(request.launch) + ": " +
           describeRanks(failed);
  case Outcome::Expired:
    return describeTimeout(request.launch, deadlineMs,
                           board.findMissing(request.launch));
  case Outcome::Done:
    break;
  }
  return {};
}

Error MpiBackend::awaitAll(MPI_Request &handle, Deadline deadline) {
  Outcome outcome;
  Ranks failed;
  int code = MPI_SUCCESS;
  auto isDone = [&] {
    int isComplete = 0;
    code = MPI_Test(&handle, &isComplete, MPI_STATUS_IGNORE);
    return isComplete || code != MPI_SUCCESS;
  };
  if (Error error = pollUntil(deadline, isDone, outcome, failed))
    return error;
  switch (outcome) {
  case Outcome::OthersFailed:
    return "gave up the wait for all ranks: " + describeRanks(failed);
  case Outcome::Expired: {
    Ranks missing = board.findMissingFromMeeting();
    return "timed out after " + std::to_string(deadlineMs) +
           " ms in the wait for all ranks" +
           (missing.empty() ? "" : ": " + describeRanks(missing));
  }
  case Outcome::Done:
    break;
  }
  return checkMpi(code, "MPI_Test");
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
