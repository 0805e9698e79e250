//===- ReportFormats.cpp - Reports as JSON, tables and traces -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/Report/ReportFormats.h"
#include "CommSched/Report/TextTable.h"
#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace mlir::commsched;
namespace json = llvm::json;

//===----------------------------------------------------------------------===//
// JSON
//===----------------------------------------------------------------------===//

static void printNumbers(json::OStream &stream,
                         const ExposureNumbers &numbers) {
  const std::pair<StringRef, std::optional<int64_t>> all[] = {
      {"by_ns", numbers.byNs},
      {"gain_ns", numbers.gainNs},
      {"spare_ns", numbers.spareNs},
      {"bytes_short", numbers.bytesShort}};
  if (llvm::none_of(all, [](const auto &entry) { return entry.second; }))
    return;
  stream.attributeObject("exact", [&] {
    for (const auto &[key, number] : all)
      if (number)
        stream.attribute(key, *number);
  });
}

static void printCollective(json::OStream &stream,
                            const CollectiveReport &collective) {
  stream.attribute("name", collective.name);
  if (!collective.members.empty())
    stream.attribute("members", json::Array(collective.members));
  stream.attribute("kind", collective.kind);
  stream.attribute("group", collective.group);
  if (!collective.implementation.empty())
    stream.attribute("implementation", collective.implementation);
  stream.attribute("bytes", collective.bytes);
  if (collective.areBytesExpected)
    stream.attribute("bytes_expected", true);
  stream.attribute("start_ns", collective.startNs);
  stream.attribute("end_ns", collective.endNs);
  stream.attribute("wait_ns", collective.waitNs);
  stream.attribute("exposed_ns", collective.exposedNs);
  if (collective.iterations != 1)
    stream.attribute("iterations", collective.iterations);
  if (!collective.limitedBy.empty()) {
    stream.attribute("limited_by", collective.limitedBy);
    stream.attribute("remedy", collective.remedy);
    printNumbers(stream, collective.numbers);
  }
  if (!collective.startReorder && !collective.waitReorder)
    return;
  stream.attributeObject("reorder", [&] {
    for (auto [key, info] : {std::pair("start", &collective.startReorder),
                             {"wait", &collective.waitReorder}})
      if (*info)
        stream.attributeObject(key, [&] { printReorderInfo(**info, stream); });
  });
}

/// Whether anything is copied to or from the host, or kept there.
static bool hasTransfers(const StepReport &report) {
  return report.hostPeakBytes > 0 || report.countTransfers() > 0;
}

/// Prints the times and the counts of a step.
static void printTimes(json::OStream &stream, const StepReport &report) {
  stream.attribute("function", report.function);
  stream.attribute("num_ops", report.numOps);
  stream.attribute("num_collectives", report.countCollectives());
  stream.attribute("comm_bytes", report.commBytes);
  stream.attribute("step_time_ns", report.stepTimeNs);
  stream.attribute("compute_time_ns", report.computeTimeNs);
  stream.attribute("comm_time_ns", report.commTimeNs);
  stream.attribute("exposed_comm_ns", report.exposedCommNs);
  stream.attribute("lower_bound_ns", report.lowerBoundNs);
  stream.attribute("tight_lower_bound_ns", report.tightLowerBoundNs);
  stream.attribute("merging_lower_bound_ns", report.mergingLowerBoundNs);
  if (const std::optional<PeriodReport> &period = report.period) {
    stream.attribute("period_ns", period->periodNs);
    stream.attribute("period_bound_ns", period->boundNs);
    stream.attribute("period_limited_by", period->limitedBy);
    if (period->rampNs)
      stream.attribute("ramp_ns", *period->rampNs);
    stream.attribute("repetitions_in_progress", period->depth);
  }
  stream.attribute("peak_memory_bytes", report.peakMemoryBytes);
}

/// Prints what only some steps have.
static void printOptionalFigures(json::OStream &stream,
                                 const StepReport &report) {
  if (report.reserved) {
    stream.attribute("reserved_bytes", report.reserved->reservedBytes);
    stream.attribute("fragmentation_bytes",
                     report.reserved->fragmentationBytes);
  }
  if (report.otherBytes > 0) {
    stream.attribute("other_bytes", report.otherBytes);
    stream.attribute("total_bytes", report.getTotalBytes());
  }
  if (report.overBudgetBytes > 0)
    stream.attribute("over_budget", report.overBudgetBytes);
  if (!hasTransfers(report))
    return;
  stream.attribute("num_transfers", report.countTransfers());
  stream.attribute("transfer_bytes", report.transferBytes);
  stream.attribute("host_peak_bytes", report.hostPeakBytes);
}

void mlir::commsched::printFigures(const StepReport &report,
                                   json::OStream &stream) {
  printTimes(stream, report);
  printOptionalFigures(stream, report);
  report.evidence.print(stream);
}

