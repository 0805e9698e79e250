//===- ReferenceIterativeReordering.h - One swap at a time ------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// reorderComms() and sinkWaitsIteratively() literally by their description: the
// order is a vector, every swap is separate, and every swap simulates memory
// from scratch and walks every window.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_UNITTESTS_SCHEDULE_REFERENCEITERATIVEREORDERING_H
#define COMMSCHED_UNITTESTS_SCHEDULE_REFERENCEITERATIVEREORDERING_H

#include "CommSched/Schedule/Inductor/IterativeReordering.h"
#include "CommSched/Schedule/Model/MemoryTimeline.h"
#include "ReferenceExposure.h"
#include "TestProblems.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

namespace mlir::commsched::schedule::testing {

class ReferenceIterativeReordering {
public:
  /// `up`: reorderComms(); otherwise sinkWaitsIteratively(). The program's
  /// order is legal.
  ReferenceIterativeReordering(const Problem &problem,
                               const IterativeReorderingOptions &options,
                               bool up)
      : problem(problem), scaled(scaleCosts(problem, options)),
        options(options), up(up), order(programOrder(problem)) {}

  IterativeReordering run() {
    IterativeReordering result;
    result.oldPeakBytes = simulateMemory(problem, order)->peakBytes;
    Order nodes = programOrder(problem);
    if (!up)
      std::reverse(nodes.begin(), nodes.end());
    for (NodeId node : nodes)
      if (problem.kind(node) == (up ? NodeKind::Start : NodeKind::Wait) &&
          (!options.maxCollectives ||
           static_cast<int64_t>(result.collectives.size()) <
               *options.maxCollectives))
        result.collectives.push_back(move(node));
    result.order = order;
    result.newPeakBytes = simulateMemory(problem, order)->peakBytes;
    return result;
  }

private:
  /// The operations with the costs that decisions see.
  static Problem scaleCosts(const Problem &problem,
                            const IterativeReorderingOptions &options) {
    Problem scaled = copyOperations(problem, [&](NodeId node) {
      double multiplier = problem.isCollective(node)
                              ? options.commMultiplier
                              : options.computeMultiplier;
      double cost = static_cast<double>(problem.costNs(node)) * multiplier;
      return static_cast<int64_t>(std::nearbyint(cost));
    });
    scaled.finalize();
    return scaled;
  }

  CollectiveMoves move(NodeId node) {
    CollectiveMoves moved;
    moved.node = node;
    first = std::find(order.begin(), order.end(), node) - order.begin();
    end = first + 1;
    absorbedExposures.clear();
    hasBlocking = false;
    NodeId start = up ? node : problem.startOf(node);
    while (hasFront()) {
      NodeId front = order[frontPlace()];
      auto stop = [&](MoveLimit limit) {
        moved.limit = limit;
        if (limit != MoveLimit::Hidden)
          moved.obstacle = front;
        return moved;
      };
      if (options.useRuntimeEstimations && isHidden(start))
        return stop(MoveLimit::Hidden);
      if (isForbidden(front))
        return stop(MoveLimit::Collective);
      std::optional<DependenceKind> dependence = dependenceWith(front);
      bool bothCommunicate = hasBlocking && problem.isCollective(front);
      if (dependence || bothCommunicate) {
        bool joins = mayJoin(front);
        if (joins && moved.grouped < options.maxGroupSize) {
          join(front);
          ++moved.grouped;
          continue;
        }
        if (dependence) {
          moved.dependence = *dependence;
          return stop(joins ? MoveLimit::GroupSize : MoveLimit::Dependence);
        }
        if (!options.reorderCollectives)
          return stop(MoveLimit::Collective);
      }
      if (options.useRuntimeEstimations && losesTime(start, front))
        return stop(MoveLimit::Exposure);
      int64_t needed = bytesNeededToPassFront();
      if (needed > options.limitBytes) {
        moved.neededBytes = needed;
        return stop(MoveLimit::Memory);
      }
      passFront();
      ++moved.moves;
    }
    return moved;
  }

  //===--------------------------------------------------------------------===//
  // The group is at [first, end) of the order.
  //===--------------------------------------------------------------------===//

  bool hasFront() const { return up ? first > 0 : end < order.size(); }
  size_t frontPlace() const { return up ? first - 1 : end; }

  bool isForbidden(NodeId front) const {
    if (up)
      return problem.isCollective(front) && !options.reorderCollectives;
    return problem.kind(front) == NodeKind::Start && !options.withCollectives;
  }

  /// The first of all kinds for which `later` has to come after `earlier`.
  std::optional<DependenceKind> dependenceOf(NodeId later,
                                             NodeId earlier) const {
    std::optional<DependenceKind> hardest;
    auto note = [&](DependenceKind kind) {
      hardest = hardest ? std::min(*hardest, kind) : kind;
    };
    for (DependenceEnd before : problem.predecessors(later))
      if (before.node == earlier)
        note(before.kind);
    for (BufferId buffer : problem.buffersUsedBy(later))
      if (problem.buffer(buffer).producer == earlier)
        note(DependenceKind::Data);
    return hardest;
  }

