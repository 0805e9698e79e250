//===- FitMemory.cpp - Pass that fits a step into memory ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "../MemoryBudget.h"
#include "../PassSupport.h"
#include "../Schedule/SchedulingPass.h"
#include "CommSched/Dialect/CommSchedAttributes.h"
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
#include "llvm/ADT/SetVector.h"

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
    FittedHalves fitted;
    /// What its callers hold beside it.
    int64_t callerBytes;
    /// With which options it would fit; empty if it does.
    std::string remedies;
  };

  std::optional<std::string> findBadBytes();
  FailureOr<Replacement> fit(func::FuncOp joint, const PartitionNames &names,
                             int64_t callerBytes, OperationCosts &costs);
  LogicalResult prepare(PartitionHalves halves);
  LogicalResult writeOtherFrontiers();
  LogicalResult checkPeak(const Replacement &replacement,
                          PartitionHalves halves, ArrayRef<Operation *> calls,
                          OperationCosts &costs);
  /// Of a joint function.
  int64_t getLimitBytes(int64_t callerBytes) const {
    return getLimitBeside(limitBytes, callerBytes);
  }

  /// What the program may take of the device, and its saved values of the host.
  int64_t limitBytes = 0;
  int64_t hostBytes = 0;
  /// For large functions: the pipeline schedules what is chosen once more, and
  /// splits what is exposed then.
  SchedulingOptions quick;
  /// Of the functions up to now.
  std::vector<FunctionFrontier> frontiers;
  std::optional<std::string> optionError;
};

} // namespace

//===----------------------------------------------------------------------===//
// Options
//===----------------------------------------------------------------------===//

LogicalResult FitMemory::initialize(MLIRContext *context) {
  optionError = readOptions();
  scheduling.refusesAssumptions = strict;
  quick = scheduling;
  quick.splitting.split = ScheduleSplit::Off;
  quick.isQuick = true;
  if (!optionError)
    optionError = findBadBytes();
  if (!optionError)
    optionError = readAllocatorOptions();
  return success();
}

