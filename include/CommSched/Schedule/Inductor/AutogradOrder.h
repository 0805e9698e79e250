//===- AutogradOrder.h - Order of recomputed operations ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Delays the recomputation of activations. A partitioned backward recomputes
// activations at its beginning, in the order of the forward, so that they take
// as much memory as saved ones. An autograd engine recomputes each activation
// when the gradients reach it; this order does the same, as
// reordering_to_mimic_autograd_engine in PyTorch's partitioner.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_SCHEDULE_INDUCTOR_AUTOGRADORDER_H
#define COMMSCHED_SCHEDULE_INDUCTOR_AUTOGRADORDER_H

#include "CommSched/Schedule/Model/Problem.h"

namespace mlir::commsched::schedule {

/// The order in which come, one after the other,
///   - `keptInFront`, ascending operations before `firstBackward`,
///   - `firstBackward` and all operations behind it,
/// in the order of the program, and directly before each of them whatever it
/// needs that has not come yet, in the order of the program. What none of them
/// needs comes at the end.
///
/// An operation needs what it depends on and what makes the buffers that it
/// uses. The answer is verified. Error: the problem has one, the program is not
/// a legal order of it, or an operation of the arguments is none.
/// O(nodes + dependences + uses).
Result<Order> mimicAutogradOrder(const Problem &problem, NodeId firstBackward,
                                 const std::vector<NodeId> &keptInFront);

} // namespace mlir::commsched::schedule

#endif // COMMSCHED_SCHEDULE_INDUCTOR_AUTOGRADORDER_H
