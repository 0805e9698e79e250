//===- PartitionJoint.cpp - Pass that splits joint functions --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "../PassSupport.h"
#include "CommSched/Analysis/Costs/Callees.h"
#include "CommSched/Analysis/Costs/CostAnalysis.h"
#include "CommSched/Analysis/OptionErrors.h"
#include "CommSched/Analysis/Problem/BlockProblem.h"
#include "CommSched/Dialect/CommSchedDialect.h"
#include "CommSched/Transforms/Passes.h"
#include "MemorySearch.h"
#include "PartitionPlan.h"
#include "SavedValues.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/MapVector.h"

namespace mlir::commsched {
#define GEN_PASS_DEF_PARTITIONJOINT
#include "CommSched/Transforms/Passes.h.inc"
} // namespace mlir::commsched

using namespace mlir;
using namespace mlir::commsched;
using partition::CollectivePolicy;
using partition::JointGraph;
using partition::JointNodeKind;
using partition::NodeId;
using partition::Split;

//===----------------------------------------------------------------------===//
// Counts of operators
//===----------------------------------------------------------------------===//

static void remarkCounts(const JointFunction &joint, StringRef function,
                         const Twine &what,
                         function_ref<bool(NodeId)> isCounted) {
  const JointGraph &graph = joint.getGraph();
  llvm::MapVector<StringRef, int64_t> counts;
  int64_t total = 0;
  for (NodeId node = 0; node < graph.size(); ++node) {
    if (graph[node].kind != JointNodeKind::Operation || !isCounted(node))
      continue;
    Operation *op = joint.getOperation(node);
    auto compute = dyn_cast<ComputeOp>(op);
    ++counts[compute ? compute.getCallee() : op->getName().getStringRef()];
    ++total;
  }
  auto sorted = counts.takeVector();
  llvm::stable_sort(sorted, [](const auto &first, const auto &second) {
    return first.second > second.second;
  });
  std::string text = (what + ":").str();
  StringRef separator = " ";
  for (auto [name, count] : sorted) {
    text += (separator + Twine(count) + " " + name).str();
    separator = ", ";
  }
  remark::analysis(joint.getFunction().getLoc(),
                   makeRemark("OperatorCounts", function))
      << text << remark::metric("Operations", total);
}

