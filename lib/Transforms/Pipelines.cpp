//===- Pipelines.cpp - Pass pipelines -------------------------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Transforms/Pipelines.h"
#include "CommSched/Schedule/Step/StepScheduler.h"
#include "CommSched/Transforms/Passes.h"
#include "mlir/Pass/PassRegistry.h"

using namespace mlir;
using namespace mlir::commsched;

namespace {

/// Emits an error: a pipeline cannot refuse its options when it is built.
struct RefuseOptions : PassWrapper<RefuseOptions, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(RefuseOptions)

  explicit RefuseOptions(const Twine &problem) : problem(problem.str()) {}

  void runOnOperation() override {
    emitError(getOperation().getLoc(), problem);
    signalPassFailure();
  }

  std::string problem;
};

} // namespace

/// Adds the pass that the options `target` and `profile` are short for.
static void addCosts(OpPassManager &manager, const CostOptions &options) {
  if (options.target.empty() && options.profile.empty())
    return;
  SetCostsOptions costs;
  costs.target = options.target;
  costs.profile = options.profile;
  manager.addPass(createSetCosts(std::move(costs)));
}

static std::unique_ptr<Pass>
createInductorPass(InductorPass pass, const InductorPipelineOptions &options) {
  switch (pass) {
  case InductorPass::SinkWaits:
    return createSinkWaits();
  case InductorPass::RaiseComms:
    return createRaiseComms();
  case InductorPass::ReorderComputeForOverlap:
    return createReorderComputeForOverlap();
  case InductorPass::ReorderCommunicationPreservingPeakMemory: {
    ReorderCommsPreservingPeakMemoryOptions passOptions;
    passOptions.memoryBudget = options.memoryBudget;
    return createReorderCommsPreservingPeakMemory(std::move(passOptions));
  }
  case InductorPass::SinkWaitsIterative: {
    SinkWaitsIterativeOptions passOptions;
    passOptions.memoryBudget = options.memoryBudget;
    return createSinkWaitsIterative(std::move(passOptions));
  }
  case InductorPass::SimpleOverlap:
    return createSimpleOverlap();
  }
  llvm_unreachable("unknown pass");
}

static_assert(defaultBucketCapMb == 2000, "Pipelines.h names the default cap");

/// The options of a bucketing pass that merges like PyTorch Inductor.
template <typename PassOptions>
static PassOptions makeInductorBuckets(InductorBuckets buckets, double capMb) {
  PassOptions options;
  options.capMb = {capMb};
  options.fsdpOnly = buckets == InductorBuckets::OnlyFsdp;
  return options;
}

void mlir::commsched::buildInductorPipeline(
    OpPassManager &manager, const InductorPipelineOptions &options) {
  addCosts(manager, options);
  double cap = options.bucketCapMb;
  // Also where nothing is merged, and no bucketing pass reads it.
  if (std::optional<std::string> error = findBucketCapError(cap)) {
    manager.addPass(std::make_unique<RefuseOptions>(
        "option '" + options.bucketCapMb.ArgStr +
        "' of pipeline 'commsched-inductor-pipeline' " + *error));
    return;
  }
  OpPassManager &functions = manager.nest<func::FuncOp>();
  if (options.bucketAllGathers != InductorBuckets::None)
    functions.addPass(
        createBucketAllGather(makeInductorBuckets<BucketAllGatherOptions>(
            options.bucketAllGathers, cap)));
  if (options.bucketReduceScatters != InductorBuckets::None)
    functions.addPass(createBucketReduceScatter(
        makeInductorBuckets<BucketReduceScatterOptions>(
            options.bucketReduceScatters, cap)));
  if (options.bucketAllReduces != InductorBuckets::None)
    functions.addPass(
        createBucketAllReduce(makeInductorBuckets<BucketAllReduceOptions>(
            options.bucketAllReduces, cap)));
  if (options.orderCollectives)
    functions.addPass(createOrderCollectives());
  if (options.reorderForPeakMemory)
    functions.addPass(createReorderForPeakMemory());
  for (InductorPass pass : options.passes)
    functions.addPass(createInductorPass(pass, options));
}

static_assert(schedule::StepSchedulerOptions::defaultSlackPercent == 40,
              "Pipelines.h names the slack without a profile");

/// Sets the options that pipelines and passes have in common, but `strict`.
template <typename Options>
static void passOn(const SchedulingPipelineOptions &from, Options &to) {
  to.buckets = from.buckets;
  to.mode = from.mode;
  to.bitwise = from.bitwise;
  to.split = from.split;
  to.maxChunks = from.maxChunks;
  to.slack = from.slack;
  to.exclusiveGroups = from.exclusiveGroups;
  to.linkSharing = from.linkSharing;
  to.computeSlowdown = from.computeSlowdown;
}

/// An option that was given and that test-commsched-steady-state does not have.
static std::optional<StringRef>
findOptionWithoutRepetitions(const PipelineOptions &options) {
  const llvm::cl::Option *unknown[] = {
      &options.budgetOn, &options.reservedBytes, &options.exclusiveGroups,
      &options.linkSharing, &options.computeSlowdown};
  for (const llvm::cl::Option *option : unknown)
    if (option->getNumOccurrences() > 0)
      return option->ArgStr;
  return std::nullopt;
}

/// Adds the choice of implementations, if it is wanted, but where a budget
/// limits more than the live bytes of the program, which the pass does not
/// know.
static void addChoice(OpPassManager &functions,
                      const PipelineOptions &options) {
  if (!options.chooseImplementations ||
      options.budgetOn == BudgetOn::Reserved ||
      options.reservedBytes.getNumOccurrences() > 0)
    return;
  ChooseImplementationsOptions choice;
  choice.memoryBudget = options.memoryBudget;
  choice.slack = options.slack;
  choice.exclusiveGroups = options.exclusiveGroups;
  choice.linkSharing = options.linkSharing;
  choice.computeSlowdown = options.computeSlowdown;
  functions.addPass(createChooseImplementations(std::move(choice)));
}

