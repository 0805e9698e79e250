//===- commsched-solve.cpp - Scheduler of dumped problems -----------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Schedules the problems that commsched-dump-problem has written, without their
// IR, and prints one JSON object for each on a line of its own, with the keys
// of commsched-report. It merges nothing, as commsched-schedule with
// buckets=off.
//
//===----------------------------------------------------------------------===//

#include "CommSched/Report/ProblemJson.h"
#include "CommSched/Schedule/Bounds/LowerBounds.h"
#include "CommSched/Schedule/Model/MemoryTimeline.h"
#include "CommSched/Schedule/Model/Simulator.h"
#include "CommSched/Schedule/Step/StepScheduler.h"
#include "CommSched/Support/Unlimited.h"
#include "MemoryBudget.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/WithColor.h"

using namespace mlir::commsched;
using llvm::cl::desc;
using llvm::cl::init;
using schedule::NodeId;
using schedule::Order;
using schedule::Problem;
using schedule::StepSchedule;
using schedule::StepSchedulerOptions;
using schedule::Timeline;

static llvm::cl::opt<std::string>
    problemFile("problem", llvm::cl::Required,
                desc("File of commsched-dump-problem; - is standard input"),
                llvm::cl::value_desc("file"));
static llvm::cl::opt<std::string> memoryBudget(
    "memory-budget", init("0%"),
    desc("Live bytes such as 68719476736, 64GiB or 640MB, or a percentage over "
         "the peak of the program such as 5%"));
static llvm::cl::opt<int32_t>
    slack("slack", init(StepSchedulerOptions().slackPercent),
          desc("By how many percent longer than they are collectives are taken "
               "to be"));
static llvm::cl::opt<bool>
    printOrder("print-order", desc("Print the nodes in their new order too"));

/// The sum of what `problem` keeps allocated at the worst time in `order`.
static int64_t getPeakBytes(const Problem &problem, const Order &order) {
  return schedule::simulateMemory(problem, order)->peakBytes;
}

static int64_t getLimitBytes(const Problem &problem,
                             const MemoryBudget &budget) {
  if (budget.bytes)
    return *budget.bytes;
  int64_t peakBytes = getPeakBytes(problem, problem.programOrder());
  double extra = std::floor(static_cast<double>(peakBytes) * budget.fraction);
  if (!(extra < static_cast<double>(unlimited - peakBytes)))
    return unlimited;
  return peakBytes + static_cast<int64_t>(extra);
}

static void writeCollectives(llvm::json::OStream &json,
                             const NamedProblem &named, const Order &order,
                             const Timeline &timeline) {
  const Problem &problem = named.problem;
  json.attributeArray("collectives", [&] {
    for (NodeId node : order) {
      if (!problem.isCollective(node))
        continue;
      NodeId wait = problem.waitOf(node);
      json.object([&] {
        json.attribute("name", llvm::json::fixUTF8(named.names[node]));
        json.attribute(
            "group", llvm::json::fixUTF8(named.streams[problem.stream(node)]));
        json.attribute("start_ns", timeline.beginNs[node]);
        json.attribute("end_ns", timeline.endNs[node]);
        json.attribute(
            "wait_ns",
            timeline.beginNs[wait == schedule::noNode ? node : wait]);
        json.attribute("exposed_ns", timeline.exposedNs[node]);
      });
    }
  });
}

static void writeReport(const NamedProblem &named,
                        const StepSchedule &schedule) {
  const Problem &problem = named.problem;
  Timeline timeline = *schedule::simulate(problem, schedule.order);
  auto bound = schedule::computeLowerBound(problem);
  auto tightBound = schedule::computeTightLowerBound(problem);
  int64_t numCollectives = 0;
  for (NodeId node = 0; node < problem.numNodes(); ++node)
    numCollectives += problem.isCollective(node);
  llvm::json::OStream json(llvm::outs());
  json.object([&] {
    json.attribute("function", llvm::json::fixUTF8(named.function));
    json.attribute("num_ops", problem.numNodes());
    json.attribute("num_collectives", numCollectives);
    json.attribute("step_time_ns", schedule.stepNs);
    json.attribute("compute_time_ns", timeline.computeNs);
    json.attribute("comm_time_ns", timeline.commNs);
    json.attribute("exposed_comm_ns", timeline.exposedCommNs);
    json.attribute("lower_bound_ns", bound->ns());
    json.attribute("tight_lower_bound_ns", tightBound->ns);
    json.attribute("peak_memory_bytes", schedule.peakBytes);
    writeCollectives(json, named, schedule.order, timeline);
    if (printOrder)
      json.attributeArray("order", [&] {
        for (NodeId node : schedule.order)
          json.value(node);
      });
  });
  llvm::outs() << "\n";
}

static int fail(const llvm::Twine &message) {
  llvm::WithColor::error(llvm::errs(), "commsched-solve") << message << "\n";
  return 1;
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  llvm::cl::ParseCommandLineOptions(
      argc, argv, "Schedules problems dumped by commsched-dump-problem\n");
  MemoryBudget budget;
  if (std::optional<std::string> error =
          parseMemoryBudget(memoryBudget, budget))
    return fail("option 'memory-budget' " + *error);
  if (slack < 0)
    return fail("option 'slack' must not be negative, but is " +
                llvm::Twine(slack));
  auto file = llvm::MemoryBuffer::getFileOrSTDIN(problemFile);
  if (!file)
    return fail("cannot read '" + problemFile +
                "': " + file.getError().message());
  llvm::Expected<std::vector<NamedProblem>> problems =
      parseProblems((*file)->getBuffer());
  if (!problems)
    return fail("'" + problemFile +
                "' is no problem: " + llvm::toString(problems.takeError()));
  for (const NamedProblem &named : *problems) {
    StepSchedulerOptions options;
    options.limitBytes = getLimitBytes(named.problem, budget);
    options.slackPercent = slack;
    auto schedule = schedule::scheduleStep(named.problem, options);
    if (!schedule)
      return fail("function '" + named.function +
                  "' cannot be scheduled: " + schedule.error());
    writeReport(named, *schedule);
  }
  return 0;
}
