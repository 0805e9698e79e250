//===- Pipelines.cpp - Pass pipelines -------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/Transforms/Pipelines.h"
#include "CommSched/Analysis/Joint/JointFunction.h"
#include "CommSched/Schedule/Model/MemoryBudget.h"
#include "CommSched/Schedule/Step/StepScheduler.h"
#include "CommSched/Transforms/Passes.h"
#include "Schedule/SchedulingPass.h"
#include "mlir/Pass/PassRegistry.h"

namespace mlir::commsched {
#define GEN_PASS_DEF_INDUCTORPIPELINE
#define GEN_PASS_DEF_PIPELINE
#include "CommSched/Transforms/Pipelines.h.inc"
} // namespace mlir::commsched

using namespace mlir;
using namespace mlir::commsched;

//===----------------------------------------------------------------------===//
// What pipelines have in common
//===----------------------------------------------------------------------===//

namespace {

/// Emits an error: a pipeline cannot refuse its options when it is built. Those
/// on joint functions are only refused if the module has none.
struct RefuseOptions : PassWrapper<RefuseOptions, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(RefuseOptions)

  RefuseOptions(const Twine &problem, bool areOnJoint)
      : problem(problem.str()), areOnJoint(areOnJoint) {}

  void runOnOperation() override {
    if (areOnJoint &&
        llvm::any_of(getOperation().getOps<func::FuncOp>(), saysForwardOutputs))
      return markAllAnalysesPreserved();
    emitError(getOperation().getLoc(), problem);
    signalPassFailure();
  }

  std::string problem;
  bool areOnJoint;
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

  /// An option, and whether its value asks for something.
  using Request = std::pair<const llvm::cl::Option *, bool>;

