//===- Main.cpp - The conformance suite -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// commsched-conformance: holds a backend to the same results as all others.
// With
// --ranks it starts the ranks itself, as threads; otherwise it is one rank, or
// the only one, of those that a launcher has started.
//===----------------------------------------------------------------------===//

#include "Runner.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <unistd.h>

using namespace commsched::conformance;

int32_t RunOptions::join(const std::string &job) const {
  commsched_options joining;
  commsched_default_options(&joining);
  joining.backend = backend.c_str();
  joining.rank = rank;
  joining.num_ranks = numRanks;
  joining.job = job.c_str();
  joining.deadline_ms = deadlineMs;
  joining.check_buffers = checkBuffers;
  return commsched_init(&joining);
}

/// Whether all ranks are on one node, as NCCL tells nodes apart.
static bool areOnOneNode(const std::string &backend) {
  if (backend != "nccl")
    return true;
  char mine[64] = "";
  const char *given = std::getenv("NCCL_HOSTID");
  if (given)
    std::strncpy(mine, given, sizeof(mine) - 1);
  else
    gethostname(mine, sizeof(mine) - 1);
  std::vector<char> all(commsched_num_ranks() * sizeof(mine));
  commsched_exchange(mine, all.data(), sizeof(mine));
  for (size_t at = 0; at < all.size(); at += sizeof(mine))
    if (std::strcmp(&all[at], mine) != 0)
      return false;
  return true;
}

/// Joins, runs all plans, and leaves. Non-zero on an error.
static int32_t runPlans(const RunOptions &options, Report &report) {
  int32_t joined = options.join("conformance");
  report.setRank();
  if (!joined)
    for (const Plan &plan : makePlans(options.backend, commsched_num_ranks(),
                                      areOnOneNode(options.backend))) {
      if (commsched_load_program(
              makeDescription(plan, commsched_rank()).c_str()))
        break;
      runCases(plan, report);
      checkBarrier(plan, report);
    }
  if (!joined && !*commsched_last_error())
    checkTransfers(report);
  report.addUp();
  return commsched_finalize();
}

int commsched::conformance::runRank(const RunOptions &options) {
  Report report;
  if (options.onlyRefusals) {
    checkRefusals(options, report);
    checkTransferErrors(options, report);
  } else if (runPlans(options, report)) {
    std::printf("rank %d: error: %s\n", static_cast<int>(report.getRank()),
                commsched_last_error());
    return EXIT_FAILURE;
  }
  if (report.getRank() == 0) {
    std::printf("%s, %d ranks\n", options.backend.c_str(),
                static_cast<int>(report.getNumRanks()));
    report.print();
  }
  return report.hasDefects() ? EXIT_FAILURE : EXIT_SUCCESS;
}

/// Runs all ranks.
static int runThreads(const RunOptions &options) {
  std::atomic<int> result = EXIT_SUCCESS;
  std::vector<std::thread> threads;
  for (int32_t rank = 0; rank < options.numRanks; ++rank)
    threads.emplace_back([&, rank] {
      RunOptions mine = options;
      mine.rank = rank;
      if (int failed = runRank(mine))
        result = failed;
    });
  for (std::thread &thread : threads)
    thread.join();
  return result;
}

/// The value of `argument` if it is "--name=value".
static const char *getValue(const char *argument, const char *name) {
  size_t length = std::strlen(name);
  return std::strncmp(argument, name, length) == 0 && argument[length] == '='
             ? argument + length + 1
             : nullptr;
}

int main(int argc, char **argv) {
  RunOptions options;
  for (int i = 1; i < argc; ++i) {
    if (const char *backend = getValue(argv[i], "--backend")) {
      options.backend = backend;
    } else if (const char *ranks = getValue(argv[i], "--ranks")) {
      options.numRanks = std::atoi(ranks);
    } else if (std::strcmp(argv[i], "--refusals") == 0) {
      options.onlyRefusals = true;
    } else if (std::strcmp(argv[i], "--check-buffers") == 0) {
      options.checkBuffers = true;
    } else if (std::strcmp(argv[i], "--print-support") == 0) {
      printSupport();
      return EXIT_SUCCESS;
    } else {
      std::fprintf(stderr,
                   "usage: %s [--backend=local|mpi|nccl] [--ranks=N] "
                   "[--check-buffers] [--refusals] "
                   "[--print-support]\n",
                   argv[0]);
      return EXIT_FAILURE;
    }
  }
  return options.numRanks > 0 ? runThreads(options) : runRank(options);
}
