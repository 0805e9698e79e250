//===- RandomStates.h - Random numbers drawn twice alike --------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A random operator that is computed again has to draw the same numbers. It is
// therefore given the state of the generator as an operand, and the state is
// what the forward saves. After `functionalize_rng_ops` of PyTorch 2.13
// (torch/_functorch/partitioners.py).
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_TRANSFORMS_JOINT_RANDOMSTATES_H
#define COMMSCHED_LIB_TRANSFORMS_JOINT_RANDOMSTATES_H

#include "CommSched/Dialect/CommSchedDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::commsched {

/// Threads states through a joint function as long as it lives.
///
/// In front of every random compute whose policy is `must_recompute` it sets
///
///   %state = commsched.compute "rng.get_state"() {random, commsched.recompute
///       = "must_save"} : () -> tensor<16xi8>
///
/// which yields the generator's state (as many bytes as a counter-based one
/// has: a seed and an offset) and moves the generator on, as the operator would
/// have; the operator reads %state as its last operand and is no longer
/// `random`. It is then a function of its operands, as often as it is computed.
///
/// The destructor takes all of this back, so that a pass that fails afterwards
/// leaves no trace. Build the JointFunction in this object's life, and end that
/// or call keep() before the joint function is erased.
class RandomStates {
public:
  explicit RandomStates(func::FuncOp joint);
  ~RandomStates();
  RandomStates(const RandomStates &) = delete;
  RandomStates &operator=(const RandomStates &) = delete;

  /// Leaves the function as it is now.
  void keep() { threaded.clear(); }

private:
  /// What reads a state, in program order, and whether it was `random`: some
  /// operators are so by their names.
  SmallVector<std::pair<ComputeOp, bool>> threaded;
};

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_TRANSFORMS_JOINT_RANDOMSTATES_H
