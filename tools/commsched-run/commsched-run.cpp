//===- commsched-run.cpp - Runner of compiled programs --------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compiles a module, runs it on ranks that are threads of this process or
// processes of a launcher, compares its results with another module's, and says
// what took how long.
//
//===----------------------------------------------------------------------===//

#include "CommSched/Tools/Main.h"

#include "CommSched/Register.h"
#include "CommSched/Tools/Upstream.h"
#include "OutputComparison.h"
#include "Settings.h"
#include "StepFormats.h"
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

/// Prints `text` as one piece on standard error, with the rank before it.
static void reportRankError(int32_t rank, const std::string &text) {
  llvm::errs() << "rank " + std::to_string(rank) + ": " + text + "\n";
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
  bool run();

private:
  llvm::Error join();
  llvm::Error runAll();
  llvm::Error runProgram(const CompiledProgram &program, Findings &findings);
  llvm::Error runOnce(StepRunner &step, Outputs *outputs, MeasuredRun &run);
  llvm::Expected<MeasuredStep> measure(const CompiledProgram &program,
                                       ArrayRef<MeasuredRun> runs);
  llvm::Error writeOutputs(const CompiledProgram &program,
                           const Findings &findings);
  llvm::Error writeTimeline(const CompiledProgram &program,
                            ArrayRef<MeasuredRun> runs);
  llvm::Error compareFindings(ArrayRef<Findings> findings,
                              std::string &outcome);
  llvm::Error print(ArrayRef<MeasuredStep> steps, StringRef outcome);
  void begin(const Twine &what) {
    if (rank == 0)
      reportProgress(settings, what);
  }

  const Settings &settings;
  const Programs &programs;
  int32_t rank;
  bool different = false;
};

} // namespace

/// Says what the measured times are those of.
static std::string describeMeasurement(const Settings &settings) {
  std::string text =
      "measured: backend " + std::string(commsched_backend_name());
  if (settings.modelledTimes)
    text += "; collectives and operators take as long as the model says";
  return text;
}

bool RankRunner::run() {
  // Before it has joined, the launcher's number is all that is known.
  if (rank < 0 && settings.launcher)
    rank = settings.launcher->rank;
  std::string text;
  if (llvm::Error error = join()) {
    text = llvm::toString(std::move(error));
  } else {
    rank = commsched_rank();
    if (llvm::Error error = runAll()) {
      text = llvm::toString(std::move(error));
      // No effect where the error is the runtime's own.
      commsched_fail(text.c_str());
    }
  }
  if (commsched_finalize() && text.empty())
    text = commsched_last_error();
  if (!text.empty())
    reportRankError(std::max(rank, 0), text);
  return text.empty() && !different;
}

llvm::Error RankRunner::join() {
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
  if (commsched_init(&options))
    return getRuntimeError();
  return llvm::Error::success();
}

