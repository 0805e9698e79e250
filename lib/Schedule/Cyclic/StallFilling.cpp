//===- StallFilling.cpp - Computation for the stalls of a period ----------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StallFilling.h"

#include <algorithm>

using namespace mlir::commsched;
using namespace mlir::commsched::schedule;

namespace {

/// A wait that stalls the computation.
struct Stall {
  int32_t position;
  int64_t ns;
};

/// Moves computation into one group of stalls.
class PeriodStallFiller {
public:
  PeriodStallFiller(const PeriodGraph &graph, const CyclicOrder &schedule,
                    const Timeline &timeline);

  std::optional<CyclicOrder> fill(int64_t distanceNs);

private:
  /// So many operations at most depend on what moves.
  static constexpr size_t maxFollowers = 64;

  void findStalls();
  std::optional<std::vector<NodeId>> findFollowers(NodeId node) const;
  void choose(int64_t distanceNs);
  std::vector<int32_t> placeFollowers() const;
  CyclicOrder makeOrder() const;

  int64_t computeNs(NodeId node) const {
    return body.kind(node) == NodeKind::Compute ? body.costNs(node) : 0;
  }
  bool isStall(NodeId node) const {
    // The start has the time of its wait as well.
    return body.kind(node) != NodeKind::Start && timeline.exposedNs[node] > 0;
  }
  int32_t lastStall() const { return stalls.back().position; }

  const PeriodGraph &graph;
  const Problem &body;
  const CyclicOrder &schedule;
  const Timeline &timeline;
  std::vector<int32_t> positions;
  /// By position: when the compute stream reaches it.
  std::vector<int64_t> reachedNs;
  /// The group, by position.
  std::vector<Stall> stalls;
  int64_t stalledNs = 0;
  /// By operation.
  std::vector<char> isChosen;
  std::vector<char> isFollower;
};

} // namespace

PeriodStallFiller::PeriodStallFiller(const PeriodGraph &graph,
                                     const CyclicOrder &schedule,
                                     const Timeline &timeline)
    : graph(graph), body(graph.body()), schedule(schedule), timeline(timeline),
      positions(body.numNodes()), reachedNs(body.numNodes()),
      isChosen(body.numNodes()), isFollower(body.numNodes()) {
  int64_t clockNs = 0;
  for (size_t i = 0; i < schedule.order.size(); ++i) {
    NodeId node = schedule.order[i];
    positions[node] = static_cast<int32_t>(i);
    reachedNs[i] = clockNs;
    if (body.kind(node) != NodeKind::Start)
      clockNs = std::max(clockNs, timeline.endNs[node]);
  }
}

/// Finds the longest stall, and those around it with less computation in
/// between than they stall for.
void PeriodStallFiller::findStalls() {
  std::vector<Stall> all;
  std::vector<int64_t> passedNs;
  int64_t sumNs = 0;
  for (size_t i = 0; i < schedule.order.size(); ++i) {
    NodeId node = schedule.order[i];
    sumNs += computeNs(node);
    if (!isStall(node))
      continue;
    all.push_back({static_cast<int32_t>(i), timeline.exposedNs[node]});
    passedNs.push_back(sumNs);
  }
  if (all.empty())
    return;
  auto longest = std::max_element(
      all.begin(), all.end(),
      [](const Stall &a, const Stall &b) { return a.ns < b.ns; });
  size_t first = longest - all.begin(), last = first;
  stalledNs = longest->ns;
  for (bool isGrowing = true; isGrowing;) {
    isGrowing = false;
    if (first > 0 && passedNs[first] - passedNs[first - 1] <= stalledNs) {
      stalledNs += all[--first].ns;
      isGrowing = true;
    }
    if (last + 1 < all.size() &&
        passedNs[last + 1] - passedNs[last] <= stalledNs) {
      stalledNs += all[++last].ns;
      isGrowing = true;
    }
  }
  stalls.assign(all.begin() + first, all.begin() + last + 1);
}

