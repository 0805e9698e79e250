//===- RankRunner.h - One rank from beginning to end ------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What each rank does: joins, runs the programs, exchanges what it found with
// the other ranks, writes its files, and leaves. Rank 0 also prints for all.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_TOOLS_COMMSCHED_RUN_RANKRUNNER_H
#define COMMSCHED_TOOLS_COMMSCHED_RUN_RANKRUNNER_H

#include "Comparison.h"
#include "Measurements.h"
#include "Progress.h"
#include "Settings.h"
#include "StepFormats.h"

namespace mlir::commsched::run {

/// What ranks of a process share. Nothing of it changes while they run.
struct Job {
  const Settings *settings = nullptr;
  /// Joins the ranks of this process, if they are threads.
  std::string name;
  /// In the order in which they run: what is compared with comes first.
  std::vector<const Program *> programs;
  Progress *progress = nullptr;
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
  /// What one program left on this rank.
  struct Findings {
    std::vector<Run> runs;
    Invocation::Outputs outputs;
  };
  llvm::Error runProgram(const Program &program, Findings &findings);
  llvm::Error runOnce(const Program &program, Invocation &invocation, Run &run);
  llvm::Expected<MeasuredStep> measure(const Program &program,
                                       ArrayRef<Run> runs);
  llvm::Error writeOutputs(const Program &program, const Findings &findings);
  llvm::Error writeTimeline(const Program &program, ArrayRef<Run> runs);
  llvm::Error compareFindings(ArrayRef<Findings> findings,
                              std::string &outcome);
  llvm::Error print(ArrayRef<MeasuredStep> steps, StringRef outcome);
  void begin(const Twine &what);

  const Job &job;
  const Settings &settings;
  int32_t rank;
  bool different = false;
};

/// Prints `text` as one piece on standard error, with the rank before it.
void reportRankError(int32_t rank, const std::string &text);

} // namespace mlir::commsched::run

#endif // COMMSCHED_TOOLS_COMMSCHED_RUN_RANKRUNNER_H
