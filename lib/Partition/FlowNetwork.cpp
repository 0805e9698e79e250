//===- FlowNetwork.cpp - The smallest cut of a network --------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What is joined to the source or the sink by unbounded edges is on its side in
// every cut. These vertices are merged before the flow is computed, and so are
// edges with the same ends: in the networks of the partitioner that is most of
// them.
//
//===----------------------------------------------------------------------===//

#include "CommSched/Partition/FlowNetwork.h"
#include "CommSched/Support/Csr.h"
#include "MaximumFlow.h"

#include <algorithm>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

using namespace mlir::commsched;
using namespace mlir::commsched::partition;

/// Sums below this leave room for what flows back.
static constexpr uint64_t maxCapacitySum = uint64_t(1) << 61;

int32_t FlowNetwork::getShift() const {
  __extension__ using Wide = unsigned __int128;
  Wide sum = 0;
  for (const Edge &edge : edges)
    if (edge.capacity != unbounded)
      sum += static_cast<uint64_t>(edge.capacity);
  int32_t shift = 0;
  while (sum >> shift >= maxCapacitySum)
    ++shift;
  return shift;
}

namespace {

/// The vertices that unbounded edges lead to from `root`, or lead from to it.
class UnboundedReach {
public:
  UnboundedReach(const FlowNetwork &network, VertexId root, bool isReversed);

  bool contains(VertexId vertex) const { return isReached[vertex]; }
  /// The edges from the root to `vertex`, which is reached.
  std::vector<FlowNetwork::Edge> getPath(VertexId vertex) const;

private:
  const FlowNetwork &network;
  VertexId root;
  /// By vertex.
  std::vector<char> isReached;
  /// By vertex: the index of the edge by which it was reached first.
  std::vector<size_t> lastEdge;
};

} // namespace

UnboundedReach::UnboundedReach(const FlowNetwork &network, VertexId root,
                               bool isReversed)
    : network(network), root(root), isReached(network.size(), 0),
      lastEdge(network.size(), 0) {
  const std::vector<FlowNetwork::Edge> &edges = network.getEdges();
  Csr<size_t> leaving;
  leaving.build(
      network.size(), edges.size(),
      [&](size_t i) {
        if (edges[i].capacity != FlowNetwork::unbounded)
          return VertexId(-1);
        return isReversed ? edges[i].to : edges[i].from;
      },
      [](size_t i) { return i; });
  std::vector<VertexId> queue = {root};
  isReached[root] = 1;
  for (size_t next = 0; next < queue.size(); ++next)
    for (size_t i : leaving[queue[next]]) {
      VertexId vertex = isReversed ? edges[i].from : edges[i].to;
      if (std::exchange(isReached[vertex], 1))
        continue;
      lastEdge[vertex] = i;
      queue.push_back(vertex);
    }
}

std::vector<FlowNetwork::Edge> UnboundedReach::getPath(VertexId vertex) const {
  std::vector<FlowNetwork::Edge> path;
  for (; vertex != root; vertex = path.back().from)
    path.push_back(network.getEdges()[lastEdge[vertex]]);
  std::reverse(path.begin(), path.end());
  return path;
}

/// The pairs of vertices that `network` joins when `vertexOf` says what each of
/// its vertices becomes; `most` stands for unbounded.
static std::vector<FlowPair> mergeEdges(const FlowNetwork &network,
                                        const std::vector<VertexId> &vertexOf,
                                        int32_t shift, int64_t most) {
  std::vector<FlowPair> pairs;
  for (const FlowNetwork::Edge &edge : network.getEdges()) {
    VertexId from = vertexOf[edge.from];
    VertexId to = vertexOf[edge.to];
    int64_t capacity =
        edge.capacity == FlowNetwork::unbounded ? most : edge.capacity >> shift;
    // What leads back to the source or away from the sink is of no use.
    if (from == to || to == FlowNetwork::source || from == FlowNetwork::sink ||
        capacity == 0)
      continue;
    if (from < to)
      pairs.push_back({from, to, capacity, 0});
    else
      pairs.push_back({to, from, 0, capacity});
  }
  std::sort(pairs.begin(), pairs.end(),
            [](const FlowPair &a, const FlowPair &b) {
              return std::tie(a.first, a.second) < std::tie(b.first, b.second);
            });
  size_t numMerged = 0;
  for (const FlowPair &pair : pairs) {
    FlowPair *last = numMerged == 0 ? nullptr : &pairs[numMerged - 1];
    if (!last || last->first != pair.first || last->second != pair.second) {
      pairs[numMerged++] = pair;
      continue;
    }
    last->forwards = std::min(last->forwards + pair.forwards, most);
    last->backwards = std::min(last->backwards + pair.backwards, most);
  }
  pairs.resize(numMerged);
  return pairs;
}

