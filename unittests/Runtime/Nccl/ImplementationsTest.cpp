//===- ImplementationsTest.cpp - Tests of implementations by NCCL ---------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestRanks.h"

#include <cstdlib>
#include <cstring>

using namespace commsched::test;

namespace {

/// A program with one group of all ranks by `implementation`, a JSON object.
std::string makeProgram(int32_t size, const std::string &implementation,
                        const std::string &sites) {
  return R"({"version": 1, "groups": [{"name": "dp", "size": )" +
         std::to_string(size) + R"(, "implementation": )" + implementation +
         R"(}], "sites": [)" + commsched::runtime::testing::makeSites(sites) +
         "]}";
}

const char *const few = R"({"name": "few", "method": "nccl", "channels": 4})";
const char *const second = R"({"name": "second", "method": "nccl"})";
const char *const engine = R"({"name": "ce", "method": "copy-engine"})";
const char *const symmetric = R"({"name": "sym", "method": "symmetric"})";

class NcclImplementationsTest : public NcclTest {
protected:
  NcclImplementationsTest() { unsetenv("NCCL_HOSTID"); }

  /// The error of one rank that loads the program.
  std::string getLoadError(const std::string &implementation,
                           const std::string &sites) {
    TestRank rank(0, 1, 20000);
    std::string program = makeProgram(1, implementation, sites);
    commsched_load_program(program.c_str());
    std::string error = rank.getError();
    commsched_finalize();
    return error;
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
      std::string program = makeProgram(1, c.implementation, "");
      EXPECT_EQ(commsched_load_program(program.c_str()), 0) << rank.getError();
      EXPECT_EQ(keep(standin::takeLog(), {"ncclCommSplit"}), Lines({c.config}));
    });
}

TEST_F(NcclImplementationsTest, WorkOnOneWindow) {
  runRank([&](TestRank &rank) {
    standin::takeLog();
    std::string program = makeProgram(
        1, engine,
        "ag = all_gather i32 3 -> 3; a2a = all_to_all i32 100 -> 100");
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
    std::string smaller = makeProgram(1, engine, "ag = all_gather i32 1 -> 1");
    ASSERT_EQ(commsched_load_program(smaller.c_str()), 0) << rank.getError();
    EXPECT_EQ(keep(standin::takeLog(), {"ncclMem", "ncclCommWindow"}), Lines());
    std::string larger =
        makeProgram(1, engine, "ag = all_gather i32 1000 -> 1000");
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
  EXPECT_EQ(
      getLoadError(engine, "rs = reduce_scatter i32 4 -> 4 : reduction=sum"),
      "reduce_scatter 'rs': implementation 'ce' of group "
      "'dp' carries out all_gather and all_to_all only");
  EXPECT_EQ(
      getLoadError(
          engine,
          "x = all_to_all i32 4 -> 4 : input_splits=[[4]] output_splits=[[4]]"),
      "all_to_all 'x': implementation 'ce' of group 'dp' "
      "carries out all_to_all in equal parts only");
  EXPECT_EQ(getLoadError(symmetric, "x = all_to_all i32 4 -> 4"),
            "all_to_all 'x': implementation 'sym' of group 'dp' "
            "carries out all_gather, reduce_scatter and all_reduce only");
  EXPECT_EQ(getLoadError(few, "x = all_to_all i32 4 -> 4"), "");
}

TEST_F(NcclImplementationsTest, RefuseOldLibraries) {
  const char *const gather = "ag = all_gather i32 4 -> 4";
  standin::getSettings().ncclVersion = 22703;
  EXPECT_EQ(getLoadError(engine, gather),
            "all_gather 'ag': implementation 'ce' of group 'dp' "
            "needs NCCL 2.28.0, but 2.27.3 is loaded");
  EXPECT_EQ(getLoadError(symmetric, gather), "");
  standin::getSettings().ncclVersion = 22605;
  EXPECT_EQ(getLoadError(symmetric, gather),
            "all_gather 'ag': implementation 'sym' of group 'dp' "
            "needs NCCL 2.27.0, but 2.26.5 is loaded");
  EXPECT_EQ(getLoadError(few, gather), "");
}

TEST_F(NcclImplementationsTest, RefuseWithoutWindows) {
  standin::getSettings().hasWindows = false;
  EXPECT_EQ(
      getLoadError(symmetric, "ag = all_gather i32 4 -> 4"),
      "group 'dp' (sym): NCCL registers no memory for it: the GPUs of its "
      "ranks do not reach each other's memory, or NCCL_CUMEM_ENABLE or "
      "NCCL_WIN_ENABLE is 0");
  standin::getSettings().hasWindows = true;
  standin::getSettings().failing["ncclMemAlloc"] = ncclUnhandledCudaError;
  EXPECT_EQ(getLoadError(symmetric, "ag = all_gather i32 4 -> 4"),
            "group 'dp' (sym): no window of 512 bytes: ncclMemAlloc: a "
            "stand-in's error");
}

TEST_F(NcclImplementationsTest, ARankThatDoesNotRegister) {
  standin::getSettings().stuck = {"ncclCommWindowRegister"};
  std::string program = makeProgram(2, symmetric, "ag = all_gather i32 4 -> 8");
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
