//===- commsched-noise.cpp - Robustness of schedules to wrong costs -------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Schedules programs by several pipelines, and simulates each result with the
// costs that were expected and with draws of costs that were not; see
// CostNoise.h. Every result meets the same draws. Prints one JSON object a
// program and pipeline, on one line.
//
//===----------------------------------------------------------------------===//

#include "CommSched/Dialect/CommSchedDialect.h"
#include "CommSched/Register.h"
#include "NoisyStep.h"
#include "Sample.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/JSON.h"

#include <algorithm>

using namespace mlir;
using namespace mlir::commsched;

static llvm::cl::list<std::string> programPaths(llvm::cl::Positional,
                                                llvm::cl::desc("program..."),
                                                llvm::cl::OneOrMore);
static llvm::cl::list<std::string>
    pipelines("pipeline", llvm::cl::OneOrMore,
              llvm::cl::desc("A pipeline and what to call it"),
              llvm::cl::value_desc("name=passes"));
static llvm::cl::opt<uint32_t> numDraws("draws",
                                        llvm::cl::desc("Draws of all costs"),
                                        llvm::cl::init(100));

/// The smallest of `sorted` that is at least as large as so many percent.
static int64_t getPercentile(ArrayRef<int64_t> sorted, int64_t percent) {
  int64_t numAtMost = llvm::divideCeil(sorted.size() * percent, 100);
  return sorted[std::max<int64_t>(numAtMost - 1, 0)];
}

static llvm::json::Object measure(const NoisyStep &step) {
  std::vector<int64_t> times;
  for (uint32_t draw = 0; draw < numDraws; ++draw)
    times.push_back(step.simulate(draw));
  llvm::json::Array drawn(times);
  std::sort(times.begin(), times.end());
  int64_t median = getPercentile(times, 50);
  auto nominal = static_cast<double>(step.getNominalNs());
  return llvm::json::Object{
      {"collectives", step.getNumCollectives()},
      {"peak_memory_bytes", step.getPeakBytes()},
      {"nominal_ns", step.getNominalNs()},
      {"median_ns", median},
      {"p95_ns", getPercentile(times, 95)},
      {"worst_ns", times.back()},
      {"median_to_nominal", static_cast<double>(median) / nominal},
      {"drawn_ns", std::move(drawn)}};
}

static LogicalResult runPipeline(StringRef path, ModuleOp program,
                                 const NamedCosts &costs, StringRef option) {
  auto [name, passes] = option.split('=');
  OwningOpRef<ModuleOp> module(program.clone());
  PassManager manager(program.getContext(), ModuleOp::getOperationName());
  if (failed(parsePassPipeline(passes, manager)))
    return failure();
  LogicalResult result = failure();
  Sample sample = takeSample([&] { result = manager.run(*module); });
  if (failed(result)) {
    llvm::errs() << path << ": the pipeline '" << name << "' failed\n";
    return failure();
  }
  FailureOr<NoisyStep> step = NoisyStep::create(*module, costs);
  if (failed(step))
    return failure();
  llvm::json::Object measured = measure(*step);
  measured["program"] = path;
  measured["pipeline"] = name;
  measured["time_ns"] = sample.timeNs;
  llvm::outs() << llvm::json::Value(std::move(measured)) << "\n";
  llvm::outs().flush();
  return success();
}

static LogicalResult runProgram(StringRef path,
                                const DialectRegistry &registry) {
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.loadDialect<CommSchedDialect, func::FuncDialect>();
  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(path, &context);
  if (!module)
    return failure();
  nameOperations(*module);
  FailureOr<NamedCosts> costs = NoisyStep::readCosts(*module);
  if (failed(costs))
    return failure();
  if (costs->empty())
    return module->emitError("has no function of one block");
  for (const std::string &pipeline : pipelines)
    if (failed(runPipeline(path, *module, *costs, pipeline)))
      return failure();
  return success();
}

int main(int argc, char **argv) {
  llvm::cl::ParseCommandLineOptions(
      argc, argv, "Simulates schedules with costs that are off\n");
  if (numDraws == 0) {
    llvm::errs() << "the option 'draws' must be at least 1\n";
    return 1;
  }
  DialectRegistry registry;
  registerAllDialects(registry);
  registerAllExtensions(registry);
  mlir::commsched::registerDialects(registry);
  mlir::commsched::registerAllPasses();
  for (const std::string &path : programPaths)
    if (failed(runProgram(path, registry)))
      return 1;
  return 0;
}
