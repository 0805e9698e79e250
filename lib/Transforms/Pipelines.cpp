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

namespace mlir::commsched {
#define GEN_PASS_DEF_INDUCTORPIPELINE
#define GEN_PASS_DEF_PIPELINE
#define GEN_PASS_DEF_TRAININGPIPELINE
#include "CommSched/Transforms/Pipelines.h.inc"
} // namespace mlir::commsched

using namespace mlir;
using namespace mlir::commsched;

//===----------------------------------------------------------------------===//
// What pipelines have in common
//===----------------------------------------------------------------------===//

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

/// A pipeline, whose options TableGen declares as if it were a pass: `Base`.
template <typename Base> class PipelineWithOptions : public Base {
public:
  using Base::Base;

  virtual void build(OpPassManager &manager) const = 0;

  /// The set of the options, which a pass keeps to itself; each of them knows
  /// the set that it is in.
  const mlir::detail::PassOptions &getOptions() const {
    return (const mlir::detail::PassOptions &)**this->target.Subs.begin();
  }

  void runOnOperation() final { llvm_unreachable("not a pass"); }

protected:
  /// Adds the pass that the options of costs are short for, if one is given.
  void addCosts(OpPassManager &manager, SetCostsOptions costs = {}) const {
    costs.target = this->target;
    costs.profile = this->profile;
    SetCostsOptions none;
    if (!costs.target.empty() || !costs.profile.empty() ||
        costs.slack != none.slack || costs.exclusiveGroups ||
        costs.linkSharing != none.linkSharing || costs.computeSlowdown != 0)
      manager.addPass(createSetCosts(std::move(costs)));
  }

  /// Adds `functions`, a pipeline on functions.
  void addCalleesFirst(OpPassManager &manager, OpPassManager functions) const {
    CalleesFirstOptions options;
    options.pipelines.push_back(std::move(functions));
    manager.addPass(createCalleesFirst(std::move(options)));
  }

  /// Adds an error about the first of `options` that is given, if any is, and
  /// returns whether there is one.
  bool refuse(OpPassManager &manager,
              ArrayRef<const llvm::cl::Option *> options,
              const Twine &why) const {
    for (const llvm::cl::Option *option : options)
      if (option->getNumOccurrences() > 0) {
        refuse(manager, *option, why);
        return true;
      }
    return false;
  }
  void refuse(OpPassManager &manager, const llvm::cl::Option &option,
              const Twine &why) const {
    manager.addPass(std::make_unique<RefuseOptions>(
        "option '" + option.ArgStr + "' of pipeline '" + this->getArgument() +
        "' " + why));
  }
};

/// A pipeline that ends with commsched-schedule.
template <typename Base>
class SchedulingPipeline : public PipelineWithOptions<Base> {
public:
  using PipelineWithOptions<Base>::PipelineWithOptions;

protected:
  void addCosts(OpPassManager &manager) const {
    SetCostsOptions costs;
    costs.slack = this->slack;
    costs.exclusiveGroups = this->exclusiveGroups;
    costs.linkSharing = this->linkSharing;
    costs.computeSlowdown = this->computeSlowdown;
    PipelineWithOptions<Base>::addCosts(manager, std::move(costs));
  }

  /// The options of a pass that schedules.
  template <typename Options> Options makeOptions() const {
    Options options;
    options.memoryBudget = this->memoryBudget;
    options.buckets = this->buckets;
    options.mode = this->mode;
    options.bitwise = this->bitwise;
    options.split = this->split;
    options.maxChunks = this->maxChunks;
    return options;
  }

  /// Likewise, and of one that knows what the allocator reserves.
  template <typename Options> Options makeStrictOptions() const {
    Options options = makeOptions<Options>();
    options.budgetOn = this->budgetOn;
    options.allocator = this->allocator;
    options.strict = this->strict;
    options.reservedBytes = this->reservedBytes;
    return options;
  }
};

} // namespace

//===----------------------------------------------------------------------===//
// PyTorch Inductor's passes
//===----------------------------------------------------------------------===//

namespace {

struct InductorPipeline
    : PipelineWithOptions<
          mlir::commsched::impl::InductorPipelineBase<InductorPipeline>> {
  using PipelineWithOptions::PipelineWithOptions;

  void build(OpPassManager &manager) const override;

private:
  std::unique_ptr<Pass> createPass(InductorPass pass) const;
  /// The options of a bucketing pass that merges like PyTorch Inductor.
  template <typename Options> Options makeBuckets(InductorBuckets kind) const;
};

} // namespace