/// Returns the operations before the last stall that depend on `node`. None if
/// they are too many, take long, or are stalls or chosen themselves.
std::optional<std::vector<NodeId>>
PeriodStallFiller::findFollowers(NodeId node) const {
  std::vector<NodeId> found = {node};
  int64_t followingNs = 0;
  bool isFree = true;
  auto add = [&](NodeId next) {
    if (positions[next] > lastStall() ||
        std::find(found.begin(), found.end(), next) != found.end())
      return;
    found.push_back(next);
    followingNs += computeNs(next);
    isFree &= !isChosen[next] && !isStall(next);
  };
  for (size_t i = 0; i < found.size(); ++i) {
    PeriodGraph::forEachInPeriod(graph.successors(found[i]), found[i], schedule,
                                 add);
    if (!isFree || found.size() > maxFollowers ||
        followingNs > computeNs(node) / 2)
      return std::nullopt;
  }
  found.erase(found.begin());
  return found;
}

/// Chooses what moves, from the last operation before the stalls on.
void PeriodStallFiller::choose(int64_t distanceNs) {
  // Moving what is much shorter than the stalls gains little and costs time.
  constexpr int64_t leastPart = 32;
  int64_t leftNs = stalledNs, passedNs = 0;
  for (int32_t i = stalls.front().position; i-- > 0 && leftNs > 0;) {
    NodeId node = schedule.order[i];
    int64_t costNs = computeNs(node);
    passedNs += costNs;
    if (passedNs < distanceNs || costNs * leastPart < stalledNs ||
        isFollower[node])
      continue;
    std::optional<std::vector<NodeId>> followers = findFollowers(node);
    if (!followers)
      continue;
    isChosen[node] = true;
    for (NodeId follower : *followers)
      isFollower[follower] = true;
    leftNs -= costNs;
  }
}

/// Returns, by position, before which position an operation that follows runs:
/// as long after the last stall as it ran after the first operation that moves,
/// and before what depends on it.
std::vector<int32_t> PeriodStallFiller::placeFollowers() const {
  int32_t count = static_cast<int32_t>(schedule.order.size());
  std::vector<int32_t> places(count, -1);
  int32_t first = 0;
  while (!isChosen[schedule.order[first]])
    ++first;
  int64_t delayNs = reachedNs[lastStall()] - reachedNs[first];
  int32_t place = count;
  for (int32_t i = lastStall(); i-- > first;) {
    NodeId node = schedule.order[i];
    if (!isFollower[node])
      continue;
    PeriodGraph::forEachInPeriod(graph.successors(node), node, schedule,
                                 [&](NodeId next) {
                                   if (positions[next] > lastStall())
                                     place = std::min(place, positions[next]);
                                 });
    while (place > lastStall() + 1 &&
           reachedNs[place - 1] >= reachedNs[i] + delayNs)
      --place;
    places[i] = place;
  }
  return places;
}

CyclicOrder PeriodStallFiller::makeOrder() const {
  CyclicOrder filled;
  filled.stages = schedule.stages;
  filled.order.reserve(schedule.order.size());
  std::vector<int32_t> places = placeFollowers();
  std::vector<NodeId> chosen, followers;
  for (NodeId node : schedule.order) {
    if (isChosen[node])
      chosen.push_back(node);
    else if (isFollower[node])
      followers.push_back(node);
  }
  auto nextChosen = chosen.begin();
  auto nextFollower = followers.begin();
  auto stall = stalls.begin();
  for (int32_t i = 0, end = static_cast<int32_t>(schedule.order.size());
       i <= end; ++i) {
    while (nextFollower != followers.end() &&
           places[positions[*nextFollower]] == i)
      filled.order.push_back(*nextFollower++);
    if (i == end)
      break;
    NodeId node = schedule.order[i];
    if (stall != stalls.end() && stall->position == i) {
      // The last stall takes what is left.
      bool isLast = std::next(stall) == stalls.end();
      for (int64_t ns = stall->ns;
           nextChosen != chosen.end() && (ns > 0 || isLast);) {
        ns -= computeNs(*nextChosen);
        filled.order.push_back(*nextChosen++);
      }
      ++stall;
    }
    if (!isChosen[node] && !isFollower[node])
      filled.order.push_back(node);
  }
  return filled;
}

std::optional<CyclicOrder> PeriodStallFiller::fill(int64_t distanceNs) {
  findStalls();
  if (stalls.empty())
    return std::nullopt;
  choose(distanceNs);
  if (std::find(isChosen.begin(), isChosen.end(), true) == isChosen.end())
    return std::nullopt;
  return makeOrder();
}

std::optional<CyclicOrder>
schedule::fillPeriodStalls(const PeriodGraph &graph,
                           const CyclicOrder &schedule,
                           const Timeline &timeline, int64_t distanceNs) {
  return PeriodStallFiller(graph, schedule, timeline).fill(distanceNs);
}
