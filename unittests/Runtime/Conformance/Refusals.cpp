//===- Refusals.cpp - Programs that must be rejected ----------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Runner.h"
#include "Support.h"

using namespace commsched::conformance;

/// A program with one collective.
static Plan makePlan(commsched_kind kind, const ElementFormat &format,
                     commsched_reduction reduction, int32_t numRanks) {
  Plan plan;
  plan.name = "refusal";
  plan.groups.push_back({"world", 1, {{}}});
  for (int32_t rank = 0; rank < numRanks; ++rank)
    plan.groups[0].rows[0].push_back(rank);
  Case theCase;
  theCase.kind = kind;
  theCase.reduction = reduction;
  theCase.tensors = {{&format, 4}};
  plan.cases.push_back(theCase);
  return plan;
}

static bool contains(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos;
}

/// The error names the reduction, the type and the site.
static void checkRefusal(commsched_kind kind, const ElementFormat &format,
                         commsched_reduction reduction,
                         const RunOptions &options, Report &report) {
  std::string what = std::string(getName(kind)) + " of " + format.name +
                     " by " + getName(reduction);
  report.addRefusal();
  if (options.join(what)) {
    report.addRefusalDefect(what + ": cannot join: " + commsched_last_error());
    commsched_finalize();
    return;
  }
  report.setRank();
  Plan plan = makePlan(kind, format, reduction, commsched_num_ranks());
  int32_t loaded =
      commsched_load_program(makeDescription(plan, commsched_rank()).c_str());
  int32_t left = commsched_finalize();
  std::string error = commsched_last_error();
  if (!loaded)
    report.addRefusalDefect(what + ": not refused");
  else if (!left)
    report.addRefusalDefect(what + ": finalize forgets the error");
  else if (!contains(error, getName(reduction)) ||
           !contains(error, format.name) ||
           !contains(error, std::string(getName(kind)) + "#0"))
    report.addRefusalDefect(
        what +
        ": the error lacks the reduction, the type or the site: " + error);
}

void commsched::conformance::checkRefusals(const RunOptions &options,
                                           Report &report) {
  for (const ElementFormat &format : getElementFormats())
    for (int index = 0; index < numReductions; ++index) {
      auto reduction = static_cast<commsched_reduction>(index);
      if (canReduce(options.backend, format, reduction))
        continue;
      for (commsched_kind kind :
           {COMMSCHED_REDUCE_SCATTER, COMMSCHED_ALL_REDUCE})
        checkRefusal(kind, format, reduction, options, report);
    }
}
