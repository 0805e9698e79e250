//===- CollectiveOrder.h - Fixing the order of collectives ------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Collectives of one group must be started in the same order by all of its
// ranks. Their order in the program is one that all ranks share; here it is
// turned into dependences, so that no solver can change it.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_SCHEDULE_COLLECTIVEORDER_H
#define COMMSCHED_SCHEDULE_COLLECTIVEORDER_H

#include "CommSched/Schedule/Problem.h"

namespace mlir::commsched::schedule {

/// Which collectives keep their relative order.
enum class CollectiveOrderScope {
  /// Those of the same stream.
  Stream,
  /// All of them.
  Global,
};

/// The collectives (Start and Blocking) in program order. O(nodes).
std::vector<NodeId> collectivesInProgramOrder(const Problem &problem);

/// Adds an Order dependence from each collective to the next one in `scope`.
/// The problem has to be finalized afterwards. O(nodes).
void addCollectiveOrder(Problem &problem, CollectiveOrderScope scope);

} // namespace mlir::commsched::schedule

#endif // COMMSCHED_SCHEDULE_COLLECTIVEORDER_H