std::unique_ptr<Pass> InductorPipeline::createPass(InductorPass pass) const {
  switch (pass) {
  case InductorPass::SinkWaits:
    return createSinkWaits();
  case InductorPass::RaiseComms:
    return createRaiseComms();
  case InductorPass::ReorderComputeForOverlap:
    return createReorderComputeForOverlap();
  case InductorPass::ReorderCommunicationPreservingPeakMemory: {
    ReorderCommsPreservingPeakMemoryOptions options;
    options.memoryBudget = memoryBudget;
    return createReorderCommsPreservingPeakMemory(std::move(options));
  }
  case InductorPass::SinkWaitsIterative: {
    SinkWaitsIterativeOptions options;
    options.memoryBudget = memoryBudget;
    return createSinkWaitsIterative(std::move(options));
  }
  case InductorPass::SimpleOverlap:
    return createSimpleOverlap();
  }
  llvm_unreachable("unknown pass");
}

static_assert(defaultBucketCapMb == 2000, "Pipelines.td names the default cap");

template <typename Options>
Options InductorPipeline::makeBuckets(InductorBuckets kind) const {
  Options options;
  options.capMb = {bucketCapMb};
  options.fsdpOnly = kind == InductorBuckets::OnlyFsdp;
  return options;
}

void InductorPipeline::build(OpPassManager &manager) const {
  addCosts(manager);
  // Also where nothing is merged, and no bucketing pass reads it.
  if (std::optional<std::string> error = findBucketCapError(bucketCapMb))
    return refuse(manager, bucketCapMb, *error);
  OpPassManager &functions = manager.nest<func::FuncOp>();
  if (bucketAllGathers != InductorBuckets::None)
    functions.addPass(createBucketAllGather(
        makeBuckets<BucketAllGatherOptions>(bucketAllGathers)));
  if (bucketReduceScatters != InductorBuckets::None)
    functions.addPass(createBucketReduceScatter(
        makeBuckets<BucketReduceScatterOptions>(bucketReduceScatters)));
  if (bucketAllReduces != InductorBuckets::None)
    functions.addPass(createBucketAllReduce(
        makeBuckets<BucketAllReduceOptions>(bucketAllReduces)));
  if (orderCollectives)
    functions.addPass(createOrderCollectives());
  if (reorderForPeakMemory)
    functions.addPass(createReorderForPeakMemory());
  SmallVector<InductorPass> chosen(passes.begin(), passes.end());
  if (chosen.empty())
    chosen = {InductorPass::ReorderCommunicationPreservingPeakMemory,
              InductorPass::SinkWaitsIterative,
              InductorPass::ReorderCommunicationPreservingPeakMemory};
  for (InductorPass pass : chosen)
    functions.addPass(createPass(pass));
}

//===----------------------------------------------------------------------===//
// The best that CommSched has
//===----------------------------------------------------------------------===//

static_assert(schedule::StepSchedulerOptions::defaultSlackPercent == 40,
              "Options.td names the slack without a profile");

namespace {

struct Pipeline
    : SchedulingPipeline<mlir::commsched::impl::PipelineBase<Pipeline>> {
  using SchedulingPipeline::SchedulingPipeline;

  void build(OpPassManager &manager) const override;

private:
  /// The option beside which implementations are not chosen; empty if there is
  /// none. The pass knows no limit but one of the live bytes of a program, and
  /// no repetitions.
  StringRef findObstacleToChoice() const;
  /// Adds the choice of implementations, if it is wanted and possible.
  void addChoice(OpPassManager &functions) const;
};

} // namespace

StringRef Pipeline::findObstacleToChoice() const {
  if (steadyState)
    return "steady-state";
  if (budgetOn == BudgetOn::Reserved)
    return "budget-on=reserved";
  return reservedBytes.getNumOccurrences() > 0 ? "reserved-bytes" : "";
}

void Pipeline::addChoice(OpPassManager &functions) const {
  if (!chooseImplementations || !findObstacleToChoice().empty())
    return;
  ChooseImplementationsOptions choice;
  choice.memoryBudget = memoryBudget;
  functions.addPass(createChooseImplementations(std::move(choice)));
}

