//===- PricedCut.cpp - Saved values by price ------------------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Partition/PricedCut.h"

#include "CutNetwork.h"

using namespace mlir::commsched;
using namespace mlir::commsched::partition;

/// Why nodes may not be computed again whatever they cost.
static std::vector<BanReason> findHardBans(const JointGraph &graph,
                                           const Classification &classes) {
  CutOptions options;
  options.banRecomputeUsedFarApart = false;
  options.banRecomputeLongFusibleChains = false;
  options.repeatGathers = true;
  std::vector<BanReason> bans = findBans(graph, classes, options);
  for (BanReason &ban : bans)
    if (!isHard(ban))
      ban = BanReason::None;
  return bans;
}

static int64_t getSaveWeight(const JointNode &node, BanReason ban,
                             int64_t price) {
  if (!node.isSaveable)
    return FlowNetwork::unbounded;
  if (node.kind == JointNodeKind::Primal && !node.isFreeable)
    return 0;
  // But for what the user has saved or keeps in the forward.
  if (isFreeToRepeat(node) && ban == BanReason::None)
    return FlowNetwork::unbounded;
  return price;
}

static int64_t getRepeatWeight(const JointNode &node, BanReason ban,
                               int64_t price) {
  if (ban != BanReason::None)
    return FlowNetwork::unbounded;
  return node.kind == JointNodeKind::Result ? 0 : price;
}

PartitionResult<std::vector<NodeId>>
partition::solvePricedCut(const JointGraph &graph,
                          const Classification &classes,
                          const TreatmentPrices &prices) {
  std::vector<BanReason> bans = findHardBans(graph, classes);
  CutWeights weights;
  for (NodeId node = 0; node < graph.size(); ++node) {
    weights.save.push_back(
        getSaveWeight(graph[node], bans[node], prices.saveNs[node]));
    weights.repeat.push_back(
        getRepeatWeight(graph[node], bans[node], prices.repeatNs[node]));
  }
  return solveCut(graph, classes, bans, weights);
}
