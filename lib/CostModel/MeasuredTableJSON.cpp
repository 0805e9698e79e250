//===- MeasuredTableJSON.cpp - reading a measured table ---------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/CostModel/MeasuredTable.h"

#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"

#include <cmath>
#include <limits>

namespace mlir::commsched::cost {

namespace {

/// Reads the columns of one row; the first failure sticks.
class RowReader {
public:
  RowReader(const llvm::json::Object &object, size_t index)
      : object(object), index(index) {}

  llvm::Expected<MeasuredRow> read();

private:
  llvm::Error fail(const llvm::Twine &what) const {
    return llvm::createStringError("row " + llvm::Twine(index) + ": " + what);
  }
  llvm::Error readKind(CollectiveKind &kind) const;
  llvm::Error readInteger(llvm::StringRef column, int64_t maximum,
                          int64_t &result) const;
  llvm::Error readTime(int64_t &timeNs) const;

  const llvm::json::Object &object;
  size_t index;
};

llvm::Error RowReader::readKind(CollectiveKind &kind) const {
  const llvm::json::Value *value = object.get("collective");
  if (!value)
    return fail("column 'collective' is missing");
  std::optional<llvm::StringRef> text = value->getAsString();
  if (!text)
    return fail("column 'collective' must be a string");
  std::optional<CollectiveKind> parsed = parseCollectiveKind(*text);
  if (!parsed)
    return fail("unknown collective '" + *text + "'");
  kind = *parsed;
  return llvm::Error::success();
}

llvm::Error RowReader::readInteger(llvm::StringRef column, int64_t maximum,
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

llvm::Error RowReader::readTime(int64_t &timeNs) const {
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

llvm::Expected<MeasuredRow> RowReader::read() {
  MeasuredRow row;
  int64_t ranks = 0, nodes = 0;
  constexpr int64_t max32 = std::numeric_limits<int32_t>::max();
  constexpr int64_t max64 = std::numeric_limits<int64_t>::max();
  if (llvm::Error error = readKind(row.kind))
    return error;
  if (llvm::Error error = readInteger("ranks", max32, ranks))
    return error;
  if (llvm::Error error = readInteger("nodes", max32, nodes))
    return error;
  if (llvm::Error error = readInteger("bytes", max64, row.bytes))
    return error;
  if (llvm::Error error = readTime(row.timeNs))
    return error;
  row.ranks = static_cast<int32_t>(ranks);
  row.nodes = static_cast<int32_t>(nodes);
  return row;
}

/// An optional string member of the table's object.
llvm::Error readText(const llvm::json::Object &object, llvm::StringRef key,
                     std::string &result) {
  const llvm::json::Value *value = object.get(key);
  if (!value)
    return llvm::Error::success();
  std::optional<llvm::StringRef> text = value->getAsString();
  if (!text)
    return llvm::createStringError("cost table: '" + key +
                                   "' must be a string");
  result = text->str();
  return llvm::Error::success();
}

} // namespace

llvm::Expected<MeasuredTable> MeasuredTable::parse(llvm::StringRef json) {
  llvm::Expected<llvm::json::Value> value = llvm::json::parse(json);
  if (!value)
    return llvm::createStringError("cost table is not JSON: " +
                                   llvm::toString(value.takeError()));

  std::string name, source, device;
  const llvm::json::Array *list = value->getAsArray();
  if (const llvm::json::Object *object = value->getAsObject()) {
    if (llvm::Error error = readText(*object, "name", name))
      return error;
    if (llvm::Error error = readText(*object, "source", source))
      return error;
    if (llvm::Error error = readText(*object, "device", device))
      return error;
    list = object->getArray("rows");
    if (!list)
      return llvm::createStringError("cost table has no list 'rows'");
  }
  if (!list)
    return llvm::createStringError(
        "cost table must be an object with a list 'rows', or a list of rows");

  std::vector<MeasuredRow> rows;
  rows.reserve(list->size());
  for (size_t i = 0; i < list->size(); ++i) {
    const llvm::json::Object *object = (*list)[i].getAsObject();
    if (!object)
      return llvm::createStringError("row " + llvm::Twine(i) +
                                     ": must be an object");
    llvm::Expected<MeasuredRow> row = RowReader(*object, i).read();
    if (!row)
      return row.takeError();
    rows.push_back(*row);
  }
  llvm::Expected<MeasuredTable> table = create(std::move(rows));
  if (!table)
    return table.takeError();
  table->name = std::move(name);
  table->source = std::move(source);
  table->device = std::move(device);
  return table;
}

llvm::Expected<MeasuredTable> MeasuredTable::load(llvm::StringRef path) {
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/true);
  if (!buffer)
    return llvm::createStringError("cannot read cost table '" + path +
                                   "': " + buffer.getError().message());
  llvm::Expected<MeasuredTable> table = parse((*buffer)->getBuffer());
  if (!table)
    return llvm::createStringError(path + ": " +
                                   llvm::toString(table.takeError()));
  return table;
}

} // namespace mlir::commsched::cost
