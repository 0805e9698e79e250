//===- Settings.h - Command line of commsched-run ---------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The options of the tool, checked as far as that is possible without a
// program.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_TOOLS_COMMSCHED_RUN_SETTINGS_H
#define COMMSCHED_TOOLS_COMMSCHED_RUN_SETTINGS_H

#include "CollectiveTimes.h"
#include "CommSched/Runtime/Runtime.h"
#include "Inputs.h"

namespace mlir::commsched::run {

enum class Format { Table, Json };

/// The measured runs that a timeline shows.
enum class TimelineRuns { Median, All };

struct Settings {
  /// Empty where collectives are timed instead.
  std::string program;
  std::optional<CollectiveSweep> sweep;
  /// Empty if nothing is to be compared.
  std::string compared;
  /// Empty to choose.
  std::string entry;
  /// How often the step is repeated; none: it runs once.
  std::optional<int64_t> iterations;
  unsigned optLevel = 2;

  std::string backend;
  /// None for a process that was started by itself.
  std::optional<commsched_launcher> launcher;
  /// Ranks in this process, which are threads.
  int32_t numThreads = 1;
  /// Of all processes.
  int32_t numRanks = 1;
  std::optional<int64_t> deadlineMs;
  bool modelledTimes = false;
  bool emulateData = true;
  std::string flightRecord;

  InputSettings inputs;
  std::string outputDirectory;
  std::optional<double> tolerance;

  /// Measured runs after a warm-up; 0: the first run is measured.
  int32_t repeats = 0;
  std::string profile;
  std::string timeline;
  TimelineRuns timelineRuns = TimelineRuns::Median;
  std::string times;
  Format format = Format::Table;
  std::string output = "-";
  bool progress = false;
};

/// Parses the command line; prints help and exits where that is asked for.
/// Fails with a message.
/// Sets `launcher` also where it fails, for the message.
llvm::Expected<Settings>
parseCommandLine(int argc, char **argv,
                 std::optional<commsched_launcher> &launcher);

} // namespace mlir::commsched::run

#endif // COMMSCHED_TOOLS_COMMSCHED_RUN_SETTINGS_H
