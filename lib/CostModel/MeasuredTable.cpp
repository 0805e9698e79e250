//===- MeasuredTable.cpp - measured times of collectives --------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/CostModel/MeasuredTable.h"

#include "CommSched/CostModel/IsotonicRegression.h"

#include "llvm/ADT/Twine.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numeric>

namespace mlir::commsched::cost {

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
  if (row.timeNs < 1)
    return fail("the time must be at least 1 ns, got " +
                llvm::Twine(row.timeNs) + " ns");
  return llvm::Error::success();
}

static auto curveKey(const MeasuredRow &row) {
  return std::make_tuple(row.kind, row.ranks, row.nodes);
}

llvm::Expected<MeasuredTable>
MeasuredTable::create(std::vector<MeasuredRow> rows) {
  for (size_t i = 0; i < rows.size(); ++i)
    if (llvm::Error error = checkRow(rows[i], i))
      return error;

  std::vector<size_t> order(rows.size());
  std::iota(order.begin(), order.end(), size_t(0));
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return std::tuple_cat(curveKey(rows[a]), std::tie(rows[a].bytes, a)) <
           std::tuple_cat(curveKey(rows[b]), std::tie(rows[b].bytes, b));
  });

  MeasuredTable table;
  table.rows.reserve(rows.size());
  size_t previous = 0;
  for (size_t index : order) {
    const MeasuredRow &row = rows[index];
    if (!table.rows.empty() && curveKey(table.rows.back()) == curveKey(row) &&
        table.rows.back().bytes == row.bytes) {
      if (table.rows.back().timeNs == row.timeNs)
        continue;
      return llvm::createStringError(
          "row " + llvm::Twine(index) + ": contradicts row " +
          llvm::Twine(previous) + ": " + stringifyCollectiveKind(row.kind) +
          " of " + llvm::Twine(row.bytes) + " bytes takes " +
          llvm::Twine(row.timeNs) + " ns here and " +
          llvm::Twine(table.rows.back().timeNs) + " ns there");
    }
    table.rows.push_back(row);
    previous = index;
  }

  for (size_t begin = 0; begin < table.rows.size();) {
    size_t end = begin + 1;
    while (end < table.rows.size() &&
           curveKey(table.rows[begin]) == curveKey(table.rows[end]))
      ++end;
    table.curves.emplace(
        curveKey(table.rows[begin]),
        MeasuredCurve(
            llvm::ArrayRef<MeasuredRow>(table.rows).slice(begin, end - begin)));
    begin = end;
  }
  return table;
}

const MeasuredCurve *MeasuredTable::findCurve(CollectiveKind kind,
                                              int32_t ranks,
                                              int32_t nodes) const {
  auto it = curves.find({kind, ranks, nodes});
  return it == curves.end() ? nullptr : &it->second;
}

MeasuredTable::Neighbours
MeasuredTable::findNeighbours(const CollectiveQuery &query) const {
  int32_t nodes = query.nodes();
  Neighbours result;
  for (const auto &[key, curve] : curves) {
    auto [kind, curveRanks, curveNodes] = key;
    if (kind != query.kind || (curveNodes == 1) != (nodes == 1))
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

} // namespace mlir::commsched::cost
