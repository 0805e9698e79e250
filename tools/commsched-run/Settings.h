//===- Settings.h - Command line of commsched-run ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The options of the tool, checked as far as that is possible without a
// program.
//
// Collectives of several sizes on several groups can be measured instead of
// running a program; the times are written as a table that the option `profile`
// reads. All ranks meet before each call, and each rank measures the time from
// the start to the end of the wait. The time of a call is that of the slowest
// rank, and that of a row the median over calls.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_TOOLS_COMMSCHED_RUN_SETTINGS_H
#define COMMSCHED_TOOLS_COMMSCHED_RUN_SETTINGS_H

#include "CommSched/Runtime/Runtime.h"
#include "Values.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/JSON.h"

namespace mlir::commsched::run {

enum class Format { Table, Json };

/// The measured runs that a timeline shows.
enum class TimelineRuns { Median, All };

namespace cl = llvm::cl;

/// Groups that divide all ranks evenly: as a grid with rows of consecutive
/// ranks, `size` is the length of a row or of a column; 0 for one of all ranks.
struct TimedGroup {
  /// As written: "world", "rows:2", "columns:4".
  std::string name;
  int64_t size = 0;
  bool areColumns = false;
};

/// What is measured.
struct CollectiveSweep {
  /// The names of operations, and "send_recv".
  std::vector<std::string> collectives;
  std::vector<TimedGroup> groups;
  int64_t elementBytes = 4;
  /// Of the full buffer, in bytes.
  std::vector<int64_t> sizes;
  /// Of all groups, as program descriptions have it; none for the backend's
  /// usual one.
  std::optional<llvm::json::Object> implementation;
};

/// The options, which register themselves, and what follows from them.
struct Settings {
  cl::OptionCategory category{"commsched-run options"};

  cl::opt<std::string> program{cl::Positional, cl::desc("<program.mlir>"),
                               cl::cat(category)};
  cl::opt<std::string> compared{
      "compare", cl::value_desc("file"), cl::cat(category),
      cl::desc("Run this program too, on the same inputs, before the other "
               "one, and compare their results")};
  cl::opt<std::string> entry{
      "entry", cl::value_desc("name"), cl::cat(category),
      cl::desc("The function to run (default: the only public one, or the "
               "only public one with collectives)")};
  cl::opt<int32_t> iterations{
      "iterations", cl::value_desc("n"), cl::cat(category),
      cl::desc("Repeat the step n times: what commsched.carried says feeds the "
               "next repetition, arguments with the role input are new in "
               "each, and the others stay")};

  cl::opt<unsigned> optLevel{
      "opt-level", cl::value_desc("n"), cl::init(2), cl::cat(category),
      cl::desc("How hard LLVM optimizes, from 0 to 3 (default: 2); 0 is for "
               "programs whose compilation takes longer than they do")};

  cl::opt<std::string> backend{
      "backend", cl::value_desc("name"), cl::cat(category),
      cl::desc("local, mpi, nccl, or the path of a shared object (default: "
               "local; mpi under mpirun, nccl under torchrun)")};
  cl::opt<int32_t> ranks{
      "ranks", cl::value_desc("n"), cl::init(0), cl::cat(category),
      cl::desc("The number of ranks (default: 1, or the launcher's)")};
  cl::opt<int64_t> deadlineMs{"deadline-ms", cl::value_desc("ms"),
                              cl::cat(category),
                              cl::desc("How long a rank waits for others")};
  cl::opt<bool> modelledTimes{
      "modelled-times", cl::cat(category),
      cl::desc("Local: take as long as the model says, by sleeping")};
  cl::opt<bool> emulateData{
      "emulate-data", cl::init(true), cl::cat(category),
      cl::desc("Whether opaque operators write made-up results")};
  cl::opt<std::string> flightRecord{
      "flight-record", cl::value_desc("file"), cl::cat(category),
      cl::desc("Where the last calls are written on an error; %r is the rank")};

  cl::opt<uint64_t> seed{"seed", cl::value_desc("n"), cl::init(0),
                         cl::cat(category),
                         cl::desc("What inputs are made from (default: 0)")};
  cl::opt<bool> sameInputs{"same-inputs", cl::cat(category),
                           cl::desc("Give all ranks the same inputs")};
  cl::list<std::string> inputFiles{
      "input", cl::value_desc("K=file.npy"), cl::cat(category),
      cl::desc("The value of argument K, counted from 0; %r is the rank, %i "
               "the repetition")};
  cl::opt<std::string> inputsDirectory{
      "inputs-dir", cl::value_desc("directory"), cl::cat(category),
      cl::desc("Values of arguments: rankR/argK.npy, else argK.npy; also in "
               "folders iterationI, for one repetition each")};
  cl::opt<std::string> outputDirectory{
      "output-dir", cl::value_desc("directory"), cl::cat(category),
      cl::desc("Write results as rankR/resultK.npy, and memref arguments as "
               "rankR/argK.npy")};
  cl::opt<double> tolerance{
      "tolerance", cl::value_desc("t"), cl::cat(category),
      cl::desc("Floats are equal if they differ by at most t * (1 + the larger "
               "magnitude) (default: only if all bits are)")};

