//===- StepEstimate.h - Memory and time of a partition ----------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Estimates what the step of a partition takes without making its halves: for
// searches among many partitions, the best of which are then measured.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_PARTITION_STEPESTIMATE_H
#define COMMSCHED_PARTITION_STEPESTIMATE_H

#include "CommSched/Partition/Split.h"

#include <cstdint>
#include <utility>
#include <vector>

namespace mlir::commsched::partition {

struct StepEstimate {
  /// The most bytes that are live at once.
  int64_t peakBytes = 0;
  /// The time of the busiest stream of the forward, and of the backward, in
  /// nanoseconds if the costs of the graph are.
  int64_t timeNs = 0;
};

/// The operations of the backward of `split` in the order in which autograd
/// runs them: those in front of the first that reads a tangent come right
/// before the first operation that needs them. Linear.
std::vector<NodeId> getBackwardOrder(const JointGraph &graph,
                                     const Split &split);

class StepEstimator {
public:
  /// `streams`: by node, the stream that a collective runs on, from 0; -1 for
  /// what computes. `graph` must outlive the object.
  StepEstimator(const JointGraph &graph, std::vector<int32_t> streams);

  /// The forward runs in the order of the program, the backward in that of
  /// getBackwardOrder(). A storage is live from the first operation of a half
  /// that makes a value in it to the last that reads one, to the end of the
  /// step if the half returns it, and from the end of the forward if it is
  /// saved. Primals that may not be freed are live all the time. Linear.
  StepEstimate estimate(const Split &split) const;

private:
  class Half;

  const JointGraph &graph;
  std::vector<int32_t> streams;
  int32_t numStreams = 0;
  /// By node: its storage, also where the graph has none for the value; -1 for
  /// what has no bytes.
  std::vector<int32_t> storages;
  /// By storage.
  std::vector<int64_t> bytes;
};

} // namespace mlir::commsched::partition

#endif // COMMSCHED_PARTITION_STEPESTIMATE_H
