//===- Verify.h - Is this order legal ---------------------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The check that every order passes before anybody uses it: each operation
// once, everything after what it depends on.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_SCHEDULE_MODEL_VERIFY_H
#define COMMSCHED_SCHEDULE_MODEL_VERIFY_H

#include "CommSched/Schedule/Model/Problem.h"

namespace mlir::commsched::schedule {

/// The inverse of an order: operation -> position.
using Positions = std::vector<int32_t>;

/// The inverse of `order`. Error: the problem has one, or the order does not
/// have each operation exactly once. O(nodes).
Result<Positions> invert(const Problem &problem, const Order &order);

/// Why `order` is not a legal order of `problem`, naming the operations that
/// stand wrongly and where; nothing if it is one. Legal means: each operation
/// once; each dependence respected (hence each wait after its start); no buffer
/// used before it is made. O(nodes + dependences + uses).
OptionalError verify(const Problem &problem, const Order &order);

} // namespace mlir::commsched::schedule

#endif // COMMSCHED_SCHEDULE_MODEL_VERIFY_H
