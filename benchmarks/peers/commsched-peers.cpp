//===- commsched-peers.cpp - Schedulers side by side ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Gives the functions of programs to several schedulers, and prints what each
// makes of them: one JSON object a function and scheduler, on one line. See
// README.md; run.py is what reads it.
//===----------------------------------------------------------------------===//

#include "CommSched/Register.h"
#include "Peers.h"
#include "ProblemDump.h"
#include "RingProducts.h"
#include "mlir/Bytecode/BytecodeWriter.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"

using namespace mlir;
using namespace mlir::commsched;

static llvm::cl::list<std::string> programPaths(llvm::cl::Positional,
                                                llvm::cl::desc("program..."),
                                                llvm::cl::OneOrMore);
static llvm::cl::list<std::string>
    pipelines("pipeline", llvm::cl::desc("A peer that is a pipeline of passes"),
              llvm::cl::value_desc("NAME=PASSES"));
static llvm::cl::list<std::string>
    limits("latency-hiding",
           llvm::cl::desc("A peer that schedules like XLA, within a memory "
                          "budget, as bytes or percentage over the input's "
                          "peak, or none"),
           llvm::cl::value_desc("NAME=BUDGET[,IN-FLIGHT]"));
static llvm::cl::list<std::string>
    externals("external",
              llvm::cl::desc("A peer whose answer is in a JSON file"),
              llvm::cl::value_desc("NAME=FILE"));
static llvm::cl::list<std::string>
    windows("windowed-einsum",
            llvm::cl::desc("A peer that divides products as XLA does, and then "
                           "runs a pipeline of passes"),
            llvm::cl::value_desc("NAME=PASSES"));
static llvm::cl::list<std::string>
    micropipelines("micro-pipeline",
                   llvm::cl::desc("A peer that divides products as PyTorch "
                                  "does, and then runs a pipeline of passes"),
                   llvm::cl::value_desc("NAME=PASSES"));
static llvm::cl::opt<std::string>
    dumpPath("dump",
             llvm::cl::desc("Write the program to a JSON file, for a peer that "
                            "does not read MLIR, and do nothing else"),
             llvm::cl::value_desc("FILE"));
static llvm::cl::opt<std::string>
    outputPath("output",
               llvm::cl::desc("Write the program as the only peer besides the "
                              "input has left it, as bytecode"),
               llvm::cl::value_desc("FILE"));

namespace {

struct Peer {
  std::string name;
  std::function<FailureOr<PeerRun>(LoneFunction &)> run;
};

} // namespace

static LogicalResult
addPeers(std::vector<Peer> &peers, llvm::cl::list<std::string> &texts,
         FailureOr<PeerRun> (*run)(LoneFunction &, StringRef)) {
  for (const std::string &text : texts) {
    auto [name, argument] = StringRef(text).split('=');
    if (name.empty() || argument.empty()) {
      llvm::errs() << "the option '" << texts.ArgStr << "' must be "
                   << texts.ValueStr << ", but is '" << text << "'\n";
      return failure();
    }
    peers.push_back(
        {name.str(), [=, argument = argument.str()](LoneFunction &function) {
           return run(function, argument);
         }});
  }
  return success();
}

static void writeCosts(llvm::json::OStream &json, const PeerCosts &costs) {
  const StepReport &report = costs.report;
  json.attribute("step_time_ns", report.stepTimeNs);
  json.attribute("lower_bound_ns", costs.lowerBoundNs);
  json.attribute("tight_lower_bound_ns", costs.tightLowerBoundNs);
  json.attribute("merging_lower_bound_ns", report.mergingLowerBoundNs);
  json.attribute("peak_memory_bytes", report.peakMemoryBytes);
  json.attribute("exposed_comm_ns", report.exposedCommNs);
  json.attribute("num_collectives",
                 static_cast<int64_t>(report.collectives.size()));
}

