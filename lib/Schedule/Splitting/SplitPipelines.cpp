//===- SplitPipelines.cpp - Orders of single regions ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CollectiveOrders.h"
#include "SplitBuilder.h"

#include "../Step/ListScheduling.h"
#include "../Step/SmallSteps.h"

#include "CommSched/Schedule/Bounds/LowerBounds.h"
#include "CommSched/Schedule/Model/ProblemTransforms.h"

#include <algorithm>
#include <map>

using namespace mlir::commsched;
using namespace mlir::commsched::schedule;

//===----------------------------------------------------------------------===//
// Sections
//===----------------------------------------------------------------------===//

/// Returns the first operation that needs all chunks of `member`, or the end of
/// its collective; past the last one if there is none.
static NodeId findFirstNeed(const SpecIndex &regions, NodeId member) {
  const Problem &problem = regions.getProblem();
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

/// Returns by member its section in its region, from 0.
static std::vector<int32_t> numberSections(const SpecIndex &regions) {
  NodeId numNodes = regions.getProblem().numNodes();
  std::vector<int32_t> sections(numNodes, -1);
  for (const SplitSpec &spec : regions.getSpecs()) {
    int32_t section = 0;
    NodeId firstNeed = numNodes;
    for (const SplitSpec::Member &member : spec.members) {
      if (firstNeed <= member.node) {
        ++section;
        firstNeed = numNodes;
      }
      sections[member.node] = section;
      firstNeed = std::min(firstNeed, findFirstNeed(regions, member.node));
    }
  }
  return sections;
}

//===----------------------------------------------------------------------===//
// Pipelines
//===----------------------------------------------------------------------===//

namespace {

/// How a pipeline ranks chunk c of section s: by perSection * s + perChunk * c.
struct Skew {
  int32_t perSection;
  int32_t perChunk;
};

/// From one section after the other to one chunk after the other.
constexpr Skew skews[] = {{1, 0}, {3, 1}, {2, 1}, {1, 1}, {0, 1}};

/// Finds orders of the regions, each with nothing beside it, once for all
/// regions that are equal.
class Pipeliner {
public:
  Pipeliner(const SpecIndex &regions, const SplitDraft &draft,
            const Csr<NodeId> &successors);

  Order pipeline(int32_t spec);

private:
  /// Where a node is in the pipeline.
  struct Place {
    int32_t section;
    int32_t chunk;
  };
  /// All that an order of the region depends on.
  using Signature = std::vector<int64_t>;

  Place findPlace(NodeId node) const;
  Problem extract(int32_t spec, Signature &signature);
  Order findOrder(const Problem &problem, const std::vector<Place> &places);
  void search(const Problem &problem, RankedOrder &best);

  const SpecIndex &regions;
  const SplitDraft &draft;
  const Csr<NodeId> &successors;
  /// By member: its section.
  std::vector<int32_t> sections;
  /// By region: its nodes.
  Csr<NodeId> nodesOf;
  /// By node: its index in its region.
  std::vector<int32_t> indexOf;
  /// How many operations the searches for all regions may still look at.
  int64_t effort = 1 << 22;
  std::map<Signature, Order> orders;
};

} // namespace

Pipeliner::Pipeliner(const SpecIndex &regions, const SplitDraft &draft,
                     const Csr<NodeId> &successors)
    : regions(regions), draft(draft), successors(successors),
      sections(numberSections(regions)), indexOf(draft.nodes.size()) {
  nodesOf.build(
      regions.getSpecs().size(), draft.nodes.size(),
      [&](size_t i) { return draft.nodes[i].origin.spec; },
      [](size_t i) { return static_cast<NodeId>(i); });
}

Pipeliner::Place Pipeliner::findPlace(NodeId node) const {
  const SplitProblem::Origin &origin = draft.nodes[node].origin;
  int32_t section = sections[findMember(regions, origin)];
  if (origin.role == SplitProblem::Role::Storage)
    return {section, 0};
  // A Whole comes with the last chunk.
  return {section,
          origin.chunk < 0 ? regions.numChunks(origin.spec) - 1 : origin.chunk};
}

/// Copies a region of the draft.
Problem Pipeliner::extract(int32_t spec, Signature &signature) {
  Problem problem;
  std::map<StreamId, StreamId> streams;
  ArrayView<NodeId> nodes = nodesOf[spec];
  for (size_t i = 0; i < nodes.size(); ++i) {
    const SplitDraft::Node &node = draft.nodes[nodes[i]];
    indexOf[nodes[i]] = static_cast<int32_t>(i);
    StreamId stream = node.stream;
    if (stream != noStream)
      stream = streams.insert({stream, streams.size()}).first->second;
    if (node.kind == NodeKind::Wait)
      problem.addWait(indexOf[node.start]);
    else
      problem.addNode(node.kind, node.costNs, stream);
    Place place = findPlace(nodes[i]);
    signature.insert(signature.end(),
                     {static_cast<int64_t>(node.kind), node.costNs, stream,
                      place.section, place.chunk});
  }
  for (NodeId node : nodes)
    for (NodeId successor : successors[node]) {
      const SplitDraft::Node &to = draft.nodes[successor];
      if (to.origin.spec != spec)
        continue;
      signature.insert(signature.end(), {indexOf[node], indexOf[successor]});
      if (to.kind != NodeKind::Wait || to.start != node)
        problem.addDependence(indexOf[node], indexOf[successor],
                              DependenceKind::Data);
    }
  problem.finalize();
  return problem;
}

/// Replaces `best` by what the searches find, if it is better.
void Pipeliner::search(const Problem &problem, RankedOrder &best) {
  constexpr int64_t effortOfRegion = 1 << 18;
  Result<TightLowerBound> bound = computeTightLowerBound(problem);
  if (!bound || best.stepNs <= bound->ns)
    return;
  SearchOptions options;
  options.effort = std::min(effort, effortOfRegion);
  effort -= options.effort;
  improveCollectives(problem, bound->ns, options.effort, best);
  if (options.effort <= 0 || best.stepNs <= bound->ns)
    return;
  options.belowNs = best.stepNs;
  options.goalNs = bound->ns;
  std::optional<Order> found =
      searchBeam(renumber(problem, best.order), options);
  if (!found)
    return;
  for (NodeId &node : *found)
    node = best.order[node];
  best.order = std::move(*found);
}

/// Returns the best order that is found of the problem of a region.
Order Pipeliner::findOrder(const Problem &problem,
                           const std::vector<Place> &places) {
  RankedOrder best;
  for (Skew skew : skews) {
    std::vector<int64_t> ranks;
    for (Place place : places)
      ranks.push_back((int64_t(skew.perSection) * place.section +
                       skew.perChunk * place.chunk) *
                          SplitSpec::maxChunks +
                      place.chunk);
    RankedOrder found = scheduleByRank(problem, ranks);
    if (best.order.empty() || found.stepNs < best.stepNs)
      best = std::move(found);
  }
  search(problem, best);
  return best.order;
}

Order Pipeliner::pipeline(int32_t spec) {
  Signature signature;
  Problem problem = extract(spec, signature);
  ArrayView<NodeId> nodes = nodesOf[spec];
  // What is wrong with the region is found in the whole.
  if (!problem.check())
    return Order(nodes.begin(), nodes.end());
  auto [it, isNew] = orders.insert({std::move(signature), {}});
  if (isNew) {
    std::vector<Place> places;
    for (NodeId node : nodes)
      places.push_back(findPlace(node));
    it->second = findOrder(problem, places);
  }
  Order order;
  for (NodeId index : it->second)
    order.push_back(nodes[index]);
  return order;
}

std::vector<Order> schedule::pipelineRegions(const SpecIndex &regions,
                                             const SplitDraft &draft,
                                             const Csr<NodeId> &successors) {
  Pipeliner pipeliner(regions, draft, successors);
  std::vector<Order> orders;
  for (size_t spec = 0; spec < regions.getSpecs().size(); ++spec)
    orders.push_back(pipeliner.pipeline(static_cast<int32_t>(spec)));
  return orders;
}
