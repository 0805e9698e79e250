//===- Rotation.cpp - Moves between and within periods --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Rotation.h"

#include "../Step/StepStructure.h"
#include "CommSched/Schedule/Model/Verify.h"

#include "BufferUses.h"
#include <algorithm>
#include <tuple>

using namespace mlir::commsched;
using namespace mlir::commsched::schedule;

PeriodGraph::PeriodGraph(const CyclicProblem &problem) : problem(problem) {
  const Problem &body = problem.body();
  std::vector<CarriedDependence> edges = problem.carriedDependences();
  for (NodeId node = 0; node < body.numNodes(); ++node)
    for (DependenceEnd end : body.successors(node))
      edges.push_back({node, end.node, end.kind, 0});
  // A collective is waited for before that of the next repetition starts.
  for (NodeId start = 0; start < body.numNodes(); ++start)
    if (NodeId wait = body.waitOf(start); wait != noNode)
      edges.push_back({wait, start, DependenceKind::Order, 1});
  BufferUses uses(problem);
  for (BufferId id = 0; id < body.numBuffers(); ++id)
    if (NodeId producer = body.buffer(id).producer; producer != noNode)
      for (const BufferUse &use : uses[id])
        if (use.node != producer)
          edges.push_back(
              {producer, use.node, DependenceKind::Memory, use.distance});
  successorRows.build(
      body.numNodes(), edges.size(), [&](size_t i) { return edges[i].from; },
      [&](size_t i) { return End{edges[i].to, edges[i].distance}; });
  predecessorRows.build(
      body.numNodes(), edges.size(), [&](size_t i) { return edges[i].to; },
      [&](size_t i) { return End{edges[i].from, -edges[i].distance}; });
}

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

//===----------------------------------------------------------------------===//
// Computation for the stalls of a period
//===----------------------------------------------------------------------===//

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
