//===- RecordsTest.cpp - Tests of launches and their records --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Core/Rank.h"

#include "../StatusText.h"
#include "Core/Program.h"
#include "Numerics/ElementTypes.h"

#include <cstdio>
#include <fstream>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

using namespace commsched::runtime;

using Json = nlohmann::json;

namespace {
struct FlightRecordTest : ::testing::Test {
  FlightRecordTest() {
    group.index = 2;
    group.name = "dp";
    group.members = {1, 3};
    gather.name = "ag";
    gather.location = "dir/step.mlir:7:8";
    gather.kind = COMMSCHED_ALL_GATHER;
    gather.tensors.push_back({{COMMSCHED_BF16, 2, "bf16"}, 3, 6, {}, {}});
    send.name = "s";
    send.kind = COMMSCHED_SEND;
    send.tensors.push_back({{COMMSCHED_F32, 4, "f32"}, 5, 0, {}, {}});
    header.backend = "local";
    header.rank = 1;
    header.numRanks = 4;
    header.deadlineMs = 500;
    header.error = "what went wrong";
  }

  Launch makeLaunch(const Site &site, int64_t sequence) {
    Launch launch;
    launch.site = &site;
    launch.group = &group;
    launch.sequence = sequence;
    return launch;
  }

  Group group;
  Site gather, send;
  FlightRecordHeader header;
};
} // namespace

TEST_F(FlightRecordTest, HasTheFieldsOfPyTorch) {
  FlightRecord record;
  int64_t first = record.add(makeLaunch(gather, 0));
  int64_t second = record.add(makeLaunch(gather, 1));
  record.add(makeLaunch(send, 0));
  record.setStarted(first);
  record.setCompleted(first);
  record.setRetired(first);
  record.setStarted(second);

  Json json = Json::parse(record.toJson(header));
  EXPECT_EQ(json["rank"], 1);
  EXPECT_EQ(json["world_size"], 4);
  EXPECT_EQ(json["error"], "what went wrong");
  EXPECT_EQ(json["pg_config"]["2"],
            (Json{{"name", "dp"}, {"desc", "dp"}, {"ranks", "[1,3]"}}));
  EXPECT_EQ(json["pg_status"]["2"], (Json{{"last_enqueued_collective", 1},
                                          {"last_started_collective", 1},
                                          {"last_completed_collective", 0}}));
  ASSERT_EQ(json["entries"].size(), 3u);
  Json entry = json["entries"][0];
  EXPECT_EQ(entry["record_id"], 0);
  EXPECT_EQ(entry["pg_id"], 2);
  EXPECT_EQ(entry["process_group"], (Json{"dp", "dp"}));
  EXPECT_EQ(entry["collective_seq_id"], 0);
  EXPECT_EQ(entry["profiling_name"], "local:all_gather");
  EXPECT_EQ(entry["is_p2p"], false);
  EXPECT_EQ(entry["input_sizes"], Json::array({Json::array({3})}));
  EXPECT_EQ(entry["input_dtypes"], Json::array({"bf16"}));
  EXPECT_EQ(entry["output_sizes"], Json::array({Json::array({6})}));
  EXPECT_EQ(entry["state"], "completed");
  EXPECT_EQ(entry["retired"], true);
  EXPECT_EQ(entry["timeout_ms"], 500);
  EXPECT_GT(entry["time_created_ns"], 0);
  EXPECT_GE(entry["duration_ms"], 0.0);
  EXPECT_EQ(entry["frames"][0],
            (Json{{"name", "ag"}, {"filename", "dir/step.mlir"}, {"line", 7}}));
  entry = json["entries"][1];
  EXPECT_EQ(entry["state"], "started");
  EXPECT_EQ(entry["retired"], false);
  EXPECT_EQ(entry["time_discovered_completed_ns"], nullptr);
  EXPECT_FALSE(entry.contains("duration_ms"));
  entry = json["entries"][2];
  EXPECT_EQ(entry["state"], "scheduled");
  EXPECT_EQ(entry["is_p2p"], true);
  EXPECT_EQ(entry["p2p_seq_id"], 0);
  EXPECT_EQ(entry["frames"][0]["filename"], "");
}

TEST_F(FlightRecordTest, NamesImplementations) {
  group.implementation = Implementation{"nccl-4", Method::Nccl, 4, "nccl-4"};
  FlightRecord record;
  record.add(makeLaunch(gather, 0));
  Json json = Json::parse(record.toJson(header));
  EXPECT_EQ(json["entries"][0]["process_group"],
            (Json{"dp (nccl-4)", "dp (nccl-4)"}));
  EXPECT_EQ(json["pg_config"]["2"]["name"], "dp (nccl-4)");
}

