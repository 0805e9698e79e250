//===- MinCut.cpp - Bans and the minimum cut ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/Partition/MinCut.h"

#include "FlowNetwork.h"

#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <queue>
#include <utility>

using namespace mlir::commsched;
using namespace mlir::commsched::partition;

//===----------------------------------------------------------------------===//
// Bans from recomputation
//===----------------------------------------------------------------------===//

const char *partition::toString(BanReason reason) {
  switch (reason) {
  case BanReason::None:
    return "may be computed again";
  case BanReason::Argument:
    return "is an argument";
  case BanReason::MustSave:
    return "has to be saved";
  case BanReason::KeptInForward:
    return "has to be in the forward";
  case BanReason::Random:
    return "draws random numbers";
  case BanReason::Collective:
    return "communicates";
  case BanReason::PreferSave:
    return "is rather saved";
  case BanReason::NotInAllowlist:
    return "is not known to be cheap";
  case BanReason::ComputeIntensive:
    return "computes much";
  case BanReason::MaterializedBackward:
    return "is written to memory in the backward";
  case BanReason::FarFromBackward:
    return "is far from the backward";
  case BanReason::Reduction:
    return "reduces much to little";
  case BanReason::UsedFarApart:
    return "is far from another use of its operand";
  case BanReason::LongFusibleChain:
    return "ends a long chain of fusible operations";
  }
  return "";
}

/// The class by which operations are found to be fusible with the node.
static OperatorClass getFusionClass(const JointNode &node) {
  // One of several results is there as soon as its operation is.
  return node.kind == JointNodeKind::Result ? OperatorClass::DataMovement
                                            : node.operatorClass;
}

static bool isRepeatable(const JointNode &node) {
  return !node.isPinned && node.operatorClass != OperatorClass::Random &&
         node.tag != PartitionTag::MustBeForward;
}

bool partition::isToBeRecomputed(const JointNode &node) {
  return node.policy == RecomputePolicy::MustRecompute ||
         (node.policy == RecomputePolicy::PreferRecompute &&
          isRepeatable(node));
}

namespace {

class BanFinder {
public:
  BanFinder(const JointGraph &graph, const Classification &classes,
            const CutOptions &options)
      : graph(graph), classes(classes), options(options),
        bans(graph.size(), BanReason::None) {}

  std::vector<BanReason> run() {
    findMaterialized();
    for (NodeId node = 0; node < graph.size(); ++node)
      if (classes.requiredForward[node])
        ban(node, getOwnReason(node));
    if (options.banRecomputeUsedFarApart)
      banUsedFarApart();
    if (options.banRecomputeLongFusibleChains)
      banLongFusibleChains();
    return std::move(bans);
  }

private:
  bool areFusible(NodeId producer, NodeId consumer) const {
    return partition::areFusible(getFusionClass(graph[producer]),
                                 getFusionClass(graph[consumer]));
  }
  bool isView(NodeId node) const {
    return graph[node].kind == JointNodeKind::Operation &&
           graph[node].operatorClass == OperatorClass::View;
  }

  /// Bans `node` from being computed again, unless its policy demands that.
  void ban(NodeId node, BanReason reason);
  BanReason getHardReason(NodeId node) const;
  BanReason getOwnReason(NodeId node) const;
  bool isLargeReduction(NodeId node) const;
  void findMaterialized();
  std::vector<int32_t> findFirstUnfusible() const;
  void banUsedFarApart();
  void banLongFusibleChains();

  const JointGraph &graph;
  const Classification &classes;
  const CutOptions &options;
  std::vector<BanReason> bans;
  /// By node: whether a backward operation reads it, or views of it, and cannot
  /// be computed in one kernel with it.
  std::vector<char> materialized;
};

} // namespace

void BanFinder::ban(NodeId node, BanReason reason) {
  const JointNode &data = graph[node];
  if (reason == BanReason::None || bans[node] != BanReason::None ||
      isToBeRecomputed(data))
    return;
  if (!isHard(reason)) {
    // Nodes that are no values cannot be saved, except for an operation whose
    // results can.
    bool hasResults =
        !graph.getUsers(node).empty() &&
        graph[graph.getUsers(node)[0]].kind == JointNodeKind::Result;
    if (isFreeToRepeat(data) || data.kind == JointNodeKind::Result ||
        (!data.isSaveable && !hasResults))
      return;
  }
  bans[node] = reason;
}

