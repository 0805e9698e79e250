//===- MeasuredProductsTest.cpp - Tests of measured products --------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/CostModel/MeasuredTable.h"

#include "gtest/gtest.h"

#include <string>

using namespace mlir::commsched::cost;

namespace {

llvm::Expected<MeasuredTable> parseProducts(const std::string &products) {
  return MeasuredTable::parse(R"({"rows": [], "products": )" + products + "}");
}

/// The error of a table with one good product and `product`.
std::string errorOfProduct(const std::string &product) {
  llvm::Expected<MeasuredTable> table = parseProducts(
      R"([{"m": 64, "n": 8, "k": 16, "type": "bf16", "time_ns": 500}, )" +
      product + "]");
  return table ? "" : llvm::toString(table.takeError());
}

TEST(MeasuredProducts, FindsExactAndInterpolatedProducts) {
  llvm::Expected<MeasuredTable> table = parseProducts(R"([
    {"m": 1024, "n": 8, "k": 16, "batch": 1, "type": "bf16", "time_us": 4},
    {"m": 512, "n": 8, "k": 16, "type": "bf16", "time_ns": 3000},
    {"m": 512, "n": 8, "k": 16, "batch": 3, "type": "f32", "time": 9000}])");
  ASSERT_TRUE(bool(table)) << llvm::toString(table.takeError());
  const MeasuredProducts &products = table->getProducts();
  EXPECT_EQ(products.findNs({512, 8, 16, 1}, ElementKind::BF16), 3000);
  EXPECT_EQ(products.findNs({1024, 8, 16, 1}, ElementKind::BF16), 4000);
  EXPECT_EQ(products.findNs({768, 8, 16, 1}, ElementKind::BF16), 3500);
  EXPECT_EQ(products.findNs({512, 8, 16, 3}, ElementKind::F32), 9000);
  // Outside of what was measured, and with other sizes, type and batch.
  for (ProductShape shape : {ProductShape{511, 8, 16, 1},
                             {1025, 8, 16, 1},
                             {512, 9, 16, 1},
                             {512, 8, 17, 1},
                             {512, 8, 16, 3}})
    EXPECT_FALSE(products.findNs(shape, ElementKind::BF16));
  EXPECT_FALSE(products.findNs({512, 8, 16, 1}, ElementKind::F16));
}

TEST(MeasuredProducts, NoneTakesLessPerMultiplication) {
  llvm::Expected<MeasuredTable> table = parseProducts(R"([
    {"m": 1024, "n": 8, "k": 16, "type": "bf16", "time_ns": 4000},
    {"m": 512, "n": 8, "k": 16, "type": "bf16", "time_ns": 1000},
    {"m": 512, "n": 8, "k": 16, "batch": 3, "type": "bf16", "time_ns": 9000},
    {"m": 512, "n": 8, "k": 16, "type": "f32", "time_ns": 100}])");
  ASSERT_TRUE(bool(table)) << llvm::toString(table.takeError());
  const MeasuredProducts &products = table->getProducts();
  double least = *products.getLeastNsPerMultiplication(ElementKind::BF16);
  EXPECT_DOUBLE_EQ(least, 1000.0 / (512 * 8 * 16));
  for (int64_t m = 512; m <= 1024; m += 8)
    EXPECT_GE(
        static_cast<double>(*products.findNs({m, 8, 16, 1}, ElementKind::BF16)),
        least * static_cast<double>(m * 8 * 16) * (1 - 1e-12));
  EXPECT_FALSE(products.getLeastNsPerMultiplication(ElementKind::F16));
}

TEST(MeasuredProducts, AreOptional) {
  llvm::Expected<MeasuredTable> table = MeasuredTable::parse(R"({"rows": []})");
  ASSERT_TRUE(bool(table));
  EXPECT_TRUE(table->getProducts().empty());
}

TEST(MeasuredProducts, RejectsBadProducts) {
  EXPECT_EQ(llvm::toString(parseProducts("3").takeError()),
            "cost table: 'products' must be a list");
  EXPECT_EQ(errorOfProduct("3"), "product 1: must be an object");
  EXPECT_EQ(
      errorOfProduct(R"({"n": 8, "k": 16, "type": "bf16", "time_ns": 5})"),
      "product 1: column 'm' is missing");
  EXPECT_EQ(errorOfProduct(
                R"({"m": 1, "n": 0, "k": 16, "type": "bf16", "time_ns": 5})"),
            "product 1: column 'n' must be at least 1, got 0");
  EXPECT_EQ(errorOfProduct(
                R"({"m": 1, "n": 1, "k": "a", "type": "bf16", "time_ns": 5})"),
            "product 1: column 'k' must be an integer");
  EXPECT_EQ(
      errorOfProduct(R"({"m": 1, "n": 1, "k": 1, "type": "f7", "time_ns": 5})"),
      "product 1: unknown type 'f7'; there are f64, f32, f16, bf16, f8, i8");
  EXPECT_EQ(
      errorOfProduct(R"({"m": 1, "n": 1, "k": 1, "type": "f8", "time_ns": 0})"),
      "product 1: the time must be at least 1 ns, got 0 ns");
  EXPECT_EQ(
      errorOfProduct(
          R"({"m": 64, "n": 8, "k": 16, "type": "bf16", "time_ns": 501})"),
      "product 1: contradicts an earlier product: bf16 of m 64, n 8, k 16, "
      "batch 1 takes 501 ns here and 500 ns there");
  // The same product twice is no contradiction.
  EXPECT_EQ(
      errorOfProduct(
          R"({"m": 64, "n": 8, "k": 16, "type": "bf16", "time_ns": 500})"),
      "");
}

} // namespace
