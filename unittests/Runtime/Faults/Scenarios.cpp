//===- Scenarios.cpp - Faults of ranks ------------------------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Scenarios.h"

#include <chrono>
#include <csignal>
#include <thread>

using namespace commsched::faults;
using nlohmann::json;

namespace {

constexpr int64_t bytes = elements * 4;

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

/// Loads a program that the culprit has changed by `change`, and runs it.
template <typename Change> void loadChanged(Actor &actor, Change change) {
  json program = makeProgram(actor.numRanks);
  if (actor.isCulprit())
    change(program);
  if (!load(program))
    run(gather, actor);
}

/// The same for all ranks.
template <typename Change> void loadBad(Actor &actor, Change change) {
  json program = makeProgram(actor.numRanks);
  change(program);
  if (!load(program))
    run(gather, actor);
}

void nothing(Actor &) {}

} // namespace

const std::vector<Scenario> &commsched::faults::getScenarios() {
  static const std::vector<Scenario> scenarios = {
      // Nothing is wrong: late, but within the deadline.
      {"fine", nothing,
       [](Actor &actor) {
         load(actor);
         if (actor.isCulprit())
           sleepFor(actor.deadlineMs / 4);
         runAll(actor);
       }},

      // Ranks that end.
      {"vanishes", nothing,
       [](Actor &actor) { interrupt(actor, reduce, actor.vanish); }},
      {"killed", nothing,
       [](Actor &actor) {
         interrupt(actor, reduce, [] { std::raise(SIGKILL); });
       }},
      {"fails", nothing,
       [](Actor &actor) {
         interrupt(actor, reduce, [] { commsched_fail("the disk is full"); });
       }},
      {"vanishes-before-loading", nothing,
       [](Actor &actor) {
         if (actor.isCulprit())
           actor.vanish();
         load(actor);
       }},
      {"leaves-early", nothing,
       [](Actor &actor) {
         load(actor);
         run(gather, actor);
         if (!actor.isCulprit())
           run(reduce, actor);
       }},

      // Ranks that are late, or never come.
      {"late", nothing,
       [](Actor &actor) {
         interrupt(actor, reduce, [&] { sleepFor(actor.deadlineMs * 2); });
       }},
      {"late-at-barrier", nothing,
       [](Actor &actor) {
         interrupt(actor, meet, [&] { sleepFor(actor.deadlineMs * 2); });
       }},
      {"late-to-join",
       [](Actor &actor) {
         if (actor.isCulprit())
           sleepFor(actor.deadlineMs * 2);
       },
       [](Actor &actor) { load(actor); }},
      {"late-to-step", nothing,
       [](Actor &actor) {
         load(actor);
         if (actor.isCulprit())
           sleepFor(actor.deadlineMs * 2);
         commsched_begin_step();
       }},
      {"missing-send", nothing,
       [](Actor &actor) {
         load(actor);
         if (actor.rank == 0)
           run(take, actor);
         else
           sleepFor(actor.deadlineMs * 2);
       }},

      // Programs that differ.
      {"other-order", nothing,
       [](Actor &actor) {
         loadChanged(actor, [](json &program) {
           std::swap(program["sites"][gather], program["sites"][reduce]);
         });
       }},
      {"other-shape", nothing,
       [](Actor &actor) {
         loadChanged(actor, [](json &program) {
           json &tensor = program["sites"][gather]["tensors"][0];
           tensor["inputs"] = elements + 1;
           tensor["outputs"] = (elements + 1) * commsched_num_ranks();
         });
       }},
      {"other-type", nothing,
       [](Actor &actor) {
         loadChanged(actor, [](json &program) {
           program["sites"][reduce]["tensors"][0]["type"] = "i32";
         });
       }},
      {"fewer-sites", nothing,
       [](Actor &actor) {
         loadChanged(actor,
                     [](json &program) { program["sites"].erase(reduce); });
       }},
      {"other-groups", nothing,
       [](Actor &actor) {
         loadChanged(
             actor, [](json &program) { program["groups"][0]["name"] = "tp"; });
       }},

      {"one-cannot-load", nothing,
       [](Actor &actor) {
         loadChanged(actor, [](json &program) {
           program["sites"][gather]["kind"] = "all_guess";
         });
       }},

      // Ranks that run the same program in another way.
      {"runs-in-another-order", nothing,
       [](Actor &actor) {
         load(actor);
         int64_t first = start(actor.isCulprit() ? reduce : gather, actor);
         int64_t second = start(actor.isCulprit() ? gather : reduce, actor);
         commsched_wait(first);
         commsched_wait(second);
         commsched_synchronize();
       }},
      {"skips-one", nothing,
       [](Actor &actor) {
         load(actor);
         if (!actor.isCulprit())
           run(reduce, actor);
         run(gather, actor);
       }},

      // Mistakes of one rank with its own requests.
      {"waits-twice", nothing,
       [](Actor &actor) {
         load(actor);
         int64_t request = start(reduce, actor);
         commsched_wait(request);
         commsched_wait(request);
       }},
      {"waits-for-nothing", nothing,
       [](Actor &actor) {
         load(actor);
         commsched_wait(12345);
       }},
      {"forgets-to-wait", nothing,
       [](Actor &actor) {
         load(actor);
         commsched_begin_step();
         start(reduce, actor);
         commsched_end_step();
       }},
      {"leaves-in-flight", nothing,
       [](Actor &actor) {
         load(actor);
         if (!actor.isCulprit())
           start(reduce, actor);
       }},
      {"unknown-site", nothing,
       [](Actor &actor) {
         load(actor);
         commsched_start(99, nullptr, nullptr);
       }},
      {"meets-at-a-gather", nothing,
       [](Actor &actor) {
         load(actor);
         commsched_barrier(gather);
       }},
      {"starts-a-barrier", nothing,
       [](Actor &actor) {
         load(actor);
         commsched_start(meet, nullptr, nullptr);
       }},
      {"no-buffer", nothing,
       [](Actor &actor) {
         load(actor);
         const void *input = nullptr;
         void *output = nullptr;
         commsched_wait(commsched_start(reduce, &input, &output));
       }},
      {"starts-before-loading", nothing,
       [](Actor &actor) { run(reduce, actor); }},

      // Programs that do not fit, on all ranks alike.
      {"absent-ranks", nothing,
       [](Actor &actor) {
         loadBad(actor, [](json &program) {
           program["groups"].push_back(
               {{"name", "odd"}, {"size", 2}, {"ranks", {{0, 7}}}});
         });
       }},
      {"larger-group", nothing,
       [](Actor &actor) {
         loadBad(actor, [](json &program) {
           program["groups"].push_back({{"name", "odd"}, {"size", 8}});
         });
       }},
      {"uneven-groups", nothing,
       [](Actor &actor) {
         loadBad(actor, [](json &program) {
           program["groups"].push_back({{"name", "odd"}, {"size", 2}});
         });
       }},
      {"unknown-type", nothing,
       [](Actor &actor) {
         loadBad(actor, [](json &program) {
           program["sites"][reduce]["tensors"][0]["type"] = "f6E3M2FN";
         });
       }},
      {"unknown-kind", nothing,
       [](Actor &actor) {
         loadBad(actor, [](json &program) {
           program["sites"][reduce]["kind"] = "all_guess";
         });
       }},
      {"no-json", nothing,
       [](Actor &) {
         commsched_load_program("{\"version\": 1, \"sites\": [");
       }},
      {"newer-version", nothing,
       [](Actor &actor) {
         loadBad(actor, [](json &program) { program["version"] = 2; });
       }},

      // Hosts that cannot join.
      {"no-backend", [](Actor &actor) { actor.options.backend = "telegraph"; },
       nothing},
      {"other-number-of-ranks",
       [](Actor &actor) { actor.options.num_ranks = actor.numRanks + 2; },
       nothing},
      {"joins-twice", nothing,
       [](Actor &actor) { commsched_init(&actor.options); }},
  };
  return scenarios;
}
