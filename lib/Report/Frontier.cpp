//===- Frontier.cpp - Step time against memory ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/Report/Frontier.h"
#include "CommSched/Support/Json.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace mlir;
using namespace mlir::commsched;
namespace json = llvm::json;

namespace {

/// A row by the names of its columns, as text.
using FrontierRow = llvm::StringMap<std::string>;

/// Collects the points of rows by function.
class FrontierReader {
public:
  /// `where` names the row in errors.
  Status add(const FrontierRow &row, const Twine &where);

  std::vector<FunctionFrontier> frontiers;

private:
  Status readNumber(const FrontierRow &row, StringRef column,
                    const Twine &where, int64_t &number);

  llvm::StringMap<size_t> places;
};

} // namespace

Status FrontierReader::readNumber(const FrontierRow &row, StringRef column,
                                  const Twine &where, int64_t &number) {
  auto it = row.find(column);
  if (it == row.end())
    return Error{(where + " has no '" + column + "'").str()};
  if (StringRef(it->second).getAsInteger(10, number) || number < 0)
    return Error{(where + ": '" + column +
                  "' is not a number of at least 0, but '" + it->second + "'")
                     .str()};
  return Status::success();
}

Status FrontierReader::add(const FrontierRow &row, const Twine &where) {
  auto function = row.find("function");
  if (function == row.end())
    return Error{(where + " has no 'function'").str()};
  FrontierPoint point;
  SmallVector<std::pair<StringRef, int64_t *>, 3> numbers = {
      {"peak_bytes", &point.peakBytes}, {"step_time_ns", &point.stepNs}};
  auto bound = row.find("lower_bound_ns");
  if (bound != row.end() && !bound->second.empty() && bound->second != "null")
    numbers.push_back({"lower_bound_ns", &point.lowerBoundNs});
  for (auto [column, number] : numbers)
    if (Status status = readNumber(row, column, where, *number); !status)
      return status;
  auto [place, isNew] = places.try_emplace(function->second, frontiers.size());
  if (isNew)
    frontiers.push_back({function->second, {}});
  frontiers[place->second].points.push_back(point);
  return Status::success();
}

/// Splits a line of CSV at its commas, and quoted fields not at all.
static std::vector<std::string> splitFields(StringRef line) {
  std::vector<std::string> fields(1);
  bool isQuoted = false;
  for (size_t i = 0; i < line.size(); ++i) {
    bool isQuote = line[i] == '"';
    if (isQuoted && isQuote && i + 1 < line.size() && line[i + 1] == '"') {
      fields.back() += '"';
      ++i;
    } else if (isQuote) {
      isQuoted = !isQuoted;
    } else if (line[i] == ',' && !isQuoted) {
      fields.emplace_back();
    } else {
      fields.back() += line[i];
    }
  }
  return fields;
}

static Status readCsv(StringRef text, StringRef path, FrontierReader &reader) {
  SmallVector<StringRef> lines;
  text.split(lines, '\n', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  if (lines.empty())
    return Error{(path + " has no row of column names").str()};
  std::vector<std::string> columns = splitFields(lines.front().rtrim('\r'));
  for (size_t i = 1; i < lines.size(); ++i) {
    std::string where = (path + ", row " + Twine(i)).str();
    std::vector<std::string> fields = splitFields(lines[i].rtrim('\r'));
    if (fields.size() != columns.size())
      return Error{where + " has " + std::to_string(fields.size()) +
                   " values, but there are " + std::to_string(columns.size()) +
                   " columns"};
    FrontierRow row;
    for (auto [column, field] : llvm::zip_equal(columns, fields))
      row[column] = field;
    if (Status status = reader.add(row, where); !status)
      return status;
  }
  return Status::success();
}

static Status readJson(StringRef text, StringRef path, FrontierReader &reader) {
  llvm::Expected<json::Value> value = parseJson(text);
  if (!value)
    return Error{
        (path + " is no JSON: " + llvm::toString(value.takeError())).str()};
  const json::Array *rows = value->getAsArray();
  if (!rows)
    return Error{(path + " is not an array of points").str()};
  for (auto [index, element] : llvm::enumerate(*rows)) {
    std::string where = (path + ", entry " + Twine(index)).str();
    const json::Object *object = element.getAsObject();
    if (!object)
      return Error{where + " is not an object"};
    FrontierRow row;
    for (const auto &[key, field] : *object) {
      if (std::optional<StringRef> string = field.getAsString())
        row[StringRef(key)] = string->str();
      else
        llvm::raw_string_ostream(row[StringRef(key)]) << field;
    }
    if (Status status = reader.add(row, where); !status)
      return status;
  }
  return Status::success();
}

Result<std::vector<FunctionFrontier>>
mlir::commsched::readFrontiers(StringRef path) {
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/true);
  if (std::error_code error = buffer.getError())
    return Error{("cannot read '" + path + "': " + error.message()).str()};
  FrontierReader reader;
  StringRef text = (*buffer)->getBuffer();
  if (Status status = path.ends_with(".json") ? readJson(text, path, reader)
                                              : readCsv(text, path, reader);
      !status)
    return Error{status.error()};
  return std::move(reader.frontiers);
}
