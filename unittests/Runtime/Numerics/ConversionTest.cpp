//===- ConversionTest.cpp - Tests of element types ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every bit pattern of the small floating-point types, with a slow conversion
// beside it that looks for the nearest value among all.
//===----------------------------------------------------------------------===//

#include "Numerics/ElementTypes.h"
#include "Numerics/Elements.h"

#include <gtest/gtest.h>

using namespace commsched::runtime;

namespace {
/// A format, in numbers.
struct Format {
  commsched_type type;
  int exponentBits;
  int mantissaBits;
  bool hasInfinity;

  int getBias() const { return (1 << (exponentBits - 1)) - 1; }
  uint32_t getSign() const { return 1u << (exponentBits + mantissaBits); }
  uint32_t getMaxExponent() const { return (1u << exponentBits) - 1; }

  bool isNan(uint32_t bits) const {
    uint32_t exponent = bits >> mantissaBits & getMaxExponent();
    uint32_t mantissa = bits & ((1u << mantissaBits) - 1);
    return exponent == getMaxExponent() &&
           (hasInfinity ? mantissa != 0 : mantissa == (1u << mantissaBits) - 1);
  }

  double getValue(uint32_t bits) const {
    uint32_t exponent = bits >> mantissaBits & getMaxExponent();
    double mantissa = bits & ((1u << mantissaBits) - 1);
    double sign = bits & getSign() ? -1 : 1;
    if (isNan(bits))
      return NAN;
    if (hasInfinity && exponent == getMaxExponent())
      return sign * INFINITY;
    double fraction = std::ldexp(mantissa, -mantissaBits);
    if (exponent == 0)
      return sign * std::ldexp(fraction, 1 - getBias());
    return sign *
           std::ldexp(1 + fraction, static_cast<int>(exponent) - getBias());
  }
};
} // namespace

static const Format formats[] = {{COMMSCHED_F8E4M3FN, 4, 3, false},
                                 {COMMSCHED_F8E5M2, 5, 2, true},
                                 {COMMSCHED_F16, 5, 10, true},
                                 {COMMSCHED_BF16, 8, 7, true}};

template <class T> static uint32_t encode(const Format &format, T value) {
  uint16_t bits = 0;
  commsched_type source = std::is_same_v<T, double>    ? COMMSCHED_F64
                          : std::is_same_v<T, float>   ? COMMSCHED_F32
                          : std::is_same_v<T, int64_t> ? COMMSCHED_I64
                                                       : COMMSCHED_UI64;
  convertElements(&bits, format.type, &value, source, 1);
  return bits;
}

static double decode(const Format &format, uint32_t bits) {
  auto pattern = static_cast<uint16_t>(bits);
  double value = 0;
  convertElements(&value, COMMSCHED_F64, &pattern, format.type, 1);
  return value;
}

TEST(Conversion, EveryPatternDecodesToItsValueAndBack) {
  for (const Format &format : formats) {
    for (uint32_t bits = 0; bits < 2 * format.getSign(); ++bits) {
      double value = decode(format, bits);
      if (format.isNan(bits)) {
        ASSERT_TRUE(std::isnan(value)) << bits;
        ASSERT_TRUE(format.isNan(encode(format, value))) << bits;
        continue;
      }
      ASSERT_EQ(value, format.getValue(bits)) << bits;
      ASSERT_EQ(std::signbit(value), (bits & format.getSign()) != 0) << bits;
      ASSERT_EQ(encode(format, value), bits);
      ASSERT_EQ(encode(format, static_cast<float>(value)), bits);
    }
  }
}