/// The capacity across a cut, of edges divided by 2^shift; none if an unbounded
/// edge leads across.
static std::optional<int64_t>
computeCapacity(const FlowNetwork &network, const std::vector<char> &onSinkSide,
                int32_t shift) {
  int64_t capacity = 0;
  for (const FlowNetwork::Edge &edge : network.getEdges()) {
    if (onSinkSide[edge.from] || !onSinkSide[edge.to])
      continue;
    if (edge.capacity == FlowNetwork::unbounded)
      return std::nullopt;
    capacity += edge.capacity >> shift;
  }
  return capacity;
}

FlowNetwork::Cut FlowNetwork::findMinimumCut() const {
  Cut cut;
  UnboundedReach fromSource(*this, source, /*isReversed=*/false);
  if (fromSource.contains(sink)) {
    cut.unboundedPath = fromSource.getPath(sink);
    return cut;
  }
  UnboundedReach toSink(*this, sink, /*isReversed=*/true);
  std::vector<VertexId> vertexOf(size());
  VertexId numMerged = 2;
  for (VertexId vertex = 0; vertex < size(); ++vertex)
    vertexOf[vertex] = fromSource.contains(vertex) ? source
                       : toSink.contains(vertex)   ? sink
                                                   : numMerged++;

  int32_t shift = getShift();
  int64_t most = 1;
  for (const Edge &edge : edges)
    if (edge.capacity != unbounded)
      most += edge.capacity >> shift;
  MaximumFlow flow =
      findMaximumFlow(numMerged, mergeEdges(*this, vertexOf, shift, most));
  cut.flow = flow.value;
  cut.onSinkSide.resize(size());
  for (VertexId vertex = 0; vertex < size(); ++vertex)
    cut.onSinkSide[vertex] = flow.canReachSink[vertexOf[vertex]];
  cut.capacity = computeCapacity(*this, cut.onSinkSide, shift).value_or(most);
  return cut;
}

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

Status FlowNetwork::verifyPath(const std::vector<Edge> &path) const {
  VertexId end = source;
  for (const Edge &edge : path) {
    bool isThere =
        std::any_of(edges.begin(), edges.end(), [&](const Edge &other) {
          return other.from == edge.from && other.to == edge.to &&
                 other.capacity == unbounded;
        });
    if (!isThere || edge.from != end)
      return Error{"the path goes from vertex " + std::to_string(edge.from) +
                   " to vertex " + std::to_string(edge.to) +
                   ", where no unbounded edge continues it"};
    end = edge.to;
  }
  if (end != sink)
    return Error{"the path ends at vertex " + std::to_string(end) +
                 ", not at the sink"};
  return Status::success();
}

Status FlowNetwork::verify(const Cut &cut) const {
  if (!cut.unboundedPath.empty())
    return verifyPath(cut.unboundedPath);
  if (cut.onSinkSide.size() != static_cast<size_t>(size()))
    return Error{"the cut divides " + std::to_string(cut.onSinkSide.size()) +
                 " vertices, but the network has " + std::to_string(size())};
  if (cut.onSinkSide[source] || !cut.onSinkSide[sink])
    return Error{"the cut does not divide the source from the sink"};
  std::optional<int64_t> capacity =
      computeCapacity(*this, cut.onSinkSide, getShift());
  if (!capacity)
    return Error{"the cut divides the ends of an unbounded edge"};
  if (*capacity != cut.capacity)
    return Error{"the capacity across the cut is " + std::to_string(*capacity) +
                 ", not " + std::to_string(cut.capacity)};
  if (cut.flow != cut.capacity)
    return Error{"the capacity across the cut is " +
                 std::to_string(cut.capacity) + ", but the flow is " +
                 std::to_string(cut.flow)};
  return Status::success();
}
