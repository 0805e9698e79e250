//===- SplitPlacement.cpp - Order of split programs -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "SplitBuilder.h"

#include "../Model/ReadyTracker.h"
#include "../Model/SortBy.h"
#include "CommSched/Schedule/Model/Verify.h"

#include "CommSched/Support/Csr.h"

#include <algorithm>
#include <queue>

using namespace mlir::commsched;
using namespace mlir::commsched::schedule;

/// The dependences of a draft with those that are implied: of a wait on its
/// start, of a user on what makes the buffer.
static std::vector<std::pair<NodeId, NodeId>>
listEdges(const SplitDraft &draft) {
  std::vector<std::pair<NodeId, NodeId>> edges;
  for (const Dependence &edge : draft.dependences)
    edges.push_back({edge.from, edge.to});
  for (size_t i = 0; i < draft.nodes.size(); ++i)
    if (draft.nodes[i].kind == NodeKind::Wait)
      edges.push_back({draft.nodes[i].start, static_cast<NodeId>(i)});
  for (const SplitDraft::Use &use : draft.uses)
    if (NodeId producer = draft.buffers[use.buffer].producer;
        producer != noNode && producer != use.node)
      edges.push_back({producer, use.node});
  return edges;
}

NodeId schedule::findMember(const SpecIndex &regions,
                            const SplitProblem::Origin &origin) {
  const SplitSpec &spec = regions.getSpecs()[origin.spec];
  if (origin.role == SplitProblem::Role::Slice)
    return findFirstUser(spec.slices[origin.index]);
  if (origin.role == SplitProblem::Role::Whole ||
      origin.role == SplitProblem::Role::Storage)
    return spec.wholes[origin.index].producer;
  return origin.node;
}

/// Ranks the nodes of a draft by the places that they are to have, given the
/// orders of the regions. Returns the node of each rank.
static Order rankNodes(const SpecIndex &regions, const SplitDraft &draft,
                       const std::vector<Order> &regionOrders) {
  // A node of a region comes in the place of the last member that it or those
  // before it in the region's order are of.
  std::vector<NodeId> places(draft.nodes.size());
  std::vector<int32_t> indices(draft.nodes.size());
  for (size_t i = 0; i < draft.nodes.size(); ++i)
    places[i] = draft.nodes[i].origin.node;
  for (const Order &order : regionOrders) {
    NodeId last = noNode;
    for (size_t i = 0; i < order.size(); ++i) {
      last = std::max(last, findMember(regions, draft.nodes[order[i]].origin));
      places[order[i]] = last;
      indices[order[i]] = static_cast<int32_t>(i);
    }
  }
  return sortBy(draft.nodes.size(), [&](NodeId node) {
    return std::pair(places[node], indices[node]);
  });
}

Result<Order> schedule::placeSplit(const SpecIndex &regions,
                                   const SplitDraft &draft) {
  std::vector<std::pair<NodeId, NodeId>> edges = listEdges(draft);
  Csr<NodeId> successors;
  successors.build(
      draft.nodes.size(), edges.size(),
      [&](size_t i) { return edges[i].first; },
      [&](size_t i) { return edges[i].second; });
  Order nodeAt =
      rankNodes(regions, draft, pipelineRegions(regions, draft, successors));
  Positions ranks = positionsOf(nodeAt);

  IndegreeCounter missing(ranks.size());
  for (auto [from, to] : edges)
    missing.addEdgesTo(to);
  std::priority_queue<int32_t, std::vector<int32_t>, std::greater<int32_t>>
      ready;
  for (NodeId node : missing.listReady())
    ready.push(ranks[node]);
  Order order;
  order.reserve(ranks.size());
  while (!ready.empty()) {
    NodeId node = nodeAt[ready.top()];
    ready.pop();
    order.push_back(node);
    for (NodeId successor : successors[node])
      if (missing.removeEdgeTo(successor))
        ready.push(ranks[successor]);
  }
  if (order.size() < ranks.size())
    return Error{"the problem has no legal order: a node uses a buffer before "
                 "the node that makes it can run"};
  return order;
}
