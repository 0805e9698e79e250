//===- BucketCandidates.cpp - What may be merged --------------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BucketCandidates.h"

#include "CommSched/Analysis/FsdpAnalysis.h"
#include "CommSched/Analysis/OperationCosts.h"
#include "CommSched/CostModel/Saturation.h"
#include "CommSched/Dialect/CommSchedAttributes.h"

using namespace mlir;
using namespace mlir::commsched;
using ::commsched::CollectiveKind;
using ::commsched::CollectiveQuery;
using ::commsched::NodeId;

namespace {

/// The share of a group's bandwidth at which a larger message gains little.
constexpr double saturationFraction = 0.9;

constexpr int64_t unlimited = std::numeric_limits<int64_t>::max();

class CandidateFinder {
public:
  CandidateFinder(const BucketingPassOptions &options, const FsdpAnalysis *fsdp,
                  std::optional<PlanSteps> steps, OperationCosts &costs,
                  SymbolTableCollection &symbolTables)
      : options(options), fsdp(fsdp), steps(std::move(steps)), costs(costs),
        symbolTables(symbolTables) {}

  LogicalResult visit(CollectiveOpInterface collective, NodeId node);

  BucketCandidates finish();

private:
  bool isFsdp(CollectiveOpInterface collective) const;
  SmallVector<MergeMode, 2> findModes(CollectiveOpInterface collective,
                                      std::string &reason) const;
  Attribute makeKey(CollectiveOpInterface collective,
                    ArrayRef<MergeMode> modes) const;
  int64_t getSaturatedBytes(CollectiveOpInterface collective);
  int32_t addKey(Attribute key, PlanStep step, CollectiveOpInterface collective,
                 ArrayRef<MergeMode> modes);
  void refuse(Operation *op, std::string reason) {
    found.refused.push_back({op, std::move(reason)});
  }

  const BucketingPassOptions &options;
  const FsdpAnalysis *fsdp;
  std::optional<PlanSteps> steps;
  OperationCosts &costs;
  SymbolTableCollection &symbolTables;
  BucketCandidates found;
  /// By what can be merged, and group and number of the step.
  DenseMap<std::tuple<Attribute, int32_t, int32_t>, int32_t> keys;
  /// By group.
  DenseMap<Attribute, int64_t> saturated;
};

} // namespace

bool CandidateFinder::isFsdp(CollectiveOpInterface collective) const {
  switch (options.kind) {
  case CollectiveKind::AllGather:
    return fsdp->getRole(collective) == FsdpRole::ParameterGather;
  case CollectiveKind::ReduceScatter:
    return fsdp->getRole(collective) == FsdpRole::GradientScatter;
  default:
    return fsdp->getRole(collective) == FsdpRole::GradientReduce ||
           (!steps && fsdp->isFsdpGroup(collective.getGroupKey()));
  }
}

SmallVector<MergeMode, 2>
CandidateFinder::findModes(CollectiveOpInterface collective,
                           std::string &reason) const {
  SmallVector<MergeMode, 2> modes;
  for (MergeMode mode : options.modes) {
    std::optional<std::string> obstacle =
        getUnmergeableReason(collective, mode);
    if (!obstacle)
      modes.push_back(mode);
    else if (reason.empty())
      reason = std::move(*obstacle);
  }
  return modes;
}

Attribute CandidateFinder::makeKey(CollectiveOpInterface collective,
                                   ArrayRef<MergeMode> modes) const {
  SmallVector<Attribute> keyOfModes;
  for (MergeMode mode : modes)
    keyOfModes.push_back(getMergeKey(collective, mode, options.multiDtype));
  return ArrayAttr::get(collective->getContext(), keyOfModes);
}

/// The size from which on more bytes gain little, all collectives of the pass
/// being of one kind; unlimited if it is not known.
int64_t
CandidateFinder::getSaturatedBytes(CollectiveOpInterface collective) {
  auto [it, isNew] = saturated.try_emplace(collective.getGroupKey(), unlimited);
  if (isNew)
    if (std::optional<CollectiveQuery> query = costs.getQuery(collective))
      it->second = std::max<int64_t>(
          1, getSaturationBytes(costs.getCollectiveCost(), query->kind,
                                query->ranks, query->ranksPerNode,
                                saturationFraction));
  return it->second;
}

int32_t CandidateFinder::addKey(Attribute key, PlanStep step,
                                CollectiveOpInterface collective,
                                ArrayRef<MergeMode> modes) {
  auto [it, isNew] = keys.try_emplace({key, step.group, step.step}, keys.size());
  if (!isNew)
    return it->second;
  found.modes.emplace_back(modes);
  FailureOr<ProcessGroup> group = collective.getProcessGroup(symbolTables);
  found.crossesNodes.push_back(succeeded(group) &&
                               group->size > group->ranksPerNode);
  std::vector<int64_t> caps = options.capBytes;
  if (steps) {
    caps = {unlimited};
    found.steps.push_back(step);
  } else if (options.saturation) {
    for (int64_t &cap : caps)
      cap = std::min(cap, getSaturatedBytes(collective));
  }
  found.options.capBytes.push_back(std::move(caps));
  return it->second;
}

LogicalResult CandidateFinder::visit(CollectiveOpInterface collective,
                                     NodeId node) {
  std::string reason;
  SmallVector<MergeMode, 2> modes = findModes(collective, reason);
  if (modes.empty()) {
    refuse(collective, std::move(reason));
    return success();
  }
  if ((options.fsdpOnly || steps) && !isFsdp(collective)) {
    refuse(collective, "it is not part of fully sharded data parallelism");
    return success();
  }
  int64_t bytes =
      std::max(*collective.getOperandBytes(), *collective.getResultBytes());
  PlanStep step;
  if (steps) {
    FailureOr<std::optional<PlanStep>> planned =
        steps->add(collective, fsdp->getParameter(collective), bytes,
                   getSaturatedBytes(collective), reason);
    if (failed(planned))
      return failure();
    if (!*planned) {
      refuse(collective, std::move(reason));
      return success();
    }
    step = **planned;
  }
  int32_t key = addKey(makeKey(collective, modes), step, collective, modes);
  found.candidates.push_back({node, key, bytes});
  return success();
}

BucketCandidates CandidateFinder::finish() {
  if (steps)
    llvm::append_range(found.usedEntries, steps->getUsedEntries());
  else
    found.options.maxCount = options.maxCount;
  return std::move(found);
}

FailureOr<BucketCandidates> mlir::commsched::findBucketCandidates(
    const BlockProblem &problem, BucketingPassOptions &options,
    const StepRule *rule, const FsdpAnalysis *fsdp, OperationCosts &costs,
    SymbolTableCollection &symbolTables) {
  std::optional<PlanSteps> steps;
  if (rule)
    steps.emplace(*rule, rule->kind == StepRule::Kind::Entries ? &options.plan
                                                               : nullptr);
  CandidateFinder finder(options, fsdp, std::move(steps), costs, symbolTables);
  for (NodeId node = 0; node < problem.getProblem().numNodes(); ++node) {
    auto collective =
        dyn_cast<CollectiveOpInterface>(problem.getOperation(node));
    if (collective && collective.getCollectiveKind() == options.kind &&
        failed(finder.visit(collective, node)))
      return failure();
  }
  return finder.finish();
}
