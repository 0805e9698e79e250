//===- FitMemory.cpp - Pass that fits a step into memory ------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../PassSupport.h"
#include "../Schedule/SchedulingPass.h"
#include "CommSched/Dialect/CommSchedDialect.h"
#include "CommSched/Transforms/Passes.h"
#include "MemoryPlan.h"
#include "MimicAutogradOrder.h"
#include "PartitionPlan.h"
#include "SavedValues.h"
#include "ScheduledPair.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Pass/PassManager.h"

namespace mlir::commsched {
#define GEN_PASS_DEF_FITMEMORY
#include "CommSched/Transforms/Passes.h.inc"
} // namespace mlir::commsched

using namespace mlir;
using namespace mlir::commsched;
using partition::Split;

namespace {

/// A partition that was scheduled.
struct FittedTrial {
  const PartitionTrial *trial = nullptr;
  PairSchedule schedule;
};

struct FitMemory
    : SchedulingPass<mlir::commsched::impl::FitMemoryBase<FitMemory>,
                     /*hasBudget=*/false> {
  using SchedulingPass::SchedulingPass;

  LogicalResult initialize(MLIRContext *context) override;
  void runOnOperation() override;

private:
  /// A joint function and the halves that are to replace it.
  struct Replacement {
    func::FuncOp joint;
    PartitionHalves halves;
  };

  std::optional<std::string> findBadBytes();
  FailureOr<PartitionHalves>
  fit(func::FuncOp joint, const PartitionNames &names, OperationCosts &costs);
  FailureOr<PartitionTrials> listTrials(const JointFunction &working) const;
  FailureOr<TrialCosts> measure(const JointFunction &working,
                                const Split &split, OperationCosts &costs);
  FailureOr<FittedTrial> scheduleTrial(const JointFunction &working,
                                       const PartitionTrial &trial,
                                       int64_t limitBytes,
                                       OperationCosts &costs);
  FailureOr<FittedTrial> chooseTrial(const JointFunction &working,
                                     ArrayRef<const PartitionTrial *> trials,
                                     OperationCosts &costs);
  LogicalResult scheduleHalves(PartitionHalves halves, StringRef name,
                               OperationCosts &costs);
  LogicalResult checkPeak(FunctionPair pair, StringRef name,
                          OperationCosts &costs);

  /// What the program may take.
  int64_t limitBytes = 0;
};

} // namespace

//===----------------------------------------------------------------------===//
// Options
//===----------------------------------------------------------------------===//

LogicalResult FitMemory::initialize(MLIRContext *context) {
  if (failed(SchedulingPass::initialize(context)))
    return failure();
  if (!optionError)
    optionError = findBadBytes();
  return success();
}

