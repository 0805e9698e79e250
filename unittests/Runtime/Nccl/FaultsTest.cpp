//===- FaultsTest.cpp - Tests of failing and hanging ranks ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "TestRanks.h"

using namespace commsched::test;

namespace {
class NcclFaultsTest : public NcclTest {
protected:
  static std::string makeSite(const std::string &type,
                              const std::string &reduction) {
    return "ar = all_reduce " + type +
           " 4 -> 4 : location=a.mlir:3:4 "
           "reduction=" +
           reduction;
  }
  const std::string allReduce = makeSite("f32", "sum");
};
} // namespace

// Conformance has all types and reductions, on a new GPU.
TEST_F(NcclFaultsTest, RefusesWhatNcclCannotReduce) {
  struct Case {
    const char *type, *reduction, *error;
    int capability = 90;
  };
  const Case cases[] = {
      {"i16", "sum", "'nccl' cannot reduce i16 by sum"},
      {"f8E4M3FN", "sum",
       "'nccl' cannot reduce f8E4M3FN by sum on this GPU: its compute "
       "capability is 8.0, not 9.0 or newer",
       80},
      {"f8E5M2", "max",
       "'nccl' cannot reduce f8E5M2 by max on this GPU: its compute "
       "capability is 8.9, not 9.0 or newer",
       89}};
  for (const Case &c : cases) {
    standin::getSettings().capability = c.capability;
    EXPECT_EQ(getLoadError(makeProgram(1, makeSite(c.type, c.reduction))),
              std::string("all_reduce 'ar' (a.mlir:3:4): ") + c.error);
  }
}

TEST_F(NcclFaultsTest, OldGpusCanStillSendSmallFloats) {
  standin::getSettings().capability = 80;
  runRank([&](TestRank &rank) {
    EXPECT_TRUE(rank.load("ag = all_gather f8E4M3FN 4 -> 4"));
  });
}

TEST_F(NcclFaultsTest, ProgramsOnTheProcessorAreRefused) {
  EXPECT_EQ(getLoadError(makeProgram(
                1, "", R"(, "host_code": "linalg.matmul at a.mlir:9:8")")),
            "'nccl' keeps buffers on the GPU, but linalg.matmul at a.mlir:9:8 "
            "runs on the processor");
}

TEST_F(NcclFaultsTest, AMachineWithoutGpusIsNamed) {
  standin::getSettings().numGpus = 0;
  EXPECT_EQ(getLoadError(""),
            "the backend 'nccl' cannot start: there is no GPU: "
            "cudaGetDeviceCount: no CUDA-capable device is detected");
}

TEST_F(NcclFaultsTest, EveryRankNeedsAGpu) {
  standin::getSettings().numGpus = 1;
  auto results = runRanks(2, [](TestRank &rank) { return rank.getError(); });
  EXPECT_EQ(results[1], "the backend 'nccl' cannot start: rank 1 is number 1 "
                        "on this machine, which has 1 GPU");
  EXPECT_NE(results[0].find("rank 1 failed: rank 1 is number 1"),
            std::string::npos)
      << results[0];
}

TEST_F(NcclFaultsTest, WithoutALauncherThereIsOneRank) {
  TestRank rank(-1, -1, 20000);
  EXPECT_EQ(rank.getError(), "");
  EXPECT_EQ(commsched_rank(), 0);
  EXPECT_EQ(commsched_num_ranks(), 1);
  commsched_finalize();
}

TEST_F(NcclFaultsTest, RanksWithHostsOfTheirOwnShareAGpu) {
  standin::getSettings().numGpus = 1;
  setenv("NCCL_HOSTID", "one", 1);
  auto results = runRanks(2, [](TestRank &rank) { return rank.getError(); });
  unsetenv("NCCL_HOSTID");
  EXPECT_EQ(results, std::vector<std::string>(2, ""));
}

TEST_F(NcclFaultsTest, TheOrderOfTheHostIsKept) {
  unsetenv("NCCL_LAUNCH_ORDER_IMPLICIT");
  TestRank(0, 1, 20000);
  EXPECT_EQ(keep(standin::takeLog(), {"ncclGetUniqueId", "ncclCommInit"}),
            Lines({"ncclGetUniqueId(launch order 1)",
                   "ncclCommInitRankConfig(0 of 1, blocking 0)"}));
  commsched_finalize();
  setenv("NCCL_LAUNCH_ORDER_IMPLICIT", "0", 1);
  TestRank(0, 1, 20000);
  EXPECT_EQ(keep(standin::takeLog(), {"ncclGetUniqueId"}),
            Lines({"ncclGetUniqueId(launch order 0)"}));
  commsched_finalize();
  unsetenv("NCCL_LAUNCH_ORDER_IMPLICIT");
}

