//===- SplitProblem.cpp - Problem with regions in chunks ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/Schedule/Splitting/SplitProblem.h"

#include "CommSched/Schedule/Model/Simulator.h"
#include "CommSched/Schedule/Model/Verify.h"

#include "../Step/ListScheduling.h"
#include "SplitBuilder.h"

#include <algorithm>
#include <numeric>
#include <optional>

using namespace mlir::commsched;
using namespace mlir::commsched::schedule;

namespace mlir::commsched::schedule {

/// Builds a SplitProblem: a draft first, then the nodes in their order.
class SplitBuilder {
public:
  SplitBuilder(const Problem &problem, const std::vector<SplitSpec> &specs)
      : problem(problem), regions(problem, specs) {}

  Result<SplitProblem> build();

private:
  using Role = SplitProblem::Role;

  void addNode(NodeId original, const SplitProblem::Origin &origin,
               int64_t costNs);
  void addNodes();
  void addPartNodes();

  std::vector<NodeId> copiesOf(NodeId original) const;
  std::vector<NodeId> chunksOfSlice(int32_t slice) const;
  void depend(NodeId from, NodeId to, DependenceKind kind);
  void dependAll(const std::vector<NodeId> &from, const std::vector<NodeId> &to,
                 DependenceKind kind);
  std::vector<NodeId> findSources(NodeId from, NodeId to,
                                  DependenceKind kind) const;
  void enterSlices(const std::vector<NodeId> &sources,
                   const std::vector<int32_t> &slices, NodeId user,
                   DependenceKind kind);
  void addDependences(NodeId from, NodeId to, DependenceKind kind);
  void addPartDependences();

  void number(const Order &order);
  std::vector<int64_t> rankWholesLate() const;
  std::optional<Order> fillStalls() const;

  const Problem &problem;
  SpecIndex regions;
  SplitDraft draft;
  SplitProblem result;
};

} // namespace mlir::commsched::schedule

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

/// Adds a copy of `original`, or a Compute if that is noNode.
void SplitBuilder::addNode(NodeId original, const SplitProblem::Origin &origin,
                           int64_t costNs) {
  SplitDraft::Node node{origin, NodeKind::Compute, costNs, noStream, noNode,
                        false};
  if (original != noNode) {
    node.kind = problem.kind(original);
    node.stream = problem.stream(original);
    node.isExpensive = problem.isExpensive(original);
    if (node.kind == NodeKind::Wait)
      node.start =
          draft.firsts[problem.startOf(original)] + std::max(origin.chunk, 0);
  }
  draft.nodes.push_back(node);
}

void SplitBuilder::addNodes() {
  draft.firsts.resize(problem.numNodes());
  for (NodeId node = 0; node < problem.numNodes(); ++node) {
    draft.firsts[node] = static_cast<NodeId>(draft.nodes.size());
    int32_t spec = regions.specOf(node);
    if (spec < 0) {
      addNode(node, {Role::Kept, -1, -1, -1, node}, problem.costNs(node));
      continue;
    }
    for (int32_t chunk = 0; chunk < regions.numChunks(spec); ++chunk)
      addNode(node, {Role::Chunk, chunk, spec, -1, node},
              regions.chunkCostNs(node));
  }
}

void SplitBuilder::addPartNodes() {
  for (auto [spec, index] : regions.wholes) {
    draft.wholes.push_back(static_cast<NodeId>(draft.nodes.size()));
    addNode(noNode, {Role::Whole, -1, spec, index, noNode},
            regions.getSpecs()[spec].wholes[index].costNs);
  }
  for (auto [spec, index] : regions.slices) {
    draft.slices.push_back(static_cast<NodeId>(draft.nodes.size()));
    for (int32_t chunk = 0; chunk < regions.numChunks(spec); ++chunk)
      addNode(noNode, {Role::Slice, chunk, spec, index, noNode},
              regions.getSpecs()[spec].slices[index].costNs);
  }
  for (SpecIndex::Storage storage : regions.storages) {
    auto [spec, index] = regions.wholes[storage.whole];
    draft.storages.push_back(static_cast<NodeId>(draft.nodes.size()));
    addNode(noNode, {Role::Storage, -1, spec, index, noNode}, /*costNs=*/0);
  }
}

