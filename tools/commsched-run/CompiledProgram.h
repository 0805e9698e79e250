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
#include "DeviceValues.h"
#include "StepPlan.h"
#include "mlir/IR/OwningOpRef.h"

#include <memory>

namespace mlir {
class ExecutionEngine;
} // namespace mlir

namespace mlir::commsched::run {

/// What is made of a file.
struct ProgramOptions {
  /// The function; empty for the one that there is.
  std::string entry;
  /// How often its step is repeated; see StepPlan.
  std::optional<int64_t> repetitions;
  /// The path of a table of measured collectives, or empty.
  std::string profile;
  /// How hard LLVM tries, from 0 to 3.
  unsigned optLevel = 2;
};

/// What the cost model says about all calls of a plan together. None for what
/// the model does not know.
struct PredictedTotals {
  /// From one repetition to the next.
  std::optional<int64_t> periodNs;
  std::optional<int64_t> stepNs;
  std::optional<int64_t> exposedNs;
  std::optional<int64_t> peakBytes;
  std::optional<int64_t> hostPeakBytes;
  CostEvidence evidence;
};

class CompiledProgram {
public:
  /// Fails with all diagnostics, or what else is wrong, in words.
  static llvm::Expected<std::unique_ptr<CompiledProgram>>
  create(MLIRContext &context, StringRef path, const ProgramOptions &options);
  ~CompiledProgram();

  StringRef getPath() const { return path; }
  const StepPlan &getPlan() const { return plan; }
  const Signature &getSignature() const { return plan.signature; }
  /// As it was before lowering.
  ModuleOp getModule() const { return *module; }

  /// The prediction of the cost model for a step that is run once; none, with
  /// the reason as text, where there is none.
  const std::optional<StepReport> &getPrediction() const { return prediction; }
  /// The prediction for all repetitions; none likewise.
  const std::optional<PredictedTotals> &getPredictedTotals() const {
    return totals;
  }
  StringRef getNoPredictionReason() const { return noPredictionReason; }

  /// The text for commsched_load_program.
  const char *getDescription() const { return description; }
  const ProgramSites &getSites() const { return sites; }
  const SiteMap &getSiteMap() const { return *siteMap; }
  /// By site: how often the function is called that it is in; 0 where that is
  /// not known.
  ArrayRef<int64_t> getSiteCalls() const { return siteCalls; }
  /// For each collective of the prediction its site, or -1.
  ArrayRef<int32_t> getPredictedSites() const { return predictedSites; }

  /// Calls a function of the plan.
  std::vector<DeviceValue> call(unsigned function,
                                std::vector<DeviceValue> &arguments) const {
    return callFunction(code[function], plan.functions[function].signature,
                        arguments);
  }

private:
  explicit CompiledProgram(StringRef path);

  LogicalResult load(MLIRContext &context, const ProgramOptions &options,
                     std::string &error);
  LogicalResult predict();
  LogicalResult predictSteadyState(OperationCosts &costs);
  llvm::Error compile(const ProgramOptions &options);
  void findPredictedSites();
  void countSiteCalls();

  std::string path;
  OwningOpRef<ModuleOp> module;
  StepPlan plan;
  std::optional<StepReport> prediction;
  std::optional<PredictedTotals> totals;
  std::string noPredictionReason;
  std::unique_ptr<ExecutionEngine> engine;
  /// By function of the plan: its C interface.
  std::vector<void (*)(void **)> code;
  const char *description = nullptr;
  ProgramSites sites;
  std::unique_ptr<SiteMap> siteMap;
  std::vector<int32_t> predictedSites;
  std::vector<int64_t> siteCalls;
};

} // namespace mlir::commsched::run

#endif // COMMSCHED_TOOLS_COMMSCHED_RUN_COMPILEDPROGRAM_H
