//===- MeasuredTable.cpp - Measured times of collectives ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/CostModel/MeasuredTable.h"
#include "CommSched/Support/Json.h"

#include "TableRow.h"

#include "llvm/ADT/Twine.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstddef>

using namespace mlir::commsched;
using namespace mlir::commsched::cost;

std::vector<double> cost::isotonicRegression(llvm::ArrayRef<double> values) {
  struct Block {
    double mean;
    size_t size;
  };
  std::vector<Block> blocks;
  blocks.reserve(values.size());
  for (double value : values) {
    Block block{value, 1};
    while (!blocks.empty() && blocks.back().mean > block.mean) {
      const Block &previous = blocks.back();
      size_t size = previous.size + block.size;
      double weight = static_cast<double>(block.size) / size;
      block = {previous.mean + (block.mean - previous.mean) * weight, size};
      blocks.pop_back();
    }
    blocks.push_back(block);
  }
  std::vector<double> result;
  result.reserve(values.size());
  for (const Block &block : blocks)
    result.insert(result.end(), block.size, block.mean);
  return result;
}

//===----------------------------------------------------------------------===//
// MeasuredCurve
//===----------------------------------------------------------------------===//

MeasuredCurve::MeasuredCurve(llvm::ArrayRef<MeasuredRow> rows) {
  assert(!rows.empty() && "a curve has points");
  std::vector<double> logTimes;
  logTimes.reserve(rows.size());
  for (const MeasuredRow &row : rows)
    logTimes.push_back(std::log(static_cast<double>(row.timeNs)));
  std::vector<double> smooth = isotonicRegression(logTimes);
  points.reserve(rows.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    // An untouched point keeps its exact time.
    double time = smooth[i] == logTimes[i] ? static_cast<double>(rows[i].timeNs)
                                           : std::exp(smooth[i]);
    points.push_back({rows[i].bytes, time});
  }
}

bool MeasuredCurve::covers(int64_t bytes) const {
  return points.front().bytes <= bytes && bytes <= points.back().bytes;
}

double MeasuredCurve::interpolateNs(int64_t bytes) const {
  assert(covers(bytes) && "outside the curve");
  auto above = std::lower_bound(
      points.begin(), points.end(), bytes,
      [](const Point &point, int64_t value) { return point.bytes < value; });
  if (above->bytes == bytes)
    return above->timeNs;
  auto below = above - 1;
  double low = std::log(static_cast<double>(below->bytes));
  double high = std::log(static_cast<double>(above->bytes));
  double fraction = (std::log(static_cast<double>(bytes)) - low) / (high - low);
  double time =
      below->timeNs * std::pow(above->timeNs / below->timeNs, fraction);
  // Rounding must not step outside the two points.
  return std::clamp(time, below->timeNs, above->timeNs);
}

//===----------------------------------------------------------------------===//
// MeasuredTable
//===----------------------------------------------------------------------===//

static llvm::Error checkRow(const MeasuredRow &row, size_t index) {
  auto fail = [&](const llvm::Twine &what) {
    return llvm::createStringError("row " + llvm::Twine(index) + ": " + what);
  };
  if (row.ranks < 1)
    return fail("column 'ranks' must be at least 1, got " +
                llvm::Twine(row.ranks));
  if (row.nodes < 1)
    return fail("column 'nodes' must be at least 1, got " +
                llvm::Twine(row.nodes));
  if (row.nodes > row.ranks)
    return fail("column 'nodes' is " + llvm::Twine(row.nodes) +
                " but 'ranks' is only " + llvm::Twine(row.ranks));
  bool needsBytes = row.kind != CollectiveKind::Barrier;
  if (row.bytes < (needsBytes ? 1 : 0))
    return fail("column 'bytes' must be at least " +
                llvm::Twine(needsBytes ? 1 : 0) + " for " +
                stringifyCollectiveKind(row.kind) + ", got " +
                llvm::Twine(row.bytes));
  if (row.tensors < 1)
    return fail("column 'tensors' must be at least 1, got " +
                llvm::Twine(row.tensors));
  if (row.timeNs < 1)
    return fail("the time must be at least 1 ns, got " +
                llvm::Twine(row.timeNs) + " ns");
  return llvm::Error::success();
}

