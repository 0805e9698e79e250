//===- Session.h - Start and end of MPI in a process ------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// MPI starts once in a process and cannot start again, but a host may join and
// leave several times: MPI and the board stay until the process ends. After an
// error MPI_Finalize is not called, since it would wait for all ranks.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_RUNTIME_MPI_SESSION_H
#define COMMSCHED_RUNTIME_MPI_SESSION_H

#include "CommSched/Runtime/Backend.h"
#include "Mpi/Board.h"

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace commsched::runtime::mpi {

/// Some calls of MPI wait for other ranks and have no non-blocking form:
/// MPI_Init, MPI_Finalize, the creation of communicators and windows. They run
/// under a watchdog, which ends the process with a message when the deadline
/// has passed, since no call could return.
class Watchdog {
public:
  /// `what` is the call, such as "MPI_Init".
  Watchdog(std::string what, Deadline deadline);
  ~Watchdog();
  Watchdog(const Watchdog &) = delete;
  Watchdog &operator=(const Watchdog &) = delete;

private:
  std::mutex mutex;
  std::condition_variable ended;
  bool hasEnded = false;
  std::thread thread;
};

/// Makes MPI and the board usable for one rank. Waits for all ranks;
/// `deadlineMs` says for how long.
Status beginSession(int64_t deadlineMs, Deadline deadline);
/// `deadlineMs` is for the end of MPI, when the process ends.
void endSession(bool failed, int64_t deadlineMs);

/// The board of the process, which the first session opens.
Board &getBoard();

/// Success if `code` is MPI_SUCCESS, otherwise MPI's text for it.
Status checkMpi(int code, const char *call);
/// The outcome of a call of MPI.
#define CALL_MPI(function, ...) checkMpi(function(__VA_ARGS__), #function)

} // namespace commsched::runtime::mpi

#endif // COMMSCHED_RUNTIME_MPI_SESSION_H
