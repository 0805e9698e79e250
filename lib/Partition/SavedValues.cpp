//===- SavedValues.cpp - Values that the forward saves --------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Partition/SavedValues.h"

#include <algorithm>
#include <iterator>
#include <unordered_set>
#include <utility>

using namespace mlir::commsched;
using namespace mlir::commsched::partition;

//===----------------------------------------------------------------------===//
// Storages and dimensions
//===----------------------------------------------------------------------===//

namespace {

/// Which values each half has at hand.
class Availability {
public:
  Availability(const JointGraph &graph, const Split &split)
      : graph(graph), split(split), isSaved(graph.size(), 0) {
    for (NodeId node : split.saved)
      isSaved[node] = 1;
  }

  bool isComputedIn(const std::vector<char> &half, NodeId node) const {
    return half[graph.getOperation(node)];
  }
  bool isInForward(NodeId node) const {
    return graph[node].kind == JointNodeKind::Primal ||
           isComputedIn(split.inForward, node) || isConstant(node);
  }
  bool isInBackward(NodeId node) const {
    return isSaved[node] || isBackwardArgument(graph[node].kind) ||
           isComputedIn(split.inBackward, node) || isConstant(node);
  }
  bool isSavedValue(NodeId node) const { return isSaved[node]; }

private:
  /// Whether any half can make `node` without having anything.
  bool isConstant(NodeId node) const {
    NodeId operation = graph.getOperation(node);
    return graph[operation].operatorClass == OperatorClass::Constant &&
           !graph[operation].isPinned && !graph.isArgument(operation) &&
           graph.getOperands(operation).empty();
  }

  const JointGraph &graph;
  const Split &split;
  /// By node.
  std::vector<char> isSaved;
};

} // namespace

//===----------------------------------------------------------------------===//
// Storages
//===----------------------------------------------------------------------===//

/// Returns the operand of the view `node`, if the backward can repeat the view.
static NodeId getShownValue(const JointGraph &graph, NodeId node,
                            const Availability &halves) {
  NodeId operation = graph.getOperation(node);
  const JointNode &view = graph[operation];
  if (view.operatorClass != OperatorClass::View || view.isPinned ||
      view.tag == PartitionTag::MustBeForward ||
      view.policy == RecomputePolicy::MustSave || graph[node].storage < 0)
    return noNode;
  NodeId shown = noNode;
  for (NodeId operand : graph.getOperands(operation)) {
    if (shown == noNode && graph[operand].storage == graph[node].storage)
      shown = operand;
    else if (operand != shown && !halves.isInBackward(operand))
      return noNode;
  }
  return shown;
}

std::vector<NodeId> partition::getSavedStorages(const JointGraph &graph,
                                                const Split &split) {
  Availability halves(graph, split);
  // By node: what it shows, through all views that can be taken again.
  std::vector<NodeId> base(graph.size());
  for (NodeId node = 0; node < graph.size(); ++node) {
    NodeId shown = getShownValue(graph, node, halves);
    base[node] = shown == noNode ? node : base[shown];
  }
  auto canSave = [&](NodeId node) {
    return halves.isSavedValue(node) ||
           (graph[node].isSaveable &&
            graph[node].policy != RecomputePolicy::MustRecompute &&
            halves.isInForward(node) &&
            !halves.isComputedIn(split.inBackward, node));
  };
  std::vector<NodeId> saved;
  for (NodeId node : split.saved)
    saved.push_back(canSave(base[node]) ? base[node] : node);
  std::sort(saved.begin(), saved.end());
  saved.erase(std::unique(saved.begin(), saved.end()), saved.end());
  return saved;
}

//===----------------------------------------------------------------------===//
// Dimensions
//===----------------------------------------------------------------------===//

/// Whether the forward can compute `node`, which is not in it now.
static bool canMoveToForward(const JointGraph &graph, NodeId node,
                             const Availability &halves) {
  if (graph[node].isPinned || !graph[node].isSaveable ||
      graph[node].policy == RecomputePolicy::MustRecompute ||
      graph[node].tag == PartitionTag::MustBeBackward)
    return false;
  ArrayView<NodeId> operands = graph.getOperands(node);
  return std::all_of(operands.begin(), operands.end(), [&](NodeId operand) {
    return halves.isInForward(operand);
  });
}

