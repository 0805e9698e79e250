//===- FuzzJson.cpp - Fuzz target: files in JSON --------------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The first line of an input says what reads the others: "problems",
// "profile" or "operations". A problem that is read is scheduled within the
// peak memory of its program.
//
//===----------------------------------------------------------------------===//

#include "CommSched/CostModel/CollectiveCost.h"
#include "CommSched/CostModel/MeasuredTable.h"
#include "CommSched/OperationTables/OperationTable.h"
#include "CommSched/Report/ProblemJson.h"
#include "CommSched/Schedule/Model/MemoryTimeline.h"
#include "CommSched/Schedule/Model/Verify.h"
#include "CommSched/Schedule/Step/StepScheduler.h"

#include <cstdlib>

using namespace mlir::commsched;
using llvm::StringRef;

static void fail(StringRef what, StringRef reason) {
  llvm::errs() << what << ": " << reason << "\n";
  std::abort();
}

/// Schedules a problem that was accepted, and checks the answer.
static void scheduleWithinPeak(const schedule::Problem &problem) {
  Result<schedule::MemoryTimeline> memory =
      simulateMemory(problem, problem.programOrder());
  // The order of the file need not be a legal one.
  if (!memory)
    return;
  schedule::StepSchedulerOptions options;
  options.limitBytes = memory->peakBytes;
  options.effort = 10000;
  Result<schedule::StepSchedule> step = scheduleStep(problem, options);
  if (!step)
    return;
  if (Status status = verify(problem, step->order); !status)
    fail("the schedule is not legal", status.error());
  if (step->peakBytes > memory->peakBytes)
    fail("the schedule is over the budget", std::to_string(step->peakBytes));
}

static void readProblems(StringRef text) {
  llvm::Expected<std::vector<NamedProblem>> problems = parseProblems(text);
  if (!problems)
    return llvm::consumeError(problems.takeError());
  for (const NamedProblem &named : *problems)
    if (named.problem.numNodes() <= 256)
      scheduleWithinPeak(named.problem);
}

static void readProfile(StringRef text) {
  llvm::Expected<cost::MeasuredTable> table = cost::MeasuredTable::parse(text);
  if (!table)
    llvm::consumeError(table.takeError());
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  StringRef input(reinterpret_cast<const char *>(data), size);
  auto [kind, text] = input.split('\n');
  if (kind == "problems")
    readProblems(text);
  else if (kind == "profile")
    readProfile(text);
  else if (kind == "operations")
    (void)OperationTable::parse(text, "table.json");
  else
    return -1;
  return 0;
}
