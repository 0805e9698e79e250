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
#include "MemorySearch.h"
#include "PartitionPlan.h"
#include "SavedValues.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
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
    /// The limit of the schedule that was chosen.
    int64_t limitBytes;
  };

  std::optional<std::string> findBadBytes();
  FailureOr<Replacement> fit(func::FuncOp joint, const PartitionNames &names,
                             OperationCosts &costs);
  FailureOr<PartitionTrials> listTrials(const JointFunction &working) const;
  LogicalResult scheduleHalves(const Replacement &replacement, StringRef name,
                               OperationCosts &costs);
  LogicalResult checkPeak(FunctionPair pair, StringRef name,
                          OperationCosts &costs);

  /// What the program may take of the device, and its saved values of the host.
  int64_t limitBytes = 0;
  int64_t hostBytes = 0;
  /// Of the functions up to now.
  std::vector<FunctionFrontier> frontiers;
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
  if (std::optional<std::string> problem =
          parseByteCount(hostMemory, hostBytes))
    return makeOptionError(*this, hostMemory, *problem);
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

FailureOr<PartitionTrials>
FitMemory::listTrials(const JointFunction &working) const {
  Treatment allowed = {/*offloads=*/hostBytes > 0,
                       /*quantizes=*/quantize == QuantizeChoice::Auto};
  if (!working.getFunction()->hasAttr(savedValuesAttrName))
    return PartitionTrials::create(working, collectives, allowed);
  FailureOr<std::vector<partition::NodeId>> saved = readSavedValues(working);
  if (failed(saved))
    return failure();
  FailureOr<Split> split = splitAt(working, *saved);
  if (failed(split))
    return failure();
  return PartitionTrials::createFixed(working, std::move(*split), allowed);
}

/// A remark on each partition that was measured, the shortest bound first.
static void remarkTrials(func::FuncOp joint,
                         ArrayRef<const PartitionTrial *> trials) {
  for (const PartitionTrial *trial : trials)
    remark::analysis(joint.getLoc(),
                     makeRemark("PartitionTried", joint.getName()))
        << trial->origin << remark::metric("BoundNs", trial->costs.boundNs)
        << remark::metric("PeakBytes", trial->costs.peakBytes);
}

static void remarkFitted(const JointFunction &working,
                         const FittedTrial &fitted, int64_t limitBytes,
                         size_t numTrials) {
  func::FuncOp joint = working.getFunction();
  const PairSchedule &schedule = fitted.schedule;
  remark::passed(joint.getLoc(), makeRemark("MemoryFitted", joint.getName()))
      << ("the step takes " + Twine(schedule.stepNs) + " ns and " +
          Twine(schedule.peakBytes) + " bytes of " + Twine(limitBytes) + ": " +
          fitted.trial->origin + ", of " + Twine(numTrials) + " partitions")
             .str()
      << remark::metric("StepNs", schedule.stepNs)
      << remark::metric("PeakBytes", schedule.peakBytes)
      << remark::metric("AllowedBytes", limitBytes)
      << remark::metric(
             "SavedBytes",
             computeSavedBytes(working.getGraph(), fitted.trial->split.saved))
      << remark::metric("Partitions", static_cast<int64_t>(numTrials));
}

FailureOr<FitMemory::Replacement> FitMemory::fit(func::FuncOp joint,
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
  MemorySearch search(*working, scheduling, costs, hostBytes);
  // What takes no time is tried completely, and the same for all memories.
  bool isSmall = PartitionTrials::isSmall(working->getGraph());
  auto measureTrial = [&](const Split &split, Treatment &treatment) {
    return isSmall ? search.measure(split, treatment)
                   : search.measureWithin(split, treatment, limitBytes);
  };
  if (failed(trials) ||
      failed(isSmall || !frontier.empty()
                 ? trials->visitAll(measureTrial)
                 : trials->visitAround(limitBytes, measureTrial)))
    return failure();
  std::vector<const PartitionTrial *> visited = trials->getVisited();
  FailureOr<FittedTrial> fitted =
      search.choose(visited, limitBytes, isSmall, !frontier.empty());
  if (failed(fitted))
    return failure();
  remarkTrials(joint, visited);
  remarkFitted(*working, *fitted, limitBytes, visited.size());
  if (!frontier.empty())
    frontiers.push_back(search.makeFrontier(joint.getName()));
  FailureOr<PartitionHalves> halves = createHalves(
      *working, fitted->trial->split, costs,
      {names, /*isTrial=*/false, fitted->trial->treatment, hostBytes});
  if (failed(halves))
    return failure();
  return Replacement{joint, *halves, fitted->schedule.limitBytes};
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
  frontiers.clear();
  bool failedAny = false;
  for (func::FuncOp joint : joints) {
    PartitionNames names = getPartitionNames(joint);
    FailureOr<Replacement> replacement = failure();
    if (succeeded(checkPartitionSymbols(joint, names, symbols, users)))
      replacement = fit(joint, names, *pricing.getCosts());
    failedAny = failed(replacement);
    if (failedAny)
      break;
    replacements.push_back(*replacement);
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
    failedAny = failed(scheduleHalves(replacement, name, *pricing.getCosts()));
  }
  if (failedAny ||
      (!frontier.empty() &&
       failed(writeFrontiers(module.getLoc(), frontier, frontiers))))
    signalPassFailure();
}

/// Schedules both halves of the function of that name.
LogicalResult FitMemory::scheduleHalves(const Replacement &replacement,
                                        StringRef name, OperationCosts &costs) {
  PartitionHalves halves = replacement.halves;
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
    int64_t halfBytes = half == halves.forward
                            ? replacement.limitBytes
                            : getBackwardLimit(replacement.limitBytes,
                                               pair->besideBackwardBytes);
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
  return checkPeak({halves.forward, halves.backward}, name, costs);
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