static auto curveKey(const MeasuredRow &row) {
  return std::make_tuple(row.implementation, row.kind, row.ranks, row.nodes);
}

llvm::Expected<MeasuredTable>
MeasuredTable::create(llvm::ArrayRef<MeasuredRow> rows) {
  MeasuredTable table;
  if (llvm::Error error = table.addRows(rows))
    return error;
  return table;
}

llvm::Error MeasuredTable::addRows(llvm::ArrayRef<MeasuredRow> measured) {
  for (size_t i = 0; i < measured.size(); ++i)
    if (llvm::Error error = checkRow(measured[i], i))
      return error;

  std::vector<size_t> order;
  for (size_t i = 0; i < measured.size(); ++i)
    if (measured[i].tensors == 1)
      order.push_back(i);
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return std::tuple_cat(curveKey(measured[a]),
                          std::tie(measured[a].bytes, a)) <
           std::tuple_cat(curveKey(measured[b]),
                          std::tie(measured[b].bytes, b));
  });

  rows.reserve(measured.size());
  size_t previous = 0;
  for (size_t index : order) {
    const MeasuredRow &row = measured[index];
    if (!rows.empty() && curveKey(rows.back()) == curveKey(row) &&
        rows.back().bytes == row.bytes) {
      if (rows.back().timeNs == row.timeNs)
        continue;
      return llvm::createStringError(
          "row " + llvm::Twine(index) + ": contradicts row " +
          llvm::Twine(previous) + ": " + stringifyCollectiveKind(row.kind) +
          " of " + llvm::Twine(row.bytes) + " bytes takes " +
          llvm::Twine(row.timeNs) + " ns here and " +
          llvm::Twine(rows.back().timeNs) + " ns there");
    }
    rows.push_back(row);
    previous = index;
  }

  for (size_t begin = 0; begin < rows.size();) {
    size_t end = begin + 1;
    while (end < rows.size() && curveKey(rows[begin]) == curveKey(rows[end]))
      ++end;
    curves.emplace(curveKey(rows[begin]),
                   MeasuredCurve(llvm::ArrayRef<MeasuredRow>(rows).slice(
                       begin, end - begin)));
    begin = end;
  }
  return addCoalesced(measured);
}

/// Takes over the rows of several tensors.
llvm::Error MeasuredTable::addCoalesced(llvm::ArrayRef<MeasuredRow> measured) {
  std::map<Key, std::vector<double>> further;
  for (size_t i = 0; i < measured.size(); ++i) {
    const MeasuredRow &row = measured[i];
    if (row.tensors == 1)
      continue;
    const MeasuredCurve *curve =
        findCurve(row.kind, row.ranks, row.nodes, row.implementation);
    if (!curve || !curve->covers(row.bytes))
      return llvm::createStringError(
          "row " + llvm::Twine(i) + ": is of " + llvm::Twine(row.tensors) +
          " tensors, but no rows of one tensor in the same group enclose its " +
          llvm::Twine(row.bytes) + " bytes");
    double beyond =
        static_cast<double>(row.timeNs) - curve->interpolateNs(row.bytes);
    further[curveKey(row)].push_back(std::max(beyond, 0.0) / (row.tensors - 1));
  }
  for (auto &[key, times] : further) {
    std::sort(times.begin(), times.end());
    furtherTensorNs[key] = times[(times.size() - 1) / 2];
  }
  return llvm::Error::success();
}

std::optional<double>
MeasuredTable::findFurtherTensorNs(CollectiveKind kind, int32_t ranks,
                                   int32_t nodes,
                                   llvm::StringRef implementation) const {
  auto it = furtherTensorNs.find({implementation.str(), kind, ranks, nodes});
  if (it == furtherTensorNs.end())
    return std::nullopt;
  return it->second;
}

