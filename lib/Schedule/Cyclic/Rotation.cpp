//===- Rotation.cpp - Rotation of periods ---------------------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Rotation.h"

#include "../Step/StepStructure.h"
#include "CommSched/Schedule/Model/Verify.h"

#include <algorithm>
#include <tuple>

using namespace mlir::commsched;
using namespace mlir::commsched::schedule;

/// Whether `isTrue` holds for all of `ends` that are in the period of `node`.
template <typename Fn>
static bool allInPeriod(ArrayView<PeriodGraph::End> ends, NodeId node,
                        const CyclicOrder &schedule, Fn isTrue) {
  bool all = true;
  PeriodGraph::forEachInPeriod(ends, node, schedule,
                               [&](NodeId end) { all &= isTrue(end); });
  return all;
}

std::optional<CyclicOrder> Rotation::rotate(const CyclicOrder &schedule,
                                            size_t cut,
                                            CutCollectives collectives) const {
  std::vector<char> isBefore(body.numNodes());
  for (size_t i = 0; i < cut; ++i)
    isBefore[schedule.order[i]] = true;
  auto moveBehind = [&](NodeId start) {
    bool isFree =
        allInPeriod(graph.successors(start), start, schedule,
                    [&](NodeId successor) { return !isBefore[successor]; });
    if (isFree)
      isBefore[start] = false;
    return isFree;
  };
  // Latest first, so that none is held by a later one of its stream.
  for (size_t i = cut; i-- > 0;) {
    NodeId start = schedule.order[i];
    NodeId wait = body.waitOf(start);
    if (wait == noNode || isBefore[wait])
      continue;
    if (collectives == CutCollectives::ByMemory &&
        computeCollectiveBytes(body, start, {}).isReleasing() &&
        moveBehind(start))
      continue;
    if (!allInPeriod(
            graph.predecessors(wait), wait, schedule,
            [&](NodeId predecessor) { return bool(isBefore[predecessor]); }))
      return std::nullopt;
    isBefore[wait] = true;
  }
  CyclicOrder rotated;
  rotated.stages = schedule.stages;
  for (NodeId node : schedule.order)
    if (!isBefore[node]) {
      rotated.order.push_back(node);
      ++rotated.stages[node];
    }
  size_t numBehind = rotated.order.size();
  for (NodeId node : schedule.order)
    if (isBefore[node])
      rotated.order.push_back(node);
  if (numBehind == 0 || numBehind == rotated.order.size())
    return std::nullopt;
  int32_t first =
      *std::min_element(rotated.stages.begin(), rotated.stages.end());
  for (int32_t &stage : rotated.stages)
    stage -= first;
  return rotated;
}

std::optional<CyclicOrder> Rotation::sinkWaits(const CyclicOrder &schedule,
                                               const Timeline &timeline) const {
  Positions positions = positionsOf(schedule.order);
  CyclicOrder sunk;
  sunk.stages = schedule.stages;
  // By position: the waits that move to directly before it.
  std::vector<std::vector<NodeId>> arrivals(body.numNodes());
  std::vector<char> leaves(body.numNodes());
  bool moved = false;
  for (NodeId wait : schedule.order) {
    NodeId start = body.startOf(wait);
    if (start == noNode || timeline.exposedNs[wait] == 0 ||
        schedule.stages[start] != schedule.stages[wait])
      continue;
    // Before it starts again, at the latest.
    int32_t place = body.numNodes();
    bool isNeeded = false;
    for (const PeriodGraph::End &end : graph.successors(wait)) {
      int32_t periods =
          end.distance + schedule.stages[end.node] - schedule.stages[wait];
      isNeeded |= periods == 0;
      if (periods == 1)
        place = std::min(place, positions[end.node]);
    }
    // What another wait needs has to stay behind it.
    if (isNeeded || leaves[schedule.order[place]])
      continue;
    leaves[wait] = moved = true;
    ++sunk.stages[wait];
    arrivals[place].push_back(wait);
  }
  if (!moved)
    return std::nullopt;
  for (size_t i = 0; i < schedule.order.size(); ++i) {
    sunk.order.insert(sunk.order.end(), arrivals[i].begin(), arrivals[i].end());
    if (!leaves[schedule.order[i]])
      sunk.order.push_back(schedule.order[i]);
  }
  return sunk;
}

/// By operation: whether it is computation that takes no time and makes
/// nothing, and nothing of another repetition depends on it.
static std::vector<char> findFree(const PeriodGraph &graph) {
  const Problem &body = graph.body();
  std::vector<char> isFree(body.numNodes());
  for (NodeId node = 0; node < body.numNodes(); ++node) {
    ArrayView<PeriodGraph::End> ends = graph.successors(node);
    isFree[node] =
        body.kind(node) == NodeKind::Compute && body.costNs(node) == 0 &&
        std::all_of(ends.begin(), ends.end(), [](const PeriodGraph::End &end) {
          return end.distance == 0;
        });
  }
  for (BufferId id = 0; id < body.numBuffers(); ++id)
    if (const Buffer &buffer = body.buffer(id);
        buffer.producer != noNode && buffer.bytes > 0)
      isFree[buffer.producer] = false;
  return isFree;
}

std::optional<CyclicOrder>
Rotation::sinkFree(const CyclicOrder &schedule) const {
  std::vector<char> isFree = findFree(graph);
  CyclicOrder sunk;
  sunk.stages = schedule.stages;
  Positions positions = positionsOf(schedule.order);
  auto getPlace = [&](NodeId node) {
    return std::pair(sunk.stages[node], positions[node]);
  };
  bool moved = false;
  const Order &program = body.topologicalOrder();
  for (auto it = program.rbegin(); it != program.rend(); ++it) {
    ArrayView<PeriodGraph::End> ends = graph.successors(*it);
    if (!isFree[*it] || ends.empty())
      continue;
    NodeId first =
        std::min_element(
            ends.begin(), ends.end(),
            [&](const PeriodGraph::End &a, const PeriodGraph::End &b) {
              return getPlace(a.node) < getPlace(b.node);
            })
            ->node;
    if (sunk.stages[first] == sunk.stages[*it])
      continue;
    std::tie(sunk.stages[*it], positions[*it]) = getPlace(first);
    moved = true;
  }
  if (!moved)
    return std::nullopt;
  // What moved comes before what depends on it, as in the program.
  sunk.order = program;
  std::stable_sort(
      sunk.order.begin(), sunk.order.end(),
      [&](NodeId a, NodeId b) { return positions[a] < positions[b]; });
  return sunk;
}
