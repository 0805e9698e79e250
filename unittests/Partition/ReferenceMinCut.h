//===- ReferenceMinCut.h - Exhaustive minimum cut ---------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Finds a minimum cut by its definition, without a network: the lightest of all
// sets of values from which the backward can be computed. Takes exponential
// time.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_UNITTESTS_PARTITION_REFERENCEMINCUT_H
#define COMMSCHED_UNITTESTS_PARTITION_REFERENCEMINCUT_H

#include "CommSched/Partition/MinCut.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

namespace mlir::commsched::partition::reference {

/// By node: whether the backward computes it if `saved` is there. None if
/// something that is banned, or an argument, would have to be computed.
inline std::optional<std::vector<char>>
findComputed(const JointGraph &graph, const Classification &classes,
             const std::vector<BanReason> &bans,
             const std::vector<NodeId> &saved) {
  std::vector<char> isSaved(graph.size(), 0), needed(graph.size(), 0),
      isComputed(graph.size(), 0);
  for (NodeId node : saved)
    isSaved[node] = 1;
  for (NodeId node = graph.size() - 1; node >= 0; --node) {
    bool isBackward = classes.needsTangent[node];
    bool mustRepeat = !isBackward && isToBeRecomputed(graph[node]);
    if (isSaved[node] && (isBackward || mustRepeat || !graph[node].isSaveable))
      return std::nullopt;
    isComputed[node] =
        isBackward || mustRepeat ||
        ((needed[node] || classes.requiredBackward[node]) && !isSaved[node]);
    if (!isComputed[node])
      continue;
    if (!isBackward && bans[node] != BanReason::None)
      return std::nullopt;
    for (NodeId operand : graph.getOperands(node))
      needed[operand] = 1;
  }
  return isComputed;
}

/// The weight of saving a value; none if it cannot be saved.
inline std::optional<int64_t> getWeight(const JointGraph &graph,
                                        const Classification &classes,
                                        const CutOptions &options,
                                        NodeId node) {
  const JointNode &data = graph[node];
  bool isOperation = data.kind == JointNodeKind::Operation;
  bool isView = isOperation && !data.isPinned &&
                data.operatorClass == OperatorClass::View;
  bool isConstant = isOperation && !data.isPinned &&
                    data.operatorClass == OperatorClass::Constant;
  if (!data.isSaveable)
    return std::nullopt;
  if (options.treatParametersAsFreeToSave &&
      data.kind == JointNodeKind::Primal && !data.isFreeable)
    return 0;
  bool mayBeRepeated = data.policy != RecomputePolicy::MustSave &&
                       data.tag != PartitionTag::MustBeForward;
  if (mayBeRepeated && (isConstant || (isView && options.recomputeViews)))
    return std::nullopt;
  double weight = static_cast<double>(data.bytes);
  int32_t distance =
      std::max(1, std::min(100, classes.distanceToBackward[node]));
  double factor = 1;
  for (int32_t i = 0; i < distance; ++i)
    factor *= 1.1;
  bool isMaterialized = graph.isArgument(node);
  auto classOf = [&](NodeId n) {
    return graph[n].kind == JointNodeKind::Result ? OperatorClass::DataMovement
                                                  : graph[n].operatorClass;
  };
  for (NodeId user : graph.getUsers(node))
    isMaterialized |= !areFusible(classOf(node), classOf(user));
  return static_cast<int64_t>(weight * factor * (isMaterialized ? 1 : 2));
}

inline int64_t getWeight(const JointGraph &graph, const Classification &classes,
                         const CutOptions &options,
                         const std::vector<NodeId> &saved) {
  int64_t sum = 0;
  for (NodeId node : saved)
    sum += getWeight(graph, classes, options, node).value_or(0);
  return sum;
}

/// What a choice is made of: the values that could be saved.
inline std::vector<NodeId> getCandidates(const JointGraph &graph,
                                         const Classification &classes,
                                         const CutOptions &options) {
  std::vector<NodeId> candidates;
  for (NodeId node = 0; node < graph.size(); ++node)
    if (!classes.needsTangent[node] && !isToBeRecomputed(graph[node]) &&
        getWeight(graph, classes, options, node))
      candidates.push_back(node);
  return candidates;
}

/// Calls `visit` with each subset of `candidates`.
template <typename Visit>
void forEachSubset(const std::vector<NodeId> &candidates, Visit visit) {
  for (uint32_t choice = 0; choice < 1u << candidates.size(); ++choice) {
    std::vector<NodeId> saved;
    for (size_t i = 0; i < candidates.size(); ++i)
      if (choice >> i & 1)
        saved.push_back(candidates[i]);
    visit(saved);
  }
}

/// The weight of the lightest cut; none if there is no cut.
inline std::optional<int64_t>
findLeastWeight(const JointGraph &graph, const Classification &classes,
                const CutOptions &options, const std::vector<BanReason> &bans) {
  std::optional<int64_t> least;
  forEachSubset(getCandidates(graph, classes, options),
                [&](const std::vector<NodeId> &saved) {
                  int64_t weight = getWeight(graph, classes, options, saved);
                  if ((!least || weight < *least) &&
                      findComputed(graph, classes, bans, saved))
                    least = weight;
                });
  return least;
}

} // namespace mlir::commsched::partition::reference

#endif // COMMSCHED_UNITTESTS_PARTITION_REFERENCEMINCUT_H
