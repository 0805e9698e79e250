//===- Arrival.h - Waiting for the processes of a job -----------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// MPI_Init waits for all processes of the job and does not say for which. So
// those of one machine meet before: each binds a socket with a name that only
// this job has and looks for those of the others. The names are abstract, that
// is, no files, and vanish with their process. Where the launcher is not Open
// MPI's, its variables are missing, and nobody waits here.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_RUNTIME_MPI_ARRIVAL_H
#define COMMSCHED_RUNTIME_MPI_ARRIVAL_H

#include "CommSched/Runtime/Backend.h"

namespace commsched::runtime::mpi {

/// Shows to the others that this process has come, as long as it lives.
class Arrival {
public:
  Arrival();
  ~Arrival();
  Arrival(const Arrival &) = delete;
  Arrival &operator=(const Arrival &) = delete;

  /// Waits for the others on this machine; the error names the ranks that have
  /// not come.
  Error awaitOthers(int64_t deadlineMs, Deadline deadline) const;

  /// Whether the launcher says who the others are, so that `awaitOthers` waits.
  bool knowsOthers() const { return socket >= 0; }

private:
  bool hasCome(int32_t localRank) const;

  /// Common to the processes that meet.
  std::string job;
  int32_t numLocalRanks = 0;
  /// Whether the ranks of this machine are all ranks, so that their numbers are
  /// those of the ranks.
  bool isWholeJob = false;
  int socket = -1;
};

} // namespace commsched::runtime::mpi

#endif // COMMSCHED_RUNTIME_MPI_ARRIVAL_H
