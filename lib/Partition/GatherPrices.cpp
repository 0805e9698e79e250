//===- GatherPrices.cpp - What gathering a parameter again costs -------------
//===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Partition/GatherPrices.h"

#include <algorithm>
#include <utility>

using namespace mlir::commsched;
using namespace mlir::commsched::partition;

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
