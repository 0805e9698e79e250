//===- Faults.cpp - Ranks that do something wrong -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each scenario is one program on a few ranks, of which one (the culprit) does
// something wrong. A scenario only acts; the lit tests check the messages of
// every rank and their delay.
//
// commsched-faults --backend=B --ranks=N --scenario=S --output=DIR
// --deadline-ms=D: runs all ranks, as threads; for "mpi" it is one rank of
// those that a launcher has started. Each rank that comes to its end says what
// is wrong, writes what happened to DIR/rank-R.json, and its flight record
// beside it.
//===----------------------------------------------------------------------===//

#include "CommSched/Runtime/Runtime.h"

#include <nlohmann/json.hpp>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <unistd.h>

using nlohmann::json;

namespace {

/// The rank that does something wrong.
constexpr int32_t culprit = 1;

/// The rank that a scenario acts as.
struct Actor {
  int32_t rank = 0;
  int32_t numRanks = 0;
  int64_t deadlineMs = 0;
  /// Ends the rank at once, without a word: the process, or where ranks are
  /// threads the thread, by unwinding to its start.
  std::function<void()> vanish;
  /// The options for commsched_init.
  commsched_options options = {};

  bool isCulprit() const { return rank == culprit; }
};

struct Scenario {
  const char *name;
  /// Between commsched_init and commsched_finalize.
  std::function<void(Actor &)> act;
  /// Before commsched_init.
  void (*prepare)(Actor &) = nullptr;
};

/// The sites of the program that all scenarios start from, on the group "dp" of
/// all ranks; 'give' sends from the culprit to rank 0, where 'take' receives.
enum Site : int32_t { gather, reduce, meet, give, take };

/// Elements of every tensor on one rank.
constexpr int64_t elements = 256;
constexpr int64_t bytes = elements * 4;

json makeSite(const char *name, int line, const char *kind, int64_t inputs,
              int64_t outputs) {
  json site = {{"name", name},
               {"location", "step.mlir:" + std::to_string(line) + ":8"},
               {"kind", kind},
               {"group", 0},
               {"tensors", json::array()}};
  if (inputs || outputs)
    site["tensors"].push_back(
        {{"type", "f32"}, {"inputs", inputs}, {"outputs", outputs}});
  return site;
}

json makeProgram(int32_t numRanks) {
  json sites = {
      makeSite("gather", 3, "all_gather", elements, elements * numRanks),
      makeSite("reduce", 5, "all_reduce", elements, elements),
      makeSite("meet", 7, "barrier", 0, 0),
      makeSite("give", 9, "send", elements, 0),
      makeSite("take", 11, "recv", 0, elements)};
  sites[reduce]["reduction"] = "sum";
  sites[give]["peer"] = 0;
  sites[give]["tag"] = 5;
  sites[take]["peer"] = culprit;
  sites[take]["tag"] = 5;
  return {{"version", 1},
          {"groups", {{{"name", "dp"}, {"size", numRanks}}}},
          {"sites", sites}};
}

void sleepFor(int64_t ms) {
  std::this_thread::sleep_for(std::chrono::milliseconds(ms));
}

int32_t load(const json &program) {
  return commsched_load_program(program.dump().c_str());
}
int32_t load(const Actor &actor) { return load(makeProgram(actor.numRanks)); }

/// Buffers large enough for every site; the arena goes with the rank.
int64_t start(Site site, const Actor &actor) {
  const void *input = commsched_allocate(bytes, 0);
  void *output = commsched_allocate(bytes * actor.numRanks, 0);
  return commsched_start(site, &input, &output);
}
void run(Site site, const Actor &actor) {
  if (site == meet)
    commsched_barrier(site);
  else
    commsched_wait(start(site, actor));
  // On GPUs only the compute stream waits; the host waits here.
  commsched_synchronize();
}

void runAll(const Actor &actor) {
  commsched_begin_step();
  run(gather, actor);
  run(reduce, actor);
  run(meet, actor);
  if (actor.isCulprit())
    run(give, actor);
  if (actor.rank == 0)
    run(take, actor);
  commsched_end_step();
}

/// Loads, gathers, lets the culprit do `deed`, and goes on with `next`.
template <typename Deed> void interrupt(Actor &actor, Site next, Deed deed) {
  load(actor);
  run(gather, actor);
  if (actor.isCulprit())
    deed();
  run(next, actor);
}

/// Loads the program, and goes on with `act`.
template <typename Act> auto afterLoading(Act act) {
  return [=](Actor &actor) {
    load(actor);
    act(actor);
  };
}

/// Loads a program that the culprit, or every rank, has changed, and runs it.
template <typename Change> auto loadChanged(Change change, bool isForAll) {
  return [=](Actor &actor) {
    json program = makeProgram(actor.numRanks);
    if (isForAll || actor.isCulprit())
      change(program);
    if (!load(program))
      run(gather, actor);
  };
}
template <typename Change> auto byCulprit(Change change) {
  return loadChanged(change, /*isForAll=*/false);
}
template <typename Change> auto byAll(Change change) {
  return loadChanged(change, /*isForAll=*/true);
}

/// Sets a value of a program.
auto set(const char *pointer, json value) {
  return [=](json &program) { program[json::json_pointer(pointer)] = value; };
}

void nothing(Actor &) {}

} // namespace

