//===- commsched-scaling.cpp - Time and memory on large steps -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Measures what CommSched does to the programs that are given: reading,
// building and solving problems, every pass. Prints one JSON object a program,
// on one line.
//===----------------------------------------------------------------------===//

#include "CommSched/Register.h"
#include "Stages.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"

#include <algorithm>

using namespace mlir;
using namespace mlir::commsched;

static llvm::cl::list<std::string> programPaths(llvm::cl::Positional,
                                                llvm::cl::desc("program..."),
                                                llvm::cl::OneOrMore);
static llvm::cl::opt<unsigned>
    numRuns("runs", llvm::cl::desc("Runs of every stage; the median counts"),
            llvm::cl::init(5));
static llvm::cl::opt<std::string>
    stageFilter("filter",
                llvm::cl::desc("Measure stages whose name contains this"));
static llvm::cl::list<std::string>
    pipelines("pipeline",
              llvm::cl::desc("Measure these pipelines, not each pass"));

/// Every pass, with output that goes nowhere.
static const char *const defaultPipelines[] = {
    "func.func(commsched-order-collectives)",
    "func.func(commsched-estimate-runtime)",
    "func.func(commsched-raise-comms)",
    "func.func(commsched-sink-waits)",
    "func.func(commsched-reorder-compute-for-overlap)",
    "func.func(commsched-reorder-for-peak-memory)",
    "func.func(commsched-reorder-comms-preserving-peak-memory)",
    "func.func(commsched-sink-waits-iterative)",
    "func.func(commsched-simple-overlap)",
    "func.func(test-commsched-annotate-fsdp)",
    "func.func(commsched-bucket-all-gather)",
    "func.func(commsched-bucket-all-gather{plan=auto})",
    "func.func(commsched-bucket-reduce-scatter)",
    "func.func(commsched-bucket-reduce-scatter{plan=auto})",
    "func.func(commsched-schedule{memory-budget=5% buckets=off})",
    "func.func(commsched-schedule{memory-budget=5% buckets=auto})",
    "commsched-pipeline",
    "commsched-align-runtimes{output=/dev/null}",
    "commsched-report{format=json output=/dev/null}",
};

/// The median time and the largest peak; none when the stage fails.
static FailureOr<Sample> measureStage(const Stage &stage,
                                      const Program &program,
                                      const DialectRegistry &registry) {
  std::vector<int64_t> times;
  Sample result;
  for (unsigned run = 0; run < numRuns; ++run) {
    Fixture fixture(program, registry);
    if (failed(stage.run(fixture))) {
      llvm::errs() << program.path << ": stage '" << stage.name << "' failed\n";
      return failure();
    }
    times.push_back(fixture.getSample().timeNs);
    result.peakBytes =
        std::max(result.peakBytes, fixture.getSample().peakBytes);
  }
  auto middle = times.begin() + times.size() / 2;
  std::nth_element(times.begin(), middle, times.end());
  result.timeNs = *middle;
  return result;
}

static LogicalResult measureProgram(StringRef path, ArrayRef<Stage> stages,
                                    const DialectRegistry &registry) {
  int64_t numOps;
  FailureOr<Program> program = loadProgram(path, registry, numOps);
  if (failed(program))
    return failure();
  uint64_t textBytes = 0;
  (void)llvm::sys::fs::file_size(path, textBytes);
  llvm::json::Array rows;
  for (const Stage &stage : stages) {
    if (!StringRef(stage.name).contains(stageFilter))
      continue;
    FailureOr<Sample> sample = measureStage(stage, *program, registry);
    if (failed(sample))
      return failure();
    rows.push_back(llvm::json::Object{{"name", stage.name},
                                      {"verified", stage.verified},
                                      {"time_ns", sample->timeNs},
                                      {"peak_bytes", sample->peakBytes}});
  }
  llvm::json::Object result{
      {"program", path},
      {"num_ops", numOps},
      {"text_bytes", static_cast<int64_t>(textBytes)},
      {"bytecode_bytes", static_cast<int64_t>(program->bytecode.size())},
      {"runs", static_cast<int64_t>(numRuns)},
      {"stages", std::move(rows)}};
  llvm::outs() << llvm::json::Value(std::move(result)) << "\n";
  llvm::outs().flush();
  return success();
}

int main(int argc, char **argv) {
  llvm::cl::ParseCommandLineOptions(
      argc, argv, "Measures CommSched's passes on large programs\n");
  if (numRuns == 0) {
    llvm::errs() << "the option 'runs' must be at least 1\n";
    return 1;
  }
  DialectRegistry registry;
  registerAllDialects(registry);
  registerAllExtensions(registry);
  mlir::commsched::registerDialects(registry);
  mlir::commsched::registerAllPasses();
  if (pipelines.empty())
    for (const char *pipeline : defaultPipelines)
      pipelines.push_back(pipeline);
  std::vector<Stage> stages = makeStages(pipelines);
  for (const std::string &path : programPaths)
    if (failed(measureProgram(path, stages, registry)))
      return 1;
  return 0;
}
