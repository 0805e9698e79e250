//===- Joining.cpp - Joining, groups and leaving --------------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MpiBackend.h"
#include "Session.h"
#include "Watchdog.h"

#include <sys/prctl.h>
#include <unistd.h>

using namespace commsched::runtime;
using namespace commsched::runtime::mpi;

MpiBackend::~MpiBackend() {
  if (isOpen)
    shutdown(/*failed=*/true, Clock::now());
}

Error MpiBackend::join(const commsched_options &options, Deadline deadline) {
  if (Error error = beginSession(deadlineMs, deadline))
    return error;
  isOpen = true;
  // The start of MPI is no wait for others.
  deadline = Clock::now() + std::chrono::milliseconds(deadlineMs);
  {
    Watchdog watchdog("the making of communicators", deadline);
    if (Error error =
            checkMpi(MPI_Comm_dup(MPI_COMM_WORLD, &world), "MPI_Comm_dup"))
      return error;
    MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN);
  }
  MPI_Comm_rank(world, &rank);
  MPI_Comm_size(world, &numRanks);
  isOversubscribed = board.getNumRanksOnNode() > sysconf(_SC_NPROCESSORS_ONLN);
  // Sleeps of the default slack of 50 us would more than double the slices.
  oldTimerSlack = prctl(PR_GET_TIMERSLACK);
  prctl(PR_SET_TIMERSLACK, 1);

  if (options.num_ranks >= 0 && options.num_ranks != numRanks)
    return std::to_string(options.num_ranks) +
           " ranks are asked for, but MPI has " + std::to_string(numRanks) +
           " (mpirun -n starts them)";
  if (options.rank >= 0 && options.rank != rank)
    return "rank " + std::to_string(options.rank) +
           " is asked for, but to MPI this is rank " + std::to_string(rank);
  return meet(deadline);
}

Error MpiBackend::exchange(const std::string &mine,
                           std::vector<std::string> &all, Deadline deadline) {
  board.meet();
  MPI_Request handle = MPI_REQUEST_NULL;
  int64_t size = mine.size();
  std::vector<int64_t> sizes(numRanks);
  if (Error error = checkMpi(MPI_Iallgather(&size, 1, MPI_INT64_T, sizes.data(),
                                            1, MPI_INT64_T, world, &handle),
                             "MPI_Iallgather"))
    return error;
  if (Error error = awaitAll(handle, deadline))
    return error;

  all.assign(numRanks, {});
  all[rank] = mine;
  for (int root = 0; root != numRanks; ++root) {
    if (sizes[root] == 0)
      continue;
    all[root].resize(sizes[root]);
    Extent extent;
    if (Error error = types.getBytes(sizes[root], 1, extent))
      return error;
    if (Error error = checkMpi(MPI_Ibcast(all[root].data(), extent.count,
                                          extent.type, root, world, &handle),
                               "MPI_Ibcast"))
      return error;
    if (Error error = awaitAll(handle, deadline))
      return error;
  }
  return {};
}

Error MpiBackend::createGroup(const Group &group, Deadline deadline) {
  if (group.index >= static_cast<int32_t>(communicators.size()))
    communicators.resize(group.index + 1, MPI_COMM_NULL);
  if (Error error = meet(deadline))
    return error;
  Watchdog watchdog("the making of group '" + group.name + "'", deadline);
  MPI_Comm &communicator = communicators[group.index];
  // Rows are disjoint, so that their first ranks tell them apart.
  int color = group.rank < 0 ? MPI_UNDEFINED : group.members.front();
  if (Error error =
          checkMpi(MPI_Comm_split(world, color, group.rank, &communicator),
                   "MPI_Comm_split"))
    return error;
  if (communicator != MPI_COMM_NULL)
    MPI_Comm_set_errhandler(communicator, MPI_ERRORS_RETURN);
  return {};
}

Error MpiBackend::shutdown(bool failed, Deadline deadline) {
  if (!isOpen)
    return {};
  isOpen = false;
  prctl(PR_SET_TIMERSLACK, oldTimerSlack);
  Error error;
  if (!failed) {
    error = synchronize(deadline);
    if (!error)
      error = meet(deadline);
  }
  if (failed || error) {
    board.fail(error ? *error : "an error of its own");
    endSession(/*failed=*/true, deadlineMs);
    return error;
  }

  Watchdog watchdog("the end of communicators", deadline);
  for (MPI_Comm &communicator : communicators)
    if (communicator != MPI_COMM_NULL)
      MPI_Comm_free(&communicator);
  types.release();
  MPI_Comm_free(&world);
  endSession(/*failed=*/false, deadlineMs);
  return {};
}