/// Emits three remarks `OperatorCounts`: how often each operator occurs in the
/// forward, in the backward, and among the operations that both have, the most
/// frequent first, in program order where they are as frequent.
static void remarkOperatorCounts(const JointFunction &joint, const Split &split,
                                 const PartitionNames &names) {
  // Counting is for those who listen.
  if (!joint.getFunction().getContext()->getRemarkEngine())
    return;
  remarkCounts(joint, names.forward, "operators of the forward",
               [&](NodeId node) { return split.inForward[node]; });
  remarkCounts(joint, names.backward, "operators of the backward",
               [&](NodeId node) { return split.inBackward[node]; });
  remarkCounts(joint, names.joint, "operators that both compute",
               [&](NodeId node) {
                 return split.inForward[node] && split.inBackward[node];
               });
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {

struct PartitionJoint
    : mlir::commsched::impl::PartitionJointBase<PartitionJoint> {
  using PartitionJointBase::PartitionJointBase;

  LogicalResult initialize(MLIRContext *context) override {
    return reportOptionError(context, findBadOption());
  }
  void runOnOperation() override;

private:
  /// A joint function and the halves that are to replace it.
  struct Replacement {
    func::FuncOp joint;
    OwnedHalves halves;
  };

  std::optional<std::string> findBadOption();
  std::optional<std::string> findUnreadOption() const;
  /// Whether only nanoseconds can be compared with what else takes time.
  bool needsModel() const {
    return collectives == CollectivePolicy::Cost || peakBytes;
  }
  PartitionPlanOptions getPlanOptions() const;
  LogicalResult partition(func::FuncOp joint, const PartitionNames &names,
                          OperationCosts &costs,
                          std::vector<Replacement> &replacements);
  FailureOr<PartitionPlan> planWithinPeak(const JointFunction &working,
                                          OperationCosts &costs) const;
  FailureOr<Split> choose(const JointFunction &working, OperationCosts &costs);

  /// The limit on the peak of forward and backward together, if there is one.
  std::optional<int64_t> peakBytes;
  std::vector<Proposal> written;
};

} // namespace

std::optional<std::string> PartitionJoint::findBadOption() {
  double fraction = activationMemoryBudget;
  // NaN compares with nothing.
  if (!(fraction >= 0 && fraction <= 1))
    return makeOptionError(*this, activationMemoryBudget,
                           "must be a fraction from 0 to 1, but is " +
                               std::to_string(fraction));
  peakBytes.reset();
  if (!memoryBudget.empty()) {
    int64_t bytes = 0;
    if (std::optional<std::string> problem =
            parsePeakBudget(memoryBudget, bytes))
      return makeOptionError(*this, memoryBudget, *problem);
    peakBytes = bytes;
    if (fraction < 1)
      return makeOptionError(*this, activationMemoryBudget,
                             "cannot be given beside 'memory-budget'");
  }
  constexpr StringLiteral needsCut =
      "cannot be kept with 'strategy=default', which saves what eager "
      "execution does unless an operation is marked for recomputation; use "
      "'strategy=min-cut'";
  if (strategy == PartitionStrategy::Default && peakBytes)
    return makeOptionError(*this, memoryBudget, needsCut);
  if (strategy == PartitionStrategy::Default && fraction < 1)
    return makeOptionError(*this, activationMemoryBudget, needsCut);
  if (proposals.empty() && proposals.getNumOccurrences() > 0)
    return makeOptionError(*this, proposals, "is an empty list");
  if (!proposals.empty() && !propose.empty())
    return makeOptionError(*this, proposals,
                           "cannot be given beside 'propose'");
  if (maxDistFromBw < 0)
    return makeOptionError(*this, maxDistFromBw,
                           "must not be negative, but is " +
                               Twine(maxDistFromBw));
  return findUnreadOption();
}

/// What chooses by the schedule of the step has no rules of cuts, and the other
/// choice asks how long things take only to save less than everything.
std::optional<std::string> PartitionJoint::findUnreadOption() const {
  auto ofCut = [&](const auto &option) -> DependentOption {
    return {option, isChanged(option), !peakBytes,
            "means nothing beside 'memory-budget'"};
  };
  bool savesLess =
      activationMemoryBudget < 1 || activationMemoryBudget.hasValue();
  constexpr StringLiteral needsBudget = "needs 'activation-memory-budget'";
  return findUnread(*this, {ofCut(banRecomputeUsedFarApart),
                            ofCut(banRecomputeLongFusibleChains),
                            ofCut(banRecomputeMaterializedBackward),
                            ofCut(banRecomputeNotInAllowlist),
                            ofCut(banRecomputeReductions),
                            ofCut(recomputeViews),
                            ofCut(treatParametersAsFreeToSave),
                            ofCut(maxDistFromBw),
                            ofCut(aggressiveRecomputation),
                            {memoryBudgetSolver, isChanged(memoryBudgetSolver),
                             savesLess, needsBudget},
                            {runtimeEstimator, isChanged(runtimeEstimator),
                             savesLess || needsModel(), needsBudget}});
}

PartitionPlanOptions PartitionJoint::getPlanOptions() const {
  PartitionPlanOptions options;
  options.strategy = strategy;
  options.fraction = activationMemoryBudget;
  options.collectives = collectives;
  partition::SavedValuesOptions &saved = options.savedValues;
  saved.aggressiveRecomputation = aggressiveRecomputation;
  saved.solver = memoryBudgetSolver;
  saved.cut.banRecomputeUsedFarApart = banRecomputeUsedFarApart;
  saved.cut.banRecomputeLongFusibleChains = banRecomputeLongFusibleChains;
  saved.cut.banRecomputeMaterializedBackward = banRecomputeMaterializedBackward;
  saved.cut.banRecomputeNotInAllowlist = banRecomputeNotInAllowlist;
  saved.cut.banRecomputeReductions = banRecomputeReductions;
  saved.cut.recomputeViews = recomputeViews;
  saved.cut.treatParametersAsFreeToSave = treatParametersAsFreeToSave;
  saved.cut.maxDistFromBw = maxDistFromBw;
  saved.cut.repeatGathers = collectives == CollectivePolicy::Cost;
  return options;
}

/// The search of test-commsched-fit-memory, but for schedules.
FailureOr<PartitionPlan>
PartitionJoint::planWithinPeak(const JointFunction &working,
                               OperationCosts &costs) const {
  FailureOr<PartitionList> list = PartitionList::create(working, collectives);
  if (failed(list))
    return failure();
  SchedulingOptions scheduling;
  auto prepare = [](PartitionHalves) { return success(); };
  MemorySearch::Options options;
  options.limitBytes = *peakBytes;
  options.mimicsAutograd = mimicAutogradOrder;
  MemorySearch search({working, *list, scheduling, costs, prepare}, options);
  FailureOr<const PartitionTrial *> trial = search.findUnscheduled();
  if (failed(trial))
    return failure();
  int64_t bytes = (*trial)->costs.peakBytes;
  return PartitionPlan{(*trial)->partition->split, bytes, *peakBytes,
                       /*isOverBudget=*/bytes > *peakBytes};
}

FailureOr<Split> PartitionJoint::choose(const JointFunction &working,
                                        OperationCosts &costs) {
  func::FuncOp function = working.getFunction();
  FailureOr<PartitionPlan> plan =
      peakBytes ? planWithinPeak(working, costs)
                : planPartition(working, getPlanOptions());
  if (failed(plan))
    return failure();
  if (plan->markedNode != partition::noNode)
    remark::analysis(working.getOperation(plan->markedNode)->getLoc(),
                     makeRemark("DefaultIsMinCut", function.getName()))
        << ("'strategy=default' makes a minimum cut, as 'strategy=min-cut' "
            "does, for '" +
            working.getName(plan->markedNode) +
            "' is marked to be computed again")
               .str();
  if (plan->isOverBudget)
    remark::missed(function.getLoc(),
                   makeRemark("PartitionOverBudget", function.getName()))
        << (function->hasAttr(savedValuesAttrName)
                ? "the partition that is named is not within the budget"
            : peakBytes ? "no partition's peak is within the budget"
                        : "no partition saves as little as the budget")
        << remark::metric("AllowedBytes", plan->allowedBytes)
        << remark::metric("LeastBytes", plan->bytes);
  return std::move(plan->split);
}

/// Returns the floating-point operations of `op`.
static int64_t getFlops(Operation *op) {
  auto cost = dyn_cast<CostOpInterface>(op);
  std::optional<double> flops = cost ? cost.getFlopCount() : std::nullopt;
  constexpr double most = 1e18;
  return flops ? static_cast<int64_t>(std::min(*flops, most)) : 0;
}

/// The decision as agreeOnSavedValues() reads it.
static Proposal makeProposal(const JointFunction &working, const Split &split) {
  Proposal proposal;
  proposal.function = working.getFunction().getName().str();
  const partition::JointGraph &graph = working.getGraph();
  auto saved = split.saved.begin();
  for (NodeId node = 0; node < graph.size(); ++node) {
    if (!graph[node].isSaveable)
      continue;
    if (saved != split.saved.end() && *saved == node) {
      proposal.saved.push_back(static_cast<int32_t>(proposal.values.size()));
      ++saved;
    }
    proposal.values.push_back({working.getName(node).str(), graph[node].bytes});
  }
  return proposal;
}

LogicalResult
PartitionJoint::partition(func::FuncOp joint, const PartitionNames &names,
                          OperationCosts &costs,
                          std::vector<Replacement> &replacements) {
  RuntimeEstimator estimator =
      needsModel() ? RuntimeEstimator::Model : runtimeEstimator;
  RandomStates states(joint);
  FailureOr<JointFunction> working =
      JointFunction::create(joint, [&](Operation *op) -> int64_t {
        switch (estimator) {
        case RuntimeEstimator::Testing:
          return 1;
        case RuntimeEstimator::Flops:
          return getFlops(op);
        case RuntimeEstimator::Model:
          return priceOrRemark(joint.getSymName(), op, costs);
        }
        llvm_unreachable("unknown estimator");
      });
  if (failed(working))
    return failure();
  if (peakBytes && areRemarksEnabled(joint))
    remarkAssumedSizes(joint.getSymName(), joint.getBody().front());
  FailureOr<Split> split = choose(*working, costs);
  if (failed(split))
    return failure();
  if (!propose.empty()) {
    written.push_back(makeProposal(*working, *split));
    return success();
  }
  remark::passed(joint.getLoc(), makeRemark("Partitioned", joint.getName()))
      << "split into forward and backward"
      << remark::metric("SavedBytes",
                        computeSavedBytes(working->getGraph(), split->saved))
      << remark::metric("SavedValues",
                        static_cast<int64_t>(split->saved.size()));
  FailureOr<OwnedHalves> halves =
      createHalves(*working, *split, costs,
                   {names, /*isTrial=*/false, Treatment(), /*hostBytes=*/0,
                    mimicAutogradOrder});
  if (failed(halves))
    return failure();
  remarkOperatorCounts(*working, *split, names);
  replacements.push_back({joint, std::move(*halves)});
  return success();
}

void PartitionJoint::runOnOperation() {
  written.clear();
  ModuleOp module = getOperation();
  auto joints = llvm::to_vector(
      llvm::make_filter_range(module.getOps<func::FuncOp>(), isJointFunction));
  if (!proposals.empty() &&
      failed(agreeOnSavedValues(module, joints, proposals)))
    return signalPassFailure();
  // Option 'proposals' needs a file of every rank, also an empty one.
  if (joints.empty() && propose.empty())
    return markAllAnalysesPreserved();
  OperationCosts *costs = getAnalysis<CostAnalysis>().getCosts();
  if (!costs)
    return signalPassFailure();
  Callees callees(module, *costs);
  SymbolTableCollection symbolTables;
  SymbolTable &symbols = symbolTables.getSymbolTable(module);
  SymbolUserMap users(symbolTables, module);
  std::vector<Replacement> replacements;
  for (func::FuncOp joint : joints) {
    PartitionNames names = getPartitionNames(joint);
    if ((propose.empty() &&
         failed(checkPartitionSymbols(joint, names, symbols, users))) ||
        failed(partition(joint, names, *costs, replacements)))
      return signalPassFailure();
  }
  // All joint functions are replaced, or none is.
  for (Replacement &replacement : replacements) {
    PartitionHalves halves = replacement.halves.release();
    replaceJoint(replacement.joint, users.getUsers(replacement.joint), halves);
  }
  if (!propose.empty() &&
      failed(writeProposals(module.getLoc(), propose, written)))
    return signalPassFailure();
  if (replacements.empty())
    return markAllAnalysesPreserved();
  if (failed(verifyPartitions(module)))
    signalPassFailure();
}
