//===- RankRunner.h - One rank of a run -------------------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The work of one rank: it joins, runs the programs, exchanges its results with
// the other ranks, writes its files and leaves. Rank 0 also prints the results
// of all ranks.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_TOOLS_COMMSCHED_RUN_RANKRUNNER_H
#define COMMSCHED_TOOLS_COMMSCHED_RUN_RANKRUNNER_H

#include "Measurements.h"
#include "OutputComparison.h"
#include "Settings.h"
#include "StepFormats.h"

namespace mlir::commsched::run {

/// The state that ranks of a process share. It does not change while they run.
struct Job {
  const Settings *settings = nullptr;
  /// Joins the ranks of this process, if they are threads.
  std::string name;
  /// In the order in which they run: what is compared with comes first.
  std::vector<const CompiledProgram *> programs;
};

class RankRunner {
public:
  /// `rank` is -1 where the launcher knows it.
  RankRunner(const Job &job, int32_t rank);

  /// Runs on the calling thread. An error has been reported, and results that
  /// differ have been printed, when this returns false.
  bool run();

private:
  llvm::Error join();
  llvm::Error runAll();
  /// The results of one program on this rank.
  struct Findings {
    std::vector<MeasuredRun> runs;
    Outputs outputs;
  };
  llvm::Error runProgram(const CompiledProgram &program, Findings &findings);
  llvm::Error runOnce(StepRunner &step, Outputs *outputs, MeasuredRun &run);
  llvm::Expected<MeasuredStep> measure(const CompiledProgram &program,
                                       ArrayRef<MeasuredRun> runs);
  llvm::Error writeOutputs(const CompiledProgram &program,
                           const Findings &findings);
  llvm::Error writeTimeline(const CompiledProgram &program,
                            ArrayRef<MeasuredRun> runs);
  llvm::Error compareFindings(ArrayRef<Findings> findings,
                              std::string &outcome);
  llvm::Error print(ArrayRef<MeasuredStep> steps, StringRef outcome);
  void begin(const Twine &what);

  const Job &job;
  const Settings &settings;
  int32_t rank;
  bool different = false;
};

/// Says on standard error what is being done, if that is asked for.
void reportProgress(const Settings &settings, const Twine &what);

/// Prints `text` as one piece on standard error, with the rank before it.
void reportRankError(int32_t rank, const std::string &text);

} // namespace mlir::commsched::run

#endif // COMMSCHED_TOOLS_COMMSCHED_RUN_RANKRUNNER_H
