//===- ReportTable.cpp - A simulated step as a table for people -----------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Report/ReportFormats.h"
#include "CommSched/Report/TextTable.h"

using namespace mlir;
using namespace mlir::commsched;

static void printPeakValues(const StepReport &report, raw_ostream &os) {
  TextTable<3> table(1, {"largest at the peak", "bytes", "operation"});
  for (const LiveValue &value : report.peakValues)
    table.add({value.name, formatBytes(value.bytes),
               value.producer ? std::to_string(*value.producer) : "-"});
  table.print(os);
}

static void printCollectives(const StepReport &report, raw_ostream &os) {
  TextTable<8> table(3, {"collective", "kind", "group", "bytes", "start", "end",
                         "wait", "exposed"});
  for (const CollectiveReport &c : report.collectives)
    table.add({c.name, c.kind.str(), c.group, formatBytes(c.bytes),
               formatTime(c.startNs), formatTime(c.endNs), formatTime(c.waitNs),
               formatTime(c.exposedNs)});
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

void mlir::commsched::printTable(const StepReport &report, raw_ostream &os) {
  auto row = [&](StringRef label, const std::string &value,
                 const std::string &note = "") {
    os << "  " << llvm::left_justify(label, 24)
       << llvm::right_justify(value, 14);
    if (!note.empty())
      os << "  " << note;
    os << "\n";
  };
  if (const std::optional<HalvesReport> &halves = report.halves) {
    os << "step @" << report.function << ": @" << halves->forward << ", then @"
       << halves->backward << "\n";
    row("bytes saved", formatBytes(halves->savedBytes));
  } else {
    os << "function @" << report.function << "\n";
  }
  row("operations", std::to_string(report.numOps));
  row("collectives", std::to_string(report.collectives.size()),
      std::to_string(report.countHidden()) + " hidden");
  row("bytes communicated", formatBytes(report.commBytes));
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
  auto bound = [&](StringRef label, int64_t ns) {
    row(label, formatTime(ns),
        "the step is " + formatShare(report.stepTimeNs - ns, ns) + " above it");
  };
  bound("lower bound", report.lowerBoundNs);
  bound("tight lower bound", report.tightLowerBoundNs);
  row("peak memory", formatBytes(report.peakMemoryBytes),
      report.peakOperation.empty()
          ? ""
          : "at operation " + std::to_string(report.peakPosition) + ", " +
                report.peakOperation);
  printPeakValues(report, os);
  printCollectives(report, os);
  printMostExposed(report, os);
  printReordering(report, os);
  os << "\n";
}
