//===- commsched-run.cpp - Runner of compiled programs --------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compiles a module, runs it on ranks that are threads of this process or
// processes of a launcher, compares its results with another module's, and says
// what took how long.
//
//===----------------------------------------------------------------------===//

#include "CommSched/Tools/Main.h"

#include "CommSched/Register.h"
#include "CommSched/Tools/Upstream.h"
#include "RankRunner.h"
#include "llvm/Support/InitLLVM.h"

#include <atomic>
#include <thread>

using namespace mlir;
using namespace mlir::commsched::run;

/// Prints the error of a process before its ranks run, with the rank that its
/// launcher assigned.
static void reportError(const std::optional<commsched_launcher> &launcher,
                        llvm::Error error) {
  std::string text = llvm::toString(std::move(error));
  if (launcher)
    reportRankError(launcher->rank, text);
  else
    llvm::errs() << "commsched-run: " + text + "\n";
}

/// Compiles what is to run.
static llvm::Expected<std::vector<std::unique_ptr<CompiledProgram>>>
createPrograms(MLIRContext &context, const Settings &settings) {
  std::vector<std::unique_ptr<CompiledProgram>> programs;
  ProgramOptions options{settings.entry, getIfGiven(settings.iterations),
                         settings.profile, settings.optLevel};
  for (StringRef path :
       {StringRef(settings.compared), StringRef(settings.program)}) {
    if (path.empty())
      continue;
    if (!settings.launcher || settings.launcher->rank == 0)
      reportProgress(settings, "compiling '" + path + "'");
    llvm::Expected<std::unique_ptr<CompiledProgram>> program =
        CompiledProgram::create(context, path, options);
    if (!program)
      return program.takeError();
    programs.push_back(std::move(*program));
  }
  if (programs.empty())
    return programs;
  if (programs.size() > 1)
    if (llvm::Error error = checkComparable(*programs[0], *programs[1]))
      return error;
  size_t numArguments = programs.back()->getSignature().arguments.size();
  for (const auto &[index, file] : settings.inputs.files)
    if (index >= numArguments)
      return llvm::createStringError(
          "--input names argument " + Twine(index) + ", but @" +
          programs.back()->getSignature().name + " has " + Twine(numArguments));
  return programs;
}

/// Runs the ranks of this process; true if all of them succeed.
static bool runRanks(const Job &job) {
  if (job.settings->backend != "local")
    return RankRunner(job, -1).run();
  std::atomic<bool> succeeded = true;
  std::vector<std::thread> threads;
  for (int32_t rank = 0; rank < job.settings->numThreads; ++rank)
    threads.emplace_back([&job, &succeeded, rank] {
      if (!RankRunner(job, rank).run())
        succeeded = false;
    });
  for (std::thread &thread : threads)
    thread.join();
  return succeeded;
}

int mlir::commsched::runMain(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  Settings settings;
  if (llvm::Error error = parseCommandLine(argc, argv, settings)) {
    reportError(settings.launcher, std::move(error));
    return EXIT_FAILURE;
  }

  DialectRegistry registry;
  registerUpstreamDialects(registry);
  registerDialects(registry);
  registerDialectsByName(registry);
  // Ranks share the processors with each other.
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);

  llvm::Expected<std::vector<std::unique_ptr<CompiledProgram>>> programs =
      createPrograms(context, settings);
  if (!programs) {
    reportError(settings.launcher, programs.takeError());
    return EXIT_FAILURE;
  }
  Job job;
  job.settings = &settings;
  job.name = "commsched-run";
  for (const std::unique_ptr<CompiledProgram> &program : *programs)
    job.programs.push_back(program.get());
  return runRanks(job) ? EXIT_SUCCESS : EXIT_FAILURE;
}
