//===- RankRunner.cpp - One rank of a run ---------------------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RankRunner.h"

#include "llvm/Support/Path.h"

using namespace mlir;
using namespace mlir::commsched::run;

/// Says what the measured times are those of.
static std::string describeMeasurement(const Settings &settings) {
  std::string text =
      "measured: backend " + std::string(commsched_backend_name());
  if (settings.modelledTimes)
    text += "; collectives and operators take as long as the model says";
  return text;
}

void mlir::commsched::run::reportRankError(int32_t rank,
                                           const std::string &text) {
  llvm::errs() << "rank " + std::to_string(rank) + ": " + text + "\n";
}

void mlir::commsched::run::reportProgress(const Settings &settings,
                                          const Twine &what) {
  if (settings.progress)
    llvm::errs() << ("commsched-run: " + what + "\n").str();
}

RankRunner::RankRunner(const Job &job, int32_t rank)
    : job(job), settings(*job.settings), rank(rank) {}

void RankRunner::begin(const Twine &what) {
  if (rank == 0)
    reportProgress(settings, what);
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
  options.job = job.name.c_str();
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
    return timeCollectives(*settings.sweep, settings.repeats, settings.output,
                           [this](const Twine &what) { begin(what); });
  std::vector<Findings> findings(job.programs.size());
  std::vector<MeasuredStep> steps;
  for (auto [program, found] : llvm::zip_equal(job.programs, findings)) {
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
  if (llvm::Error error = writeOutputs(*job.programs.back(), findings.back()))
    return error;
  if (llvm::Error error =
          writeTimeline(*job.programs.back(), findings.back().runs))
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
  begin("preparing '" + program.getPath() + "'");
  StepRunner step(program, settings.inputs, rank);
  if (llvm::Error error = step.readInputs())
    return error;
  if (commsched_load_program(program.getDescription()))
    return getRuntimeError();
  if (llvm::Error error = step.allocate())
    return error;

  MeasuredRun warmUp;
  for (int32_t index = 0; index <= settings.repeats; ++index) {
    begin("run " + Twine(index + 1) + " of " + Twine(settings.repeats + 1) +
          " of '" + program.getPath() + "'");
    MeasuredRun run;
    if (llvm::Error error =
            runOnce(step, index == 0 ? &findings.outputs : nullptr, run))
      return error;
    if (index == 0)
      warmUp = run;
    // Others hold the inputs of all repetitions.
    if (program.getPlan().repetitions) {
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
      exchangeLargest(summarize(runs, program.getSiteCalls()).toNumbers());
  if (!largest)
    return largest.takeError();
  return MeasuredStep{&program,
                      commsched_backend_name(),
                      commsched_num_ranks(),
                      settings.repeats,
                      describeMeasurement(settings),
                      Summary::fromNumbers(*largest)};
}

llvm::Error RankRunner::compareFindings(ArrayRef<Findings> findings,
                                        std::string &outcome) {
  const CompiledProgram &left = *job.programs.front(),
                        &right = *job.programs.back();
  Difference mine =
      compareOutputs(right.getPlan(), findings.front().outputs,
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
  const StepPlan &plan = program.getPlan();
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
    if (argument.type.storage != run::Storage::MemRef || argument.scratch ||
        plan.isInput[index])
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
