//===- RandomStep.h - Random problems like training steps -------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Small random problems with the structure of training steps: parameters that
// are gathered for a product and freed behind it, weight gradients beside the
// chain of products that are reduced or scattered, collectives between two
// products, a second group, casts before collectives, views behind them,
// updates at the end.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_UNITTESTS_SCHEDULE_RANDOMSTEP_H
#define COMMSCHED_UNITTESTS_SCHEDULE_RANDOMSTEP_H

#include "CommSched/Schedule/Model/Problem.h"

namespace mlir::commsched::schedule::testing {

/// A valid (checked) problem with 1 to `maxLayers` layers, of up to 25
/// operations each; its program is a legal order. The same seed gives the same
/// problem on every platform.
Problem makeRandomStep(uint64_t seed, int32_t maxLayers);

} // namespace mlir::commsched::schedule::testing

#endif // COMMSCHED_UNITTESTS_SCHEDULE_RANDOMSTEP_H
