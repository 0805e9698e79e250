//===- PartialOrder.h - How a step begins -----------------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The state of a step of which the first operations have been issued, as the
// models of time and memory have it, and a bound on how long the whole takes.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_SCHEDULE_STEP_PARTIALORDER_H
#define COMMSCHED_LIB_SCHEDULE_STEP_PARTIALORDER_H

#include "CommSched/Schedule/Problem.h"

namespace mlir::commsched::schedule {

/// What has been issued, and what that leads to.
struct PartialOrder {
  /// By operation: how many dependences it waits for; -1 once it is issued.
  std::vector<int32_t> numMissing;
  /// By buffer: who has not used it yet, and who makes it.
  std::vector<int32_t> usersLeft;
  /// By Start that is issued: when the collective ends.
  std::vector<int64_t> endsNs;
  std::vector<int64_t> streamsNs;
  int64_t clockNs = 0;
  int64_t liveBytes = 0;
  /// Tells sets of issued operations apart.
  uint64_t issuedHash = 0;

  bool isIssued(NodeId node) const { return numMissing[node] < 0; }
  bool isReady(NodeId node) const { return numMissing[node] == 0; }
};

/// Continues partial orders of one problem.
class PartialOrders {
public:
  /// `problem` has to live on; its program is a legal order.
  /// O(nodes log nodes + dependences + uses).
  explicit PartialOrders(const Problem &problem);

  /// Nothing is issued.
  PartialOrder makeEmpty() const;

  /// Issues a ready operation. Returns the live bytes beside it.
  /// O(its dependences and buffers).
  int64_t issue(PartialOrder &partial, NodeId node) const;

  /// The ready operations that are worth issuing next, ascending. A wait that
  /// takes neither time nor memory comes before all else. O(nodes).
  const std::vector<NodeId> &listChoices(const PartialOrder &partial);

  /// No order that begins like this is shorter. O(nodes + dependences).
  int64_t findBoundNs(const PartialOrder &partial);

private:
  void findTails();

  const Problem &problem;
  /// By operation: how long the step goes on at least from when the compute
  /// stream is past it.
  std::vector<int64_t> tailsNs;
  /// By collective: from when it ends; by Compute as above.
  std::vector<int64_t> endTailsNs;
  /// What takes time, the longest tail first.
  std::vector<NodeId> byEndTail;

  // What is used again and again.
  std::vector<NodeId> choices;
  std::vector<int64_t> headsNs, releasesNs;
  std::vector<int64_t> firstHeads, sums;
};

} // namespace mlir::commsched::schedule

#endif // COMMSCHED_LIB_SCHEDULE_STEP_PARTIALORDER_H