static const std::vector<Scenario> &getScenarios() {
  static const std::vector<Scenario> scenarios = {
      // Nothing is wrong: late, but within the deadline.
      {"fine", afterLoading([](Actor &actor) {
         if (actor.isCulprit())
           sleepFor(actor.deadlineMs / 4);
         runAll(actor);
       })},

      // Ranks that end.
      {"vanishes",
       [](Actor &actor) { interrupt(actor, reduce, actor.vanish); }},
      {"killed",
       [](Actor &actor) {
         interrupt(actor, reduce, [] { std::raise(SIGKILL); });
       }},
      {"fails",
       [](Actor &actor) {
         interrupt(actor, reduce, [] { commsched_fail("the disk is full"); });
       }},
      {"vanishes-before-loading",
       [](Actor &actor) {
         if (actor.isCulprit())
           actor.vanish();
         load(actor);
       }},
      {"leaves-early", afterLoading([](Actor &actor) {
         run(gather, actor);
         if (!actor.isCulprit())
           run(reduce, actor);
       })},

      // Ranks that are late, or never come.
      {"late",
       [](Actor &actor) {
         interrupt(actor, reduce, [&] { sleepFor(actor.deadlineMs * 2); });
       }},
      {"late-at-barrier",
       [](Actor &actor) {
         interrupt(actor, meet, [&] { sleepFor(actor.deadlineMs * 2); });
       }},
      {"late-to-join", [](Actor &actor) { load(actor); },
       [](Actor &actor) {
         if (actor.isCulprit())
           sleepFor(actor.deadlineMs * 2);
       }},
      {"late-to-step", afterLoading([](Actor &actor) {
         if (actor.isCulprit())
           sleepFor(actor.deadlineMs * 2);
         commsched_begin_step();
       })},
      {"missing-send", afterLoading([](Actor &actor) {
         if (actor.rank == 0)
           run(take, actor);
         else
           sleepFor(actor.deadlineMs * 2);
       })},

      // Programs that differ.
      {"other-order", byCulprit([](json &program) {
         std::swap(program["sites"][gather], program["sites"][reduce]);
       })},
      {"other-shape", byCulprit([](json &program) {
         json &tensor = program["sites"][gather]["tensors"][0];
         tensor["inputs"] = elements + 1;
         tensor["outputs"] = (elements + 1) * commsched_num_ranks();
       })},
      {"other-type", byCulprit(set("/sites/1/tensors/0/type", "i32"))},
      {"fewer-sites",
       byCulprit([](json &program) { program["sites"].erase(reduce); })},
      {"other-groups", byCulprit(set("/groups/0/name", "tp"))},
      {"one-cannot-load", byCulprit(set("/sites/0/kind", "all_guess"))},

      // Ranks that run the same program in another way.
      {"runs-in-another-order", afterLoading([](Actor &actor) {
         int64_t first = start(actor.isCulprit() ? reduce : gather, actor);
         int64_t second = start(actor.isCulprit() ? gather : reduce, actor);
         commsched_wait(first);
         commsched_wait(second);
         commsched_synchronize();
       })},
      {"skips-one", afterLoading([](Actor &actor) {
         if (!actor.isCulprit())
           run(reduce, actor);
         run(gather, actor);
       })},

      // Mistakes of one rank with its own requests.
      {"waits-twice", afterLoading([](Actor &actor) {
         int64_t request = start(reduce, actor);
         commsched_wait(request);
         commsched_wait(request);
       })},
      {"waits-for-nothing",
       afterLoading([](Actor &actor) { commsched_wait(12345); })},
      {"forgets-to-wait", afterLoading([](Actor &actor) {
         commsched_begin_step();
         start(reduce, actor);
         commsched_end_step();
       })},
      {"leaves-in-flight", afterLoading([](Actor &actor) {
         if (!actor.isCulprit())
           start(reduce, actor);
       })},
      {"unknown-site", afterLoading([](Actor &actor) {
         commsched_start(99, nullptr, nullptr);
       })},
      {"meets-at-a-gather",
       afterLoading([](Actor &actor) { commsched_barrier(gather); })},
      {"starts-a-barrier", afterLoading([](Actor &actor) {
         commsched_start(meet, nullptr, nullptr);
       })},
      {"no-buffer", afterLoading([](Actor &actor) {
         const void *input = nullptr;
         void *output = nullptr;
         commsched_wait(commsched_start(reduce, &input, &output));
       })},
      {"starts-before-loading", [](Actor &actor) { run(reduce, actor); }},

      // Programs that do not fit, on all ranks alike.
      {"absent-ranks",
       byAll(set("/groups/1",
                 {{"name", "odd"}, {"size", 2}, {"ranks", {{0, 7}}}}))},
      {"larger-group", byAll(set("/groups/1", {{"name", "odd"}, {"size", 8}}))},
      {"uneven-groups",
       byAll(set("/groups/1", {{"name", "odd"}, {"size", 2}}))},
      {"unknown-type", byAll(set("/sites/1/tensors/0/type", "f6E3M2FN"))},
      {"unknown-kind", byAll(set("/sites/1/kind", "all_guess"))},
      {"no-json",
       [](Actor &) {
         commsched_load_program("{\"version\": 1, \"sites\": [");
       }},
      {"newer-version", byAll(set("/version", 2))},

      // Hosts that cannot join.
      {"no-backend", nothing,
       [](Actor &actor) { actor.options.backend = "telegraph"; }},
      {"other-number-of-ranks", nothing,
       [](Actor &actor) { actor.options.num_ranks = actor.numRanks + 2; }},
      {"joins-twice", [](Actor &actor) { commsched_init(&actor.options); }},
  };
  return scenarios;
}

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
