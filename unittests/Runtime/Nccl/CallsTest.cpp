//===- CallsTest.cpp - Tests of the calls of NCCL and CUDA ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "TestRanks.h"
#include <cstdlib>
#include <cstring>

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
        // Of one rank: NCCL does not average all types over it.
        "ncclAllReduce(m1, m2, 8, f32, sum, c1, s1)",
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

namespace {
class NcclTransfersTest : public NcclTest {
protected:
  const std::string sites =
      "out = offload f32 4 -> 4, i8 0 -> 0; in = reload f32 4 -> 4";
};
} // namespace

TEST_F(NcclTransfersTest, DirectionsHaveStreams) {
  runRank([&](TestRank &rank) {
    ASSERT_TRUE(rank.load(sites)) << rank.getError();
    char *buffer = rank.allocate(16);
    standin::takeLog();
    void *host = commsched_allocate_host(16, 0);
    EXPECT_EQ(keep(standin::takeLog(), {"cudaHostAlloc", "cudaMalloc"}),
              Lines({"cudaHostAlloc(64)"}));

    // The host waits for nothing, and each direction for compute alone.
    standin::getSettings().hold = true;
    int64_t queries = standin::countQueries();
    int64_t out = rank.start(0, {buffer, nullptr}, {host, nullptr});
    EXPECT_EQ(commsched_wait(out), 0);
    int64_t in = rank.start(1, {host}, {buffer});
    EXPECT_EQ(commsched_wait(in), 0);
    // Each start asks for the progress of its stream once.
    EXPECT_EQ(standin::countQueries(), queries + 2);
    EXPECT_EQ(
        keep(standin::takeLog(), {"cudaStream", "cudaMemcpy"}),
        Lines({"cudaStreamCreateWithFlags()", "cudaStreamWaitEvent(s2, e0)",
               "cudaMemcpyAsync(h0, m1, 16, s2)", "cudaStreamWaitEvent(s0, e2)",
               "cudaStreamCreateWithFlags()", "cudaStreamWaitEvent(s3, e0)",
               "cudaMemcpyAsync(m1, h0, 16, s3)",
               "cudaStreamWaitEvent(s0, e4)"}));
    standin::getSettings().hold = false;
    EXPECT_EQ(commsched_synchronize(), 0);
  });
}

TEST_F(NcclTransfersTest, DoNotEndAGroupOfSends) {
  runRank([&](TestRank &rank) {
    ASSERT_TRUE(rank.load("s = send f32 4 : peer=0; r = recv f32 -> 4 : "
                          "peer=0;" +
                          sites))
        << rank.getError();
    char *sent = rank.allocate(16), *received = rank.allocate(16);
    void *host = commsched_allocate_host(16, 0);
    standin::takeLog();
    int64_t send = rank.start(0, {sent}, {nullptr});
    int64_t out = rank.start(2, {sent, nullptr}, {host, nullptr});
    int64_t receive = rank.start(1, {nullptr}, {received});
    for (int64_t request : {send, receive, out})
      EXPECT_EQ(commsched_wait(request), 0);
    EXPECT_EQ(
        keep(standin::takeLog(),
             {"ncclGroup", "ncclSend", "ncclRecv", "cudaMemcpyAsync"}),
        Lines({"cudaMemcpyAsync(h0, m1, 16, s2)", "ncclGroupStart()",
               "ncclSend(m1, 4, f32, to 0, c1, s1)",
               "ncclRecv(m2, 4, f32, from 0, c1, s1)", "ncclGroupEnd()"}));
  });
}

TEST_F(NcclTransfersTest, ThereIsNoMorePinnedMemory) {
  std::vector<std::string> errors =
      runRanks(1, [](TestRank &rank) -> std::string {
        {
          std::lock_guard<std::recursive_mutex> guard(standin::getLock());
          standin::getSettings().failing["cudaHostAlloc"] =
              cudaErrorMemoryAllocation;
        }
        EXPECT_EQ(commsched_allocate_host(100, 0), nullptr);
        return rank.getError();
      });
  EXPECT_EQ(errors[0], "cannot allocate 100 bytes of host memory with 0 in "
                       "use: cudaHostAlloc: a stand-in's error");
}