void mlir::commsched::buildPipeline(OpPassManager &manager,
                                    const PipelineOptions &options) {
  addCosts(manager, options);
  if (options.steadyState) {
    if (std::optional<StringRef> other =
            findOptionWithoutRepetitions(options)) {
      manager.addPass(std::make_unique<RefuseOptions>(
          "option '" + *other +
          "' of pipeline 'commsched-pipeline' cannot be given beside "
          "'steady-state'"));
      return;
    }
    manager.addPass(createMergeStep());
  }
  OpPassManager *functions = &manager.nest<func::FuncOp>();
  functions->addPass(createInferSizeHints());
  functions->addPass(createRemoveUnshardedParamUsage());
  functions->addPass(createReinplaceAllGather());
  if (!options.frontier.empty()) {
    FrontierOptions frontier;
    frontier.memoryBudget = options.memoryBudget;
    passOn(options, frontier);
    frontier.file = options.frontier;
    manager.addPass(createFrontier(std::move(frontier)));
    functions = &manager.nest<func::FuncOp>();
  }
  ScheduleOptions schedule;
  schedule.memoryBudget = options.memoryBudget;
  schedule.strict = options.strict;
  schedule.budgetOn = options.budgetOn;
  schedule.allocator = options.allocator;
  schedule.reservedBytes = options.reservedBytes;
  passOn(options, schedule);
  if (options.pipelineLoops) {
    schedule.blocks = ScheduledBlocks::Nested;
    functions->addPass(createSchedule(schedule));
    PipelineLoopsOptions loops;
    loops.memoryBudget = options.memoryBudget;
    loops.slack = options.slack;
    functions->addPass(createPipelineLoops(std::move(loops)));
    schedule.blocks = ScheduledBlocks::Body;
  }
  functions->addPass(createSchedule(std::move(schedule)));
  if (!options.steadyState)
    return addChoice(*functions, options);
  SteadyStateOptions steady;
  steady.memoryBudget = options.memoryBudget;
  steady.slack = options.slack;
  manager.addPass(createSteadyState(std::move(steady)));
}

/// Adds an error about the first of `options` that is given, if any is, and
/// returns whether there is one.
static bool refuse(OpPassManager &manager,
                   ArrayRef<const llvm::cl::Option *> options, StringRef why) {
  for (const llvm::cl::Option *option : options)
    if (option->getNumOccurrences() > 0) {
      manager.addPass(std::make_unique<RefuseOptions>(
          "option '" + option->ArgStr +
          "' of pipeline 'commsched-training-pipeline' " + why));
      return true;
    }
  return false;
}

static void buildFittingPipeline(OpPassManager &manager,
                                 const TrainingPipelineOptions &options) {
  if (refuse(manager,
             {&options.activationMemoryBudget, &options.quantizeActivations},
             "cannot be given beside a 'memory-budget' in bytes, within which "
             "the pipeline chooses what is saved"))
    return;
  FitMemoryOptions fit;
  fit.memoryBudget = options.memoryBudget;
  fit.reservedBytes = options.reservedBytes;
  fit.hostMemory = options.hostMemory;
  fit.quantize = options.quantize;
  fit.frontier = options.frontier;
  fit.collectives = options.collectives;
  fit.strict = options.strict;
  fit.budgetOn = options.budgetOn;
  fit.allocator = options.allocator;
  passOn(options, fit);
  manager.addPass(createFitMemory(std::move(fit)));
  manager.addPass(createVerifyPartition());
}

void mlir::commsched::buildTrainingPipeline(
    OpPassManager &manager, const TrainingPipelineOptions &options) {
  addCosts(manager, options);
  if (!StringRef(options.memoryBudget).ends_with("%"))
    return buildFittingPipeline(manager, options);
  if (refuse(manager,
             {&options.frontier, &options.hostMemory, &options.quantize,
              &options.reservedBytes},
             "needs a 'memory-budget' in bytes such as 64GiB, but that is '" +
                 options.memoryBudget.getValue() + "'"))
    return;
  PartitionJointOptions partition;
  partition.activationMemoryBudget = options.activationMemoryBudget;
  partition.collectives = options.collectives;
  partition.runtimeEstimator = RuntimeEstimator::Model;
  manager.addPass(createPartitionJoint(std::move(partition)));
  if (options.quantizeActivations)
    manager.addPass(createQuantizeActivations());
  manager.addPass(createVerifyPartition());
  PipelineOptions schedule;
  schedule.memoryBudget = options.memoryBudget;
  schedule.strict = options.strict;
  schedule.budgetOn = options.budgetOn;
  schedule.allocator = options.allocator;
  passOn(options, schedule);
  buildPipeline(manager, schedule);
}

void mlir::commsched::registerPipelines() {
  PassPipelineRegistration<TrainingPipelineOptions>(
      "commsched-training-pipeline",
      "Partition a joint step within a memory budget and schedule both halves",
      buildTrainingPipeline);
  PassPipelineRegistration<PipelineOptions>(
      "commsched-pipeline",
      "The best that CommSched has: merge collectives, then hide them",
      buildPipeline);
  PassPipelineRegistration<InductorPipelineOptions>(
      "commsched-inductor-pipeline",
      "What PyTorch Inductor does to communication: merge it, fix its order, "
      "reorder for peak memory, then the recommended passes",
      buildInductorPipeline);
}