BanReason BanFinder::getHardReason(NodeId node) const {
  const JointNode &data = graph[node];
  if (graph.isArgument(node))
    return BanReason::Argument;
  if (data.policy == RecomputePolicy::MustSave)
    return BanReason::MustSave;
  if (data.kind == JointNodeKind::Result)
    return BanReason::None;
  if (data.isPinned || data.tag == PartitionTag::MustBeForward)
    return BanReason::KeptInForward;
  if (data.operatorClass == OperatorClass::Random)
    return BanReason::Random;
  if (data.operatorClass == OperatorClass::Collective) {
    if (!options.repeatGathers || !classes.isGatheredParameter[node])
      return BanReason::Collective;
  }
  return BanReason::None;
}

BanReason BanFinder::getOwnReason(NodeId node) const {
  if (BanReason hard = getHardReason(node); hard != BanReason::None)
    return hard;
  const JointNode &data = graph[node];
  if (data.policy == RecomputePolicy::PreferSave)
    return BanReason::PreferSave;
  OperatorClass operatorClass = getFusionClass(data);
  if (options.banRecomputeNotInAllowlist) {
    if (!isRecomputable(operatorClass))
      return BanReason::NotInAllowlist;
  } else if (operatorClass == OperatorClass::ComputeIntensive ||
             operatorClass == OperatorClass::Collective) {
    return BanReason::ComputeIntensive;
  }
  if (options.banRecomputeMaterializedBackward && !isView(node) &&
      materialized[node])
    return BanReason::MaterializedBackward;
  if (classes.distanceToBackward[node] > options.maxDistFromBw &&
      classes.distanceToBackward[node] < Classification::far)
    return BanReason::FarFromBackward;
  if (options.banRecomputeReductions && isLargeReduction(node))
    return BanReason::Reduction;
  return BanReason::None;
}

bool BanFinder::isLargeReduction(NodeId node) const {
  constexpr int64_t most = std::numeric_limits<int64_t>::max();
  int64_t operandBytes = 0;
  for (NodeId operand : graph.getOperands(node)) {
    // An operand counts once for every use.
    int64_t bytes = graph[operand].bytes;
    operandBytes = bytes > most - operandBytes ? most : operandBytes + bytes;
  }
  return operandBytes > 0 && (operandBytes - 1) / 4 >= graph[node].bytes;
}

void BanFinder::findMaterialized() {
  materialized.assign(graph.size(), 0);
  for (NodeId node = graph.size() - 1; node >= 0; --node)
    for (NodeId user : graph.getUsers(node))
      if ((!classes.requiredForward[user] && !areFusible(node, user)) ||
          (isView(user) && materialized[user]))
        materialized[node] = 1;
}

/// By node: the first place in the forward, counted along chains of fusible
/// operations that begin at the node, of an operation that is not fusible with
/// the one before it. An operation comes after its operands, so a place that is
/// within some range is reached without leaving the range.
std::vector<int32_t> BanFinder::findFirstUnfusible() const {
  std::vector<int32_t> first(graph.size(), Classification::far);
  for (NodeId node = graph.size() - 1; node >= 0; --node)
    for (NodeId user : graph.getUsers(node))
      if (classes.requiredForward[user])
        first[node] = std::min(first[node], areFusible(node, user)
                                                ? first[user]
                                                : classes.forwardOrder[user]);
  return first;
}

void BanFinder::banUsedFarApart() {
  std::vector<int32_t> firstUnfusible = findFirstUnfusible();
  for (NodeId node = 0; node < graph.size(); ++node) {
    if (!classes.requiredForward[node])
      continue;
    int32_t first = Classification::far;
    for (NodeId user : graph.getUsers(node))
      if (classes.requiredForward[user])
        first = std::min(first, firstUnfusible[user]);
    for (NodeId user : graph.getUsers(node))
      if (classes.requiredForward[user] && classes.forwardOrder[user] > first &&
          areFusible(node, user))
        ban(user, BanReason::UsedFarApart);
  }
}

