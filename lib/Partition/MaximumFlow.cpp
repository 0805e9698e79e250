//===- MaximumFlow.cpp - The most that flows through a network ------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MaximumFlow.h"
#include "CommSched/Support/Csr.h"

#include <boost/graph/boykov_kolmogorov_max_flow.hpp>
#include <boost/graph/compressed_sparse_row_graph.hpp>
#include <boost/property_map/property_map.hpp>

#include <utility>

using namespace mlir::commsched;
using namespace mlir::commsched::partition;

namespace {

/// Every pair gives two arcs, each the reverse of the other. Arcs are numbered
/// by the vertex that they leave, as the compressed graph keeps them.
class ArcGraph {
public:
  ArcGraph(VertexId numVertices, const std::vector<FlowPair> &pairs);

  MaximumFlow solve();

private:
  using Graph =
      boost::compressed_sparse_row_graph<boost::directedS, boost::no_property,
                                         boost::no_property, boost::no_property,
                                         uint32_t, size_t>;
  using ArcDescriptor = boost::graph_traits<Graph>::edge_descriptor;

  std::vector<char> findSinkReach() const;

  VertexId numVertices;
  /// By arc: where it leads.
  std::vector<std::pair<uint32_t, uint32_t>> ends;
  std::vector<int64_t> capacities;
  std::vector<int64_t> residuals;
  std::vector<ArcDescriptor> reverses;
  /// By vertex: the arcs that leave it.
  Csr<size_t> leaving;
};

} // namespace

ArcGraph::ArcGraph(VertexId numVertices, const std::vector<FlowPair> &pairs)
    : numVertices(numVertices) {
  // Half 2i leads from the first vertex of pair i to the second, 2i + 1 back.
  auto getStart = [&](size_t half) {
    return half % 2 == 0 ? pairs[half / 2].first : pairs[half / 2].second;
  };
  Csr<size_t> halves;
  halves.build(numVertices, 2 * pairs.size(), getStart,
               [](size_t half) { return half; });
  std::vector<size_t> arcOf(2 * pairs.size());
  for (VertexId vertex = 0; vertex < numVertices; ++vertex)
    for (size_t half : halves[vertex]) {
      const FlowPair &pair = pairs[half / 2];
      arcOf[half] = ends.size();
      ends.push_back({vertex, getStart(half ^ 1)});
      capacities.push_back(half % 2 == 0 ? pair.forwards : pair.backwards);
    }
  residuals.resize(ends.size());
  reverses.resize(ends.size());
  for (size_t half = 0; half < arcOf.size(); ++half)
    reverses[arcOf[half]] = ArcDescriptor(
        static_cast<uint32_t>(getStart(half ^ 1)), arcOf[half ^ 1]);
  leaving.build(
      numVertices, ends.size(),
      [&](size_t arc) { return static_cast<VertexId>(ends[arc].first); },
      [](size_t arc) { return arc; });
}

MaximumFlow ArcGraph::solve() {
  Graph graph(boost::edges_are_sorted, ends.begin(), ends.end(), numVertices);
  auto vertexIndex = boost::get(boost::vertex_index, graph);
  auto arcIndex = boost::get(boost::edge_index, graph);
  std::vector<ArcDescriptor> parents(numVertices);
  std::vector<boost::default_color_type> colors(numVertices);
  std::vector<int64_t> distances(numVertices);
  auto byArc = [&](auto &values) {
    return boost::make_iterator_property_map(values.begin(), arcIndex);
  };
  auto byVertex = [&](auto &values) {
    return boost::make_iterator_property_map(values.begin(), vertexIndex);
  };
  MaximumFlow flow;
  flow.value = boost::boykov_kolmogorov_max_flow(
      graph, byArc(capacities), byArc(residuals), byArc(reverses),
      byVertex(parents), byVertex(colors), byVertex(distances), vertexIndex,
      FlowNetwork::source, FlowNetwork::sink);
  flow.canReachSink = findSinkReach();
  return flow;
}

std::vector<char> ArcGraph::findSinkReach() const {
  std::vector<char> isReached(numVertices, 0);
  std::vector<VertexId> queue = {FlowNetwork::sink};
  isReached[FlowNetwork::sink] = 1;
  for (size_t next = 0; next < queue.size(); ++next)
    for (size_t arc : leaving[queue[next]]) {
      auto vertex = static_cast<VertexId>(ends[arc].second);
      if (residuals[reverses[arc].idx] == 0 ||
          std::exchange(isReached[vertex], 1))
        continue;
      queue.push_back(vertex);
    }
  return isReached;
}

MaximumFlow partition::findMaximumFlow(VertexId numVertices,
                                       const std::vector<FlowPair> &pairs) {
  return ArcGraph(numVertices, pairs).solve();
}
