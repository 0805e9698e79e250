//===- MeasuredTableTest.cpp - Tests of measured tables -------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/CostModel/MeasuredTable.h"
#include "CommSched/CostModel/CollectiveCost.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include "gtest/gtest.h"

using namespace mlir::commsched;
using namespace mlir::commsched::cost;

namespace {

/// The error of parsing `json`; empty if it parses.
std::string errorOf(llvm::StringRef json) {
  llvm::Expected<MeasuredTable> table = MeasuredTable::parse(json);
  if (table)
    return "";
  return llvm::toString(table.takeError());
}

/// A list of one good row and `row`.
std::string errorOfRow(const std::string &row) {
  return errorOf("[{\"collective\": \"all_gather\", \"ranks\": 8, \"nodes\": "
                 "1, \"bytes\": 64, \"time_ns\": 5}, " +
                 row + "]");
}

MeasuredTable parsed(llvm::StringRef json) {
  return llvm::cantFail(MeasuredTable::parse(json));
}

TEST(MeasuredTable, ReadsObjectAndList) {
  MeasuredTable table = parsed(R"({
    "name": "n", "source": "s", "device": "d",
    "rows": [{"collective": "all_reduce", "ranks": 8, "nodes": 1,
              "bytes": 65536, "time_ns": 39700},
             {"collective": "all_reduce", "ranks": 8, "nodes": 1,
              "bytes": 1024, "time_us": 12.5}]})");
  EXPECT_EQ(table.getName(), "n");
  EXPECT_EQ(table.getSource(), "s");
  EXPECT_EQ(table.getDevice(), "d");
  ASSERT_EQ(table.getRows().size(), 2u);
  EXPECT_EQ(table.getRows()[0].bytes, 1024);
  EXPECT_EQ(table.getRows()[0].timeNs, 12500);
  EXPECT_EQ(table.getRows()[1].timeNs, 39700);

  MeasuredTable list = parsed(R"([{"collective": "send", "ranks": 2,
      "nodes": 1, "bytes": 8, "time": 7}])");
  EXPECT_EQ(list.getName(), "");
  EXPECT_EQ(list.getRows()[0].timeNs, 7);
  EXPECT_TRUE(list.findCurve(CollectiveKind::Send, 2, 1));
  EXPECT_FALSE(list.findCurve(CollectiveKind::Send, 2, 2));
  EXPECT_TRUE(parsed("[]").getRows().empty());
}

TEST(MeasuredTable, IgnoresFurtherColumnsAndLists) {
  MeasuredTable table = parsed(R"({
    "rows": [{"collective": "broadcast", "ranks": 4, "nodes": 1, "bytes": 64,
              "time_ns": 5, "type": "bf16", "back_to_back_median_ns": 3}],
    "other_rows": [{"collective": "broadcast", "ranks": 4, "nodes": 1,
                    "bytes": 64, "time_ns": 9}]})");
  ASSERT_EQ(table.getRows().size(), 1u);
  EXPECT_EQ(table.getRows()[0].timeNs, 5);
}

TEST(MeasuredTable, RowsOfSeveralTensors) {
  std::string one = R"([{"collective": "all_gather", "ranks": 2, "nodes": 1,
       "bytes": 100, "time_ns": 1000},
      {"collective": "all_gather", "ranks": 2, "nodes": 1,
       "bytes": 400, "time_ns": 2000})";
  auto several = [&](int bytes, int tensors, int timeNs) {
    return R"(, {"collective": "all_gather", "ranks": 2, "nodes": 1,
       "bytes": )" +
           std::to_string(bytes) + ", \"tensors\": " + std::to_string(tensors) +
           ", \"time_ns\": " + std::to_string(timeNs) + "}";
  };
  auto find = [](const MeasuredTable &table) {
    return table.findFurtherTensorNs(CollectiveKind::AllGather, 2, 1);
  };
  EXPECT_EQ(find(parsed(one + "]")), std::nullopt);
  MeasuredTable table = parsed(one + several(400, 5, 2800) + "]");
  EXPECT_EQ(find(table), 200);
  EXPECT_EQ(table.getRows().size(), 2u);
  // The lower median, and never less than one tensor takes.
  EXPECT_EQ(find(parsed(one + several(400, 5, 2800) + several(100, 2, 1100) +
                        several(400, 3, 2000) + several(100, 3, 1800) + "]")),
            100);
  EXPECT_EQ(find(parsed(one + several(400, 5, 1) + "]")), 0);
  // What it adds does not depend on the bytes, and other groups have none.
  CollectiveCost cost(*getTargetPreset("h100"), std::move(table));
  for (int64_t bytes : {100, 200, 4000}) {
    auto timeOf = [&](int32_t tensors) {
      return cost.timeNs({CollectiveKind::AllGather, bytes, 2, 2, tensors});
    };
    EXPECT_EQ(timeOf(4) - timeOf(1), 600);
  }

  EXPECT_EQ(errorOf(one + several(500, 5, 2800) + "]"),
            "row 2: is of 5 tensors, but no rows of one tensor in the same "
            "group enclose its 500 bytes");
  EXPECT_EQ(errorOf(one + several(400, 0, 2800) + "]"),
            "row 2: column 'tensors' must be at least 1, got 0");
}

