//===- ReportFormats.h - Prints simulated steps -----------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_TRANSFORMS_REPORTFORMATS_H
#define COMMSCHED_LIB_TRANSFORMS_REPORTFORMATS_H

#include "CommSched/Analysis/StepReport.h"

namespace mlir::commsched {

/// One function as a JSON object on one line.
void printJson(const StepReport &report, raw_ostream &os);

/// One function as a table for people.
void printTable(const StepReport &report, raw_ostream &os);

/// All functions as one Chrome trace: a process a function, a thread a stream,
/// a counter of live bytes.
void printTrace(ArrayRef<StepReport> reports, raw_ostream &os);

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_TRANSFORMS_REPORTFORMATS_H
