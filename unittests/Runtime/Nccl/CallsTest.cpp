//===- CallsTest.cpp - Tests of the calls of NCCL -------------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestRanks.h"

using namespace commsched::test;

namespace {
class NcclCallsTest : public NcclTest {};
} // namespace

TEST_F(NcclCallsTest, EveryCollectiveIsItsOwnCall) {
  runRank([&](TestRank &rank) {
    ASSERT_TRUE(rank.load(R"(
        a = all_gather f32 8 -> 8
        b = reduce_scatter f32 8 -> 8 : reduction=max
        c = all_reduce f32 8 -> 8 : reduction=avg
        d = all_to_all f32 8 -> 8
        e = broadcast f32 8 -> 8 : peer=0
        f = permute f32 8 -> 8 : pairs=[[0,0]]
        g = barrier)"))
        << rank.getError();
    char *in = rank.allocate(32), *out = rank.allocate(32);
    const std::string expected[] = {
        "ncclAllGather(m1, m2, 8, f32, c1, s1)",
        "ncclReduceScatter(m1, m2, 8, f32, max, c1, s1)",
        "ncclAllReduce(m1, m2, 8, f32, avg, c1, s1)",
        "ncclAlltoAll(m1, m2, 8, f32, c1, s1)",
        "ncclBroadcast(m1, m2, 8, f32, root 0, c1, s1)"};
    for (int site = 0; site < 5; ++site)
      EXPECT_EQ(rank.run(site, {in}, {out}), Lines({expected[site]}));
    EXPECT_EQ(
        rank.run(5, {in}, {out}),
        Lines({"ncclGroupStart()", "ncclSend(m1, 8, f32, to 0, c1, s1)",
               "ncclRecv(m2, 8, f32, from 0, c1, s1)", "ncclGroupEnd()"}));
    standin::takeLog();
    EXPECT_EQ(commsched_barrier(6), 0);
    EXPECT_EQ(keep(standin::takeLog(), {"nccl"}),
              Lines({"ncclAllReduce(m0, m0, 1, u8, max, c1, s1)"}));
  });
}

TEST_F(NcclCallsTest, TypesThatNcclLacksTravelAsBytes) {
  // The NCCL types of 3 elements in sends and in reductions.
  struct Case {
    const char *type;
    const char *sent;
    const char *added;
  };
  const Case cases[] = {{"i1", "3, u8", ""},
                        {"i16", "6, u8", ""},
                        {"ui32", "3, u32", "3, u32"},
                        {"f8E4M3FN", "3, f8e4m3", "3, f8e4m3"},
                        {"bf16", "3, bf16", "3, bf16"},
                        {"complex<f64>", "6, f64", "6, f64"},
                        {"bytes<12>", "36, u8", ""}};
  runRank([&](TestRank &rank) {
    char *in = rank.allocate(48), *out = rank.allocate(48);
    for (const Case &c : cases) {
      std::string tensor = c.type + std::string(" 3 -> 3");
      std::string sites = "x = all_gather " + tensor;
      if (*c.added)
        sites += "; y = reduce_scatter " + tensor + " : reduction=sum";
      ASSERT_TRUE(rank.load(sites)) << rank.getError();
      EXPECT_EQ(rank.run(0, {in}, {out}),
                Lines({std::string("ncclAllGather(m1, m2, ") + c.sent +
                       ", c1, s1)"}));
      if (*c.added) {
        EXPECT_EQ(rank.run(1, {in}, {out}),
                  Lines({std::string("ncclReduceScatter(m1, m2, ") + c.added +
                         ", sum, c1, s1)"}));
      }
    }
  });
}

TEST_F(NcclCallsTest, ACoalescedLaunchIsOneGroup) {
  runRank([&](TestRank &rank) {
    ASSERT_TRUE(
        rank.load("x = all_gather bf16 4 -> 4, f32 0 -> 0, i32 2 -> 2"));
    char *a = rank.allocate(8), *b = rank.allocate(8);
    EXPECT_EQ(
        rank.run(0, {a, nullptr, b}, {a, nullptr, b}),
        Lines({"ncclGroupStart()", "ncclAllGather(m1, m1, 4, bf16, c1, s1)",
               "ncclAllGather(m2, m2, 2, i32, c1, s1)", "ncclGroupEnd()"}));
  });
}

TEST_F(NcclCallsTest, OddAddressesTravelAsBytes) {
  TestRank rank(0, 1, 20000);
  ASSERT_TRUE(rank.load("x = all_gather f32 2 -> 2; y = all_reduce f32 2 -> 2 "
                        ": reduction=sum location=a.mlir:1:2"));
  char *buffer = rank.allocate(32);
  EXPECT_EQ(rank.run(0, {buffer + 2}, {buffer + 2}),
            Lines({"ncclAllGather(m1+2, m1+2, 8, u8, c1, s1)"}));
  EXPECT_EQ(rank.start(1, {buffer + 2}, {buffer + 2}), 0);
  EXPECT_EQ(rank.getError(),
            "at the start of all_reduce 'y' (a.mlir:1:2) on group 'dp', "
            "launch 1: 'nccl' cannot reduce f32 at addresses that are no "
            "multiples of 4");
  EXPECT_NE(commsched_finalize(), 0);
}

static std::string join(const Lines &lines) {
  std::string text;
  for (const std::string &line : lines)
    text += line + "\n";
  return text;
}

/// Ranks 0 and 1 send to each other; all ranks have all sites.
static const char *const sendsAndReceives = R"(
  a = send i8 4 : peer=0; b = recv i8 -> 4 : peer=0
  c = send i8 4 : peer=1; d = recv i8 -> 4 : peer=1)";

