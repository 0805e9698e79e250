//===- RecomputePolicies.cpp - Recomputation policies ---------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Partition/RecomputePolicies.h"

#include "CommSched/Partition/MinCut.h"

#include <algorithm>
#include <utility>

using namespace mlir::commsched;
using namespace mlir::commsched::partition;

namespace {

class PolicySettler {
public:
  PolicySettler(JointGraph &graph, const Classification &classes)
      : graph(graph), classes(classes) {}

  void joinCollectives();
  void settleResults();
  void saveBetweenRegions();
  void repeatGathers(bool onlyFree);

private:
  bool isCollective(NodeId node) const {
    return graph[node].operatorClass == OperatorClass::Collective &&
           graph[node].kind == JointNodeKind::Operation;
  }

  JointGraph &graph;
  const Classification &classes;
};

} // namespace

NodeId partition::findMarkedForRecomputation(const JointGraph &graph) {
  for (NodeId node = 0; node < graph.size(); ++node)
    if (graph[node].policy == RecomputePolicy::PreferRecompute ||
        graph[node].policy == RecomputePolicy::MustRecompute)
      return node;
  return noNode;
}

void PolicySettler::joinCollectives() {
  for (NodeId wait = 0; wait < graph.size(); ++wait) {
    if (!isCollective(wait))
      continue;
    for (NodeId start : graph.getOperands(wait)) {
      if (!isCollective(start) || graph[start].isSaveable)
        continue;
      if (graph[start].policy == RecomputePolicy::None)
        graph[start].policy = graph[wait].policy;
      else if (graph[wait].policy == RecomputePolicy::None)
        graph[wait].policy = graph[start].policy;
      // The token of a start cannot be saved, the result of its wait can.
      if (graph[start].policy == RecomputePolicy::MustSave &&
          graph[wait].policy != RecomputePolicy::MustRecompute)
        graph[start].policy = RecomputePolicy::None;
    }
  }
}

void PolicySettler::settleResults() {
  for (NodeId node = 0; node < graph.size(); ++node) {
    if (graph[node].kind != JointNodeKind::Result)
      continue;
    const JointNode &operation = graph[graph.getOperation(node)];
    // One of several results knows nothing of what its operation draws or
    // writes.
    bool isRefused = operation.policy == RecomputePolicy::PreferRecompute &&
                     !isToBeRecomputed(operation);
    graph[node].policy = isRefused ? RecomputePolicy::None : operation.policy;
  }
}

void PolicySettler::saveBetweenRegions() {
  for (NodeId node = 0; node < graph.size(); ++node) {
    if (!isToBeRecomputed(graph[node]) || graph[node].region < 0 ||
        !graph[node].isSaveable || classes.isGatheredParameter[node])
      continue;
    for (NodeId user : graph.getUsers(node))
      if (isToBeRecomputed(graph[user]) &&
          graph[user].region > graph[node].region) {
        graph[node].policy = RecomputePolicy::MustSave;
        break;
      }
  }
}

void PolicySettler::repeatGathers(bool onlyFree) {
  // By node: whether a gather that it is computed from is done again.
  std::vector<char> repeated(graph.size(), 0);
  for (NodeId node = 0; node < graph.size(); ++node) {
    if (!classes.isGatheredParameter[node] || !classes.requiredForward[node])
      continue;
    bool isGather = isCollective(node);
    bool operandIsRepeated = false;
    for (NodeId operand : graph.getOperands(node))
      operandIsRepeated |= repeated[operand] != 0;
    bool isWait = isGather && graph[node].isSaveable;
    if (isGather && !isWait)
      repeated[node] = !onlyFree || graph[node].cost == 0;
    else if (isWait)
      repeated[node] = operandIsRepeated;
    else
      // A gathered parameter in another shape or type is as large, so saving
      // that would be no better.
      repeated[node] =
          operandIsRepeated && isRecomputable(graph[node].operatorClass);
    if (repeated[node] && graph[node].policy == RecomputePolicy::None)
      graph[node].policy = RecomputePolicy::MustRecompute;
    else if (graph[node].policy == RecomputePolicy::MustSave ||
             graph[node].policy == RecomputePolicy::PreferSave)
      repeated[node] = 0;
  }
}

void partition::settlePolicies(JointGraph &graph, const Classification &classes,
                               CollectivePolicy collectives) {
  PolicySettler settler(graph, classes);
  settler.joinCollectives();
  settler.settleResults();
  settler.saveBetweenRegions();
  if (collectives != CollectivePolicy::Save)
    settler.repeatGathers(/*onlyFree=*/collectives == CollectivePolicy::Cost);
}

//===----------------------------------------------------------------------===//
// Prices of repeated gathers
//===----------------------------------------------------------------------===//

/// By node of a gathered parameter: the first backward operation that uses it
/// or what is made of it and other parameters; noNode: none does.
static std::vector<NodeId> findFirstUses(const JointGraph &graph,
                                         const Classification &classes) {
  std::vector<NodeId> first(graph.size(), noNode);
  for (NodeId node = graph.size() - 1; node >= 0; --node) {
    if (!classes.isGatheredParameter[node])
      continue;
    for (NodeId user : graph.getUsers(node)) {
      NodeId use = classes.needsTangent[user] ? user : first[user];
      if (use != noNode && (first[node] == noNode || use < first[node]))
        first[node] = use;
    }
  }
  return first;
}

void partition::priceGathers(JointGraph &graph, const Classification &classes) {
  auto isStart = [&](NodeId node) {
    return graph[node].operatorClass == OperatorClass::Collective &&
           !graph[node].isSaveable;
  };
  std::vector<NodeId> firstUses = findFirstUses(graph, classes);
  std::vector<NodeId> gathers;
  for (NodeId node = 0; node < graph.size(); ++node)
    if (isStart(node) && classes.isGatheredParameter[node] &&
        firstUses[node] != noNode)
      gathers.push_back(node);
  std::sort(gathers.begin(), gathers.end(), [&](NodeId a, NodeId b) {
    return std::make_pair(firstUses[a], a) < std::make_pair(firstUses[b], b);
  });

  int64_t computeClock = 0;
  int64_t streamClock = 0;
  // How long the stream had nothing to do: later gathers fill that time.
  int64_t idleTime = 0;
  auto letStreamIdle = [&] {
    idleTime += std::max<int64_t>(0, computeClock - streamClock);
    streamClock = std::max(streamClock, computeClock);
  };
  auto next = gathers.begin();
  for (NodeId node = 0; node < graph.size(); ++node) {
    if (!classes.needsTangent[node])
      continue;
    for (; next != gathers.end() && firstUses[*next] == node; ++next) {
      letStreamIdle();
      int64_t hidden = std::min(idleTime, graph[*next].cost);
      int64_t rest = graph[*next].cost - hidden;
      idleTime -= hidden;
      streamClock += rest;
      graph[*next].cost = rest == 0 ? 0 : streamClock - computeClock;
      computeClock += graph[*next].cost;
    }
    if (isStart(node)) {
      letStreamIdle();
      streamClock += graph[node].cost;
    } else {
      computeClock += graph[node].cost;
    }
  }
}
