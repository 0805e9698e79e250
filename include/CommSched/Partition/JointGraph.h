//===- JointGraph.h - Forward and backward in one graph ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The input of the partitioner: arguments, operations and values of a joint
// function on dense indices, without MLIR. A partition selects the values that
// the forward saves; the backward recomputes all other values of the forward
// that it needs.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_PARTITION_JOINTGRAPH_H
#define COMMSCHED_PARTITION_JOINTGRAPH_H

#include "CommSched/Support/Csr.h"
#include "CommSched/Support/OperatorClass.h"
#include "CommSched/Support/Result.h"

#include <cstdint>
#include <vector>

namespace mlir::commsched::partition {

/// Whether operators of this class are cheap enough to compute again. That is
/// the reference's allow-list: not joined or other operators, and nothing that
/// draws random numbers, multiplies matrices or communicates.
constexpr bool isRecomputable(OperatorClass kind) {
  return kind <= OperatorClass::DataMovement || kind == OperatorClass::View ||
         kind == OperatorClass::Constant;
}

/// Whether an operator of class `producer` is computed in one kernel with one
/// of class `consumer` that reads its result, so that the result is never
/// written to memory.
constexpr bool areFusible(OperatorClass producer, OperatorClass consumer) {
  auto isFusible = [](OperatorClass kind) {
    return isRecomputable(kind) || kind == OperatorClass::Random;
  };
  return consumer == OperatorClass::Concatenation ||
         (isFusible(producer) && isFusible(consumer));
}

/// Index of an operation of the joint graph, in the order of the program.
using NodeId = int32_t;
/// No operation.
inline constexpr NodeId noNode = -1;

/// The kind of a node of a joint graph.
enum class JointNodeKind : uint8_t {
  /// An argument that the forward has: a parameter, an input, a random state.
  Primal,
  /// An argument that only the backward has: the gradient of a result.
  Tangent,
  /// The other kind of those: a state of the backward's random numbers.
  BackwardSeed,
  /// An operation: its result if it has exactly one, else all of it.
  Operation,
  /// One result of an operation that has several; it is made where the
  /// operation runs and costs nothing by itself.
  Result,
};

/// Whether only the backward has an argument of this kind.
inline bool isBackwardArgument(JointNodeKind kind) {
  return kind == JointNodeKind::Tangent || kind == JointNodeKind::BackwardSeed;
}

/// The user's word on computing an operation again in the backward, in the
/// order of `torch.utils.checkpoint.CheckpointPolicy`.
enum class RecomputePolicy : uint8_t {
  None,
  MustSave,
  PreferSave,
  PreferRecompute,
  MustRecompute,
};

/// The user's word on where an operation belongs.
enum class PartitionTag : uint8_t {
  None,
  Forward,
  Backward,
  MustBeForward,
  MustBeBackward,
};

struct JointNode {
  JointNodeKind kind = JointNodeKind::Operation;
  OperatorClass operatorClass = OperatorClass::Other;
  RecomputePolicy policy = RecomputePolicy::None;
  PartitionTag tag = PartitionTag::None;
  /// Whether the node is a value that a forward can return: a tensor, a number,
  /// a memref. False for what is in flight, for an operation with several
  /// results, for one without any.
  bool isSaveable = false;
  /// A Primal that is a parameter, or a shard of one.
  bool isStatic = false;
  /// A Primal whose storage may go after its last use. Saving any other takes
  /// no memory.
  bool isFreeable = false;
  /// An operation that may not be repeated, moved from one half to the other,
  /// or dropped: it touches memory that something writes.
  bool isPinned = false;
  /// An operation that reads of its operands only how large they are.
  bool readsDimensions = false;
  /// The region of activation checkpointing that the policy belongs to; -1:
  /// none.
  int32_t region = -1;
  /// The bytes of the value; 0 for what is no value.
  int64_t bytes = 0;
  /// The cost of computing it, in a unit of the caller's choice (floating-point
  /// operations, nanoseconds).
  int64_t cost = 0;
  /// The index of the storage that the value lives in; views share their
  /// operand's. -1: none.
  int32_t storage = -1;
};

/// A joint function. Nodes are in program order: arguments first, then every
/// operation followed by its results if it has several. An edge leads from a
/// node to one that reads it.
class JointGraph {
public:
  struct Edge {
    NodeId from;
    NodeId to;
  };

  //===--------------------------------------------------------------------===//
  // Building
  //===--------------------------------------------------------------------===//

  NodeId addNode(const JointNode &node);

  /// `user` reads `value`, once for every operand.
  void addUse(NodeId value, NodeId user) { edges.push_back({value, user}); }

  /// `second` has to run after `first` though it reads nothing that `first`
  /// makes: they touch the same memory.
  void addMemoryOrder(NodeId first, NodeId second) {
    memoryOrder.push_back({first, second});
  }

  void addForwardResult(NodeId value) { forwardResults.push_back(value); }
  void addBackwardResult(NodeId value) { backwardResults.push_back(value); }

  /// Closes the graph. Error: an index out of range, an edge that leads
  /// backwards, an argument that reads something or comes after an operation, a
  /// result that does not read just the operation before it, negative bytes or
  /// costs, a sum of bytes or costs that does not fit.
  Status finalize();

  //===--------------------------------------------------------------------===//
  // Reading, after finalize()
  //===--------------------------------------------------------------------===//

  int32_t size() const { return static_cast<int32_t>(nodes.size()); }
  const JointNode &operator[](NodeId node) const { return nodes[node]; }
  JointNode &operator[](NodeId node) { return nodes[node]; }

  /// The operation that makes `node`: for a Result what it is a result of, else
  /// the node itself.
  NodeId getOperation(NodeId node) const {
    return nodes[node].kind == JointNodeKind::Result ? operands[node][0] : node;
  }

  /// The values that `node` reads, one entry for every operand.
  ArrayView<NodeId> getOperands(NodeId node) const { return operands[node]; }
  /// The users of `node`, ascending, one entry for every operand that is
  /// `node`.
  ArrayView<NodeId> getUsers(NodeId node) const { return users[node]; }

  const std::vector<NodeId> &getForwardResults() const {
    return forwardResults;
  }
  const std::vector<NodeId> &getBackwardResults() const {
    return backwardResults;
  }
  const std::vector<Edge> &getMemoryOrder() const { return memoryOrder; }

  bool isArgument(NodeId node) const {
    return nodes[node].kind == JointNodeKind::Primal ||
           isBackwardArgument(nodes[node].kind);
  }

private:
  Status checkOperands() const;

  std::vector<JointNode> nodes;
  std::vector<Edge> edges;
  std::vector<Edge> memoryOrder;
  std::vector<NodeId> forwardResults;
  std::vector<NodeId> backwardResults;
  Csr<NodeId> operands;
  Csr<NodeId> users;
};

} // namespace mlir::commsched::partition

#endif // COMMSCHED_PARTITION_JOINTGRAPH_H
