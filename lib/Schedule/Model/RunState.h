//===- RunState.h - State of a partially executed schedule ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The time model and the memory model, one operation at a time. simulate() and
// simulateMemory() run them over a whole order; solvers that build or compare
// orders keep a state and issue operations to it. Solvers issue millions of
// operations, so everything is inline and nothing allocates memory but the
// constructors.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_SCHEDULE_MODEL_RUNSTATE_H
#define COMMSCHED_LIB_SCHEDULE_MODEL_RUNSTATE_H

#include "CommSched/Schedule/Model/Problem.h"

#include <algorithm>

namespace mlir::commsched::schedule {

/// The clocks of the compute stream and of the communication streams, by the
/// rules of simulate() without contention.
class Clocks {
public:
  /// When an operation begins and ends, and how long the compute stream stands
  /// still for it, as in Timeline.
  struct Interval {
    int64_t beginNs;
    int64_t endNs;
    int64_t exposedNs;
  };

  /// All clocks are 0. `problem` has to live on. O(nodes + streams).
  explicit Clocks(const Problem &problem)
      : problem(&problem), endsNs(problem.numNodes()),
        streamsNs(problem.numStreams()) {}

  /// Issues an operation. The Start of a Wait has to be issued before. O(1).
  Interval issue(NodeId node) { return issue(node, problem->costNs(node)); }
  /// Issues an operation that takes `durationNs` instead of its cost.
  Interval issue(NodeId node, int64_t durationNs) {
    Interval interval = peek(node, durationNs);
    if (problem->isCollective(node))
      endsNs[node] = streamsNs[problem->stream(node)] = interval.endNs;
    if (problem->kind(node) != NodeKind::Start)
      computeNs = interval.endNs;
    return interval;
  }

  /// What issue() would return.
  Interval peek(NodeId node) const { return peek(node, problem->costNs(node)); }
  Interval peek(NodeId node, int64_t durationNs) const {
    // No sum overflows: the sum of all costs is known to fit.
    switch (problem->kind(node)) {
    case NodeKind::Compute: {
      int64_t beginNs = computeNs;
      for (NodeId start : problem->collectivesEndedBefore(node))
        beginNs = std::max(beginNs, endsNs[start]);
      return {beginNs, beginNs + durationNs, beginNs - computeNs};
    }
    case NodeKind::Wait: {
      int64_t end = std::max(computeNs, endsNs[problem->startOf(node)]);
      return {computeNs, end, end - computeNs};
    }
    case NodeKind::Start:
    case NodeKind::Blocking:
      break;
    }
    int64_t beginNs = std::max(computeNs, streamsNs[problem->stream(node)]);
    int64_t endNs = beginNs + durationNs;
    bool isStart = problem->kind(node) == NodeKind::Start;
    return {beginNs, endNs, isStart ? 0 : endNs - computeNs};
  }

  /// Lets no collective of the stream begin before `untilNs`.
  void holdStream(StreamId stream, int64_t untilNs) {
    streamsNs[stream] = std::max(streamsNs[stream], untilNs);
  }

  /// When the compute stream is done with all that is issued.
  int64_t nowNs() const { return computeNs; }
  /// By stream: when it is done with all that is issued.
  const std::vector<int64_t> &streamEndsNs() const { return streamsNs; }
  /// When the collective of a Start or Blocking that is issued ends.
  int64_t endNs(NodeId collective) const { return endsNs[collective]; }
  /// When all streams are done.
  int64_t stepNs() const {
    int64_t end = computeNs;
    for (int64_t streamNs : streamsNs)
      end = std::max(end, streamNs);
    return end;
  }

private:
  const Problem *problem;
  /// By Start and Blocking that is issued.
  std::vector<int64_t> endsNs;
  std::vector<int64_t> streamsNs;
  int64_t computeNs = 0;
};

/// The live bytes, by the rules of simulateMemory().
class LiveBytes {
public:
  /// Nothing is issued: what has no producer is live. `problem` has to live on.
  /// O(buffers).
  explicit LiveBytes(const Problem &problem)
      : LiveBytes(problem, [](BufferId) { return false; }) {}
  /// The same where buffers for which `isKept` is true are never freed.
  template <typename KeptFn>
  LiveBytes(const Problem &problem, KeptFn isKept)
      : problem(&problem), holds(problem.numBuffers()) {
    for (BufferId id = 0; id < problem.numBuffers(); ++id) {
      const Buffer &buffer = problem.buffer(id);
      bool isInitial = buffer.producer == noNode;
      size_t numUsers = problem.users(id).size();
      // The caller holds what is never freed.
      bool stays = !buffer.freed || (isInitial && numUsers == 0) || isKept(id);
      holds[id] = static_cast<int32_t>(numUsers) + !isInitial + stays;
      if (isInitial)
        live += buffer.bytes;
    }
  }

  /// Issues an operation: allocates its buffers, then frees those that it is
  /// the last to hold. Returns the live bytes in between.
  /// O(buffers that it makes or uses).
  int64_t issue(NodeId node) {
    return issue(node, [](BufferId) {});
  }
  /// Calls `onFree` with each buffer that is freed.
  template <typename FreeFn> int64_t issue(NodeId node, FreeFn onFree) {
    for (BufferId id : problem->buffersMadeBy(node))
      live += problem->buffer(id).bytes;
    int64_t allocated = live;
    auto release = [&](BufferId id) {
      if (--holds[id] > 0)
        return;
      live -= problem->buffer(id).bytes;
      onFree(id);
    };
    for (BufferId id : problem->buffersMadeBy(node))
      release(id);
    for (BufferId id : problem->buffersUsedBy(node))
      release(id);
    return allocated;
  }

  /// Takes back the last issue().
  void undo(NodeId node) {
    auto hold = [&](BufferId id) {
      if (holds[id]++ == 0)
        live += problem->buffer(id).bytes;
    };
    for (BufferId id : problem->buffersMadeBy(node)) {
      hold(id);
      live -= problem->buffer(id).bytes;
    }
    for (BufferId id : problem->buffersUsedBy(node))
      hold(id);
  }

  int64_t bytes() const { return live; }
  /// The number of operations that are not issued and hold the buffer, as
  /// producer or as user (one that is both counts twice); and one more if it is
  /// never freed.
  int32_t numHolds(BufferId id) const { return holds[id]; }

private:
  const Problem *problem;
  /// By buffer: numHolds().
  std::vector<int32_t> holds;
  int64_t live = 0;
};

} // namespace mlir::commsched::schedule

#endif // COMMSCHED_LIB_SCHEDULE_MODEL_RUNSTATE_H
