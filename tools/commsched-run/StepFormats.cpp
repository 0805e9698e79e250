//===- StepFormats.cpp - Output formats of measured steps -----------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StepFormats.h"

#include "CommSched/Report/RankTimes.h"
#include "CommSched/Report/ReportFormats.h"
#include "CommSched/Report/TextTable.h"
#include "Inputs.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/ScopedPrinter.h"

using namespace mlir;
using namespace mlir::commsched;
using namespace mlir::commsched::run;
namespace json = llvm::json;

//===----------------------------------------------------------------------===//
// Tables and JSON
//===----------------------------------------------------------------------===//

/// For each site what the model says about it; -1 where it says nothing.
static std::vector<SiteTimes> getPredictions(const CompiledProgram &program) {
  std::vector<SiteTimes> predictions(program.getSites().sites.size());
  const std::optional<StepReport> &report = program.getPrediction();
  for (auto [index, site] : llvm::enumerate(program.getPredictedSites())) {
    const CollectiveReport &collective = report->collectives[index];
    if (site >= 0)
      predictions[site] = {collective.startNs,
                           collective.endNs - collective.startNs,
                           collective.exposedNs};
  }
  return predictions;
}

//===----------------------------------------------------------------------===//
// For people
//===----------------------------------------------------------------------===//

using Number = std::optional<int64_t>;

/// The measured value relative to the predicted one.
static std::string formatChange(Number predicted, int64_t measured) {
  if (!predicted || *predicted == 0)
    return "-";
  return llvm::to_string(
      llvm::format("%+.1f %%", 100.0 * (measured - *predicted) / *predicted));
}

static std::string formatTimeOrNone(Number ns) {
  return ns && *ns >= 0 ? formatTime(*ns) : "-";
}

/// Merged collectives carry the names of all their members.
static std::string shorten(const std::string &name) {
  constexpr size_t longest = 40;
  if (name.size() <= longest)
    return name;
  size_t end = longest - 3;
  // Not within a character of UTF-8.
  while (end > 0 && (name[end] & 0xc0) == 0x80)
    --end;
  return name.substr(0, end) + "...";
}

/// Whether the program keeps anything in the memory of the host.
static bool usesHostMemory(const MeasuredStep &step) {
  const std::optional<PredictedTotals> &totals =
      step.program->getPredictedTotals();
  return step.summary.hostPeakBytes > 0 ||
         (totals && totals->hostPeakBytes.value_or(0) > 0);
}

static void printStep(const MeasuredStep &step, raw_ostream &os) {
  PredictedTotals totals =
      step.program->getPredictedTotals().value_or(PredictedTotals());
  TextTable<4> table(1, {"", "predicted", "measured", "difference"});
  auto addTime = [&](const std::string &label, Number prediction,
                     int64_t measured) {
    bool isKnown = measured >= 0;
    table.add({label, formatTimeOrNone(prediction), formatTimeOrNone(measured),
               isKnown ? formatChange(prediction, measured) : "-"});
  };
  std::string label = "step time";
  if (step.program->getPlan().repetitions) {
    addTime("period", totals.periodNs, step.summary.periodNs);
    label = "all repetitions";
  }
  addTime(label, totals.stepNs, step.summary.stepNs);
  addTime("exposed communication", totals.exposedNs, step.summary.exposedNs);
  auto addBytes = [&](const char *label, Number prediction, int64_t measured) {
    table.add({label, prediction ? formatBytes(*prediction) : "-",
               formatBytes(measured), formatChange(prediction, measured)});
  };
  addBytes("peak memory", totals.peakBytes, step.summary.peakBytes);
  if (usesHostMemory(step))
    addBytes("peak host memory", totals.hostPeakBytes,
             step.summary.hostPeakBytes);
  table.print(os);
}

static void printCollectives(const MeasuredStep &step, raw_ostream &os) {
  TextTable<9> table(3, {"collective", "kind", "group", "predicted start",
                         "measured", "predicted duration", "measured",
                         "predicted exposed", "measured"});
  for (auto [site, predicted, measured] :
       llvm::zip_equal(step.program->getSites().sites,
                       getPredictions(*step.program), step.summary.sites)) {
    // Of a step with a steady state, not all functions are called.
    if (step.program->getPlan().repetitions && measured.startNs < 0)
      continue;
    table.add({shorten(site.name), site.kind, site.getStreamName(),
               formatTimeOrNone(predicted.startNs),
               formatTimeOrNone(measured.startNs),
               formatTimeOrNone(predicted.durationNs),
               formatTimeOrNone(measured.durationNs),
               formatTimeOrNone(predicted.exposedNs),
               formatTimeOrNone(measured.exposedNs)});
  }
  table.print(os);
}

