//===- Barrier.cpp - Cases of barriers ------------------------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Runner.h"

#include <algorithm>
#include <chrono>
#include <thread>

using namespace commsched::conformance;

/// All ranks are on one machine, whose clock they share.
static int64_t now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

void commsched::conformance::checkBarrier(const Plan &plan, Report &report) {
  for (const Case &theCase : plan.cases) {
    if (theCase.kind != COMMSCHED_BARRIER)
      continue;
    int32_t rank = commsched_rank();
    const std::vector<int32_t> *row = plan.groups[theCase.group].findRow(rank);
    // Another rank is late each time.
    if (rank == theCase.site % commsched_num_ranks())
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    int64_t times[2] = {now(), 0};
    if (row)
      commsched_barrier(theCase.site);
    commsched_synchronize();
    times[1] = now();
    std::vector<int64_t> all(2 * commsched_num_ranks());
    if (commsched_exchange(times, all.data(), sizeof(times)) || !row)
      continue;
    report.addLaunch(COMMSCHED_BARRIER);
    for (int32_t other : *row)
      if (times[1] < all[2 * other])
        report.addDefect(COMMSCHED_BARRIER,
                         describe(theCase, plan) + ": leaves before rank " +
                             std::to_string(other) + " comes");
  }
}