TEST_F(NcclTransfersTest, PinnedMemoryCanBeReadAndCopied) {
  runRank([&](TestRank &rank) {
    auto *first = static_cast<char *>(commsched_allocate_host(16, 0));
    auto *second = static_cast<char *>(commsched_allocate_host(16, 0));
    char numbers[16] = "in pinned place", read[16] = {};
    EXPECT_EQ(commsched_upload(first, numbers, 16), 0);
    EXPECT_EQ(commsched_copy(second, -1, 16, first, -1, 16, 1, 16), 0);
    EXPECT_EQ(commsched_download(read, second, 16), 0);
    EXPECT_STREQ(read, numbers);
    commsched_release(first);
    commsched_release(second);
    standin::takeLog();
  });
  EXPECT_EQ(keep(standin::takeLog(), {"cudaFreeHost"}).size(), 2u);
}

namespace {

const char *const few = R"({"name": "few", "method": "nccl", "channels": 4})";
const char *const second = R"({"name": "second", "method": "nccl"})";
const char *const engine = R"({"name": "ce", "method": "copy-engine"})";
const char *const symmetric = R"({"name": "sym", "method": "symmetric"})";

class NcclImplementationsTest : public NcclTest {
protected:
  NcclImplementationsTest() { unsetenv("NCCL_HOSTID"); }

  static std::string refuse(const std::string &implementation,
                            const std::string &sites) {
    return getLoadError(makeProgram(1, sites, "", implementation));
  }
};

} // namespace

TEST_F(NcclImplementationsTest, ConfigureCommunicators) {
  struct Case {
    const char *implementation, *config;
  };
  const Case cases[] = {
      {few, "ncclCommSplit(c0, 0, 0, blocking 0, CTAs 4-4)"},
      {second, "ncclCommSplit(c0, 0, 0, blocking 0)"},
      {engine, "ncclCommSplit(c0, 0, 0, blocking 0, policy 2)"},
      {symmetric, "ncclCommSplit(c0, 0, 0, blocking 0)"}};
  for (const Case &c : cases)
    runRank([&](TestRank &rank) {
      standin::takeLog();
      std::string program = makeProgram(1, "", "", c.implementation);
      EXPECT_EQ(commsched_load_program(program.c_str()), 0) << rank.getError();
      EXPECT_EQ(keep(standin::takeLog(), {"ncclCommSplit"}), Lines({c.config}));
    });
}

TEST_F(NcclImplementationsTest, WorkOnOneWindow) {
  runRank([&](TestRank &rank) {
    standin::takeLog();
    std::string program = makeProgram(
        1, "ag = all_gather i32 3 -> 3; a2a = all_to_all i32 100 -> 100", "",
        engine);
    ASSERT_EQ(commsched_load_program(program.c_str()), 0) << rank.getError();
    // The larger one needs 2 * 400 bytes, in multiples of 256.
    EXPECT_EQ(keep(standin::takeLog(), {"ncclMemAlloc", "ncclCommWindow"}),
              Lines({"ncclMemAlloc(1024)",
                     "ncclCommWindowRegister(c1, m1, 1024, flags 1)"}));
    char *input = rank.allocate(12);
    char *output = rank.allocate(12);
    int64_t staged = commsched_counter("staged_bytes");
    standin::takeLog();
    ASSERT_EQ(commsched_wait(rank.start(0, {input}, {output})), 0);
    EXPECT_EQ(keep(standin::takeLog(), {"nccl", "cudaMemcpy"}),
              Lines({"cudaMemcpyAsync(m1, m2, 12, s1)",
                     "ncclAllGather(m1, m1+256, 3, i32, c1, s1)",
                     "cudaMemcpyAsync(m3, m1+256, 12, s1)"}));
    EXPECT_EQ(commsched_counter("staged_bytes") - staged, 24);

    // A smaller program keeps the window, a larger one makes another.
    std::string smaller =
        makeProgram(1, "ag = all_gather i32 1 -> 1", "", engine);
    ASSERT_EQ(commsched_load_program(smaller.c_str()), 0) << rank.getError();
    EXPECT_EQ(keep(standin::takeLog(), {"ncclMem", "ncclCommWindow"}), Lines());
    std::string larger =
        makeProgram(1, "ag = all_gather i32 1000 -> 1000", "", engine);
    ASSERT_EQ(commsched_load_program(larger.c_str()), 0) << rank.getError();
    EXPECT_EQ(keep(standin::takeLog(), {"ncclMem", "ncclCommWindow"}),
              Lines({"ncclCommWindowDeregister(c1, m1)", "ncclMemFree(m1)",
                     "ncclMemAlloc(8192)",
                     "ncclCommWindowRegister(c1, m4, 8192, flags 1)"}));
  });
  // Before NCCL's ranks leave.
  Lines end = keep(standin::takeLog(), {"ncclCommWindow", "ncclCommFinalize"});
  ASSERT_EQ(end.size(), 3u);
  EXPECT_EQ(end[0], "ncclCommWindowDeregister(c1, m4)");
}

