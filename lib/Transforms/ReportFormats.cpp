//===- ReportFormats.cpp - Prints simulated steps -------------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ReportFormats.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace mlir::commsched;
namespace json = llvm::json;

//===----------------------------------------------------------------------===//
// JSON
//===----------------------------------------------------------------------===//

void mlir::commsched::printJson(const StepReport &report, raw_ostream &os) {
  json::OStream stream(os);
  stream.object([&] {
    stream.attribute("function", report.function);
    stream.attribute("num_ops", report.numOps);
    stream.attribute("num_collectives",
                     static_cast<int64_t>(report.collectives.size()));
    stream.attribute("comm_bytes", report.commBytes);
    stream.attribute("step_time_ns", report.stepTimeNs);
    stream.attribute("compute_time_ns", report.computeTimeNs);
    stream.attribute("comm_time_ns", report.commTimeNs);
    stream.attribute("exposed_comm_ns", report.exposedCommNs);
    stream.attribute("lower_bound_ns", report.lowerBoundNs);
    stream.attribute("peak_memory_bytes", report.peakMemoryBytes);
    stream.attributeArray("collectives", [&] {
      for (const CollectiveReport &collective : report.collectives)
        stream.object([&] {
          stream.attribute("name", collective.name);
          stream.attribute("kind", collective.kind);
          stream.attribute("group", collective.group);
          stream.attribute("bytes", collective.bytes);
          stream.attribute("start_ns", collective.startNs);
          stream.attribute("end_ns", collective.endNs);
          stream.attribute("wait_ns", collective.waitNs);
          stream.attribute("exposed_ns", collective.exposedNs);
        });
    });
  });
  os << "\n";
}

//===----------------------------------------------------------------------===//
// Table
//===----------------------------------------------------------------------===//

/// Nanoseconds as milliseconds with the digits that matter.
static std::string formatTime(int64_t ns) {
  std::string text;
  llvm::raw_string_ostream os(text);
  if (ns < 1000)
    os << ns << " ns";
  else if (ns < 1000000)
    os << llvm::format("%.3f us", ns / 1e3);
  else
    os << llvm::format("%.3f ms", ns / 1e6);
  return text;
}

static std::string formatBytes(int64_t bytes) {
  static constexpr const char *units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes);
  size_t unit = 0;
  for (; value >= 1024 && unit + 1 < std::size(units); ++unit)
    value /= 1024;
  std::string text;
  llvm::raw_string_ostream os(text);
  if (unit == 0)
    os << bytes << " B";
  else
    os << llvm::format("%.2f %s", value, units[unit]);
  return text;
}

static std::string formatShare(int64_t part, int64_t whole) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << llvm::format("%.1f %%", whole ? 100.0 * part / whole : 0.0);
  return text;
}

/// The width of a column that holds all `cells`.
static size_t getWidth(ArrayRef<std::string> cells) {
  size_t width = 0;
  for (const std::string &cell : cells)
    width = std::max(width, cell.size());
  return width;
}

static void printCollectives(const StepReport &report, raw_ostream &os) {
  static constexpr size_t numColumns = 8;
  SmallVector<std::string> columns[numColumns];
  auto addRow = [&](std::array<std::string, numColumns> cells) {
    for (auto [column, cell] : llvm::zip(columns, cells))
      column.push_back(std::move(cell));
  };
  addRow({"collective", "kind", "group", "bytes", "start", "end", "wait",
          "exposed"});
  for (const CollectiveReport &c : report.collectives)
    addRow({c.name, c.kind.str(), c.group, formatBytes(c.bytes),
            formatTime(c.startNs), formatTime(c.endNs), formatTime(c.waitNs),
            formatTime(c.exposedNs)});
  size_t widths[numColumns];
  for (auto [width, column] : llvm::zip(widths, columns))
    width = getWidth(column);
  for (size_t row = 0; row < columns[0].size(); ++row) {
    os << " ";
    for (size_t column = 0; column < numColumns; ++column) {
      // Names on the left, numbers on the right.
      const std::string &cell = columns[column][row];
      os << " "
         << (column < 3 ? llvm::left_justify(cell, widths[column])
                        : llvm::right_justify(cell, widths[column]));
      if (column + 1 < numColumns)
        os << " ";
    }
    os << "\n";
  }
}

void mlir::commsched::printTable(const StepReport &report, raw_ostream &os) {
  auto row = [&](StringRef label, const std::string &value,
                 const std::string &note = "") {
    os << "  " << llvm::left_justify(label, 24)
       << llvm::right_justify(value, 14);
    if (!note.empty())
      os << "  " << note;
    os << "\n";
  };
  os << "function @" << report.function << "\n";
  row("operations", std::to_string(report.numOps));
  row("collectives", std::to_string(report.collectives.size()),
      std::to_string(report.countHidden()) + " hidden");
  row("bytes communicated", formatBytes(report.commBytes));
  row("step time", formatTime(report.stepTimeNs));
  row("computation", formatTime(report.computeTimeNs),
      formatShare(report.computeTimeNs, report.stepTimeNs) + " of the step");
  row("communication", formatTime(report.commTimeNs));
  row("exposed communication", formatTime(report.exposedCommNs),
      formatShare(report.exposedCommNs, report.stepTimeNs) + " of the step");
  row("lower bound", formatTime(report.lowerBoundNs),
      "the step is " +
          formatShare(report.stepTimeNs - report.lowerBoundNs,
                      report.lowerBoundNs) +
          " above it");
  row("peak memory", formatBytes(report.peakMemoryBytes));
  if (!report.collectives.empty()) {
    os << "\n";
    printCollectives(report, os);
  }
  os << "\n";
}

