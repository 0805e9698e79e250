//===- Verify.h - Check of the legality of orders ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The verifier that every order passes before it is used: an order has each
// operation once, after all operations that it depends on.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_SCHEDULE_MODEL_VERIFY_H
#define COMMSCHED_SCHEDULE_MODEL_VERIFY_H

#include "CommSched/Schedule/Model/Problem.h"

namespace mlir::commsched::schedule {

/// The inverse of an order: operation -> position.
using Positions = std::vector<int32_t>;

/// Returns the position of each operation in `order`, which has each of the
/// nodes 0 … n-1 once. O(n).
Positions positionsOf(const Order &order);

/// The inverse of `order`. Error: the problem has one, or the order does not
/// have each operation exactly once. O(nodes).
Result<Positions> invert(const Problem &problem, const Order &order);

/// Checks that `order` is a legal order of `problem`. The error names the
/// operations that are in the wrong order and their positions. An order is
/// legal if it has each operation once, respects each dependence (hence each
/// wait comes after its start), and uses no buffer before it is allocated.
/// O(nodes + dependences + uses).
Status verify(const Problem &problem, const Order &order);

} // namespace mlir::commsched::schedule

#endif // COMMSCHED_SCHEDULE_MODEL_VERIFY_H
