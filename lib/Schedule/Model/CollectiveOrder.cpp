//===- CollectiveOrder.cpp - Fixing the order of collectives ----*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Schedule/CollectiveOrder.h"

using namespace mlir::commsched;
using namespace mlir::commsched::schedule;

std::vector<NodeId>
schedule::collectivesInProgramOrder(const Problem &problem) {
  std::vector<NodeId> collectives;
  for (NodeId node = 0; node < problem.numNodes(); ++node)
    if (problem.isCollective(node))
      collectives.push_back(node);
  return collectives;
}

void schedule::addCollectiveOrder(Problem &problem,
                                  CollectiveOrderScope scope) {
  std::vector<NodeId> last;
  for (NodeId node : collectivesInProgramOrder(problem)) {
    StreamId stream =
        scope == CollectiveOrderScope::Global ? 0 : problem.stream(node);
    // The problem may not have been checked yet: finalize() will report this.
    if (stream < 0 || stream >= maxStreams)
      continue;
    if (static_cast<size_t>(stream) >= last.size())
      last.resize(stream + 1, noNode);
    if (last[stream] != noNode)
      problem.addDependence(last[stream], node, DependenceKind::Order);
    last[stream] = node;
  }
}
