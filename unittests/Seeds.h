//===- Seeds.h - What random properties start from --------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A property is tried on a few seeds in a row. The first comes from the
// environment, where test/seed.py puts one of the commit: so the runs of many
// commits add up, and each can be repeated.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_UNITTESTS_SEEDS_H
#define COMMSCHED_UNITTESTS_SEEDS_H

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <string>

namespace mlir::commsched::testing {

inline uint64_t readNumber(const char *variable, uint64_t otherwise) {
  const char *text = std::getenv(variable);
  return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

inline uint64_t firstSeed() { return readNumber("COMMSCHED_TEST_SEED", 0); }

/// `count` seeds, times COMMSCHED_TEST_RUNS. To be looped over: what fails in
/// the loop names its seed, and the end of the loop says how to repeat it.
class Seeds {
public:
  explicit Seeds(uint64_t count)
      : first(firstSeed()),
        count(count * readNumber("COMMSCHED_TEST_RUNS", 1)) {}
  Seeds(const Seeds &) = delete;
  ~Seeds() {
    const ::testing::TestInfo *test =
        ::testing::UnitTest::GetInstance()->current_test_info();
    if (!test->result()->Failed())
      return;
    std::cerr << "seeds " << first << " to " << first + count - 1
              << "; repeat with COMMSCHED_TEST_SEED=" << first
              << " and --gtest_filter=" << test->test_suite_name() << '.'
              << test->name() << '\n';
  }

  /// Failures while it stands at a seed name that seed.
  class Iterator {
  public:
    explicit Iterator(uint64_t seed) : seed(seed) {}
    uint64_t operator*() {
      trace.emplace(__FILE__, __LINE__, "seed " + std::to_string(seed));
      return seed;
    }
    Iterator &operator++() {
      trace.reset();
      ++seed;
      return *this;
    }
    bool operator!=(const Iterator &other) const { return seed != other.seed; }

  private:
    uint64_t seed;
    std::optional<::testing::ScopedTrace> trace;
  };

  Iterator begin() const { return Iterator(first); }
  Iterator end() const { return Iterator(first + count); }
  /// How many there are, for what has to occur on some of them.
  int64_t size() const { return static_cast<int64_t>(count); }

private:
  uint64_t first, count;
};

} // namespace mlir::commsched::testing

#endif // COMMSCHED_UNITTESTS_SEEDS_H
