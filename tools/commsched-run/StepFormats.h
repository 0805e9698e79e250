//===- StepFormats.h - Output formats of measured steps ---------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Writes measured steps: predictions beside measurements as a table and as
// JSON, a Chrome trace, and the file with a rank's measured times that
// commsched-align-runtimes reads.
//
// The Chrome trace shows one step as the model predicts it and as each rank
// measured it: there is a process for the prediction and for each rank, each
// with the compute stream and the groups.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_TOOLS_COMMSCHED_RUN_STEPFORMATS_H
#define COMMSCHED_TOOLS_COMMSCHED_RUN_STEPFORMATS_H

#include "CompiledProgram.h"

namespace mlir::commsched::run {

/// A program's measurements: of each rank the median of its runs, of these the
/// largest.
struct MeasuredStep {
  const CompiledProgram &program;
  /// Measured runs after a warm-up; 0: the only run was measured.
  int32_t repeats = 0;
  /// What the measured times are those of.
  std::string evidence;
  Summary summary;
};

/// For the rank that prints, while it has joined.
void printTable(const MeasuredStep &step, raw_ostream &os);

/// One object on one line.
void printJson(const MeasuredStep &step, raw_ostream &os);

/// Writes the median times of collectives and emulated operators; none for
/// operations that were not measured. The file appears when it is complete.
llvm::Error writeOperationTimes(StringRef path, const CompiledProgram &program,
                                ArrayRef<MeasuredRun> runs);

/// `ranks` holds the records of one run on each rank, and `evidence` is that of
/// a MeasuredStep.
void printTimeline(const CompiledProgram &program,
                   ArrayRef<std::vector<commsched_record>> ranks,
                   StringRef evidence, raw_ostream &os);

} // namespace mlir::commsched::run

#endif // COMMSCHED_TOOLS_COMMSCHED_RUN_STEPFORMATS_H
