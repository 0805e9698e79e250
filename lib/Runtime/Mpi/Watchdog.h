//===- Watchdog.h - Ends what cannot be asked to end ------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Some of MPI's calls wait for other ranks and have no non-blocking form:
// MPI_Init, MPI_Finalize, the making of communicators and windows. Nothing may
// wait longer than the deadline, so they run under a watchdog, which ends the
// process in words when the deadline has passed: no call could return.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_RUNTIME_MPI_WATCHDOG_H
#define COMMSCHED_RUNTIME_MPI_WATCHDOG_H

#include "CommSched/Runtime/Backend.h"

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace commsched::runtime::mpi {

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

} // namespace commsched::runtime::mpi

#endif // COMMSCHED_RUNTIME_MPI_WATCHDOG_H