TEST(Conversion, BetweenNeighboursTheNearestAndTiesToEven) {
  for (const Format &format : formats) {
    for (uint32_t bits = 0;; ++bits) {
      double value = format.getValue(bits);
      double next = format.getValue(bits + 1);
      bool isLast = !std::isfinite(next);
      if (isLast)
        // The next number if the format had a larger range.
        next = value + (value - format.getValue(bits - 1));
      double middle = value + (next - value) / 2;
      // Beyond the last number is infinity, or NaN if there is none.
      ASSERT_EQ(encode(format, middle), bits % 2 ? bits + 1 : bits) << bits;
      ASSERT_EQ(encode(format, std::nextafter(middle, 0)), bits);
      ASSERT_EQ(encode(format, std::nextafter(middle, INFINITY)), bits + 1);
      ASSERT_EQ(encode(format, -middle),
                (bits % 2 ? bits + 1 : bits) | format.getSign());
      if (!isLast)
        continue;
      ASSERT_EQ(encode(format, 1e300), bits + 1);
      ASSERT_EQ(encode(format, HUGE_VAL), bits + 1);
      ASSERT_EQ(encode(format, -HUGE_VAL), (bits + 1) | format.getSign());
      break;
    }
    EXPECT_EQ(encode(format, 1e-300), 0u);
    EXPECT_EQ(encode(format, -5e-324), format.getSign());
  }
}

TEST(Conversion, RoundsOnce) {
  const Format &half = formats[2];
  const Format &brain = formats[3];
  // As a float this is a tie, which would go down.
  double value = 1 + std::ldexp(1.0, -11) + std::ldexp(1.0, -40);
  EXPECT_EQ(decode(half, encode(half, value)), 1 + std::ldexp(1.0, -10));
  // As a double, this is a tie.
  int64_t integer = (int64_t(1) << 62) + (int64_t(1) << 54) + 1;
  double above = std::ldexp(1.0, 62) + std::ldexp(1.0, 55);
  EXPECT_EQ(decode(brain, encode(brain, integer)), above);
  EXPECT_EQ(decode(brain, encode(brain, -integer)), -above);
  EXPECT_EQ(decode(brain, encode(brain, integer - 1)), std::ldexp(1.0, 62));
  EXPECT_EQ(decode(brain, encode(brain, static_cast<uint64_t>(integer))),
            above);
  EXPECT_EQ(decode(brain, encode(brain, INT64_MIN)), -std::ldexp(1.0, 63));
  EXPECT_EQ(decode(brain, encode(brain, UINT64_MAX)), std::ldexp(1.0, 64));
  EXPECT_EQ(decode(half, encode(half, int64_t(65519))), 65504);
  EXPECT_EQ(decode(half, encode(half, int64_t(65520))), INFINITY);
}

template <class T, class S>
static T convertOne(commsched_type target, commsched_type source, S value) {
  T result;
  convertElements(&result, target, &value, source, 1);
  return result;
}

TEST(Conversion, ToIntegers) {
  auto toI8 = [](double value) {
    return convertOne<int8_t>(COMMSCHED_I8, COMMSCHED_F64, value);
  };
  EXPECT_EQ(toI8(2.9), 2);
  EXPECT_EQ(toI8(-2.9), -2);
  EXPECT_EQ(toI8(1000), 127);
  EXPECT_EQ(toI8(-1000), -128);
  EXPECT_EQ(toI8(NAN), 0);
  EXPECT_EQ(toI8(127.9), 127);
  EXPECT_EQ((convertOne<uint64_t>(COMMSCHED_UI64, COMMSCHED_F64, 1e30)),
            UINT64_MAX);
  EXPECT_EQ((convertOne<uint64_t>(COMMSCHED_UI64, COMMSCHED_F32, -1.0f)), 0u);
  EXPECT_EQ(
      (convertOne<int64_t>(COMMSCHED_I64, COMMSCHED_F64, std::ldexp(1.0, 63))),
      INT64_MAX);
  // Integers wrap around.
  EXPECT_EQ((convertOne<int8_t>(COMMSCHED_I8, COMMSCHED_I32, 200)), -56);
  EXPECT_EQ((convertOne<uint32_t>(COMMSCHED_UI32, COMMSCHED_I8, int8_t(-1))),
            UINT32_MAX);
  // Everything but 0 is true.
  EXPECT_EQ((convertOne<uint8_t>(COMMSCHED_I1, COMMSCHED_I32, 256)), 1);
  EXPECT_EQ((convertOne<uint8_t>(COMMSCHED_I1, COMMSCHED_F32, -0.0f)), 0);
  EXPECT_EQ((convertOne<uint8_t>(COMMSCHED_I1, COMMSCHED_F64, 1e-300)), 1);
  EXPECT_EQ((convertOne<int32_t>(COMMSCHED_I32, COMMSCHED_I1, uint8_t(255))),
            1);
}

