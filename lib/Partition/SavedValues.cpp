//===- SavedValues.cpp - What the forward saves -----------------------------
//===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Partition/SavedValues.h"
#include "CommSched/Partition/SavedStorages.h"
#include "RecomputeBans.h"

#include <algorithm>
#include <unordered_set>

using namespace mlir::commsched;
using namespace mlir::commsched::partition;

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

/// What the knapsack of a rung may keep, in bytes.
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

/// What computing `node` again takes; a wait counts for its collective.
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