TEST_F(FlightRecordTest, KeepsTheLast) {
  FlightRecord record(3);
  for (int64_t i = 0; i < 8; ++i)
    record.add(makeLaunch(gather, i));
  // Too old: its place holds another launch.
  record.setCompleted(4);
  Json json = Json::parse(record.toJson(header));
  ASSERT_EQ(json["entries"].size(), 3u);
  for (int64_t i = 0; i < 3; ++i) {
    EXPECT_EQ(json["entries"][i]["record_id"], 5 + i);
    EXPECT_EQ(json["entries"][i]["collective_seq_id"], 5 + i);
    EXPECT_EQ(json["entries"][i]["state"], "scheduled");
  }
}

TEST_F(FlightRecordTest, IsWrittenForItsRank) {
  std::string path = ::testing::TempDir() + "flight.%r.json";
  EXPECT_EQ(writeFlightRecord(path, 12, "text"), Status());
  std::string written = ::testing::TempDir() + "flight.12.json";
  std::ifstream file(written);
  std::string text;
  EXPECT_TRUE(file >> text);
  EXPECT_EQ(text, "text");
  EXPECT_FALSE(std::ifstream(written + ".tmp"));
  std::remove(written.c_str());
  EXPECT_EQ(writeFlightRecord("/nowhere/%r", 3, ""),
            "cannot write the flight record '/nowhere/3'");
}

TEST(StepRecords, SortedAndOnlyOfTheStep) {
  StepRecords records;
  records.add(COMMSCHED_RECORD_COMPUTE, 9, {0, 1});
  records.begin();
  records.add(COMMSCHED_RECORD_COMPUTE, 0, {5, 6});
  records.add(COMMSCHED_RECORD_WAIT, 1, {2, 5});
  records.add(COMMSCHED_RECORD_COLLECTIVE, 2, {2, 3});
  records.end();
  records.add(COMMSCHED_RECORD_COMPUTE, 9, {0, 1});
  ASSERT_EQ(records.get().size(), 3u);
  EXPECT_EQ(records.get()[0].index, 1);
  EXPECT_EQ(records.get()[1].index, 2);
  EXPECT_EQ(records.get()[1].end_ns, 3);
  EXPECT_EQ(records.get()[2].index, 0);
  records.begin();
  EXPECT_TRUE(records.get().empty());
}

namespace {
struct RequestsTest : ::testing::Test {
  RequestsTest() : sites(2) {
    sites[0].name = "ag";
    sites[0].kind = COMMSCHED_ALL_GATHER;
    sites[1].name = "rs";
    sites[1].location = "step.mlir:1:2";
    sites[1].kind = COMMSCHED_REDUCE_SCATTER;
    sites[1].index = 1;
  }

  int64_t add(int32_t site) {
    auto request = std::make_unique<Request>();
    request->launch.site = &sites[site];
    return table.add(std::move(request));
  }

  std::string findError(int64_t number) {
    Status status;
    EXPECT_EQ(table.find(number, sites, status), nullptr);
    return toText(status);
  }

  std::vector<Site> sites;
  RequestTable table;
};
} // namespace

TEST_F(RequestsTest, AreFoundUntilRemoved) {
  int64_t first = add(1);
  int64_t second = add(1);
  EXPECT_GT(first, 0);
  EXPECT_NE(first, second);
  Status status;
  Request *request = table.find(second, sites, status);
  ASSERT_NE(request, nullptr);
  EXPECT_EQ(request->launch.site, &sites[1]);
  EXPECT_EQ(table.size(), 2u);
  table.remove(first);
  EXPECT_EQ(findError(first), "the request of reduce_scatter 'rs' "
                              "(step.mlir:1:2) has already been waited for");
  EXPECT_EQ(table.find(second, sites, status), request);
}

TEST_F(RequestsTest, NumbersThatWereNeverGiven) {
  int64_t number = add(0);
  // Another site, a later launch, and no number at all.
  EXPECT_EQ(findError(number + 1),
            "there is no request " + std::to_string(number + 1));
  EXPECT_EQ(findError(number + RequestTable::maxSites),
            "there is no request " +
                std::to_string(number + RequestTable::maxSites));
  EXPECT_EQ(findError(-1), "there is no request -1");
  EXPECT_EQ(findError(7), "there is no request 7");
}