const MeasuredCurve *
MeasuredTable::findCurve(CollectiveKind kind, int32_t ranks, int32_t nodes,
                         llvm::StringRef implementation) const {
  auto it = curves.find({implementation.str(), kind, ranks, nodes});
  return it == curves.end() ? nullptr : &it->second;
}

MeasuredTable::Neighbours
MeasuredTable::findNeighbours(const CollectiveQuery &query,
                              llvm::StringRef implementation) const {
  int32_t nodes = query.nodes();
  Neighbours result;
  for (const auto &[key, curve] : curves) {
    const auto &[name, kind, curveRanks, curveNodes] = key;
    if (name != implementation || kind != query.kind ||
        (curveNodes == 1) != (nodes == 1))
      continue;
    // The same ranks a node, as a product so that nothing is rounded.
    if (nodes > 1 &&
        int64_t(curveRanks) * nodes != int64_t(query.ranks) * curveNodes)
      continue;
    CollectiveQuery group = query;
    group.ranks = curveRanks;
    if (curveRanks < query.ranks && curveRanks > 1 &&
        (!result.lower || curveRanks > result.lowerGroup.ranks)) {
      result.lower = &curve;
      result.lowerGroup = group;
    }
    if (curveRanks > query.ranks &&
        (!result.upper || curveRanks < result.upperGroup.ranks)) {
      result.upper = &curve;
      result.upperGroup = group;
    }
  }
  if (!result.lower || !result.upper)
    return {};
  return result;
}

//===----------------------------------------------------------------------===//
// JSON
//===----------------------------------------------------------------------===//

namespace {

bool readKind(JsonFields &row, CollectiveKind &kind) {
  std::string text;
  if (!row.readString("collective", text))
    return false;
  std::optional<CollectiveKind> parsed = symbolizeCollectiveKind(text);
  kind = parsed.value_or(kind);
  return parsed || row.fail("unknown collective '" + text + "'");
}

bool readRow(JsonFields &columns, MeasuredRow &row) {
  return readKind(columns, row.kind) &&
         columns.readInteger("ranks", row.ranks) &&
         columns.readInteger("nodes", row.nodes) &&
         columns.readInteger("bytes", row.bytes) &&
         columns.readTime(row.timeNs) &&
         (!columns.has("tensors") ||
          columns.readInteger("tensors", row.tensors)) &&
         (!columns.has("implementation") ||
          columns.readString("implementation", row.implementation));
}

/// An optional string member of the table's object.
bool readText(JsonFields &members, llvm::StringRef key, std::string &result) {
  const llvm::json::Value *value = members.get(key);
  std::optional<llvm::StringRef> text =
      value ? value->getAsString() : llvm::StringRef();
  result = text.value_or("").str();
  return text || members.fail("'" + key + "' must be a string");
}

/// The optional member `target`: the fields that were measured.
bool readFields(JsonFields &members,
                std::vector<std::pair<std::string, double>> &fields) {
  const llvm::json::Value *value = members.get("target");
  if (!value)
    return true;
  const llvm::json::Object *target = value->getAsObject();
  if (!target)
    return members.fail("'target' must be an object");
  Target checked;
  // In the order of the target's fields: that of the object is not fixed.
  for (const TargetField &field : targetFields())
    if (const llvm::json::Value *entry = target->get(field.key)) {
      std::optional<double> number = entry->getAsNumber();
      if (!number)
        return members.fail("target field '" + field.key +
                            "' must be a number");
      if (llvm::Error error = checked.setField(field.key, *number))
        return members.fail(llvm::toString(std::move(error)));
      fields.emplace_back(field.key, *number);
    }
  for (const auto &entry : *target)
    if (!checked.getField(entry.first))
      return members.fail("unknown target field '" +
                          llvm::StringRef(entry.first) + "'");
  return true;
}

/// The optional member `slack_percent`.
bool readSlack(JsonFields &members, std::optional<int32_t> &slackPercent) {
  const llvm::json::Value *value = members.get("slack_percent");
  if (!value)
    return true;
  std::optional<int64_t> percent = value->getAsInteger();
  if (!percent || *percent < 0 || *percent > MeasuredTable::mostSlackPercent)
    return members.fail("'slack_percent' must be an integer from 0 to " +
                        llvm::Twine(MeasuredTable::mostSlackPercent));
  slackPercent = static_cast<int32_t>(*percent);
  return true;
}

} // namespace

