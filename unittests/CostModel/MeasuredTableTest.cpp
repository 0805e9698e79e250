//===- MeasuredTableTest.cpp - Tests of measured tables -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/CostModel/MeasuredTable.h"
#include "CommSched/CostModel/CollectiveCost.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "gtest/gtest.h"

#include <algorithm>
#include <limits>
#include <random>

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

/// A text of JSON with ' for ", and its error, if there is one.
using ErrorCase = std::pair<llvm::StringRef, llvm::StringRef>;

/// Each text stands for % in `around`, and each error behind `place`.
void expectErrors(llvm::StringRef around, const std::string &place,
                  llvm::ArrayRef<ErrorCase> cases) {
  for (auto [text, error] : cases) {
    llvm::SmallVector<llvm::StringRef> parts;
    around.split(parts, '%');
    std::string json = llvm::join(parts, text);
    std::replace(json.begin(), json.end(), '\'', '"');
    EXPECT_EQ(errorOf(json), place + error.str()) << json;
  }
}

/// A row, or the columns of a send, behind a row that is right.
constexpr llvm::StringLiteral secondRow =
    "[{'collective': 'all_gather', 'ranks': 8, 'nodes': 1, 'bytes': 64, "
    "'time_ns': 5}, %]";
constexpr llvm::StringLiteral secondSend =
    "[{'collective': 'all_gather', 'ranks': 8, 'nodes': 1, 'bytes': 64, "
    "'time_ns': 5}, {'collective': 'send', %}]";

TEST(MeasuredTable, RejectsWhatIsNoTable) {
  for (const char *text : {"{\"rows\": [}", ""})
    EXPECT_EQ(errorOf(text).rfind("cost table is not JSON: [", 0), 0u);
  expectErrors("%", "cost table",
               {{"3", " must be an object with a list 'rows', or a list of "
                      "rows"},
                {"{'row': []}", " has no list 'rows'"},
                {"{'rows': {}}", " has no list 'rows'"},
                {"{'name': 3, 'rows': []}", ": 'name' must be a string"}});
}

TEST(MeasuredTable, RejectsBadColumns) {
  expectErrors(
      secondRow, "row 1: ",
      {{"7", "must be an object"},
       {"{'ranks': 8, 'nodes': 1, 'bytes': 1, 'time_ns': 1}",
        "column 'collective' is missing"},
       {"{'collective': 1, 'ranks': 8}",
        "column 'collective' must be a string"},
       {"{'collective': 'allreduce'}", "unknown collective 'allreduce'"}});
  expectErrors(
      secondSend, "row 1: ",
      {{"'nodes': 1, 'bytes': 1, 'time_ns': 1", "column 'ranks' is missing"},
       {"'ranks': 2, 'bytes': 1, 'time_ns': 1", "column 'nodes' is missing"},
       {"'ranks': 2, 'nodes': 1, 'time_ns': 1", "column 'bytes' is missing"},
       {"'ranks': 2, 'nodes': 1, 'bytes': 1", "column 'time_ns' is missing"},
       {"'ranks': 2, 'nodes': 1, 'bytes': '1 KiB', 'time_ns': 1",
        "column 'bytes' must be an integer"},
       {"'ranks': 2.5, 'nodes': 1, 'bytes': 1, 'time_ns': 1",
        "column 'ranks' must be an integer"},
       {"'ranks': 2, 'nodes': 1, 'bytes': 1, 'time_ns': 'fast'",
        "column 'time_ns' must be a number"},
       {"'ranks': 2, 'nodes': 1, 'bytes': 1, 'time_ns': 1, 'time_us': 2",
        "has both 'time_ns' and 'time_us'"}});
}

