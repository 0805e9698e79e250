//===- BucketRemarks.cpp - Remarks on buckets -----------------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BucketChoice.h"

#include "../PassSupport.h"
#include "CommSched/Schedule/Graphs/ContractedGraph.h"

using namespace mlir;
using namespace mlir::commsched;
using schedule::Bucket;
using schedule::BucketAssignment;
using schedule::ContractedGraph;
using schedule::NodeId;
using schedule::noNode;
using schedule::UnbucketedReason;

void mlir::commsched::remarkBucket(func::FuncOp function,
                                   const BlockProblem &problem,
                                   const Bucket &bucket, BucketMode mode) {
  Operation *first = problem.getOperation(bucket.starts.front());
  std::string text;
  llvm::raw_string_ostream os(text);
  os << bucket.starts.size() << " collectives of " << bucket.bytes
     << " bytes become one "
     << (mode == BucketMode::Copy ? "copied" : "coalesced") << " "
     << first->getName() << ": ";
  llvm::interleaveComma(bucket.starts, os, [&](NodeId start) {
    os << describe(problem.getOperation(start));
  });
  remark::passed(first->getLoc(),
                 makeRemark("CollectivesMerged", function.getSymName()))
      << text
      << remark::metric("Members", static_cast<int64_t>(bucket.starts.size()))
      << remark::metric("Bytes", bucket.bytes);
}

std::string
mlir::commsched::explainUnbucketed(const BlockProblem &problem,
                                   const BucketAssignment &assignment) {
  std::string other = assignment.other == schedule::noNode
                          ? std::string("another collective")
                          : describe(problem.getOperation(assignment.other));
  switch (assignment.reason) {
  case UnbucketedReason::None:
    break;
  case UnbucketedReason::NoPartner:
    return "no other collective may travel with it";
  case UnbucketedReason::OverCap:
    return "it is larger than a bucket may be";
  case UnbucketedReason::BucketFull:
    return "the buckets that it might join are full";
  case UnbucketedReason::Dependent:
    return "a dependence joins it to " + other;
  }
  llvm_unreachable("a collective that is not alone");
}

void mlir::commsched::remarkUnbucketed(func::FuncOp function, Block &block,
                                       const UnbucketedReasons &reasons) {
  if (reasons.empty())
    return;
  for (Operation &op : block)
    if (auto it = reasons.find(&op); it != reasons.end())
      remark::missed(op.getLoc(),
                     makeRemark("CollectiveAlone", function.getSymName()))
          << describe(&op) + " stays alone: " + it->second;
}

void mlir::commsched::remarkUnusedEntries(func::FuncOp function,
                                          const BucketPlan &plan,
                                          ArrayRef<bool> usedEntries) {
  for (auto [entry, isUsed] : llvm::enumerate(usedEntries))
    if (!isUsed)
      remark::missed(function.getLoc(),
                     makeRemark("PlanEntryUnused", function.getSymName()))
          << ("entry " + Twine(entry) + " of the plan, '" +
              plan.getText(entry) + "', names no collective")
                 .str();
}

//===----------------------------------------------------------------------===//
// Unbucketed collectives of a schedule
//===----------------------------------------------------------------------===//

namespace {

class UnbucketedExplainer {
public:
  UnbucketedExplainer(const BlockProblem &problem, const BucketChoice &chosen,
                      ContractedGraph graph);

  /// Of one kind of collectives.
  void explain(const MergeableCollectives &collectives);
  UnbucketedReasons take() { return std::move(reasons); }

private:
  bool isJoined(NodeId start, NodeId member);
  std::string explain(NodeId start, ArrayRef<NodeId> members);

  const BlockProblem &problem;
  const BucketChoice &chosen;
  /// With the buckets merged.
  ContractedGraph graph;
  /// By node.
  std::vector<char> isMember;
  UnbucketedReasons reasons;
};

} // namespace

UnbucketedExplainer::UnbucketedExplainer(const BlockProblem &problem,
                                         const BucketChoice &chosen,
                                         ContractedGraph graph)
    : problem(problem), chosen(chosen), graph(std::move(graph)),
      isMember(problem.getProblem().numNodes()) {
  for (const Bucket &bucket : chosen.bucketing.buckets)
    for (NodeId start : bucket.starts) {
      isMember[start] = true;
      if (start != bucket.starts.front())
        this->graph.mergeCollectives(bucket.starts.front(), start);
    }
}

/// Whether a path of dependences keeps a collective from a bucket.
bool UnbucketedExplainer::isJoined(NodeId start, NodeId member) {
  const schedule::Problem &known = problem.getProblem();
  return graph.findPath(start, member) ||
         graph.findPath(known.waitOf(start), known.waitOf(member));
}

/// `members` are those of buckets that it might be in, in program order.
std::string UnbucketedExplainer::explain(NodeId start,
                                         ArrayRef<NodeId> members) {
  const NodeId *behind = llvm::lower_bound(members, start);
  SmallVector<NodeId, 2> nearest;
  if (behind != members.begin())
    nearest.push_back(*std::prev(behind));
  if (behind != members.end())
    nearest.push_back(*behind);
  if (!nearest.empty() && llvm::all_of(nearest, [&](NodeId member) {
        return isJoined(start, member);
      }))
    return explainUnbucketed(
        problem, {/*bucket=*/-1, UnbucketedReason::Dependent, nearest.front()});
  return "merging " + chosen.rule +
         ", which makes the best step of the ways that were tried, leaves it "
         "alone";
}

void UnbucketedExplainer::explain(const MergeableCollectives &collectives) {
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
            ? explainUnbucketed(
                  problem, {/*bucket=*/-1, UnbucketedReason::NoPartner, noNode})
            : explain(collective.node, same.members);
  }
}

UnbucketedReasons
mlir::commsched::explainUnbucketed(const BlockProblem &problem,
                                   const MergeableSet &mergeable,
                                   const BucketChoice &chosen) {
  // It was created before, to find the buckets.
  UnbucketedExplainer explainer(problem, chosen,
                                *ContractedGraph::create(problem.getProblem()));
  for (const MergeableKind &kind : mergeable.kinds)
    explainer.explain(kind.collectives);
  return explainer.take();
}
