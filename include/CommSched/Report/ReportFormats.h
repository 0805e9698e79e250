//===- ReportFormats.h - Reports as JSON, tables and traces -----*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The output formats of commsched-report: simulated steps as JSON, as text
// tables, and as Chrome traces.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_REPORT_REPORTFORMATS_H
#define COMMSCHED_REPORT_REPORTFORMATS_H

#include "CommSched/Report/ChromeTrace.h"
#include "CommSched/Report/StepReport.h"

namespace mlir::commsched {

/// One function as a JSON object on one line.
void printJson(const StepReport &report, raw_ostream &os);

/// The keys and values of that object which are numbers or names of functions,
/// as attributes of the object that `stream` prints.
void printFigures(const StepReport &report, llvm::json::OStream &stream);

/// One function as a text table.
void printTable(const StepReport &report, raw_ostream &os);

/// All functions as one Chrome trace: a process a function, a thread a stream,
/// a counter of live bytes.
void printTrace(ArrayRef<StepReport> reports, raw_ostream &os);

/// Adds the groups of the report's collectives, in program order.
void addGroups(const StepReport &report, StreamThreads &threads);

/// One function as the slices of `process`. `threads` has all its groups.
void addStep(const StepReport &report, const StreamThreads &threads,
             int64_t process, ChromeTrace &trace);

} // namespace mlir::commsched

#endif // COMMSCHED_REPORT_REPORTFORMATS_H
