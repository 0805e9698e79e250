//===- RandomCyclicProblem.h - Random programs that repeat ------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Small random cyclic problems, and random legal orders of their periods.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_UNITTESTS_SCHEDULE_RANDOMCYCLICPROBLEM_H
#define COMMSCHED_UNITTESTS_SCHEDULE_RANDOMCYCLICPROBLEM_H

#include "CommSched/Schedule/Cyclic/CyclicProblem.h"
#include "RandomProblem.h"

namespace mlir::commsched::schedule::testing {

/// A valid problem whose body is one of makeRandomProblem(), with carried
/// dependences and uses at distances of 1 and 2.
CyclicProblem makeRandomCyclicProblem(uint64_t seed,
                                      const RandomProblemOptions &options);

/// A legal order of the period, with random stages of up to `maxStage`.
CyclicOrder makeRandomCyclicOrder(uint64_t seed, const CyclicProblem &problem,
                                  int32_t maxStage);

} // namespace mlir::commsched::schedule::testing

#endif // COMMSCHED_UNITTESTS_SCHEDULE_RANDOMCYCLICPROBLEM_H
