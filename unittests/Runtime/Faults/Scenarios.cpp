//===- Scenarios.cpp - Faults of ranks ------------------------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Scenarios.h"

#include <nlohmann/json.hpp>

#include <chrono>
#include <csignal>
#include <thread>

using namespace commsched::faults;
using nlohmann::json;

namespace {

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

void nothing(Actor &) {}

} // namespace

const std::vector<Scenario> &commsched::faults::getScenarios() {
  static const std::vector<Scenario> scenarios = {
      // Nothing is wrong: late, but within the deadline.
      {"fine",
       [](Actor &actor) {
         load(actor);
         if (actor.isCulprit())
           sleepFor(actor.deadlineMs / 4);
         runAll(actor);
       }},

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
      {"leaves-early",
       [](Actor &actor) {
         load(actor);
         run(gather, actor);
         if (!actor.isCulprit())
           run(reduce, actor);
       }},

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
      {"late-to-step",
       [](Actor &actor) {
         load(actor);
         if (actor.isCulprit())
           sleepFor(actor.deadlineMs * 2);
         commsched_begin_step();
       }},
      {"missing-send",
       [](Actor &actor) {
         load(actor);
         if (actor.rank == 0)
           run(take, actor);
         else
           sleepFor(actor.deadlineMs * 2);
       }},

      // Programs that differ.
      {"other-order", byCulprit([](json &program) {
         std::swap(program["sites"][gather], program["sites"][reduce]);
       })},
      {"other-shape", byCulprit([](json &program) {
         json &tensor = program["sites"][gather]["tensors"][0];
         tensor["inputs"] = elements + 1;
         tensor["outputs"] = (elements + 1) * commsched_num_ranks();
       })},
      {"other-type", byCulprit([](json &program) {
         program["sites"][reduce]["tensors"][0]["type"] = "i32";
       })},
      {"fewer-sites",
       byCulprit([](json &program) { program["sites"].erase(reduce); })},
      {"other-groups",
       byCulprit([](json &program) { program["groups"][0]["name"] = "tp"; })},

      {"one-cannot-load", byCulprit([](json &program) {
         program["sites"][gather]["kind"] = "all_guess";
       })},

      // Ranks that run the same program in another way.
      {"runs-in-another-order",
       [](Actor &actor) {
         load(actor);
         int64_t first = start(actor.isCulprit() ? reduce : gather, actor);
         int64_t second = start(actor.isCulprit() ? gather : reduce, actor);
         commsched_wait(first);
         commsched_wait(second);
         commsched_synchronize();
       }},
      {"skips-one",
       [](Actor &actor) {
         load(actor);
         if (!actor.isCulprit())
           run(reduce, actor);
         run(gather, actor);
       }},

      // Mistakes of one rank with its own requests.
      {"waits-twice",
       [](Actor &actor) {
         load(actor);
         int64_t request = start(reduce, actor);
         commsched_wait(request);
         commsched_wait(request);
       }},
      {"waits-for-nothing",
       [](Actor &actor) {
         load(actor);
         commsched_wait(12345);
       }},
      {"forgets-to-wait",
       [](Actor &actor) {
         load(actor);
         commsched_begin_step();
         start(reduce, actor);
         commsched_end_step();
       }},
      {"leaves-in-flight",
       [](Actor &actor) {
         load(actor);
         if (!actor.isCulprit())
           start(reduce, actor);
       }},
      {"unknown-site",
       [](Actor &actor) {
         load(actor);
         commsched_start(99, nullptr, nullptr);
       }},
      {"meets-at-a-gather",
       [](Actor &actor) {
         load(actor);
         commsched_barrier(gather);
       }},
      {"starts-a-barrier",
       [](Actor &actor) {
         load(actor);
         commsched_start(meet, nullptr, nullptr);
       }},
      {"no-buffer",
       [](Actor &actor) {
         load(actor);
         const void *input = nullptr;
         void *output = nullptr;
         commsched_wait(commsched_start(reduce, &input, &output));
       }},
      {"starts-before-loading", [](Actor &actor) { run(reduce, actor); }},

      // Programs that do not fit, on all ranks alike.
      {"absent-ranks", byAll([](json &program) {
         program["groups"].push_back(
             {{"name", "odd"}, {"size", 2}, {"ranks", {{0, 7}}}});
       })},
      {"larger-group", byAll([](json &program) {
         program["groups"].push_back({{"name", "odd"}, {"size", 8}});
       })},
      {"uneven-groups", byAll([](json &program) {
         program["groups"].push_back({{"name", "odd"}, {"size", 2}});
       })},
      {"unknown-type", byAll([](json &program) {
         program["sites"][reduce]["tensors"][0]["type"] = "f6E3M2FN";
       })},
      {"unknown-kind", byAll([](json &program) {
         program["sites"][reduce]["kind"] = "all_guess";
       })},
      {"no-json",
       [](Actor &) {
         commsched_load_program("{\"version\": 1, \"sites\": [");
       }},
      {"newer-version", byAll([](json &program) { program["version"] = 2; })},

      // Hosts that cannot join.
      {"no-backend", nothing,
       [](Actor &actor) { actor.options.backend = "telegraph"; }},
      {"other-number-of-ranks", nothing,
       [](Actor &actor) { actor.options.num_ranks = actor.numRanks + 2; }},
      {"joins-twice", [](Actor &actor) { commsched_init(&actor.options); }},
  };
  return scenarios;
}