std::vector<NodeId> partition::getSavedDimensions(const JointGraph &graph,
                                                  const Split &split) {
  Availability halves(graph, split);
  std::vector<char> isBackwardResult(graph.size(), 0);
  for (NodeId result : graph.getBackwardResults())
    isBackwardResult[result] = 1;
  std::vector<NodeId> saved;
  for (NodeId node : split.saved) {
    ArrayView<NodeId> users = graph.getUsers(node);
    bool isOnlyMeasured =
        !isBackwardResult[node] &&
        std::all_of(users.begin(), users.end(), [&](NodeId user) {
          return !split.inBackward[user] ||
                 (graph[user].readsDimensions &&
                  canMoveToForward(graph, user, halves));
        });
    if (!isOnlyMeasured) {
      saved.push_back(node);
      continue;
    }
    std::copy_if(users.begin(), users.end(), std::back_inserter(saved),
                 [&](NodeId user) { return split.inBackward[user]; });
  }
  std::sort(saved.begin(), saved.end());
  saved.erase(std::unique(saved.begin(), saved.end()), saved.end());
  return saved;
}

PartitionResult<Split> partition::saveStorages(const JointGraph &graph,
                                               Split halves,
                                               bool allowCollectives) {
  for (auto *replace : {&getSavedDimensions, &getSavedStorages}) {
    std::vector<NodeId> saved = replace(graph, halves);
    if (saved == halves.saved)
      continue;
    PartitionResult<Split> replaced = split(graph, saved, allowCollectives);
    auto *found = std::get_if<Split>(&replaced);
    if (!found)
      return replaced;
    halves = std::move(*found);
  }
  return halves;
}

PartitionResult<Split>
partition::splitAtStorages(const JointGraph &graph,
                           const std::vector<NodeId> &saved,
                           bool allowCollectives) {
  PartitionResult<Split> result = split(graph, saved, allowCollectives);
  if (auto *halves = std::get_if<Split>(&result))
    return saveStorages(graph, std::move(*halves), allowCollectives);
  return result;
}

//===----------------------------------------------------------------------===//
// The choice of values
//===----------------------------------------------------------------------===//

PartitionResult<Split> partition::splitAsEager(const JointGraph &graph,
                                               const Classification &classes) {
  std::vector<NodeId> saved;
  for (NodeId node = 0; node < graph.size(); ++node) {
    const JointNode &data = graph[node];
    // All results of an operation are there as soon as one of them is.
    bool isForward = classes.requiredForward[graph.getOperation(node)] ||
                     data.tag == PartitionTag::Forward ||
                     data.tag == PartitionTag::MustBeForward;
    if (isForward && !classes.needsTangent[node] && data.isSaveable &&
        (data.operatorClass != OperatorClass::Constant ||
         data.policy == RecomputePolicy::MustSave || isKeptInForward(data)) &&
        !isToBeRecomputed(data))
      saved.push_back(node);
  }
  return splitAtStorages(graph, saved, /*allowCollectives=*/false);
}

//===----------------------------------------------------------------------===//
// SavedValuesLadder
//===----------------------------------------------------------------------===//

PartitionResult<SavedValuesLadder>
SavedValuesLadder::create(const JointGraph &graph,
                          const Classification &classes,
                          const SavedValuesOptions &options) {
  SavedValuesLadder ladder(graph, classes, options);
  CutOptions cut = ladder.getCutOptions(0);
  PartitionResult<Split> first =
      ladder.solveCut(cut, findBans(graph, classes, cut));
  if (auto *conflict = std::get_if<PartitionConflict>(&first))
    return *conflict;
  ladder.first = std::get<Split>(std::move(first));
  ladder.mostBytes = computeSavedBytes(graph, ladder.first.saved);
  ladder.findCandidates();
  return ladder;
}