TEST_F(NcclCallsTest, SendsThatCrossRunTogether) {
  auto results = runRanks(2, [&](TestRank &rank) {
    if (!rank.load(sendsAndReceives))
      return rank.getError();
    int32_t peer = 1 - rank.getRank();
    char *in = rank.allocate(4), *out = rank.allocate(4);
    standin::takeLog();
    int64_t send = rank.start(2 * peer, {in}, {nullptr});
    int64_t recv = rank.start(2 * peer + 1, {nullptr}, {out});
    // Nothing is enqueued before a test or a wait.
    std::string text = join(keep(standin::takeLog(), {"nccl"}));
    commsched_wait(send);
    commsched_wait(recv);
    return text + join(keep(standin::takeLog(), {"nccl"}));
  });
  EXPECT_EQ(results[0], "ncclGroupStart()\n"
                        "ncclSend(m1, 4, i8, to 1, c1, s1)\n"
                        "ncclRecv(m2, 4, i8, from 1, c1, s1)\n"
                        "ncclGroupEnd()\n");
  EXPECT_EQ(results[1], "ncclGroupStart()\n"
                        "ncclSend(m1, 4, i8, to 0, c1, s1)\n"
                        "ncclRecv(m2, 4, i8, from 0, c1, s1)\n"
                        "ncclGroupEnd()\n");
}

TEST_F(NcclCallsTest, OperatorsDoNotWaitForTheNextReceive) {
  auto results = runRanks(2, [&](TestRank &rank) {
    if (!rank.load(sendsAndReceives, R"(, "operators": [{"name": "mm"}])"))
      return rank.getError();
    char *buffer = rank.allocate(4);
    standin::takeLog();
    int64_t request = rank.getRank() == 0 ? rank.start(2, {buffer}, {nullptr})
                                          : rank.start(1, {nullptr}, {buffer});
    commsched_compute(0, 10, nullptr, nullptr);
    std::string text = join(keep(standin::takeLog(), {"nccl", "spin"}));
    commsched_wait(request);
    return text;
  });
  EXPECT_EQ(results[0], "ncclSend(m1, 4, i8, to 1, c1, s1)\n"
                        "spinKernel<<<1, 1, s0>>>\n");
  EXPECT_EQ(results[1], "ncclRecv(m1, 4, i8, from 0, c1, s1)\n"
                        "spinKernel<<<1, 1, s0>>>\n");
}
