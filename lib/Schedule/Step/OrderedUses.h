//===- OrderedUses.h - Dependences for all uses of buffers ------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A buffer may be used by an operation that no dependence keeps behind the one
// that makes it. Solvers that look at dependences only are given a problem in
// which one does.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_SCHEDULE_STEP_ORDEREDUSES_H
#define COMMSCHED_LIB_SCHEDULE_STEP_ORDEREDUSES_H

#include "CommSched/Schedule/Problem.h"

namespace mlir::commsched::schedule {

/// The problem with a dependence for each use of a buffer that has none; none
/// if all have one. O(nodes + dependences + uses), and for each use that no
/// direct dependence on the producer orders, the uses of all that its user
/// depends on.
std::optional<Problem> orderUses(const Problem &problem);

} // namespace mlir::commsched::schedule

#endif // COMMSCHED_LIB_SCHEDULE_STEP_ORDEREDUSES_H
