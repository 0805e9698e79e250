//===- IssuedOrder.h - An order that grows ----------------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An order under construction, with its clocks and live bytes so far: the
// forms of simulate() and simulateMemory() for orders that only grow at their
// end.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_SCHEDULE_STEP_ISSUEDORDER_H
#define COMMSCHED_LIB_SCHEDULE_STEP_ISSUEDORDER_H

#include "CommSched/Schedule/Problem.h"

#include <algorithm>
#include <utility>

namespace mlir::commsched::schedule {

class IssuedOrder {
public:
  /// Nothing is issued. `exclusive`: streams that never have collectives in
  /// flight together. `slackPercent`: by how much longer than they are
  /// collectives are taken to be. O(nodes + buffers + uses).
  IssuedOrder(const Problem &problem,
              const std::vector<std::pair<StreamId, StreamId>> &exclusive,
              int32_t slackPercent = 0);

  /// Appends an operation, after all that it depends on.
  /// O(buffers that it makes or uses + streams that are exclusive with its
  /// own).
  void issue(NodeId node);

  bool contains(NodeId node) const { return isIssued[node]; }
  const Order &order() const { return issued; }
  Order takeOrder() { return std::move(issued); }

  /// How long the collective of a Start or Blocking is taken to be.
  int64_t collectiveNs(NodeId node) const {
    return problem.costNs(node) + problem.costNs(node) / 100 * slackPercent;
  }
  /// When the compute stream is done.
  int64_t nowNs() const { return clockNs; }
  /// When the next collective of the stream can begin, as far as its own and
  /// exclusive streams are concerned.
  int64_t freeNs(StreamId stream) const { return streamNs[stream]; }
  /// When the collective of a Start that is issued ends.
  int64_t endNs(NodeId start) const { return endsNs[start]; }
  /// When all streams are done.
  int64_t stepNs() const {
    int64_t endNs = clockNs;
    for (int64_t stream : streamNs)
      endNs = std::max(endNs, stream);
    return endNs;
  }
  /// Sum of the costs of computation so far.
  int64_t computedNs() const { return computed; }

  int64_t liveBytes() const { return live; }
  /// The most that was live since the last call.
  int64_t takePeak() {
    int64_t largest = peak;
    peak = live;
    return largest;
  }

private:
  const Problem &problem;
  int32_t slackPercent;
  Order issued;
  std::vector<char> isIssued;
  std::vector<int64_t> endsNs;
  std::vector<int64_t> streamNs;
  std::vector<std::vector<StreamId>> exclusiveStreams;
  int64_t clockNs = 0;
  int64_t computed = 0;
  /// By buffer: how many of its users are not issued.
  std::vector<int32_t> usersLeft;
  int64_t live = 0;
  int64_t peak = 0;
};

} // namespace mlir::commsched::schedule

#endif // COMMSCHED_LIB_SCHEDULE_STEP_ISSUEDORDER_H
