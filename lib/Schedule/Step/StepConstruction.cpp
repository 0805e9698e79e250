//===- StepConstruction.cpp -----------------------------------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Schedule/StepConstruction.h"

#include "StepEmitter.h"

#include <algorithm>

using namespace mlir::commsched::schedule;

StepConstruction::StepConstruction(const StepStructure &structure,
                                   Order backboneOrder)
    : structure(&structure), backbone(std::move(backboneOrder)) {
  findNeeds();
  measureLastMinute();
}

void StepConstruction::findNeeds() {
  const Problem &problem = structure->getProblem();
  int32_t numPlaces = static_cast<int32_t>(backbone.size());
  std::vector<int32_t> firstNeeds(problem.numNodes(), numPlaces);
  std::vector<int32_t> places(problem.numNodes(), -1);
  for (int32_t place = 0; place < numPlaces; ++place)
    places[backbone[place]] = place;
  const Order &order = problem.topologicalOrder();
  for (size_t i = order.size(); i-- > 0;)
    for (DependenceEnd end : problem.successors(order[i]))
      firstNeeds[order[i]] = std::min(
          firstNeeds[order[i]],
          places[end.node] >= 0 ? places[end.node] : firstNeeds[end.node]);
  isNeeded.resize(problem.numNodes());
  for (NodeId node = 0; node < problem.numNodes(); ++node)
    isNeeded[node] = firstNeeds[node] < numPlaces;
  needs.reserve(structure->numCollectives());
  for (CollectiveId id = 0; id < structure->numCollectives(); ++id)
    needs.push_back(firstNeeds[structure->collective(id).wait]);
  neededRows.build(
      numPlaces, needs.size(),
      [&](size_t id) { return needs[id] < numPlaces ? needs[id] : -1; },
      [](size_t id) { return static_cast<CollectiveId>(id); });
}

namespace {

/// Issues nothing before it is needed, but for what is better over early.
class LastMinuteOrder final : public StepEmitter {
public:
  using StepEmitter::StepEmitter;

  void complete() {
    // Waiting for one may make another one available.
    while (!available.empty()) {
      CollectiveId id = available.back();
      available.pop_back();
      const MovableCollective &collective = structure.collective(id);
      if (collective.isEager && !issued.contains(collective.wait))
        demand(collective.wait);
    }
  }

  using StepEmitter::begin;
  using StepEmitter::demand;
  using StepEmitter::demandRest;
  using StepEmitter::issued;

private:
  void makeAvailable(CollectiveId id) override { available.push_back(id); }

  std::vector<CollectiveId> available;
};

} // namespace

void StepConstruction::measureLastMinute() {
  LastMinuteOrder order(*structure, isNeeded, {}, /*slackPercent=*/0);
  order.begin();
  order.complete();
  order.issued.takePeak();
  for (NodeId node : backbone) {
    bytesBefore.push_back(order.issued.liveBytes());
    computedNs.push_back(order.issued.computedNs());
    order.demand(node);
    order.complete();
    peaks.push_back(order.issued.takePeak());
  }
  computedNs.push_back(order.issued.computedNs());
  order.demandRest();
  lastMinute = order.issued.takeOrder();
}

std::vector<int64_t>
StepConstruction::findLatestStarts(const IssuedOrder &clocks) const {
  const Problem &problem = structure->getProblem();
  constexpr int64_t never = std::numeric_limits<int64_t>::max() / 4;
  std::vector<int64_t> latest(structure->numCollectives(), never);
  // By stream: when the next collective has to start.
  std::vector<int64_t> next(problem.numStreams(), never);
  for (size_t place = backbone.size(); place-- > 0;) {
    ArrayView<CollectiveId> row = neededRows[static_cast<int32_t>(place)];
    for (size_t i = row.size(); i-- > 0;) {
      NodeId start = structure->collective(row[i]).start;
      int64_t &nextStart = next[problem.stream(start)];
      nextStart = latest[row[i]] =
          std::min(computedNs[place], nextStart) - clocks.collectiveNs(start);
    }
  }
  return latest;
}
