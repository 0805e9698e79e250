//===- LatencyHidingScheduler.cpp - Model of XLA's scheduler --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "LatencyHidingScheduler.h"

#include "CommSched/Schedule/Model/Verify.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <functional>
#include <queue>

using namespace mlir::commsched;
using namespace mlir::commsched::schedule;
using namespace mlir::commsched::schedule::testing;

namespace {

/// Properties of operations that do not change while the scheduler runs.
struct LatencyHidingGraph {
  explicit LatencyHidingGraph(const Problem &problem);

  const Problem &problem;
  /// Each predecessor once, including the producers of buffers.
  Csr<NodeId> predecessors;
  /// Each buffer that an operation uses and another one makes, once.
  Csr<BufferId> uses;
  /// By operation: how many have it as a predecessor, and the exclusive or of
  /// their indices: once only one of them is left, that is its index.
  std::vector<int32_t> numSuccessors;
  std::vector<NodeId> successorBits;
  /// By operation: the longest path to it, in time of collectives and in hops.
  std::vector<int64_t> asyncDepth;
  std::vector<int32_t> depth;
  /// By operation: whether a wait is among its predecessors.
  std::vector<bool> followsWait;

  /// Of the edge between the two.
  int64_t latencyNs(NodeId from, NodeId to) const {
    return problem.kind(from) == NodeKind::Start && problem.waitOf(from) == to
               ? problem.costNs(from)
               : 0;
  }
};

LatencyHidingGraph::LatencyHidingGraph(const Problem &problem)
    : problem(problem), numSuccessors(problem.numNodes()),
      successorBits(problem.numNodes()), asyncDepth(problem.numNodes()),
      depth(problem.numNodes()), followsWait(problem.numNodes()) {
  std::vector<std::pair<NodeId, NodeId>> edges;
  std::vector<std::pair<NodeId, BufferId>> usedBuffers;
  std::vector<NodeId> lastSeenBy(problem.numNodes(), noNode);
  std::vector<NodeId> lastUsedBy(problem.numBuffers(), noNode);
  for (NodeId node = 0; node < problem.numNodes(); ++node) {
    auto add = [&](NodeId from) {
      if (from == noNode || from == node || lastSeenBy[from] == node)
        return;
      lastSeenBy[from] = node;
      edges.emplace_back(from, node);
      ++numSuccessors[from];
      successorBits[from] ^= node;
      followsWait[node] =
          followsWait[node] || problem.kind(from) == NodeKind::Wait;
    };
    for (DependenceEnd end : problem.predecessors(node))
      add(end.node);
    for (BufferId id : problem.buffersUsedBy(node)) {
      NodeId producer = problem.buffer(id).producer;
      if (producer == node || lastUsedBy[id] == node)
        continue;
      lastUsedBy[id] = node;
      usedBuffers.emplace_back(node, id);
      add(producer);
    }
  }
  predecessors.build(
      problem.numNodes(), edges.size(),
      [&](size_t i) { return edges[i].second; },
      [&](size_t i) { return edges[i].first; });
  uses.build(
      problem.numNodes(), usedBuffers.size(),
      [&](size_t i) { return usedBuffers[i].first; },
      [&](size_t i) { return usedBuffers[i].second; });
  for (NodeId node : problem.topologicalOrder())
    for (DependenceEnd end : problem.predecessors(node)) {
      asyncDepth[node] = std::max(
          asyncDepth[node], asyncDepth[end.node] + latencyNs(end.node, node));
      depth[node] = std::max(depth[node], depth[end.node] + 1);
    }
}

/// The change of live bytes when an operation is scheduled.
struct MemoryEffect {
  int64_t increase = 0;
  /// On top of what is live, while it runs.
  int64_t peak = 0;
};

/// One run, with one limit.
class Run {
public:
  Run(const LatencyHidingGraph &graph, const LatencyHidingOptions &options,
      std::optional<int64_t> limitBytes);

  Order takeOrder();
  int64_t peakBytes() const { return peak; }

private:
  /// The key by which two ready operations are compared; the lesser is better.
  using Key = std::array<int64_t, 15>;

