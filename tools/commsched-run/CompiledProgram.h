//===- CompiledProgram.h - Compiled programs --------------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A program that is ready to run. A module is parsed, simulated by the cost
// model, lowered and compiled; all ranks of a process share the result.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_TOOLS_COMMSCHED_RUN_COMPILEDPROGRAM_H
#define COMMSCHED_TOOLS_COMMSCHED_RUN_COMPILEDPROGRAM_H

#include "CommSched/Report/StepReport.h"
#include "Measurements.h"
#include "StepPlan.h"
#include "mlir/ExecutionEngine/ExecutionEngine.h"
#include "mlir/IR/OwningOpRef.h"

#include <memory>

namespace mlir::commsched::run {

struct Settings;

/// A collective, a transfer or an emulated operator. Its index is what the
/// runtime's records have.
struct Site {
  std::string name;
  std::string location;
  /// Empty for operators.
  std::string kind;
  /// The group, or the stream of a transfer: "d2h" or "h2d".
  std::string group;
  /// The implementation; empty for NCCL, which the predictions do not name
  /// either.
  std::string implementation;
  /// As it was before lowering; null if lowering has dropped or copied it.
  Operation *op = nullptr;

  /// As CollectiveReport::getStreamName.
  std::string getStreamName() const {
    return implementation.empty() ? group : group + " (" + implementation + ")";
  }
  bool isTransfer() const { return kind == "offload" || kind == "reload"; }
};

struct ProgramSites {
  std::vector<Site> sites;
  std::vector<Site> operators;

  /// Reads the text that commsched_load_program takes.
  static llvm::Expected<ProgramSites> parse(StringRef description);
};

struct CompiledProgram {
  /// Fails with all diagnostics, or what else is wrong, in words.
  static llvm::Expected<std::unique_ptr<CompiledProgram>>
  create(MLIRContext &context, StringRef path, const Settings &settings);

  std::string path;
  /// As it was before lowering.
  OwningOpRef<ModuleOp> module;
  StepPlan plan;

  /// What the cost model says about a step that is run once, and about all
  /// repetitions together, with what that rests on; none and empty, with the
  /// reason as text, where it says nothing.
  std::optional<StepReport> prediction;
  Summary predicted;
  std::string evidence;
  std::string noPredictionReason;

  std::unique_ptr<ExecutionEngine> engine;
  /// The text for commsched_load_program.
  const char *description = nullptr;
  ProgramSites sites;
  /// By site: how often the function is called that it is in; 0 where that is
  /// not known.
  std::vector<int64_t> siteCalls;
};

} // namespace mlir::commsched::run

#endif // COMMSCHED_TOOLS_COMMSCHED_RUN_COMPILEDPROGRAM_H
