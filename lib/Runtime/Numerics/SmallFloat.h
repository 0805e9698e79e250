//===- SmallFloat.h - Floating-point types of 8 and 16 bits -----*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Bit patterns of the floating-point types that C++ has none for, and their
// conversions: exact to float, from double rounded once to the nearest, ties to
// even. Results too large are infinite, or NaN in a format without infinities;
// they do not saturate.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_RUNTIME_NUMERICS_SMALLFLOAT_H
#define COMMSCHED_RUNTIME_NUMERICS_SMALLFLOAT_H

#include <cstdint>
#include <cstring>

namespace commsched::runtime {

template <class To, class From> To bitCast(From value) {
  static_assert(sizeof(To) == sizeof(From));
  To result;
  std::memcpy(&result, &value, sizeof(To));
  return result;
}

/// A sign bit, then an exponent, then a mantissa. `HasInfinity`: the largest
/// exponent is for infinities and NaN, as IEEE 754 has it; otherwise only its
/// largest mantissa is NaN.
template <class BitsT, int ExponentBits, int MantissaBits, bool HasInfinity>
struct SmallFloat {
  using Bits = BitsT;
  Bits bits;

  static constexpr int bias = (1 << (ExponentBits - 1)) - 1;
  static constexpr uint32_t signBit = 1u << (ExponentBits + MantissaBits);
  static constexpr uint32_t maxExponent = (1u << ExponentBits) - 1;
  static constexpr uint32_t infinity = maxExponent << MantissaBits;
  static constexpr uint32_t quietNan =
      HasInfinity ? infinity | (1u << (MantissaBits - 1)) : signBit - 1;
  /// The first pattern beyond the finite ones.
  static constexpr uint32_t overflow = HasInfinity ? infinity : quietNan;

  static float decode(Bits bits) {
    uint32_t sign = (bits & signBit) ? 1u << 31 : 0;
    uint32_t magnitude = bits & (signBit - 1);
    if constexpr (ExponentBits == 8)
      return bitCast<float>(sign | magnitude << (23 - MantissaBits));
    if (magnitude >= overflow) {
      bool isInfinity = HasInfinity && magnitude == infinity;
      return bitCast<float>(sign | (isInfinity ? 0x7f800000u : 0x7fc00000u));
    }
    uint32_t exponent = magnitude >> MantissaBits;
    if (exponent == 0) {
      // An integer times the smallest positive number, which float represents.
      constexpr int smallest = 1 - bias - MantissaBits;
      float value = static_cast<float>(magnitude) *
                    bitCast<float>(static_cast<uint32_t>(smallest + 127) << 23);
      return sign ? -value : value;
    }
    return bitCast<float>(sign | ((magnitude << (23 - MantissaBits)) +
                                  (static_cast<uint32_t>(127 - bias) << 23)));
  }

  static Bits encode(double value) {
    uint64_t pattern = bitCast<uint64_t>(value);
    uint32_t sign = pattern >> 63 ? signBit : 0;
    int exponent = static_cast<int>(pattern >> 52 & 0x7ff) - 1023;
    uint64_t fraction = pattern & ((uint64_t(1) << 52) - 1);
    if (exponent == 1024)
      return static_cast<Bits>(sign | (fraction ? quietNan : overflow));
    // What the last place of the result weighs depends on its exponent, which
    // does not sink below that of the subnormal numbers.
    int scale = exponent < 1 - bias ? 1 - bias : exponent;
    int shift = 52 - MantissaBits + (scale - exponent);
    if (shift >= 54)
      return static_cast<Bits>(sign);
    uint64_t significand = fraction | uint64_t(1) << 52;
    uint64_t kept = significand >> shift;
    uint64_t rest = significand & ((uint64_t(1) << shift) - 1);
    uint64_t half = uint64_t(1) << (shift - 1);
    if (rest > half || (rest == half && (kept & 1)))
      ++kept;
    // The leading one of a normal number adds 1 to its exponent, and so does a
    // carry out of the mantissa.
    uint64_t magnitude =
        (static_cast<uint64_t>(scale + bias - 1) << MantissaBits) + kept;
    if (magnitude >= overflow)
      magnitude = overflow;
    return static_cast<Bits>(sign | magnitude);
  }
};

using Float8E4M3FN = SmallFloat<uint8_t, 4, 3, false>;
using Float8E5M2 = SmallFloat<uint8_t, 5, 2, true>;
using Float16 = SmallFloat<uint16_t, 5, 10, true>;
using BFloat16 = SmallFloat<uint16_t, 8, 7, true>;

} // namespace commsched::runtime

#endif // COMMSCHED_RUNTIME_NUMERICS_SMALLFLOAT_H