void mlir::commsched::run::printTable(const MeasuredStep &step,
                                      raw_ostream &os) {
  const CompiledProgram &program = *step.program;
  os << program.getPath() << ": @" << program.getSignature().name << " on "
     << step.numRanks << (step.numRanks == 1 ? " rank" : " ranks")
     << ", backend " << step.backend << ", ";
  if (std::optional<int64_t> count = program.getPlan().repetitions)
    os << *count << (*count == 1 ? " repetition, " : " repetitions, ");
  if (step.repeats == 0)
    os << "one run without warm-up";
  else
    os << "median of " << step.repeats << (step.repeats == 1 ? " run" : " runs")
       << " after a warm-up";
  os << "\n";
  if (const std::optional<PredictedTotals> &totals =
          program.getPredictedTotals())
    os << "  " << totals->evidence.describe() << "\n";
  else
    os << "  no prediction: " << program.getNoPredictionReason() << "\n";
  os << "  " << step.evidence << "\n";
  printStep(step, os);
  printCollectives(step, os);
  os << "\n";
}

//===----------------------------------------------------------------------===//
// JSON
//===----------------------------------------------------------------------===//

static void printTimes(json::OStream &stream, StringRef key,
                       const SiteTimes &times) {
  if (times.startNs < 0)
    return stream.attribute(key, nullptr);
  stream.attributeObject(key, [&] {
    stream.attribute("start_ns", times.startNs);
    stream.attribute("duration_ns", times.durationNs);
    stream.attribute("exposed_ns", times.exposedNs);
  });
}

void mlir::commsched::run::printJson(const MeasuredStep &step,
                                     raw_ostream &os) {
  const CompiledProgram &program = *step.program;
  PredictedTotals totals =
      program.getPredictedTotals().value_or(PredictedTotals());
  json::OStream stream(os);
  auto printNumber = [&](StringRef key, Number number) {
    stream.attribute(key, number && *number >= 0 ? json::Value(*number)
                                                 : json::Value(nullptr));
  };
  auto printPair = [&](StringRef key, Number predicted, int64_t measured) {
    stream.attributeObject(key, [&] {
      printNumber("predicted", predicted);
      printNumber("measured", measured);
    });
  };
  stream.object([&] {
    stream.attribute("program", toFileText(program.getPath()));
    stream.attribute("function", toFileText(program.getSignature().name));
    stream.attribute("backend", step.backend);
    stream.attribute("ranks", step.numRanks);
    stream.attribute("repeat", step.repeats);
    if (std::optional<int64_t> count = program.getPlan().repetitions)
      stream.attribute("iterations", *count);
    if (program.getPlan().repetitions)
      printPair("period_ns", totals.periodNs, step.summary.periodNs);
    printPair("step_time_ns", totals.stepNs, step.summary.stepNs);
    printPair("exposed_comm_ns", totals.exposedNs, step.summary.exposedNs);
    printPair("peak_memory_bytes", totals.peakBytes, step.summary.peakBytes);
    if (usesHostMemory(step))
      printPair("host_peak_bytes", totals.hostPeakBytes,
                step.summary.hostPeakBytes);
    stream.attributeObject("evidence", [&] {
      if (program.getPredictedTotals())
        stream.attribute("predicted", totals.evidence.describe());
      else
        stream.attribute("predicted", nullptr);
      stream.attribute("measured", step.evidence);
    });
    std::vector<SiteTimes> predictions = getPredictions(program);
    stream.attributeArray("collectives", [&] {
      for (auto [site, predicted, measured] : llvm::zip_equal(
               program.getSites().sites, predictions, step.summary.sites)) {
        stream.objectBegin();
        stream.attribute("name", site.name);
        stream.attribute("kind", site.kind);
        stream.attribute("group", site.group);
        if (!site.implementation.empty())
          stream.attribute("implementation", site.implementation);
        stream.attribute("location", site.location);
        printTimes(stream, "predicted", predicted);
        printTimes(stream, "measured", measured);
        stream.objectEnd();
      }
    });
  });
  os << "\n";
}