void BanFinder::banLongFusibleChains() {
  constexpr int32_t maxLength = 100;
  using Entry = std::pair<int32_t, NodeId>;
  std::vector<char> visited(graph.size(), 0);
  for (NodeId start = 0; start < graph.size(); ++start) {
    if (!classes.requiredForward[start])
      continue;
    std::priority_queue<Entry, std::vector<Entry>, std::greater<Entry>> fusible;
    fusible.push({classes.forwardOrder[start], start});
    while (!fusible.empty()) {
      NodeId node = fusible.top().second;
      fusible.pop();
      if (visited[node])
        continue;
      visited[node] = 1;
      int32_t length = classes.forwardOrder[node] - classes.forwardOrder[start];
      if (length > maxLength && fusible.empty()) {
        ban(node, BanReason::LongFusibleChain);
        break;
      }
      for (NodeId user : graph.getUsers(node))
        if (classes.requiredForward[user] && areFusible(node, user) &&
            bans[user] == BanReason::None)
          fusible.push({classes.forwardOrder[user], user});
    }
  }
}

std::vector<BanReason> partition::findBans(const JointGraph &graph,
                                           const Classification &classes,
                                           const CutOptions &options) {
  return BanFinder(graph, classes, options).run();
}

//===----------------------------------------------------------------------===//
// The minimum cut
//===----------------------------------------------------------------------===//

namespace {

/// The most operations that a value's weight counts to the backward.
constexpr int32_t maxWeightDistance = 100;

/// The weights by bytes and distance.
class SizeWeights {
public:
  SizeWeights(const JointGraph &graph, const Classification &classes,
              const CutOptions &options)
      : graph(graph), classes(classes), options(options) {
    // By multiplication alone, so that every machine gets the same weights.
    factors[0] = 1;
    for (size_t i = 1; i < factors.size(); ++i)
      factors[i] = factors[i - 1] * 1.1;
  }

  /// What saving `node` costs.
  int64_t operator()(NodeId node) const;

private:
  const JointGraph &graph;
  const Classification &classes;
  const CutOptions &options;
  std::array<double, maxWeightDistance + 1> factors;
};

} // namespace

int64_t SizeWeights::operator()(NodeId node) const {
  const JointNode &data = graph[node];
  if (!data.isSaveable)
    return FlowNetwork::unbounded;
  if (options.treatParametersAsFreeToSave &&
      data.kind == JointNodeKind::Primal && !data.isFreeable)
    return 0;
  // But for what the user has saved or keeps in the forward, which is not
  // banned from being computed again where only the backward needs it.
  if (isFreeToRepeat(data) && data.policy != RecomputePolicy::MustSave &&
      data.tag != PartitionTag::MustBeForward &&
      (options.recomputeViews || data.operatorClass == OperatorClass::Constant))
    return FlowNetwork::unbounded;
  int32_t distance =
      std::clamp(classes.distanceToBackward[node], 1, maxWeightDistance);
  double weight = static_cast<double>(data.bytes) * factors[distance];
  bool isMaterialized = graph.isArgument(node);
  for (NodeId user : graph.getUsers(node))
    isMaterialized |=
        !areFusible(getFusionClass(data), getFusionClass(graph[user]));
  if (!isMaterialized)
    weight *= 2;
  constexpr double most = 4e18;
  return static_cast<int64_t>(std::min(weight, most));
}

PartitionResult<std::vector<NodeId>>
partition::solveMinCut(const JointGraph &graph, const Classification &classes,
                       const CutOptions &options,
                       const std::vector<BanReason> &bans) {
  SizeWeights weights(graph, classes, options);
  CutWeights cut;
  for (NodeId node = 0; node < graph.size(); ++node) {
    cut.save.push_back(weights(node));
    cut.repeat.push_back(
        bans[node] == BanReason::None ? 0 : FlowNetwork::unbounded);
  }
  return solveCut(graph, classes, bans, cut);
}
