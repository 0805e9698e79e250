//===- Random.h - Portable pseudorandom numbers -----------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What random graphs are drawn with. std::mt19937_64 gives the same numbers
// everywhere; the distributions of the standard library do not.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_UNITTESTS_RANDOM_H
#define COMMSCHED_UNITTESTS_RANDOM_H

#include <cstdint>
#include <initializer_list>
#include <random>

namespace mlir::commsched::testing {

class Random {
public:
  explicit Random(uint64_t seed) : engine(seed) {}

  /// A number from 0 to `bound` - 1; `bound` is positive.
  int64_t below(int64_t bound) {
    return static_cast<int64_t>(engine() % static_cast<uint64_t>(bound));
  }
  bool percent(int64_t chance) { return below(100) < chance; }
  template <typename T> T oneOf(std::initializer_list<T> values) {
    return values.begin()[below(static_cast<int64_t>(values.size()))];
  }

private:
  std::mt19937_64 engine;
};

} // namespace mlir::commsched::testing

#endif // COMMSCHED_UNITTESTS_RANDOM_H
