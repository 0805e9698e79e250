//===- ScheduledPair.h - Schedules of two halves ----------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Finds schedules of a forward and its backward for a limit on the live bytes
// of the step that runs both, and applies one of them.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_TRANSFORMS_JOINT_SCHEDULEDPAIR_H
#define COMMSCHED_LIB_TRANSFORMS_JOINT_SCHEDULEDPAIR_H

#include "../Schedule/DecidedBlock.h"
#include "CommSched/Report/PairReport.h"
#include "SplitFunction.h"

namespace mlir::commsched {

/// What a step takes whose halves are scheduled.
struct PairSchedule {
  /// The limit that it was made for.
  int64_t limitBytes = 0;
  /// More than the limit if nothing that is known fits it.
  int64_t peakBytes = 0;
  /// What the allocator reserves, if the budget limits that and it was asked
  /// for.
  std::optional<int64_t> reservedBytes;
  int64_t stepNs = 0;
  int64_t exposedNs = 0;
  int64_t numCollectives = 0;

  bool fits() const { return peakBytes <= limitBytes; }
};

/// A schedule of both halves, which the scheduler can apply that found it.
struct PairDecision {
  PairSchedule schedule;
  /// Of the forward and of the backward.
  std::vector<BlockSchedule> halves;
};

/// What schedules two halves, which it owns until they are released.
class PairScheduler {
public:
  /// Reads both halves. `options` must outlive the result;
  /// `besideBackwardBytes` as in PairCosts. Errors are those of BlockScheduler.
  static FailureOr<std::unique_ptr<PairScheduler>>
  create(OwnedHalves halves, int64_t besideBackwardBytes,
         const SchedulingOptions &options);

  /// Schedules both within `limitBytes`, at once; changes neither.
  FailureOr<PairDecision> schedule(int64_t limitBytes);

  /// The halves are no longer erased with this.
  PartitionHalves release() { return owned.release(); }

  /// Applies a schedule to the halves, and emits the remarks on it. Emits an
  /// error if it cannot be found out what is exposed.
  LogicalResult apply(PairDecision decision);

  /// Applies a schedule to the halves without remarks. Returns the bytes that
  /// the allocator of the options, which must have one, reserves for them.
  /// Errors are those of simulatePair().
  FailureOr<int64_t> applyAndMeasureReserved(const PairDecision &decision,
                                             OperationCosts &costs);

private:
  PairScheduler(OwnedHalves owned, int64_t besideBackwardBytes,
                const SchedulingOptions &options)
      : owned(std::move(owned)), halves(this->owned.get()),
        besideBackwardBytes(besideBackwardBytes), options(options) {}

  func::FuncOp getHalf(unsigned half) {
    return half == 0 ? halves.forward : halves.backward;
  }
  FailureOr<BlockSchedule> scheduleHalf(unsigned half, int64_t limitBytes);

  /// Outlives the schedulers, which hold operations of it.
  OwnedHalves owned;
  PartitionHalves halves;
  int64_t besideBackwardBytes;
  const SchedulingOptions &options;
  /// Of the forward and of the backward.
  std::vector<std::unique_ptr<BlockScheduler>> schedulers;
};

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_TRANSFORMS_JOINT_SCHEDULEDPAIR_H
