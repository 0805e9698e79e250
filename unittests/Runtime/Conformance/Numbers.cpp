//===- Numbers.cpp - Operands of exact reductions -------------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Numbers.h"

#include <algorithm>
#include <cmath>

using namespace commsched::conformance;

/// An integer of [-bound, bound], or of [0, bound] for types without a sign.
static double makeInteger(const ElementFormat &format, uint64_t bits,
                          int64_t bound) {
  bool isSigned =
      format.elementClass == ElementClass::Signed || format.isFractional();
  auto magnitude =
      static_cast<int64_t>((bits >> 8) % static_cast<uint64_t>(bound + 1));
  return static_cast<double>(isSigned && (bits & 1) ? -magnitude : magnitude);
}

/// Partial sums stay within `bound`: each rank has a part of it or, where that
/// is less than 1, one rank has all.
static Number makeSummand(const ElementFormat &format, const OperandSeed &seed,
                          int64_t bound) {
  int64_t part = bound / seed.numRanks;
  if (part == 0) {
    auto chosen = static_cast<int32_t>(seed.common %
                                       static_cast<uint64_t>(seed.numRanks));
    part = seed.rank == chosen ? bound : 0;
  }
  Number number = makeInteger(format, seed.own, part);
  if (format.elementClass == ElementClass::Complex)
    number.imag(makeInteger(format, seed.own >> 32, part));
  return number;
}

/// Mostly units, so that no product grows beyond 2^6.
static Number makeFactor(const ElementFormat &format, const OperandSeed &seed) {
  bool large = seed.rank < 6;
  uint64_t choice = (seed.own >> 8) % 16;
  if (format.elementClass == ElementClass::Bool)
    return choice == 0 ? 0 : 1;
  if (choice == 0)
    return 0;
  if (format.elementClass == ElementClass::Complex) {
    constexpr Number units[] = {{1, 0}, {0, 1}, {-1, 0}, {0, -1}};
    return choice < 8 || !large ? units[choice % 4] : Number(1, 1);
  }
  Number number = choice < 8 || !large ? 1 : 2;
  return format.elementClass != ElementClass::Unsigned && (seed.own & 1)
             ? -number
             : number;
}

/// Over the whole range of integer types, where signs are mistaken for size.
static Number makeCompared(const ElementFormat &format,
                           const OperandSeed &seed) {
  if (format.isFractional() || format.elementClass == ElementClass::Bool ||
      (seed.own & 2))
    return makeInteger(format, seed.own, getExactRange(format));
  double steps = static_cast<double>((seed.own >> 8) % 128);
  if (format.elementClass == ElementClass::Signed)
    steps -= 64;
  return std::ldexp(steps, static_cast<int>(format.bytes) * 8 - 7);
}

Number commsched::conformance::makeOperand(const ElementFormat &format,
                                           commsched_reduction reduction,
                                           const OperandSeed &seed) {
  int64_t range = getExactRange(format);
  switch (reduction) {
  case COMMSCHED_SUM:
    return makeSummand(format, seed, range);
  case COMMSCHED_AVG:
    return makeSummand(format, seed, range / seed.numRanks) *
           static_cast<double>(seed.numRanks);
  case COMMSCHED_PROD:
    return makeFactor(format, seed);
  default:
    return makeCompared(format, seed);
  }
}

Number commsched::conformance::reduce(commsched_reduction reduction,
                                      Number first, Number second) {
  switch (reduction) {
  case COMMSCHED_PROD:
    return first * second;
  case COMMSCHED_MIN:
    return std::min(first.real(), second.real());
  case COMMSCHED_MAX:
    return std::max(first.real(), second.real());
  default:
    return first + second;
  }
}
