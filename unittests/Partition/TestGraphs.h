//===- TestGraphs.h - Hand-written joint graphs -----------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Builds small joint graphs in the order in which tests write them down.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_UNITTESTS_PARTITION_TESTGRAPHS_H
#define COMMSCHED_UNITTESTS_PARTITION_TESTGRAPHS_H

#include "CommSched/Partition/MinCut.h"
#include "gtest/gtest.h"

#include <initializer_list>
#include <vector>

namespace mlir::commsched::partition::testing {

class GraphBuilder {
public:
  using Operands = std::initializer_list<NodeId>;

  NodeId parameter(int64_t bytes) {
    JointNode node = makeArgument(JointNodeKind::Primal, bytes);
    node.isStatic = true;
    return graph.addNode(node);
  }
  NodeId input(int64_t bytes) {
    return graph.addNode(makeArgument(JointNodeKind::Primal, bytes));
  }
  NodeId tangent(int64_t bytes) {
    return graph.addNode(makeArgument(JointNodeKind::Tangent, bytes));
  }
  NodeId backwardSeed(int64_t bytes) {
    return graph.addNode(makeArgument(JointNodeKind::BackwardSeed, bytes));
  }

  /// An operation with one result of that size.
  NodeId op(OperatorClass operatorClass, int64_t bytes, Operands operands,
            int64_t cost = 0) {
    JointNode node;
    node.operatorClass = operatorClass;
    node.isSaveable = true;
    node.bytes = bytes;
    node.cost = cost;
    node.storage = nextStorage++;
    return add(node, operands);
  }
  NodeId pointwise(int64_t bytes, Operands operands) {
    return op(OperatorClass::Pointwise, bytes, operands);
  }
  NodeId matmul(int64_t bytes, Operands operands, int64_t cost = 100) {
    return op(OperatorClass::ComputeIntensive, bytes, operands, cost);
  }
  NodeId view(NodeId viewed) {
    NodeId node = op(OperatorClass::View, graph[viewed].bytes, {viewed});
    graph[node].storage = graph[viewed].storage;
    return node;
  }
  /// The start of a collective.
  NodeId start(Operands operands, int64_t cost = 10) {
    JointNode node;
    node.operatorClass = OperatorClass::Collective;
    node.cost = cost;
    return add(node, operands);
  }
  NodeId wait(NodeId start, int64_t bytes) {
    return op(OperatorClass::Collective, bytes, {start});
  }
  /// An operation with several results; the results follow.
  NodeId multiple(OperatorClass operatorClass, Operands operands,
                  int64_t cost = 0) {
    JointNode node;
    node.operatorClass = operatorClass;
    node.cost = cost;
    return add(node, operands);
  }
  NodeId result(NodeId operation, int64_t bytes) {
    JointNode node;
    node.kind = JointNodeKind::Result;
    node.operatorClass = graph[operation].operatorClass;
    node.isSaveable = true;
    node.bytes = bytes;
    node.storage = nextStorage++;
    return add(node, {operation});
  }

  JointNode &operator[](NodeId node) { return graph[node]; }

  JointGraph finish(Operands forwardResults, Operands backwardResults) {
    for (NodeId value : forwardResults)
      graph.addForwardResult(value);
    for (NodeId value : backwardResults)
      graph.addBackwardResult(value);
    Status status = graph.finalize();
    EXPECT_TRUE(status) << status.error();
    return std::move(graph);
  }

private:
  JointNode makeArgument(JointNodeKind kind, int64_t bytes) {
    JointNode node;
    node.kind = kind;
    node.isSaveable = true;
    node.bytes = bytes;
    node.storage = nextStorage++;
    return node;
  }
  NodeId add(const JointNode &node, Operands operands) {
    NodeId id = graph.addNode(node);
    for (NodeId operand : operands)
      graph.addUse(operand, id);
    return id;
  }

  JointGraph graph;
  int32_t nextStorage = 0;
};

/// What `result` holds; the test fails if that is a conflict.
template <typename T> T expectNoConflict(PartitionResult<T> result) {
  if (auto *conflict = std::get_if<PartitionConflict>(&result))
    ADD_FAILURE() << conflict->node << " " << conflict->reason << "; "
                  << conflict->other << " " << conflict->otherReason;
  return std::get<T>(std::move(result));
}

/// The conflict in `result`; the test fails if there is none.
template <typename T>
PartitionConflict expectConflict(PartitionResult<T> result) {
  auto *conflict = std::get_if<PartitionConflict>(&result);
  if (conflict)
    return *conflict;
  ADD_FAILURE() << "there is no conflict";
  return {};
}

} // namespace mlir::commsched::partition::testing

#endif // COMMSCHED_UNITTESTS_PARTITION_TESTGRAPHS_H
