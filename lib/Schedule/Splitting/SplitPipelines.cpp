//===- SplitPipelines.cpp - Orders of single regions
//-----------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SplitBuilder.h"

#include "CommSched/Support/Unlimited.h"

#include <algorithm>
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
// Pipelines
//===----------------------------------------------------------------------===//

namespace {

/// The sum of two times; unlimited if it does not fit, which an error of the
/// split problem is about.
int64_t add(int64_t aNs, int64_t bNs) {
  return aNs > unlimited - bNs ? unlimited : aNs + bNs;
}

template <typename T>
using MinHeap = std::priority_queue<T, std::vector<T>, std::greater<T>>;

/// How a pipeline ranks chunk c of section s: by perSection * s + perChunk * c.
struct Skew {
  int32_t perSection;
  int32_t perChunk;
};

/// From one section after the other to one chunk after the other.
constexpr Skew skews[] = {{1, 0}, {3, 1}, {2, 1}, {1, 1}, {0, 1}};

/// Finds orders of the regions, each with nothing beside it.
class Pipeliner {
public:
  Pipeliner(const SplitRegions &regions, const SplitDraft &draft,
            const Csr<NodeId> &successors,
            const std::vector<int32_t> &sections);

  /// The order of the nodes of a region with the shortest step over all skews;
  /// of equal ones the first.
  Order pipeline(int32_t spec);

private:
  using Rank = std::array<int64_t, 4>;
  using Entry = std::pair<Rank, NodeId>;

  Rank rank(NodeId node, Skew skew) const;
  void simulate(int32_t spec, Skew skew);
  void countMissing(int32_t spec);
  void push(NodeId node);
  void take(NodeId node);
  bool issue(int64_t untilNs);

  const SplitRegions &regions;
  const SplitDraft &draft;
  const Csr<NodeId> &successors;
  /// By member: its section.
  const std::vector<int32_t> &sections;
  /// By region: its nodes.
  Csr<NodeId> nodesOf;
  /// By stream: its index among those of the region.
  std::vector<int32_t> streamIndex;
  /// By node: how many predecessors of its region have not run.
  std::vector<int32_t> missing;

  // Of one simulation.
  Skew skew{};
  MinHeap<Entry> computations;
  std::vector<MinHeap<Entry>> starts;
  /// Waits that are ready, by the end of their collective.
  MinHeap<std::pair<int64_t, NodeId>> waits;
  std::vector<int64_t> streamEndNs;
  std::vector<int64_t> endNs;
  int64_t nowNs = 0;
  Order order;
};

} // namespace

Pipeliner::Pipeliner(const SplitRegions &regions, const SplitDraft &draft,
                     const Csr<NodeId> &successors,
                     const std::vector<int32_t> &sections)
    : regions(regions), draft(draft), successors(successors),
      sections(sections), streamIndex(regions.getProblem().numStreams()),
      missing(draft.nodes.size()), endNs(draft.nodes.size()) {
  nodesOf.build(
      regions.getSpecs().size(), draft.nodes.size(),
      [&](size_t i) { return draft.nodes[i].origin.spec; },
      [](size_t i) { return static_cast<NodeId>(i); });
}

Pipeliner::Rank Pipeliner::rank(NodeId node, Skew skew) const {
  const SplitProblem::Origin &origin = draft.nodes[node].origin;
  const SplitSpec &spec = regions.getSpecs()[origin.spec];
  // A Slice comes with its first user, a Whole with the last chunk.
  NodeId member = origin.node;
  int64_t chunk = origin.chunk;
  if (origin.role == SplitProblem::Role::Slice)
    member = findFirstUser(spec.slices[origin.index]);
  if (origin.role == SplitProblem::Role::Whole) {
    member = spec.wholes[origin.index].producer;
    chunk = spec.chunks - 1;
  }
  return {skew.perSection * int64_t(sections[member]) + skew.perChunk * chunk,
          chunk, member, node};
}