TEST_F(NcclFaultsTest, AStuckCollectiveIsAbortedAtTheDeadline) {
  standin::getSettings().stuck = {"ncclAllReduce"};
  TestRank rank(0, 1, 100);
  ASSERT_TRUE(rank.load(allReduce)) << rank.getError();
  char *buffer = rank.allocate(16);
  // Neither start nor wait blocks.
  EXPECT_EQ(commsched_wait(rank.start(0, {buffer}, {buffer})), 0);
  standin::takeLog();
  EXPECT_NE(commsched_synchronize(), 0);
  EXPECT_EQ(rank.getError(),
            "timed out after 100 ms in the wait for all_reduce 'ar' "
            "(a.mlir:3:4) on group 'dp', launch 0");
  EXPECT_EQ(keep(standin::takeLog(), {"nccl"}),
            Lines({"ncclCommAbort(c1)", "ncclCommAbort(c0)"}));
  EXPECT_NE(commsched_finalize(), 0);
  EXPECT_EQ(keep(standin::takeLog(), {"ncclCommFinalize", "ncclCommDestroy"}),
            Lines());
}

TEST_F(NcclFaultsTest, AStuckStartIsAbortedAtTheDeadline) {
  standin::getSettings().stuck = {"ncclCommInitRankConfig"};
  EXPECT_EQ(getLoadError("", 100),
            "the backend 'nccl' cannot start: timed out after 100 ms while "
            "NCCL connects all ranks");
  EXPECT_EQ(keep(standin::takeLog(), {"ncclCommAbort"}),
            Lines({"ncclCommAbort(c0)"}));
}

TEST_F(NcclFaultsTest, AStuckGroupIsAbortedAtTheDeadline) {
  standin::getSettings().stuck = {"ncclCommSplit"};
  EXPECT_EQ(getLoadError(makeProgram(1, allReduce), 100),
            "group 'dp': timed out after 100 ms while NCCL connects its ranks");
}

TEST_F(NcclFaultsTest, ErrorsOfCommunicatorsAreSeen) {
  TestRank rank(0, 1, 20000);
  ASSERT_TRUE(rank.load(allReduce)) << rank.getError();
  char *buffer = rank.allocate(16);
  rank.run(0, {buffer}, {buffer});
  ASSERT_EQ(commsched_synchronize(), 0);
  standin::getSettings().hold = true;
  commsched_wait(rank.start(0, {buffer}, {buffer}));
  standin::getSettings().asyncError = ncclRemoteError;
  standin::takeLog();
  EXPECT_NE(commsched_synchronize(), 0);
  EXPECT_EQ(rank.getError(),
            "in the wait for all_reduce 'ar' (a.mlir:3:4) on group 'dp', "
            "launch 1: NCCL: remote process exited or there was a network "
            "error");
  EXPECT_EQ(keep(standin::takeLog(), {"nccl"}),
            Lines({"ncclCommAbort(c1)", "ncclCommAbort(c0)"}));
  commsched_finalize();
}

TEST_F(NcclFaultsTest, ALaunchThatFailsBehindTheNextOneIsNamed) {
  TestRank rank(0, 1, 20000);
  ASSERT_TRUE(rank.load(allReduce)) << rank.getError();
  char *buffer = rank.allocate(16);
  rank.start(0, {buffer}, {buffer});
  standin::getSettings().asyncError = ncclInvalidUsage;
  EXPECT_EQ(rank.start(0, {buffer}, {buffer}), 0);
  EXPECT_NE(rank.getError().find("launch 1: at the start of all_reduce 'ar' "
                                 "(a.mlir:3:4) on group 'dp', launch 0: "),
            std::string::npos)
      << rank.getError();
  commsched_finalize();
}

TEST_F(NcclFaultsTest, CallsThatFailAreNamed) {
  TestRank rank(0, 1, 20000);
  ASSERT_TRUE(rank.load(allReduce)) << rank.getError();
  char *buffer = rank.allocate(16);
  standin::getSettings().failing["ncclAllReduce"] = ncclInvalidUsage;
  EXPECT_EQ(rank.start(0, {buffer}, {buffer}), 0);
  EXPECT_EQ(rank.getError(),
            "at the start of all_reduce 'ar' (a.mlir:3:4) on group 'dp', "
            "launch 0: ncclAllReduce: invalid usage");
  commsched_finalize();
}

TEST_F(NcclFaultsTest, TimesCannotBeModelled) {
  EXPECT_EQ(
      getLoadError(
          "", 20000,
          [](commsched_options &options) { options.modelled_times = 1; }),
      "the backend 'nccl' cannot start: 'nccl' measures times and cannot model "
      "them");
}
