//===- ExposureReasons.h - Reasons for exposed collectives ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finds the reason for which computation does not hide an exposed collective in
// a given order: another operation, a busy stream, the memory limit, or a lack
// of computation. Each reason concerns the smallest change of the order: the
// collective starts one operation earlier, or is waited for one operation
// later.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_SCHEDULE_EXPOSURE_EXPOSUREREASONS_H
#define COMMSCHED_SCHEDULE_EXPOSURE_EXPOSUREREASONS_H

#include "CommSched/Schedule/Model/Objective.h"

#include <optional>

namespace mlir::commsched::schedule {

enum class ExposureCause : uint8_t {
  /// The collective is Blocking: no computation runs beside it.
  Blocking,
  /// A legal move within the memory limit makes the step shorter.
  Unhindered,
  /// Such a move exceeds the memory limit.
  Memory,
  /// When it was issued, its stream or an exclusive stream was busy.
  StreamBusy,
  /// No move makes the step shorter, and all computation runs beside it, has to
  /// precede it, or needs it.
  NothingLeft,
  /// There are moves, but none makes the step shorter.
  WouldNotPay,
  /// It cannot be moved: it begins as soon as its operands are available.
  Dependence,
  /// It cannot be moved: it begins with the step, and is needed at once.
  Needed,
};

/// "blocking", "unhindered", "memory", "stream-busy", "nothing-left",
/// "would-not-pay", "dependence" or "needed".
const char *toString(ExposureCause cause);

enum class ExposureMove : uint8_t { StartEarlier, WaitLater };

/// The reason for which one collective is exposed. Times are nanoseconds.
struct ExposureReason {
  /// The Start or Blocking.
  NodeId collective = noNode;
  int64_t exposedNs = 0;
  ExposureCause cause = ExposureCause::Blocking;
  /// StreamBusy: the collective that it had to wait for. Dependence: the last
  /// operation that has to precede it. Needed: the first that needs it. With a
  /// move: the operation that would be passed.
  NodeId other = noNode;

  /// Unhindered, Memory and WouldNotPay: the move. Cheap computation that
  /// depends on the wait, or that the start depends on, moves along.
  ExposureMove move = ExposureMove::StartEarlier;
  /// The operations that the move concerns, in their order.
  std::vector<NodeId> moving;
  /// How long `other` holds the compute stream. StreamBusy: how long the
  /// collective waited for its stream. Dependence: how long the operations
  /// between `other` and the start take.
  int64_t byNs = 0;
  /// By how much the move makes the step shorter, if that was tried.
  std::optional<int64_t> gainNs;
  /// Memory: the number of missing bytes, and the position where they are
  /// missing.
  int64_t bytesShort = 0;
  NodeId fullest = noNode;

  /// WouldNotPay, Dependence and Needed: an upper bound, over all orders, of
  /// the additional computation that could hide the collective.
  int64_t spareNs = 0;
};

/// The limit is what a move may reach; at least the peak of the order itself is
/// allowed, and by default no more.
struct ExposureOptions : Objective {
  ExposureOptions() { limitBytes = 0; }
  explicit ExposureOptions(Objective objective)
      : Objective(std::move(objective)) {}

  /// How many operations all simulations of moves together may run through.
  /// The most exposed collectives come first; moves of others are not tried,
  /// and are taken to pay.
  int64_t effort = 1 << 22;
};

/// One reason for each collective that is exposed when `problem` runs in
/// `order`, in that order. The first that applies, in the order of
/// ExposureCause.
///
/// A move passes, beside operations that take no time, one operation that holds
/// the compute stream. Together with a start moves computation that it needs,
/// is not expensive, and stands directly in front; together with a wait such
/// that needs it and stands directly behind; at most 32 operations. That no
/// computation is left is known by bounds: where they are not tight, it is a
/// dependence instead.
///
/// Error: the one of `problem`; the order is not legal; that of simulate().
/// O((nodes + dependences + uses) log nodes + effort) where start and wait of a
/// collective, and what moves with them, have few neighbours.
Result<std::vector<ExposureReason>>
explainExposure(const Problem &problem, const Order &order,
                const ExposureOptions &options);

} // namespace mlir::commsched::schedule

#endif // COMMSCHED_SCHEDULE_EXPOSURE_EXPOSUREREASONS_H
