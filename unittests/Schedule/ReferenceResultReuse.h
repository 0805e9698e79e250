//===- ReferenceResultReuse.h - Reference of result reuse -------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The choice of reuseResults(), which looks at the whole program after every
// collective that it drops.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_UNITTESTS_SCHEDULE_REFERENCERESULTREUSE_H
#define COMMSCHED_UNITTESTS_SCHEDULE_REFERENCERESULTREUSE_H

#include "CommSched/Schedule/Reordering/ResultReuse.h"

#include <algorithm>
#include <map>
#include <set>

namespace mlir::commsched::schedule::testing {

class ReferenceResultReuse {
public:
  ReferenceResultReuse(const Problem &problem,
                       const ReuseCandidates &candidates,
                       std::optional<int64_t> limit)
      : problem(problem), candidates(candidates), state(look({})),
        limit(limit.value_or(state.peakBytes)) {}

  void run() {
    std::vector<std::pair<int64_t, NodeId>> order;
    std::map<NodeId, NodeId> before;
    for (const std::vector<NodeId> &starts : candidates.classes)
      for (size_t place = 1; place < starts.size(); ++place) {
        order.push_back({-problem.costNs(starts[place]), starts[place]});
        before[starts[place]] = starts[place - 1];
      }
    std::sort(order.begin(), order.end());
    for (auto [cost, start] : order) {
      std::map<NodeId, NodeId> trial = dropped;
      trial[start] = before[start];
      State next = look(trial);
      NodeId source = findSource(trial, start);
      NodeId worst = noNode;
      for (NodeId node = 0; node < problem.numNodes(); ++node)
        if (isLive(next, source, node) && !isLive(state, source, node) &&
            !isLive(state, start, node) &&
            (worst == noNode || next.bytes[node] > next.bytes[worst]))
          worst = node;
      if (worst != noNode && next.bytes[worst] > limit) {
        refused[start] = worst;
        needed[start] = next.bytes[worst];
        continue;
      }
      dropped = trial;
      state = next;
    }
  }

  std::vector<NodeId> removed() const {
    return {state.removed.begin(), state.removed.end()};
  }
  int64_t peakBytes() const { return state.peakBytes; }
  int64_t neededBytes(NodeId start) const {
    auto it = needed.find(start);
    return it == needed.end() ? 0 : it->second;
  }
  NodeId obstacle(NodeId start) const {
    auto it = refused.find(start);
    return it == refused.end() ? noNode : it->second;
  }

private:
  struct State {
    std::set<NodeId> removed;
    /// By buffer: from where to where it is live; {0, -1}: nowhere.
    std::vector<std::pair<NodeId, NodeId>> live;
    /// By node, once it has allocated.
    std::vector<int64_t> bytes;
    int64_t peakBytes = 0;
  };

  static NodeId findSource(const std::map<NodeId, NodeId> &dropped,
                           NodeId start) {
    for (auto it = dropped.find(start); it != dropped.end();
         it = dropped.find(start))
      start = it->second;
    return start;
  }

  BufferId delivered(NodeId start) const {
    return problem.buffersMadeBy(start)[0];
  }

  bool isLive(const State &in, NodeId start, NodeId node) const {
    auto [first, last] = in.live[delivered(start)];
    return first <= node && node <= last;
  }

  /// The operations that need a result of `node`.
  std::set<NodeId> consumers(NodeId node) const {
    std::set<NodeId> found;
    for (DependenceEnd end : problem.successors(node))
      if (end.kind == DependenceKind::Data)
        found.insert(end.node);
    for (BufferId buffer : problem.buffersMadeBy(node))
      for (NodeId user : problem.users(buffer))
        if (user != node)
          found.insert(user);
    return found;
  }

  bool mayGo(NodeId node) const {
    if (!candidates.isRemovable[node] ||
        problem.kind(node) != NodeKind::Compute)
      return false;
    for (const std::vector<NodeId> &starts : candidates.classes)
      for (NodeId start : starts)
        for (NodeId user : problem.users(delivered(start)))
          if (user == node)
            return false;
    return !consumers(node).empty();
  }

  State look(const std::map<NodeId, NodeId> &dropped) const {
    State next;
    for (auto [start, source] : dropped) {
      next.removed.insert(start);
      next.removed.insert(problem.waitOf(start));
    }
    for (bool changed = true; changed;) {
      changed = false;
      for (NodeId node = 0; node < problem.numNodes(); ++node) {
        if (!mayGo(node) || next.removed.count(node))
          continue;
        std::set<NodeId> needing = consumers(node);
        if (std::all_of(needing.begin(), needing.end(), [&](NodeId user) {
              return next.removed.count(user) > 0;
            })) {
          next.removed.insert(node);
          changed = true;
        }
      }
    }
    lookAtBuffers(dropped, next);
    return next;
  }

  void lookAtBuffers(const std::map<NodeId, NodeId> &dropped,
                     State &next) const {
    // Uses and freedom of what was dropped are those of its source.
    std::vector<std::set<NodeId>> users(problem.numBuffers());
    std::vector<bool> freed(problem.numBuffers(), true);
    for (BufferId id = 0; id < problem.numBuffers(); ++id) {
      BufferId kept = id;
      NodeId producer = problem.buffer(id).producer;
      if (dropped.count(producer))
        kept = delivered(findSource(dropped, producer));
      for (NodeId user : problem.users(id))
        if (!next.removed.count(user))
          users[kept].insert(user);
      if (!problem.buffer(id).freed)
        freed[kept] = false;
    }
    next.live.assign(problem.numBuffers(), {0, -1});
    next.bytes.assign(problem.numNodes(), 0);
    for (BufferId id = 0; id < problem.numBuffers(); ++id) {
      NodeId producer = problem.buffer(id).producer;
      if (producer != noNode && next.removed.count(producer))
        continue;
      NodeId last = users[id].empty() ? producer : *users[id].rbegin();
      if (!freed[id] || last == noNode)
        last = problem.numNodes();
      next.live[id] = {producer, std::max(producer, last)};
      for (NodeId node = 0; node < problem.numNodes(); ++node)
        if (producer <= node && node <= last)
          next.bytes[node] += problem.buffer(id).bytes;
      if (producer == noNode)
        next.peakBytes += problem.buffer(id).bytes;
    }
    for (NodeId node = 0; node < problem.numNodes(); ++node)
      if (!next.removed.count(node))
        next.peakBytes = std::max(next.peakBytes, next.bytes[node]);
  }

  const Problem &problem;
  const ReuseCandidates &candidates;
  std::map<NodeId, NodeId> dropped;
  State state;
  int64_t limit;
  std::map<NodeId, NodeId> refused;
  std::map<NodeId, int64_t> needed;
};

} // namespace mlir::commsched::schedule::testing

#endif // COMMSCHED_UNITTESTS_SCHEDULE_REFERENCERESULTREUSE_H
