//===- TestRanks.h - Ranks on stand-in GPUs ---------------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs ranks as threads of the test, each through the C interface, and records
// their calls of CUDA and NCCL.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_UNITTESTS_RUNTIME_NCCL_TESTRANKS_H
#define COMMSCHED_UNITTESTS_RUNTIME_NCCL_TESTRANKS_H

#include "../SiteText.h"
#include "CommSched/Runtime/Runtime.h"
#include "Standin.h"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <initializer_list>
#include <string>
#include <vector>

namespace commsched::test {

using Lines = std::vector<std::string>;

/// A program on the group "dp" of all ranks. `sites` is text, `more` and
/// `implementation`, of the group, are JSON.
std::string makeProgram(int32_t size, const std::string &sites,
                        const std::string &more = "",
                        const std::string &implementation = "");

/// A rank of the calling thread.
class TestRank {
public:
  TestRank(int32_t rank, int32_t numRanks, int64_t deadlineMs,
           const std::function<void(commsched_options &)> &change = {});

  int32_t getRank() const { return commsched_rank(); }
  /// Loads a program of makeProgram().
  bool load(const std::string &sites, const std::string &more = "");
  /// A buffer, which the calls name "m2", "m3", ...: the backend has m0.
  char *allocate(int64_t bytes);
  int64_t start(int32_t site, std::initializer_list<const void *> inputs,
                std::initializer_list<void *> outputs);
  /// Starts and waits; the calls of NCCL and memsets that came of it.
  Lines run(int32_t site, std::initializer_list<const void *> inputs,
            std::initializer_list<void *> outputs);
  /// What went wrong, or "".
  std::string getError() const { return commsched_last_error(); }
};

/// The lines that begin with one of the words.
Lines keep(const Lines &lines, std::initializer_list<const char *> words);

/// The lines, each with its end.
std::string join(const Lines &lines);

/// What `body` returns on each rank; a free port, and settings anew.
class NcclTest : public ::testing::Test {
protected:
  NcclTest();
  std::vector<std::string>
  runRanks(int32_t numRanks, const std::function<std::string(TestRank &)> &body,
           int64_t deadlineMs = 20000);
  /// The same for one rank, on this thread.
  void runRank(const std::function<void(TestRank &)> &body);
  /// The error of a single rank that loads the program.
  static std::string
  getLoadError(const std::string &program, int64_t deadlineMs = 20000,
               const std::function<void(commsched_options &)> &change = {});
};

} // namespace commsched::test

#endif // COMMSCHED_UNITTESTS_RUNTIME_NCCL_TESTRANKS_H
