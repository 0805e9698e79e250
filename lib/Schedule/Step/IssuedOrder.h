//===- IssuedOrder.h - Orders under construction ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An order under construction with its clocks and live bytes so far. In
// addition to Clocks and LiveBytes it has streams that exclude each other and
// collectives that are taken to be longer than they are.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_SCHEDULE_STEP_ISSUEDORDER_H
#define COMMSCHED_LIB_SCHEDULE_STEP_ISSUEDORDER_H

#include "../Model/RunState.h"

#include <algorithm>
#include <utility>

namespace mlir::commsched::schedule {

class IssuedOrder {
public:
  /// Nothing is issued. `exclusive`: pairs of streams that never have
  /// collectives in flight together. `slackPercent`: by how much longer than
  /// they are collectives are taken to be. O(nodes + buffers + pairs).
  IssuedOrder(const Problem &problem,
              const std::vector<std::pair<StreamId, StreamId>> &exclusive,
              int32_t slackPercent = 0)
      : problem(problem), slackPercent(slackPercent),
        isIssued(problem.numNodes(), 0), exclusiveStreams(problem.numStreams()),
        communicated(problem.numStreams(), 0), clocks(problem), live(problem),
        peak(live.bytes()) {
    issued.reserve(problem.numNodes());
    for (auto [a, b] : exclusive) {
      exclusiveStreams[a].push_back(b);
      exclusiveStreams[b].push_back(a);
    }
  }

  /// Appends an operation, after all that it depends on. O(buffers that it
  /// makes or uses + streams that are exclusive with its own).
  void issue(NodeId node) {
    issued.push_back(node);
    isIssued[node] = 1;
    if (problem.isCollective(node)) {
      clocks.issue(node, collectiveNs(node));
      communicated[problem.stream(node)] += collectiveNs(node);
      for (StreamId other : exclusiveStreams[problem.stream(node)])
        clocks.holdStream(other, clocks.endNs(node));
    } else {
      clocks.issue(node);
      computed += problem.costNs(node);
    }
    peak = std::max(peak, live.issue(node));
  }

  bool contains(NodeId node) const { return isIssued[node]; }
  const Order &order() const { return issued; }
  Order takeOrder() { return std::move(issued); }

  /// How long the collective of a Start or Blocking is taken to be.
  int64_t collectiveNs(NodeId node) const {
    return problem.costNs(node) + problem.costNs(node) / 100 * slackPercent;
  }
  /// When the compute stream is done.
  int64_t nowNs() const { return clocks.nowNs(); }
  /// When the next collective of the stream can begin, as far as its own and
  /// exclusive streams are concerned.
  int64_t freeNs(StreamId stream) const {
    return clocks.streamEndsNs()[stream];
  }
  /// When the collective of a Start that is issued ends.
  int64_t endNs(NodeId start) const { return clocks.endNs(start); }
  /// When all streams are done.
  int64_t stepNs() const { return clocks.stepNs(); }
  /// Sum of the costs of the computation that is issued.
  int64_t computedNs() const { return computed; }
  /// Sum of the times of the collectives of the stream that are issued.
  int64_t communicatedNs(StreamId stream) const { return communicated[stream]; }

  int64_t liveBytes() const { return live.bytes(); }
  /// Returns the most that was live since the last call.
  int64_t takePeak() { return std::exchange(peak, live.bytes()); }

private:
  const Problem &problem;
  int32_t slackPercent;
  Order issued;
  std::vector<char> isIssued;
  /// By stream.
  std::vector<std::vector<StreamId>> exclusiveStreams;
  std::vector<int64_t> communicated;
  Clocks clocks;
  LiveBytes live;
  int64_t computed = 0;
  int64_t peak;
};

} // namespace mlir::commsched::schedule

#endif // COMMSCHED_LIB_SCHEDULE_STEP_ISSUEDORDER_H
