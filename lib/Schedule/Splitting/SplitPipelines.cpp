//===- SplitPipelines.cpp - Orders of single regions
//-----------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SplitBuilder.h"

#include "../Model/ReadyTracker.h"
#include "../Step/SmallSteps.h"

#include "CommSched/Schedule/Bounds/LowerBounds.h"
#include "CommSched/Schedule/Model/ProblemTransforms.h"
#include "CommSched/Support/Unlimited.h"

#include <algorithm>
#include <map>
#include <queue>

using namespace mlir::commsched;
using namespace mlir::commsched::schedule;

//===----------------------------------------------------------------------===//
// Sections
//===----------------------------------------------------------------------===//

/// Returns the first operation that needs all chunks of `member`, or the end of
/// its collective; past the last one if there is none.
static NodeId findFirstNeed(const SplitRegions &regions, NodeId member) {
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
static std::vector<int32_t> numberSections(const SplitRegions &regions) {
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
// List scheduling
//===----------------------------------------------------------------------===//

namespace {

/// Simulates list scheduling of a problem.
class ListSimulation {
public:
  ListSimulation(const Problem &problem, const std::vector<int64_t> &ranks,
                 const ListWindow &window)
      : problem(problem), ranks(ranks), window(window), tracker(problem),
        starts(problem.numStreams()), streamEndNs(problem.numStreams()),
        endNs(problem.numNodes()) {}

  RankedOrder run();

private:
  using Entry = std::pair<int64_t, NodeId>;
  using MinHeap =
      std::priority_queue<Entry, std::vector<Entry>, std::greater<Entry>>;

  bool isFixed(NodeId node) const {
    return !window.isFixed.empty() && window.isFixed[node];
  }
  void push(NodeId node);
  void admit(NodeId node);
  void take(NodeId node);
  bool issue(int64_t untilNs);
  void compute(NodeId node);

  const Problem &problem;
  const std::vector<int64_t> &ranks;
  const ListWindow &window;
  ReadyTracker tracker;
  /// The first node that has not run.
  NodeId first = 0;
  /// What is ready, but not within the window, by the first node that has to be
  /// reached.
  MinHeap held;
  /// What is ready: by rank, and waits by the end of their collective.
  MinHeap computations, waits;
  std::vector<MinHeap> starts;
  std::vector<int64_t> streamEndNs;
  std::vector<int64_t> endNs;
  int64_t nowNs = 0;
  Order order;
};

} // namespace

void ListSimulation::push(NodeId node) {
  int64_t reached = isFixed(node) ? node : int64_t(node) - window.length;
  if (reached > first)
    held.push({reached, node});
  else
    admit(node);
}

void ListSimulation::admit(NodeId node) {
  if (problem.kind(node) == NodeKind::Start)
    starts[problem.stream(node)].push({ranks[node], node});
  else if (problem.kind(node) == NodeKind::Wait)
    waits.push({endNs[problem.startOf(node)], node});
  else
    computations.push({ranks[node], node});
}

void ListSimulation::take(NodeId node) {
  order.push_back(node);
  tracker.take(node, [&](NodeId ready) { push(ready); });
  while (first < problem.numNodes() && tracker.isTaken(first))
    ++first;
  while (!held.empty() && held.top().first <= first) {
    NodeId reached = held.top().second;
    held.pop();
    admit(reached);
  }
}

/// Issues what is ready to all streams that would be idle before `untilNs`: no
/// more, since what becomes ready until then may rank before it. Returns
/// whether there was anything.
bool ListSimulation::issue(int64_t untilNs) {
  bool hasIssued = false;
  for (size_t stream = 0; stream < starts.size(); ++stream) {
    int64_t &streamNs = streamEndNs[stream];
    while (!starts[stream].empty() &&
           (streamNs <= nowNs || streamNs < untilNs ||
            isFixed(starts[stream].top().second))) {
      NodeId node = starts[stream].top().second;
      starts[stream].pop();
      streamNs = std::max(streamNs, nowNs) + problem.costNs(node);
      endNs[node] = streamNs;
      take(node);
      hasIssued = true;
    }
  }
  return hasIssued;
}

void ListSimulation::compute(NodeId node) {
  computations.pop();
  if (problem.isCollective(node)) {
    int64_t &streamNs = streamEndNs[problem.stream(node)];
    nowNs = std::max(nowNs, streamNs);
    streamNs = nowNs + problem.costNs(node);
  }
  nowNs += problem.costNs(node);
  take(node);
}

RankedOrder ListSimulation::run() {
  for (NodeId node : tracker.listReady())
    push(node);
  while (order.size() < static_cast<size_t>(problem.numNodes())) {
    if (!waits.empty() && waits.top().first <= nowNs) {
      NodeId wait = waits.top().second;
      waits.pop();
      take(wait);
    } else if (!computations.empty()) {
      NodeId node = computations.top().second;
      if (!issue(nowNs + problem.costNs(node)))
        compute(node);
    } else if (!issue(waits.empty() ? unlimited : waits.top().first)) {
      nowNs = waits.top().first;
    }
  }
  for (int64_t streamNs : streamEndNs)
    nowNs = std::max(nowNs, streamNs);
  return {std::move(order), nowNs};
}

RankedOrder schedule::scheduleByRank(const Problem &problem,
                                     const std::vector<int64_t> &ranks,
                                     const ListWindow &window) {
  return ListSimulation(problem, ranks, window).run();
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
  Pipeliner(const SplitRegions &regions, const SplitDraft &draft,
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

  const SplitRegions &regions;
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

Pipeliner::Pipeliner(const SplitRegions &regions, const SplitDraft &draft,
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

/// Replaces `best` by what a search finds, if it is better.
void Pipeliner::search(const Problem &problem, RankedOrder &best) {
  constexpr int64_t effortOfRegion = 1 << 18;
  Result<TightLowerBound> bound = computeTightLowerBound(problem);
  if (!bound || best.stepNs <= bound->ns)
    return;
  BeamSearchOptions options;
  options.belowNs = best.stepNs;
  options.goalNs = bound->ns;
  options.effort = std::min(effort, effortOfRegion);
  effort -= options.effort;
  if (options.effort == 0)
    return;
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

std::vector<Order> schedule::pipelineRegions(const SplitRegions &regions,
                                             const SplitDraft &draft,
                                             const Csr<NodeId> &successors) {
  Pipeliner pipeliner(regions, draft, successors);
  std::vector<Order> orders;
  for (size_t spec = 0; spec < regions.getSpecs().size(); ++spec)
    orders.push_back(pipeliner.pipeline(static_cast<int32_t>(spec)));
  return orders;
}
