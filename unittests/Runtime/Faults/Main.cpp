//===- Main.cpp - One run of one scenario ---------------------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// commsched-faults --backend=B --ranks=N --scenario=S --output=DIR
// --deadline-ms=D: runs all ranks, as threads; for "mpi" it is one rank of
// those that a launcher has started. Each rank that comes to its end says what
// is wrong, writes what happened to DIR/rank-R.json, and its flight record
// beside it.
//
//===----------------------------------------------------------------------===//

#include "Scenarios.h"

#include <nlohmann/json.hpp>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>

#include <unistd.h>

using namespace commsched::faults;
using nlohmann::json;

namespace {

struct Arguments {
  std::string backend, scenario, output;
  int32_t ranks = -1;
  int64_t deadlineMs = 500;
};

/// Whether one process runs all ranks. For NCCL that takes a GPU for each of
/// them, or stand-ins.
bool areThreads(const Arguments &arguments) {
  return arguments.backend != "mpi";
}

/// Thrown where a thread vanishes.
struct Vanished {};

int64_t now() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/// Returns the host's exit code.
int runRank(const Arguments &arguments, const Scenario &scenario, int32_t rank,
            std::function<void()> vanish) {
  Actor actor;
  actor.rank = rank;
  actor.numRanks = arguments.ranks;
  actor.deadlineMs = arguments.deadlineMs;
  actor.vanish = std::move(vanish);
  std::string flightRecord = arguments.output + "/flight-%r.json";
  commsched_default_options(&actor.options);
  actor.options.backend = arguments.backend.c_str();
  actor.options.rank = areThreads(arguments) ? rank : -1;
  actor.options.num_ranks = areThreads(arguments) ? actor.numRanks : -1;
  actor.options.deadline_ms = arguments.deadlineMs;
  actor.options.flight_record = flightRecord.c_str();

  int64_t begin = now();
  if (scenario.prepare)
    scenario.prepare(actor);
  if (!commsched_init(&actor.options))
    scenario.act(actor);
  int64_t acted = now();
  int32_t left = commsched_finalize();
  json result = {{"left", left},
                 {"error", commsched_last_error()},
                 {"act_ms", acted - begin},
                 {"leave_ms", now() - acted}};
  std::ofstream(arguments.output + "/rank-" + std::to_string(rank) + ".json")
      << result.dump() << "\n";
  if (left)
    std::fprintf(stderr, "%s",
                 ("rank " + std::to_string(rank) +
                  ": error: " + commsched_last_error() + "\n")
                     .c_str());
  return left ? EXIT_FAILURE : EXIT_SUCCESS;
}

int runThreads(const Arguments &arguments, const Scenario &scenario) {
  std::vector<int> results(arguments.ranks, EXIT_SUCCESS);
  std::vector<std::thread> threads;
  for (int32_t rank = 0; rank < arguments.ranks; ++rank)
    threads.emplace_back([&, rank] {
      try {
        results[rank] =
            runRank(arguments, scenario, rank, [] { throw Vanished(); });
      } catch (const Vanished &) {
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  for (int result : results)
    if (result)
      return result;
  return EXIT_SUCCESS;
}

/// Mirrors what launchers set for the processes that they start.
int32_t getLaunchedRank() {
  for (const char *name : {"OMPI_COMM_WORLD_RANK", "RANK"})
    if (const char *value = std::getenv(name))
      return std::atoi(value);
  return 0;
}

bool parse(int argc, char **argv, Arguments &arguments) {
  for (int i = 1; i < argc; ++i) {
    std::string argument = argv[i];
    size_t equals = argument.find('=');
    if (equals == std::string::npos)
      return false;
    std::string name = argument.substr(0, equals);
    std::string value = argument.substr(equals + 1);
    if (name == "--backend")
      arguments.backend = value;
    else if (name == "--scenario")
      arguments.scenario = value;
    else if (name == "--output")
      arguments.output = value;
    else if (name == "--ranks")
      arguments.ranks = std::atoi(value.c_str());
    else if (name == "--deadline-ms")
      arguments.deadlineMs = std::atoll(value.c_str());
    else
      return false;
  }
  return true;
}

} // namespace

int main(int argc, char **argv) {
  Arguments arguments;
  if (!parse(argc, argv, arguments)) {
    std::fprintf(stderr, "%s: wrong arguments\n", argv[0]);
    return EXIT_FAILURE;
  }
  for (const Scenario &scenario : getScenarios()) {
    if (arguments.scenario != scenario.name)
      continue;
    if (areThreads(arguments))
      return runThreads(arguments, scenario);
    return runRank(arguments, scenario, getLaunchedRank(), [] { _exit(0); });
  }
  std::fprintf(stderr, "%s: no scenario '%s'\n", argv[0],
               arguments.scenario.c_str());
  return EXIT_FAILURE;
}
