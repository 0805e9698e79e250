//===- OrderedUses.cpp ----------------------------------------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OrderedUses.h"

#include <algorithm>

using namespace mlir::commsched;
using namespace mlir::commsched::schedule;

/// Whether dependences keep `user` behind who makes `buffer`: directly, or by
/// way of another user, as views have it.
static bool isOrdered(const Problem &problem, BufferId buffer, NodeId user) {
  NodeId producer = problem.buffer(buffer).producer;
  ArrayView<DependenceEnd> needed = problem.predecessors(user);
  return std::any_of(needed.begin(), needed.end(), [&](DependenceEnd end) {
    ArrayView<BufferId> used = problem.buffersUsedBy(end.node);
    return end.node == producer ||
           std::find(used.begin(), used.end(), buffer) != used.end();
  });
}

std::optional<Problem> schedule::orderUses(const Problem &problem) {
  std::optional<Problem> ordered;
  // By operation: the last whose predecessor it is.
  std::vector<NodeId> predecessorOf(problem.numNodes(), noNode);
  for (NodeId user = 0; user < problem.numNodes(); ++user) {
    for (DependenceEnd end : problem.predecessors(user))
      predecessorOf[end.node] = user;
    for (BufferId buffer : problem.buffersUsedBy(user)) {
      NodeId producer = problem.buffer(buffer).producer;
      if (producer == noNode || producer == user ||
          predecessorOf[producer] == user || isOrdered(problem, buffer, user))
        continue;
      if (!ordered)
        ordered = problem;
      ordered->addDependence(producer, user, DependenceKind::Memory);
    }
  }
  if (ordered)
    ordered->finalize();
  return ordered;
}
