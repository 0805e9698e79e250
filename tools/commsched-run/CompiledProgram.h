//===- CompiledProgram.h - Compiled programs and their calls ----*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A program that is ready to run, and the buffers with which one rank runs it.
// A module is parsed, simulated by the cost model, lowered and compiled; all
// ranks of a process share the result.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_TOOLS_COMMSCHED_RUN_COMPILEDPROGRAM_H
#define COMMSCHED_TOOLS_COMMSCHED_RUN_COMPILEDPROGRAM_H

#include "CommSched/Report/StepReport.h"
#include "EntryFunction.h"
#include "mlir/IR/OwningOpRef.h"

#include <memory>

namespace mlir {
class ExecutionEngine;
} // namespace mlir

namespace mlir::commsched::run {

class CompiledProgram {
public:
  /// Of the file `path`, the function `entry` (empty: the one that there is).
  /// `profile` is the path of a table of measured collectives, or empty.
  /// `optLevel`, of 0 to 3, is how hard LLVM tries. Fails with all diagnostics,
  /// or what else is wrong, in words.
  static llvm::Expected<std::unique_ptr<CompiledProgram>>
  create(MLIRContext &context, StringRef path, StringRef entry,
         StringRef profile, unsigned optLevel);
  ~CompiledProgram();

  StringRef getPath() const { return path; }
  const Signature &getSignature() const { return signature; }
  /// As it was before lowering.
  ModuleOp getModule() const { return *module; }
  func::FuncOp getEntry() const { return entry; }

  /// The prediction of the cost model for the entry function; none, with the
  /// reason as text, where there is none.
  const std::optional<StepReport> &getPrediction() const { return prediction; }
  StringRef getNoPredictionReason() const { return noPredictionReason; }

  /// The text for commsched_load_program.
  const char *getDescription() const { return description; }
  const ProgramSites &getSites() const { return sites; }
  const SiteMap &getSiteMap() const { return *siteMap; }
  /// For each collective of the prediction its site, or -1.
  ArrayRef<int32_t> getPredictedSites() const { return predictedSites; }

  /// Calls the entry's C interface. `arguments` are pointers to what is passed,
  /// and to where a result is put that is returned in a register.
  void call(void **arguments) const { function(arguments); }

private:
  explicit CompiledProgram(StringRef path);

  LogicalResult load(MLIRContext &context, StringRef entryName,
                     std::string &error);
  LogicalResult predict(StringRef profile);
  llvm::Error compile(StringRef profile, unsigned optLevel);
  void findPredictedSites();

  std::string path;
  OwningOpRef<ModuleOp> module;
  func::FuncOp entry;
  Signature signature;
  std::optional<StepReport> prediction;
  std::string noPredictionReason;
  std::unique_ptr<ExecutionEngine> engine;
  void (*function)(void **) = nullptr;
  const char *description = nullptr;
  ProgramSites sites;
  std::unique_ptr<SiteMap> siteMap;
  std::vector<int32_t> predictedSites;
};

class Invocation {
public:
  /// `inputs` are the values of the arguments.
  Invocation(const CompiledProgram &program, std::vector<Bytes> inputs);
  ~Invocation();
  Invocation(const Invocation &) = delete;
  Invocation &operator=(const Invocation &) = delete;

  /// Allocates the arguments. Whether that succeeded, the runtime knows.
  bool allocate();

  /// Gives the arguments the values of the inputs.
  bool restore();

  /// Runs the program once.
  void call();

  /// Reads what the last call returned and left in memref arguments; then the
  /// results are released.
  struct Outputs {
    std::vector<Bytes> results;
    /// By argument; empty for all but memrefs whose content means something.
    std::vector<Bytes> arguments;
  };
  bool takeOutputs(Outputs &outputs);

  /// Releases the results of the last call.
  void releaseResults();

private:
  /// A descriptor: allocated and aligned pointer, offset, sizes, strides.
  using Descriptor = std::vector<int64_t>;

  const CompiledProgram &program;
  std::vector<Bytes> inputs;
  /// By argument; null for scalars.
  std::vector<void *> buffers;
  std::vector<Descriptor> descriptors;
  /// The struct of all results, and where each of them lies in it.
  std::vector<int64_t> results;
  std::vector<size_t> resultOffsets;
  /// The passed pointers: addresses of descriptors, and scalars as they are.
  std::vector<void *> pointers;
  std::vector<void *> packed;
};

} // namespace mlir::commsched::run

#endif // COMMSCHED_TOOLS_COMMSCHED_RUN_COMPILEDPROGRAM_H