void mlir::commsched::printJson(const StepReport &report, raw_ostream &os) {
  json::OStream stream(os);
  stream.object([&] {
    printTimes(stream, report);
    stream.attributeArray("collectives", [&] {
      for (const CollectiveReport &collective : report.collectives)
        stream.object([&] { printCollective(stream, collective); });
    });
    if (report.slowdownNs > 0)
      stream.attribute("compute_slowdown_ns", report.slowdownNs);
    stream.attribute("peak_position", report.peakPosition);
    stream.attributeArray("peak_values", [&] {
      for (const LiveValue &value : report.peakValues)
        stream.object([&] {
          stream.attribute("name", value.name);
          stream.attribute("bytes", value.bytes);
          if (value.producer)
            stream.attribute("producer", *value.producer);
          stream.attribute("rule", value.rule);
        });
    });
    printOptionalFigures(stream, report);
    report.evidence.print(stream);
  });
  os << "\n";
}

//===----------------------------------------------------------------------===//
// Tables
//===----------------------------------------------------------------------===//

static void printPeakValues(const StepReport &report, raw_ostream &os) {
  TextTable<4> table(
      1, {"largest at the peak", "counted as", "bytes", "operation"});
  for (const LiveValue &value : report.peakValues) {
    std::string rule = value.rule.str();
    llvm::replace(rule, '_', ' ');
    table.add({value.name, std::move(rule), formatBytes(value.bytes),
               value.producer ? std::to_string(*value.producer) : "-"});
  }
  table.print(os);
}

/// The bytes of `collective`, after a mark if they are only expected.
static std::string formatBytes(const CollectiveReport &collective) {
  return (collective.areBytesExpected ? "~" : "") +
         mlir::commsched::formatBytes(collective.bytes);
}

/// What the mark means, for the reports that have it.
static std::string explainExpectedBytes(const StepReport &report) {
  int64_t expected =
      llvm::count_if(report.collectives, [](const CollectiveReport &c) {
        return c.areBytesExpected;
      });
  if (expected == 0)
    return "";
  return std::to_string(expected) +
         (expected == 1 ? " collective has" : " collectives have") +
         " sizes known only at run time: expected bytes (~), by size hints";
}

static void printCollectives(const StepReport &report, raw_ostream &os) {
  TextTable<8> table(3, {"collective", "kind", "group", "bytes", "start", "end",
                         "wait", "exposed"});
  for (const CollectiveReport &c : report.collectives) {
    std::string kind = c.kind.str();
    if (c.iterations != 1)
      kind += " x " + std::to_string(c.iterations);
    table.add({c.name, kind, c.getStreamName(), formatBytes(c),
               formatTime(c.startNs), formatTime(c.endNs), formatTime(c.waitNs),
               formatTime(c.exposedNs)});
  }
  table.print(os);
}

static void printMostExposed(const StepReport &report, raw_ostream &os) {
  TextTable<3> table(2, {"most exposed", "limited by", "exposed"});
  for (const CollectiveReport *c : report.getMostExposed())
    table.add({c->name, c->limitedBy, formatTime(c->exposedNs)});
  table.print(os);
}

static void printReordering(const StepReport &report, raw_ostream &os) {
  TextTable<10> table(4, {"reordering", "moved", "limiting factor", "pass",
                          "communication", "hiding compute", "exposed before",
                          "exposed after", "moves", "grouped"});
  auto add = [&](const std::string &name, const char *moved,
                 const std::optional<ReorderInfo> &info) {
    if (info)
      table.add({name, moved, info->limitingFactor, info->pass,
                 formatTime(info->commNs), formatTime(info->computeNs),
                 formatTime(info->exposedBeforeNs),
                 formatTime(info->exposedAfterNs), std::to_string(info->moves),
                 std::to_string(info->grouped)});
  };
  for (const CollectiveReport &c : report.collectives) {
    add(c.name, "start", c.startReorder);
    add(c.name, "wait", c.waitReorder);
  }
  table.print(os);
}

namespace {

/// The rows of a table on one step.
class StepRows {
public:
  StepRows(const StepReport &report, raw_ostream &os)
      : report(report), os(os) {}

  void printTraffic();
  void printTimes();
  void printPeriod(const PeriodReport &period);
  void printMemory();

  void row(StringRef label, const std::string &value,
           const std::string &note = "") {
    os << "  " << llvm::left_justify(label, 24)
       << llvm::right_justify(value, 14);
    if (!note.empty())
      os << "  " << note;
    os << "\n";
  }

private:
  void printCount(StringRef label, bool transfers) {
    row(label,
        std::to_string(transfers ? report.countTransfers()
                                 : report.countCollectives()),
        std::to_string(report.countHidden(transfers)) + " hidden");
  }
  void printBound(StringRef label, int64_t ns) {
    row(label, formatTime(ns),
        "the step is " + formatShare(report.stepTimeNs - ns, ns) + " above it");
  }

  const StepReport &report;
  raw_ostream &os;
};

} // namespace

void StepRows::printTraffic() {
  row("operations", std::to_string(report.numOps));
  printCount("collectives", /*transfers=*/false);
  row("bytes communicated", formatBytes(report.commBytes),
      explainExpectedBytes(report));
  if (!hasTransfers(report))
    return;
  printCount("transfers", /*transfers=*/true);
  row("bytes transferred", formatBytes(report.transferBytes),
      "to and from the host");
}