  /// Adds an error about the first of `requests` that asks for something, if
  /// any does, and returns whether there is one.
  bool refuse(OpPassManager &manager, ArrayRef<Request> requests,
              const Twine &why, bool areOnJoint = false) const {
    const Request *asked = llvm::find_if(
        requests, [](const Request &request) { return request.second; });
    if (asked == requests.end())
      return false;
    refuse(manager, *asked->first, why, areOnJoint);
    return true;
  }
  void refuse(OpPassManager &manager, const llvm::cl::Option &option,
              const Twine &why, bool areOnJoint = false) const {
    manager.addPass(std::make_unique<RefuseOptions>(
        "option '" + option.ArgStr + "' of pipeline '" + this->getArgument() +
            "' " + why,
        areOnJoint));
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
  bool merges = bucketAllGathers != InductorBuckets::None ||
                bucketReduceScatters != InductorBuckets::None ||
                bucketAllReduces != InductorBuckets::None;
  if (refuse(manager, {{&bucketCapMb, !merges && isChanged(bucketCapMb)}},
             "needs 'bucket_all_gathers_fx', 'bucket_reduce_scatters_fx' or "
             "'bucket_all_reduces_fx'"))
    return;
  SmallVector<InductorPass> chosen(passes.begin(), passes.end());
  if (chosen.empty())
    chosen = {InductorPass::ReorderCommunicationPreservingPeakMemory,
              InductorPass::SinkWaitsIterative,
              InductorPass::ReorderCommunicationPreservingPeakMemory};
  bool hasBudget = llvm::any_of(chosen, [](InductorPass pass) {
    return pass == InductorPass::ReorderCommunicationPreservingPeakMemory ||
           pass == InductorPass::SinkWaitsIterative;
  });
  if (refuse(manager, {{&memoryBudget, !hasBudget && !memoryBudget.empty()}},
             "needs 'reorder_communication_preserving_peak_memory' or "
             "'sink_waits_iterative' in 'passes'"))
    return;
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
    : PipelineWithOptions<mlir::commsched::impl::PipelineBase<Pipeline>> {
  using PipelineWithOptions::PipelineWithOptions;

  void build(OpPassManager &manager) const override;

private:
  /// Whether implementations are chosen. For a program that does not repeat,
  /// the pass knows no limit but one of live bytes.
  bool hasChoice() const {
    return chooseImplementations &&
           (steadyState || budgetOn != BudgetOn::Reserved);
  }
  /// The budget of passes that do not know `reserved-bytes`: what those leave.
  std::string getProgramBudget() const;
  /// Adds an error about options that cannot be given together, if there are
  /// any, and returns whether there are.
  bool refuseOptions(OpPassManager &manager) const;
  bool hasBytes() const { return !StringRef(memoryBudget).ends_with("%"); }
  /// What asks for a split within a fraction, and for one within bytes.
  SmallVector<Request> getFractionRequests() const;
  SmallVector<Request> getFittingRequests() const;
  /// Adds what makes two functions of a joint one.
  void addPartition(OpPassManager &manager) const;
  /// The options of a pass that schedules.
  template <typename Options> Options makeOptions() const;
  /// Likewise, and of one that knows what the allocator reserves.
  template <typename Options> Options makeStrictOptions() const;
};

} // namespace

std::string Pipeline::getProgramBudget() const {
  MemoryBudget budget;
  int64_t otherBytes = 0;
  // What cannot be read, or does not fit, is an error of commsched-schedule.
  if (parseMemoryBudget(memoryBudget.getValue(), budget) ||
      parseByteCount(reservedBytes.getValue(), otherBytes) || !budget.bytes ||
      otherBytes > *budget.bytes)
    return memoryBudget.getValue();
  return std::to_string(*budget.bytes - otherBytes);
}

template <typename Options> Options Pipeline::makeOptions() const {
  Options options;
  options.memoryBudget = memoryBudget;
  options.buckets = buckets;
  options.mode = mode;
  options.bitwise = bitwise;
  options.split = split;
  options.maxChunks = maxChunks;
  return options;
}

template <typename Options> Options Pipeline::makeStrictOptions() const {
  auto options = makeOptions<Options>();
  options.budgetOn = budgetOn;
  options.allocator = allocator;
  options.strict = strict;
  options.reservedBytes = reservedBytes;
  return options;
}

SmallVector<Pipeline::Request> Pipeline::getFractionRequests() const {
  PipelineOptions none;
  return {{&activationMemoryBudget,
           activationMemoryBudget != none.activationMemoryBudget},
          {&quantizeActivations, quantizeActivations}};
}

SmallVector<Pipeline::Request> Pipeline::getFittingRequests() const {
  PipelineOptions none;
  // What cannot be read asks for something, too.
  int64_t hostBytes = 0;
  bool hasHost = parseByteCount(hostMemory.getValue(), hostBytes).has_value() ||
                 hostBytes != 0;
  return {{&hostMemory, hasHost}, {&quantize, quantize != none.quantize}};
}

bool Pipeline::refuseOptions(OpPassManager &manager) const {
  // It is the default: only where it is given, it asks for something.
  if (refuse(manager,
             {{&chooseImplementations,
               chooseImplementations && !hasChoice() &&
                   chooseImplementations.getNumOccurrences() > 0}},
             "cannot be given beside 'budget-on=reserved'"))
    return true;
  if (refuse(manager,
             {{&allocator, budgetOn == BudgetOn::Live &&
                               isAllocatorAsked(budgetOn, allocator)}},
             "needs 'budget-on=reserved'"))
    return true;
  if (hasBytes())
    return refuse(manager, getFractionRequests(),
                  "cannot be given beside a 'memory-budget' in bytes, within "
                  "which the pipeline chooses what is saved");
  return refuse(
      manager, getFittingRequests(),
      "needs a 'memory-budget' in bytes such as 64GiB, but that is '" +
          memoryBudget.getValue() + "'");
}

void Pipeline::addPartition(OpPassManager &manager) const {
  SmallVector<Request> requests = getFractionRequests();
  llvm::append_range(requests, getFittingRequests());
  // Each of its values asks for something, the default too where it is given.
  requests.emplace_back(&collectives,
                        collectives != PipelineOptions().collectives ||
                            collectives.getNumOccurrences() > 0);
  bool isAsked =
      refuse(manager, requests,
             "needs a joint function, one with "
             "'commsched.num_forward_outputs', but the module has none. Leave "
             "the option out where commsched-pipeline or "
             "commsched-partition-joint has split it, and give it before "
             "commsched-accumulate-gradients makes it a part of another",
             /*areOnJoint=*/true);
  if (hasBytes()) {
    auto fit = makeStrictOptions<FitMemoryOptions>();
    fit.hostMemory = hostMemory;
    fit.quantize = quantize;
    // The curve of a step that repeats is that of all of it.
    if (!steadyState)
      fit.frontier = frontier;
    fit.collectives = collectives;
    manager.addPass(createFitMemory(std::move(fit)));
    return;
  }
  if (!isAsked)
    return;
  PartitionJointOptions partition;
  if (activationMemoryBudget != PipelineOptions().activationMemoryBudget)
    partition.activationMemoryBudget = activationMemoryBudget;
  partition.collectives = collectives;
  partition.runtimeEstimator = RuntimeEstimator::Model;
  manager.addPass(createPartitionJoint(std::move(partition)));
  if (quantizeActivations)
    manager.addPass(createQuantizeActivations());
  manager.addPass(createVerifyPartition());
}

void Pipeline::build(OpPassManager &manager) const {
  SetCostsOptions costs;
  costs.slack = slack;
  costs.exclusiveGroups = exclusiveGroups;
  costs.linkSharing = linkSharing;
  costs.computeSlowdown = computeSlowdown;
  addCosts(manager, std::move(costs));
  if (refuseOptions(manager))
    return;
  addPartition(manager);
  manager.addPass(createMergeStep({/*keepParts=*/!steadyState}));
  // Of what has become another program.
  AssumeFusionOptions renewed;
  renewed.renew = true;
  manager.addPass(createAssumeFusion(renewed));
  OpPassManager functions(func::FuncOp::getOperationName());
  addPreparation(functions);
  if (!frontier.empty() && (steadyState || !hasBytes())) {
    manager.nest<func::FuncOp>() = std::exchange(
        functions, OpPassManager(func::FuncOp::getOperationName()));
    auto options = makeOptions<FrontierOptions>();
    options.file = frontier;
    manager.addPass(createFrontier(std::move(options)));
  }
  auto schedule = makeStrictOptions<ScheduleOptions>();
  schedule.pipelineLoops = pipelineLoops;
  functions.addPass(createSchedule(std::move(schedule)));
  if (hasChoice() && !steadyState) {
    ChooseImplementationsOptions choice;
    choice.memoryBudget = getProgramBudget();
    functions.addPass(createChooseImplementations(std::move(choice)));
  }
  addCalleesFirst(manager, std::move(functions));
  if (hasBytes()) {
    CheckBudgetOptions check;
    check.memoryBudget = memoryBudget;
    check.reservedBytes = reservedBytes;
    check.budgetOn = budgetOn;
    check.allocator = allocator;
    check.strict = strict;
    manager.addPass(createCheckBudget(std::move(check)));
  }
  if (steadyState) {
    SteadyStateOptions steady;
    steady.memoryBudget = getProgramBudget();
    steady.required = true;
    steady.budgetOn = budgetOn;
    steady.allocator = allocator;
    steady.chooseImplementations = hasChoice();
    manager.addPass(createSteadyState(std::move(steady)));
  }
  manager.addPass(createAssumeFusion(std::move(renewed)));
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
  registerOne<Pipeline>();
  registerOne<InductorPipeline>();
}
