//===- ImplementationsTest.cpp - Tests of implementations -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/CostModel/CollectiveCost.h"

#include "gtest/gtest.h"

using namespace mlir::commsched;
using namespace mlir::commsched::cost;

namespace {

Implementations parseText(llvm::StringRef json) {
  return llvm::cantFail(
      Implementations::parse(llvm::cantFail(llvm::json::parse(json))));
}

std::string getParseError(llvm::StringRef json) {
  llvm::Expected<Implementations> parsed =
      Implementations::parse(llvm::cantFail(llvm::json::parse(json)));
  return parsed ? "" : llvm::toString(parsed.takeError());
}

constexpr llvm::StringLiteral machine = R"({
  "nccl": {"tax": 0.19},
  "nccl-4": {"method": "nccl", "channels": 4, "tax": 0.06},
  "copy-engine": {"latency_us": 20, "bandwidth_gb_s": 300,
                  "collectives": ["all_gather"], "min_bytes": 65536},
  "symmetric": {"tax": 0.1, "stream": "nccl"}})";

Target withMachine() {
  Target target = *getTargetPreset("h100");
  target.implementations = parseText(machine);
  return target;
}

TEST(Implementations, DefaultIsNcclWithoutTax) {
  Implementations none;
  EXPECT_FALSE(none.isListed());
  ASSERT_EQ(none.get().size(), 1u);
  EXPECT_EQ(none.get(0).name, "nccl");
  EXPECT_EQ(none.get(0).tax, 0);
  EXPECT_EQ(none.find("copy-engine"), std::nullopt);
}

TEST(Implementations, ReadsFieldsAndDefaults) {
  Implementations list = parseText(machine);
  EXPECT_TRUE(list.isListed());
  EXPECT_EQ(list.listNames(), "nccl, copy-engine, nccl-4, symmetric");
  EXPECT_EQ(list.get(0).tax, 0.19);
  const Implementation &copy = list.get(*list.find("copy-engine"));
  EXPECT_EQ(copy.method, ImplementationMethod::CopyEngine);
  EXPECT_EQ(copy.collectives.toString(), "all_gather");
  EXPECT_EQ(copy.maxNodes, 1);
  EXPECT_EQ(copy.stream, "copy-engine");
  EXPECT_FALSE(copy.isFor(65535));
  EXPECT_TRUE(copy.isFor(65536));
  const Implementation &symmetric = list.get(*list.find("symmetric"));
  EXPECT_EQ(symmetric.collectives.toString(),
            "all_gather, reduce_scatter, all_reduce");
  EXPECT_EQ(symmetric.stream, "nccl");
}

TEST(Implementations, NamesWhatIsWrong) {
  const std::pair<llvm::StringRef, llvm::StringRef> cases[] = {
      {"[]", "'implementations' must be an object of objects, by name"},
      {R"({"x": 1})", "implementation 'x': must be an object with a name"},
      {R"({"x": {}})", "implementation 'x': needs the field 'method', one of "
                       "nccl, copy-engine, symmetric"},
      {R"({"x": {"method": "magic"}})",
       "implementation 'x': unknown method 'magic'; there are nccl, "
       "copy-engine, symmetric"},
      {R"({"nccl": {"taxes": 1, "fee": 1}})",
       "implementation 'nccl': unknown field 'fee'; there are method, "
       "channels, tax, latency_us, bandwidth_gb_s, collectives, min_bytes, "
       "max_bytes, max_nodes, stream"},
      {R"({"nccl": {"tax": -1}})",
       "implementation 'nccl': field 'tax' must be a number from 0 to 999"},
      {R"({"nccl": {"method": "symmetric"}})",
       "implementation 'nccl': carries out what names no implementation: its "
       "method is nccl"},
      {R"({"nccl": {"max_nodes": 1}})",
       "implementation 'nccl': carries out all collectives that name no "
       "implementation: it has no field 'max_nodes'"},
      {R"({"copy-engine": {"channels": 2}})",
       "implementation 'copy-engine': field 'channels' is for the method nccl, "
       "not for copy-engine"},
      {R"({"copy-engine": {"latency_us": 2}})",
       "implementation 'copy-engine': has only one of 'latency_us' and "
       "'bandwidth_gb_s'"},
      {R"({"copy-engine": {"collectives": ["all_reduce"]}})",
       "implementation 'copy-engine': field 'collectives' may have all_gather, "
       "all_to_all, not 'all_reduce'"},
      {R"({"copy-engine": {"min_bytes": 5, "max_bytes": 4}})",
       "implementation 'copy-engine': field 'max_bytes' must be an integer "
       "from 5 to 9223372036854775807"}};
  for (const auto &[json, error] : cases)
    EXPECT_EQ(getParseError(json), error);
}

