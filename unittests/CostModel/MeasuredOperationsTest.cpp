//===- MeasuredOperationsTest.cpp - Tests of measured operations ----------===//
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

llvm::Expected<MeasuredTable> parseOperations(const std::string &operations) {
  return MeasuredTable::parse(R"({"rows": [], "operations": )" + operations +
                              "}");
}

/// The error of a table with one good operation and `operation`.
std::string errorOfOperation(const std::string &operation) {
  llvm::Expected<MeasuredTable> table =
      parseOperations(R"([{"operator": "mm", "name": "a", "time_ns": 500}, )" +
                      operation + "]");
  return table ? "" : llvm::toString(table.takeError());
}

TEST(MeasuredOperations, FindsNamesAndTypes) {
  llvm::Expected<MeasuredTable> table = parseOperations(R"json([
    {"operator": "mm", "name": "a", "time_ns": 500},
    {"operator": "mm", "name": "a", "function": "f", "time_us": 2},
    {"operator": "mm", "types": "() -> ()", "time_ns": 0, "count": 3}])json");
  ASSERT_TRUE(bool(table)) << llvm::toString(table.takeError());
  const MeasuredOperations &operations = *table->getOperations();
  EXPECT_EQ(operations.findByName("f", "a", "mm")->at("nccl"), 2000);
  EXPECT_EQ(operations.findByName("", "a", "mm")->at("nccl"), 500);
  EXPECT_FALSE(operations.findByName("f", "a", "add"));
  EXPECT_FALSE(operations.findByName("f", "b", "mm"));
  EXPECT_EQ(operations.findByTypes("mm", "() -> ()")->at("nccl"), 0);
  EXPECT_FALSE(operations.findByTypes("add", "() -> ()"));
}

TEST(MeasuredOperations, AreOptional) {
  llvm::Expected<MeasuredTable> table =
      MeasuredTable::parse(R"({"rows": [], "slack_percent": 12})");
  ASSERT_TRUE(bool(table)) << llvm::toString(table.takeError());
  EXPECT_EQ(table->getOperations(), nullptr);
  EXPECT_EQ(table->getSlackPercent(), 12);
}

TEST(MeasuredOperations, NamesWhatIsWrong) {
  EXPECT_EQ(errorOfOperation("7"), "operation 1: must be an object");
  EXPECT_EQ(errorOfOperation(R"({"name": "b", "time_ns": 1})"),
            "operation 1: column 'operator' is missing");
  EXPECT_EQ(errorOfOperation(R"({"operator": "mm", "time_ns": 1})"),
            "operation 1: must have either the column 'name' or the column "
            "'types'");
  EXPECT_EQ(
      errorOfOperation(
          R"({"operator": "mm", "types": "t", "function": "f", "time_ns": 1})"),
      "operation 1: has the column 'function', but no 'name'");
  EXPECT_EQ(errorOfOperation(R"({"operator": "mm", "name": "", "time_ns": 1})"),
            "operation 1: column 'name' must not be empty");
  EXPECT_EQ(errorOfOperation(R"({"operator": "mm", "name": "b"})"),
            "operation 1: column 'time_ns' is missing");
  EXPECT_EQ(
      errorOfOperation(R"({"operator": "mm", "name": "a", "time_ns": 501})"),
      "operation 1: contradicts an earlier operation: 'mm' with the name 'a' "
      "takes 501 ns here and 500 ns there");
  // The same twice is no contradiction.
  EXPECT_EQ(
      errorOfOperation(R"({"operator": "mm", "name": "a", "time_ns": 500})"),
      "");
}

} // namespace