TEST_F(RequestsTest, NumbersOfAnEarlierProgram) {
  int64_t number = add(0);
  table.remove(number);
  table.startProgram();
  EXPECT_EQ(findError(number), "there is no request " + std::to_string(number));
}

TEST_F(RequestsTest, TheOldest) {
  EXPECT_EQ(table.getOldest(), nullptr);
  int64_t first = add(0);
  add(1);
  EXPECT_EQ(table.getOldest()->site, &sites[0]);
  table.remove(first);
  EXPECT_EQ(table.getOldest()->site, &sites[1]);
}

/// Launches of two tensors of i8 by rank 2 of a group of 4.
TEST(Launches, AreChecked) {
  const std::string notAsInPlace = " overlaps output 1, but not as in place";
  struct {
    commsched_kind kind;
    int64_t numInputs, numOutputs;
    /// The inputs and outputs: places in one memory, of which -1 is null.
    int in0, in1, out0, out1;
    std::string error;
    /// The root of a broadcast; where a permute sends from, and to.
    int32_t root = 0, to = 0;
  } const cases[] = {
      {COMMSCHED_ALL_GATHER, 8, 32, 0, 8, 64, 128, ""},
      {COMMSCHED_ALL_GATHER, 8, 32, 0, -1, 64, 128, "input 1 is null"},
      {COMMSCHED_ALL_GATHER, 8, 32, 0, 8, -1, 128, "output 0 is null"},
      {COMMSCHED_ALL_GATHER, 0, 0, -1, -1, -1, 128, ""},
      // Only senders need inputs.
      {COMMSCHED_BROADCAST, 8, 8, -1, -1, 64, 128, "", 1},
      {COMMSCHED_BROADCAST, 8, 8, -1, -1, 64, 128, "input 0 is null", 2},
      {COMMSCHED_PERMUTE, 8, 8, -1, -1, 64, 128, "", 0, 2},
      {COMMSCHED_PERMUTE, 8, 8, -1, -1, 64, 128, "input 0 is null", 2, 0},
      // In place.
      {COMMSCHED_ALL_GATHER, 8, 32, 80, 8, 64, 128, ""},
      {COMMSCHED_ALL_GATHER, 8, 32, 72, 8, 64, 128,
       "input 0 overlaps output 0, but not as in place"},
      {COMMSCHED_REDUCE_SCATTER, 32, 8, 0, 32, 16, 48, ""},
      {COMMSCHED_REDUCE_SCATTER, 32, 8, 0, 32, 16, 32,
       "input 1" + notAsInPlace},
      {COMMSCHED_ALL_REDUCE, 8, 8, 0, 8, 0, 8, ""},
      {COMMSCHED_BROADCAST, 8, 8, 0, 8, 0, 8, ""},
      {COMMSCHED_ALL_TO_ALL, 8, 8, 0, 8, 0, 8,
       "input 0 overlaps output 0, but not as in place"},
      // Reading twice is fine, also where nothing is written.
      {COMMSCHED_ALL_REDUCE, 8, 8, 0, 4, 64, 128, ""},
      {COMMSCHED_ALL_REDUCE, 8, 8, 0, 4, 64, 71, "output 0 overlaps output 1"},
      {COMMSCHED_ALL_REDUCE, 8, 8, 0, 4, 64, 8, "input 1" + notAsInPlace},
      {COMMSCHED_ALL_REDUCE, 8, 8, 0, 4, 64, 0, "input 0" + notAsInPlace}};
  for (const auto &[kind, numInputs, numOutputs, in0, in1, out0, out1, error,
                    root, to] : cases) {
    char memory[256];
    auto place = [&](int at) { return at < 0 ? nullptr : memory + at; };
    Group group;
    group.name = "dp";
    group.members = {0, 1, 2, 3};
    group.rank = 2;
    Site site;
    site.name = "s";
    site.kind = kind;
    site.tensors.assign(
        2, {{COMMSCHED_I8, 1, "i8"}, numInputs, numOutputs, {}, {}});
    site.peer = root;
    site.pairs = {{root, to}};
    Launch launch;
    launch.site = &site;
    launch.group = &group;
    launch.inputs = {place(in0), place(in1)};
    launch.outputs = {place(out0), place(out1)};
    EXPECT_EQ(toText(checkLaunch(launch)),
              error.empty() ? "no error"
                            : std::string(getName(kind)) + " 's': " + error);
  }
}
