//===- Testing.h - What all unit tests share --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_UNITTESTS_TESTING_H
#define COMMSCHED_UNITTESTS_TESTING_H

#include "CommSched/Support/Result.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <initializer_list>
#include <iostream>
#include <optional>
#include <random>
#include <string>
#include <utility>

namespace mlir::commsched::testing {

/// What `result` holds. If it holds an error, the test fails and the program
/// ends, for nothing behind it would mean anything.
template <typename T> T need(Result<T> result) {
  if (!result) {
    ADD_FAILURE() << result.error();
    std::exit(EXIT_FAILURE);
  }
  return std::move(*result);
}

/// What random graphs are drawn with. std::mt19937_64 gives the same numbers
/// everywhere; the distributions of the standard library do not.
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

inline uint64_t readNumber(const char *variable, uint64_t otherwise) {
  const char *text = std::getenv(variable);
  return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

inline uint64_t firstSeed() { return readNumber("COMMSCHED_TEST_SEED", 0); }

/// A property is tried on a few seeds in a row: `count`, times
/// COMMSCHED_TEST_RUNS. The first comes from the environment, where
/// test/seed.py puts one of the commit: so the runs of many commits add up, and
/// each can be repeated. What fails in a loop over them names its seed, and the
/// end of the loop says how to repeat it.
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

#endif // COMMSCHED_UNITTESTS_TESTING_H
