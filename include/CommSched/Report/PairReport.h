//===- PairReport.h - Reports on a forward and its backward -----*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Simulates a step that runs a forward and then its backward. Saved values live
// across both functions, and other buffers that the forward does not free stay
// live during the backward; a report on a single function shows neither. docs/
// model.md states the rules.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_REPORT_PAIRREPORT_H
#define COMMSCHED_REPORT_PAIRREPORT_H

#include "CommSched/Analysis/Joint/PairProblem.h"
#include "CommSched/Report/StepReport.h"

namespace mlir::commsched {

class OperationCosts;

/// What a step that runs both halves takes, whatever the order of each half is
/// for what is no peak.
struct PairCosts {
  /// The largest number of live bytes over both, in the order of the halves.
  int64_t peakBytes = 0;
  /// The most bytes that are live in the backward beside those that a report on
  /// the backward alone counts: a limit for the step less this is one for the
  /// backward.
  int64_t besideBackwardBytes = 0;
  /// No orders of the two halves take less, in nanoseconds; collectives of one
  /// stream may change places.
  int64_t boundNs = 0;
};

/// What `pair` takes by `costs`; sizes that are not known count as 0. None,
/// with the `reason` in words, when a half has several blocks or a collective
/// in flight across its boundary, or does not take what the other saves. Emits
/// an error when a half cannot be scheduled at all; see BlockProblem::create().
/// O(n log² n) in both.
FailureOr<std::optional<PairCosts>>
computePairCosts(FunctionPair pair, OperationCosts &costs, std::string &reason);

/// The report on the step that runs both halves one after the other, from the
/// reports on each by `costs`: named as the function that was partitioned, with
/// operations numbered and times counted through both. None and errors as
/// above, and those of computeContention().
FailureOr<std::optional<StepReport>>
simulatePair(FunctionPair pair, const StepReport &forward,
             const StepReport &backward, OperationCosts &costs,
             std::string &reason, const SimulationOptions &options = {});

} // namespace mlir::commsched

#endif // COMMSCHED_REPORT_PAIRREPORT_H
