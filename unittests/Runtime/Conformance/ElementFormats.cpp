//===- ElementFormats.cpp - Element types by their bits -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "ElementFormats.h"

#include <algorithm>
#include <cmath>
#include <cstring>

using namespace commsched::conformance;

const std::vector<ElementFormat> &commsched::conformance::getElementFormats() {
  static const std::vector<ElementFormat> formats = {
      {"i1", ElementClass::Bool, 1},
      {"i8", ElementClass::Signed, 1},
      {"i16", ElementClass::Signed, 2},
      {"i32", ElementClass::Signed, 4},
      {"i64", ElementClass::Signed, 8},
      {"ui8", ElementClass::Unsigned, 1},
      {"ui16", ElementClass::Unsigned, 2},
      {"ui32", ElementClass::Unsigned, 4},
      {"ui64", ElementClass::Unsigned, 8},
      {"f8E4M3FN", ElementClass::Float, 1, 4, 3},
      {"f8E5M2", ElementClass::Float, 1, 5, 2},
      {"f16", ElementClass::Float, 2, 5, 10},
      {"bf16", ElementClass::Float, 2, 8, 7},
      {"f32", ElementClass::Float, 4, 8, 23},
      {"f64", ElementClass::Float, 8, 11, 52},
      {"complex<f32>", ElementClass::Complex, 8, 8, 23},
      {"complex<f64>", ElementClass::Complex, 16, 11, 52},
      {"bytes<3>", ElementClass::Opaque, 3},
      {"bytes<16>", ElementClass::Opaque, 16},
  };
  return formats;
}

int64_t commsched::conformance::getExactRange(const ElementFormat &format) {
  int bits = 0;
  switch (format.elementClass) {
  case ElementClass::Bool:
    return 1;
  case ElementClass::Signed:
    bits = static_cast<int>(format.bytes) * 8 - 1;
    return (int64_t{1} << std::min(bits, 20)) - 1;
  case ElementClass::Unsigned:
    bits = static_cast<int>(format.bytes) * 8;
    return (int64_t{1} << std::min(bits, 20)) - 1;
  case ElementClass::Float:
  case ElementClass::Complex:
    return int64_t{1} << std::min(format.fractionBits + 1, 20);
  case ElementClass::Opaque:
    return 0;
  }
  return 0;
}

/// The bits of a float that holds `value`, an integer, exactly.
static uint64_t encodeFloat(const ElementFormat &format, double value) {
  if (value == 0)
    return 0;
  int exponent = std::ilogb(value);
  double fraction = std::ldexp(std::fabs(value), -exponent) - 1;
  uint64_t bias = (uint64_t{1} << (format.exponentBits - 1)) - 1;
  uint64_t bits = bias + static_cast<uint64_t>(exponent);
  bits <<= format.fractionBits;
  bits |= static_cast<uint64_t>(std::ldexp(fraction, format.fractionBits));
  uint64_t sign = value < 0;
  return bits | sign << (format.exponentBits + format.fractionBits);
}

/// Both machines that the backends know are little-endian.
static void store(std::byte *target, uint64_t bits, int64_t bytes) {
  std::memcpy(target, &bits, static_cast<size_t>(bytes));
}

void commsched::conformance::encode(const ElementFormat &format, Number number,
                                    std::byte *target) {
  double value = number.real();
  int64_t part = format.bytes / 2;
  switch (format.elementClass) {
  case ElementClass::Bool:
  case ElementClass::Unsigned:
    return store(target, static_cast<uint64_t>(value), format.bytes);
  case ElementClass::Signed:
    return store(target, static_cast<uint64_t>(static_cast<int64_t>(value)),
                 format.bytes);
  case ElementClass::Float:
    return store(target, encodeFloat(format, value), format.bytes);
  case ElementClass::Complex:
    store(target, encodeFloat(format, value), part);
    return store(target + part, encodeFloat(format, number.imag()), part);
  case ElementClass::Opaque:
    return;
  }
}

void commsched::conformance::dropSignsOfZeros(const ElementFormat &format,
                                              std::byte *elements,
                                              int64_t count) {
  if (!format.isFractional())
    return;
  bool complex = format.elementClass == ElementClass::Complex;
  int64_t parts = complex ? 2 * count : count;
  int64_t bytes = complex ? format.bytes / 2 : format.bytes;
  uint64_t negativeZero = uint64_t{1}
                          << (format.exponentBits + format.fractionBits);
  for (int64_t i = 0; i < parts; ++i) {
    uint64_t bits = 0;
    std::memcpy(&bits, elements + i * bytes, static_cast<size_t>(bytes));
    if (bits == negativeZero)
      store(elements + i * bytes, 0, bytes);
  }
}

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