  NodeId takeBest();
  Key makeKey(NodeId node) const;
  void addReady(NodeId node);
  void emit(NodeId node);
  void releasePredecessors(NodeId node);
  MemoryEffect effectOf(NodeId node) const;
  MemoryEffect effectOfBothEnds(NodeId node) const;
  void updateMemory(NodeId node);
  /// How long an operation holds the compute stream.
  int64_t durationNs(NodeId node) const {
    return problem.kind(node) == NodeKind::Start ? 0 : problem.costNs(node);
  }
  bool occupies(NodeId node) const {
    return problem.kind(node) == NodeKind::Wait ||
           problem.kind(node) == NodeKind::Blocking;
  }
  StreamId streamOf(NodeId node) const {
    return problem.stream(
        problem.kind(node) == NodeKind::Wait ? problem.startOf(node) : node);
  }
  bool isFull(StreamId stream) const {
    return inFlight[stream] >= options.maxInFlight;
  }
  bool isNothing(NodeId node) const {
    return problem.kind(node) == NodeKind::Compute &&
           problem.costNs(node) == 0 && problem.buffersMadeBy(node).empty();
  }

  const LatencyHidingGraph &graph;
  const Problem &problem;
  const LatencyHidingOptions &options;
  std::optional<int64_t> limit;

  /// In reverse.
  Order order;
  int64_t now = 0;
  std::vector<NodeId> ready;
  std::vector<NodeId> nothings;
  using TimedNode = std::pair<int64_t, NodeId>;
  /// The operations that become ready later, the first at the top.
  std::priority_queue<TimedNode, std::vector<TimedNode>, std::greater<>> later;
  /// By operation: when it is ready; of a scheduled one, when it is over.
  std::vector<int64_t> readyNs;
  std::vector<int32_t> numSuccessors;
  std::vector<NodeId> successorBits;
  /// By operation: how many it is the last missing successor of.
  std::vector<int32_t> numUnlocked;
  /// By stream: collectives in flight, and ready ones that are to join them.
  std::vector<int32_t> inFlight;
  std::vector<int32_t> numWaiting;
  std::vector<bool> isLive;
  int64_t live = 0;
  int64_t peak = 0;
};

} // namespace

Run::Run(const LatencyHidingGraph &graph, const LatencyHidingOptions &options,
         std::optional<int64_t> limitBytes)
    : graph(graph), problem(graph.problem), options(options), limit(limitBytes),
      readyNs(problem.numNodes()), numSuccessors(graph.numSuccessors),
      successorBits(graph.successorBits), numUnlocked(problem.numNodes()),
      inFlight(problem.numStreams()), numWaiting(problem.numStreams()),
      isLive(problem.numBuffers()) {
  for (BufferId id = 0; id < problem.numBuffers(); ++id) {
    const Buffer &buffer = problem.buffer(id);
    isLive[id] = !buffer.freed ||
                 (buffer.producer == noNode && problem.users(id).empty());
    live += isLive[id] ? buffer.bytes : 0;
  }
  peak = live;
  for (NodeId node = 0; node < problem.numNodes(); ++node) {
    if (numSuccessors[node] == 0)
      addReady(node);
    else if (numSuccessors[node] == 1)
      ++numUnlocked[successorBits[node]];
  }
}

Order Run::takeOrder() {
  while (!ready.empty() || !nothings.empty()) {
    if (nothings.empty()) {
      emit(takeBest());
      continue;
    }
    NodeId node = nothings.back();
    nothings.pop_back();
    emit(node);
  }
  std::reverse(order.begin(), order.end());
  return std::move(order);
}

/// The best of the ready operations, taken out of them.
NodeId Run::takeBest() {
  size_t best = ready.size();
  Key bestKey = {};
  for (bool isLimited : {true, false}) {
    for (size_t i = 0; i < ready.size(); ++i) {
      if (isLimited && occupies(ready[i]) && isFull(streamOf(ready[i])))
        continue;
      Key key = makeKey(ready[i]);
      if (best < ready.size() && bestKey < key)
        continue;
      best = i;
      bestKey = key;
    }
    if (best < ready.size())
      break;
  }
  NodeId node = ready[best];
  ready[best] = ready.back();
  ready.pop_back();
  if (occupies(node))
    --numWaiting[streamOf(node)];
  return node;
}

