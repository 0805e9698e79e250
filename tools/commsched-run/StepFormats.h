//===- StepFormats.h - Prints measured steps --------------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the model predicted beside what was measured: a table for people and
// JSON.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_TOOLS_COMMSCHED_RUN_STEPFORMATS_H
#define COMMSCHED_TOOLS_COMMSCHED_RUN_STEPFORMATS_H

#include "Measurements.h"
#include "Program.h"

namespace mlir::commsched::run {

/// A program's measurements: of each rank the median of its runs, of these the
/// largest.
struct MeasuredStep {
  const Program *program = nullptr;
  std::string backend;
  int32_t numRanks = 1;
  /// Measured runs after a warm-up; 0: the only run was measured.
  int32_t repeats = 0;
  Summary summary;
};

void printTable(const MeasuredStep &step, raw_ostream &os);

/// One object on one line.
void printJson(const MeasuredStep &step, raw_ostream &os);

} // namespace mlir::commsched::run

#endif // COMMSCHED_TOOLS_COMMSCHED_RUN_STEPFORMATS_H