CutOptions SavedValuesLadder::getCutOptions(int32_t rung) const {
  CutOptions cut = options.cut;
  if (rung >= 1 || options.aggressiveRecomputation) {
    cut.banRecomputeUsedFarApart = false;
    cut.banRecomputeLongFusibleChains = false;
    cut.banRecomputeMaterializedBackward = false;
  }
  if (rung >= 2 || options.aggressiveRecomputation)
    cut.banRecomputeNotInAllowlist = false;
  return cut;
}

/// Returns the capacity of the knapsack of a rung in bytes.
int64_t SavedValuesLadder::getCapacity(int32_t rung) const {
  int64_t steps = size() - 1 - rung;
  return mostBytes / numSteps * steps + mostBytes % numSteps * steps / numSteps;
}

PartitionResult<Split>
SavedValuesLadder::solveCut(const CutOptions &cut,
                            const std::vector<BanReason> &bans) const {
  PartitionResult<std::vector<NodeId>> saved =
      solveMinCut(*graph, *classes, cut, bans);
  if (auto *conflict = std::get_if<PartitionConflict>(&saved))
    return *conflict;
  return splitAtStorages(*graph, std::get<std::vector<NodeId>>(saved),
                         cut.repeatGathers);
}

/// Returns the cost of computing `node` again; a wait counts for its
/// collective.
static int64_t getRepetitionCost(const JointGraph &graph, NodeId node) {
  int64_t cost = graph[node].cost;
  if (graph[node].operatorClass == OperatorClass::Collective)
    for (NodeId operand : graph.getOperands(node))
      if (graph[operand].operatorClass == OperatorClass::Collective)
        cost += graph[operand].cost;
  return std::max<int64_t>(cost, 1);
}

void SavedValuesLadder::findCandidates() {
  std::unordered_set<int32_t> argumentStorages;
  for (NodeId node = 0; node < graph->size(); ++node)
    if (graph->isArgument(node) && (*graph)[node].storage >= 0)
      argumentStorages.insert((*graph)[node].storage);

  aggressiveBans = findBans(*graph, *classes, getCutOptions(/*rung=*/2));
  for (NodeId node = 0; node < graph->size(); ++node) {
    BanReason ban = aggressiveBans[node];
    if (ban == BanReason::None || isHard(ban) ||
        classes->distanceToBackward[node] >= Classification::far ||
        argumentStorages.count((*graph)[node].storage))
      continue;
    int64_t bytes = (*graph)[node].bytes;
    for (NodeId user : graph->getUsers(node))
      if ((*graph)[user].kind == JointNodeKind::Result)
        bytes += (*graph)[user].bytes;
    candidates.push_back({node, {bytes, getRepetitionCost(*graph, node)}});
    candidateBytes += bytes;
  }
  std::sort(candidates.begin(), candidates.end(),
            [](const Candidate &a, const Candidate &b) {
              return std::make_pair(-a.item.bytes, a.node) <
                     std::make_pair(-b.item.bytes, b.node);
            });
}

/// The bans that are left if candidates are to be saved within so many bytes.
std::vector<BanReason>
SavedValuesLadder::banWithin(int64_t capacityBytes) const {
  std::vector<KnapsackItem> items;
  for (const Candidate &candidate : candidates)
    items.push_back(candidate.item);
  std::vector<int32_t> kept = options.solver == KnapsackSolver::Greedy
                                  ? solveKnapsackGreedily(items, capacityBytes)
                                  : solveKnapsack(items, capacityBytes);
  std::vector<BanReason> bans = aggressiveBans;
  for (const Candidate &candidate : candidates)
    bans[candidate.node] = BanReason::None;
  for (int32_t index : kept)
    bans[candidates[index].node] = aggressiveBans[candidates[index].node];
  return bans;
}

PartitionResult<Split> SavedValuesLadder::solve(int32_t rung) const {
  if (rung == 0)
    return first;
  CutOptions cut = getCutOptions(rung);
  if (rung < firstKnapsack)
    return solveCut(cut, findBans(*graph, *classes, cut));
  return solveCut(cut, banWithin(getCapacity(rung)));
}