TEST(Conversion, Complex) {
  Complex<double> value{1.5, -2.5};
  auto narrowed = convertOne<Complex<float>>(COMMSCHED_COMPLEX_F32,
                                             COMMSCHED_COMPLEX_F64, value);
  EXPECT_EQ(narrowed.real, 1.5f);
  EXPECT_EQ(narrowed.imaginary, -2.5f);
  auto real = convertOne<Complex<double>>(COMMSCHED_COMPLEX_F64, COMMSCHED_I16,
                                          int16_t(-7));
  EXPECT_EQ(real.real, -7);
  EXPECT_EQ(real.imaginary, 0);
  EXPECT_EQ(checkConversion(COMMSCHED_F32, COMMSCHED_COMPLEX_F32),
            "cannot convert 'complex<f32>' to 'f32'");
  EXPECT_EQ(checkConversion(COMMSCHED_COMPLEX_F32, COMMSCHED_F32), Status());
}

TEST(Conversion, CopiesRows) {
  // The second and third column of a matrix with rows of four, in between
  // others of five, which stay.
  std::vector<float> source = {0, 1, 2, 3, 4, 5, 6, 7};
  std::vector<double> target(10, -1);
  StridedCopy copy;
  copy.target = target.data() + 1;
  copy.source = source.data() + 1;
  copy.targetType = COMMSCHED_F64;
  copy.sourceType = COMMSCHED_F32;
  copy.targetStride = 5 * sizeof(double);
  copy.sourceStride = 4 * sizeof(float);
  copy.rows = 2;
  copy.rowElements = 2;
  EXPECT_EQ(copyRows(copy), Status());
  EXPECT_EQ(target, (std::vector<double>{-1, 1, 2, -1, -1, -1, 5, 6, -1, -1}));

  // Bytes, from an address that suits no larger type.
  char bytes[] = "abcdefgh";
  char copied[] = "........";
  copy = StridedCopy();
  copy.target = copied + 1;
  copy.source = bytes + 1;
  copy.targetStride = copy.sourceStride = 4;
  copy.rows = 2;
  copy.rowElements = 3;
  EXPECT_EQ(copyRows(copy), Status());
  EXPECT_STREQ(copied, ".bcd.fgh");

  copy.targetType = COMMSCHED_F32;
  copy.sourceType = COMMSCHED_COMPLEX_F32;
  EXPECT_EQ(copyRows(copy), "cannot convert 'complex<f32>' to 'f32'");
}

TEST(Types, NamesAndSizes) {
  for (int32_t i = 0; isType(i); ++i) {
    auto type = static_cast<commsched_type>(i);
    EXPECT_EQ(parseName<commsched_type>(getName(type)), type);
    EXPECT_LE(isInteger(type) + isComplex(type), 1);
  }
  EXPECT_FALSE(isType(-1));
  EXPECT_FALSE(isType(17));
  EXPECT_EQ(getByteSize(COMMSCHED_I1), 1);
  EXPECT_EQ(getByteSize(COMMSCHED_COMPLEX_F64), 16);
  EXPECT_EQ(parseName<commsched_type>("bfloat16"), std::nullopt);
  EXPECT_EQ(parseName<commsched_kind>("permute"), COMMSCHED_PERMUTE);
  EXPECT_EQ(parseName<commsched_kind>("gather"), std::nullopt);
  EXPECT_EQ(parseName<commsched_reduction>("bxor"), COMMSCHED_BXOR);
  EXPECT_EQ(parseName<commsched_reduction>("xor"), std::nullopt);
}

TEST(Types, ElementTypes) {
  ElementType element;
  EXPECT_EQ(parseElementType("f16", element), Status());
  EXPECT_EQ(element.type, COMMSCHED_F16);
  EXPECT_EQ(element.bytes, 2);
  EXPECT_EQ(parseElementType("bytes<12>", element), Status());
  EXPECT_EQ(element.type, std::nullopt);
  EXPECT_EQ(element.bytes, 12);
  for (const char *name :
       {"bytes<0>", "bytes<>", "bytes<-1>", "bytes<1", "bytes<1.5>",
        "bytes<99999999999999999999>", "bytes", "i4", ""})
    EXPECT_EQ(parseElementType(name, element),
              std::string("unknown element type '") + name + "'");
}
