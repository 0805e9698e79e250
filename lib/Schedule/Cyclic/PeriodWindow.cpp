//===- PeriodWindow.cpp - From an operation to its next repetition --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "PeriodWindow.h"

#include "../Bounds/OneMachine.h"
#include "CommSched/Support/Csr.h"

#include <algorithm>
#include <array>

using namespace mlir::commsched;
using namespace mlir::commsched::schedule;

namespace {

/// The windows of the computation on a critical path of a repetition.
class Windows {
public:
  Windows(const Problem &body, const std::vector<TimedDependence> &edges);

  Result<TightLowerBound> boundLongest() const;

private:
  /// By operation: the longest path over so many repetitions; negative: none.
  using Paths = std::array<std::vector<int64_t>, 2>;

  std::vector<NodeId> findCriticalPath() const;
  template <typename It>
  Paths findPaths(NodeId node, It begin, It end, const Csr<int32_t> &edgesOf,
                  NodeId TimedDependence::*other) const;
  /// Those from `node`, or to it.
  Paths findFrom(NodeId node) const;
  Paths findTo(NodeId node) const;
  int64_t estimate(NodeId pivot) const;
  std::vector<int32_t> findInstances(NodeId pivot) const;
  Problem makeProgram(NodeId pivot) const;

  const Problem &body;
  const std::vector<TimedDependence> &edges;
  Csr<int32_t> edgesFrom;
  Csr<int32_t> edgesTo;
  std::vector<NodeId> pivots;
};

} // namespace

/// Leaves at most `count` of the nodes, evenly spread.
static void spread(std::vector<NodeId> &nodes, size_t count) {
  count = std::min(nodes.size(), count);
  for (size_t i = 0; i < count; ++i)
    nodes[i] = nodes[i * nodes.size() / count];
  nodes.resize(count);
}

Windows::Windows(const Problem &body, const std::vector<TimedDependence> &edges)
    : body(body), edges(edges) {
  auto getIndex = [](size_t i) { return static_cast<int32_t>(i); };
  edgesFrom.build(
      body.numNodes(), edges.size(), [&](size_t i) { return edges[i].from; },
      getIndex);
  edgesTo.build(
      body.numNodes(), edges.size(), [&](size_t i) { return edges[i].to; },
      getIndex);
  pivots = findCriticalPath();
  // A number that keeps the bound cheaper than a schedule.
  constexpr size_t maxVisited = 1 << 23, leastPivots = 8;
  spread(pivots,
         std::max(leastPivots, maxVisited / std::max<size_t>(edges.size(), 1)));
}

/// The computation on a longest path within a repetition.
std::vector<NodeId> Windows::findCriticalPath() const {
  std::vector<int64_t> reachedNs(body.numNodes());
  std::vector<NodeId> before(body.numNodes(), noNode);
  NodeId last = noNode;
  for (NodeId node : body.topologicalOrder()) {
    for (int32_t index : edgesTo[node]) {
      const TimedDependence &edge = edges[index];
      int64_t ns = reachedNs[edge.from] + edge.ns;
      if (edge.distance == 0 && ns >= reachedNs[node]) {
        reachedNs[node] = ns;
        before[node] = edge.from;
      }
    }
    if (last == noNode || reachedNs[node] > reachedNs[last])
      last = node;
  }
  std::vector<NodeId> path;
  for (; last != noNode; last = before[last])
    if (body.kind(last) == NodeKind::Compute)
      path.push_back(last);
  return path;
}

template <typename It>
Windows::Paths Windows::findPaths(NodeId node, It begin, It end,
                                  const Csr<int32_t> &edgesOf,
                                  NodeId TimedDependence::*other) const {
  Paths paths;
  paths.fill(std::vector<int64_t>(body.numNodes(), -1));
  paths[0][node] = 0;
  for (size_t repetition : {0, 1})
    for (It it = begin; it != end; ++it) {
      int64_t ns = paths[repetition][*it];
      if (ns < 0)
        continue;
      for (int32_t index : edgesOf[*it]) {
        const TimedDependence &edge = edges[index];
        if (repetition + edge.distance > 1)
          continue;
        int64_t &path = paths[repetition + edge.distance][edge.*other];
        path = std::max(path, ns + edge.ns);
      }
    }
  return paths;
}

Windows::Paths Windows::findFrom(NodeId node) const {
  const Order &order = body.topologicalOrder();
  return findPaths(node, order.begin(), order.end(), edgesFrom,
                   &TimedDependence::to);
}

Windows::Paths Windows::findTo(NodeId node) const {
  const Order &order = body.topologicalOrder();
  return findPaths(node, order.rbegin(), order.rend(), edgesTo,
                   &TimedDependence::from);
}