void Pipeline::build(OpPassManager &manager) const {
  addCosts(manager);
  StringRef obstacle = findObstacleToChoice();
  if (chooseImplementations && !obstacle.empty() &&
      refuse(manager, {&chooseImplementations},
             "cannot be given beside '" + obstacle + "'"))
    return;
  if (steadyState) {
    // test-commsched-steady-state does not have these.
    if (refuse(manager,
               {&budgetOn, &reservedBytes, &exclusiveGroups, &linkSharing,
                &computeSlowdown},
               "cannot be given beside 'steady-state'"))
      return;
    manager.addPass(createMergeStep());
  }
  OpPassManager functions(func::FuncOp::getOperationName());
  functions.addPass(createInferSizeHints());
  functions.addPass(createRemoveUnshardedParamUsage());
  functions.addPass(createReinplaceAllGather());
  if (!frontier.empty()) {
    manager.nest<func::FuncOp>() = std::exchange(
        functions, OpPassManager(func::FuncOp::getOperationName()));
    auto options = makeOptions<FrontierOptions>();
    options.file = frontier;
    manager.addPass(createFrontier(std::move(options)));
  }
  auto schedule = makeStrictOptions<ScheduleOptions>();
  if (pipelineLoops) {
    // Before the other blocks: an order that has taken the memory for less time
    // within an iteration leaves none for gathers of the next one.
    PipelineLoopsOptions loops;
    loops.memoryBudget = memoryBudget;
    functions.addPass(createPipelineLoops(std::move(loops)));
  }
  functions.addPass(createSchedule(std::move(schedule)));
  if (!steadyState)
    addChoice(functions);
  addCalleesFirst(manager, std::move(functions));
  if (!steadyState)
    return;
  SteadyStateOptions steady;
  steady.memoryBudget = memoryBudget;
  steady.required = true;
  manager.addPass(createSteadyState(std::move(steady)));
}

//===----------------------------------------------------------------------===//
// From a joint function to two halves
//===----------------------------------------------------------------------===//

namespace {

struct TrainingPipeline
    : SchedulingPipeline<
          mlir::commsched::impl::TrainingPipelineBase<TrainingPipeline>> {
  using SchedulingPipeline::SchedulingPipeline;

  void build(OpPassManager &manager) const override;

private:
  void buildFitting(OpPassManager &manager) const;
};

} // namespace

void TrainingPipeline::buildFitting(OpPassManager &manager) const {
  if (refuse(manager, {&activationMemoryBudget, &quantizeActivations},
             "cannot be given beside a 'memory-budget' in bytes, within which "
             "the pipeline chooses what is saved"))
    return;
  auto fit = makeStrictOptions<FitMemoryOptions>();
  fit.hostMemory = hostMemory;
  fit.quantize = quantize;
  fit.frontier = frontier;
  fit.collectives = collectives;
  manager.addPass(createFitMemory(std::move(fit)));
  manager.addPass(createVerifyPartition());
}

void TrainingPipeline::build(OpPassManager &manager) const {
  addCosts(manager);
  if (!StringRef(memoryBudget).ends_with("%"))
    return buildFitting(manager);
  if (refuse(manager, {&frontier, &hostMemory, &quantize, &reservedBytes},
             "needs a 'memory-budget' in bytes such as 64GiB, but that is '" +
                 memoryBudget.getValue() + "'"))
    return;
  PartitionJointOptions partition;
  partition.activationMemoryBudget = activationMemoryBudget;
  partition.collectives = collectives;
  partition.runtimeEstimator = RuntimeEstimator::Model;
  manager.addPass(createPartitionJoint(std::move(partition)));
  if (quantizeActivations)
    manager.addPass(createQuantizeActivations());
  manager.addPass(createVerifyPartition());
  buildPipeline(manager, makeStrictOptions<PipelineOptions>());
}

//===----------------------------------------------------------------------===//
// Registration
//===----------------------------------------------------------------------===//

void mlir::commsched::buildInductorPipeline(
    OpPassManager &manager, const InductorPipelineOptions &options) {
  InductorPipeline(options).build(manager);
}

void mlir::commsched::buildPipeline(OpPassManager &manager,
                                    const PipelineOptions &options) {
  Pipeline(options).build(manager);
}

void mlir::commsched::buildTrainingPipeline(
    OpPassManager &manager, const TrainingPipelineOptions &options) {
  TrainingPipeline(options).build(manager);
}

template <typename Pipeline> static void registerOne() {
  Pipeline named;
  registerPassPipeline(
      named.getArgument(), named.getDescription(),
      [](OpPassManager &manager, StringRef options,
         function_ref<LogicalResult(const Twine &)> errorHandler) {
        Pipeline pipeline;
        if (failed(pipeline.initializeOptions(options, errorHandler)))
          return failure();
        pipeline.build(manager);
        return success();
      },
      [](function_ref<void(const mlir::detail::PassOptions &)> optionHandler) {
        optionHandler(Pipeline().getOptions());
      });
}

void mlir::commsched::registerPipelines() {
  registerOne<TrainingPipeline>();
  registerOne<Pipeline>();
  registerOne<InductorPipeline>();
}
