//===- JointFunction.h - Joint graph of a function --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Builds the joint graph of a function that holds a forward and its backward,
// and leads from the graph's nodes back to the function's values.
//
// Checks of the values that a block offloads, in joint functions and in
// forwards: the copy on the host takes the place of the value in the backward.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_ANALYSIS_JOINT_JOINTFUNCTION_H
#define COMMSCHED_ANALYSIS_JOINT_JOINTFUNCTION_H

#include "CommSched/Analysis/Problem/StorageAnalysis.h"
#include "CommSched/Partition/JointGraph.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"

namespace mlir::commsched {

/// Whether `function` says how many of its results are the forward's, without
/// which it cannot be partitioned.
bool saysForwardOutputs(func::FuncOp function);

/// Whether `function` is to be partitioned: it says how many of its results are
/// the forward's, or it looks as if it should: it has a tangent, or operations
/// of either half, and takes nothing that another function saved. It is not
/// itself half of a partition.
bool isJointFunction(func::FuncOp function);

class JointFunction {
public:
  /// The cost of an operation, in one unit for all of them; not negative.
  using CostFunction = function_ref<int64_t(Operation *)>;

  /// Emits an error when the function is external or has several blocks, does
  /// not say how many results are the forward's, has an argument without a role
  /// or with one that a joint function cannot have, or a value of unknown size.
  static FailureOr<JointFunction> create(func::FuncOp function,
                                         CostFunction getCost);

  func::FuncOp getFunction() const { return function; }
  const partition::JointGraph &getGraph() const { return graph; }

  /// The argument or result that the node stands for; null for an operation
  /// that does not have exactly one result.
  Value getValue(partition::NodeId node) const { return values[node]; }
  /// The operation that makes the node; null for an argument.
  Operation *getOperation(partition::NodeId node) const {
    return operations[node];
  }
  /// The node of an argument or result.
  partition::NodeId getNode(Value value) const { return nodeOf.lookup(value); }

  /// A name that no other node has: `commsched.name` of the argument or
  /// operation, `arg` or the operation's name with its index if it has none,
  /// and behind a `#` the number of the result (or, where several have one
  /// name, the index of the node).
  StringRef getName(partition::NodeId node) const {
    return names[node].getValue();
  }

  int64_t getNumForwardOutputs() const { return numForwardOutputs; }

private:
  friend class JointFunctionBuilder;

  func::FuncOp function;
  partition::JointGraph graph;
  SmallVector<Value> values;
  SmallVector<Operation *> operations;
  llvm::DenseMap<Value, partition::NodeId> nodeOf;
  SmallVector<StringAttr> names;
  int64_t numForwardOutputs = 0;
};

/// Emits an error for the first `commsched.offload` of `block` with an operand
/// whose storage a later operation writes: the copy differs from the value. A
/// note is at that operation. Storages that memrefs reach are not checked, as
/// it is not known which of them are the same memory. `storages` are those of
/// the block. Linear in the operations, operands and effects of the block.
LogicalResult verifyOffloadedUnchanged(Block &block,
                                       const StorageAnalysis &storages);

/// Emits an error for the first `commsched.offload` of `block` with an operand
/// that an operation makes which is tagged `must_recompute`: the copy on the
/// host is saved. A note is at that operation.
LogicalResult verifyOffloadedPolicies(Block &block);

} // namespace mlir::commsched

#endif // COMMSCHED_ANALYSIS_JOINT_JOINTFUNCTION_H