/// A bound of the window by paths and by each stream alone.
int64_t Windows::estimate(NodeId pivot) const {
  Paths heads = findFrom(pivot), tails = findTo(pivot);
  std::vector<std::vector<Job>> jobs(body.numStreams());
  for (NodeId node = 0; node < body.numNodes(); ++node) {
    if (!body.isCollective(node))
      continue;
    Job job = {0, body.costNs(node), 0};
    // Where the collective has ended, and what of the path is its own time.
    NodeId wait = body.waitOf(node);
    NodeId end = wait == noNode ? node : wait;
    int64_t ownNs = wait == noNode ? job.timeNs : 0;
    for (size_t repetition : {0, 1})
      if (heads[repetition][node] >= 0 && tails[1 - repetition][end] >= 0) {
        job.headNs = heads[repetition][node];
        job.tailNs = tails[1 - repetition][end] - ownNs;
      }
    jobs[body.stream(node)].push_back(job);
  }
  int64_t longestNs = 0;
  for (std::vector<Job> &stream : jobs)
    longestNs = std::max(longestNs, computePreemptiveEnd(std::move(stream)));
  return longestNs;
}

/// By operation: 0 for the instance of the repetition in which the window of
/// `pivot` begins, 1 for that of the next; -1 if no instance has to be in it as
/// a whole.
std::vector<int32_t> Windows::findInstances(NodeId pivot) const {
  Paths heads = findFrom(pivot), tails = findTo(pivot);
  std::vector<int32_t> instances(body.numNodes(), -1);
  for (NodeId node = 0; node < body.numNodes(); ++node)
    for (size_t repetition : {0, 1})
      if (heads[repetition][node] >= 0 && tails[1 - repetition][node] >= 0)
        instances[node] = static_cast<int32_t>(repetition);
  // The next one is on the same stream.
  instances[pivot] = 0;
  return instances;
}

Problem Windows::makeProgram(NodeId pivot) const {
  std::vector<int32_t> instances = findInstances(pivot);
  auto isWhole = [&](NodeId start) {
    return instances[start] >= 0 &&
           instances[start] == instances[body.waitOf(start)];
  };
  Problem program;
  // Where a collective lies on the boundary, its start and its wait are in the
  // window on their own.
  std::vector<NodeId> places(body.numNodes());
  for (NodeId node : body.topologicalOrder())
    switch (body.kind(node)) {
    case NodeKind::Compute:
      places[node] = program.addNode(NodeKind::Compute, body.costNs(node));
      break;
    case NodeKind::Blocking:
      places[node] = program.addNode(NodeKind::Blocking, body.costNs(node),
                                     body.stream(node));
      break;
    case NodeKind::Start: {
      NodeId start = program.addNode(NodeKind::Start, body.costNs(node),
                                     body.stream(node));
      if (isWhole(node)) {
        places[node] = start;
        break;
      }
      program.addWait(start);
      places[node] = program.addNode(NodeKind::Compute, 0);
      break;
    }
    case NodeKind::Wait:
      places[node] = isWhole(body.startOf(node))
                         ? program.addWait(places[body.startOf(node)])
                         : program.addNode(NodeKind::Compute, 0);
      break;
    }
  for (const TimedDependence &edge : edges)
    if (instances[edge.from] >= 0 && instances[edge.to] >= 0 &&
        instances[edge.from] + edge.distance == instances[edge.to] &&
        body.waitOf(edge.from) != edge.to)
      program.addDependence(places[edge.from], places[edge.to],
                            DependenceKind::Data);
  program.finalize();
  return program;
}

Result<TightLowerBound> Windows::boundLongest() const {
  // Neighbours on the path often seem equal.
  std::vector<NodeId> longest;
  int64_t longestNs = -1;
  for (NodeId pivot : pivots) {
    int64_t ns = estimate(pivot);
    if (ns > longestNs)
      longest.clear();
    longestNs = std::max(longestNs, ns);
    if (ns == longestNs)
      longest.push_back(pivot);
  }
  constexpr size_t maxNodes = 1 << 15;
  spread(longest, std::max<size_t>(maxNodes / (body.numNodes() + 1), 1));
  TightLowerBound best;
  for (NodeId pivot : longest) {
    Result<TightLowerBound> bound = computeTightLowerBound(makeProgram(pivot));
    if (!bound)
      return bound;
    if (bound->ns > best.ns)
      best = *bound;
  }
  return best;
}

Result<TightLowerBound>
schedule::boundWindow(const Problem &body,
                      const std::vector<TimedDependence> &dependences) {
  return Windows(body, dependences).boundLongest();
}
