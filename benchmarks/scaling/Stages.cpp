//===- Stages.cpp - Stages of the scaling benchmark -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Stages.h"
#include "CommSched/Analysis/Costs/CostAnalysis.h"
#include "CommSched/Analysis/Costs/TargetSpec.h"
#include "CommSched/Analysis/Problem/BlockProblem.h"
#include "CommSched/Dialect/CommSchedDialect.h"
#include "CommSched/Schedule/Bounds/LowerBounds.h"
#include "CommSched/Schedule/Implementations/Implementations.h"
#include "CommSched/Schedule/Inductor/ListScheduler.h"
#include "CommSched/Schedule/Model/MemoryTimeline.h"
#include "CommSched/Schedule/Model/Simulator.h"
#include "CommSched/Schedule/Step/StepScheduler.h"
#include "mlir/Bytecode/BytecodeWriter.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"

#include <numeric>

using namespace mlir;
using namespace mlir::commsched;
using schedule::ListScheduler;
using schedule::ListSchedulerOptions;
using schedule::NodeId;
using schedule::Order;
using schedule::Problem;

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

FailureOr<Program> mlir::commsched::loadProgram(StringRef path,
                                                const DialectRegistry &registry,
                                                int64_t &numOps) {
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  auto module = parseSourceFile<ModuleOp>(path, &context);
  if (!module)
    return failure();
  numOps = 0;
  for (auto function : module->getOps<FunctionOpInterface>())
    function.walk([&](Operation *op) {
      if (op != function && !op->hasTrait<OpTrait::IsTerminator>())
        ++numOps;
    });
  if (numOps == 0)
    return module->emitError("holds no operation in a function");
  Program program;
  program.path = path.str();
  llvm::raw_string_ostream os(program.bytecode);
  if (failed(writeBytecodeToFile(*module, os)))
    return module->emitError("cannot be written as bytecode");
  return program;
}

Fixture::Fixture(const Program &program, const DialectRegistry &registry)
    : program(program), context(registry, MLIRContext::Threading::DISABLED) {
  // Setting up dialects is no part of any stage.
  context.loadDialect<CommSchedDialect, func::FuncDialect>();
}

ModuleOp Fixture::getModule() {
  if (!module) {
    ParserConfig config(&context, /*verifyAfterParse=*/false);
    module = parseSourceString<ModuleOp>(getBytecode(), config);
  }
  return *module;
}

Block &Fixture::getBlock() {
  Block *largest = nullptr;
  for (auto function : getModule().getOps<FunctionOpInterface>()) {
    if (function.isExternal())
      continue;
    Block &entry = function.getFunctionBody().front();
    if (!largest ||
        entry.getOperations().size() > largest->getOperations().size())
      largest = &entry;
  }
  return *largest;
}

//===----------------------------------------------------------------------===//
// Reading and writing
//===----------------------------------------------------------------------===//

static LogicalResult parseText(Fixture &fixture) {
  ParserConfig config(fixture.getContext(), /*verifyAfterParse=*/false);
  OwningOpRef<ModuleOp> module;
  fixture.measure(
      [&] { module = parseSourceFile<ModuleOp>(fixture.getPath(), config); });
  auto result = success(static_cast<bool>(module));
  fixture.setModule(std::move(module));
  return result;
}

static LogicalResult parseBytecode(Fixture &fixture) {
  fixture.measure([&] { fixture.getModule(); });
  return success(static_cast<bool>(fixture.getModule()));
}

static LogicalResult runVerifier(Fixture &fixture) {
  ModuleOp module = fixture.getModule();
  LogicalResult result = failure();
  fixture.measure([&] { result = verify(module); });
  return result;
}

static LogicalResult printText(Fixture &fixture) {
  ModuleOp module = fixture.getModule();
  fixture.measure(
      [&] { module.print(llvm::nulls(), OpPrintingFlags().assumeVerified()); });
  return success();
}

//===----------------------------------------------------------------------===//
// Problems
//===----------------------------------------------------------------------===//

static OperationPrice costNothing(Operation *) { return {}; }

static LogicalResult buildProblem(Fixture &fixture) {
  Block &block = fixture.getBlock();
  FailureOr<BlockProblem> problem = failure();
  fixture.measure([&] { problem = BlockProblem::create(block, costNothing); });
  return problem;
}

/// Calls `consume` with the problem of the program and its estimated costs.
static LogicalResult
withCosts(Fixture &fixture,
          llvm::function_ref<LogicalResult(const BlockProblem &)> consume,
          StreamOrder collectiveOrder = StreamOrder::Kept) {
  Block &block = fixture.getBlock();
  CostAnalysis analysis(block.getParentOp());
  OperationCosts *costs = analysis.getCosts();
  if (!costs)
    return failure();
  FailureOr<BlockProblem> problem = BlockProblem::create(
      block, [&](Operation *op) { return costs->price(op); }, collectiveOrder);
  return failed(problem) ? failure() : consume(*problem);
}

static LogicalResult estimateCosts(Fixture &fixture) {
  Block &block = fixture.getBlock();
  FailureOr<cost::Target> target = getTarget(block.getParentOp());
  if (failed(target))
    return failure();
  fixture.measure([&] {
    SymbolTableCollection symbolTables;
    OperationCosts costs(*target, /*profile=*/nullptr, symbolTables);
    for (Operation &op : block)
      (void)costs.getRuntimeNs(&op);
  });
  return success();
}

