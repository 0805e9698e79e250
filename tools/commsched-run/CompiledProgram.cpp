//===- CompiledProgram.cpp - Compiled programs ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CompiledProgram.h"

#include "CommSched/Analysis/Costs/Callees.h"
#include "CommSched/Analysis/Costs/CostAnalysis.h"
#include "CommSched/Analysis/Costs/TargetSpec.h"
#include "CommSched/Analysis/OperationTexts.h"
#include "CommSched/Conversion/Passes.h"
#include "CommSched/CostModel/Implementations.h"
#include "CommSched/Dialect/CommSchedDialect.h"
#include "CommSched/Interfaces/CommSchedInterfaces.h"
#include "CommSched/Report/RankTimes.h"
#include "CommSched/Transforms/Passes.h"
#include "Core/Program.h"
#include "Numerics/ElementTypes.h"
#include "Numerics/Elements.h"
#include "Settings.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/ExecutionEngine/OptUtils.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/bit.h"
#include "llvm/ExecutionEngine/Orc/JITTargetMachineBuilder.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/TargetSelect.h"

#include <deque>
#include <map>
#include <tuple>

using namespace mlir;
using namespace mlir::commsched;
using namespace mlir::commsched::run;

//===----------------------------------------------------------------------===//
// The sites of the program
//===----------------------------------------------------------------------===//

llvm::Expected<ProgramSites> ProgramSites::parse(const char *description) {
  ::commsched::runtime::Program program;
  if (auto status = parseProgram(description, program); !status)
    return llvm::createStringError(status.getMessage());
  ProgramSites result;
  for (const auto &site : program.sites) {
    Site &added = result.sites.emplace_back();
    added.name = site.name;
    added.location = site.location;
    added.kind = ::commsched::runtime::getName(site.kind);
    if (site.group < 0) {
      added.group = site.kind == COMMSCHED_OFFLOAD ? "d2h" : "h2d";
      continue;
    }
    const auto &group = program.groups[site.group];
    added.group = group.name;
    if (group.implementation &&
        group.implementation->name != cost::Implementations::defaultName)
      added.implementation = group.implementation->name;
  }
  for (const auto &op : program.operators)
    result.operators.push_back({op.name, op.location, "", "", ""});
  return result;
}

/// Finds the operations by the texts that identify them; equal ones in program
/// order.
static void findOperations(ModuleOp module, ProgramSites &program) {
  using Key = std::tuple<std::string, std::string, std::string>;
  std::map<Key, std::deque<Site *>> queues;
  for (std::vector<Site> *list : {&program.sites, &program.operators})
    for (Site &site : *list)
      queues[{site.kind, site.name, site.location}].push_back(&site);
  module.walk<WalkOrder::PreOrder>([&](Block *block) {
    unsigned indexInBlock = 0;
    for (Operation &op : *block) {
      std::string kind, name;
      if (auto collective = dyn_cast<CollectiveOpInterface>(op)) {
        kind = stringifyCollectiveKind(collective.getCollectiveKind());
        name = getCollectiveName(collective, indexInBlock++);
      } else if (auto compute = dyn_cast<ComputeOp>(op)) {
        name = toFileText(compute.getCallee());
      } else {
        continue;
      }
      std::deque<Site *> &queue =
          queues[{kind, name, getLocationText(op.getLoc())}];
      if (queue.empty())
        continue;
      queue.front()->op = &op;
      queue.pop_front();
    }
  });
}

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

//===----------------------------------------------------------------------===//
// Loading and predicting
//===----------------------------------------------------------------------===//

/// What MLIR has reported already.
static llvm::Error createReportedError() { return llvm::createStringError(""); }

static bool hasCalls(ModuleOp module) {
  return module.walk([](func::CallOp) { return WalkResult::interrupt(); })
      .wasInterrupted();
}

static llvm::Error load(CompiledProgram &program, MLIRContext &context,
                        const Settings &settings) {
  llvm::SourceMgr sourceMgr;
  program.module = parseSourceFile<ModuleOp>(program.path, sourceMgr, &context);
  if (!program.module)
    return createReportedError();
  ModuleOp module = *program.module;
  // What is called is predicted and counted with the function that calls it.
  if (hasCalls(module)) {
    PassManager manager(&context);
    manager.addPass(createMergeStep());
    if (failed(manager.run(module)))
      return createReportedError();
  }
  llvm::Expected<StepPlan> plan =
      StepPlan::create(module, settings.entry, getIfGiven(settings.iterations));
  if (!plan)
    return llvm::createStringError("'" + program.path + "'" +
                                   llvm::toString(plan.takeError()));
  program.plan = std::move(*plan);
  if (!settings.profile.empty() &&
      failed(setProfile(module, settings.profile, "commsched-run")))
    return createReportedError();
  return llvm::Error::success();
}