  cl::opt<int32_t> repeats{
      "repeat", cl::value_desc("n"), cl::init(0), cl::cat(category),
      cl::desc("Measure n runs after one to warm up, and take medians "
               "(default: measure the only run)")};
  cl::opt<std::string> profile{
      "profile", cl::value_desc("file"), cl::cat(category),
      cl::desc("Table of measured collectives, for predictions and modelled "
               "times")};
  cl::opt<std::string> timeline{
      "timeline", cl::value_desc("file"), cl::cat(category),
      cl::desc("Write a Chrome trace of the predicted and the measured step")};
  cl::opt<TimelineRuns> timelineRuns{
      "timeline-runs", cl::init(TimelineRuns::Median), cl::cat(category),
      cl::desc("The measured runs that the timeline shows"),
      cl::values(
          clEnumValN(TimelineRuns::Median, "median",
                     "the one with the median step (default)"),
          clEnumValN(TimelineRuns::All, "all", "all, one after the other"))};
  cl::opt<std::string> times{
      "times", cl::value_desc("file"), cl::cat(category),
      cl::desc("Write the measured times of operations for "
               "commsched-align-runtimes; %r is the rank")};
  cl::opt<Format> format{
      "format", cl::init(Format::Table), cl::cat(category),
      cl::desc("How measurements are printed"),
      cl::values(clEnumValN(Format::Table, "table", "for people (default)"),
                 clEnumValN(Format::Json, "json", "one object on one line"))};
  cl::opt<std::string> output{
      "output", cl::value_desc("file"), cl::init("-"), cl::cat(category),
      cl::desc("Where measurements are printed (default: standard output)")};
  cl::alias outputShort{"o", cl::aliasopt(output), cl::cat(category),
                        cl::desc("Alias for --output")};
  cl::list<std::string> collectives{
      "collectives", cl::CommaSeparated, cl::value_desc("names"),
      cl::cat(category),
      cl::desc("Instead of running a program, time collectives and write a "
               "table for --profile: all_gather, reduce_scatter, all_reduce, "
               "all_to_all, broadcast, permute, send_recv, or all")};
  cl::list<std::string> groups{
      "groups",
      cl::CommaSeparated,
      cl::value_desc("names"),
      cl::cat(category),
      cl::list_init<std::string>({"world"}),
      cl::desc("Time them on world, rows:SIZE (consecutive ranks) or "
               "columns:SIZE; all groups of a kind work at the same time "
               "(default: world)")};
  cl::opt<std::string> type{"type", cl::value_desc("type"), cl::init("f32"),
                            cl::cat(category),
                            cl::desc("Of their elements (default: f32)")};
  cl::opt<std::string> minBytes{
      "min-bytes", cl::value_desc("bytes"), cl::init("1KiB"), cl::cat(category),
      cl::desc("The smallest full buffer (default: 1KiB); each size is 4 times "
               "that before it")};
  cl::opt<std::string> maxBytes{
      "max-bytes", cl::value_desc("bytes"), cl::init("4MiB"), cl::cat(category),
      cl::desc("The largest full buffer (default: 4MiB)")};
  cl::opt<std::string> implementation{
      "implementation", cl::value_desc("name[:method[:channels]]"),
      cl::cat(category),
      cl::desc("Time them with this implementation, which the rows then name; "
               "its method is nccl, copy-engine or symmetric (default: its "
               "name)")};

  cl::opt<bool> progress{"progress", cl::cat(category),
                         cl::desc("Say what is being done, on standard error")};

  // What follows.

  /// The command line.
  std::string command;
  /// The collectives to time instead of a program.
  std::optional<CollectiveSweep> sweep;
  InputSettings inputs;
  /// None for a process that was started by itself.
  std::optional<commsched_launcher> launcher;
  /// Of all processes; those of 'local' are threads of this one.
  int32_t numRanks = 1;

  /// Ends the process on an error before its ranks run. Unlike
  /// llvm::ExitOnError this prints one piece, for all processes print theirs.
  void exitOnError(llvm::Error error) const;
  template <class T> T exitOnError(llvm::Expected<T> value) const {
    exitOnError(value.takeError());
    return std::move(*value);
  }
};

/// None for an option that has no default and is not given.
template <typename T> std::optional<T> getIfGiven(const cl::opt<T> &option) {
  if (option.getNumOccurrences())
    return option.getValue();
  return std::nullopt;
}

/// Parses the command line; prints help and exits where that is asked for, and
/// on errors.
void parseCommandLine(int argc, char **argv, Settings &settings);

/// Checks the options as far as that is possible without ranks. Sizes grow by
/// the factor 4.
CollectiveSweep readCollectiveOptions(const Settings &settings);

/// Measures the sweep of `settings` on a rank that has joined; `begin` says
/// what is being measured. Rank 0 writes the table. An error of any rank is one
/// of all.
LogicalResult timeCollectives(const Settings &settings,
                              function_ref<void(const Twine &)> begin);

} // namespace mlir::commsched::run

#endif // COMMSCHED_TOOLS_COMMSCHED_RUN_SETTINGS_H
