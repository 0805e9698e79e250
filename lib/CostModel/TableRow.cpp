//===- TableRow.cpp - Rows of cost tables ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "TableRow.h"

#include <cmath>
#include <optional>
#include <utility>

using namespace mlir::commsched;
using namespace mlir::commsched::cost;

bool JsonFields::fail(const llvm::Twine &what) {
  if (error.empty())
    error = (where + ": " + what).str();
  return false;
}

llvm::Error JsonFields::takeError() const {
  return error.empty() ? llvm::Error::success()
                       : llvm::createStringError(error);
}

bool JsonFields::readString(llvm::StringRef column, std::string &result) {
  const llvm::json::Value *value = object.get(column);
  if (!value)
    return fail("column '" + column + "' is missing");
  std::optional<llvm::StringRef> text = value->getAsString();
  if (!text)
    return fail("column '" + column + "' must be a string");
  result = text->str();
  return true;
}

bool JsonFields::readInteger(llvm::StringRef column, int64_t maximum,
                             int64_t &result) {
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
  return true;
}

bool JsonFields::readTime(int64_t &timeNs) {
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
  return true;
}

llvm::Error cost::readRows(const llvm::json::Array &list, llvm::StringRef kind,
                           llvm::function_ref<bool(JsonFields &)> read) {
  for (size_t i = 0; i < list.size(); ++i) {
    const llvm::json::Object *object = list[i].getAsObject();
    if (!object)
      return llvm::createStringError(kind + " " + llvm::Twine(i) +
                                     ": must be an object");
    JsonFields row(*object, kind + " " + llvm::Twine(i));
    if (!read(row))
      return row.takeError();
  }
  return llvm::Error::success();
}

llvm::Error cost::readRows(const llvm::json::Value &value, llvm::StringRef key,
                           llvm::StringRef kind,
                           llvm::function_ref<bool(JsonFields &)> read) {
  if (const llvm::json::Array *list = value.getAsArray())
    return readRows(*list, kind, read);
  return llvm::createStringError("cost table: '" + key + "' must be a list");
}