std::optional<std::string> FitMemory::findBadBytes() {
  if (deviceMemory.empty())
    return makeOptionError(*this, deviceMemory,
                           "must be given: bytes such as 85899345920 or 80GiB");
  int64_t deviceBytes = 0, bytes = 0;
  if (std::optional<std::string> problem =
          parseByteCount(deviceMemory, deviceBytes))
    return makeOptionError(*this, deviceMemory, *problem);
  if (std::optional<std::string> problem = parseByteCount(reservedBytes, bytes))
    return makeOptionError(*this, reservedBytes, *problem);
  if (bytes > deviceBytes)
    return makeOptionError(*this, reservedBytes,
                           "is '" + Twine(reservedBytes) +
                               "', more than option 'device-memory', '" +
                               Twine(deviceMemory) + "'");
  limitBytes = deviceBytes - bytes;
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Trials
//===----------------------------------------------------------------------===//

/// Creates the halves of `split` as the pass leaves them, but for a trial.
static FailureOr<PartitionHalves> createHalves(const JointFunction &working,
                                               const Split &split,
                                               const PartitionNames &names,
                                               bool isTrial) {
  PartitionHalves halves = splitFunction(working, split, names);
  if (succeeded(applyAutogradOrder(halves.backward, /*emitRemarks=*/!isTrial)))
    return halves;
  halves.forward.erase();
  halves.backward.erase();
  return failure();
}

static FunctionPair getPair(PartitionHalves halves) {
  return {halves.forward, halves.backward};
}

/// The costs of the halves. Emits an error if they are not known.
static FailureOr<PairCosts> getPairCosts(PartitionHalves halves,
                                         OperationCosts &costs) {
  std::string reason;
  FailureOr<std::optional<PairCosts>> pair =
      computePairCosts(getPair(halves), costs, reason);
  if (failed(pair))
    return failure();
  if (!*pair)
    return emitError(halves.forward.getLoc(), "cannot be fitted: ") << reason;
  return **pair;
}

/// Calls `use` with the halves of `split`, which live no longer.
template <typename T>
static FailureOr<T>
withHalves(const JointFunction &working, const Split &split,
           function_ref<FailureOr<T>(PartitionHalves)> use) {
  FailureOr<PartitionHalves> halves =
      createHalves(working, split, getPartitionNames(working.getFunction()),
                   /*isTrial=*/true);
  if (failed(halves))
    return failure();
  FailureOr<T> result = use(*halves);
  halves->forward.erase();
  halves->backward.erase();
  return result;
}

FailureOr<TrialCosts> FitMemory::measure(const JointFunction &working,
                                         const Split &split,
                                         OperationCosts &costs) {
  return withHalves<TrialCosts>(
      working, split, [&](PartitionHalves halves) -> FailureOr<TrialCosts> {
        FailureOr<PairCosts> pair = getPairCosts(halves, costs);
        if (failed(pair))
          return failure();
        return TrialCosts{pair->memory.peakBytes, pair->boundNs};
      });
}

FailureOr<FittedTrial> FitMemory::scheduleTrial(const JointFunction &working,
                                                const PartitionTrial &trial,
                                                int64_t limitBytes,
                                                OperationCosts &costs) {
  return withHalves<FittedTrial>(
      working, trial.split,
      [&](PartitionHalves halves) -> FailureOr<FittedTrial> {
        FailureOr<PairCosts> pair = getPairCosts(halves, costs);
        if (failed(pair))
          return failure();
        FailureOr<PairScheduler> scheduler = PairScheduler::create(
            halves, pair->besideBackwardBytes, scheduling);
        if (failed(scheduler))
          return failure();
        FailureOr<PairSchedule> schedule = scheduler->schedule(limitBytes);
        if (failed(schedule))
          return failure();
        return FittedTrial{&trial, *schedule};
      });
}

/// Returns the best of `trials`, the one with the shortest bound first.
FailureOr<FittedTrial>
FitMemory::chooseTrial(const JointFunction &working,
                       ArrayRef<const PartitionTrial *> trials,
                       OperationCosts &costs) {
  constexpr int32_t mostSchedules = 3;
  FittedTrial best;
  int32_t numSchedules = 0;
  for (const PartitionTrial *trial : trials) {
    if (trial->costs.peakBytes > limitBytes)
      continue;
    if (numSchedules == mostSchedules ||
        (best.trial && best.schedule.stepNs <= trial->costs.boundNs))
      break;
    FailureOr<FittedTrial> fitted =
        scheduleTrial(working, *trial, limitBytes, costs);
    if (failed(fitted))
      return failure();
    ++numSchedules;
    if (!best.trial || fitted->schedule.stepNs < best.schedule.stepNs)
      best = *fitted;
  }
  if (best.trial)
    return best;
  // The scheduler may need less than the order of the halves.
  const PartitionTrial *least = *llvm::min_element(
      trials, [](const PartitionTrial *a, const PartitionTrial *b) {
        return a->costs.peakBytes < b->costs.peakBytes;
      });
  return scheduleTrial(working, *least, limitBytes, costs);
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

FailureOr<PartitionTrials>
FitMemory::listTrials(const JointFunction &working) const {
  if (!working.getFunction()->hasAttr(savedValuesAttrName))
    return PartitionTrials::create(working, collectives);
  FailureOr<std::vector<partition::NodeId>> saved = readSavedValues(working);
  if (failed(saved))
    return failure();
  FailureOr<Split> split = splitAt(working, *saved);
  if (failed(split))
    return failure();
  return PartitionTrials::createFixed(working, std::move(*split));
}

static void remarkFitted(const JointFunction &working,
                         const FittedTrial &fitted, size_t numTrials) {
  func::FuncOp joint = working.getFunction();
  const PairSchedule &schedule = fitted.schedule;
  remark::passed(joint.getLoc(), makeRemark("MemoryFitted", joint.getName()))
      << ("the step takes " + Twine(schedule.stepNs) + " ns and " +
          Twine(schedule.peakBytes) + " bytes of " +
          Twine(schedule.limitBytes) + ": " + fitted.trial->origin + ", of " +
          Twine(numTrials) + " partitions")
             .str()
      << remark::metric("StepNs", schedule.stepNs)
      << remark::metric("PeakBytes", schedule.peakBytes)
      << remark::metric("AllowedBytes", schedule.limitBytes)
      << remark::metric(
             "SavedBytes",
             computeSavedBytes(working.getGraph(), fitted.trial->split.saved))
      << remark::metric("Partitions", static_cast<int64_t>(numTrials));
}

FailureOr<PartitionHalves> FitMemory::fit(func::FuncOp joint,
                                          const PartitionNames &names,
                                          OperationCosts &costs) {
  Operation *unpriced = nullptr;
  RandomStates states(joint);
  FailureOr<JointFunction> working =
      JointFunction::create(joint, [&](Operation *op) -> int64_t {
        std::optional<int64_t> time = costs.getRuntimeNs(op);
        if (!time && !unpriced)
          unpriced = op;
        return time.value_or(0);
      });
  if (failed(working))
    return failure();
  if (unpriced)
    return unpriced->emitOpError("has no known cost: ")
           << explainUnknownCost(costs, unpriced);
  FailureOr<PartitionTrials> trials = listTrials(*working);
  auto measureTrial = [&](const Split &split) {
    return measure(*working, split, costs);
  };
  // Bisection takes peaks to fall along the list, which they need not do. So a
  // list that takes no time is tried completely.
  constexpr int32_t mostNodes = 512;
  if (failed(trials) ||
      failed(working->getGraph().size() <= mostNodes
                 ? trials->visitAll(measureTrial)
                 : trials->visitAround(limitBytes, measureTrial)))
    return failure();
  std::vector<const PartitionTrial *> visited = trials->getVisited();
  FailureOr<FittedTrial> fitted = chooseTrial(*working, visited, costs);
  if (failed(fitted))
    return failure();
  remarkFitted(*working, *fitted, visited.size());
  return createHalves(*working, fitted->trial->split, names,
                      /*isTrial=*/false);
}

void FitMemory::runOnOperation() {
  ModuleOp module = getOperation();
  if (failed(emitOptionError(module, optionError)))
    return signalPassFailure();
  auto joints = llvm::to_vector(
      llvm::make_filter_range(module.getOps<func::FuncOp>(), isJointFunction));
  if (joints.empty())
    return markAllAnalysesPreserved();
  CostAnalysis pricing(module, scheduling.merging.profile.get(),
                       getPresetName(scheduling.target));
  if (!pricing.getCosts())
    return signalPassFailure();
  SymbolTableCollection symbolTables;
  SymbolTable &symbols = symbolTables.getSymbolTable(module);
  SymbolUserMap users(symbolTables, module);
  std::vector<Replacement> replacements;
  bool failedAny = false;
  for (func::FuncOp joint : joints) {
    PartitionNames names = getPartitionNames(joint);
    FailureOr<PartitionHalves> halves = failure();
    if (succeeded(checkPartitionSymbols(joint, names, symbols, users)))
      halves = fit(joint, names, *pricing.getCosts());
    failedAny = failed(halves);
    if (failedAny)
      break;
    replacements.push_back({joint, *halves});
  }
  // All joint functions are replaced, or none is.
  for (Replacement &replacement : replacements) {
    if (failedAny) {
      replacement.halves.forward.erase();
      replacement.halves.backward.erase();
      continue;
    }
    std::string name = replacement.joint.getName().str();
    replacement.joint.erase();
    failedAny =
        failed(scheduleHalves(replacement.halves, name, *pricing.getCosts()));
  }
  if (failedAny)
    signalPassFailure();
}

/// Schedules both halves of the function of that name.
LogicalResult FitMemory::scheduleHalves(PartitionHalves halves, StringRef name,
                                        OperationCosts &costs) {
  func::FuncOp functions[] = {halves.forward, halves.backward};
  OpPassManager prepare(func::FuncOp::getOperationName());
  prepare.addPass(createInferSizeHints());
  prepare.addPass(createRemoveUnshardedParamUsage());
  prepare.addPass(createReinplaceAllGather());
  for (func::FuncOp half : functions)
    if (failed(runPipeline(prepare, half)))
      return failure();
  FailureOr<PairCosts> pair = getPairCosts(halves, costs);
  if (failed(pair))
    return failure();
  for (func::FuncOp half : functions) {
    int64_t halfBytes =
        half == halves.forward
            ? limitBytes
            : getBackwardLimit(limitBytes, pair->besideBackwardBytes);
    ScheduleOptions options;
    options.memoryBudget = std::to_string(halfBytes);
    options.buckets = buckets;
    options.mode = mode;
    options.bitwise = bitwise;
    options.split = split;
    options.maxChunks = maxChunks;
    options.slack = slack;
    options.exclusiveGroups = exclusiveGroups;
    options.linkSharing = linkSharing;
    options.computeSlowdown = computeSlowdown;
    options.target = target;
    options.profile = profile;
    OpPassManager manager(func::FuncOp::getOperationName());
    manager.addPass(createSchedule(std::move(options)));
    if (failed(runPipeline(manager, half)))
      return failure();
  }
  return checkPeak(getPair(halves), name, costs);
}

//===----------------------------------------------------------------------===//
// Too little memory
//===----------------------------------------------------------------------===//

/// The largest values at the peak of `report`, and what would lower them.
static std::string explainPeak(const StepReport &report) {
  constexpr size_t numNamed = 3;
  std::string text;
  llvm::raw_string_ostream os(text);
  auto largest = report.peakValues;
  llvm::stable_sort(largest, [](const LiveValue &a, const LiveValue &b) {
    return a.bytes > b.bytes;
  });
  for (size_t i = 0; i < std::min(numNamed, largest.size()); ++i) {
    const LiveValue &value = largest[i];
    os << (i == 0 ? "" : ", ") << "'" << value.name << "' (" << value.bytes
       << " bytes, "
       << (value.producer
               ? "less with a smaller batch or a division over more ranks"
               : "an argument: less if it is sharded over more ranks")
       << ")";
  }
  return text;
}

/// Reports that the step takes more than there is, if it does.
LogicalResult FitMemory::checkPeak(FunctionPair pair, StringRef name,
                                   OperationCosts &costs) {
  std::string reason;
  FailureOr<std::optional<StepReport>> report = simulatePair(
      pair, StepReport(), StepReport(), costs, reason, scheduling.contention);
  if (failed(report))
    return failure();
  if (!*report || (*report)->peakMemoryBytes <= limitBytes)
    return success();
  int64_t leastBytes = (*report)->peakMemoryBytes;
  std::string text =
      ("the step that needs least takes " + Twine(leastBytes) + " bytes, " +
       Twine(leastBytes - limitBytes) + " over the " + Twine(limitBytes) +
       " of the device that are left; the largest values at its peak are " +
       explainPeak(**report))
          .str();
  if (strict)
    return emitError(pair.forward.getLoc(), "cannot be fitted: ") << text;
  remark::missed(pair.forward.getLoc(), makeRemark("MemoryExceeded", name))
      << text << remark::metric("LeastBytes", leastBytes)
      << remark::metric("AllowedBytes", limitBytes);
  return success();
}