//===----------------------------------------------------------------------===//
// Trace
//===----------------------------------------------------------------------===//

/// Writes a time in the microseconds of the format without rounding.
static void printMicroseconds(json::OStream &stream, StringRef key,
                              int64_t ns) {
  stream.attributeBegin(key);
  stream.rawValue([&](raw_ostream &os) {
    os << llvm::format("%lld.%03lld", static_cast<long long>(ns / 1000),
                       static_cast<long long>(ns % 1000));
  });
  stream.attributeEnd();
}

namespace {

/// The trace of one function: process `pid`, whose thread 1 is the compute
/// stream and whose following threads are the groups' streams.
class TracePrinter {
public:
  TracePrinter(json::OStream &stream, int64_t pid) : stream(stream), pid(pid) {}

  void print(const StepReport &report);

private:
  static constexpr int64_t computeThread = 1;

  void printMetadata(StringRef what, int64_t thread, StringRef name);
  void printSlice(StringRef name, StringRef category, int64_t thread,
                  int64_t beginNs, int64_t endNs,
                  function_ref<void()> printArguments);
  void printFlow(StringRef phase, size_t id, int64_t thread, int64_t timeNs);

  json::OStream &stream;
  int64_t pid;
};

} // namespace

void TracePrinter::printMetadata(StringRef what, int64_t thread,
                                 StringRef name) {
  stream.object([&] {
    stream.attribute("name", what);
    stream.attribute("ph", "M");
    stream.attribute("pid", pid);
    stream.attribute("tid", thread);
    stream.attributeObject("args", [&] { stream.attribute("name", name); });
  });
}

void TracePrinter::printSlice(StringRef name, StringRef category,
                              int64_t thread, int64_t beginNs, int64_t endNs,
                              function_ref<void()> printArguments) {
  stream.object([&] {
    stream.attribute("name", name);
    stream.attribute("cat", category);
    stream.attribute("ph", "X");
    stream.attribute("pid", pid);
    stream.attribute("tid", thread);
    printMicroseconds(stream, "ts", beginNs);
    printMicroseconds(stream, "dur", endNs - beginNs);
    if (printArguments)
      stream.attributeObject("args", printArguments);
  });
}

void TracePrinter::printFlow(StringRef phase, size_t id, int64_t thread,
                             int64_t timeNs) {
  stream.object([&] {
    stream.attribute("name", "wait");
    stream.attribute("cat", "wait");
    stream.attribute("ph", phase);
    stream.attribute("id", static_cast<int64_t>(id));
    stream.attribute("pid", pid);
    stream.attribute("tid", thread);
    if (phase == "f")
      stream.attribute("bp", "e");
    printMicroseconds(stream, "ts", timeNs);
  });
}

void TracePrinter::print(const StepReport &report) {
  printMetadata("process_name", 0, "@" + report.function);
  printMetadata("thread_name", computeThread, "compute");
  llvm::MapVector<StringRef, int64_t> threads;
  for (const CollectiveReport &c : report.collectives) {
    int64_t next = computeThread + 1 + static_cast<int64_t>(threads.size());
    if (threads.try_emplace(c.group, next).second)
      printMetadata("thread_name", next, "@" + c.group);
  }
  for (const ComputeReport &c : report.computations)
    printSlice(c.name, "compute", computeThread, c.startNs, c.endNs, nullptr);
  for (auto [index, c] : llvm::enumerate(report.collectives)) {
    const CollectiveReport &collective = c;
    int64_t thread = threads.lookup(c.group);
    printSlice(c.name, c.kind, thread, c.startNs, c.endNs, [&] {
      stream.attribute("bytes", collective.bytes);
      stream.attribute("exposed_ns", collective.exposedNs);
    });
    if (c.exposedNs == 0)
      continue;
    printSlice("wait for " + c.name, "wait", computeThread, c.waitNs,
               c.waitNs + c.exposedNs, nullptr);
    size_t id = static_cast<size_t>(pid) << 32 | index;
    printFlow("s", id, thread, c.startNs);
    printFlow("f", id, computeThread, c.waitNs + c.exposedNs);
  }
  for (const MemorySample &sample : report.memory)
    stream.object([&] {
      stream.attribute("name", "live bytes");
      stream.attribute("ph", "C");
      stream.attribute("pid", pid);
      printMicroseconds(stream, "ts", sample.timeNs);
      stream.attributeObject("args",
                             [&] { stream.attribute("bytes", sample.bytes); });
    });
}

void mlir::commsched::printTrace(ArrayRef<StepReport> reports,
                                 raw_ostream &os) {
  json::OStream stream(os);
  stream.object([&] {
    stream.attribute("displayTimeUnit", "ns");
    stream.attributeArray("traceEvents", [&] {
      for (auto [index, report] : llvm::enumerate(reports))
        TracePrinter(stream, static_cast<int64_t>(index) + 1).print(report);
    });
  });
  os << "\n";
}