llvm::Error RankRunner::runAll() {
  if (settings.sweep)
    return timeCollectives(settings,
                           [this](const Twine &what) { begin(what); });
  std::vector<Findings> findings(programs.size());
  std::vector<MeasuredStep> steps;
  for (auto [program, found] : llvm::zip_equal(programs, findings)) {
    if (llvm::Error error = runProgram(*program, found))
      return error;
    llvm::Expected<MeasuredStep> step = measure(*program, found.runs);
    if (!step)
      return step.takeError();
    steps.push_back(std::move(*step));
  }
  std::string outcome;
  if (findings.size() > 1)
    if (llvm::Error error = compareFindings(findings, outcome))
      return error;

  begin("writing");
  if (llvm::Error error = writeOutputs(*programs.back(), findings.back()))
    return error;
  if (llvm::Error error = writeTimeline(*programs.back(), findings.back().runs))
    return error;
  if (rank == 0)
    if (llvm::Error error = print(steps, outcome))
      return error;
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

llvm::Error RankRunner::runProgram(const CompiledProgram &program,
                                   Findings &findings) {
  begin("preparing '" + program.path + "'");
  StepRunner step(program, settings.inputs, rank);
  if (llvm::Error error = step.readInputs())
    return error;
  if (commsched_load_program(program.description))
    return getRuntimeError();
  if (llvm::Error error = step.allocate())
    return error;

  MeasuredRun warmUp;
  for (int32_t index = 0; index <= settings.repeats; ++index) {
    begin("run " + Twine(index + 1) + " of " + Twine(settings.repeats + 1) +
          " of '" + program.path + "'");
    MeasuredRun run;
    if (llvm::Error error =
            runOnce(step, index == 0 ? &findings.outputs : nullptr, run))
      return error;
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
  return llvm::Error::success();
}

/// Only where nothing is asked for but times, all data is on the device before
/// the clock starts.
llvm::Error RankRunner::runOnce(StepRunner &step, Outputs *outputs,
                                MeasuredRun &run) {
  if (llvm::Error error = step.restore(/*all=*/!outputs))
    return error;
  commsched_reset_peak();
  if (commsched_begin_step())
    return getRuntimeError();
  if (llvm::Error error = step.run(outputs))
    return error;
  run.stepNs = commsched_end_step();
  if (run.stepNs < 0)
    return getRuntimeError();
  run.peakBytes = commsched_peak_bytes();
  run.hostPeakBytes = commsched_host_peak_bytes();
  const commsched_record *records = nullptr;
  int64_t numRecords = commsched_get_records(&records);
  run.records.assign(records, records + numRecords);
  if (llvm::Error error = step.finish(outputs))
    return error;
  return getRuntimeError();
}

llvm::Expected<MeasuredStep> RankRunner::measure(const CompiledProgram &program,
                                                 ArrayRef<MeasuredRun> runs) {
  llvm::Expected<std::vector<int64_t>> largest =
      exchangeLargest(summarize(runs, program.siteCalls).toNumbers());
  if (!largest)
    return largest.takeError();
  return MeasuredStep{program, settings.repeats, describeMeasurement(settings),
                      Summary::fromNumbers(*largest)};
}

llvm::Error RankRunner::compareFindings(ArrayRef<Findings> findings,
                                        std::string &outcome) {
  const CompiledProgram &left = *programs.front(), &right = *programs.back();
  Difference mine =
      compareOutputs(right.plan, findings.front().outputs,
                     findings.back().outputs, getIfGiven(settings.tolerance));
  llvm::Expected<std::vector<Difference>> ranks = exchange(ArrayRef(mine));
  if (!ranks)
    return ranks.takeError();
  for (const Difference &rank : *ranks)
    different |= rank.numDifferent != 0;
  outcome = describeComparison(left, right, *ranks);
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

llvm::Error RankRunner::writeOutputs(const CompiledProgram &program,
                                     const Findings &findings) {
  if (!settings.times.empty())
    if (llvm::Error error = writeOperationTimes(
            replaceRank(settings.times, rank), program, findings.runs))
      return error;
  if (settings.outputDirectory.empty())
    return llvm::Error::success();
  auto write = [&](const Twine &folder, const char *what, size_t index,
                   const ValueType &type, const Bytes &bytes) {
    SmallString<128> path(settings.outputDirectory);
    llvm::sys::path::append(path, "rank" + Twine(rank), folder,
                            what + Twine(index) + ".npy");
    return writeNpy(path, type, bytes);
  };
  const StepPlan &plan = program.plan;
  for (const auto &[place, bytes] : findings.outputs.results) {
    auto [repetition, result] = place;
    bool isOfOne = plan.repetitions && !plan.isCarried[result];
    std::string folder =
        isOfOne ? "iteration" + std::to_string(repetition) : "";
    if (llvm::Error error = write(folder, "result", result,
                                  plan.signature.results[result], bytes))
      return error;
  }
  for (auto [index, argument] : llvm::enumerate(plan.signature.arguments)) {
    if (!argument.type.isMemRef || argument.scratch || plan.isInput[index])
      continue;
    if (llvm::Error error = write("", "arg", index, argument.type,
                                  findings.outputs.arguments[index]))
      return error;
  }
  return llvm::Error::success();
}

/// Writes the run whose step is the median, or all runs, of which each begins
/// when that before it has ended on all ranks.
llvm::Error RankRunner::writeTimeline(const CompiledProgram &program,
                                      ArrayRef<MeasuredRun> runs) {
  if (settings.timeline.empty())
    return llvm::Error::success();
  // Of each run, on the rank where it takes longest.
  llvm::Expected<std::vector<int64_t>> stepsNs =
      exchangeLargest(llvm::map_to_vector(
          runs, [](const MeasuredRun &run) { return run.stepNs; }));
  if (!stepsNs)
    return stepsNs.takeError();
  size_t first = 0, count = runs.size();
  if (settings.timelineRuns == TimelineRuns::Median) {
    first = llvm::find(*stepsNs, getMedian(*stepsNs)) - stepsNs->begin();
    count = 1;
  }
  std::vector<std::vector<commsched_record>> ranks;
  int64_t beginNs = 0;
  for (size_t index = first; index < first + count; ++index) {
    llvm::Expected<std::vector<std::vector<commsched_record>>> ofRun =
        exchangeRecords(runs[index].records);
    if (!ofRun)
      return ofRun.takeError();
    ranks.resize(ofRun->size());
    for (auto [records, added] : llvm::zip_equal(ranks, *ofRun))
      for (commsched_record record : added) {
        record.begin_ns += beginNs;
        record.end_ns += beginNs;
        records.push_back(record);
      }
    beginNs += (*stepsNs)[index];
  }
  if (rank != 0)
    return llvm::Error::success();
  return writeFile(settings.timeline, [&](raw_ostream &os) {
    printTimeline(program, ranks, describeMeasurement(settings), os);
  });
}

llvm::Error RankRunner::print(ArrayRef<MeasuredStep> steps, StringRef outcome) {
  llvm::Error error = writeFile(settings.output, [&](raw_ostream &os) {
    for (const MeasuredStep &step : steps)
      settings.format == Format::Json ? printJson(step, os)
                                      : printTable(step, os);
  });
  if (error)
    return error;
  if (!outcome.empty())
    llvm::outs() << outcome << "\n";
  llvm::outs().flush();
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// The process
//===----------------------------------------------------------------------===//

/// Prints the error of a process before its ranks run, with the rank that its
/// launcher assigned.
static void reportError(const std::optional<commsched_launcher> &launcher,
                        llvm::Error error) {
  std::string text = llvm::toString(std::move(error));
  if (launcher)
    reportRankError(launcher->rank, text);
  else
    llvm::errs() << "commsched-run: " + text + "\n";
}

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
    llvm::Expected<std::unique_ptr<CompiledProgram>> program =
        CompiledProgram::create(context, path, settings);
    if (!program)
      return program.takeError();
    programs.push_back(std::move(*program));
  }
  if (programs.empty())
    return programs;
  if (programs.size() > 1)
    if (llvm::Error error = checkComparable(*programs[0], *programs[1]))
      return error;
  size_t numArguments = programs.back()->plan.signature.arguments.size();
  for (const auto &[index, file] : settings.inputs.files)
    if (index >= numArguments)
      return llvm::createStringError(
          "--input names argument " + Twine(index) + ", but @" +
          programs.back()->plan.signature.name + " has " + Twine(numArguments));
  return programs;
}

/// Runs the ranks of this process; true if all of them succeed.
static bool runRanks(const Settings &settings, const Programs &programs) {
  if (settings.backend != "local")
    return RankRunner(settings, programs, -1).run();
  std::atomic<bool> succeeded = true;
  std::vector<std::thread> threads;
  for (int32_t rank = 0; rank < settings.numThreads; ++rank)
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
  if (llvm::Error error = parseCommandLine(argc, argv, settings)) {
    reportError(settings.launcher, std::move(error));
    return EXIT_FAILURE;
  }

  DialectRegistry registry;
  registerUpstreamDialects(registry);
  registerDialects(registry);
  registerDialectsByName(registry);
  // Ranks share the processors with each other.
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);

  llvm::Expected<Programs> programs = createPrograms(context, settings);
  if (!programs) {
    reportError(settings.launcher, programs.takeError());
    return EXIT_FAILURE;
  }
  return runRanks(settings, *programs) ? EXIT_SUCCESS : EXIT_FAILURE;
}
