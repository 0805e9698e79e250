//===- Watchdog.cpp - Ends what cannot be asked to end ----------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Watchdog.h"

#include <cstdio>
#include <unistd.h>

using namespace commsched::runtime;
using namespace commsched::runtime::mpi;

Watchdog::Watchdog(std::string what, Deadline deadline)
    : thread([this, what = std::move(what), deadline] {
        std::unique_lock<std::mutex> lock(mutex);
        if (ended.wait_until(lock, deadline, [this] { return hasEnded; }))
          return;
        std::fprintf(stderr,
                     "commsched: error: timed out in %s: not all ranks have "
                     "come\n",
                     what.c_str());
        // Neither exit handlers nor MPI may run: they would wait, too.
        _exit(1);
      }) {}

Watchdog::~Watchdog() {
  {
    std::lock_guard<std::mutex> lock(mutex);
    hasEnded = true;
  }
  ended.notify_one();
  thread.join();
}
