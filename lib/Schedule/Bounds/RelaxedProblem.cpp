//===- RelaxedProblem.cpp - What all rewritten programs exceed ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
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
          const std::vector<DivisibleRegion> &regions,
          const std::vector<NodeId> &detached);

  Problem run();

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
  std::vector<char> isDetached;
  Problem relaxed;
  /// By operation of the original: its first and its last part, which are the
  /// same where it is not divisible.
  std::vector<NodeId> first;
  std::vector<NodeId> last;
};

} // namespace

Relaxer::Relaxer(const Problem &problem, const std::vector<int64_t> &costsNs,
                 const std::vector<DivisibleRegion> &regions,
                 const std::vector<NodeId> &detached)
    : original(problem), costsNs(costsNs), mostChunks(problem.numNodes(), 1),
      isDetached(problem.numNodes()) {
  for (NodeId node : detached)
    isDetached[node] = 1;
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
    return relaxed.addWait(start);
  return relaxed.addNode(original.kind(node), costNs, original.stream(node));
}

void Relaxer::addParts(NodeId node) {
  NodeId start = original.startOf(node);
  NodeId firstStart = start == noNode ? noNode : first[start];
  if (!isDivisible(node)) {
    NodeId whole = addPart(node, costsNs[node], firstStart);
    first.push_back(whole);
    last.push_back(whole);
    return;
  }
  int64_t partNs = costsNs[node] / mostChunks[node];
  first.push_back(addPart(node, partNs, firstStart));
  // The parts of a start are numbered one after the other.
  NodeId middle = addPart(node, costsNs[node] - 2 * partNs, firstStart + 1);
  last.push_back(addPart(node, partNs, firstStart + 2));
  relaxed.addDependence(first.back(), middle, DependenceKind::Order);
  relaxed.addDependence(middle, last.back(), DependenceKind::Order);
}

void Relaxer::addDependences(NodeId node) {
  for (DependenceEnd end : original.successors(node)) {
    NodeId to = end.node;
    if (to == original.waitOf(node) || isDetached[node] || isDetached[to])
      continue;
    if (shareRegion(node, to)) {
      relaxed.addDependence(first[node], first[to], end.kind);
      relaxed.addDependence(last[node], last[to], end.kind);
    } else {
      relaxed.addDependence(last[node], first[to], end.kind);
    }
  }
}

Problem Relaxer::run() {
  relaxed.reserve(3 * original.numNodes(), 3 * original.numDependences());
  for (NodeId node = 0; node < original.numNodes(); ++node)
    addParts(node);
  for (NodeId node = 0; node < original.numNodes(); ++node)
    addDependences(node);
  relaxed.reserveStreams(original.numStreams());
  relaxed.finalize();
  return std::move(relaxed);
}

Problem schedule::relax(const Problem &problem,
                        const std::vector<int64_t> &costsNs,
                        const std::vector<DivisibleRegion> &regions,
                        const std::vector<NodeId> &detached) {
  return Relaxer(problem, costsNs, regions, detached).run();
}