TEST(MeasuredTable, ReplacesMeasuredFieldsOfTheTarget) {
  Target target = *getTargetPreset("h100");
  double launchUs = target.collectiveLaunchUs;
  MeasuredTable table =
      parsed(R"({"target": {"memory_gb_s": 12.5, "nvlink": 0}, "rows": []})");
  table.applyTo(target);
  EXPECT_EQ(target.memoryGBs, 12.5);
  EXPECT_EQ(target.nvlink, 0);
  EXPECT_EQ(target.collectiveLaunchUs, launchUs);

  EXPECT_EQ(errorOf(R"({"target": 3, "rows": []})"),
            "cost table: 'target' must be an object");
  EXPECT_EQ(errorOf(R"({"target": {"memory": 3}, "rows": []})"),
            "cost table: unknown target field 'memory'");
  EXPECT_EQ(errorOf(R"({"target": {"memory_gb_s": "3"}, "rows": []})"),
            "cost table: target field 'memory_gb_s' must be a number");
  EXPECT_EQ(errorOf(R"({"target": {"memory_gb_s": -3}, "rows": []})")
                .find("cost table: target field 'memory_gb_s' must be between"),
            0u);
}

TEST(MeasuredTable, RejectsWhatIsNoTable) {
  std::string message = errorOf("{\"rows\": [}");
  EXPECT_NE(message.find("cost table is not JSON: ["), std::string::npos)
      << message;
  EXPECT_NE(errorOf("").find("is not JSON"), std::string::npos);
  EXPECT_EQ(errorOf("3"), "cost table must be an object with a list 'rows', "
                          "or a list of rows");
  EXPECT_EQ(errorOf("{\"row\": []}"), "cost table has no list 'rows'");
  EXPECT_EQ(errorOf("{\"rows\": {}}"), "cost table has no list 'rows'");
  EXPECT_EQ(errorOf("{\"name\": 3, \"rows\": []}"),
            "cost table: 'name' must be a string");
}

TEST(MeasuredTable, RejectsBadColumns) {
  EXPECT_EQ(errorOfRow("7"), "row 1: must be an object");
  EXPECT_EQ(errorOfRow(R"({"ranks": 8, "nodes": 1, "bytes": 1, "time_ns": 1})"),
            "row 1: column 'collective' is missing");
  EXPECT_EQ(errorOfRow(R"({"collective": 1, "ranks": 8})"),
            "row 1: column 'collective' must be a string");
  EXPECT_EQ(errorOfRow(R"({"collective": "allreduce"})"),
            "row 1: unknown collective 'allreduce'");
  EXPECT_EQ(errorOfRow(R"({"collective": "send", "nodes": 1, "bytes": 1,
                           "time_ns": 1})"),
            "row 1: column 'ranks' is missing");
  EXPECT_EQ(errorOfRow(R"({"collective": "send", "ranks": 2, "bytes": 1,
                           "time_ns": 1})"),
            "row 1: column 'nodes' is missing");
  EXPECT_EQ(errorOfRow(R"({"collective": "send", "ranks": 2, "nodes": 1,
                           "time_ns": 1})"),
            "row 1: column 'bytes' is missing");
  EXPECT_EQ(errorOfRow(R"({"collective": "send", "ranks": 2, "nodes": 1,
                           "bytes": 1})"),
            "row 1: column 'time_ns' is missing");
  EXPECT_EQ(errorOfRow(R"({"collective": "send", "ranks": 2, "nodes": 1,
                           "bytes": "1 KiB", "time_ns": 1})"),
            "row 1: column 'bytes' must be an integer");
  EXPECT_EQ(errorOfRow(R"({"collective": "send", "ranks": 2.5, "nodes": 1,
                           "bytes": 1, "time_ns": 1})"),
            "row 1: column 'ranks' must be an integer");
  EXPECT_EQ(errorOfRow(R"({"collective": "send", "ranks": 2, "nodes": 1,
                           "bytes": 1, "time_ns": "fast"})"),
            "row 1: column 'time_ns' must be a number");
  EXPECT_EQ(errorOfRow(R"({"collective": "send", "ranks": 2, "nodes": 1,
                           "bytes": 1, "time_ns": 1, "time_us": 2})"),
            "row 1: has both 'time_ns' and 'time_us'");
}

