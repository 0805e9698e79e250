//===- CompiledProgram.cpp - Compiled programs ----------------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CompiledProgram.h"

#include "CommSched/Analysis/Costs/Callees.h"
#include "CommSched/Analysis/Costs/CostAnalysis.h"
#include "CommSched/Analysis/Costs/TargetSpec.h"
#include "CommSched/Conversion/Pipelines.h"
#include "CommSched/Dialect/CommSchedDialect.h"
#include "CommSched/Transforms/Passes.h"
#include "Numerics/Elements.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/ExecutionEngine/ExecutionEngine.h"
#include "mlir/ExecutionEngine/OptUtils.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/bit.h"
#include "llvm/ExecutionEngine/Orc/JITTargetMachineBuilder.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/TargetSelect.h"

using namespace mlir;
using namespace mlir::commsched;
using namespace mlir::commsched::run;

//===----------------------------------------------------------------------===//
// CompiledProgram
//===----------------------------------------------------------------------===//

/// Rounds to bf16, under the names by which compiled code calls it: libgcc has
/// these functions since version 13 only. A bf16 is returned where a float
/// would be: it is the lower half of the bits.
template <typename T> static float truncateToBrainFloat(T value) {
  return llvm::bit_cast<float>(
      uint32_t(::commsched::runtime::BFloat16::encode(value)));
}

static llvm::orc::SymbolMap
getBrainFloatSymbols(llvm::orc::MangleAndInterner mangle) {
  auto define = [](auto *function) {
    return llvm::orc::ExecutorSymbolDef(
        llvm::orc::ExecutorAddr::fromPtr(function),
        llvm::JITSymbolFlags::Exported | llvm::JITSymbolFlags::Callable);
  };
  return {{mangle("__truncsfbf2"), define(truncateToBrainFloat<float>)},
          {mangle("__truncdfbf2"), define(truncateToBrainFloat<double>)}};
}

/// The global that lowering puts the program's description into.
static constexpr StringLiteral descriptionName = "commsched_program";

CompiledProgram::CompiledProgram(StringRef path) : path(path.str()) {}
CompiledProgram::~CompiledProgram() = default;

//===----------------------------------------------------------------------===//
// Loading and predicting
//===----------------------------------------------------------------------===//

static bool hasCalls(ModuleOp module) {
  return module.walk([](func::CallOp) { return WalkResult::interrupt(); })
      .wasInterrupted();
}

LogicalResult CompiledProgram::load(MLIRContext &context,
                                    const ProgramOptions &options,
                                    std::string &error) {
  llvm::SourceMgr sourceMgr;
  // Diagnostics go to the handler of create().
  module = parseSourceFile<ModuleOp>(path, sourceMgr, &context);
  if (!module)
    return failure();
  // What is called is predicted and counted with the function that calls it.
  if (hasCalls(*module)) {
    PassManager manager(&context);
    manager.addPass(createMergeStep());
    if (failed(manager.run(*module)))
      return failure();
  }
  llvm::Expected<StepPlan> made =
      StepPlan::create(*module, options.entry, options.repetitions);
  if (!made) {
    error = "'" + path + "'" + llvm::toString(made.takeError());
    return failure();
  }
  plan = std::move(*made);
  if (options.profile.empty())
    return success();
  return setProfile(*module, options.profile, "commsched-run");
}

/// Without a steady state repetitions follow each other without overlap, since
/// nothing is in flight between them.
LogicalResult CompiledProgram::predict() {
  FailureOr<std::shared_ptr<CostAnalysis>> analysis =
      CostAnalysis::create(*module);
  if (failed(analysis))
    return failure();
  OperationCosts &costs = *(*analysis)->getCosts();
  Callees callees(*module, costs);
  if (plan.depth != 1)
    return predictSteadyState(costs);
  FailureOr<std::optional<StepReport>> report = simulateFunction(
      plan.functions.front().function, costs, noPredictionReason);
  if (failed(report))
    return failure();
  if (!*report)
    return success();
  int64_t repetitions = plan.getNumRepetitions();
  totals.emplace();
  totals->periodNs = (*report)->stepTimeNs;
  totals->stepNs = repetitions * (*report)->stepTimeNs;
  totals->exposedNs = repetitions * (*report)->exposedCommNs;
  totals->peakBytes = (*report)->peakMemoryBytes;
  totals->hostPeakBytes = (*report)->hostPeakBytes;
  totals->evidence = (*report)->evidence;
  if (!plan.repetitions)
    prediction = std::move(*report);
  return success();
}

