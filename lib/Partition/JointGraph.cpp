//===- JointGraph.cpp - Forward and backward in one graph -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/Partition/JointGraph.h"

#include <limits>
#include <string>

using namespace mlir::commsched;
using namespace mlir::commsched::partition;

static std::string describe(NodeId node) {
  return "node " + std::to_string(node);
}

/// Adds `value` to `sum`, neither of which is negative; false if that
/// overflows.
static bool addChecked(int64_t &sum, int64_t value) {
  if (sum > std::numeric_limits<int64_t>::max() - value)
    return false;
  sum += value;
  return true;
}

/// `what` is the quantity, `node` the one that adds `value` to `sum`.
static Status addQuantity(const char *what, NodeId node, int64_t value,
                          int64_t &sum) {
  if (value < 0)
    return Error{describe(node) + " has negative " + what + ": " +
                 std::to_string(value)};
  if (!addChecked(sum, value))
    return Error{std::string("the sum of the ") + what + " up to " +
                 describe(node) + ", which adds " + std::to_string(value) +
                 ", does not fit 64 bits"};
  return Status::success();
}

static Status checkNodes(const std::vector<JointNode> &nodes) {
  if (nodes.size() > size_t(std::numeric_limits<NodeId>::max()))
    return Error{"the graph has " + std::to_string(nodes.size()) +
                 " nodes, more than an index can name"};
  int64_t bytes = 0;
  int64_t cost = 0;
  NodeId firstOperation = noNode;
  for (NodeId id = 0, end = static_cast<NodeId>(nodes.size()); id < end; ++id) {
    const JointNode &node = nodes[id];
    bool isArgument =
        node.kind == JointNodeKind::Primal || isBackwardArgument(node.kind);
    if (firstOperation == noNode && !isArgument)
      firstOperation = id;
    if (firstOperation != noNode && isArgument)
      return Error{describe(id) + " is an argument, but " +
                   describe(firstOperation) + ", an operation, is before it"};
    if (node.kind == JointNodeKind::Result && id == firstOperation)
      return Error{describe(id) +
                   " is a result, but no operation is before it"};
    if (Status status = addQuantity("bytes", id, node.bytes, bytes); !status)
      return status;
    if (Status status = addQuantity("costs", id, node.cost, cost); !status)
      return status;
  }
  return Status::success();
}

static Status checkEdges(const std::vector<JointGraph::Edge> &edges,
                         NodeId numNodes) {
  for (auto [from, to] : edges) {
    for (NodeId end : {from, to})
      if (end < 0 || end >= numNodes)
        return Error{"an edge leads from " + describe(from) + " to " +
                     describe(to) + ", but the graph has " +
                     std::to_string(numNodes) + " nodes"};
    if (from >= to)
      return Error{"an edge leads backwards, from " + describe(from) + " to " +
                   describe(to)};
  }
  return Status::success();
}

static Status checkResults(const char *half, const std::vector<NodeId> &results,
                           NodeId numNodes) {
  for (NodeId result : results)
    if (result < 0 || result >= numNodes)
      return Error{std::string("a ") + half + " result is " + describe(result) +
                   ", but the graph has " + std::to_string(numNodes) +
                   " nodes"};
  return Status::success();
}

NodeId JointGraph::addNode(const JointNode &node) {
  nodes.push_back(node);
  return static_cast<NodeId>(nodes.size() - 1);
}

Status JointGraph::checkOperands() const {
  for (NodeId node = 0; node < size(); ++node) {
    ArrayView<NodeId> reads = operands[node];
    if (isArgument(node) && !reads.empty())
      return Error{describe(node) + " is an argument, but it reads " +
                   describe(reads[0])};
    if (nodes[node].kind != JointNodeKind::Result)
      continue;
    // The producer of a result is the last operation before it.
    NodeId operation = node - 1;
    while (nodes[operation].kind == JointNodeKind::Result)
      operation = operands[operation][0];
    if (reads.size() != 1 || reads[0] != operation)
      return Error{describe(node) + " is a result of " + describe(operation) +
                   ", but that is not the one node that it reads"};
  }
  return Status::success();
}

Status JointGraph::finalize() {
  if (Status status = checkNodes(nodes); !status)
    return status;
  for (const std::vector<Edge> *list : {&edges, &memoryOrder})
    if (Status status = checkEdges(*list, size()); !status)
      return status;
  if (Status status = checkResults("forward", forwardResults, size()); !status)
    return status;
  if (Status status = checkResults("backward", backwardResults, size());
      !status)
    return status;
  operands.build(
      nodes.size(), edges.size(), [&](size_t i) { return edges[i].to; },
      [&](size_t i) { return edges[i].from; });
  if (Status status = checkOperands(); !status)
    return status;
  // By user, so that every row of the users is ascending.
  edges.clear();
  for (NodeId user = 0; user < size(); ++user)
    for (NodeId value : operands[user])
      edges.push_back({value, user});
  users.build(
      nodes.size(), edges.size(), [&](size_t i) { return edges[i].from; },
      [&](size_t i) { return edges[i].to; });
  return Status::success();
}