/// The members of the table's object beside its rows.
llvm::Error MeasuredTable::readMembers(const llvm::json::Object &object) {
  JsonFields members(object, "cost table");
  if (!readText(members, "name", name) || !readText(members, "file", path) ||
      !readText(members, "source", source) ||
      !readText(members, "device", device) || !readFields(members, fields))
    return members.takeError();
  if (const llvm::json::Value *value = members.get("implementations")) {
    llvm::Expected<Implementations> parsed = Implementations::parse(*value);
    if (!parsed)
      return llvm::createStringError("cost table: " +
                                     llvm::toString(parsed.takeError()));
    implementations = std::move(*parsed);
  }
  if (const llvm::json::Value *value = members.get("products")) {
    llvm::Expected<MeasuredProducts> parsed = MeasuredProducts::parse(*value);
    if (!parsed)
      return parsed.takeError();
    products = std::move(*parsed);
  }
  if (!readSlack(members, slackPercent))
    return members.takeError();
  if (const llvm::json::Value *value = members.get("operations")) {
    llvm::Expected<MeasuredOperations> parsed =
        MeasuredOperations::parse(*value);
    if (!parsed)
      return parsed.takeError();
    operations = std::make_shared<const MeasuredOperations>(std::move(*parsed));
  }
  return llvm::Error::success();
}

void MeasuredTable::applyTo(Target &target) const {
  for (const auto &[key, value] : fields)
    // They were checked when they were read.
    llvm::cantFail(target.setField(key, value));
  target.implementations.add(implementations);
}

static llvm::Expected<llvm::json::Value> parseTable(llvm::StringRef json) {
  llvm::Expected<llvm::json::Value> value = parseJson(json);
  if (!value)
    return llvm::createStringError("cost table is not JSON: " +
                                   llvm::toString(value.takeError()));
  return value;
}

llvm::Expected<MeasuredTable> MeasuredTable::parse(llvm::StringRef json) {
  llvm::Expected<llvm::json::Value> value = parseTable(json);
  if (!value)
    return value.takeError();
  return fromJson(*value);
}

llvm::Expected<MeasuredTable>
MeasuredTable::fromJson(const llvm::json::Value &value) {
  MeasuredTable table;
  const llvm::json::Array *list = value.getAsArray();
  if (const llvm::json::Object *object = value.getAsObject()) {
    if (llvm::Error error = table.readMembers(*object))
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
  if (llvm::Error error = readRows(*list, "row", [&](JsonFields &columns) {
        return readRow(columns, rows.emplace_back());
      }))
    return error;
  if (llvm::Error error = table.addRows(rows))
    return error;
  return table;
}

llvm::Expected<llvm::json::Value> MeasuredTable::read(llvm::StringRef path) {
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/true);
  if (!buffer)
    return llvm::createStringError("cannot read cost table '" + path +
                                   "': " + buffer.getError().message());
  auto fail = [&](llvm::Error error) {
    return llvm::createStringError(path + ": " +
                                   llvm::toString(std::move(error)));
  };
  llvm::Expected<llvm::json::Value> value = parseTable((*buffer)->getBuffer());
  if (!value)
    return fail(value.takeError());
  if (llvm::json::Array *rows = value->getAsArray())
    value = llvm::json::Object{{"rows", std::move(*rows)}};
  llvm::Expected<MeasuredTable> table = fromJson(*value);
  if (!table)
    return fail(table.takeError());
  if (llvm::json::Object *object = value->getAsObject())
    (*object)["file"] = path;
  return value;
}

llvm::Expected<MeasuredTable> MeasuredTable::load(llvm::StringRef path) {
  llvm::Expected<llvm::json::Value> value = read(path);
  if (!value)
    return value.takeError();
  return fromJson(*value);
}
