//===- SplitPlacement.cpp - Order of split programs -----------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SplitBuilder.h"

#include "../Model/ReadyTracker.h"

#include "CommSched/Support/Csr.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <queue>
#include <tuple>

using namespace mlir::commsched;
using namespace mlir::commsched::schedule;

namespace {

/// Ranks the nodes of a draft by the places that they are to have.
class Ranking {
public:
  Ranking(const SplitRegions &regions, const SplitDraft &draft);

  std::vector<int32_t> rank();

private:
  /// The place of a node of the draft: on which node of the original it
  /// follows, in which round of the section, and where within the round.
  using Place = std::tuple<NodeId, int32_t, NodeId, int32_t>;

  NodeId findFirstNeed(NodeId member) const;
  void cutSections(const SplitSpec &spec);
  Place placeOf(const SplitDraft::Node &node) const;

  const SplitRegions &regions;
  const Problem &problem;
  const SplitDraft &draft;
  /// By member: the last member of its section.
  std::vector<NodeId> lastOfSection;
};

} // namespace

Ranking::Ranking(const SplitRegions &regions, const SplitDraft &draft)
    : regions(regions), problem(regions.getProblem()), draft(draft),
      lastOfSection(problem.numNodes(), noNode) {
  for (const SplitSpec &spec : regions.getSpecs())
    cutSections(spec);
}

/// Returns the first operation that needs all chunks of `member`; past the last
/// one if there is none.
NodeId Ranking::findFirstNeed(NodeId member) const {
  NodeId first = problem.numNodes();
  int32_t spec = regions.specOf(member);
  if (problem.kind(member) == NodeKind::Start)
    first = problem.waitOf(member);
  for (DependenceEnd end : problem.successors(member)) {
    if (end.node >= first)
      continue;
    bool isByChunk = end.kind == DependenceKind::Order ||
                     (end.kind == DependenceKind::Data &&
                      regions.wholesOfProducer.find(member, end.node).empty());
    if (regions.specOf(end.node) != spec || !isByChunk)
      first = end.node;
  }
  return first;
}

void Ranking::cutSections(const SplitSpec &spec) {
  size_t begin = 0;
  NodeId firstNeed = problem.numNodes();
  auto close = [&](size_t end) {
    for (size_t i = begin; i < end; ++i)
      lastOfSection[spec.members[i].node] = spec.members[end - 1].node;
    begin = end;
    firstNeed = problem.numNodes();
  };
  for (size_t i = 0; i < spec.members.size(); ++i) {
    NodeId member = spec.members[i].node;
    if (firstNeed <= member)
      close(i);
    firstNeed = std::min(firstNeed, findFirstNeed(member));
  }
  close(spec.members.size());
}

Ranking::Place Ranking::placeOf(const SplitDraft::Node &node) const {
  constexpr int32_t itself = std::numeric_limits<int32_t>::max();
  using Role = SplitProblem::Role;
  const SplitProblem::Origin &origin = node.origin;
  auto placeChunk = [&](NodeId member, int32_t chunk, int32_t within) {
    return Place{chunk == 0 ? member : lastOfSection[member], chunk, member,
                 within};
  };
  switch (origin.role) {
  case Role::Kept:
    break;
  case Role::Chunk:
    return placeChunk(origin.node, origin.chunk, itself);
  case Role::Slice: {
    const SplitSpec::Slice &slice =
        regions.getSpecs()[origin.spec].slices[origin.index];
    return placeChunk(*std::min_element(slice.users.begin(), slice.users.end()),
                      origin.chunk, origin.index);
  }
  case Role::Whole: {
    const SplitSpec &spec = regions.getSpecs()[origin.spec];
    NodeId producer = spec.wholes[origin.index].producer;
    return {lastOfSection[producer], spec.chunks, producer, origin.index};
  }
  }
  return {origin.node, 0, origin.node, itself};
}

std::vector<int32_t> Ranking::rank() {
  std::vector<Place> places;
  places.reserve(draft.nodes.size());
  for (const SplitDraft::Node &node : draft.nodes)
    places.push_back(placeOf(node));
  Order sorted(draft.nodes.size());
  std::iota(sorted.begin(), sorted.end(), NodeId(0));
  std::stable_sort(sorted.begin(), sorted.end(),
                   [&](NodeId a, NodeId b) { return places[a] < places[b]; });
  std::vector<int32_t> ranks(sorted.size());
  for (size_t rank = 0; rank < sorted.size(); ++rank)
    ranks[sorted[rank]] = static_cast<int32_t>(rank);
  return ranks;
}

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

Result<Order> schedule::placeSplit(const SplitRegions &regions,
                                   const SplitDraft &draft) {
  std::vector<int32_t> ranks = Ranking(regions, draft).rank();
  std::vector<NodeId> nodeAt(ranks.size());
  for (size_t node = 0; node < ranks.size(); ++node)
    nodeAt[ranks[node]] = static_cast<NodeId>(node);
  std::vector<std::pair<NodeId, NodeId>> edges = listEdges(draft);
  Csr<NodeId> successors;
  successors.build(
      ranks.size(), edges.size(), [&](size_t i) { return edges[i].first; },
      [&](size_t i) { return edges[i].second; });
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
