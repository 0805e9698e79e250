//===- LimitingFactor.cpp - Why a node stays where it is --------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Schedule/LimitingFactor.h"

#include <utility>

using namespace mlir::commsched;
using namespace mlir::commsched::schedule;

/// The end with the smallest key, then the smallest kind.
template <typename KeyFn>
static std::optional<DependenceEnd> minimum(ArrayView<DependenceEnd> ends,
                                            KeyFn keyOf) {
  std::optional<DependenceEnd> best;
  for (DependenceEnd end : ends)
    if (!best || std::pair(keyOf(end.node), end.kind) <
                     std::pair(keyOf(best->node), best->kind))
      best = end;
  return best;
}

std::optional<DependenceEnd> schedule::limitEarlier(const Problem &problem,
                                                    const Positions &positions,
                                                    NodeId node) {
  return minimum(problem.predecessors(node),
                 [&](NodeId other) { return -positions[other]; });
}

std::optional<DependenceEnd> schedule::limitLater(const Problem &problem,
                                                  const Positions &positions,
                                                  NodeId node) {
  return minimum(problem.successors(node),
                 [&](NodeId other) { return positions[other]; });
}
