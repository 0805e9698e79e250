//===- RandomProblem.h - Random scheduling problems -------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Small random problems for property tests: chains, diamonds and random graphs
// with several streams, waits far from their starts, barriers, parallel
// dependences, zero costs, shared and unused buffers.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_UNITTESTS_SCHEDULE_RANDOMPROBLEM_H
#define COMMSCHED_UNITTESTS_SCHEDULE_RANDOMPROBLEM_H

#include "../Testing.h"
#include "CommSched/Schedule/Cyclic/CyclicProblem.h"
#include "CommSched/Schedule/Model/Simulator.h"

#include <cstdint>

namespace mlir::commsched::schedule::testing {

using mlir::commsched::testing::Random;

struct RandomProblemOptions {
  int32_t maxNodes = 40;
  int32_t maxStreams = 3;
  int64_t maxCostNs = 12;
  /// Number the operations so that dependences also point backwards.
  bool shuffleProgram = false;
  /// How many of a hundred computations are expensive.
  int64_t expensivePercent = 0;
  /// How many of a hundred uses of a buffer have no dependence on its producer.
  /// makeRandomOrder() looks at dependences only.
  int64_t impliedPercent = 0;
  /// Buffers are empty, small or huge, rather than all alike.
  bool unevenBuffers = false;
  /// Let waits make buffers, which those of a program do not: what a collective
  /// delivers is its start's.
  bool waitsMakeBuffers = true;
};

/// A valid (checked) problem. The same seed gives the same problem on every
/// platform.
Problem makeRandomProblem(uint64_t seed, const RandomProblemOptions &options);

/// One that is shuffled if the seed is odd.
inline Problem makeEitherProblem(uint64_t seed, int32_t maxNodes = 40) {
  RandomProblemOptions options;
  options.maxNodes = maxNodes;
  options.shuffleProgram = seed % 2;
  return makeRandomProblem(seed, options);
}

/// A valid (checked) problem with the structure of a training step: parameters
/// that are gathered for a product and freed behind it, weight gradients beside
/// the chain of products that are reduced or scattered, collectives between two
/// products, a second group, casts before collectives, views behind them,
/// updates at the end. It has 1 to `maxLayers` layers, of up to 25 operations
/// each; its program is a legal order. The same seed gives the same problem on
/// every platform.
Problem makeRandomStep(uint64_t seed, int32_t maxLayers);

/// Streams that exclude each other, share links and slow computation down; of
/// each sometimes nothing.
Contention makeRandomContention(Random &random, StreamId numStreams);

/// A legal order of `problem`, drawn by taking any ready operation each time.
Order makeRandomOrder(uint64_t seed, const Problem &problem);

/// A valid problem whose body is one of makeRandomProblem(), with carried
/// dependences and uses at distances of 1 and 2.
CyclicProblem makeRandomCyclicProblem(uint64_t seed,
                                      const RandomProblemOptions &options);

/// A legal order of the period, with random stages of up to `maxStage`.
CyclicOrder makeRandomCyclicOrder(uint64_t seed, const CyclicProblem &problem,
                                  int32_t maxStage);

} // namespace mlir::commsched::schedule::testing

#endif // COMMSCHED_UNITTESTS_SCHEDULE_RANDOMPROBLEM_H