TEST(Implementations, ProfileReplacesByName) {
  Implementations list = parseText(machine);
  list.add(parseText(R"({"copy-engine": {"tax": 0.5}})"));
  // A profile that does not list NCCL says nothing about it.
  EXPECT_EQ(list.get(0).tax, 0.19);
  EXPECT_EQ(list.get(*list.find("copy-engine")).tax, 0.5);
  EXPECT_EQ(list.get().size(), 4u);
}

TEST(Implementations, LinearTime) {
  CollectiveCost cost(withMachine());
  CollectiveQuery query{CollectiveKind::AllGather, 8 << 20, 8, 8};
  query.implementation = 1;
  // 20 us, and 7/8 of 8 MiB at 300 bytes each nanosecond.
  EXPECT_EQ(cost.timeNs(query), 20'000 + 24'467);
  query.ranks = 1;
  EXPECT_EQ(cost.timeNs(query), 0);
}

TEST(Implementations, FewerChannelsAreSlower) {
  CollectiveCost cost(withMachine());
  CollectiveQuery all{CollectiveKind::AllGather, 64 << 20, 8, 8};
  CollectiveQuery four = all;
  four.implementation = 2;
  EXPECT_GT(cost.timeNs(four), 2 * cost.timeNs(all));
  // Four channels are two of those of the graph search, of 30 GB/s each.
  EXPECT_GE(cost.timeNs(four), (int64_t(64) << 20) * 7 / 8 / 60);
}

TEST(Implementations, MeasuredRowsAreOfOneImplementation) {
  MeasuredTable table = llvm::cantFail(MeasuredTable::parse(R"({
    "implementations": {"symmetric": {"tax": 0.2}},
    "rows": [
      {"collective": "all_gather", "ranks": 8, "nodes": 1, "bytes": 1024,
       "time_ns": 7000},
      {"collective": "all_gather", "ranks": 8, "nodes": 1, "bytes": 1024,
       "time_ns": 5000, "implementation": "symmetric"}]})"));
  Target target = withMachine();
  table.applyTo(target);
  int32_t symmetric = *target.implementations.find("symmetric");
  EXPECT_EQ(target.implementations.get(symmetric).tax, 0.2);
  CollectiveCost cost(target, table);
  CollectiveQuery query{CollectiveKind::AllGather, 1024, 8, 8};
  EXPECT_EQ(cost.timeNs(query), 7000);
  query.implementation = symmetric;
  EXPECT_EQ(cost.timeNs(query), 5000);
  EXPECT_EQ(cost.findObstacle(query), std::nullopt);
  // Without a row there is no time.
  query.ranks = 4;
  EXPECT_EQ(cost.findObstacle(query),
            "has no time for it: neither 'latency_us' and 'bandwidth_gb_s' nor "
            "rows of a profile");
}

TEST(Implementations, Obstacles) {
  CollectiveCost cost(withMachine());
  CollectiveQuery query{CollectiveKind::AllGather, 1 << 20, 32, 8};
  query.implementation = 1;
  EXPECT_EQ(cost.findObstacle(query),
            "takes groups on at most 1 node, not on 4");
  query.kind = CollectiveKind::AllToAll;
  EXPECT_EQ(cost.findObstacle(query), "carries out all_gather, not all_to_all");
}

} // namespace
