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

void commsched::conformance::checkError(const std::string &what,
                                        const RunOptions &options,
                                        Report &report,
                                        const std::vector<std::string> &parts,
                                        const std::function<void()> &body) {
  report.addRefusal();
  if (options.join(what)) {
    report.addRefusalDefect(what + ": cannot join: " + commsched_last_error());
    commsched_finalize();
    return;
  }
  report.setRank();
  body();
  int32_t left = commsched_finalize();
  std::string error = commsched_last_error();
  if (!left)
    report.addRefusalDefect(what + ": no error");
  for (const std::string &part : parts)
    if (left && error.find(part) == std::string::npos)
      report.addRefusalDefect(what + ": the error lacks '" + part +
                              "': " + error);
}

/// The error names the reduction, the type and the site.
static void checkRefusal(commsched_kind kind, const ElementFormat &format,
                         commsched_reduction reduction,
                         const RunOptions &options, Report &report) {
  std::string what = std::string(getName(kind)) + " of " + format.name +
                     " by " + getName(reduction);
  checkError(
      what, options, report,
      {getName(reduction), format.name, std::string(getName(kind)) + "#0"},
      [&] {
        Plan plan = makePlan(kind, format, reduction, commsched_num_ranks());
        std::string program = makeDescription(plan, commsched_rank());
        if (!commsched_load_program(program.c_str()))
          report.addRefusalDefect(what + ": not refused");
      });
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
