//===- Program.h - A program that is ready to run ---------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A module from its file to code: parsed, predicted by the model, lowered, and
// compiled. All ranks of a process share one.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_TOOLS_COMMSCHED_RUN_PROGRAM_H
#define COMMSCHED_TOOLS_COMMSCHED_RUN_PROGRAM_H

#include "EntryFunction.h"
#include "ProgramSites.h"

#include "CommSched/Report/StepReport.h"
#include "mlir/IR/OwningOpRef.h"

#include <memory>

namespace mlir {
class ExecutionEngine;
} // namespace mlir

namespace mlir::commsched::run {

class Program {
public:
  /// Of the file `path`, the function `entry` (empty: the one that there is).
  /// `profile` is the path of a table of measured collectives, or empty.
  /// `optLevel`, of 0 to 3, is how hard LLVM tries. Fails with all diagnostics,
  /// or what else is wrong, in words.
  static llvm::Expected<std::unique_ptr<Program>>
  create(MLIRContext &context, StringRef path, StringRef entry,
         StringRef profile, unsigned optLevel);
  ~Program();

  StringRef getPath() const { return path; }
  const Signature &getSignature() const { return signature; }
  /// As it was before lowering.
  ModuleOp getModule() const { return *module; }
  func::FuncOp getEntry() const { return entry; }

  /// What the model says about the entry function; none, with the reason in
  /// words, where it says nothing.
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
  explicit Program(StringRef path);

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

} // namespace mlir::commsched::run

#endif // COMMSCHED_TOOLS_COMMSCHED_RUN_PROGRAM_H