TEST(MeasuredTable, RejectsValuesOutOfRange) {
  expectErrors(secondSend, "row 1: ",
               {{"'ranks': 2, 'nodes': 1, 'bytes': -8, 'time_ns': 1",
                 "column 'bytes' must not be negative, got -8"},
                {"'ranks': 2, 'nodes': 1, 'bytes': 0, 'time_ns': 1",
                 "column 'bytes' must be at least 1 for send, got 0"},
                {"'ranks': 2, 'nodes': 1, 'bytes': 8, 'time_ns': -1",
                 "column 'time_ns' must not be negative"},
                {"'ranks': 2, 'nodes': 1, 'bytes': 8, 'time_ns': 0",
                 "the time must be at least 1 ns, got 0 ns"},
                {"'ranks': 2, 'nodes': 1, 'bytes': 8, 'time_ns': 1e300",
                 "column 'time_ns' is too large"},
                {"'ranks': 0, 'nodes': 1, 'bytes': 8, 'time_ns': 1",
                 "column 'ranks' must be at least 1, got 0"},
                {"'ranks': 2, 'nodes': 0, 'bytes': 8, 'time_ns': 1",
                 "column 'nodes' must be at least 1, got 0"},
                {"'ranks': 2, 'nodes': 3, 'bytes': 8, 'time_ns': 1",
                 "column 'nodes' is 3 but 'ranks' is only 2"},
                {"'ranks': 1099511627776, 'nodes': 1, 'bytes': 8, 'time_ns': 1",
                 "column 'ranks' is too large: 1099511627776"}});
}

TEST(MeasuredTable, RejectsContradictions) {
  const std::string row = "{'collective': 'all_gather', 'ranks': 8, "
                          "'nodes': 1, 'bytes': 64, 'time_ns': ";
  std::string same = row + "5}", other = row + "6}";
  expectErrors(secondRow, "", {{same, ""}});
  expectErrors(secondRow, "row 1: contradicts row 0: ",
               {{other, "all_gather of 64 bytes takes 6 ns here and 5 ns "
                        "there"}});
}

TEST(MeasuredOperations, NamesWhatIsWrong) {
  expectErrors(
      "{'rows': [], 'operations': [{'operator': 'mm', 'name': 'a', 'time_ns': "
      "500}, %]}",
      "operation 1: ",
      {{"7", "must be an object"},
       {"{'name': 'b', 'time_ns': 1}", "column 'operator' is missing"},
       {"{'operator': 'mm', 'time_ns': 1}",
        "must have either the column 'name' or the column 'types'"},
       {"{'operator': 'mm', 'types': 't', 'function': 'f', 'time_ns': 1}",
        "has the column 'function', but no 'name'"},
       {"{'operator': 'mm', 'name': '', 'time_ns': 1}",
        "column 'name' must not be empty"},
       {"{'operator': 'mm', 'name': 'b'}", "column 'time_ns' is missing"},
       {"{'operator': 'mm', 'name': 'a', 'time_ns': 501}",
        "contradicts an earlier operation: 'mm' with the name 'a' takes 501 ns "
        "here and 500 ns there"}});
  // The same twice is no contradiction.
  expectErrors("{'rows': [], 'operations': [%, %]}", "",
               {{"{'operator': 'mm', 'name': 'a', 'time_ns': 500}", ""}});
}

TEST(MeasuredProducts, NamesWhatIsWrong) {
  expectErrors("{'rows': [], 'products': %}", "",
               {{"3", "cost table: 'products' must be a list"}});
  expectErrors(
      "{'rows': [], 'products': [{'m': 64, 'n': 8, 'k': 16, 'type': 'bf16', "
      "'time_ns': 500}, %]}",
      "product 1: ",
      {{"3", "must be an object"},
       {"{'n': 8, 'k': 16, 'type': 'bf16', 'time_ns': 5}",
        "column 'm' is missing"},
       {"{'m': 1, 'n': 0, 'k': 16, 'type': 'bf16', 'time_ns': 5}",
        "column 'n' must be at least 1, got 0"},
       {"{'m': 1, 'n': 1, 'k': 'a', 'type': 'bf16', 'time_ns': 5}",
        "column 'k' must be an integer"},
       {"{'m': 1, 'n': 1, 'k': 1, 'type': 'f7', 'time_ns': 5}",
        "unknown type 'f7'; there are f64, f32, f16, bf16, f8, i8"},
       {"{'m': 1, 'n': 1, 'k': 1, 'type': 'f8', 'time_ns': 0}",
        "the time must be at least 1 ns, got 0 ns"},
       {"{'m': 64, 'n': 8, 'k': 16, 'type': 'bf16', 'time_ns': 501}",
        "contradicts an earlier product: bf16 of m 64, n 8, k 16, batch 1 "
        "takes "
        "501 ns here and 500 ns there"}});
  expectErrors(
      "{'rows': [], 'products': [%, %]}", "",
      {{"{'m': 64, 'n': 8, 'k': 16, 'type': 'bf16', 'time_ns': 500}", ""}});
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
  EXPECT_EQ(count, 10);
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

TEST(MeasuredTable, OperationsAndProductsAreOptional) {
  MeasuredTable table = parsed(R"({"rows": [], "slack_percent": 12})");
  EXPECT_EQ(table.getOperations(), nullptr);
  EXPECT_EQ(table.getSlackPercent(), 12);
  EXPECT_TRUE(table.getProducts().empty());
}

TEST(MeasuredOperations, FindsNamesAndTypes) {
  MeasuredTable table = parsed(R"json({"rows": [], "operations": [
    {"operator": "mm", "name": "a", "time_ns": 500},
    {"operator": "mm", "name": "a", "function": "f", "time_us": 2},
    {"operator": "mm", "types": "() -> ()", "time_ns": 0, "count": 3}]})json");
  const MeasuredOperations &operations = *table.getOperations();
  EXPECT_EQ(operations.findByName("f", "a", "mm")->at("nccl"), 2000);
  EXPECT_EQ(operations.findByName("", "a", "mm")->at("nccl"), 500);
  EXPECT_FALSE(operations.findByName("f", "a", "add"));
  EXPECT_FALSE(operations.findByName("f", "b", "mm"));
  EXPECT_EQ(operations.findByTypes("mm", "() -> ()")->at("nccl"), 0);
  EXPECT_FALSE(operations.findByTypes("add", "() -> ()"));
}

