//===- Simulator.h - Time model ---------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The time model: one compute stream, and one in-order stream per process
// group. Operations are issued in the given order by the compute stream. With
// contention, operations that run at once slow each other down.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_SCHEDULE_MODEL_SIMULATOR_H
#define COMMSCHED_SCHEDULE_MODEL_SIMULATOR_H

#include "CommSched/Schedule/Model/Problem.h"

#include <utility>

namespace mlir::commsched::schedule {

/// How operations that run at once slow each other down. By default they do
/// not: streams run beside each other and beside computation at full speed.
struct Contention {
  /// The largest slowdown: a thousand times as long.
  static constexpr int64_t maxSlowdownPpm = 999'000'000;

  /// Pairs of streams, of different indices, of which no two collectives are
  /// ever in flight together: of two that would be, the one that is issued
  /// later begins when the other has ended.
  std::vector<std::pair<StreamId, StreamId>> exclusive;
  /// By stream: the link that its collectives travel over, or -1 for one of its
  /// own. Of k collectives that are on one link at once, each progresses at a
  /// k-th of its speed. Empty: no link is shared.
  std::vector<int32_t> links;
  /// By stream: by how many millionths of its own time a computation takes
  /// longer while a collective of the stream is in flight: with 190,000,
  /// computation that takes 100 ns alone takes 119 ns beside the collective.
  /// Beside several the largest slowdown applies. 0 for what copy engines carry
  /// out. Empty: none slows computation down.
  std::vector<int64_t> slowdownPpm;

  /// Of all streams.
  int64_t maxSlowdown() const;
  /// Whether nothing slows anything down. O(streams).
  bool isNone() const {
    return exclusive.empty() && links.empty() && maxSlowdown() == 0;
  }
};

/// Checks `contention` for a `problem` without error. Links and slowdowns may
/// be given for more streams than the problem has. Errors name the streams: an
/// index out of range, a stream that is exclusive with itself, links or
/// slowdowns for too few streams, a slowdown out of range. O(pairs + streams).
Status check(const Contention &contention, const Problem &problem);

/// The times of all operations, in nanoseconds from the start of the step.
struct Timeline {
  /// By operation. Start: when the collective begins on its stream. Wait: when
  /// the compute stream reaches it.
  std::vector<int64_t> beginNs;
  /// By operation. Start: when the collective ends on its stream. Wait: when
  /// the compute stream goes on.
  std::vector<int64_t> endNs;
  /// By operation: how long the compute stream is stalled by it. The stall of a
  /// Wait or a Compute is also in that of the start for which it stalls. That
  /// of a Blocking lasts from when the compute stream reaches it to its end.
  std::vector<int64_t> exposedNs;
  /// When every stream is idle.
  int64_t stepNs = 0;
  /// Sum of the costs of all Compute.
  int64_t computeNs = 0;
  /// Sum of the costs of all collectives.
  int64_t commNs = 0;
  /// stepNs - computeNs. Also the sum of the stalls and of slowdownNs, since
  /// every collective is waited for.
  int64_t exposedCommNs = 0;
  /// By how much computation takes longer than its costs.
  int64_t slowdownNs = 0;

  /// Adds the stall of a Wait or a Compute, whose own is known, to that of the
  /// start for which it stalls: the last one to end.
  void addStall(const Problem &problem, NodeId node);
};

/// Runs the operations in `order`:
///   - Compute: sets the compute clock t to the ends of the collectives on
///     which it has a dependence of kind Stream, if these are later, and adds
///     its cost,
///   - Start: begins at max(t, clock of its stream) and sets the stream's clock
///     to its end; t stays,
///   - Wait: sets t to max(t, end of its start),
///   - Blocking: begins at max(t, clock of its stream) and sets both to its
///     end.
/// Error: the problem has one, the order does not have each operation once, or
/// a wait comes before its start. Other dependences are not checked: verify()
/// checks them. O(nodes).
Result<Timeline> simulate(const Problem &problem, const Order &order);

/// The same where operations that run at once slow each other down:
///   - a collective begins when its stream is free and all collectives have
///     ended that were issued before it on streams that are exclusive with its
///     own. One that has to wait holds up those issued after it, so that two
///     such streams take turns in the order in which collectives are issued;
///   - of k collectives in flight over one link each progresses at a k-th of
///     its speed;
///   - while collectives are in flight, computation progresses by one
///     nanosecond of its cost in 1 + s / 10^6 nanoseconds, where s is the
///     largest slowdownPpm of their streams.
/// An operation that ends between two nanoseconds ends at the later one, and
/// the shares of a link change only then. So no operation takes less time than
/// in the plain simulation, and all take the same time if no two run at once.
/// Progress is exact up to 16 collectives on a link; among more it is rounded
/// down to the 720,720th of a nanosecond whenever one begins or ends. That of
/// computation is exact if the numbers 10^6 + slowdownPpm have a common
/// multiple up to 2^62, so with up to three slowdowns below 50 %; else each of
/// its speeds is rounded down by less than 2^-62.
///
/// Error: as above; that of check() on `contention`; the times might not fit 64
/// bits. With contention.isNone() as fast as above; else
/// O((nodes + pairs) * log nodes), where pairs counts for each collective the
/// streams that its own is exclusive with.
Result<Timeline> simulate(const Problem &problem, const Order &order,
                          const Contention &contention);

/// Returns stepNs of that, for those that simulate many orders of one problem.
/// Nothing may be in error, and each wait has to come after its start.
int64_t computeStepNs(const Problem &problem, const Order &order,
                      const Contention &contention);

} // namespace mlir::commsched::schedule

#endif // COMMSCHED_SCHEDULE_MODEL_SIMULATOR_H
