//===- commsched-run.cpp - Runner of compiled programs --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compiles a module, runs it on ranks that are threads of this process or
// processes of a launcher, compares its results with another module's, and says
// what took how long.
//===----------------------------------------------------------------------===//

#include "CommSched/Tools/Main.h"

#include "CommSched/Register.h"
#include "CompiledProgram.h"
#include "Settings.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/Path.h"

#include <atomic>
#include <thread>

using namespace mlir;
using namespace mlir::commsched::run;

/// Says on standard error what is being done, if that is asked for.
static void reportProgress(const Settings &settings, const Twine &what) {
  if (settings.progress)
    llvm::errs() << ("commsched-run: " + what + "\n").str();
}

/// Says what the measured times are those of.
static std::string describeMeasurement(const Settings &settings) {
  std::string text =
      "measured: backend " + std::string(commsched_backend_name());
  if (settings.modelledTimes)
    text += "; collectives and operators take as long as the model says";
  return text;
}

namespace {

/// In the order in which they run: what is compared with comes first. Ranks
/// share them.
using Programs = std::vector<std::unique_ptr<CompiledProgram>>;

/// The results of one program on a rank.
struct Findings {
  std::vector<MeasuredRun> runs;
  Outputs outputs;
};

/// The work of one rank: it joins, runs the programs, exchanges its results
/// with the other ranks, writes its files and leaves. Rank 0 also prints the
/// results of all ranks.
class RankRunner {
public:
  /// `rank` is -1 where the launcher knows it.
  RankRunner(const Settings &settings, const Programs &programs, int32_t rank)
      : settings(settings), programs(programs), rank(rank) {}

  /// Runs on the calling thread. An error has been reported, and results that
  /// differ have been printed, when this returns false.
  bool run() {
    // Before it has joined, the launcher's number is all that is known.
    if (rank < 0 && settings.launcher)
      rank = settings.launcher->rank;
    if (succeeded(join())) {
      rank = commsched_rank();
      // The runtime keeps the error.
      (void)runAll();
    }
    commsched_finalize();
    std::string text = commsched_last_error();
    if (!text.empty())
      llvm::errs() << "rank " + std::to_string(std::max(rank, 0)) + ": " +
                          text + "\n";
    return text.empty() && !different;
  }

private:
  void begin(const Twine &what) {
    if (rank == 0)
      reportProgress(settings, what);
  }

  LogicalResult join() {
    commsched_options options;
    commsched_default_options(&options);
    options.backend = settings.backend.c_str();
    if (!settings.launcher || settings.backend == "local") {
      options.rank = std::max(rank, 0);
      options.num_ranks = settings.numRanks;
    }
    // Joins the ranks of this process, if they are threads.
    options.job = "commsched-run";
    if (std::optional<int64_t> deadlineMs = getIfGiven(settings.deadlineMs))
      options.deadline_ms = *deadlineMs;
    options.modelled_times = settings.modelledTimes;
    // Looking for overwritten buffers takes time that no model knows of.
    options.check_buffers = !settings.modelledTimes;
    options.emulate_data = settings.emulateData;
    if (!settings.flightRecord.empty())
      options.flight_record = settings.flightRecord.c_str();
    return success(commsched_init(&options) == 0);
  }

  LogicalResult runAll() {
    if (settings.sweep)
      return timeCollectives(settings,
                             [this](const Twine &what) { begin(what); });
    std::vector<Findings> findings(programs.size());
    std::vector<MeasuredStep> steps;
    for (auto [program, found] : llvm::zip_equal(programs, findings))
      if (failed(runProgram(*program, found)) ||
          failed(measure(*program, found.runs, steps)))
        return failure();
    std::string outcome;
    if (findings.size() > 1 && failed(compareFindings(findings, outcome)))
      return failure();

    begin("writing");
    if (failed(writeOutputs(*programs.back(), findings.back())) ||
        failed(writeTimeline(*programs.back(), findings.back().runs)))
      return failure();
    return rank == 0 ? print(steps, outcome) : success();
  }

