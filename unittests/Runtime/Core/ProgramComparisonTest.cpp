//===- ProgramComparisonTest.cpp - Tests of comparing programs ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Core/Program.h"

#include "../SiteText.h"

using namespace commsched::runtime;
using commsched::runtime::testing::makeSites;

static Program parse(const std::string &sites) {
  Program program;
  Status status = parseProgram(
      R"({"version": 1, "groups": [{"name": "dp", "size": 2}], "sites": [)" +
          makeSites(sites) + "]}",
      program);
  EXPECT_EQ(status, Status());
  return program;
}

static const std::string gather =
    "ag = all_gather bf16 2 -> 4 : location=a:1:1 runtime_ns=5;";
static const std::string send = "s = send i32 2 : peer=1 tag=3;";

/// Returns the status that ranks with these programs report.
static Status compare(const std::vector<Program> &programs) {
  // Rank 0 decides what is exchanged; the others answer alike.
  std::vector<std::string> texts;
  for (const Program &program : programs)
    texts.push_back(describeProgram(program));
  int exchanges = 0;
  return comparePrograms(
      programs[0], {Rows{{0, 1}}},
      [&](const std::string &mine, std::vector<std::string> &all) -> Status {
        all.clear();
        bool areDigests = exchanges++ == 0;
        for (size_t rank = 0; rank < programs.size(); ++rank)
          all.push_back(areDigests         ? digest(texts[rank])
                        : mine == texts[0] ? texts[rank]
                                           : describeSplits(programs[rank]));
        EXPECT_EQ(all[0], mine);
        return Status();
      });
}

TEST(Comparison, LocationsAndTimesDoNotCount) {
  const std::string moved =
      "ag = all_gather bf16 2 -> 4 : location=b:2:2 runtime_ns=7";
  EXPECT_EQ(compare({parse(gather), parse(moved)}), Status());
}

TEST(Comparison, DigestsDiffer) {
  EXPECT_EQ(digest(""), "cbf29ce484222325");
  EXPECT_EQ(digest("a"), "af63dc4c8601ec8c");
}

TEST(Comparison, OtherSite) {
  EXPECT_EQ(compare({parse(gather + send), parse(send + gather)}),
            "ranks run different programs: rank 0 has site 0, all_gather 'ag' "
            "on group 'dp': bf16 2 -> 4, but rank 1 has site 0, send 's' on "
            "group 'dp' peer 1 tag 3: i32 2 -> 0");
}

TEST(Comparison, OtherImplementation) {
  auto parseWith = [](const std::string &implementation) {
    Program program;
    EXPECT_EQ(parseProgram(R"({"version": 1, "groups": [{"name": "dp",
                               "size": 2, "implementation": )" +
                               implementation + R"(}], "sites": [)" +
                               makeSites(gather) + "]}",
                           program),
              Status());
    return program;
  };
  Program four =
      parseWith(R"({"name": "few", "method": "nccl", "channels": 4})");
  EXPECT_EQ(describeProgram(four),
            "group 'dp' (few) by nccl with 4 channels of 2 ranks in steps of "
            "1\nsite 0, all_gather 'ag' on group 'dp' (few): bf16 2 -> 4\n");
  EXPECT_EQ(compare({four, parse(gather)}),
            "ranks run different programs: rank 0 has group 'dp' (few) by nccl "
            "with 4 channels of 2 ranks in steps of 1, but rank 1 has group "
            "'dp' of 2 ranks in steps of 1");
  for (const char *other : {R"({"name": "few", "method": "symmetric"})",
                            R"({"name": "few", "method": "nccl", "channels": 4,
            "stream": "nccl"})"})
    EXPECT_FALSE(compare({four, parseWith(other)}));
}

TEST(Comparison, TheFirstDifferenceOfAllRanks) {
  Program two = parse(gather + send);
  Program one = parse(gather);
  Program none = parse("");
  EXPECT_EQ(compare({two, one, none}),
            "ranks run different programs: rank 0 has site 0, all_gather 'ag' "
            "on group 'dp': bf16 2 -> 4, but rank 2 has nothing more");
  // Of those that differ there, the first.
  EXPECT_EQ(compare({two, one, one}),
            "ranks run different programs: rank 0 has site 1, send 's' on "
            "group 'dp' peer 1 tag 3: i32 2 -> 0, but rank 1 has nothing more");
  EXPECT_EQ(compare({one, one, two}),
            "ranks run different programs: rank 0 has nothing more, but rank 2 "
            "has site 1, send 's' on group 'dp' peer 1 tag 3: i32 2 -> 0");
}

TEST(Comparison, EverythingThatCounts) {
  Program program = parse(gather + send);
  std::string text = describeProgram(program);
  auto differs = [&](auto &&change) {
    Program changed = program;
    change(changed);
    return describeProgram(changed) != text;
  };
  EXPECT_TRUE(differs([](Program &p) { p.groups[0].stride = 2; }));
  EXPECT_TRUE(differs([](Program &p) { p.groups[0].ranks = {{0, 1}}; }));
  EXPECT_TRUE(differs([](Program &p) { p.sites[0].name = "other"; }));
  EXPECT_TRUE(
      differs([](Program &p) { p.sites[0].reduction = COMMSCHED_MAX; }));
  EXPECT_TRUE(differs([](Program &p) { p.sites[1].peer = 0; }));
  EXPECT_TRUE(differs([](Program &p) { p.sites[1].tag = 4; }));
  EXPECT_TRUE(differs([](Program &p) { p.sites[0].pairs = {{0, 1}}; }));
  EXPECT_TRUE(
      differs([](Program &p) { p.sites[0].tensors[0].element.name = "f16"; }));
  EXPECT_FALSE(differs([](Program &p) { p.sites[0].runtimeNs = 99; }));
}

static Program parseUneven(const std::string &inputs,
                           const std::string &outputs) {
  return parse("x = all_to_all i8 3 -> 4 : input_splits=[" + inputs +
               "] output_splits=[" + outputs + "]");
}

TEST(Comparison, UnevenPartsMustFit) {
  // Rank 1 sends 3 as rank 0 does, but expects 2 from it.
  Program first = parseUneven("[1,2]", "[1,3]");
  Program second = parseUneven("[3,0]", "[2,2]");
  EXPECT_EQ(describeProgram(first), describeProgram(second));
  Program wrong = parseUneven("[3,0]", "[4,0]");
  EXPECT_EQ(compare({first, wrong}),
            "all_to_all 'x', tensor 0: rank 0 sends 2 elements to rank 1, "
            "which expects 4");
  Program few = parseUneven("[3,0]", "[1,3]");
  EXPECT_EQ(compare({first, few}),
            "all_to_all 'x', tensor 0: rank 0 sends 2 elements to rank 1, "
            "which expects 1");
  EXPECT_EQ(compare({first, second}),
            "all_to_all 'x', tensor 0: rank 1 sends 0 elements to rank 1, "
            "which expects 2");
}
