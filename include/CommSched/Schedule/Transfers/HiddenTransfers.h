//===- HiddenTransfers.h - Transfers that computation hides -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Chooses the values that a forward sends to the host and its backward fetches
// back. One stream takes transfers to the host one after the other, another one
// those from the host. A value is sent when the forward has used it for the
// last time, and all have been sent when the forward ends; the backward fetches
// a value from its beginning on, and has it when it is first used. So a choice
// is feasible if one machine does the former with their release times and one
// deadline, and another machine the latter with one release time and their
// deadlines; each takes the jobs in the order of these times.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_SCHEDULE_TRANSFERS_HIDDENTRANSFERS_H
#define COMMSCHED_SCHEDULE_TRANSFERS_HIDDENTRANSFERS_H

#include <cstdint>
#include <vector>

namespace mlir::commsched::schedule {

/// A value that could be sent to the host. Nothing is negative.
struct TransferCandidate {
  int64_t bytes = 0;
  /// When the forward has used it for the last time, from the forward's start.
  int64_t readyNs = 0;
  /// When the backward uses it for the first time, from the backward's start.
  int64_t neededNs = 0;
  /// The durations of both transfers.
  int64_t offloadNs = 0;
  int64_t reloadNs = 0;
  /// Whether it is sent even if nothing hides that.
  bool mayBeExposed = false;
};

struct TransferLimits {
  /// The duration of the forward.
  int64_t forwardNs = 0;
  /// The bytes that the host has room for.
  int64_t hostBytes = 0;
};

/// The candidates to send, ascending.
///
/// Those that are not used for the longest time come first (of equals, those
/// with the smaller index), and each is taken with which the choice is feasible
/// and the host has room: a greedy choice, after which no candidate can be
/// added. What may be exposed is taken whatever hides it, after all the others.
/// O(n log n).
std::vector<int32_t>
chooseHiddenTransfers(const std::vector<TransferCandidate> &candidates,
                      const TransferLimits &limits);

} // namespace mlir::commsched::schedule

#endif // COMMSCHED_SCHEDULE_TRANSFERS_HIDDENTRANSFERS_H
