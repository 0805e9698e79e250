//===- ElementFormats.h - Element types by their bits -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The element types of program descriptions by their class, size, and numbers
// of exponent and fraction bits. This is independent of the runtime's
// conversions: the suite encodes only numbers that a type represents exactly.
// Operands of reductions have exact results over all ranks, whatever the order:
// small integers, and the bound on partial results shared out among the ranks.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_UNITTESTS_CONFORMANCE_ELEMENTFORMATS_H
#define COMMSCHED_UNITTESTS_CONFORMANCE_ELEMENTFORMATS_H

#include "CommSched/Runtime/Runtime.h"

#include <complex>
#include <cstdint>
#include <vector>

namespace commsched::conformance {

enum class ElementClass { Bool, Signed, Unsigned, Float, Complex, Opaque };

struct ElementFormat {
  /// As in program descriptions.
  const char *name;
  ElementClass elementClass;
  /// Of one element.
  int64_t bytes;
  /// Of a float, or of either part of a complex number.
  int exponentBits = 0;
  int fractionBits = 0;

  bool isInteger() const {
    return elementClass == ElementClass::Bool ||
           elementClass == ElementClass::Signed ||
           elementClass == ElementClass::Unsigned;
  }
  bool isFractional() const {
    return elementClass == ElementClass::Float ||
           elementClass == ElementClass::Complex;
  }
};

/// A number of any type; only complex ones have an imaginary part.
using Number = std::complex<double>;

/// All types with a name, then two that are only so many bytes.
const std::vector<ElementFormat> &getElementFormats();

/// The largest M up to which all integers of [0, M] are exact, at most 2^20.
int64_t getExactRange(const ElementFormat &format);

/// Writes `number`, an integer that `format` holds exactly, to `target`.
void encode(const ElementFormat &format, Number number, std::byte *target);

/// Turns the negative zeros among `count` numbers into positive ones: how the
/// zeros of a product are signed depends on the order of its factors.
void dropSignsOfZeros(const ElementFormat &format, std::byte *elements,
                      int64_t count);

/// One operand: `own` are random bits of this rank, `common` of all.
struct OperandSeed {
  uint64_t own;
  uint64_t common;
  int32_t rank;
  int32_t numRanks;
};

/// The operand of `reduction`, which is no bitwise one.
Number makeOperand(const ElementFormat &format, commsched_reduction reduction,
                   const OperandSeed &seed);

/// `first` and then `second`.
Number reduce(commsched_reduction reduction, Number first, Number second);

} // namespace commsched::conformance

#endif // COMMSCHED_UNITTESTS_CONFORMANCE_ELEMENTFORMATS_H