//===----------------------------------------------------------------------===//
// Dependences
//===----------------------------------------------------------------------===//

/// The node that replaces `original`, or its chunks.
std::vector<NodeId> SplitBuilder::copiesOf(NodeId original) const {
  int32_t spec = regions.specOf(original);
  std::vector<NodeId> copies(spec < 0 ? 1 : regions.numChunks(spec));
  std::iota(copies.begin(), copies.end(), draft.firsts[original]);
  return copies;
}

std::vector<NodeId> SplitBuilder::chunksOfSlice(int32_t slice) const {
  std::vector<NodeId> chunks(regions.numChunks(regions.slices[slice].spec));
  std::iota(chunks.begin(), chunks.end(), draft.slices[slice]);
  return chunks;
}

void SplitBuilder::depend(NodeId from, NodeId to, DependenceKind kind) {
  draft.dependences.push_back({from, to, kind});
}

void SplitBuilder::dependAll(const std::vector<NodeId> &from,
                             const std::vector<NodeId> &to,
                             DependenceKind kind) {
  for (NodeId source : from)
    for (NodeId target : to)
      depend(source, target, kind);
}

/// Where the dependence of `to` on `from` begins: the wholes that `to` uses,
/// otherwise all that replaces `from`.
std::vector<NodeId> SplitBuilder::findSources(NodeId from, NodeId to,
                                              DependenceKind kind) const {
  std::vector<NodeId> sources;
  if (kind == DependenceKind::Data && regions.specOf(from) >= 0)
    for (int32_t whole : regions.wholesOfProducer.find(from, to))
      sources.push_back(draft.wholes[whole]);
  return sources.empty() ? copiesOf(from) : sources;
}

/// Makes the slices that `user` reads depend on `sources`, each slice once: as
/// its first user does.
void SplitBuilder::enterSlices(const std::vector<NodeId> &sources,
                               const std::vector<int32_t> &slices, NodeId user,
                               DependenceKind kind) {
  for (int32_t slice : slices)
    if (findFirstUser(regions.slice(slice)) == user)
      dependAll(sources, chunksOfSlice(slice), kind);
}

void SplitBuilder::addDependences(NodeId from, NodeId to, DependenceKind kind) {
  // addWait() has said it already.
  if (problem.startOf(to) == from)
    return;
  std::vector<NodeId> sources = findSources(from, to, kind);
  int32_t spec = regions.specOf(to);
  bool isWhole = draft.nodes[sources.front()].origin.role == Role::Whole;
  if (spec >= 0 && kind == DependenceKind::Data)
    if (std::vector<int32_t> slices = regions.slicesOfProducer.find(from, to);
        !slices.empty())
      return enterSlices(sources, slices, to, kind);
  bool isByChunk =
      kind == DependenceKind::Data || kind == DependenceKind::Order;
  std::vector<NodeId> targets = copiesOf(to);
  if (spec < 0 || regions.specOf(from) != spec || isWhole || !isByChunk)
    return dependAll(sources, targets, kind);
  for (size_t chunk = 0; chunk < sources.size(); ++chunk)
    depend(sources[chunk], targets[chunk], kind);
}

void SplitBuilder::addPartDependences() {
  for (size_t i = 0; i < draft.storages.size(); ++i)
    dependAll({draft.storages[i]},
              copiesOf(problem.buffer(regions.storages[i].buffer).producer),
              DependenceKind::Data);
  for (size_t i = 0; i < draft.wholes.size(); ++i)
    dependAll(copiesOf(regions.whole(static_cast<int32_t>(i)).producer),
              {draft.wholes[i]}, DependenceKind::Data);
  for (size_t i = 0; i < draft.slices.size(); ++i) {
    std::vector<NodeId> chunks = chunksOfSlice(static_cast<int32_t>(i));
    const SplitSpec::Slice &slice = regions.slice(static_cast<int32_t>(i));
    for (NodeId user : slice.users)
      for (size_t chunk = 0; chunk < chunks.size(); ++chunk)
        depend(chunks[chunk], draft.firsts[user] + static_cast<NodeId>(chunk),
               DependenceKind::Data);
  }
}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

