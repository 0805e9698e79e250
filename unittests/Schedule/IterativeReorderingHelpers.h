//===- IterativeReorderingHelpers.h - Helpers of the tests ------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Options and accessors that the tests of iterative reordering share.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_UNITTESTS_SCHEDULE_ITERATIVEREORDERINGHELPERS_H
#define COMMSCHED_UNITTESTS_SCHEDULE_ITERATIVEREORDERINGHELPERS_H

#include "CommSched/Schedule/Inductor/IterativeReordering.h"

#include <gtest/gtest.h>

namespace mlir::commsched::schedule::testing {

inline IterativeReorderingOptions withLimit(int64_t bytes) {
  IterativeReorderingOptions options;
  options.limitBytes = bytes;
  return options;
}

/// Decides by times as they are, and goes on until a collective is just hidden.
inline IterativeReorderingOptions withEstimations() {
  IterativeReorderingOptions options;
  options.useRuntimeEstimations = true;
  options.extraOverlap = 0;
  options.commMultiplier = 1;
  return options;
}

inline IterativeReordering
expectResult(const Result<IterativeReordering> &result) {
  EXPECT_TRUE(result) << result.error();
  return result ? *result : IterativeReordering();
}

inline IterativeReordering
raise(const Problem &problem, const IterativeReorderingOptions &options = {}) {
  return expectResult(reorderComms(problem, options));
}

inline IterativeReordering
sink(const Problem &problem, const IterativeReorderingOptions &options = {}) {
  return expectResult(sinkWaitsIteratively(problem, options));
}

/// Returns the moves of `node`; an entry without node if it was not visited.
inline CollectiveMoves movesOf(const IterativeReordering &result, NodeId node) {
  for (const CollectiveMoves &moved : result.collectives)
    if (moved.node == node)
      return moved;
  return {};
}

/// Adds a freed buffer of `bytes` that `producer` makes.
inline BufferId addFreed(Problem &problem, int64_t bytes, NodeId producer,
                         std::initializer_list<NodeId> users = {}) {
  BufferId buffer = problem.addBuffer(bytes, producer, /*freed=*/true);
  for (NodeId user : users) {
    problem.addUse(buffer, user);
    if (producer != noNode)
      problem.addDependence(producer, user, DependenceKind::Data);
  }
  return buffer;
}

/// Adds storage of `bytes` that `producer` makes and that stays.
inline void addKept(Problem &problem, int64_t bytes, NodeId producer) {
  problem.addBuffer(bytes, producer, /*freed=*/false);
}

} // namespace mlir::commsched::schedule::testing

#endif // COMMSCHED_UNITTESTS_SCHEDULE_ITERATIVEREORDERINGHELPERS_H
