//===- commsched-parity.cpp - Orders to compare with Inductor's -----------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Says what CommSched makes of the functions of the programs that are given, in
// a form in which another scheduler can be given the same problems and be
// compared: one JSON object a function, on one line. run.py is what reads it.
//
//===----------------------------------------------------------------------===//

#include "CommSched/Register.h"
#include "CommSched/Report/ProblemJson.h"
#include "CommSched/Schedule/Inductor/IterativeReordering.h"
#include "Experiment.h"
#include "Sample.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/CommandLine.h"

using namespace mlir;
using namespace mlir::commsched;

static llvm::cl::list<std::string> programPaths(llvm::cl::Positional,
                                                llvm::cl::desc("program..."),
                                                llvm::cl::OneOrMore);
static llvm::cl::opt<unsigned>
    numRuns("runs", llvm::cl::desc("Runs of everything; the median counts"),
            llvm::cl::init(5));
static llvm::cl::list<std::string>
    pipelines("pipeline",
              llvm::cl::desc("Passes to run, or SETUP;PASSES, of which the "
                             "first are not measured"));
static llvm::cl::list<Solver> solvers(
    "solver", llvm::cl::desc("Solvers to run"),
    llvm::cl::values(
        clEnumValN(Solver::RaiseComms, "raise-comms", "starts early"),
        clEnumValN(Solver::SinkWaits, "sink-waits", "waits late"),
        clEnumValN(Solver::ReorderForOverlap, "reorder-compute-for-overlap",
                   "compute beside collectives"),
        clEnumValN(Solver::ReorderComms, "reorder-comms",
                   "starts early within the budget"),
        clEnumValN(Solver::SinkWaitsIteratively, "sink-waits-iteratively",
                   "waits late within the budget"),
        clEnumValN(Solver::LeastPeakMemoryFirst, "lpmf",
                   "least peak memory first"),
        clEnumValN(Solver::BreadthFirst, "bfs", "breadth first"),
        clEnumValN(Solver::DepthFirst, "dfs", "depth first")));

static void writeInfo(llvm::json::OStream &json, DictionaryAttr info) {
  json.object([&] {
    for (NamedAttribute entry : info) {
      if (auto number = dyn_cast<IntegerAttr>(entry.getValue()))
        json.attribute(entry.getName(), number.getInt());
      else if (auto text = dyn_cast<StringAttr>(entry.getValue()))
        json.attribute(entry.getName(), text.getValue());
    }
  });
}

static void writeOutcome(llvm::json::OStream &json, StringRef name,
                         const Outcome &outcome) {
  json.object([&] {
    json.attribute("name", name);
    json.attribute("time_ns", outcome.timeNs);
    json.attributeArray("order", [&] {
      for (int32_t place : outcome.order)
        json.value(place);
    });
    json.attributeObject("costs", [&] { writeCosts(json, outcome.report); });
    json.attributeArray("reorder_infos", [&] {
      for (auto [place, info] : outcome.reorderInfos)
        json.array([&, place = place, info = info] {
          json.value(place);
          writeInfo(json, info);
        });
    });
  });
}

/// By start, the computation that hides it in the program's order: seen from
/// the start, and from its wait.
static void writeExposures(llvm::json::OStream &json,
                           const schedule::Problem &problem) {
  using schedule::ExposureWalk;
  schedule::Order order = problem.programOrder();
  auto ahead = computeExposure(problem, order, ExposureWalk::FromStart);
  auto back = computeExposure(problem, order, ExposureWalk::FromWait);
  json.attributeArray("exposures", [&] {
    for (schedule::NodeId node : order)
      if (problem.kind(node) == schedule::NodeKind::Start)
        json.array([&] {
          json.value(node);
          json.value(ahead[node].computeNs);
          json.value(back[node].computeNs);
        });
  });
}

static FailureOr<Outcome> runPipeline(Experiment &experiment, StringRef text) {
  auto [setup, pipeline] = text.split(';');
  if (pipeline.empty())
    std::swap(setup, pipeline);
  return experiment.runPipeline(setup, pipeline);
}

static LogicalResult writeFunction(llvm::json::OStream &json, StringRef path,
                                   FunctionOpInterface function,
                                   int64_t parseNs) {
  Experiment experiment(function, numRuns);
  FailureOr<BlockProblem> problem = experiment.createProblem();
  FailureOr<StepReport> report = experiment.report();
  if (failed(problem) || failed(report))
    return failure();
  std::vector<std::pair<StringRef, Outcome>> outcomes;
  auto keep = [&](StringRef name, FailureOr<Outcome> outcome) {
    if (succeeded(outcome))
      outcomes.emplace_back(name, std::move(*outcome));
    return succeeded(outcome);
  };
  for (const std::string &pipeline : pipelines)
    if (!keep(pipeline, runPipeline(experiment, pipeline)))
      return failure();
  for (Solver solver : solvers)
    if (!keep(solvers.getParser().getOption(static_cast<unsigned>(solver)),
              experiment.runSolver(solver)))
      return failure();
  json.object([&] {
    json.attribute("program", path);
    json.attribute("function", function.getName());
    json.attribute("parse_ns", parseNs);
    writeProblem(json, nameProblem(function.getName(), *problem));
    writeExposures(json, problem->getProblem());
    json.attributeObject("costs", [&] { writeCosts(json, *report); });
    json.attributeArray("outcomes", [&] {
      for (auto &[name, outcome] : outcomes)
        writeOutcome(json, name, outcome);
    });
  });
  return success();
}

/// The time that the text of `module` takes to parse, whatever form the program
/// was in.
static int64_t measureParsing(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream(text) << module;
  std::vector<int64_t> times;
  for (unsigned run = 0; run < numRuns; ++run) {
    OwningOpRef<ModuleOp> parsed;
    Sample sample = takeSample([&] {
      parsed = parseSourceString<ModuleOp>(text, module.getContext());
    });
    times.push_back(sample.timeNs);
  }
  return takeMedian(times);
}

static LogicalResult writeProgram(StringRef path,
                                  const DialectRegistry &registry) {
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.loadDialect<CommSchedDialect, func::FuncDialect>();
  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(path, &context);
  if (!module)
    return failure();
  int64_t parseNs = measureParsing(*module);
  for (FunctionOpInterface function : getBenchmarkedFunctions(*module)) {
    llvm::json::OStream json(llvm::outs());
    if (failed(writeFunction(json, path, function, parseNs)))
      return failure();
    llvm::outs() << "\n";
  }
  return success();
}

int main(int argc, char **argv) {
  llvm::cl::ParseCommandLineOptions(
      argc, argv, "Dumps scheduling problems and CommSched's answers\n");
  if (numRuns == 0) {
    llvm::errs() << "the option 'runs' must be at least 1\n";
    return 1;
  }
  DialectRegistry registry;
  registerAllDialects(registry);
  registerAllExtensions(registry);
  mlir::commsched::registerDialects(registry);
  mlir::commsched::registerAllPasses();
  for (const std::string &path : programPaths)
    if (failed(writeProgram(path, registry)))
      return 1;
  return 0;
}
