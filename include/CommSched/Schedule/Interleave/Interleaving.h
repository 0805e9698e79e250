//===- Interleaving.h - Two programs in one order ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Merges the operations of two programs, such as the forward of one micro-batch
// and the backward of another, so that computation of the one runs while the
// other waits for communication. Each program is scheduled alone first. The
// merged order keeps both schedules and decides only which one goes on; the
// step scheduler then improves it. Memory is checked as by the banker's
// algorithm (E. W. Dijkstra, EWD 108, 1965): both can always end within the
// limit.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_SCHEDULE_INTERLEAVE_INTERLEAVING_H
#define COMMSCHED_SCHEDULE_INTERLEAVE_INTERLEAVING_H

#include "CommSched/Schedule/Step/StepScheduler.h"

#include <array>

namespace mlir::commsched::schedule {

/// One program after the other, each in its own order.
struct ProgramSequence {
  Order order;
  int64_t peakBytes = 0;
  /// Whether the second program comes before the first.
  bool isSecondFirst = false;
};

/// Returns the sequence of two programs with the lower peak; of equal ones, and
/// where an operation of the second depends on the first, the first program
/// comes first. The first program is the operations below `numFirst`, of which
/// none depends on another one.
///
/// Error: the one of `problem`; its program is not a legal order; `numFirst` is
/// out of range. O(nodes + dependences + uses).
Result<ProgramSequence> chooseSequence(const Problem &problem, NodeId numFirst);

/// Merges legal orders of both programs of `problem`, which stay as they are,
/// with one clock for each stream: starts are issued as soon as they are next,
/// and a program that would stall for a wait lets the other one go on. If both
/// can go on, the first does while the part of its computation that it has done
/// is less than `weight` times that of the second; with 0 it never does, with
/// infinity always.
///
/// A program goes on only if the rest of both, one after the other, stays
/// within `limitBytes`. Where no order of the programs does, the peak is higher
/// than the limit.
///
/// `orders` are of the operations of the first and of the second program. None
/// of the first depends on one of the second. O(nodes + dependences + uses).
Order mergeOrders(const Problem &problem, const std::array<Order, 2> &orders,
                  int64_t limitBytes, double weight);

/// The result of interleave().
struct Interleaving {
  /// Both programs scheduled alone, one after the other.
  StepSchedule sequence;
  /// The best merged order, or the sequence where none is better.
  StepSchedule merged;
};

/// Schedules both programs alone, merges their orders, and under a limit also
/// those that free early, with several priorities. Returns the best within the
/// limit, as scheduleStep() compares schedules.
/// It is a program to start from: scheduleStep() on it finds a better one.
///
/// `sequence` is the result of chooseSequence(). Error: as above.
/// O((nodes + dependences + uses) log nodes + effort).
Result<Interleaving> interleave(const Problem &problem, NodeId numFirst,
                                const ProgramSequence &sequence,
                                const StepSchedulerOptions &options);

/// Returns `order`, of some or all operations, with the computation that leaves
/// less live than before moved to where what it depends on has been issued. A
/// program that is alone has no use for the memory; another beside it has. What
/// operations outside of the order hold counts as never freed. Linear in the
/// problem, but for a heap of the operations that move.
Order freeEarly(const Problem &problem, const Order &order);

} // namespace mlir::commsched::schedule

#endif // COMMSCHED_SCHEDULE_INTERLEAVE_INTERLEAVING_H
