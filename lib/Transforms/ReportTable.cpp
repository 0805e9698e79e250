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

using namespace mlir;
using namespace mlir::commsched;

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