std::optional<std::string> FitMemory::findBadBytes() {
  int64_t deviceBytes = 0, bytes = 0;
  if (std::optional<std::string> problem =
          parsePeakBudget(memoryBudget, deviceBytes))
    return makeOptionError(*this, memoryBudget, *problem);
  if (std::optional<std::string> problem = parseByteCount(reservedBytes, bytes))
    return makeOptionError(*this, reservedBytes, *problem);
  if (bytes > deviceBytes)
    return makeOptionError(*this, reservedBytes,
                           "is '" + Twine(reservedBytes) +
                               "', more than option 'memory-budget', '" +
                               Twine(memoryBudget) + "'");
  limitBytes = deviceBytes - bytes;
  if (std::optional<std::string> problem =
          parseByteCount(hostMemory, hostBytes))
    return makeOptionError(*this, hostMemory, *problem);
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

/// A remark on each partition that was measured, the shortest bound first.
static void remarkTrials(func::FuncOp joint,
                         ArrayRef<const PartitionTrial *> trials) {
  for (const PartitionTrial *trial : trials)
    remark::analysis(joint.getLoc(),
                     makeRemark("PartitionTried", joint.getName()))
        << trial->getOrigin() << remark::metric("BoundNs", trial->costs.boundNs)
        << remark::metric("PeakBytes", trial->costs.peakBytes);
}

static void remarkFitted(const JointFunction &working,
                         const FittedTrial &fitted, int64_t limitBytes,
                         size_t numTrials) {
  func::FuncOp joint = working.getFunction();
  const PairSchedule &schedule = fitted.schedule;
  int64_t savedBytes = computeSavedBytes(working.getGraph(),
                                         fitted.trial->partition->split.saved);
  std::string reserved;
  if (schedule.reservedBytes)
    reserved = (", for which the allocator reserves " +
                Twine(*schedule.reservedBytes) + " bytes")
                   .str();
  std::string text =
      ("the step takes " + Twine(schedule.stepNs) + " ns and " +
       Twine(schedule.peakBytes) + " bytes of " + Twine(limitBytes) + reserved +
       ": " + fitted.trial->getOrigin() + ", of " + Twine(numTrials) +
       " partitions")
          .str();
  remark::RemarkOpts options = makeRemark("MemoryFitted", joint.getName());
  auto remark = schedule.isWithin(limitBytes)
                    ? remark::passed(joint.getLoc(), options)
                    : remark::analysis(joint.getLoc(), options);
  remark << text << remark::metric("StepNs", schedule.stepNs)
         << remark::metric("PeakBytes", schedule.peakBytes)
         << remark::metric("AllowedBytes", limitBytes)
         << remark::metric("SavedBytes", savedBytes)
         << remark::metric("Partitions", static_cast<int64_t>(numTrials));
  if (schedule.reservedBytes)
    remark << remark::metric("ReservedBytes", *schedule.reservedBytes);
}

/// Emits the remarks on how the halves of a partition are made.
static LogicalResult remarkHalves(const JointFunction &working,
                                  const PartitionTrial &trial,
                                  const PartitionNames &names,
                                  int64_t hostBytes, OperationCosts &costs) {
  return createHalves(working, trial.partition->split, costs,
                      {names, /*isTrial=*/false, trial.treatment, hostBytes});
}

FailureOr<FitMemory::Replacement> FitMemory::fit(func::FuncOp joint,
                                                 const PartitionNames &names,
                                                 int64_t callerBytes,
                                                 OperationCosts &costs) {
  RandomStates states(joint);
  FailureOr<JointFunction> working =
      JointFunction::create(joint, [&](Operation *op) {
        return priceOrRemark(joint.getSymName(), op, costs);
      });
  if (failed(working))
    return failure();
  if (areRemarksEnabled(joint))
    remarkAssumedSizes(joint.getSymName(), joint.getBody().front());
  FailureOr<PartitionList> list = PartitionList::create(*working, collectives);
  if (failed(list))
    return failure();
  auto prepareHalves = [&](PartitionHalves halves) { return prepare(halves); };
  MemorySearch::Options options;
  options.limitBytes = getLimitBytes(callerBytes);
  options.mayQuantize = quantize == QuantizeChoice::Auto;
  options.hostBytes = hostBytes;
  SearchInput input = {*working, *list, list->isLarge() ? quick : scheduling,
                       costs, prepareHalves};
  MemorySearch search(input, options);
  if ((!frontier.empty() && failed(search.findFrontier())) ||
      failed(search.run()))
    return failure();
  const FittedHalves &best = search.getBest();
  std::vector<const PartitionTrial *> measured = search.getMeasured();
  remarkTrials(joint, measured);
  remarkFitted(*working, best.point, options.limitBytes, measured.size());
  if (!frontier.empty())
    frontiers.push_back(search.makeFrontier(joint.getName()));
  if (areRemarksEnabled(joint) &&
      failed(
          remarkHalves(*working, *best.point.trial, names, hostBytes, costs)))
    return failure();
  Replacement replacement = {joint, best, callerBytes, /*remedies=*/""};
  const PairSchedule &taken = best.point.schedule;
  if (!taken.isWithin(options.limitBytes)) {
    FailureOr<std::string> remedies = findBudgetRemedies(input, options, taken);
    if (failed(remedies))
      return failure();
    replacement.remedies = *remedies;
  }
  return replacement;
}

/// Adds to what is held beside `half`.
static void addBesideBytes(func::FuncOp half, int64_t bytes) {
  bytes += getBesideBytes(half).value_or(0);
  half->setDiscardableAttr(besideBytesAttrName,
                           Builder(half.getContext()).getI64IntegerAttr(bytes));
}

/// Keeps on functions that are no joint ones, and that are scheduled, what
/// their callers hold: a budget in bytes is one of the step.
static void keepCallerBytes(ModuleOp module, const SymbolUserMap &users) {
  for (auto function : module.getOps<func::FuncOp>()) {
    if (saysForwardOutputs(function) || getBesideBytes(function) ||
        getBlocksWithCollectives(function).empty())
      continue;
    if (int64_t bytes = computeCallerBytes(function, users))
      addBesideBytes(function, bytes);
  }
}

void FitMemory::runOnOperation() {
  ModuleOp module = getOperation();
  auto joints = llvm::to_vector(llvm::make_filter_range(
      module.getOps<func::FuncOp>(), saysForwardOutputs));
  // What then follows has the same options, and says what is wrong with them.
  if (joints.empty() && frontier.empty() && optionError)
    return markAllAnalysesPreserved();
  if (failed(reportOptionError(&getContext(), optionError)))
    return signalPassFailure();
  if (joints.empty() && !frontier.empty() && failed(writeOtherFrontiers()))
    return signalPassFailure();
  // Not the pass manager's, which prepare() clears.
  FailureOr<std::shared_ptr<CostAnalysis>> pricing =
      CostAnalysis::create(module);
  if (failed(pricing))
    return signalPassFailure();
  OperationCosts &costs = *(*pricing)->getCosts();
  Callees callees(module, costs);
  SymbolTableCollection symbolTables;
  SymbolTable &symbols = symbolTables.getSymbolTable(module);
  SymbolUserMap users(symbolTables, module);
  keepCallerBytes(module, users);
  if (joints.empty())
    return;
  std::vector<Replacement> replacements;
  frontiers.clear();
  bool failedAny = false;
  for (func::FuncOp joint : joints) {
    PartitionNames names = getPartitionNames(joint);
    FailureOr<Replacement> replacement = failure();
    if (succeeded(checkPartitionSymbols(joint, names, symbols, users)))
      replacement = fit(joint, names, computeCallerBytes(joint, users), costs);
    failedAny = failed(replacement);
    if (failedAny)
      break;
    replacements.push_back(*replacement);
  }
  // All joint functions are replaced, or none is: halves that are not released
  // are erased.
  for (Replacement &replacement : replacements) {
    if (failedAny)
      break;
    func::FuncOp joint = replacement.joint;
    auto &[point, scheduler, decision] = replacement.fitted;
    PartitionHalves halves = scheduler->release();
    failedAny =
        failed(scheduler->apply(std::move(decision))) ||
        failed(checkPeak(replacement, halves, users.getUsers(joint), costs));
    for (func::FuncOp half : {halves.forward, halves.backward})
      addBesideBytes(half, replacement.callerBytes);
    replaceJoint(joint, users.getUsers(joint), halves);
  }
  if (failedAny ||
      (!frontier.empty() &&
       failed(writeFrontiers(module.getLoc(), frontier, frontiers))) ||
      failed(verifyPartitions(module)))
    signalPassFailure();
}

void mlir::commsched::addPreparation(OpPassManager &functions) {
  functions.addPass(createInferSizeHints());
  functions.addPass(createRemoveUnshardedParamUsage());
  functions.addPass(createReinplaceAllGather());
}

/// Of a module without joint functions, whatever functions it has.
LogicalResult FitMemory::writeOtherFrontiers() {
  OpPassManager passes(ModuleOp::getOperationName());
  addPreparation(passes.nest<func::FuncOp>());
  FrontierOptions options;
  options.file = frontier;
  options.memoryBudget = memoryBudget;
  options.buckets = buckets;
  options.mode = mode;
  options.bitwise = bitwise;
  options.split = split;
  options.maxChunks = maxChunks;
  passes.addPass(createFrontier(std::move(options)));
  return runPipeline(passes, getOperation());
}

LogicalResult FitMemory::prepare(PartitionHalves halves) {
  OpPassManager passes(func::FuncOp::getOperationName());
  addPreparation(passes);
  LogicalResult result = success();
  for (func::FuncOp half : {halves.forward, halves.backward})
    if (succeeded(result))
      result = runPipeline(passes, half);
  // Of halves that are erased soon, and others may get their addresses.
  getAnalysisManager().clear();
  return result;
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

/// Keeps `remedies` on what calls the joint function, or on that itself.
static void keepRemedies(func::FuncOp joint, ArrayRef<Operation *> calls,
                         StringRef remedies) {
  llvm::SmallSetVector<func::FuncOp, 4> callers;
  for (Operation *call : calls)
    callers.insert(call->getParentOfType<func::FuncOp>());
  if (calls.empty())
    callers.insert(joint);
  for (func::FuncOp caller : callers) {
    auto all = StringAttr::get(joint.getContext(),
                               getBudgetRemedies(caller) + remedies);
    caller->setDiscardableAttr(budgetRemediesAttrName, all);
  }
}

/// Reports that the step takes more than there is, if it does.
LogicalResult FitMemory::checkPeak(const Replacement &replacement,
                                   PartitionHalves halves,
                                   ArrayRef<Operation *> calls,
                                   OperationCosts &costs) {
  func::FuncOp joint = replacement.joint;
  int64_t leftBytes = getLimitBytes(replacement.callerBytes);
  if (replacement.fitted.point.schedule.isWithin(leftBytes))
    return success();
  FailureOr<StepReport> report =
      simulateHalves(joint, halves, costs, scheduling.budgetAllocator);
  if (failed(report))
    return failure();
  const std::optional<schedule::ReservedMemory> &reserved = report->reserved;
  int64_t leastBytes =
      reserved ? reserved->reservedBytes : report->peakMemoryBytes;
  if (leastBytes <= leftBytes)
    return success();
  std::string text =
      ((reserved ? "the allocator reserves at least "
                 : "the step that needs least takes ") +
       Twine(leastBytes) + " bytes, " + Twine(leastBytes - leftBytes) +
       " more than the " + Twine(leftBytes) +
       " bytes that are left of the device; the largest values at its peak "
       "are " +
       explainPeak(*report) + replacement.remedies)
          .str();
  if (strict)
    return emitError(joint.getLoc(), "cannot be fitted: ") << text;
  keepRemedies(joint, calls, replacement.remedies);
  remark::missed(joint.getLoc(), makeRemark("MemoryExceeded", joint.getName()))
      << text << remark::metric("LeastBytes", leastBytes)
      << remark::metric("AllowedBytes", leftBytes);
  return success();
}
