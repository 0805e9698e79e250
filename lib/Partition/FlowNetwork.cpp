//===- FlowNetwork.cpp - Minimum cut of a network -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "FlowNetwork.h"

#include "CommSched/Support/Csr.h"

#include <boost/graph/boykov_kolmogorov_max_flow.hpp>
#include <boost/graph/compressed_sparse_row_graph.hpp>
#include <boost/property_map/property_map.hpp>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

using namespace mlir::commsched;
using namespace mlir::commsched::partition;

//===----------------------------------------------------------------------===//
// Maximum flow, by Boykov and Kolmogorov
//===----------------------------------------------------------------------===//

namespace {

struct MaximumFlow {
  int64_t value = 0;
  /// By vertex: whether more could flow from there to the sink.
  std::vector<char> canReachSink;
};

/// Every edge gives two arcs, each the reverse of the other. Arcs are numbered
/// by the vertex that they leave, as the compressed graph keeps them.
class ArcGraph {
public:
  /// No capacity is unbounded, nor is one or the flow more than 2^61.
  ArcGraph(VertexId numVertices, const std::vector<FlowNetwork::Edge> &edges);

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

ArcGraph::ArcGraph(VertexId numVertices,
                   const std::vector<FlowNetwork::Edge> &edges)
    : numVertices(numVertices) {
  // Half 2i leads along edge i, 2i + 1 back.
  auto getStart = [&](size_t half) {
    return half % 2 == 0 ? edges[half / 2].from : edges[half / 2].to;
  };
  Csr<size_t> halves;
  halves.build(numVertices, 2 * edges.size(), getStart,
               [](size_t half) { return half; });
  std::vector<size_t> arcOf(2 * edges.size());
  for (VertexId vertex = 0; vertex < numVertices; ++vertex)
    for (size_t half : halves[vertex]) {
      arcOf[half] = ends.size();
      ends.push_back({vertex, getStart(half ^ 1)});
      capacities.push_back(half % 2 == 0 ? edges[half / 2].capacity : 0);
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

//===----------------------------------------------------------------------===//
// FlowNetwork
//===----------------------------------------------------------------------===//

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

/// The unbounded edges that lead from the source to the sink, if some do.
static std::vector<FlowNetwork::Edge>
findUnboundedPath(const FlowNetwork &network) {
  const std::vector<FlowNetwork::Edge> &edges = network.getEdges();
  Csr<size_t> leaving;
  leaving.build(
      network.size(), edges.size(),
      [&](size_t i) {
        return edges[i].capacity == FlowNetwork::unbounded ? edges[i].from : -1;
      },
      [](size_t i) { return i; });
  std::vector<char> isReached(network.size(), 0);
  // By vertex: the index of the edge by which it was reached first.
  std::vector<size_t> lastEdge(network.size(), 0);
  std::vector<VertexId> queue = {FlowNetwork::source};
  isReached[FlowNetwork::source] = 1;
  for (size_t next = 0; next < queue.size(); ++next)
    for (size_t i : leaving[queue[next]]) {
      VertexId vertex = edges[i].to;
      if (std::exchange(isReached[vertex], 1))
        continue;
      lastEdge[vertex] = i;
      queue.push_back(vertex);
    }
  std::vector<FlowNetwork::Edge> path;
  if (isReached[FlowNetwork::sink])
    for (VertexId vertex = FlowNetwork::sink; vertex != FlowNetwork::source;
         vertex = path.back().from)
      path.push_back(edges[lastEdge[vertex]]);
  std::reverse(path.begin(), path.end());
  return path;
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
  cut.unboundedPath = findUnboundedPath(*this);
  if (!cut.unboundedPath.empty())
    return cut;
  int32_t shift = getShift();
  int64_t most = 1;
  for (const Edge &edge : edges)
    if (edge.capacity != unbounded)
      most += edge.capacity >> shift;
  std::vector<Edge> used;
  // Edges into the source or out of the sink carry no flow.
  for (Edge edge : edges)
    if (edge.from != edge.to && edge.to != source && edge.from != sink) {
      edge.capacity =
          edge.capacity == unbounded ? most : edge.capacity >> shift;
      used.push_back(edge);
    }
  MaximumFlow flow = ArcGraph(size(), used).solve();
  cut.flow = flow.value;
  cut.onSinkSide = std::move(flow.canReachSink);
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

//===----------------------------------------------------------------------===//
// Cuts of joint graphs
//===----------------------------------------------------------------------===//

bool partition::isFreeToRepeat(const JointNode &node) {
  return node.kind == JointNodeKind::Operation && !node.isPinned &&
         (node.operatorClass == OperatorClass::View ||
          node.operatorClass == OperatorClass::Constant);
}

namespace {

/// Two vertices for each node: `in` is on the sink's side if the backward
/// computes the node, `out` if the backward has it. What needs a tangent is on
/// the sink's side and has no edges: the sink stands for it.
class CutNetwork {
public:
  CutNetwork(const JointGraph &graph, const Classification &classes,
             const std::vector<BanReason> &bans, const CutWeights &weights)
      : graph(graph), classes(classes), bans(bans), weights(weights) {}

  PartitionResult<std::vector<NodeId>> solve();

private:
  static VertexId getIn(NodeId node) { return 2 + 2 * node; }
  static VertexId getOut(NodeId node) { return 3 + 2 * node; }
  static NodeId getNode(VertexId vertex) { return (vertex - 2) / 2; }

  /// Whether the backward reads `node` where it needs a tangent or returns it.
  bool isRead(NodeId node) const {
    return classes.requiredBackward[node] || findTangentUser(node) != noNode;
  }
  NodeId findTangentUser(NodeId node) const;
  void addNode(NodeId node);
  PartitionConflict
  explain(const std::vector<FlowNetwork::Edge> &unboundedPath) const;

  const JointGraph &graph;
  const Classification &classes;
  const std::vector<BanReason> &bans;
  const CutWeights &weights;
  FlowNetwork network;
};

} // namespace

/// The first user of `node` that needs a tangent.
NodeId CutNetwork::findTangentUser(NodeId node) const {
  for (NodeId user : graph.getUsers(node))
    if (classes.needsTangent[user])
      return user;
  return noNode;
}

void CutNetwork::addNode(NodeId node) {
  if (classes.needsTangent[node])
    return;
  if (isRead(node))
    network.addEdge(getOut(node), FlowNetwork::sink, FlowNetwork::unbounded);
  if (isToBeRecomputed(graph[node])) {
    network.addEdge(getIn(node), FlowNetwork::sink, FlowNetwork::unbounded);
    return;
  }
  if (weights.repeat[node] != 0)
    network.addEdge(FlowNetwork::source, getIn(node), weights.repeat[node]);
  network.addEdge(getIn(node), getOut(node), weights.save[node]);
  NodeId previous = noNode;
  for (NodeId user : graph.getUsers(node))
    if (user != std::exchange(previous, user) && !classes.needsTangent[user])
      network.addEdge(getOut(node), getIn(user), FlowNetwork::unbounded);
}

PartitionConflict
CutNetwork::explain(const std::vector<FlowNetwork::Edge> &unboundedPath) const {
  // source -> in(node) [-> out(node) -> in(user) …] -> sink; into the sink from
  // in(last) or out(last).
  NodeId node = getNode(unboundedPath.front().to);
  NodeId last = getNode(unboundedPath.back().from);
  PartitionConflict conflict;
  conflict.node = node;
  conflict.reason =
      std::string("cannot be computed again, for it ") + toString(bans[node]);
  if (!graph[node].isSaveable)
    conflict.reason += ", and is no value that can be saved";
  conflict.other = last;
  bool isComputed = unboundedPath.back().from == getIn(last);
  if (isComputed) {
    conflict.otherReason = "has to be computed again";
  } else if (classes.requiredBackward[last]) {
    conflict.otherReason = "is a result of the backward";
  } else {
    conflict.other = findTangentUser(last);
    conflict.otherReason = "is computed in the backward";
  }
  return conflict;
}

PartitionResult<std::vector<NodeId>> CutNetwork::solve() {
  for (NodeId node = 0; node < graph.size(); ++node) {
    network.addVertex();
    network.addVertex();
  }
  for (NodeId node = 0; node < graph.size(); ++node)
    addNode(node);
  FlowNetwork::Cut cut = network.findMinimumCut();
  if (Status status = network.verify(cut); !status)
    return PartitionConflict{noNode, "has no valid cut: " + status.error(),
                             noNode, ""};
  if (!cut.unboundedPath.empty())
    return explain(cut.unboundedPath);
  std::vector<NodeId> saved;
  for (NodeId node = 0; node < graph.size(); ++node)
    if (!classes.needsTangent[node] && !cut.onSinkSide[getIn(node)] &&
        cut.onSinkSide[getOut(node)])
      saved.push_back(node);
  return saved;
}

PartitionResult<std::vector<NodeId>>
partition::solveCut(const JointGraph &graph, const Classification &classes,
                    const std::vector<BanReason> &bans,
                    const CutWeights &weights) {
  return CutNetwork(graph, classes, bans, weights).solve();
}
