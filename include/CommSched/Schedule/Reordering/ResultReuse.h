//===- ResultReuse.h - Reuse of collective results --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Common subexpression elimination of collectives within a memory limit. Some
// collectives have the same result as an earlier one, such as the second
// all-gather of a parameter. Such a collective can be dropped if the earlier
// result stays live in between, which takes memory.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_SCHEDULE_REORDERING_RESULTREUSE_H
#define COMMSCHED_SCHEDULE_REORDERING_RESULTREUSE_H

#include "CommSched/Schedule/Model/Problem.h"

namespace mlir::commsched::schedule {

/// Which collectives may be dropped.
struct ReuseCandidates {
  /// Disjoint sets of Starts that deliver the same, each in the order of their
  /// waits in the program. Every start delivers one buffer, which no operation
  /// uses before the wait, and may make others for transport. All results of a
  /// set have the same size.
  std::vector<std::vector<NodeId>> classes;
  /// By node: whether the operation may go as well once nothing that needs its
  /// results is left. One that uses what a start in `classes` delivers stays.
  std::vector<bool> isRemovable;
};

/// The decision on one collective with an equal earlier result.
struct ReuseDecision {
  NodeId start = noNode;
  /// Dropped: the collective whose result is used instead. Kept: the one before
  /// it in its class, or what that one uses itself.
  NodeId source = noNode;
  bool isDropped = false;
  /// Kept: the live bytes that keeping the result would take at most, and the
  /// first operation at which it would.
  int64_t neededBytes = 0;
  NodeId obstacle = noNode;
};

struct ResultReuse {
  /// Of all but the first of each class, one class after the other.
  std::vector<ReuseDecision> decisions;
  /// By node: the starts that are dropped, their waits, and removable
  /// operations whose results are unused afterwards.
  std::vector<bool> isRemoved;
  int64_t limitBytes = 0;
  /// Live bytes of the program at its peak, and without what is removed.
  int64_t oldPeakBytes = 0;
  int64_t newPeakBytes = 0;
};

/// Drops collectives, those that take longest first (of several the first in
/// the program), if the result of the source can be kept: live bytes, arguments
/// included, stay within `limitBytes` wherever it was not there before and
/// neither was that of the collective. Without a limit that is the program's
/// peak. A program that is over the limit elsewhere may stay so. Operations
/// keep their order.
///
/// The peak is checked by simulating what is left. Error: the problem's own;
/// its program is no legal order; or the candidates are not as they have to be.
/// O((nodes + buffers + uses + dependences) log nodes).
Result<ResultReuse> reuseResults(const Problem &problem,
                                 const ReuseCandidates &candidates,
                                 std::optional<int64_t> limitBytes = {});

} // namespace mlir::commsched::schedule

#endif // COMMSCHED_SCHEDULE_REORDERING_RESULTREUSE_H
