//===- TestRanks.h - Ranks on stand-in GPUs ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs ranks as threads of the test, each through the C interface, and records
// their calls of CUDA and NCCL.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_UNITTESTS_RUNTIME_NCCL_TESTRANKS_H
#define COMMSCHED_UNITTESTS_RUNTIME_NCCL_TESTRANKS_H

#include "../SiteText.h"
#include "CommSched/Runtime/Runtime.h"
#include "Standin.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <initializer_list>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

namespace commsched::test {

using Lines = std::vector<std::string>;

/// The lines that begin with one of the words.
inline Lines keep(const Lines &lines,
                  std::initializer_list<const char *> words) {
  Lines kept;
  for (const std::string &line : lines)
    for (const char *word : words)
      if (line.rfind(word, 0) == 0)
        kept.push_back(line);
  return kept;
}

/// The lines, each with its end.
inline std::string join(const Lines &lines) {
  std::string text;
  for (const std::string &line : lines)
    text += line + "\n";
  return text;
}

/// A program on the group "dp" of all ranks. `sites` is text, `more` and
/// `implementation`, of the group, are JSON.
inline std::string makeProgram(int32_t size, const std::string &sites,
                               const std::string &more = "",
                               const std::string &implementation = "") {
  return R"({"version": 1, "groups": [{"name": "dp", "size": )" +
         std::to_string(size) +
         (implementation.empty() ? ""
                                 : R"(, "implementation": )" + implementation) +
         R"(}], "sites": [)" + runtime::testing::makeSites(sites) + "]" + more +
         "}";
}

/// A rank of the calling thread.
class TestRank {
public:
  TestRank(int32_t rank, int32_t numRanks, int64_t deadlineMs,
           const std::function<void(commsched_options &)> &change = {}) {
    standin::beginThread();
    commsched_options options;
    commsched_default_options(&options);
    options.backend = "nccl";
    options.rank = rank;
    options.num_ranks = numRanks;
    options.deadline_ms = deadlineMs;
    if (change)
      change(options);
    commsched_init(&options);
  }

  int32_t getRank() const { return commsched_rank(); }
  /// Loads a program of makeProgram().
  bool load(const std::string &sites, const std::string &more = "") {
    std::string text = makeProgram(commsched_num_ranks(), sites, more);
    return commsched_load_program(text.c_str()) == 0;
  }
  /// A buffer, which the calls name "m2", "m3", ...: the backend has m0.
  char *allocate(int64_t bytes) {
    return static_cast<char *>(commsched_allocate(bytes, 0));
  }
  int64_t start(int32_t site, std::initializer_list<const void *> inputs,
                std::initializer_list<void *> outputs) {
    return commsched_start(site, inputs.size() ? inputs.begin() : nullptr,
                           outputs.size() ? outputs.begin() : nullptr);
  }
  /// Starts and waits; the calls of NCCL and memsets that came of it.
  Lines run(int32_t site, std::initializer_list<const void *> inputs,
            std::initializer_list<void *> outputs) {
    standin::takeLog();
    commsched_wait(start(site, inputs, outputs));
    return keep(standin::takeLog(), {"nccl", "cudaMemset"});
  }
  /// What went wrong, or "".
  std::string getError() const { return commsched_last_error(); }
};

/// What `body` returns on each rank; a free port, and settings anew.
class NcclTest : public ::testing::Test {
protected:
  NcclTest() {
    standin::resetSettings();
    // Tests of several processes run at the same time.
    std::string folder =
        ::testing::TempDir() + "/commsched-nccl-" + std::to_string(getpid());
    setenv("COMMSCHED_RENDEZVOUS", folder.c_str(), 1);
  }

  std::vector<std::string>
  runRanks(int32_t numRanks, const std::function<std::string(TestRank &)> &body,
           int64_t deadlineMs = 20000) {
    std::vector<std::string> results(numRanks);
    std::vector<std::thread> threads;
    for (int32_t rank = 0; rank < numRanks; ++rank)
      threads.emplace_back([&, rank] {
        TestRank testRank(rank, numRanks, deadlineMs);
        std::string result = body(testRank);
        bool failed = commsched_finalize() != 0;
        results[rank] = failed ? commsched_last_error() : result;
      });
    for (std::thread &thread : threads)
      thread.join();
    return results;
  }
  /// The same for one rank, on this thread.
  void runRank(const std::function<void(TestRank &)> &body) {
    TestRank rank(0, 1, 20000);
    ASSERT_EQ(rank.getError(), "");
    body(rank);
    EXPECT_EQ(commsched_finalize(), 0) << commsched_last_error();
  }
  /// The error of a single rank that loads the program.
  static std::string
  getLoadError(const std::string &program, int64_t deadlineMs = 20000,
               const std::function<void(commsched_options &)> &change = {}) {
    TestRank rank(0, 1, deadlineMs, change);
    commsched_load_program(program.c_str());
    std::string error = rank.getError();
    commsched_finalize();
    return error;
  }
};

} // namespace commsched::test

#endif // COMMSCHED_UNITTESTS_RUNTIME_NCCL_TESTRANKS_H
