//===- Renumbering.h - A problem in another order ---------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Turns an order into a program: the same problem with its operations numbered
// as they run.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_SCHEDULE_RENUMBERING_H
#define COMMSCHED_SCHEDULE_RENUMBERING_H

#include "CommSched/Schedule/Problem.h"

namespace mlir::commsched::schedule {

/// `problem` as the program that has `order`, which is a legal one: node i is
/// the operation at position i. Buffers keep their numbers. Finalized.
/// O(nodes + dependences + uses).
Problem renumber(const Problem &problem, const Order &order);

} // namespace mlir::commsched::schedule

#endif // COMMSCHED_SCHEDULE_RENUMBERING_H