static LogicalResult solve(Fixture &fixture, ListSchedulerOptions options) {
  return withCosts(fixture, [&](const BlockProblem &block) {
    bool solved = false;
    fixture.measure(
        [&] { solved = bool(ListScheduler(options).run(block.getProblem())); });
    return success(solved);
  });
}

/// The shortest step within 5 % over the peak of the program.
static LogicalResult solveStep(Fixture &fixture) {
  auto consume = [&](const BlockProblem &block) {
    const Problem &problem = block.getProblem();
    schedule::StepSchedulerOptions options;
    int64_t peak = simulateMemory(problem, problem.programOrder())->peakBytes;
    options.limitBytes = peak + peak / 20;
    bool solved = false;
    fixture.measure([&] { solved = bool(scheduleStep(problem, options)); });
    return success(solved);
  };
  return withCosts(fixture, consume, StreamOrder::Free);
}

/// NCCL, which slows computation down, fewer channels, which are slower and
/// slow down less, and copy engines, which do not slow down; all on one link.
static LogicalResult solveImplementations(Fixture &fixture) {
  auto consume = [&](const BlockProblem &block) {
    const Problem &problem = block.getProblem();
    const schedule::StreamId numStreams = problem.numStreams();
    schedule::Implementations implementations(problem.numNodes());
    for (NodeId node = 0; node < problem.numNodes(); ++node)
      if (problem.isCollective(node)) {
        int64_t costNs = problem.costNs(node);
        schedule::StreamId stream = problem.stream(node);
        implementations[node] = {{costNs, stream},
                                 {costNs * 3 / 2, numStreams + stream},
                                 {costNs * 5 / 4, 2 * numStreams + stream}};
      }
    schedule::StepSchedulerOptions options;
    options.contention.links.assign(3 * numStreams, 0);
    for (int64_t slowdownPpm : {190'000, 50'000, 0})
      options.contention.slowdownPpm.insert(
          options.contention.slowdownPpm.end(), numStreams, slowdownPpm);
    bool solved = false;
    fixture.measure([&] {
      solved = bool(scheduleImplementations(problem, implementations,
                                            problem.programOrder(), options));
    });
    return success(solved);
  };
  return withCosts(fixture, consume, StreamOrder::Free);
}

static LogicalResult simulateProgram(Fixture &fixture) {
  return withCosts(fixture, [&](const BlockProblem &block) {
    const Problem &problem = block.getProblem();
    Order order(problem.numNodes());
    std::iota(order.begin(), order.end(), NodeId(0));
    bool simulated = false;
    fixture.measure([&] {
      simulated = simulate(problem, order) && simulateMemory(problem, order) &&
                  computeLowerBound(problem);
    });
    return success(simulated);
  });
}

static ListSchedulerOptions makeOptions(bool raise, bool sink, bool overlap) {
  ListSchedulerOptions options;
  options.raiseComms = raise;
  options.sinkWaits = sink;
  options.reorderForOverlap = overlap;
  return options;
}

static LogicalResult applyOrder(Fixture &fixture) {
  return withCosts(fixture, [&](const BlockProblem &block) {
    Result<Order> order =
        ListScheduler(makeOptions(true, true, true)).run(block.getProblem());
    if (!order)
      return failure();
    fixture.measure([&] { block.apply(*order); });
    return success();
  });
}

//===----------------------------------------------------------------------===//
// Pipelines
//===----------------------------------------------------------------------===//

static LogicalResult runPipeline(Fixture &fixture, StringRef pipeline,
                                 bool verified) {
  ModuleOp module = fixture.getModule();
  PassManager manager(fixture.getContext(), ModuleOp::getOperationName());
  manager.enableVerifier(verified);
  if (failed(parsePassPipeline(pipeline, manager)))
    return failure();
  LogicalResult result = failure();
  fixture.measure([&] { result = manager.run(module); });
  return result;
}

std::vector<Stage>
mlir::commsched::makeStages(ArrayRef<std::string> pipelines) {
  auto solveWith = [](bool raise, bool sink, bool overlap) {
    return [=](Fixture &fixture) {
      return solve(fixture, makeOptions(raise, sink, overlap));
    };
  };
  std::vector<Stage> stages = {
      {"parse text", false, parseText},
      {"parse bytecode", false, parseBytecode},
      {"verify", true, runVerifier},
      {"print text", false, printText},
      {"estimate costs", false, estimateCosts},
      {"build problem", false, buildProblem},
      {"solve raise-comms", false, solveWith(true, false, false)},
      {"solve sink-waits", false, solveWith(false, true, false)},
      {"solve reorder-compute-for-overlap", false, solveWith(true, true, true)},
      {"solve schedule", false, solveStep},
      {"solve implementations", false, solveImplementations},
      {"simulate", false, simulateProgram},
      {"apply order", false, applyOrder},
  };
  for (const std::string &pipeline : pipelines)
    for (bool verified : {false, true})
      stages.push_back({pipeline, verified, [=](Fixture &fixture) {
                          return runPipeline(fixture, pipeline, verified);
                        }});
  return stages;
}