void StepRows::printTimes() {
  row("step time", formatTime(report.stepTimeNs));
  row("computation", formatTime(report.computeTimeNs),
      formatShare(report.computeTimeNs, report.stepTimeNs) + " of the step");
  if (report.slowdownNs > 0)
    row("slowed down by", formatTime(report.slowdownNs),
        formatShare(report.slowdownNs, report.computeTimeNs) +
            " of the computation");
  row("communication", formatTime(report.commTimeNs));
  row("exposed communication", formatTime(report.exposedCommNs),
      formatShare(report.exposedCommNs, report.stepTimeNs) + " of the step");
  printBound("lower bound", report.lowerBoundNs);
  printBound("tight lower bound", report.tightLowerBoundNs);
  printBound("merging lower bound", report.mergingLowerBoundNs);
}

void StepRows::printPeriod(const PeriodReport &period) {
  row("period", formatTime(period.periodNs),
      std::to_string(period.depth) + (period.depth == 1
                                          ? " repetition in progress"
                                          : " repetitions in progress"));
  row("period bound", formatTime(period.boundNs),
      "the period is " +
          formatShare(period.periodNs - period.boundNs, period.boundNs) +
          " above it: " + period.limitedBy);
  if (period.rampNs)
    row("first and last take", formatTime(*period.rampNs),
        "more than a period for each repetition");
}

void StepRows::printMemory() {
  row("peak memory", formatBytes(report.peakMemoryBytes),
      report.peakOperation.empty()
          ? ""
          : "at operation " + std::to_string(report.peakPosition) + ", " +
                report.peakOperation);
  if (hasTransfers(report))
    row("peak host memory", formatBytes(report.hostPeakBytes));
  if (report.reserved)
    row("reserved memory", formatBytes(report.reserved->reservedBytes),
        formatBytes(report.reserved->fragmentationBytes) +
            " of it not live at the peak");
  if (report.otherBytes > 0) {
    row("other memory", formatBytes(report.otherBytes));
    row("total memory", formatBytes(report.getTotalBytes()));
  }
  if (report.overBudgetBytes > 0)
    row("over budget", formatBytes(report.overBudgetBytes),
        "no known schedule meets it");
}

void mlir::commsched::printTable(const StepReport &report, raw_ostream &os) {
  StepRows rows(report, os);
  os << "function @" << report.function << "\n";
  os << "  " << report.evidence.describe() << "\n";
  rows.printTraffic();
  rows.printTimes();
  if (report.period)
    rows.printPeriod(*report.period);
  rows.printMemory();
  printPeakValues(report, os);
  printCollectives(report, os);
  printMostExposed(report, os);
  printReordering(report, os);
  os << "\n";
}

//===----------------------------------------------------------------------===//
// Chrome traces
//===----------------------------------------------------------------------===//

void mlir::commsched::addGroups(const StepReport &report,
                                StreamThreads &threads) {
  for (const CollectiveReport &collective : report.collectives)
    threads.add(collective.getStreamName(), collective.isTransfer);
}

void mlir::commsched::addStep(const StepReport &report,
                              const StreamThreads &threads, int64_t process,
                              ChromeTrace &trace) {
  constexpr int64_t compute = StreamThreads::computeThread;
  for (const ComputeReport &c : report.computations)
    trace.addSlice(process, compute, c.name, "compute", c.startNs, c.endNs);
  for (auto [index, collective] : llvm::enumerate(report.collectives)) {
    const CollectiveReport &c = collective;
    int64_t thread = threads.lookup(c.getStreamName());
    trace.addSlice(process, thread, c.name, c.kind, c.startNs, c.endNs,
                   [&](llvm::json::OStream &stream) {
                     stream.attribute("bytes", c.bytes);
                     stream.attribute("exposed_ns", c.exposedNs);
                     if (c.iterations != 1)
                       stream.attribute("iterations", c.iterations);
                   });
    if (c.exposedNs == 0)
      continue;
    int64_t waitEndNs = c.waitNs + c.getFirstExposedNs();
    trace.addSlice(process, compute, "wait for " + c.name, "wait", c.waitNs,
                   waitEndNs);
    trace.addWait(process << 32 | static_cast<int64_t>(index), process, thread,
                  c.startNs, compute, waitEndNs);
  }
  for (const MemorySample &sample : report.memory)
    trace.addCount(process, "live bytes", "bytes", sample.timeNs, sample.bytes);
}

void mlir::commsched::printTrace(ArrayRef<StepReport> reports,
                                 raw_ostream &os) {
  std::vector<std::pair<std::string, std::string>> facts;
  for (const StepReport &report : reports)
    facts.emplace_back("@" + report.function, report.evidence.describe());
  ChromeTrace trace(os, facts);
  for (auto [index, report] : llvm::enumerate(reports)) {
    int64_t process = static_cast<int64_t>(index) + 1;
    StreamThreads threads;
    addGroups(report, threads);
    threads.nameIn(trace, process, "@" + report.function);
    addStep(report, threads, process, trace);
  }
}
