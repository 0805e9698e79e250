//===- ExposureReasons.h - Reasons for exposed collectives ------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What keeps each collective that the compute stream stands still for from
// being hidden in a given order: another operation, its stream, the memory, or
// that there is nothing to hide it behind. Each reason is about the smallest
// step away from the order: that the collective starts one operation earlier,
// or is waited for one operation later.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_SCHEDULE_EXPOSURE_EXPOSUREREASONS_H
#define COMMSCHED_SCHEDULE_EXPOSURE_EXPOSUREREASONS_H

#include "CommSched/Schedule/Model/Simulator.h"

#include <optional>

namespace mlir::commsched::schedule {

enum class ExposureCause : uint8_t {
  /// It is start and wait in one: computation never runs beside it.
  Blocking,
  /// Nothing is in the way of a move that makes the step shorter.
  Unhindered,
  /// Such a move takes more memory than there is.
  Memory,
  /// When it was issued, its stream was busy, or one that is exclusive with it.
  StreamBusy,
  /// No move makes the step shorter, and all computation runs beside it, has to
  /// precede it, or needs it.
  NothingLeft,
  /// There are moves, but none makes the step shorter.
  WouldNotPay,
  /// It cannot be moved: it begins as soon as what it needs is there.
  Dependence,
  /// It cannot be moved: it begins with the step, and is needed at once.
  Needed,
};

/// "blocking", "unhindered", "memory", "stream-busy", "nothing-left",
/// "would-not-pay", "dependence" or "needed".
const char *toString(ExposureCause cause);

enum class ExposureMove : uint8_t { StartEarlier, WaitLater };

/// Why one collective is exposed. Times are nanoseconds.
struct ExposureReason {
  /// The Start or Blocking.
  NodeId collective = noNode;
  int64_t exposedNs = 0;
  ExposureCause cause = ExposureCause::Blocking;
  /// StreamBusy: the collective that it had to wait for. Dependence: the last
  /// operation that has to precede it. Needed: the first that needs it. With a
  /// move: the operation that would be passed.
  NodeId other = noNode;

  /// Unhindered, Memory and WouldNotPay: what would be done. Cheap computation
  /// that only makes way together with the start or wait moves with it.
  ExposureMove move = ExposureMove::StartEarlier;
  /// What would move, in its order.
  std::vector<NodeId> moving;
  /// How long `other` holds the compute stream. StreamBusy: how long the
  /// collective waited for its stream. Dependence: how long what prepares the
  /// start takes behind `other`.
  int64_t byNs = 0;
  /// By how much the move makes the step shorter, if that was tried.
  std::optional<int64_t> gainNs;
  /// Memory: how many bytes more would be enough, and where they are lacking.
  int64_t bytesShort = 0;
  NodeId fullest = noNode;

  /// WouldNotPay, Dependence and Needed: no more computation than this, beside
  /// what does, could hide it, in whatever order.
  int64_t spareNs = 0;
};

struct ExposureOptions {
  /// Live bytes that a move may reach. What the order itself takes counts as
  /// allowed.
  int64_t limitBytes = 0;
  Contention contention;
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