/// Without a steady state repetitions follow each other without overlap, since
/// nothing is in flight between them.
static llvm::Error predict(CompiledProgram &program) {
  FailureOr<std::shared_ptr<CostAnalysis>> analysis =
      CostAnalysis::create(*program.module);
  if (failed(analysis))
    return createReportedError();
  OperationCosts &costs = *(*analysis)->getCosts();
  Callees callees(*program.module, costs);
  const StepPlan &plan = program.plan;
  bool isSteady = plan.depth != 1;
  func::FuncOp function = plan.functions[isSteady ? 1 : 0].function;
  // A steady state becomes a loop for that.
  if (isSteady)
    function.getContext()
        ->loadDialect<arith::ArithDialect, CommSchedDialect, scf::SCFDialect>();
  FailureOr<std::optional<StepReport>> simulated =
      isSteady ? simulateRepetitions(function, std::nullopt, costs,
                                     program.noPredictionReason)
               : simulateFunction(function, costs, program.noPredictionReason);
  if (failed(simulated))
    return createReportedError();
  if (!*simulated)
    return llvm::Error::success();
  StepReport &report = **simulated;
  Summary &predicted = program.predicted;
  int64_t repetitions = plan.getNumRepetitions();
  program.evidence = report.evidence.describe();
  predicted.peakBytes = report.peakMemoryBytes;
  if (isSteady) {
    const PeriodReport &period = *report.period;
    predicted.periodNs = period.periodNs;
    // Of few repetitions the time of all is that of a run which has more of
    // them, less their periods.
    if (period.rampNs) {
      predicted.stepNs = repetitions * period.periodNs + *period.rampNs;
      predicted.exposedNs =
          predicted.stepNs - repetitions * report.computeTimeNs;
    }
    return llvm::Error::success();
  }
  predicted.periodNs = report.stepTimeNs;
  predicted.stepNs = repetitions * report.stepTimeNs;
  predicted.exposedNs = repetitions * report.exposedCommNs;
  predicted.hostPeakBytes = report.hostPeakBytes;
  if (!plan.repetitions)
    program.prediction = std::move(report);
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Compiling
//===----------------------------------------------------------------------===//

static llvm::Error compile(CompiledProgram &program, unsigned optLevel) {
  OwningOpRef<ModuleOp> lowered = program.module->clone();
  // What is called keeps its name.
  for (const PlannedFunction &planned : program.plan.functions)
    lowered->lookupSymbol<func::FuncOp>(planned.name).setPublic();
  PassManager manager(lowered->getContext());
  buildCommSchedToLLVMPipeline(manager);
  if (failed(manager.run(*lowered)))
    return llvm::createStringError("'" + program.path + "' cannot be lowered");

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
  program.engine = std::move(*created);
  program.engine->registerSymbols(getBrainFloatSymbols);

  for (PlannedFunction &planned : program.plan.functions) {
    llvm::Expected<void (*)(void **)> function =
        program.engine->lookupPacked(planned.name);
    if (!function)
      return function.takeError();
    planned.code = *function;
  }
  // The global that lowering puts the description into.
  llvm::Expected<void *> text = program.engine->lookup("commsched_program");
  if (!text)
    return text.takeError();
  program.description = static_cast<const char *>(*text);
  llvm::Expected<ProgramSites> parsed =
      ProgramSites::parse(program.description);
  if (!parsed)
    return llvm::createStringError("'" + program.path +
                                   "': " + llvm::toString(parsed.takeError()));
  program.sites = std::move(*parsed);
  findOperations(*program.module, program.sites);
  return llvm::Error::success();
}

/// What the plan and the prediction know of each site.
static void describeSites(CompiledProgram &program) {
  llvm::DenseMap<Operation *, int64_t> calls;
  for (int64_t index = 0; index < program.plan.getNumCalls(); ++index)
    ++calls[program.plan.getCall(index).function->function];
  llvm::DenseMap<Operation *, SiteTimes> times;
  if (program.prediction)
    for (const CollectiveReport &collective : program.prediction->collectives)
      times[collective.start] = {collective.startNs,
                                 collective.endNs - collective.startNs,
                                 collective.exposedNs};
  for (const Site &site : program.sites.sites) {
    program.predicted.sites.push_back(
        site.op ? times.lookup_or(site.op, SiteTimes()) : SiteTimes());
    program.siteCalls.push_back(
        site.op ? calls.lookup(site.op->getParentOfType<func::FuncOp>()) : 0);
  }
}

llvm::Expected<std::unique_ptr<CompiledProgram>>
CompiledProgram::create(MLIRContext &context, StringRef path,
                        const Settings &settings) {
  std::string diagnostics;
  llvm::raw_string_ostream os(diagnostics);
  llvm::SourceMgr sourceMgr;
  SourceMgrDiagnosticHandler handler(sourceMgr, &context, os);
  auto program = std::make_unique<CompiledProgram>();
  program->path = path;
  llvm::Error error = load(*program, context, settings);
  if (!error)
    error = predict(*program);
  if (!error)
    error = compile(*program, settings.optLevel);
  if (!error) {
    describeSites(*program);
    return program;
  }
  // The diagnostics have more detail than the last message.
  std::string text = llvm::toString(std::move(error));
  StringRef detail = StringRef(diagnostics).rtrim('\n');
  return llvm::createStringError(
      detail + (detail.empty() || text.empty() ? "" : "\n") + text);
}