/// Prints what `peer` makes of a copy of `function`, and returns the copy. A
/// peer that fails is no reason to stop: that is what it makes of it.
static LoneFunction writePeer(StringRef path, LoneFunction &function,
                              const Peer &peer) {
  LoneFunction copy = function.clone();
  std::string error;
  ScopedDiagnosticHandler handler(
      copy.getModule().getContext(), [&](Diagnostic &diagnostic) {
        if (error.empty() &&
            diagnostic.getSeverity() == DiagnosticSeverity::Error)
          error = diagnostic.str();
      });
  FailureOr<PeerRun> run = peer.run(copy);
  FailureOr<PeerCosts> costs = failure();
  if (succeeded(run))
    costs = measure(copy);
  llvm::json::OStream json(llvm::outs());
  json.object([&] {
    json.attribute("program", path);
    json.attribute("function", function.getFunction().getName());
    json.attribute("peer", peer.name);
    if (failed(costs)) {
      json.attribute("error", error);
      return;
    }
    writeCosts(json, *costs);
    json.attribute("schedule_ms", run->scheduleMs);
    if (!run->note.empty())
      json.attribute("note", run->note);
  });
  llvm::outs() << "\n";
  llvm::outs().flush();
  return copy;
}

static LogicalResult writeProgram(ModuleOp module) {
  std::error_code error;
  llvm::raw_fd_ostream os(outputPath, error);
  if (error) {
    llvm::errs() << "cannot write '" << outputPath << "': " << error.message()
                 << "\n";
    return failure();
  }
  return writeBytecodeToFile(module, os);
}

static LogicalResult dump(StringRef path, ModuleOp module) {
  std::error_code error;
  llvm::raw_fd_ostream os(dumpPath, error, llvm::sys::fs::OF_Text);
  if (error) {
    llvm::errs() << "cannot write '" << dumpPath << "': " << error.message()
                 << "\n";
    return failure();
  }
  llvm::json::OStream json(os);
  bool isComplete = true;
  json.object([&] {
    json.attribute("program", path);
    json.attributeArray("functions", [&] {
      for (FunctionOpInterface function : getBenchmarkedFunctions(module)) {
        LoneFunction alone(function);
        isComplete &= succeeded(dumpFunction(json, alone));
      }
    });
  });
  return success(isComplete);
}

static LogicalResult run(StringRef path, ArrayRef<Peer> peers,
                         const DialectRegistry &registry) {
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.printOpOnDiagnostic(false);
  // Merging makes views.
  context.loadDialect<CommSchedDialect, func::FuncDialect,
                      tensor::TensorDialect>();
  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(path, &context);
  if (!module)
    return failure();
  if (!dumpPath.empty())
    return dump(path, *module);
  for (FunctionOpInterface function : getBenchmarkedFunctions(*module)) {
    LoneFunction alone(function);
    for (const Peer &peer : peers) {
      LoneFunction result = writePeer(path, alone, peer);
      if (!outputPath.empty())
        function.getFunctionBody().takeBody(
            result.getFunction().getFunctionBody());
    }
  }
  return outputPath.empty() ? success() : writeProgram(*module);
}

int main(int argc, char **argv) {
  llvm::cl::ParseCommandLineOptions(
      argc, argv, "Compares schedulers on the same programs and costs\n");
  for (const llvm::cl::opt<std::string> *option : {&dumpPath, &outputPath})
    if (!option->empty() && programPaths.size() > 1) {
      llvm::errs() << "the option '" << option->ArgStr
                   << "' takes one program\n";
      return 1;
    }
  std::vector<Peer> peers = {
      {"input", [](LoneFunction &) { return PeerRun(); }}};
  if (failed(addPeers(peers, pipelines, runPipeline)) ||
      failed(addPeers(peers, limits, hideLatencies)) ||
      failed(addPeers(peers, externals, applyExternal)) ||
      failed(addPeers(peers, windows, windowEinsums)) ||
      failed(addPeers(peers, micropipelines, pipelineProducts)))
    return 1;
  if (!outputPath.empty() && peers.size() != 2) {
    llvm::errs() << "the option 'output' takes one peer\n";
    return 1;
  }
  DialectRegistry registry;
  registerAllDialects(registry);
  registerAllExtensions(registry);
  mlir::commsched::registerDialects(registry);
  mlir::commsched::registerDialectsByName(registry);
  mlir::commsched::registerAllPasses();
  for (const std::string &path : programPaths)
    if (failed(run(path, peers, registry)))
      return 1;
  return 0;
}
