//===- TableRow.cpp - Rows of cost tables ---------------------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TableRow.h"

#include <cmath>
#include <optional>
#include <utility>

using namespace mlir::commsched::cost;

llvm::Error TableRow::fail(const llvm::Twine &what) const {
  return llvm::createStringError(kind + " " + llvm::Twine(index) + ": " + what);
}

llvm::Error TableRow::readString(llvm::StringRef column,
                                 std::string &result) const {
  const llvm::json::Value *value = object.get(column);
  if (!value)
    return fail("column '" + column + "' is missing");
  std::optional<llvm::StringRef> text = value->getAsString();
  if (!text)
    return fail("column '" + column + "' must be a string");
  result = text->str();
  return llvm::Error::success();
}

llvm::Error TableRow::readInteger(llvm::StringRef column, int64_t maximum,
                                  int64_t &result) const {
  const llvm::json::Value *value = object.get(column);
  if (!value)
    return fail("column '" + column + "' is missing");
  std::optional<int64_t> integer = value->getAsInteger();
  if (!integer)
    return fail("column '" + column + "' must be an integer");
  if (*integer < 0)
    return fail("column '" + column + "' must not be negative, got " +
                llvm::Twine(*integer));
  if (*integer > maximum)
    return fail("column '" + column +
                "' is too large: " + llvm::Twine(*integer));
  result = *integer;
  return llvm::Error::success();
}

llvm::Error TableRow::readTime(int64_t &timeNs) const {
  const llvm::json::Value *value = nullptr;
  llvm::StringRef column;
  double unitNs = 1;
  const std::pair<llvm::StringRef, double> units[] = {
      {"time_ns", 1.0}, {"time_us", 1e3}, {"time", 1.0}};
  for (const auto &[name, scale] : units) {
    const llvm::json::Value *candidate = object.get(name);
    if (!candidate)
      continue;
    if (value)
      return fail("has both '" + column + "' and '" + name + "'");
    value = candidate;
    column = name;
    unitNs = scale;
  }
  if (!value)
    return fail("column 'time_ns' is missing");
  std::optional<double> number = value->getAsNumber();
  if (!number)
    return fail("column '" + column + "' must be a number");
  if (*number < 0)
    return fail("column '" + column + "' must not be negative");
  double nanoseconds = std::floor(*number * unitNs + 0.5);
  // 2^63, the first double beyond the range; NaN fails too.
  if (!(nanoseconds < 9223372036854775808.0))
    return fail("column '" + column + "' is too large");
  timeNs = static_cast<int64_t>(nanoseconds);
  return llvm::Error::success();
}