/// Of few repetitions the time of all is that of a run which has more of them,
/// less their periods.
LogicalResult CompiledProgram::predictSteadyState(OperationCosts &costs) {
  func::FuncOp steady = plan.functions[1].function;
  // It becomes a loop for that.
  steady.getContext()
      ->loadDialect<arith::ArithDialect, CommSchedDialect, scf::SCFDialect>();
  FailureOr<std::optional<StepReport>> report =
      simulateRepetitions(steady, std::nullopt, costs, noPredictionReason);
  if (failed(report))
    return failure();
  if (!*report)
    return success();
  const PeriodReport &period = *(*report)->period;
  int64_t repetitions = plan.getNumRepetitions();
  totals.emplace();
  totals->periodNs = period.periodNs;
  totals->peakBytes = (*report)->peakMemoryBytes;
  totals->evidence = (*report)->evidence;
  if (!period.rampNs)
    return success();
  totals->stepNs = repetitions * period.periodNs + *period.rampNs;
  totals->exposedNs = *totals->stepNs - repetitions * (*report)->computeTimeNs;
  return success();
}

//===----------------------------------------------------------------------===//
// Compiling
//===----------------------------------------------------------------------===//

llvm::Error CompiledProgram::compile(const ProgramOptions &options) {
  OwningOpRef<ModuleOp> lowered = module->clone();
  // What is called keeps its name.
  for (const PlannedFunction &planned : plan.functions)
    lowered->lookupSymbol<func::FuncOp>(planned.signature.name).setPublic();
  PassManager manager(module->getContext());
  buildCommSchedToLLVMPipeline(manager);
  if (failed(manager.run(*lowered)))
    return llvm::createStringError("'" + path + "' cannot be lowered");

  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  llvm::Expected<llvm::orc::JITTargetMachineBuilder> builder =
      llvm::orc::JITTargetMachineBuilder::detectHost();
  if (!builder)
    return builder.takeError();
  auto codeGenLevel = *llvm::CodeGenOpt::getLevel(options.optLevel);
  builder->setCodeGenOptLevel(codeGenLevel);
  llvm::Expected<std::unique_ptr<llvm::TargetMachine>> machine =
      builder->createTargetMachine();
  if (!machine)
    return machine.takeError();
  ExecutionEngineOptions engineOptions;
  auto optimize = makeOptimizingTransformer(options.optLevel, /*sizeLevel=*/0,
                                            machine->get());
  engineOptions.jitCodeGenOptLevel = codeGenLevel;
  engineOptions.transformer = optimize;
  llvm::Expected<std::unique_ptr<ExecutionEngine>> created =
      ExecutionEngine::create(*lowered, engineOptions, std::move(*machine));
  if (!created)
    return created.takeError();
  engine = std::move(*created);
  engine->registerSymbols(getBrainFloatSymbols);

  for (const PlannedFunction &planned : plan.functions) {
    llvm::Expected<void (*)(void **)> function =
        engine->lookupPacked("_mlir_ciface_" + planned.signature.name);
    if (!function)
      return function.takeError();
    code.push_back(*function);
  }
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

void CompiledProgram::findPredictedSites() {
  siteMap = std::make_unique<SiteMap>(*module, sites);
  if (!prediction)
    return;
  for (const CollectiveReport &collective : prediction->collectives)
    predictedSites.push_back(siteMap->sites.lookup_or(collective.start, -1));
}

void CompiledProgram::countSiteCalls() {
  siteCalls.resize(sites.sites.size());
  llvm::DenseMap<Operation *, int64_t> calls;
  for (unsigned index = 0; index < plan.functions.size(); ++index)
    calls[plan.functions[index].function] = plan.countCalls(index);
  for (auto [op, site] : siteMap->sites)
    siteCalls[site] = calls.lookup(op->getParentOfType<func::FuncOp>());
}

llvm::Expected<std::unique_ptr<CompiledProgram>>
CompiledProgram::create(MLIRContext &context, StringRef path,
                        const ProgramOptions &options) {
  std::string diagnostics;
  llvm::raw_string_ostream os(diagnostics);
  llvm::SourceMgr sourceMgr;
  SourceMgrDiagnosticHandler handler(sourceMgr, &context, os);
  std::unique_ptr<CompiledProgram> program(new CompiledProgram(path));
  std::string error;
  if (succeeded(program->load(context, options, error)) &&
      succeeded(program->predict())) {
    if (llvm::Error inner = program->compile(options))
      error = llvm::toString(std::move(inner));
    if (error.empty()) {
      program->findPredictedSites();
      program->countSiteCalls();
    }
  }
  if (error.empty() && program->siteMap)
    return program;
  // The diagnostics have more detail than the last message.
  while (StringRef(diagnostics).ends_with("\n"))
    diagnostics.pop_back();
  if (diagnostics.empty())
    return llvm::createStringError(error);
  return llvm::createStringError(error.empty() ? diagnostics
                                               : diagnostics + "\n" + error);
}
