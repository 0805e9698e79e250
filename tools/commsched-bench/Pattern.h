//===- Pattern.h - Inputs and expected outputs ------------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The inputs that ranks send when results are checked, and the outputs that
// they must receive: small integers whose reductions are exact in the element
// type, in any order. They differ by rank, by part of the buffer and by
// element, so that data of a wrong rank or place is noticed.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_TOOLS_BENCH_PATTERN_H
#define COMMSCHED_TOOLS_BENCH_PATTERN_H

#include "Operation.h"

#include <optional>
#include <vector>

namespace commsched::bench {

class Pattern {
public:
  /// `members` are the ranks of the group, in order; there is a `reduction` for
  /// those operations that reduce.
  Pattern(const Element &element, Operation operation,
          std::optional<commsched_reduction> reduction,
          llvm::ArrayRef<int32_t> members);

  /// Whether there are inputs with exact results for a group of `ranks`.
  static bool exists(const Element &element,
                     std::optional<commsched_reduction> reduction,
                     int64_t ranks);

  /// Fills what the member `self` (an index of the group) sends: parts of
  /// `partElements` elements, as many as the buffer holds.
  void fillInputs(int32_t self, int64_t partElements,
                  llvm::MutableArrayRef<char> buffer) const;

  /// How many of the elements that the member `self` has received are not, bit
  /// for bit, what they must be.
  int64_t countWrong(int32_t self, int64_t partElements,
                     llvm::ArrayRef<char> buffer) const;

private:
  /// Elements after which a part repeats.
  static constexpr int64_t period = 127;

  /// The integer that the member `source` sends in element `index` of `part`.
  int64_t getInput(int32_t source, int64_t part, int64_t index) const;
  int64_t getReduced(int64_t part, int64_t index) const;
  int64_t getOutput(int32_t self, int64_t part, int64_t index) const;
  /// One period of elements.
  template <typename GetValue> std::vector<char> makeTile(GetValue get) const;

  const Element &element;
  Operation operation;
  std::optional<commsched_reduction> reduction;
  std::vector<int32_t> members;
};

} // namespace commsched::bench

#endif // COMMSCHED_TOOLS_BENCH_PATTERN_H
