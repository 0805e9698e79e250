//===- MaximumFlow.h - The most that flows through a network ----*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The one place where Boost is used, so that nothing else waits for it to
// compile.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_PARTITION_MAXIMUMFLOW_H
#define COMMSCHED_LIB_PARTITION_MAXIMUMFLOW_H

#include "CommSched/Partition/FlowNetwork.h"

namespace mlir::commsched::partition {

/// What can flow between two vertices, either way.
struct FlowPair {
  VertexId first;
  VertexId second;
  int64_t forwards;
  int64_t backwards;
};

struct MaximumFlow {
  int64_t value = 0;
  /// By vertex: whether more could flow from there to the sink.
  std::vector<char> canReachSink;
};

/// From vertex 0 to vertex 1. `pairs` are all different, the first vertex below
/// the second, and no capacity nor the flow is more than 2^61.
MaximumFlow findMaximumFlow(VertexId numVertices,
                            const std::vector<FlowPair> &pairs);

} // namespace mlir::commsched::partition

#endif // COMMSCHED_LIB_PARTITION_MAXIMUMFLOW_H