  std::optional<DependenceKind> dependenceWith(NodeId front) const {
    std::optional<DependenceKind> hardest;
    for (size_t place = first; place < end; ++place)
      if (std::optional<DependenceKind> kind =
              up ? dependenceOf(order[place], front)
                 : dependenceOf(front, order[place]))
        hardest = hardest ? std::min(*hardest, *kind) : *kind;
    return hardest;
  }

  bool mayJoin(NodeId front) const {
    switch (problem.kind(front)) {
    case NodeKind::Compute:
      return options.useRuntimeEstimations || !problem.isExpensive(front);
    case NodeKind::Start:
      return up && options.withCollectives;
    case NodeKind::Wait:
      return up;
    case NodeKind::Blocking:
      return up || options.useRuntimeEstimations;
    }
    return false;
  }

  void join(NodeId front) {
    if (up && problem.kind(front) == NodeKind::Wait)
      absorbedExposures.push_back(walkWindow(scaled, order,
                                             problem.startOf(front),
                                             ExposureWalk::FromWait)
                                      .exposedNs());
    if (!up && problem.kind(front) == NodeKind::Blocking)
      hasBlocking = true;
    if (up)
      --first;
    else
      ++end;
  }

  /// The order with the group on the other side of the operation in front.
  Order swapped() const {
    Order result = order;
    auto at = [&](size_t place) {
      return result.begin() + static_cast<ptrdiff_t>(place);
    };
    if (up)
      std::rotate(at(first - 1), at(first), at(end));
    else
      std::rotate(at(first), at(end), at(end + 1));
    return result;
  }

  int64_t bytesNeededToPassFront() const {
    MemoryTimeline memory = *simulateMemory(problem, swapped());
    int64_t highest = 0;
    for (size_t place = std::min(first, frontPlace());
         place < std::max(end, frontPlace() + 1); ++place)
      highest = std::max(highest, memory.allocatedBytes[place]);
    return highest;
  }

  void passFront() {
    // What has been taken along leaves computation of its window behind.
    for (int64_t &exposed : absorbedExposures)
      exposed += computeTime(order[frontPlace()]);
    order = swapped();
    first += up ? -1 : 1;
    end += up ? -1 : 1;
  }

  //===--------------------------------------------------------------------===//
  // Estimations.
  //===--------------------------------------------------------------------===//

  int64_t exposureOf(NodeId start) const {
    return walkWindow(scaled, order, start,
                      up ? ExposureWalk::FromStart : ExposureWalk::FromWait)
        .exposedNs();
  }

  int64_t computeTime(NodeId node) const {
    bool holdsStream = scaled.kind(node) == NodeKind::Compute ||
                       scaled.kind(node) == NodeKind::Blocking;
    return holdsStream ? scaled.costNs(node) : 0;
  }

  bool isHidden(NodeId start) const {
    return static_cast<double>(exposureOf(start)) <
           -options.extraOverlap * static_cast<double>(scaled.costNs(start));
  }

  /// How much more is exposed of a collective when `lost` (which may be
  /// negative) of the computation beside it goes away.
  static int64_t growth(int64_t exposed, int64_t lost) {
    return std::max<int64_t>(0, exposed + lost) - std::max<int64_t>(0, exposed);
  }

  /// Whether passing the operation in front exposes more than it hides.
  bool losesTime(NodeId start, NodeId front) const {
    bool isUpPastStart = up && problem.kind(front) == NodeKind::Start;
    bool isDownPastWait = !up && problem.kind(front) == NodeKind::Wait;
    if (isUpPastStart || isDownPastWait) {
      int64_t lost = 0;
      for (size_t place = first; place < end; ++place)
        if (up || scaled.kind(order[place]) == NodeKind::Blocking)
          lost += computeTime(order[place]);
      return growth(exposureOf(up ? front : problem.startOf(front)), lost) > 0;
    }
    if (absorbedExposures.empty())
      return false;
    int64_t time = computeTime(front);
    int64_t more = growth(exposureOf(start), -time);
    for (int64_t exposed : absorbedExposures)
      more += growth(exposed, time);
    return more > 0;
  }

  const Problem &problem;
  Problem scaled;
  IterativeReorderingOptions options;
  bool up;
  Order order;
  size_t first = 0;
  size_t end = 0;
  /// Of the collectives whose waits the group has taken along: what is exposed.
  std::vector<int64_t> absorbedExposures;
  /// Down: the group has taken a blocking collective along.
  bool hasBlocking = false;
};

} // namespace mlir::commsched::schedule::testing

#endif // COMMSCHED_UNITTESTS_SCHEDULE_REFERENCEITERATIVEREORDERING_H
