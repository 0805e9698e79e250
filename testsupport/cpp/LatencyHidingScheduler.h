//===- LatencyHidingScheduler.h - Model of XLA's scheduler ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A list scheduler that hides latencies, in the manner of XLA's
// latency_hiding_scheduler.cc: it is not part of the product; the tests compare
// schedules with it.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_UNITTESTS_SCHEDULE_LATENCYHIDINGSCHEDULER_H
#define COMMSCHED_UNITTESTS_SCHEDULE_LATENCYHIDINGSCHEDULER_H

#include "CommSched/Schedule/Model/Problem.h"

#include <optional>

namespace mlir::commsched::schedule::testing {

struct LatencyHidingOptions {
  /// How many collectives of one stream may be in flight at once, at least 1.
  int32_t maxInFlight = 1;
  /// Live bytes that are to be kept to; none: memory does not count. Nothing is
  /// said of them before half of them are live, and they may be exceeded.
  std::optional<int64_t> limitBytes;
  /// Over the limit, prefer what needs no more memory, and of that what lies
  /// deepest.
  bool reducesPressureByDepth = false;
  /// How often a schedule over the limit is thrown away for another with nine
  /// tenths of the limit.
  int32_t numReruns = 0;
  /// By operation, or empty: the larger, the later in the schedule.
  std::vector<int64_t> preferences;
};

struct LatencyHidingSchedule {
  Order order;
  /// As simulateMemory() has it.
  int64_t peakBytes = 0;
  /// How often there was another run.
  int32_t numReruns = 0;
};

/// Schedules from the end of the program to its beginning, each time the best
/// of the operations whose successors have all been scheduled. Times run
/// backwards, too: an operation is ready once the successors' times are over,
/// a start not before its wait's time and the collective's. Not scheduled is a
/// collective that would make too many in flight on its stream, unless nothing
/// else is left (there the original gives up). Operations that do nothing go
/// at once. Of two operations the better one
///   1. has the greater preference,
///   2. with a limit of which half is live: at the limit, [by depth, needs no
///      memory, then has more operations before it,] then needs less memory;
///      and does not exceed the limit while it runs,
///   3. is a wait,
///   4. stalls less until it is ready,
///   5. is no start that depends on no collective, unless another one waits for
///      its place,
///   6. is a start for whose place another one waits,
///   7. has more time of collectives before it,
///   8. takes about as long as it is until the next operation is ready,
///   9. depends on a wait directly,
///  10. makes more operations ready,
///  11. frees memory, if half of the limit is live,
///  12. comes later in the program. These are the rules of XLA, in their order,
/// that apply to GPUs and that a Problem can express: it has no user hints, no
/// resources but streams, and one direction. Collectives count by stream, where
/// the original counts them by kind or all of them.
///
/// The order is verified. Error: the problem's own, or an option is out of
/// range. O(nodes * (ready operations) + dependences + uses), and O(uses of
/// ready operations) for each step with more than half of the limit live.
Result<LatencyHidingSchedule> hideLatency(const Problem &problem,
                                          const LatencyHidingOptions &options);

} // namespace mlir::commsched::schedule::testing

#endif // COMMSCHED_UNITTESTS_SCHEDULE_LATENCYHIDINGSCHEDULER_H