TEST_F(NcclImplementationsTest, RefuseOtherKinds) {
  EXPECT_EQ(refuse(engine, "rs = reduce_scatter i32 4 -> 4 : reduction=sum"),
            "reduce_scatter 'rs': implementation 'ce' of group "
            "'dp' carries out all_gather and all_to_all only");
  EXPECT_EQ(
      refuse(
          engine,
          "x = all_to_all i32 4 -> 4 : input_splits=[[4]] output_splits=[[4]]"),
      "all_to_all 'x': implementation 'ce' of group 'dp' "
      "carries out all_to_all in equal parts only");
  EXPECT_EQ(refuse(symmetric, "x = all_to_all i32 4 -> 4"),
            "all_to_all 'x': implementation 'sym' of group 'dp' "
            "carries out all_gather, reduce_scatter and all_reduce only");
  EXPECT_EQ(refuse(few, "x = all_to_all i32 4 -> 4"), "");
}

TEST_F(NcclImplementationsTest, RefuseOldLibraries) {
  const char *const gather = "ag = all_gather i32 4 -> 4";
  standin::getSettings().ncclVersion = 22703;
  EXPECT_EQ(refuse(engine, gather),
            "all_gather 'ag': implementation 'ce' of group 'dp' "
            "needs NCCL 2.28.0, but 2.27.3 is loaded");
  EXPECT_EQ(refuse(symmetric, gather), "");
  standin::getSettings().ncclVersion = 22605;
  EXPECT_EQ(refuse(symmetric, gather),
            "all_gather 'ag': implementation 'sym' of group 'dp' "
            "needs NCCL 2.27.0, but 2.26.5 is loaded");
  EXPECT_EQ(refuse(few, gather), "");
}

TEST_F(NcclImplementationsTest, RefuseWithoutWindows) {
  standin::getSettings().hasWindows = false;
  std::string program =
      makeProgram(2, "ag = all_gather i32 4 -> 8", "", symmetric);
  auto results = runRanks(2, [&](TestRank &) {
    commsched_load_program(program.c_str());
    return "";
  });
  for (const std::string &error : results)
    EXPECT_NE(
        error.find(
            "group 'dp' (sym): NCCL registers no memory for it: the GPUs of "
            "its ranks do not reach each other's memory, or NCCL_CUMEM_ENABLE "
            "or NCCL_WIN_ENABLE is 0"),
        std::string::npos)
        << error;
  EXPECT_EQ(refuse(symmetric, "ag = all_gather i32 4 -> 4"), "");
  standin::getSettings().hasWindows = true;
  standin::getSettings().failing["ncclMemAlloc"] = ncclUnhandledCudaError;
  EXPECT_EQ(refuse(symmetric, "ag = all_gather i32 4 -> 4"),
            "group 'dp' (sym): no window of 512 bytes: ncclMemAlloc: a "
            "stand-in's error");
}

TEST_F(NcclImplementationsTest, AreReleasedBehindAnotherGroup) {
  standin::getSettings().failing["ncclCommWindowRegister"] =
      ncclUnhandledCudaError;
  TestRank rank(0, 1, 20000);
  std::string program =
      R"({"version": 1, "groups": [{"name": "tp", "size": 1},
          {"name": "dp", "size": 1, "implementation": )" +
      std::string(symmetric) + R"(}], "sites": [)" +
      commsched::runtime::testing::makeSites(
          "ag = all_gather i32 4 -> 4 : group=1") +
      "]}";
  EXPECT_NE(commsched_load_program(program.c_str()), 0);
  EXPECT_NE(rank.getError().find("group 'dp' (sym)"), std::string::npos);
  standin::takeLog();
  EXPECT_NE(commsched_finalize(), 0);
  EXPECT_EQ(keep(standin::takeLog(), {"ncclMemFree"}).size(), 1u);
}

TEST_F(NcclImplementationsTest, ARankThatDoesNotRegister) {
  standin::getSettings().stuck = {"ncclCommWindowRegister"};
  std::string program =
      makeProgram(2, "ag = all_gather i32 4 -> 8", "", symmetric);
  auto results = runRanks(
      2,
      [&](TestRank &) {
        commsched_load_program(program.c_str());
        return "";
      },
      300);
  EXPECT_TRUE(results[0] == "group 'dp' (sym): timed out after 300 ms while "
                            "NCCL registers memory of all its ranks" ||
              results[0].find("rank 1 failed: ") != std::string::npos)
      << results[0];
}