  LogicalResult runProgram(const CompiledProgram &program, Findings &findings) {
    begin("preparing '" + program.path + "'");
    StepRunner step(program.plan, settings.inputs, rank);
    if (failed(step.readInputs()) ||
        commsched_load_program(program.description) ||
        failed(step.allocateShared()))
      return failure();

    MeasuredRun warmUp;
    for (int32_t index = 0; index <= settings.repeats; ++index) {
      begin("run " + Twine(index + 1) + " of " + Twine(settings.repeats + 1) +
            " of '" + program.path + "'");
      MeasuredRun run;
      if (failed(runOnce(step, index == 0 ? &findings.outputs : nullptr, run)))
        return failure();
      if (index == 0)
        warmUp = run;
      // Others hold the inputs of all repetitions.
      if (program.plan.repetitions) {
        run.peakBytes = warmUp.peakBytes;
        run.hostPeakBytes = warmUp.hostPeakBytes;
      }
      if (index != 0 || settings.repeats == 0)
        findings.runs.push_back(std::move(run));
    }
    return success();
  }

  /// Only where nothing is asked for but times, all data is on the device
  /// before the clock starts.
  LogicalResult runOnce(StepRunner &step, Outputs *outputs, MeasuredRun &run) {
    if (failed(step.restore(/*all=*/!outputs)))
      return failure();
    commsched_reset_peak();
    if (commsched_begin_step() || failed(step.run(outputs)))
      return failure();
    run.stepNs = commsched_end_step();
    if (run.stepNs < 0)
      return failure();
    run.peakBytes = commsched_peak_bytes();
    run.hostPeakBytes = commsched_host_peak_bytes();
    const commsched_record *records = nullptr;
    int64_t numRecords = commsched_get_records(&records);
    run.records.assign(records, records + numRecords);
    if (failed(step.finish(outputs)))
      return failure();
    return checkRank();
  }

  LogicalResult measure(const CompiledProgram &program,
                        ArrayRef<MeasuredRun> runs,
                        std::vector<MeasuredStep> &steps) {
    std::vector<int64_t> numbers =
        summarize(runs, program.siteCalls).toNumbers();
    if (failed(exchangeLargest(numbers)))
      return failure();
    steps.push_back({program, settings.repeats, describeMeasurement(settings),
                     Summary::fromNumbers(numbers)});
    return success();
  }

  LogicalResult compareFindings(ArrayRef<Findings> findings,
                                std::string &outcome) {
    const CompiledProgram &left = *programs.front(), &right = *programs.back();
    Difference mine =
        compareOutputs(right.plan, findings.front().outputs,
                       findings.back().outputs, getIfGiven(settings.tolerance));
    std::vector<Difference> ranks;
    if (failed(exchange(ArrayRef(mine), ranks)))
      return failure();
    for (const Difference &rank : ranks)
      different |= rank.numDifferent != 0;
    outcome = describeComparison(left, right, ranks);
    return success();
  }

  LogicalResult writeOutputs(const CompiledProgram &program,
                             const Findings &findings) {
    if (!settings.times.empty() &&
        failed(report(writeOperationTimes(replaceRank(settings.times, rank),
                                          program, findings.runs))))
      return failure();
    if (settings.outputDirectory.empty())
      return success();
    auto write = [&](const Twine &folder, const char *what, size_t index,
                     const ValueType &type, const Bytes &bytes) {
      SmallString<128> path(settings.outputDirectory);
      llvm::sys::path::append(path, "rank" + Twine(rank), folder,
                              what + Twine(index) + ".npy");
      return report(writeNpy(path, type, bytes));
    };
    const StepPlan &plan = program.plan;
    for (const auto &[place, bytes] : findings.outputs.results) {
      auto [repetition, result] = place;
      bool isOfOne = plan.repetitions && !plan.step.results[result].isCarried;
      std::string folder =
          isOfOne ? "iteration" + std::to_string(repetition) : "";
      if (failed(write(folder, "result", result, plan.step.results[result].type,
                       bytes)))
        return failure();
    }
    for (auto [index, argument] : llvm::enumerate(plan.step.arguments))
      if (argument.type.isMemRef && !argument.scratch && !argument.isInput &&
          failed(write("", "arg", index, argument.type,
                       findings.outputs.arguments[index])))
        return failure();
    return success();
  }

