//===- LimitingFactor.h - Why a node stays where it is ----------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What keeps an operation from standing elsewhere in an order: for the remarks
// that say why a collective was not moved further.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_SCHEDULE_LIMITINGFACTOR_H
#define COMMSCHED_SCHEDULE_LIMITINGFACTOR_H

#include "CommSched/Schedule/Problem.h"
#include "CommSched/Schedule/Verify.h"

namespace mlir::commsched::schedule {

/// The predecessor of `node` that stands last, which `node` cannot be moved
/// ahead of, and why; of several reasons the first of DependenceKind. Nothing
/// if no dependence holds it. `positions` is invert() of an order that verify()
/// accepts. O(predecessors of `node`), so asking about every operation is
/// linear.
std::optional<DependenceEnd>
limitEarlier(const Problem &problem, const Positions &positions, NodeId node);

/// The same for moving later: the successor of `node` that stands first.
std::optional<DependenceEnd>
limitLater(const Problem &problem, const Positions &positions, NodeId node);

} // namespace mlir::commsched::schedule

#endif // COMMSCHED_SCHEDULE_LIMITINGFACTOR_H
