//===- FsdpAnalysis.cpp - Which collectives shard parameters --------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Analysis/Fsdp/FsdpAnalysis.h"
#include "GradientEnds.h"
#include "ParameterOrigins.h"

using namespace mlir;
using namespace mlir::commsched;
using cost::CollectiveKind;
using ObstacleKind = FsdpObstacle::Kind;

/// What keeps `gather` from being one of parameters.
static std::optional<FsdpObstacle>
findObstacle(CollectiveOpInterface gather, const ParameterOrigins &origins) {
  FsdpObstacle nothing{ObstacleKind::NoParameter, {}, {}, nullptr};
  if (gather.getSentValues().empty())
    return nothing;
  for (Value sent : gather.getSentValues()) {
    Origin origin = origins.getOrigin(sent);
    if (origin.kind == Origin::Kind::Other)
      return origin.obstacle;
    if (origin.kind == Origin::Kind::Constant)
      return nothing;
  }
  return std::nullopt;
}

/// What keeps `scatter` from being one of gradients.
static std::optional<FsdpObstacle> findObstacle(CollectiveOpInterface scatter,
                                                const GradientEnds &ends) {
  FsdpObstacle unused{ObstacleKind::Unused, {}, {}, nullptr};
  if (getDeliveredValues(scatter).empty())
    return unused;
  for (Value delivered : getDeliveredValues(scatter)) {
    End end = ends.getEnd(delivered);
    if (end.kind == End::Kind::Unused)
      return unused;
    if (end.kind == End::Kind::Used)
      return FsdpObstacle{ObstacleKind::OtherUser, {}, {}, end.user};
  }
  return std::nullopt;
}

FsdpAnalysis::FsdpAnalysis(Block &block) {
  ParameterOrigins origins(block);
  GradientEnds ends(block, origins);
  SmallVector<Value> gradients;
  for (auto collective : block.getOps<CollectiveOpInterface>()) {
    CollectiveKind kind = collective.getCollectiveKind();
    std::optional<FsdpObstacle> obstacle = FsdpObstacle();
    if (kind == CollectiveKind::AllGather)
      obstacle = findObstacle(collective, origins);
    else if (kind == CollectiveKind::ReduceScatter)
      obstacle = findObstacle(collective, ends);
    if (obstacle) {
      obstacles[collective] = *obstacle;
    } else if (kind == CollectiveKind::AllGather) {
      roles[collective] = FsdpRole::ParameterGather;
      groups.insert(collective.getGroupKey());
      for (Value sent : collective.getSentValues())
        origins.appendParameters(sent, parameters[collective]);
    } else {
      roles[collective] = FsdpRole::GradientScatter;
      llvm::append_range(gradients, getDeliveredValues(collective));
    }
  }
  for (Operation *reduction : ends.findReductions(gradients))
    roles[reduction] = FsdpRole::GradientReduce;
}

ArrayRef<Value> FsdpAnalysis::getParameters(Operation *collective) const {
  auto it = parameters.find(collective);
  return it == parameters.end() ? ArrayRef<Value>() : it->second;
}

Value FsdpAnalysis::getParameter(Operation *collective) const {
  ArrayRef<Value> gathered = getParameters(collective);
  return gathered.size() == 1 ? gathered.front() : Value();
}