TEST(MeasuredTable, RejectsValuesOutOfRange) {
  auto row = [](int64_t ranks, int64_t nodes, int64_t bytes,
                const std::string &time) {
    return "{\"collective\": \"send\", \"ranks\": " + std::to_string(ranks) +
           ", \"nodes\": " + std::to_string(nodes) +
           ", \"bytes\": " + std::to_string(bytes) + ", \"time_ns\": " + time +
           "}";
  };
  EXPECT_EQ(errorOfRow(row(2, 1, 8, "1")), "");
  EXPECT_EQ(errorOfRow(row(2, 1, -8, "1")),
            "row 1: column 'bytes' must not be negative, got -8");
  EXPECT_EQ(errorOfRow(row(2, 1, 0, "1")),
            "row 1: column 'bytes' must be at least 1 for send, got 0");
  EXPECT_EQ(errorOfRow(row(2, 1, 8, "-1")),
            "row 1: column 'time_ns' must not be negative");
  EXPECT_EQ(errorOfRow(row(2, 1, 8, "0")),
            "row 1: the time must be at least 1 ns, got 0 ns");
  EXPECT_EQ(errorOfRow(row(2, 1, 8, "1e300")),
            "row 1: column 'time_ns' is too large");
  EXPECT_EQ(errorOfRow(row(0, 1, 8, "1")),
            "row 1: column 'ranks' must be at least 1, got 0");
  EXPECT_EQ(errorOfRow(row(2, 0, 8, "1")),
            "row 1: column 'nodes' must be at least 1, got 0");
  EXPECT_EQ(errorOfRow(row(2, 3, 8, "1")),
            "row 1: column 'nodes' is 3 but 'ranks' is only 2");
  EXPECT_EQ(errorOfRow(row(int64_t(1) << 40, 1, 8, "1")),
            "row 1: column 'ranks' is too large: 1099511627776");
}

TEST(MeasuredTable, RejectsContradictions) {
  const char *same = R"({"collective": "all_gather", "ranks": 8, "nodes": 1,
                         "bytes": 64, "time_ns": 5})";
  const char *other = R"({"collective": "all_gather", "ranks": 8, "nodes": 1,
                          "bytes": 64, "time_ns": 6})";
  EXPECT_EQ(errorOfRow(same), "");
  EXPECT_EQ(errorOfRow(other),
            "row 1: contradicts row 0: all_gather of 64 bytes takes 6 ns here "
            "and 5 ns there");
}

TEST(MeasuredTable, LoadNamesTheFile) {
  llvm::Expected<MeasuredTable> missing =
      MeasuredTable::load("/nonexistent/table.json");
  ASSERT_FALSE(bool(missing));
  EXPECT_NE(llvm::toString(missing.takeError())
                .find("cannot read cost table '/nonexistent/table.json'"),
            std::string::npos);
}

TEST(MeasuredTable, EveryTableOfTheRepositoryLoads) {
  std::error_code error;
  int count = 0;
  for (llvm::sys::fs::directory_iterator it(COMMSCHED_COST_TABLES, error), end;
       it != end && !error; it.increment(error)) {
    if (llvm::sys::path::extension(it->path()) != ".json")
      continue;
    llvm::Expected<MeasuredTable> table = MeasuredTable::load(it->path());
    ASSERT_TRUE(bool(table)) << llvm::toString(table.takeError());
    EXPECT_FALSE(table->getSource().empty()) << it->path();
    EXPECT_FALSE(table->getRows().empty()) << it->path();
    ++count;
  }
  EXPECT_FALSE(error) << error.message();
  EXPECT_EQ(count, 8);
}

MeasuredCurve makeCurve(std::initializer_list<std::pair<int64_t, int64_t>> p) {
  std::vector<MeasuredRow> rows;
  for (auto [bytes, time] : p)
    rows.push_back({CollectiveKind::AllReduce, 8, 1, bytes, time});
  return MeasuredCurve(rows);
}

TEST(MeasuredCurve, InterpolatesOnLogarithmicAxes) {
  MeasuredCurve curve = makeCurve({{1000, 10}, {100000, 1000}});
  EXPECT_EQ(curve.interpolateNs(1000), 10);
  EXPECT_EQ(curve.interpolateNs(100000), 1000);
  // Halfway between 1e3 and 1e5 is 1e4; halfway between 10 and 1000 is 100.
  EXPECT_NEAR(curve.interpolateNs(10000), 100, 1e-9);
  EXPECT_TRUE(curve.covers(1000));
  EXPECT_FALSE(curve.covers(999));
  EXPECT_FALSE(curve.covers(100001));
}

TEST(MeasuredCurve, SmoothsDipsInLogTime) {
  // 400 before 100 becomes their geometric mean twice.
  MeasuredCurve curve = makeCurve({{1, 50}, {2, 400}, {4, 100}, {8, 900}});
  EXPECT_EQ(curve.interpolateNs(1), 50);
  EXPECT_NEAR(curve.interpolateNs(2), 200, 1e-9);
  EXPECT_NEAR(curve.interpolateNs(3), 200, 1e-9);
  EXPECT_NEAR(curve.interpolateNs(4), 200, 1e-9);
  EXPECT_EQ(curve.interpolateNs(8), 900);
}

} // namespace
