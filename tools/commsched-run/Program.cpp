//===- Program.cpp - A program that is ready to run -----------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Program.h"
#include "CommSched/Analysis/Costs/CostAnalysis.h"
#include "CommSched/Conversion/Pipelines.h"
#include "mlir/ExecutionEngine/ExecutionEngine.h"
#include "mlir/ExecutionEngine/OptUtils.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ExecutionEngine/Orc/JITTargetMachineBuilder.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/TargetSelect.h"

using namespace mlir;
using namespace mlir::commsched;
using namespace mlir::commsched::run;

/// The global that lowering puts the program's description into.
static constexpr StringLiteral descriptionName = "commsched_program";

Program::Program(StringRef path) : path(path.str()) {}
Program::~Program() = default;

//===----------------------------------------------------------------------===//
// Loading and predicting
//===----------------------------------------------------------------------===//

LogicalResult Program::load(MLIRContext &context, StringRef entryName,
                            std::string &error) {
  auto keep = [&](llvm::Error inner) {
    error = "'" + path + "' " + llvm::toString(std::move(inner));
    return failure();
  };
  llvm::SourceMgr sourceMgr;
  // Diagnostics go to whoever called create().
  module = parseSourceFile<ModuleOp>(path, sourceMgr, &context);
  if (!module)
    return failure();
  llvm::Expected<func::FuncOp> found = findEntry(*module, entryName);
  if (!found)
    return keep(found.takeError());
  entry = *found;
  llvm::Expected<Signature> types = run::getSignature(entry);
  if (!types) {
    error = "'" + path + "': " + llvm::toString(types.takeError());
    return failure();
  }
  signature = std::move(*types);
  return success();
}

LogicalResult Program::predict(StringRef profile) {
  llvm::Expected<std::shared_ptr<const cost::MeasuredTable>> table =
      loadProfile(profile, "commsched-run");
  if (!table)
    return emitError(UnknownLoc::get(module->getContext()),
                     llvm::toString(table.takeError()));
  CostAnalysis analysis(*module, table->get());
  OperationCosts *costs = analysis.getCosts();
  if (!costs)
    return failure();
  FailureOr<std::optional<StepReport>> report =
      simulateFunction(entry, *costs, noPredictionReason);
  if (failed(report))
    return failure();
  prediction = std::move(*report);
  return success();
}

//===----------------------------------------------------------------------===//
// Compiling
//===----------------------------------------------------------------------===//

llvm::Error Program::compile(StringRef profile, unsigned optLevel) {
  OwningOpRef<ModuleOp> lowered = module->clone();
  PassManager manager(module->getContext());
  CommSchedToRuntimeOptions options;
  options.profile = profile.str();
  buildCommSchedToLLVMPipeline(manager, options);
  if (failed(manager.run(*lowered)))
    return llvm::createStringError("'" + path + "' cannot be lowered");

  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  llvm::Expected<llvm::orc::JITTargetMachineBuilder> builder =
      llvm::orc::JITTargetMachineBuilder::detectHost();
  if (!builder)
    return builder.takeError();
  auto codeGenLevel = *llvm::CodeGenOpt::getLevel(optLevel);
  builder->setCodeGenOptLevel(codeGenLevel);
  llvm::Expected<std::unique_ptr<llvm::TargetMachine>> machine =
      builder->createTargetMachine();
  if (!machine)
    return machine.takeError();
  ExecutionEngineOptions engineOptions;
  auto optimize =
      makeOptimizingTransformer(optLevel, /*sizeLevel=*/0, machine->get());
  engineOptions.jitCodeGenOptLevel = codeGenLevel;
  engineOptions.transformer = optimize;
  llvm::Expected<std::unique_ptr<ExecutionEngine>> created =
      ExecutionEngine::create(*lowered, engineOptions, std::move(*machine));
  if (!created)
    return created.takeError();
  engine = std::move(*created);

  llvm::Expected<void (*)(void **)> code =
      engine->lookupPacked("_mlir_ciface_" + signature.name);
  if (!code)
    return code.takeError();
  function = *code;
  llvm::Expected<void *> text = engine->lookup(descriptionName);
  if (!text)
    return text.takeError();
  description = static_cast<const char *>(*text);
  llvm::Expected<ProgramSites> parsed = ProgramSites::parse(description);
  if (!parsed)
    return llvm::createStringError("'" + path + "': its description " +
                                   llvm::toString(parsed.takeError()));
  sites = std::move(*parsed);
  return llvm::Error::success();
}

void Program::findPredictedSites() {
  siteMap = std::make_unique<SiteMap>(*module, sites);
  if (!prediction)
    return;
  for (Operation &op : entry.front())
    if (isa<CollectiveOpInterface>(op))
      predictedSites.push_back(SiteMap::lookup(siteMap->sites, &op));
  predictedSites.resize(prediction->collectives.size(), -1);
}

llvm::Expected<std::unique_ptr<Program>>
Program::create(MLIRContext &context, StringRef path, StringRef entry,
                StringRef profile, unsigned optLevel) {
  std::string diagnostics;
  llvm::raw_string_ostream os(diagnostics);
  llvm::SourceMgr sourceMgr;
  SourceMgrDiagnosticHandler handler(sourceMgr, &context, os);
  std::unique_ptr<Program> program(new Program(path));
  std::string error;
  if (succeeded(program->load(context, entry, error)) &&
      succeeded(program->predict(profile))) {
    if (llvm::Error inner = program->compile(profile, optLevel))
      error = llvm::toString(std::move(inner));
    else
      program->findPredictedSites();
  }
  if (error.empty() && program->siteMap)
    return program;
  // What the last message says, diagnostics have said in more detail.
  while (StringRef(diagnostics).ends_with("\n"))
    diagnostics.pop_back();
  if (diagnostics.empty())
    return llvm::createStringError(error);
  return llvm::createStringError(error.empty() ? diagnostics
                                               : diagnostics + "\n" + error);
}
