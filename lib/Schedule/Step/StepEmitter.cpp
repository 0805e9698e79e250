//===- StepEmitter.cpp ----------------------------------------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StepEmitter.h"

#include <algorithm>
#include <functional>

using namespace mlir::commsched::schedule;

StepEmitter::StepEmitter(
    const StepStructure &structure, const std::vector<char> &isNeeded,
    const std::vector<std::pair<StreamId, StreamId>> &exclusive,
    int32_t slackPercent)
    : structure(structure), problem(structure.getProblem()),
      issued(problem, exclusive, slackPercent), isNeeded(isNeeded),
      numAwaited(structure.numCollectives()), numMissing(problem.numNodes()) {
  for (CollectiveId id = 0; id < structure.numCollectives(); ++id)
    numAwaited[id] = structure.collective(id).numAwaited;
  for (NodeId node = 0; node < problem.numNodes(); ++node)
    numMissing[node] = static_cast<int32_t>(problem.predecessors(node).size());
}

void StepEmitter::begin() {
  for (CollectiveId id = 0; id < structure.numCollectives(); ++id)
    if (numAwaited[id] == 0)
      makeAvailable(id);
}

/// What unpacks or converts a result that nothing of the backbone needs.
bool StepEmitter::isLooseEnd(NodeId node) const {
  return problem.kind(node) == NodeKind::Compute && !isNeeded[node] &&
         !structure.isBackbone(node) && !structure.isPreparation(node);
}

void StepEmitter::issue(NodeId node) {
  issued.issue(node);
  for (CollectiveId id : structure.awaiters(node))
    if (--numAwaited[id] == 0)
      makeAvailable(id);
  for (DependenceEnd end : problem.successors(node))
    if (--numMissing[end.node] == 0 && isLooseEnd(end.node))
      looseEnds.push(end.node);
}

void StepEmitter::demand(NodeId node) {
  stack.assign(1, node);
  while (!stack.empty()) {
    NodeId top = stack.back();
    if (issued.contains(top)) {
      stack.pop_back();
      continue;
    }
    if (numMissing[top] > 0) {
      // What it needs comes in the order of the program.
      size_t height = stack.size();
      for (DependenceEnd needed : problem.predecessors(top))
        if (!issued.contains(needed.node))
          stack.push_back(needed.node);
      std::sort(stack.begin() + height, stack.end(), std::greater<>());
      continue;
    }
    stack.pop_back();
    issue(top);
  }
  while (!looseEnds.empty()) {
    NodeId end = looseEnds.top();
    looseEnds.pop();
    if (!issued.contains(end))
      issue(end);
  }
}

void StepEmitter::demandRest() {
  for (NodeId node : problem.topologicalOrder())
    demand(node);
}
