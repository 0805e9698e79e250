//===- Ranks.cpp - Ranks as threads, for tests ------------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Ranks.h"

#include <atomic>
#include <thread>

using namespace commsched::runtime;

std::vector<std::string> commsched::runtime::testing::Ranks::run(
    const std::function<void(int32_t)> &body) const {
  static std::atomic<int> numJobs{0};
  std::string job = "test " + std::to_string(numJobs++);
  std::vector<std::string> errors(count);
  std::vector<std::thread> threads;
  for (int32_t rank = 0; rank < count; ++rank)
    threads.emplace_back([&, rank] {
      commsched_options options;
      commsched_default_options(&options);
      options.rank = rank;
      options.num_ranks = count;
      options.job = job.c_str();
      options.deadline_ms = 20000;
      if (configure)
        configure(options);
      if (commsched_init(&options) == 0 &&
          (program.empty() || commsched_load_program(program.c_str()) == 0))
        body(rank);
      int32_t status = commsched_finalize();
      errors[rank] = commsched_last_error();
      if ((status != 0) != !errors[rank].empty())
        errors[rank] += " (and a wrong status)";
    });
  for (std::thread &thread : threads)
    thread.join();
  return errors;
}

std::string
commsched::runtime::testing::makeProgram(int32_t size, const std::string &sites,
                                         const std::string &operators) {
  return R"({"version": 1, "groups": [{"name": "dp", "size": )" +
         std::to_string(size) +
         R"(}, {"name": "solo", "size": 1}], "sites": [)" + makeSites(sites) +
         R"(], "operators": [)" + operators + "]}";
}

int64_t commsched::runtime::testing::start(int32_t site, const void *input,
                                           void *output) {
  return commsched_start(site, &input, &output);
}