  /// Writes the run whose step is the median, or all runs, of which each begins
  /// when that before it has ended on all ranks.
  LogicalResult writeTimeline(const CompiledProgram &program,
                              ArrayRef<MeasuredRun> runs) {
    if (settings.timeline.empty())
      return success();
    // Of each run, on the rank where it takes longest.
    std::vector<int64_t> stepsNs;
    for (const MeasuredRun &run : runs)
      stepsNs.push_back(run.stepNs);
    if (failed(exchangeLargest(stepsNs)))
      return failure();
    size_t first = 0, count = runs.size();
    if (settings.timelineRuns == TimelineRuns::Median) {
      first = llvm::find(stepsNs, getMedian(stepsNs)) - stepsNs.begin();
      count = 1;
    }
    std::vector<std::vector<commsched_record>> ranks;
    int64_t beginNs = 0;
    for (size_t index = first; index < first + count; ++index) {
      std::vector<std::vector<commsched_record>> ofRun;
      if (failed(exchangeRecords(runs[index].records, ofRun)))
        return failure();
      ranks.resize(ofRun.size());
      for (auto [records, added] : llvm::zip_equal(ranks, ofRun))
        for (commsched_record record : added) {
          record.begin_ns += beginNs;
          record.end_ns += beginNs;
          records.push_back(record);
        }
      beginNs += stepsNs[index];
    }
    if (rank != 0)
      return success();
    return report(writeFile(settings.timeline, [&](raw_ostream &os) {
      printTimeline(program, ranks, describeMeasurement(settings), os);
    }));
  }

  LogicalResult print(ArrayRef<MeasuredStep> steps, StringRef outcome) {
    if (failed(report(writeFile(settings.output, [&](raw_ostream &os) {
          for (const MeasuredStep &step : steps)
            settings.format == Format::Json ? printJson(step, os)
                                            : printTable(step, os);
        }))))
      return failure();
    if (!outcome.empty())
      llvm::outs() << outcome << "\n";
    llvm::outs().flush();
    return success();
  }

  const Settings &settings;
  const Programs &programs;
  int32_t rank;
  bool different = false;
};

} // namespace

//===----------------------------------------------------------------------===//
// The process
//===----------------------------------------------------------------------===//

/// Compiles what is to run.
static llvm::Expected<Programs> createPrograms(MLIRContext &context,
                                               const Settings &settings) {
  Programs programs;
  for (StringRef path :
       {StringRef(settings.compared), StringRef(settings.program)}) {
    if (path.empty())
      continue;
    if (!settings.launcher || settings.launcher->rank == 0)
      reportProgress(settings, "compiling '" + path + "'");
    programs.push_back(
        settings.exitOnError(CompiledProgram::create(context, path, settings)));
  }
  if (programs.empty())
    return programs;
  const PlannedFunction &step = programs.back()->plan.step;
  if (programs.size() > 1)
    settings.exitOnError(checkComparable(*programs[0], *programs[1]));
  for (const auto &[index, file] : settings.inputs.files)
    if (index >= step.arguments.size())
      return llvm::createStringError("--input names argument " + Twine(index) +
                                     ", but @" + step.name + " has " +
                                     Twine(step.arguments.size()));
  return programs;
}

/// Runs the ranks of this process; true if all of them succeed.
static bool runRanks(const Settings &settings, const Programs &programs) {
  if (settings.backend != "local")
    return RankRunner(settings, programs, -1).run();
  std::atomic<bool> succeeded = true;
  std::vector<std::thread> threads;
  for (int32_t rank = 0; rank < settings.numRanks; ++rank)
    threads.emplace_back([&, rank] {
      if (!RankRunner(settings, programs, rank).run())
        succeeded = false;
    });
  for (std::thread &thread : threads)
    thread.join();
  return succeeded;
}

int mlir::commsched::runMain(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  Settings settings;
  parseCommandLine(argc, argv, settings);

  DialectRegistry registry;
  registerUpstreamDialects(registry);
  registerDialects(registry);
  registerDialectsByName(registry);
  // Ranks share the processors with each other.
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);

  Programs programs = settings.exitOnError(createPrograms(context, settings));
  return runRanks(settings, programs) ? EXIT_SUCCESS : EXIT_FAILURE;
}