//===----------------------------------------------------------------------===//
// Measured times of operations
//===----------------------------------------------------------------------===//

llvm::Error
mlir::commsched::run::writeOperationTimes(StringRef path,
                                          const CompiledProgram &program,
                                          ArrayRef<MeasuredRun> runs) {
  const ProgramSites &sites = program.getSites();
  const SiteMap &map = program.getSiteMap();
  auto siteTimes =
      getMedianTimes(runs, COMMSCHED_RECORD_COLLECTIVE, sites.sites.size());
  auto operatorTimes =
      getMedianTimes(runs, COMMSCHED_RECORD_COMPUTE, sites.operators.size());
  auto getTimeNs = [&](Operation *op) -> std::optional<int64_t> {
    if (auto site = map.sites.find(op); site != map.sites.end())
      return siteTimes[site->second];
    if (auto index = map.operators.find(op); index != map.operators.end())
      return operatorTimes[index->second];
    return std::nullopt;
  };
  RankTimes times;
  for (const TimedFunction &timed : getTimedFunctions(program.getModule()))
    times[toFileText(timed.name)] = makeFunctionTimes(timed, getTimeNs);
  return writeFile(path, [&](raw_ostream &os) { printRankTimes(times, os); });
}

//===----------------------------------------------------------------------===//
// Chrome traces
//===----------------------------------------------------------------------===//

/// Adds the records of a rank as the slices of `process`.
static void addRank(const ProgramSites &program,
                    ArrayRef<commsched_record> records,
                    const StreamThreads &threads, int64_t process,
                    ChromeTrace &trace) {
  constexpr int64_t compute = StreamThreads::computeThread;
  // In their order: records come in that of their beginnings. A wait may begin
  // before what it waits for, which other transfers or collectives delay.
  std::vector<std::vector<int64_t>> startsNs(program.sites.size());
  for (const commsched_record &record : records)
    if (record.kind == COMMSCHED_RECORD_COLLECTIVE)
      startsNs[record.index].push_back(record.begin_ns);
  // The arrow to a wait begins at the last start of its site.
  auto findStart = [&](const commsched_record &wait) {
    const std::vector<int64_t> &starts = startsNs[wait.index];
    auto after = llvm::upper_bound(starts, wait.end_ns);
    return after == starts.begin() ? wait.begin_ns : *std::prev(after);
  };
  for (auto [index, record] : llvm::enumerate(records)) {
    if (record.kind == COMMSCHED_RECORD_COMPUTE) {
      trace.addSlice(process, compute, program.operators[record.index].name,
                     "compute", record.begin_ns, record.end_ns);
      continue;
    }
    const Site &site = program.sites[record.index];
    int64_t thread = threads.lookup(site.getStreamName());
    if (record.kind == COMMSCHED_RECORD_COLLECTIVE) {
      trace.addSlice(process, thread, site.name, site.kind, record.begin_ns,
                     record.end_ns);
      continue;
    }
    trace.addSlice(process, compute, "wait for " + site.name, "wait",
                   record.begin_ns, record.end_ns);
    trace.addWait(process << 32 | static_cast<int64_t>(index), process, thread,
                  findStart(record), compute, record.end_ns);
  }
}

void mlir::commsched::run::printTimeline(
    const CompiledProgram &program,
    ArrayRef<std::vector<commsched_record>> ranks, StringRef evidence,
    raw_ostream &os) {
  const ProgramSites &sites = program.getSites();
  const std::optional<StepReport> &report = program.getPrediction();
  StreamThreads threads;
  if (report)
    addGroups(*report, threads);
  for (const Site &site : sites.sites)
    threads.add(site.getStreamName(), site.isTransfer());

  std::vector<std::pair<std::string, std::string>> facts;
  if (report)
    facts.emplace_back("predicted", report->evidence.describe());
  facts.emplace_back("measured", evidence);
  ChromeTrace trace(os, facts);
  int64_t process = 1;
  if (report) {
    threads.nameIn(trace, process, "predicted");
    addStep(*report, threads, process, trace);
  }
  for (auto [rank, records] : llvm::enumerate(ranks)) {
    ++process;
    threads.nameIn(trace, process,
                   "rank " + std::to_string(rank) + " measured");
    addRank(sites, records, threads, process, trace);
  }
}