Run::Key Run::makeKey(NodeId node) const {
  Key key{};
  size_t next = 0;
  auto add = [&](int64_t value) { key[next++] = value; };
  bool isStart = problem.kind(node) == NodeKind::Start;
  bool isBackedUp = isStart && isFull(problem.stream(node)) &&
                    numWaiting[problem.stream(node)] > 0;
  MemoryEffect effect;
  bool isMemoryShort = limit && live > *limit / 2;
  bool isOverLimit = limit && live >= *limit;
  if (isMemoryShort)
    effect = effectOfBothEnds(node);
  bool byDepth = isOverLimit && options.reducesPressureByDepth;

  add(options.preferences.empty() ? 0 : -options.preferences[node]);
  add(byDepth && effect.increase > 0);
  add(byDepth ? -graph.depth[node] : 0);
  add(isOverLimit ? effect.increase : 0);
  add(isMemoryShort && live + effect.peak > *limit);
  add(problem.kind(node) != NodeKind::Wait);
  add(std::max<int64_t>(readyNs[node] - now, 0));
  add(isStart && graph.asyncDepth[node] == 0 && !isBackedUp);
  add(!isBackedUp);
  add(-graph.asyncDepth[node]);
  add(later.empty() ? 0 : std::abs(later.top().first - now - durationNs(node)));
  add(!graph.followsWait[node]);
  add(-numUnlocked[node]);
  add(effect.increase >= 0);
  add(-node);
  return key;
}

void Run::addReady(NodeId node) {
  readyNs[node] = std::max(readyNs[node], now);
  if (isNothing(node)) {
    nothings.push_back(node);
    return;
  }
  ready.push_back(node);
  if (readyNs[node] > now)
    later.emplace(readyNs[node], node);
  if (occupies(node))
    ++numWaiting[streamOf(node)];
}

void Run::emit(NodeId node) {
  order.push_back(node);
  now = std::max(now, readyNs[node]) + durationNs(node);
  readyNs[node] = now;
  while (!later.empty() && later.top().first <= now)
    later.pop();
  if (problem.kind(node) == NodeKind::Wait)
    ++inFlight[streamOf(node)];
  else if (problem.kind(node) == NodeKind::Start)
    --inFlight[streamOf(node)];
  updateMemory(node);
  releasePredecessors(node);
}

void Run::releasePredecessors(NodeId node) {
  for (NodeId from : graph.predecessors[node]) {
    readyNs[from] = std::max(readyNs[from], now + graph.latencyNs(from, node));
    successorBits[from] ^= node;
    if (--numSuccessors[from] == 0)
      addReady(from);
    else if (numSuccessors[from] == 1)
      ++numUnlocked[successorBits[from]];
  }
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

/// Backwards a buffer lives from its last user to the operation that makes it.
MemoryEffect Run::effectOf(NodeId node) const {
  MemoryEffect effect;
  for (BufferId id : graph.uses[node])
    if (!isLive[id])
      effect.peak += problem.buffer(id).bytes;
  effect.increase = effect.peak;
  for (BufferId id : problem.buffersMadeBy(node)) {
    if (isLive[id])
      effect.increase -= problem.buffer(id).bytes;
    else
      effect.peak += problem.buffer(id).bytes;
  }
  return effect;
}

/// A wait is judged together with its start, which has to follow.
MemoryEffect Run::effectOfBothEnds(NodeId node) const {
  MemoryEffect effect = effectOf(node);
  if (problem.kind(node) == NodeKind::Wait) {
    MemoryEffect start = effectOf(problem.startOf(node));
    effect.increase = std::min(effect.increase, start.increase);
    effect.peak = std::max(effect.peak, start.peak);
  }
  return effect;
}

void Run::updateMemory(NodeId node) {
  MemoryEffect effect = effectOf(node);
  peak = std::max(peak, live + effect.peak);
  live += effect.increase;
  for (BufferId id : graph.uses[node])
    isLive[id] = true;
  for (BufferId id : problem.buffersMadeBy(node))
    isLive[id] = false;
}

Result<LatencyHidingSchedule>
schedule::testing::hideLatency(const Problem &problem,
                               const LatencyHidingOptions &options) {
  if (!problem.check())
    return problem.check();
  if (options.maxInFlight < 1)
    return Error{"no collective may be in flight"};
  if (!options.preferences.empty() &&
      options.preferences.size() != static_cast<size_t>(problem.numNodes()))
    return Error{"not every operation has a preference"};
  LatencyHidingGraph graph(problem);
  LatencyHidingSchedule schedule;
  std::optional<int64_t> limit = options.limitBytes;
  while (true) {
    Run run(graph, options, limit);
    schedule.order = run.takeOrder();
    schedule.peakBytes = run.peakBytes();
    if (Status status = verify(problem, schedule.order); !status)
      return status;
    if (!limit || schedule.peakBytes <= *limit ||
        schedule.numReruns >= options.numReruns)
      return schedule;
    ++schedule.numReruns;
    limit = *limit / 10 * 9 + *limit % 10 * 9 / 10;
  }
}