/// Counts the dependences within the region, and numbers its streams.
void Pipeliner::countMissing(int32_t spec) {
  int32_t numStreams = 0;
  for (NodeId node : nodesOf[spec]) {
    missing[node] = 0;
    if (draft.nodes[node].stream != noStream)
      streamIndex[draft.nodes[node].stream] = -1;
  }
  for (NodeId node : nodesOf[spec])
    for (NodeId successor : successors[node])
      if (draft.nodes[successor].origin.spec == spec)
        ++missing[successor];
  for (NodeId node : nodesOf[spec])
    if (StreamId stream = draft.nodes[node].stream;
        stream != noStream && streamIndex[stream] < 0)
      streamIndex[stream] = numStreams++;
  starts.resize(numStreams);
  streamEndNs.assign(numStreams, 0);
}

void Pipeliner::push(NodeId node) {
  const SplitDraft::Node &ready = draft.nodes[node];
  if (ready.kind == NodeKind::Start)
    starts[streamIndex[ready.stream]].push({rank(node, skew), node});
  else if (ready.kind == NodeKind::Wait)
    waits.push({endNs[ready.start], node});
  else
    computations.push({rank(node, skew), node});
}

void Pipeliner::take(NodeId node) {
  order.push_back(node);
  for (NodeId successor : successors[node])
    if (draft.nodes[successor].origin.spec == draft.nodes[node].origin.spec &&
        --missing[successor] == 0)
      push(successor);
}

/// Issues what is ready to all streams that would be idle before `untilNs`: no
/// more, since what becomes ready until then may rank before it. Returns
/// whether there was anything.
bool Pipeliner::issue(int64_t untilNs) {
  bool hasIssued = false;
  for (size_t stream = 0; stream < starts.size(); ++stream) {
    int64_t &streamNs = streamEndNs[stream];
    while (!starts[stream].empty() &&
           (streamNs <= nowNs || streamNs < untilNs)) {
      NodeId node = starts[stream].top().second;
      starts[stream].pop();
      streamNs = add(std::max(streamNs, nowNs), draft.nodes[node].costNs);
      endNs[node] = streamNs;
      take(node);
      hasIssued = true;
    }
  }
  return hasIssued;
}

/// List scheduling: of what is ready, the compute stream and the communication
/// streams take the first by rank. Collectives are waited for when they have
/// ended, and earlier only if there is nothing to compute.
void Pipeliner::simulate(int32_t spec, Skew with) {
  skew = with;
  nowNs = 0;
  order.clear();
  countMissing(spec);
  for (NodeId node : nodesOf[spec])
    if (missing[node] == 0)
      push(node);
  while (order.size() < nodesOf[spec].size()) {
    if (!waits.empty() && (waits.top().first <= nowNs)) {
      NodeId wait = waits.top().second;
      waits.pop();
      take(wait);
      continue;
    }
    if (!computations.empty()) {
      NodeId node = computations.top().second;
      int64_t costNs = draft.nodes[node].costNs;
      if (issue(add(nowNs, costNs)))
        continue;
      computations.pop();
      nowNs = add(nowNs, costNs);
      take(node);
      continue;
    }
    if (issue(waits.empty() ? unlimited : waits.top().first))
      continue;
    // placeSplit() reports cycles of dependences and uses.
    if (waits.empty())
      return;
    nowNs = waits.top().first;
  }
}

Order Pipeliner::pipeline(int32_t spec) {
  Order best;
  int64_t bestNs = unlimited;
  for (Skew skew : skews) {
    simulate(spec, skew);
    int64_t stepNs = nowNs;
    for (int64_t endNs : streamEndNs)
      stepNs = std::max(stepNs, endNs);
    if (!best.empty() && stepNs >= bestNs)
      continue;
    bestNs = stepNs;
    best = order;
  }
  return best;
}

std::vector<Order> schedule::pipelineRegions(const SplitRegions &regions,
                                             const SplitDraft &draft,
                                             const Csr<NodeId> &successors) {
  std::vector<int32_t> sections = numberSections(regions);
  Pipeliner pipeliner(regions, draft, successors, sections);
  std::vector<Order> orders;
  for (size_t spec = 0; spec < regions.getSpecs().size(); ++spec)
    orders.push_back(pipeliner.pipeline(static_cast<int32_t>(spec)));
  return orders;
}