TEST(MeasuredProducts, FindsExactAndInterpolatedProducts) {
  MeasuredTable table = parsed(R"({"rows": [], "products": [
    {"m": 1024, "n": 8, "k": 16, "batch": 1, "type": "bf16", "time_us": 4},
    {"m": 512, "n": 8, "k": 16, "type": "bf16", "time_ns": 3000},
    {"m": 512, "n": 8, "k": 16, "batch": 3, "type": "f32", "time": 9000}]})");
  const MeasuredProducts &products = table.getProducts();
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
  MeasuredTable table = parsed(R"({"rows": [], "products": [
    {"m": 1024, "n": 8, "k": 16, "type": "bf16", "time_ns": 4000},
    {"m": 512, "n": 8, "k": 16, "type": "bf16", "time_ns": 1000},
    {"m": 512, "n": 8, "k": 16, "batch": 3, "type": "bf16", "time_ns": 9000},
    {"m": 512, "n": 8, "k": 16, "type": "f32", "time_ns": 100}]})");
  const MeasuredProducts &products = table.getProducts();
  double least = *products.getLeastNsPerMultiplication(ElementKind::BF16);
  EXPECT_DOUBLE_EQ(least, 1000.0 / (512 * 8 * 16));
  for (int64_t m = 512; m <= 1024; m += 8)
    EXPECT_GE(
        static_cast<double>(*products.findNs({m, 8, 16, 1}, ElementKind::BF16)),
        least * static_cast<double>(m * 8 * 16) * (1 - 1e-12));
  EXPECT_FALSE(products.getLeastNsPerMultiplication(ElementKind::F16));
}

/// The minimax formula: at i, the largest over j <= i of the smallest over
/// k >= i of the mean of j..k.
std::vector<double> minimaxReference(const std::vector<double> &values) {
  std::vector<double> result(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    double outer = -std::numeric_limits<double>::infinity();
    for (size_t j = 0; j <= i; ++j) {
      double inner = std::numeric_limits<double>::infinity();
      double sum = 0;
      for (size_t k = j; k < values.size(); ++k) {
        sum += values[k];
        if (k >= i)
          inner = std::min(inner, sum / (k - j + 1));
      }
      outer = std::max(outer, inner);
    }
    result[i] = outer;
  }
  return result;
}

TEST(IsotonicRegression, AgreesWithMinimaxOnRandomRows) {
  std::mt19937 random(7);
  std::uniform_int_distribution<int> length(0, 40);
  std::uniform_int_distribution<int> value(0, 12);
  for (int round = 0; round < 300; ++round) {
    std::vector<double> values(length(random));
    for (double &v : values)
      v = value(random);
    std::vector<double> smooth = isotonicRegression(values);
    std::vector<double> reference = minimaxReference(values);
    ASSERT_EQ(smooth.size(), reference.size());
    for (size_t i = 0; i < smooth.size(); ++i)
      ASSERT_NEAR(smooth[i], reference[i], 1e-9) << "round " << round;
    ASSERT_TRUE(std::is_sorted(smooth.begin(), smooth.end()));
  }
}

} // namespace
