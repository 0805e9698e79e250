//===- TransfersTest.cpp - Tests of offloads and reloads ------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestRanks.h"

#include <cstring>

using namespace commsched::test;

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