/// Builds the split problem with the nodes of the draft in `order`.
void SplitBuilder::number(const Order &order) {
  std::vector<NodeId> numbers(order.size());
  result.split.reserve(order.size(), draft.dependences.size());
  result.origins.reserve(order.size());
  for (NodeId drafted : order) {
    const SplitDraft::Node &node = draft.nodes[drafted];
    NodeId number =
        node.kind == NodeKind::Wait
            ? result.split.addWait(numbers[node.start])
            : result.split.addNode(node.kind, node.costNs, node.stream);
    if (node.isExpensive)
      result.split.setExpensive(number);
    result.origins.push_back(node.origin);
    numbers[drafted] = number;
  }
  for (const Dependence &edge : draft.dependences)
    result.split.addDependence(numbers[edge.from], numbers[edge.to], edge.kind);
  for (const Buffer &buffer : draft.buffers)
    result.split.addBuffer(buffer.bytes,
                           buffer.producer == noNode ? noNode
                                                     : numbers[buffer.producer],
                           buffer.freed);
  for (const SplitDraft::Use &use : draft.uses)
    result.split.addUse(use.buffer, numbers[use.node]);

  result.numRegions = static_cast<int32_t>(regions.getSpecs().size());
  for (NodeId node = 0; node < problem.numNodes(); ++node)
    result.specs.push_back(regions.specOf(node));
}

/// Returns the program's ranks, but for wholes those of the first operation
/// that needs them: so a stall ahead of it has something to compute.
std::vector<int64_t> SplitBuilder::rankWholesLate() const {
  const Problem &split = result.split;
  std::vector<int64_t> ranks = rankByProgram(split);
  std::vector<int64_t> late = ranks;
  for (NodeId node = 0; node < split.numNodes(); ++node) {
    if (result.originOf(node).role != Role::Whole || split.costNs(node) == 0)
      continue;
    late[node] = split.numNodes();
    for (DependenceEnd end : split.successors(node))
      late[node] = std::min(late[node], ranks[end.node] - 1);
  }
  return late;
}

/// Returns an order of the split program, whose nodes are numbered, in which
/// other operations fill the stalls of regions; std::nullopt if the step gets
/// no shorter. Collectives that are in no region keep their places: it is the
/// scheduler that weighs when to start them against memory.
std::optional<Order> SplitBuilder::fillStalls() const {
  const Problem &split = result.split;
  ListWindow window;
  window.length = 1024;
  for (NodeId node = 0; node < split.numNodes(); ++node)
    window.isFixed.push_back(split.isCollective(node) &&
                             result.originOf(node).role == Role::Kept);
  RankedOrder filled = scheduleByRank(split, rankByProgram(split), window);
  RankedOrder late = scheduleByRank(split, rankWholesLate(), window);
  if (late.stepNs < filled.stepNs)
    filled = std::move(late);
  Result<Timeline> timeline = simulate(split, split.programOrder());
  if (!timeline || timeline->stepNs <= filled.stepNs ||
      !verify(split, filled.order))
    return std::nullopt;
  return filled.order;
}

Result<SplitProblem> SplitBuilder::build() {
  if (!problem.check())
    return problem.check();
  if (Status status = regions.build(); !status)
    return status;
  addNodes();
  addPartNodes();
  for (NodeId from = 0; from < problem.numNodes(); ++from)
    for (DependenceEnd end : problem.successors(from))
      addDependences(from, end.node, end.kind);
  addPartDependences();
  addSplitBuffers(regions, draft);
  Result<Order> order = placeSplit(regions, draft);
  if (!order)
    return Error{order.error()};
  number(*order);
  if (Status status = result.split.finalize(); !status)
    return Error{"the regions make a program that is not valid: " +
                 status.error()};
  if (std::optional<Order> filled = fillStalls()) {
    for (NodeId &node : *filled)
      node = (*order)[node];
    result = SplitProblem();
    number(*filled);
    result.split.finalize();
  }
  if (Status status = verify(result.split, result.split.programOrder());
      !status)
    return Error{"the regions make an invalid order: " + status.error()};
  return std::move(result);
}

Result<SplitProblem> SplitProblem::create(const Problem &problem,
                                          const std::vector<SplitSpec> &specs) {
  return SplitBuilder(problem, specs).build();
}
