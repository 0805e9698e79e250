//===- Elements.h - Elements of any type ------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A C++ type for every commsched_type, and functions that read, write and
// convert its values. Elements need not be aligned: buckets of several types
// place them at any byte.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_RUNTIME_NUMERICS_ELEMENTS_H
#define COMMSCHED_RUNTIME_NUMERICS_ELEMENTS_H

#include "CommSched/Runtime/Runtime.h"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <tuple>
#include <type_traits>
#include <utility>

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
    // The weight of the result's last place depends on its exponent, which is
    // at least that of the subnormal numbers.
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

/// An i1: any byte but 0 is true.
struct Bool {
  uint8_t bits;
};

template <class T> struct Complex {
  using Part = T;
  T real;
  T imaginary;
};

template <class T> inline constexpr bool isComplexType = false;
template <class T> inline constexpr bool isComplexType<Complex<T>> = true;

template <class T> struct TypeTag {
  using Type = T;
};

/// The C++ types of commsched_type, in its order.
using CppTypes =
    std::tuple<Bool, int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t,
               uint32_t, uint64_t, Float8E4M3FN, Float8E5M2, Float16, BFloat16,
               float, double, Complex<float>, Complex<double>>;
static_assert(std::tuple_size_v<CppTypes> == COMMSCHED_COMPLEX_F64 + 1);

template <class Function, size_t... number>
void dispatchType(commsched_type type, Function &function,
                  std::index_sequence<number...>) {
  ((static_cast<size_t>(type) == number
        ? function(TypeTag<std::tuple_element_t<number, CppTypes>>())
        : void()),
   ...);
}

/// Calls `function` with a TypeTag for `type`.
template <class Function>
void dispatchType(commsched_type type, Function &&function) {
  dispatchType(type, function,
               std::make_index_sequence<std::tuple_size_v<CppTypes>>());
}

template <class T> T readElement(const void *data, int64_t index) {
  T value;
  std::memcpy(&value, static_cast<const char *>(data) + index * sizeof(T),
              sizeof(T));
  return value;
}

template <class T> void writeElement(void *data, int64_t index, T value) {
  std::memcpy(static_cast<char *>(data) + index * sizeof(T), &value, sizeof(T));
}

/// The value as a number that C++ computes with, without loss.
template <class T> auto widen(T value) {
  if constexpr (std::is_same_v<T, Bool>)
    return static_cast<int64_t>(value.bits != 0);
  else if constexpr (std::is_unsigned_v<T>)
    return static_cast<uint64_t>(value);
  else if constexpr (std::is_integral_v<T>)
    return static_cast<int64_t>(value);
  else if constexpr (std::is_floating_point_v<T>)
    return value;
  else
    return T::decode(value.bits);
}

/// An integer as a double with its last bit set if bits were lost, so that
/// rounding it to a shorter format gives what rounding the integer gives.
template <class Integer> double roundToOdd(Integer value) {
  bool negative = value < 0;
  uint64_t magnitude = negative ? uint64_t(0) - static_cast<uint64_t>(value)
                                : static_cast<uint64_t>(value);
  int lost = 0;
  while (magnitude >> lost >> 53)
    ++lost;
  uint64_t kept = magnitude >> lost;
  if (kept << lost != magnitude)
    kept |= 1;
  double result = std::ldexp(static_cast<double>(kept), lost);
  return negative ? -result : result;
}

/// Converts a result of `widen` to a T: integers wrap around, floating-point
/// numbers round to the nearest, ties to even; to integers they lose their
/// fraction and saturate, and NaN is 0. As an i1 everything but 0 is 1.
template <class T, class Wide> T narrow(Wide value) {
  if constexpr (std::is_same_v<T, Bool>) {
    return Bool{static_cast<uint8_t>(value != 0)};
  } else if constexpr (std::is_integral_v<T> && std::is_integral_v<Wide>) {
    return static_cast<T>(value);
  } else if constexpr (std::is_integral_v<T>) {
    if (std::isnan(value))
      return 0;
    // The first number beyond the largest T is a power of two, thus exact.
    const double limit = std::ldexp(1.0, std::numeric_limits<T>::digits);
    if (value >= limit)
      return std::numeric_limits<T>::max();
    if (value <= static_cast<double>(std::numeric_limits<T>::min()))
      return std::numeric_limits<T>::min();
    return static_cast<T>(value);
  } else if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(value);
  } else if constexpr (std::is_integral_v<Wide>) {
    return T{T::encode(roundToOdd(value))};
  } else {
    return T{T::encode(value)};
  }
}

/// A real number becomes a complex one without an imaginary part.
template <class T, class S> T convertElement(S value) {
  if constexpr (isComplexType<T> && isComplexType<S>)
    return T{narrow<typename T::Part>(value.real),
             narrow<typename T::Part>(value.imaginary)};
  else if constexpr (isComplexType<T>)
    return T{narrow<typename T::Part>(widen(value)), 0};
  else
    return narrow<T>(widen(value));
}

} // namespace commsched::runtime

#endif // COMMSCHED_RUNTIME_NUMERICS_ELEMENTS_H
