//===- ReportTable.cpp - A simulated step as a table for people -----------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ReportFormats.h"
#include "llvm/Support/Format.h"

#include <array>
#include <cmath>

using namespace mlir;
using namespace mlir::commsched;

/// Nanoseconds in the unit that shows the digits that matter.
static std::string formatTime(int64_t ns) {
  std::string text;
  llvm::raw_string_ostream os(text);
  double magnitude = std::abs(static_cast<double>(ns));
  if (magnitude < 1e3)
    os << ns << " ns";
  else if (magnitude < 1e6)
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

namespace {

/// Rows of cells below one of titles, printed behind an empty line. Names stand
/// on the left of their columns, numbers on the right.
template <size_t numColumns> class Columns {
public:
  using Row = std::array<std::string, numColumns>;

  /// The first `numNames` columns hold names.
  Columns(size_t numNames, Row titles) : numNames(numNames) {
    add(std::move(titles));
  }

  void add(Row row) {
    for (auto [width, cell] : llvm::zip(widths, row))
      width = std::max(width, cell.size());
    rows.push_back(std::move(row));
  }

  /// Prints nothing if there are only titles.
  void print(raw_ostream &os) const;

private:
  size_t numNames;
  std::array<size_t, numColumns> widths = {};
  std::vector<Row> rows;
};

} // namespace

template <size_t numColumns>
void Columns<numColumns>::print(raw_ostream &os) const {
  if (rows.size() == 1)
    return;
  os << "\n";
  for (const Row &row : rows) {
    for (size_t column = 0; column < numColumns; ++column)
      os << "  "
         << (column < numNames
                 ? llvm::left_justify(row[column], widths[column])
                 : llvm::right_justify(row[column], widths[column]));
    os << "\n";
  }
}

static void printPeakValues(const StepReport &report, raw_ostream &os) {
  Columns<3> table(1, {"largest at the peak", "bytes", "operation"});
  for (const LiveValue &value : report.peakValues)
    table.add({value.name, formatBytes(value.bytes),
               value.producer ? std::to_string(*value.producer) : "-"});
  table.print(os);
}

static void printCollectives(const StepReport &report, raw_ostream &os) {
  Columns<8> table(3, {"collective", "kind", "group", "bytes", "start", "end",
                       "wait", "exposed"});
  for (const CollectiveReport &c : report.collectives)
    table.add({c.name, c.kind.str(), c.group, formatBytes(c.bytes),
               formatTime(c.startNs), formatTime(c.endNs), formatTime(c.waitNs),
               formatTime(c.exposedNs)});
  table.print(os);
}

static void printReordering(const StepReport &report, raw_ostream &os) {
  Columns<10> table(4, {"reordering", "moved", "limiting factor", "pass",
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
  row("peak memory", formatBytes(report.peakMemoryBytes),
      report.peakOperation.empty()
          ? ""
          : "at operation " + std::to_string(report.peakPosition) + ", " +
                report.peakOperation);
  printPeakValues(report, os);
  printCollectives(report, os);
  printReordering(report, os);
  os << "\n";
}
