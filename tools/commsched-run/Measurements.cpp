//===- Measurements.cpp - Times and memory of runs ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Measurements.h"

#include "CommSched/Report/RankTimes.h"
#include "CommSched/Report/ReportFormats.h"
#include "CommSched/Report/TextTable.h"
#include "CompiledProgram.h"
#include "llvm/ADT/SmallVectorExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/ScopedPrinter.h"

#include <algorithm>

using namespace mlir;
using namespace mlir::commsched;
using namespace mlir::commsched::run;
namespace json = llvm::json;

//===----------------------------------------------------------------------===//
// Measurements
//===----------------------------------------------------------------------===//

/// How many numbers precede those of the sites.
static constexpr size_t numStepNumbers = 5;
static constexpr size_t numSiteNumbers = 3;

std::vector<int64_t> Summary::toNumbers() const {
  std::vector<int64_t> numbers = {stepNs, periodNs, exposedNs, peakBytes,
                                  hostPeakBytes};
  for (const SiteTimes &site : sites)
    numbers.insert(numbers.end(),
                   {site.startNs, site.durationNs, site.exposedNs});
  return numbers;
}

Summary Summary::fromNumbers(ArrayRef<int64_t> numbers) {
  Summary summary{numbers[0], numbers[1], numbers[2],
                  numbers[3], numbers[4], {}};
  for (numbers = numbers.drop_front(numStepNumbers); !numbers.empty();
       numbers = numbers.drop_front(numSiteNumbers))
    summary.sites.push_back({numbers[0], numbers[1], numbers[2]});
  return summary;
}

