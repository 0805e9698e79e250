//===- RandomJointGraph.h - Random joint graphs -----------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Random joint graphs for property tests, shaped like those of training steps:
// parameters and inputs, operations of all classes, some with several results,
// collectives as a start and its wait, views that share storage, then
// gradients, from the tangents and the values of the forward. Some operations
// are needed by nothing; a few of the backward depend on no tangent, and a few
// of the forward come late.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_UNITTESTS_PARTITION_RANDOMJOINTGRAPH_H
#define COMMSCHED_UNITTESTS_PARTITION_RANDOMJOINTGRAPH_H

#include "CommSched/Partition/JointGraph.h"

#include <cstdint>

namespace mlir::commsched::partition::testing {

struct RandomJointOptions {
  int32_t maxPrimals = 4;
  int32_t maxForwardOperations = 16;
  int32_t maxBackwardOperations = 16;
  // How many of a hundred operations are, have, or do what the name says.
  int32_t collectivePercent = 10;
  int32_t randomPercent = 3;
  int32_t viewPercent = 15;
  int32_t severalResultsPercent = 10;
  int32_t policyPercent = 6;
  /// Never ones that contradict each other by themselves: no operation that
  /// needs a tangent has to be in the forward.
  int32_t tagPercent = 3;
  /// Pinned operations, and what has to come before some of them.
  int32_t memoryPercent = 3;
};

/// A finalized graph. The same seed gives the same graph on every platform.
/// Results have the class, policy, tag and region of their operation.
JointGraph makeRandomJointGraph(uint32_t seed,
                                const RandomJointOptions &options = {});

} // namespace mlir::commsched::partition::testing

#endif // COMMSCHED_UNITTESTS_PARTITION_RANDOMJOINTGRAPH_H
