//===- Settings.cpp - Command line of commsched-run -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Settings.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"

#include <cmath>
#include <functional>

using namespace mlir;
using namespace mlir::commsched::run;

/// More threads than that are taken for a mistake.
static constexpr int32_t mostThreads = 1024;
/// Of each collective, by default.
static constexpr int32_t timedCalls = 20;

static llvm::Error parseInputs(Settings &settings) {
  InputSettings &inputs = settings.inputs;
  inputs.seed = settings.seed;
  inputs.sameOnAllRanks = settings.sameInputs;
  inputs.directory = settings.inputsDirectory;
  if (!inputs.directory.empty() &&
      !llvm::sys::fs::is_directory(inputs.directory))
    return llvm::createStringError("--inputs-dir: '" + inputs.directory +
                                   "' is no directory");
  for (StringRef text : settings.inputFiles) {
    auto [index, file] = text.split('=');
    unsigned number = 0;
    if (index.getAsInteger(10, number) || file.empty())
      return llvm::createStringError(
          "--input must be an argument's index, '=' and a file, not '" + text +
          "'");
    if (!inputs.files.emplace(number, file.str()).second)
      return llvm::createStringError("--input names argument " + Twine(number) +
                                     " twice");
  }
  return llvm::Error::success();
}

/// Decides on the backend and on which ranks this process is.
static llvm::Error chooseRanks(Settings &settings) {
  int32_t ranks = settings.ranks;
  bool given = settings.ranks.getNumOccurrences() != 0;
  if (given && (ranks < 1 || ranks > mostThreads))
    return llvm::createStringError("--ranks must be from 1 to " +
                                   Twine(mostThreads) + ", but is " +
                                   Twine(ranks));
  commsched_launcher found;
  int32_t status = commsched_find_launcher(settings.backend.c_str(), &found);
  // This backend needs no launcher.
  if (status < 0 && settings.backend != "local")
    return llvm::createStringError(commsched_last_error());
  if (status > 0)
    settings.launcher = found;
  if (settings.backend.empty())
    settings.backend = settings.launcher ? settings.launcher->backend : "local";
  const std::optional<commsched_launcher> &launcher = settings.launcher;
  int32_t started = launcher ? launcher->num_ranks : 1;
  if (settings.backend == "local") {
    if (started > 1)
      return llvm::createStringError(
          "backend 'local' runs all ranks in one process, but " +
          Twine(launcher->name) + " started " + Twine(started));
    settings.numRanks = given ? ranks : 1;
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

/// An error about the first of `options` that is given: nothing would read it.
static llvm::Error refuseGiven(
    std::initializer_list<std::reference_wrapper<const cl::Option>> options,
    const Twine &why) {
  for (const cl::Option &option : options)
    if (option.getNumOccurrences())
      return llvm::createStringError("--" + option.ArgStr + " " + why);
  return llvm::Error::success();
}

/// Reads what is to be timed, if that is asked for instead of a program.
static llvm::Error readSweep(Settings &settings) {
  bool isSweep = settings.collectives.getNumOccurrences() != 0;
  if (isSweep != settings.program.empty())
    return llvm::createStringError(
        isSweep
            ? "--collectives times collectives and needs no program, but '" +
                  settings.program + "' is given"
            : "there is no program; --help lists the options, and "
              "--collectives times collectives without one");
  if (!isSweep)
    return refuseGiven({settings.groups, settings.type, settings.minBytes,
                        settings.maxBytes, settings.implementation},
                       "needs --collectives");
  if (llvm::Error error = refuseGiven(
          {settings.compared, settings.entry, settings.iterations,
           settings.optLevel, settings.seed, settings.sameInputs,
           settings.inputFiles, settings.inputsDirectory,
           settings.outputDirectory, settings.tolerance, settings.profile,
           settings.timeline, settings.timelineRuns, settings.times,
           settings.format},
          "needs a program, but --collectives times collectives without one"))
    return error;
  settings.sweep = readCollectiveOptions(settings);
  if (settings.repeats.getNumOccurrences() == 0)
    settings.repeats = timedCalls;
  if (settings.repeats < 1)
    return llvm::createStringError(
        "--repeat must be positive with --collectives");
  return llvm::Error::success();
}

static llvm::Error checkSettings(const Settings &settings) {
  if (settings.optLevel > 3)
    return llvm::createStringError("--opt-level must be from 0 to 3, not " +
                                   Twine(settings.optLevel));
  if (settings.deadlineMs.getNumOccurrences() && settings.deadlineMs <= 0)
    return llvm::createStringError("--deadline-ms must be positive");
  if (settings.iterations.getNumOccurrences() && settings.iterations < 1)
    return llvm::createStringError("--iterations must be at least 1, but is " +
                                   Twine(settings.iterations));
  if (settings.repeats < 0)
    return llvm::createStringError("--repeat must not be negative");
  std::optional<double> tolerance = getIfGiven(settings.tolerance);
  if (tolerance && (!std::isfinite(*tolerance) || *tolerance < 0))
    return llvm::createStringError(
        "--tolerance must be finite and not negative");
  if (settings.compared.empty())
    if (llvm::Error error =
            refuseGiven({settings.tolerance}, "needs --compare"))
      return error;
  if (settings.timeline.empty())
    if (llvm::Error error =
            refuseGiven({settings.timelineRuns}, "needs --timeline"))
      return error;
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

void mlir::commsched::run::parseCommandLine(int argc, char **argv,
                                            Settings &settings) {
  cl::HideUnrelatedOptions(settings.category);
  cl::ParseCommandLineOptions(
      argc, argv,
      "Runs a program on ranks, compares its results with another's, and times "
      "it; or times collectives.\n");

  settings.exitOnError(chooseRanks(settings));
  settings.command =
      "commsched-run " + llvm::join(ArrayRef(argv, argc).drop_front(), " ");
  settings.exitOnError(readSweep(settings));
  settings.exitOnError(parseInputs(settings));
  settings.exitOnError(checkSettings(settings));
}

void Settings::exitOnError(llvm::Error error) const {
  if (!error)
    return;
  std::string who =
      launcher ? "rank " + std::to_string(launcher->rank) : "commsched-run";
  llvm::errs() << who + ": " + llvm::toString(std::move(error)) + "\n";
  std::exit(EXIT_FAILURE);
}