int64_t mlir::commsched::run::getMedian(std::vector<int64_t> values) {
  auto middle = values.begin() + (values.size() - 1) / 2;
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// The time from one repetition to the next; -1 where it is not known.
static int64_t findPeriod(const MeasuredRun &run, ArrayRef<int64_t> siteCalls) {
  std::vector<std::vector<int64_t>> startsNs(siteCalls.size());
  for (const commsched_record &record : run.records)
    if (record.kind == COMMSCHED_RECORD_COLLECTIVE &&
        static_cast<size_t>(record.index) < startsNs.size())
      startsNs[record.index].push_back(record.begin_ns);
  std::vector<int64_t> periodsNs;
  for (auto [starts, calls] : llvm::zip_equal(startsNs, siteCalls)) {
    auto size = static_cast<int64_t>(starts.size());
    int64_t middle = calls / 2, last = calls - 1;
    if (middle >= last || size == 0 || size % calls != 0)
      continue;
    int64_t ofCall = size / calls;
    periodsNs.push_back((starts[last * ofCall] - starts[middle * ofCall]) /
                        (last - middle));
  }
  return periodsNs.empty() ? -1 : getMedian(std::move(periodsNs));
}

/// The numbers of one run.
static Summary getNumbers(const MeasuredRun &run, ArrayRef<int64_t> siteCalls) {
  size_t numSites = siteCalls.size();
  Summary summary;
  summary.stepNs = run.stepNs;
  summary.exposedNs = 0;
  summary.periodNs = findPeriod(run, siteCalls);
  summary.peakBytes = run.peakBytes;
  summary.hostPeakBytes = run.hostPeakBytes;
  summary.sites.resize(numSites);
  auto add = [](int64_t &sum, int64_t time) {
    sum = std::max<int64_t>(sum, 0) + time;
  };
  for (const commsched_record &record : run.records) {
    int64_t time = record.end_ns - record.begin_ns;
    auto index = static_cast<size_t>(record.index);
    if (record.kind == COMMSCHED_RECORD_COMPUTE || index >= numSites)
      continue;
    SiteTimes &site = summary.sites[index];
    if (record.kind == COMMSCHED_RECORD_WAIT) {
      add(site.exposedNs, time);
      summary.exposedNs += time;
      continue;
    }
    if (site.startNs < 0)
      site.startNs = record.begin_ns;
    add(site.durationNs, time);
    add(site.exposedNs, 0);
  }
  return summary;
}

Summary mlir::commsched::run::summarize(ArrayRef<MeasuredRun> runs,
                                        ArrayRef<int64_t> siteCalls) {
  // By number its values in all runs.
  std::vector<std::vector<int64_t>> lists;
  for (const MeasuredRun &run : runs) {
    std::vector<int64_t> numbers = getNumbers(run, siteCalls).toNumbers();
    lists.resize(numbers.size());
    for (auto [list, number] : llvm::zip_equal(lists, numbers))
      list.push_back(number);
  }
  return Summary::fromNumbers(llvm::map_to_vector(lists, getMedian));
}

std::vector<std::optional<int64_t>>
mlir::commsched::run::getMedianTimes(ArrayRef<MeasuredRun> runs,
                                     commsched_record_kind kind, size_t count) {
  std::vector<std::vector<int64_t>> times(count);
  for (const MeasuredRun &run : runs)
    for (const commsched_record &record : run.records)
      if (record.kind == kind && static_cast<size_t>(record.index) < count)
        times[record.index].push_back(record.end_ns - record.begin_ns);
  std::vector<std::optional<int64_t>> medians(count);
  for (size_t index = 0; index < count; ++index)
    if (!times[index].empty())
      medians[index] = getMedian(std::move(times[index]));
  return medians;
}

//===----------------------------------------------------------------------===//
// Exchange between ranks
//===----------------------------------------------------------------------===//

LogicalResult mlir::commsched::run::checkRank() {
  return success(*commsched_last_error() == '\0');
}

LogicalResult mlir::commsched::run::report(llvm::Error error) {
  if (!error)
    return success();
  commsched_fail(llvm::toString(std::move(error)).c_str());
  return failure();
}

LogicalResult
mlir::commsched::run::exchangeLargest(std::vector<int64_t> &numbers) {
  std::vector<int64_t> all;
  if (failed(exchange(ArrayRef(numbers), all)))
    return failure();
  for (auto [index, value] : llvm::enumerate(all)) {
    int64_t &largest = numbers[index % numbers.size()];
    largest = std::max(largest, value);
  }
  return success();
}

LogicalResult mlir::commsched::run::exchangeRecords(
    ArrayRef<commsched_record> mine,
    std::vector<std::vector<commsched_record>> &ranks) {
  std::vector<int64_t> counts;
  if (failed(exchange(ArrayRef<int64_t>(mine.size()), counts)))
    return failure();
  size_t most = *std::max_element(counts.begin(), counts.end());
  std::vector<commsched_record> padded(mine.begin(), mine.end()), all;
  padded.resize(most);
  if (failed(exchange(ArrayRef(padded), all)))
    return failure();
  ranks.clear();
  for (auto [rank, count] : llvm::enumerate(counts)) {
    auto first = all.begin() + rank * most;
    ranks.emplace_back(first, first + count);
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Tables and JSON
//===----------------------------------------------------------------------===//

namespace {
/// A number that is predicted and measured; -1 where it is not known.
struct Figure {
  const char *key;
  const char *label;
  std::string (*format)(int64_t);
  int64_t predicted;
  int64_t measured;
};
} // namespace

static std::vector<Figure> listFigures(const MeasuredStep &step) {
  const Summary &predicted = step.program.predicted, &measured = step.summary;
  std::vector<Figure> figures;
  bool repeats = step.program.plan.repetitions.has_value();
  if (repeats)
    figures.push_back({"period_ns", "period", formatTime, predicted.periodNs,
                       measured.periodNs});
  figures.push_back({"step_time_ns", repeats ? "all repetitions" : "step time",
                     formatTime, predicted.stepNs, measured.stepNs});
  figures.push_back({"exposed_comm_ns", "exposed communication", formatTime,
                     predicted.exposedNs, measured.exposedNs});
  figures.push_back({"peak_memory_bytes", "peak memory", formatBytes,
                     predicted.peakBytes, measured.peakBytes});
  if (measured.hostPeakBytes > 0 || predicted.hostPeakBytes > 0)
    figures.push_back({"host_peak_bytes", "peak host memory", formatBytes,
                       predicted.hostPeakBytes, measured.hostPeakBytes});
  return figures;
}

/// The measured value relative to the predicted one.
static std::string formatChange(int64_t predicted, int64_t measured) {
  if (predicted <= 0 || measured < 0)
    return "-";
  return llvm::to_string(
      llvm::format("%+.1f %%", 100.0 * (measured - predicted) / predicted));
}

static std::string formatOrNone(int64_t number,
                                std::string (*format)(int64_t) = formatTime) {
  return number >= 0 ? format(number) : "-";
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

void mlir::commsched::run::printTable(const MeasuredStep &step,
                                      raw_ostream &os) {
  const CompiledProgram &program = step.program;
  int32_t numRanks = commsched_num_ranks();
  os << program.path << ": @" << program.plan.step.name << " on " << numRanks
     << (numRanks == 1 ? " rank" : " ranks") << ", backend "
     << commsched_backend_name() << ", ";
  std::optional<int64_t> count = program.plan.repetitions;
  if (count)
    os << *count << (*count == 1 ? " repetition, " : " repetitions, ");
  if (step.repeats == 0)
    os << "one run without warm-up";
  else
    os << "median of " << step.repeats << (step.repeats == 1 ? " run" : " runs")
       << " after a warm-up";
  os << "\n  ";
  if (program.evidence.empty())
    os << "no prediction: " << program.noPredictionReason;
  else
    os << program.evidence;
  os << "\n  " << step.evidence << "\n";

  TextTable<4> figures(1, {"", "predicted", "measured", "difference"});
  for (const Figure &figure : listFigures(step))
    figures.add({figure.label, formatOrNone(figure.predicted, figure.format),
                 formatOrNone(figure.measured, figure.format),
                 formatChange(figure.predicted, figure.measured)});
  figures.print(os);

  TextTable<9> collectives(3, {"collective", "kind", "group", "predicted start",
                               "measured", "predicted duration", "measured",
                               "predicted exposed", "measured"});
  for (auto [site, predicted, measured] : llvm::zip_equal(
           program.sites.sites, program.predicted.sites, step.summary.sites)) {
    // Of a step with a steady state, not all functions are called.
    if (count && measured.startNs < 0)
      continue;
    collectives.add(
        {shorten(site.name), site.kind, site.getStreamName(),
         formatOrNone(predicted.startNs), formatOrNone(measured.startNs),
         formatOrNone(predicted.durationNs), formatOrNone(measured.durationNs),
         formatOrNone(predicted.exposedNs), formatOrNone(measured.exposedNs)});
  }
  collectives.print(os);
  os << "\n";
}

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
  const CompiledProgram &program = step.program;
  json::OStream stream(os);
  auto printNumber = [&](StringRef key, int64_t number) {
    stream.attribute(key,
                     number >= 0 ? json::Value(number) : json::Value(nullptr));
  };
  stream.object([&] {
    stream.attribute("program", toFileText(program.path));
    stream.attribute("function", toFileText(program.plan.step.name));
    stream.attribute("backend", commsched_backend_name());
    stream.attribute("ranks", commsched_num_ranks());
    stream.attribute("repeat", step.repeats);
    if (program.plan.repetitions)
      stream.attribute("iterations", *program.plan.repetitions);
    for (const Figure &figure : listFigures(step))
      stream.attributeObject(figure.key, [&] {
        printNumber("predicted", figure.predicted);
        printNumber("measured", figure.measured);
      });
    stream.attributeObject("evidence", [&] {
      stream.attribute("predicted", program.evidence.empty()
                                        ? json::Value(nullptr)
                                        : json::Value(program.evidence));
      stream.attribute("measured", step.evidence);
    });
    stream.attributeArray("collectives", [&] {
      for (auto [site, predicted, measured] :
           llvm::zip_equal(program.sites.sites, program.predicted.sites,
                           step.summary.sites)) {
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
// Times of operations and Chrome traces
//===----------------------------------------------------------------------===//

llvm::Error
mlir::commsched::run::writeOperationTimes(StringRef path,
                                          const CompiledProgram &program,
                                          ArrayRef<MeasuredRun> runs) {
  llvm::DenseMap<Operation *, std::optional<int64_t>> timesNs;
  auto read = [&](ArrayRef<Site> sites, commsched_record_kind kind) {
    for (auto [site, time] :
         llvm::zip_equal(sites, getMedianTimes(runs, kind, sites.size())))
      if (site.op)
        timesNs[site.op] = time;
  };
  read(program.sites.sites, COMMSCHED_RECORD_COLLECTIVE);
  read(program.sites.operators, COMMSCHED_RECORD_COMPUTE);
  auto getTimeNs = [&](Operation *op) { return timesNs.lookup(op); };
  RankTimes times;
  for (const TimedFunction &timed : getTimedFunctions(*program.module))
    times[toFileText(timed.name)] = makeFunctionTimes(timed, getTimeNs);
  return writeFile(path, [&](raw_ostream &os) { printRankTimes(times, os); });
}

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
  const std::optional<StepReport> &report = program.prediction;
  StreamThreads threads;
  if (report)
    addGroups(*report, threads);
  for (const Site &site : program.sites.sites)
    threads.add(site.getStreamName(), site.isTransfer());

  std::vector<std::pair<std::string, std::string>> facts;
  if (report)
    facts.emplace_back("predicted", program.evidence);
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
    addRank(program.sites, records, threads, process, trace);
  }
}
