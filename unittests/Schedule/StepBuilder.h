//===- StepBuilder.h - Builder of training steps ----------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Builds a problem from a traced step: operations on tensors, from which it
// derives dependences and buffers.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_UNITTESTS_SCHEDULE_STEPBUILDER_H
#define COMMSCHED_UNITTESTS_SCHEDULE_STEPBUILDER_H

#include "CommSched/Schedule/Model/Problem.h"

#include <initializer_list>

namespace mlir::commsched::schedule::testing {

/// A tensor: its producer and its buffer.
struct Tensor {
  NodeId node = noNode;
  BufferId buffer = -1;
};

/// A collective that has been started.
struct Started {
  NodeId start = noNode;
  BufferId sent = -1;
  BufferId received = -1;
};

class StepBuilder {
public:
  /// Something that the caller owns.
  Tensor addArgument(int64_t bytes) {
    return {noNode, problem.addBuffer(bytes, noNode, /*freed=*/false)};
  }

  /// A result of `bytes` that goes with its last use.
  Tensor compute(int64_t costNs, int64_t bytes,
                 std::initializer_list<Tensor> operands) {
    return add(costNs, bytes, /*freed=*/true, operands);
  }

  /// The same, of an operation that never goes along with a collective.
  Tensor multiply(int64_t costNs, int64_t bytes,
                  std::initializer_list<Tensor> operands) {
    Tensor result = compute(costNs, bytes, operands);
    problem.setExpensive(result.node);
    return result;
  }

  /// A result of `bytes` that the caller gets.
  Tensor finish(int64_t costNs, int64_t bytes,
                std::initializer_list<Tensor> operands) {
    return add(costNs, bytes, /*freed=*/false, operands);
  }

  /// The same storage, in no time.
  Tensor view(Tensor operand) {
    NodeId node = problem.addNode(NodeKind::Compute, 0);
    use(node, operand);
    return {node, operand.buffer};
  }

  Started start(int64_t costNs, int64_t bytes, Tensor operand,
                StreamId stream = 0) {
    NodeId node = problem.addNode(NodeKind::Start, costNs, stream);
    use(node, operand);
    return {node, operand.buffer,
            problem.addBuffer(bytes, node, /*freed=*/true)};
  }

  Tensor wait(const Started &started) {
    NodeId node = problem.addWait(started.start);
    problem.addUse(started.sent, node);
    problem.addUse(started.received, node);
    return {node, started.received};
  }

  /// A buffer that is there while the operation runs.
  void addScratch(Tensor tensor, int64_t bytes) {
    problem.addBuffer(bytes, tensor.node, /*freed=*/true);
  }

  Problem problem;

private:
  Tensor add(int64_t costNs, int64_t bytes, bool freed,
             std::initializer_list<Tensor> operands) {
    NodeId node = problem.addNode(NodeKind::Compute, costNs);
    for (Tensor operand : operands)
      use(node, operand);
    return {node, problem.addBuffer(bytes, node, freed)};
  }

  void use(NodeId node, Tensor tensor) {
    problem.addUse(tensor.buffer, node);
    if (tensor.node != noNode)
      problem.addDependence(tensor.node, node, DependenceKind::Data);
  }
};

} // namespace mlir::commsched::schedule::testing

#endif // COMMSCHED_UNITTESTS_SCHEDULE_STEPBUILDER_H
