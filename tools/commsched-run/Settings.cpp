//===- Settings.cpp - Command line of commsched-run -----------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Settings.h"

#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"

#include <cmath>

using namespace mlir;
using namespace mlir::commsched::run;
namespace cl = llvm::cl;

/// More threads than that are taken for a mistake.
static constexpr int32_t mostThreads = 1024;
/// Of each collective, by default.
static constexpr int32_t timedCalls = 20;

namespace {

/// The options as they are written. They register themselves.
struct CommandLineOptions {
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
  cl::list<std::string> inputs{
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
      "groups", cl::CommaSeparated, cl::value_desc("names"), cl::cat(category),
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
};

} // namespace

static llvm::Error parseInputs(const CommandLineOptions &options,
                               InputSettings &settings) {
  settings.seed = options.seed;
  settings.sameOnAllRanks = options.sameInputs;
  settings.directory = options.inputsDirectory;
  if (!settings.directory.empty() &&
      !llvm::sys::fs::is_directory(settings.directory))
    return llvm::createStringError("--inputs-dir: '" + settings.directory +
                                   "' is no directory");
  for (StringRef text : options.inputs) {
    auto [index, file] = text.split('=');
    unsigned number = 0;
    if (index.getAsInteger(10, number) || file.empty())
      return llvm::createStringError(
          "--input must be an argument's index, '=' and a file, not '" + text +
          "'");
    if (!settings.files.emplace(number, file.str()).second)
      return llvm::createStringError("--input names argument " + Twine(number) +
                                     " twice");
  }
  return llvm::Error::success();
}

/// The launcher that the runtime finds for `backend` (empty: any); none for a
/// process that was started by itself. Fails if its variables are incomplete.
static llvm::Expected<std::optional<commsched_launcher>>
findLauncher(const std::string &backend) {
  commsched_launcher launcher;
  int32_t found = commsched_find_launcher(backend.c_str(), &launcher);
  if (found < 0)
    return llvm::createStringError(commsched_last_error());
  return found ? std::optional(launcher) : std::nullopt;
}

/// Decides on the backend and on which ranks this process is.
static llvm::Error chooseRanks(const CommandLineOptions &options,
                               Settings &settings) {
  int32_t ranks = options.ranks;
  bool given = options.ranks.getNumOccurrences() != 0;
  if (given && (ranks < 1 || ranks > mostThreads))
    return llvm::createStringError("--ranks must be from 1 to " +
                                   Twine(mostThreads) + ", but is " +
                                   Twine(ranks));
  settings.backend = options.backend;
  llvm::Expected<std::optional<commsched_launcher>> found =
      findLauncher(settings.backend);
  if (found)
    settings.launcher = *found;
  else if (settings.backend == "local")
    // This backend needs no launcher.
    llvm::consumeError(found.takeError());
  else
    return found.takeError();
  if (settings.backend.empty())
    settings.backend = settings.launcher ? settings.launcher->backend : "local";
  const std::optional<commsched_launcher> &launcher = settings.launcher;
  int32_t started = launcher ? launcher->num_ranks : 1;
  if (settings.backend == "local") {
    if (started > 1)
      return llvm::createStringError(
          "backend 'local' runs all ranks in one process, but " +
          Twine(launcher->name) + " started " + Twine(started));
    settings.numThreads = settings.numRanks = given ? ranks : 1;
    return llvm::Error::success();
  }
  if (given && ranks != started)
    return llvm::createStringError(
        "--ranks is " + Twine(ranks) + ", but " +
        (launcher ? Twine(launcher->name) + " started " + Twine(started)
                  : "backend '" + Twine(settings.backend) +
                        "' runs one rank in a process, and there is one"));
  settings.numRanks = started;
  return llvm::Error::success();
}

/// Reads what is to be timed, if that is asked for instead of a program.
static llvm::Error readSweep(const CommandLineOptions &options,
                             const std::string &command, Settings &settings) {
  bool isSweep = options.collectives.getNumOccurrences() != 0;
  if (isSweep != settings.program.empty())
    return llvm::createStringError(
        isSweep
            ? "--collectives times collectives and needs no program, but '" +
                  settings.program + "' is given"
            : "there is no program; --help lists the options, and "
              "--collectives times collectives without one");
  if (!isSweep)
    return llvm::Error::success();
  CollectiveOptions sweep;
  sweep.collectives.assign(options.collectives.begin(),
                           options.collectives.end());
  sweep.groups.assign(options.groups.begin(), options.groups.end());
  sweep.type = options.type;
  sweep.minBytes = options.minBytes;
  sweep.maxBytes = options.maxBytes;
  sweep.implementation = options.implementation;
  if (sweep.groups.empty())
    sweep.groups = {"world"};
  llvm::Expected<CollectiveSweep> read = readCollectiveOptions(sweep);
  if (!read)
    return read.takeError();
  settings.sweep = std::move(*read);
  settings.sweep->command = command;
  if (options.repeats.getNumOccurrences() == 0)
    settings.repeats = timedCalls;
  if (settings.repeats < 1)
    return llvm::createStringError(
        "--repeat must be positive with --collectives");
  return llvm::Error::success();
}

static llvm::Error checkSettings(const CommandLineOptions &options,
                                 const Settings &settings) {
  if (options.optLevel > 3)
    return llvm::createStringError("--opt-level must be from 0 to 3, not " +
                                   Twine(options.optLevel));
  if (options.deadlineMs.getNumOccurrences() && options.deadlineMs <= 0)
    return llvm::createStringError("--deadline-ms must be positive");
  if (settings.iterations && *settings.iterations < 1)
    return llvm::createStringError("--iterations must be at least 1, but is " +
                                   Twine(*settings.iterations));
  if (options.repeats < 0)
    return llvm::createStringError("--repeat must not be negative");
  if (settings.tolerance &&
      (!std::isfinite(*settings.tolerance) || *settings.tolerance < 0))
    return llvm::createStringError(
        "--tolerance must be finite and not negative");
  if (settings.tolerance && settings.compared.empty())
    return llvm::createStringError("--tolerance needs --compare");
  if (!settings.times.empty() && settings.numRanks > 1 &&
      !StringRef(settings.times).contains("%r"))
    return llvm::createStringError(
        "--times needs '%r' in the name, for there are " +
        Twine(settings.numRanks) + " ranks");
  if (settings.modelledTimes && settings.backend != "local")
    return llvm::createStringError(
        "--modelled-times is for backend 'local', not '" + settings.backend +
        "'");
  return llvm::Error::success();
}

llvm::Expected<Settings> mlir::commsched::run::parseCommandLine(
    int argc, char **argv, std::optional<commsched_launcher> &launcher) {
  CommandLineOptions options;
  cl::HideUnrelatedOptions(options.category);
  cl::ParseCommandLineOptions(
      argc, argv,
      "Runs a program on ranks, compares its results with another's, and times "
      "it; or times collectives.\n");

  Settings settings;
  settings.program = options.program;
  settings.compared = options.compared;
  settings.entry = options.entry;
  if (options.iterations.getNumOccurrences())
    settings.iterations = options.iterations;
  settings.optLevel = options.optLevel;
  if (options.deadlineMs.getNumOccurrences())
    settings.deadlineMs = options.deadlineMs;
  settings.modelledTimes = options.modelledTimes;
  settings.emulateData = options.emulateData;
  settings.flightRecord = options.flightRecord;
  settings.outputDirectory = options.outputDirectory;
  if (options.tolerance.getNumOccurrences())
    settings.tolerance = options.tolerance;
  settings.repeats = options.repeats;
  settings.profile = options.profile;
  settings.timeline = options.timeline;
  settings.timelineRuns = options.timelineRuns;
  settings.times = options.times;
  settings.format = options.format;
  settings.output = options.output;
  settings.progress = options.progress;
  llvm::Error ranksError = chooseRanks(options, settings);
  launcher = settings.launcher;
  if (ranksError)
    return ranksError;
  std::string command = "commsched-run";
  for (const char *argument : ArrayRef(argv, argc).drop_front())
    command += std::string(" ") + argument;
  if (llvm::Error error = readSweep(options, command, settings))
    return error;
  if (llvm::Error error = parseInputs(options, settings.inputs))
    return error;
  if (llvm::Error error = checkSettings(options, settings))
    return error;
  return settings;
}
