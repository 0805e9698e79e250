//===- ExactStep.h - Shortest step of a small problem -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The shortest step of all legal orders within a limit of live bytes, by
// dynamic programming over the sets of operations that have been issued. It is
// fast where there are few such sets, as of a region in a few chunks.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_UNITTESTS_SCHEDULE_EXACTSTEP_H
#define COMMSCHED_UNITTESTS_SCHEDULE_EXACTSTEP_H

#include "CommSched/Schedule/Model/Problem.h"

#include <algorithm>
#include <map>
#include <optional>

namespace mlir::commsched::schedule::testing {

class ExactStep {
public:
  /// `problem` has at most 64 operations and no uses without dependences.
  ExactStep(const Problem &problem, int64_t limitBytes)
      : problem(problem), limitBytes(limitBytes) {}

  /// The shortest step; std::nullopt if no order is within the limit.
  std::optional<int64_t> find() {
    if (liveBytes(0) > limitBytes)
      return std::nullopt;
    Sets sets = {{0, {State(1 + problem.numStreams())}}};
    for (NodeId issued = 0; issued < problem.numNodes(); ++issued) {
      Sets next;
      for (const auto &[set, states] : sets) {
        int64_t live = liveBytes(set);
        std::vector<NodeId> flights = listFlights(set);
        for (NodeId node = 0; node < problem.numNodes(); ++node)
          if (isReady(set, node) && live + madeBytes(node) <= limitBytes)
            for (const State &state : states)
              keep(next[set | bit(node)], issue(flights, state, node));
      }
      sets = std::move(next);
    }
    std::optional<int64_t> best;
    for (const auto &[set, states] : sets)
      for (const State &state : states) {
        int64_t stepNs = *std::max_element(state.begin(), state.end());
        best = std::min(best.value_or(stepNs), stepNs);
      }
    return best;
  }

  /// The smallest limit within which there is an order.
  int64_t findLeastPeak() const {
    std::map<Set, int64_t> peaks = {{0, liveBytes(0)}};
    for (NodeId issued = 0; issued < problem.numNodes(); ++issued) {
      std::map<Set, int64_t> next;
      for (auto [set, peak] : peaks)
        for (NodeId node = 0; node < problem.numNodes(); ++node)
          if (isReady(set, node)) {
            int64_t least = std::max(peak, liveBytes(set) + madeBytes(node));
            auto [it, isNew] = next.insert({set | bit(node), least});
            it->second = std::min(it->second, least);
          }
      peaks = std::move(next);
    }
    return peaks.begin()->second;
  }

private:
  using Set = uint64_t;
  /// The clock of the compute stream, those of the other streams, and the ends
  /// of collectives that have not been waited for, by their index.
  using State = std::vector<int64_t>;
  using Sets = std::map<Set, std::vector<State>>;

  static Set bit(NodeId node) { return Set(1) << node; }

  int64_t liveBytes(Set set) const {
    int64_t bytes = 0;
    for (BufferId id = 0; id < problem.numBuffers(); ++id) {
      const Buffer &buffer = problem.buffer(id);
      bool isMade = buffer.producer == noNode || (set & bit(buffer.producer));
      bool isOver = buffer.freed &&
                    (buffer.producer != noNode || !problem.users(id).empty());
      for (NodeId user : problem.users(id))
        isOver = isOver && (set & bit(user));
      if (isMade && !isOver)
        bytes += buffer.bytes;
    }
    return bytes;
  }

  bool isReady(Set set, NodeId node) const {
    if (set & bit(node))
      return false;
    for (DependenceEnd end : problem.predecessors(node))
      if (!(set & bit(end.node)))
        return false;
    return true;
  }

  int64_t madeBytes(NodeId node) const {
    int64_t bytes = 0;
    for (BufferId id : problem.buffersMadeBy(node))
      bytes += problem.buffer(id).bytes;
    return bytes;
  }

  /// The collectives of a set that have not been waited for, by their index.
  std::vector<NodeId> listFlights(Set set) const {
    std::vector<NodeId> flights;
    for (NodeId node = 0; node < problem.numNodes(); ++node)
      if (problem.kind(node) == NodeKind::Start && (set & bit(node)) &&
          !(set & bit(problem.waitOf(node))))
        flights.push_back(node);
    return flights;
  }

  State issue(const std::vector<NodeId> &flights, const State &state,
              NodeId node) const {
    std::map<NodeId, int64_t> ends;
    size_t index = 1 + problem.numStreams();
    for (NodeId start : flights)
      ends[start] = state[index++];
    State next(state.begin(), state.begin() + 1 + problem.numStreams());
    if (problem.kind(node) == NodeKind::Compute) {
      next[0] += problem.costNs(node);
    } else if (problem.kind(node) == NodeKind::Wait) {
      next[0] = std::max(next[0], ends[problem.startOf(node)]);
      ends.erase(problem.startOf(node));
    } else {
      int64_t &streamNs = next[1 + problem.stream(node)];
      streamNs = std::max(streamNs, next[0]) + problem.costNs(node);
      if (problem.kind(node) == NodeKind::Start)
        ends[node] = streamNs;
      else
        next[0] = streamNs;
    }
    for (auto [start, endNs] : ends)
      next.push_back(endNs);
    // What is over makes no difference.
    for (int64_t &timeNs : next)
      timeNs = std::max(timeNs, next[0]);
    return next;
  }

  /// Adds a state unless another one is at least as early in all respects.
  static void keep(std::vector<State> &states, State state) {
    auto isEarlier = [](const State &a, const State &b) {
      for (size_t i = 0; i < a.size(); ++i)
        if (a[i] > b[i])
          return false;
      return true;
    };
    for (const State &other : states)
      if (isEarlier(other, state))
        return;
    states.erase(std::remove_if(states.begin(), states.end(),
                                [&](const State &other) {
                                  return isEarlier(state, other);
                                }),
                 states.end());
    states.push_back(std::move(state));
  }

  const Problem &problem;
  int64_t limitBytes;
};

} // namespace mlir::commsched::schedule::testing

#endif // COMMSCHED_UNITTESTS_SCHEDULE_EXACTSTEP_H
