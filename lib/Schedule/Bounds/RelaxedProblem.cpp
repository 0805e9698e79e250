//===- RelaxedProblem.cpp - What all rewritten programs exceed ------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Schedule/Bounds/RelaxedProblem.h"

#include "CommSched/Support/Csr.h"

#include <algorithm>
#include <utility>

using namespace mlir::commsched;
using namespace mlir::commsched::schedule;

namespace {

class Relaxer {
public:
  Relaxer(const Problem &problem, const std::vector<int64_t> &costsNs,
          const std::vector<DivisibleRegion> &regions);

  RelaxedProblem run();

private:
  bool isDivisible(NodeId node) const { return !regionsOf[node].empty(); }
  bool shareRegion(NodeId node, NodeId other) const;
  void addParts(NodeId node);
  void addDependences(NodeId node);
  NodeId addPart(NodeId node, int64_t costNs, NodeId start);

  const Problem &original;
  const std::vector<int64_t> &costsNs;
  /// By operation: its regions, in ascending order.
  Csr<int32_t> regionsOf;
  std::vector<int32_t> mostChunks;
  RelaxedProblem relaxed;
};

} // namespace

Relaxer::Relaxer(const Problem &problem, const std::vector<int64_t> &costsNs,
                 const std::vector<DivisibleRegion> &regions)
    : original(problem), costsNs(costsNs), mostChunks(problem.numNodes(), 1) {
  std::vector<std::pair<NodeId, int32_t>> memberships;
  for (size_t region = 0; region < regions.size(); ++region)
    for (NodeId member : regions[region].members) {
      memberships.emplace_back(member, static_cast<int32_t>(region));
      mostChunks[member] =
          std::max(mostChunks[member], regions[region].mostChunks);
    }
  regionsOf.build(
      problem.numNodes(), memberships.size(),
      [&](size_t index) { return memberships[index].first; },
      [&](size_t index) { return memberships[index].second; });
}

/// Whether some region has both.
bool Relaxer::shareRegion(NodeId node, NodeId other) const {
  ArrayView<int32_t> others = regionsOf[other];
  return std::any_of(
      regionsOf[node].begin(), regionsOf[node].end(), [&](int32_t region) {
        return std::binary_search(others.begin(), others.end(), region);
      });
}

/// Adds a part of `node`; of a Wait, that for the part `start`.
NodeId Relaxer::addPart(NodeId node, int64_t costNs, NodeId start) {
  if (original.kind(node) == NodeKind::Wait)
    return relaxed.problem.addWait(start);
  return relaxed.problem.addNode(original.kind(node), costNs,
                                 original.stream(node));
}

void Relaxer::addParts(NodeId node) {
  NodeId start = original.startOf(node);
  NodeId firstStart = start == noNode ? noNode : relaxed.first[start];
  if (!isDivisible(node)) {
    NodeId whole = addPart(node, costsNs[node], firstStart);
    relaxed.first.push_back(whole);
    relaxed.last.push_back(whole);
    return;
  }
  int64_t partNs = costsNs[node] / mostChunks[node];
  NodeId first = addPart(node, partNs, firstStart);
  // The parts of a start are numbered one after the other.
  NodeId middle = addPart(node, costsNs[node] - 2 * partNs, firstStart + 1);
  NodeId last = addPart(node, partNs, firstStart + 2);
  relaxed.problem.addDependence(first, middle, DependenceKind::Order);
  relaxed.problem.addDependence(middle, last, DependenceKind::Order);
  relaxed.first.push_back(first);
  relaxed.last.push_back(last);
}

void Relaxer::addDependences(NodeId node) {
  for (DependenceEnd end : original.successors(node)) {
    NodeId to = end.node;
    if (to == original.waitOf(node))
      continue;
    if (shareRegion(node, to)) {
      relaxed.problem.addDependence(relaxed.first[node], relaxed.first[to],
                                    end.kind);
      relaxed.problem.addDependence(relaxed.last[node], relaxed.last[to],
                                    end.kind);
    } else {
      relaxed.problem.addDependence(relaxed.last[node], relaxed.first[to],
                                    end.kind);
    }
  }
}

RelaxedProblem Relaxer::run() {
  relaxed.problem.reserve(3 * original.numNodes(),
                          3 * original.numDependences());
  for (NodeId node = 0; node < original.numNodes(); ++node)
    addParts(node);
  for (NodeId node = 0; node < original.numNodes(); ++node)
    addDependences(node);
  relaxed.problem.reserveStreams(original.numStreams());
  relaxed.problem.finalize();
  return std::move(relaxed);
}

RelaxedProblem schedule::relax(const Problem &problem,
                               const std::vector<int64_t> &costsNs,
                               const std::vector<DivisibleRegion> &regions) {
  return Relaxer(problem, costsNs, regions).run();
}
