//===- AloneCollectives.cpp - Why collectives are not merged --------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AloneCollectives.h"

#include "CommSched/Schedule/Graphs/ContractedGraph.h"

using namespace mlir;
using namespace mlir::commsched;
using schedule::AloneReason;
using schedule::Bucket;
using schedule::CandidateFate;
using schedule::ContractedGraph;
using schedule::NodeId;
using schedule::noNode;

namespace {

class AloneExplainer {
public:
  AloneExplainer(const BlockProblem &problem, const BucketAlternative &chosen,
                 ContractedGraph graph);

  /// Of one kind of collectives.
  void explain(const MergeableCollectives &collectives);
  AloneReasons take() { return std::move(reasons); }

private:
  bool isJoined(NodeId start, NodeId member);
  std::string explain(NodeId start, ArrayRef<NodeId> members);

  const BlockProblem &problem;
  const BucketAlternative &chosen;
  /// With the buckets merged.
  ContractedGraph graph;
  /// By node.
  std::vector<char> isMember;
  AloneReasons reasons;
};

} // namespace

AloneExplainer::AloneExplainer(const BlockProblem &problem,
                               const BucketAlternative &chosen,
                               ContractedGraph graph)
    : problem(problem), chosen(chosen), graph(std::move(graph)),
      isMember(problem.getProblem().numNodes()) {
  for (const Bucket &bucket : chosen.buckets)
    for (NodeId start : bucket.starts) {
      isMember[start] = true;
      if (start != bucket.starts.front())
        this->graph.mergeCollectives(bucket.starts.front(), start);
    }
}

/// Whether a path of dependences keeps a collective from a bucket.
bool AloneExplainer::isJoined(NodeId start, NodeId member) {
  const schedule::Problem &known = problem.getProblem();
  return graph.findPath(start, member) ||
         graph.findPath(known.waitOf(start), known.waitOf(member));
}

/// `members` are those of buckets that it might be in, in program order.
std::string AloneExplainer::explain(NodeId start, ArrayRef<NodeId> members) {
  const NodeId *behind = llvm::lower_bound(members, start);
  SmallVector<NodeId, 2> nearest;
  if (behind != members.begin())
    nearest.push_back(*std::prev(behind));
  if (behind != members.end())
    nearest.push_back(*behind);
  if (!nearest.empty() && llvm::all_of(nearest, [&](NodeId member) {
        return isJoined(start, member);
      }))
    return explainAlone(
        problem, {/*bucket=*/-1, AloneReason::Dependent, nearest.front()});
  return "merging " + chosen.rule +
         ", which makes the best step of the ways that were tried, leaves it "
         "alone";
}

void AloneExplainer::explain(const MergeableCollectives &collectives) {
  for (const RefusedCollective &refused : collectives.refused)
    reasons[refused.op] = refused.reason;
  struct SameKey {
    int32_t count = 0;
    /// In buckets.
    SmallVector<NodeId> members;
  };
  DenseMap<Attribute, SameKey> byKey;
  for (const MergeableCollective &collective : collectives.mergeable) {
    SameKey &same = byKey[collective.key];
    ++same.count;
    if (isMember[collective.node])
      same.members.push_back(collective.node);
  }
  for (const MergeableCollective &collective : collectives.mergeable) {
    if (isMember[collective.node])
      continue;
    const SameKey &same = byKey[collective.key];
    reasons[collective.op] =
        same.count == 1
            ? explainAlone(problem,
                           {/*bucket=*/-1, AloneReason::NoPartner, noNode})
            : explain(collective.node, same.members);
  }
}

AloneReasons mlir::commsched::explainAlone(const BlockProblem &problem,
                                           const MergeableSet &mergeable,
                                           const BucketAlternative &chosen) {
  // It was created before, to find the buckets.
  AloneExplainer explainer(problem, chosen,
                           *ContractedGraph::create(problem.getProblem()));
  for (const MergeableSet::Kind &kind : mergeable.kinds)
    explainer.explain(kind.collectives);
  return explainer.take();
}
