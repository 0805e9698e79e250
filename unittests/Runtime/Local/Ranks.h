//===- Ranks.h - Ranks as threads, for tests --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs a function on every rank of a job of the local backend and returns the
// status with which each rank left.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_UNITTESTS_RUNTIME_LOCAL_RANKS_H
#define COMMSCHED_UNITTESTS_RUNTIME_LOCAL_RANKS_H

#include "../SiteText.h"
#include "CommSched/Runtime/Runtime.h"

#include <atomic>
#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace commsched::runtime::testing {

using Errors = std::vector<std::string>;

struct Ranks {
  int32_t count = 2;
  /// Changes of the default options; the deadline is short.
  std::function<void(commsched_options &)> configure;
  /// Loaded by every rank, unless empty.
  std::string program;

  /// Runs `body(rank)` on each, if it has joined and loaded the program, and
  /// finalizes. The errors of the ranks; "" for none.
  Errors run(const std::function<void(int32_t)> &body) const {
    static std::atomic<int> numJobs{0};
    std::string job = "test " + std::to_string(numJobs++);
    Errors errors(count);
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
};

/// A program with the groups "dp" of all `size` ranks and "solo" of one each,
/// and the sites of this text.
inline std::string makeProgram(int32_t size, const std::string &sites,
                               const std::string &operators = "") {
  return R"({"version": 1, "groups": [{"name": "dp", "size": )" +
         std::to_string(size) +
         R"(}, {"name": "solo", "size": 1}], "sites": [)" + makeSites(sites) +
         R"(], "operators": [)" + operators + "]}";
}

/// Starts the site with one tensor.
inline int64_t start(int32_t site, const void *input, void *output) {
  return commsched_start(site, &input, &output);
}

} // namespace commsched::runtime::testing

#endif // COMMSCHED_UNITTESTS_RUNTIME_LOCAL_RANKS_H
