//===- ValuesTest.cpp - Tests of numbers in memory ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Values.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/MLIRContext.h"

#include "gtest/gtest.h"

#include <set>

using namespace mlir;
using namespace mlir::commsched::run;

namespace {

class Values : public testing::Test {
protected:
  ElementFormat getFormat(Type type) {
    llvm::Expected<ValueType> value = getValueType(type);
    EXPECT_TRUE(bool(value));
    return value->element;
  }

  std::string print(Type type, double value) {
    ElementFormat format = getFormat(type);
    Bytes bytes(format.bytes);
    writeNumber(format, value, bytes.data());
    return formatElement(format, bytes.data());
  }

  bool compare(Type type, double left, double right,
               std::optional<double> tolerance) {
    ElementFormat format = getFormat(type);
    Bytes a(format.bytes), b(format.bytes);
    writeNumber(format, left, a.data());
    writeNumber(format, right, b.data());
    return areEqual(format, a.data(), b.data(), tolerance);
  }

  MLIRContext context;
  Builder builder{&context};
};

TEST_F(Values, PrintsWhatItWrites) {
  EXPECT_EQ(print(builder.getF32Type(), -0.875), "-0.875");
  EXPECT_EQ(print(builder.getF32Type(), 0.1), "0.100000001");
  EXPECT_EQ(print(builder.getF64Type(), 0.1), "0.10000000000000001");
  EXPECT_EQ(print(builder.getBF16Type(), 1.0 / 3), "0.334");
  EXPECT_EQ(print(builder.getF16Type(), 65504), "65504");
  EXPECT_EQ(print(Float8E4M3FNType::get(&context), 448), "448");
  EXPECT_EQ(print(ComplexType::get(builder.getF64Type()), 2.5), "(2.5, 2.5)");
  EXPECT_EQ(print(builder.getI1Type(), 1), "true");
  EXPECT_EQ(print(builder.getIntegerType(8), -3), "-3");
  EXPECT_EQ(print(builder.getIntegerType(16, /*isSigned=*/false), 65535),
            "65535");
  EXPECT_EQ(print(builder.getIndexType(), -7), "-7");
}

TEST_F(Values, ToleranceIsRelativeAndAbsolute) {
  Type f64 = builder.getF64Type();
  EXPECT_TRUE(compare(f64, 1000, 1000.9, 1e-3));
  EXPECT_FALSE(compare(f64, 1000, 1001.1, 1e-3));
  EXPECT_TRUE(compare(f64, 0, 0.0009, 1e-3));
  EXPECT_FALSE(compare(f64, 0, 0.0011, 1e-3));
  EXPECT_FALSE(compare(f64, 1, 1.0000001, std::nullopt));
  EXPECT_TRUE(compare(builder.getBF16Type(), 1, 1.0078125, 1e-2));
  EXPECT_FALSE(compare(builder.getBF16Type(), 1, 1.0078125, 1e-3));
}

TEST_F(Values, OnlyFloatsHaveATolerance) {
  EXPECT_FALSE(compare(builder.getI64Type(), 1000, 1001, 1.0));
  EXPECT_FALSE(compare(builder.getI1Type(), 0, 1, 1.0));
}

TEST_F(Values, SpecialValues) {
  Type f32 = builder.getF32Type();
  double infinity = std::numeric_limits<double>::infinity();
  double none = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(compare(f32, none, -none, std::nullopt));
  EXPECT_FALSE(compare(f32, none, 1, 1e9));
  EXPECT_TRUE(compare(f32, infinity, infinity, std::nullopt));
  EXPECT_FALSE(compare(f32, infinity, 1, 1e9));
  EXPECT_FALSE(compare(f32, 0.0, -0.0, std::nullopt));
  EXPECT_TRUE(compare(f32, 0.0, -0.0, 0.0));
}

TEST_F(Values, BothPartsOfComplexNumbersCount) {
  ElementFormat format = getFormat(ComplexType::get(builder.getF32Type()));
  float a[2] = {1, 2}, b[2] = {1, 3};
  auto *left = reinterpret_cast<const char *>(a);
  auto *right = reinterpret_cast<const char *>(b);
  EXPECT_FALSE(areEqual(format, left, right, std::nullopt));
  EXPECT_FALSE(areEqual(format, left, right, 0.2));
  EXPECT_TRUE(areEqual(format, left, right, 0.3));
}

TEST_F(Values, MadeUpFloatsAreEighthsAndIntegersMayBePositions) {
  auto make = [&](Type element) {
    llvm::Expected<ValueType> type =
        getValueType(RankedTensorType::get({1000}, element));
    EXPECT_TRUE(bool(type));
    llvm::Expected<Bytes> bytes = makeInput({}, *type, /*index=*/0, /*rank=*/0,
                                            /*repetition=*/0);
    EXPECT_TRUE(bool(bytes));
    return std::move(*bytes);
  };
  Bytes bytes = make(builder.getF32Type());
  std::set<float> seen;
  for (size_t at = 0; at < bytes.size(); at += sizeof(float)) {
    float value = *reinterpret_cast<const float *>(&bytes[at]);
    EXPECT_EQ(value * 8, static_cast<int>(value * 8));
    EXPECT_LE(std::abs(value), 1);
    seen.insert(value);
  }
  EXPECT_EQ(seen.size(), 17u);
  bytes = make(builder.getI64Type());
  std::set<int64_t> integers;
  for (size_t at = 0; at < bytes.size(); at += sizeof(int64_t))
    integers.insert(*reinterpret_cast<const int64_t *>(&bytes[at]));
  EXPECT_EQ(*integers.begin(), 0);
  EXPECT_EQ(*integers.rbegin(), 7);
}

} // namespace
