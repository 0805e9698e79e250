//===- OverlapBlame.cpp - Which buckets cost overlap ----------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OverlapBlame.h"

#include "BucketKeys.h"

#include <algorithm>
#include <limits>
#include <numeric>

using namespace mlir::commsched;
using namespace mlir::commsched::schedule;

namespace {

/// When the compute stream stands still.
class Standstill {
public:
  Standstill(const Problem &problem, const Order &order,
             const Timeline &timeline);

  /// For how long it does until `timeNs`.
  int64_t until(int64_t timeNs) const;

private:
  struct Interval {
    int64_t beginNs;
    int64_t endNs;
    /// How long it stood still before.
    int64_t beforeNs;
  };
  /// Ascending.
  std::vector<Interval> intervals;
};

/// A collective of the merged program, beside its members in the original one.
struct Comparison {
  int64_t uncoveredBefore = 0;
  int64_t exposedBefore = 0;
  /// When the first and the last of the members began.
  int64_t firstBeginNs = std::numeric_limits<int64_t>::max();
  int64_t lastBeginNs = 0;

  void add(const Execution &before, NodeId member);
};

/// One search for buckets to blame. Collectives that are worse off are victims
/// first.
class Search {
public:
  explicit Search(const BucketedExecution &execution);
  std::vector<bool> run();

private:
  void findUncovered();
  void findWhatLengthensStep();
  bool hasRoom(NodeId node) const;
  bool isHarmful(int32_t bucket, int64_t victimBeginNs) const;
  void accuse(NodeId victim, bool isHarmfulAhead);
  void searchQueue(ArrayView<NodeId> queue);
  void blameAhead(ArrayView<NodeId> run);
  void blameNeighbours();

  const BucketedExecution &execution;
  const BucketedProblem &bucketed;
  const Problem &merged;
  const Timeline &timeline;
  /// By node of the merged program, for its collectives.
  std::vector<Comparison> comparisons;
  /// By bucket: whether it starts later than its first member did.
  std::vector<bool> isLate;
  std::vector<bool> isVictim;
  /// Victims that blame those ahead on their stream that are harmful.
  std::vector<bool> isAccuser;
  /// Victims that have nobody to blame.
  std::vector<NodeId> helpless;
  std::vector<bool> blamed;
};

} // namespace

Standstill::Standstill(const Problem &problem, const Order &order,
                       const Timeline &timeline) {
  int64_t sum = 0;
  for (NodeId node : order) {
    // A start repeats what its wait tells.
    int64_t exposed = timeline.exposedNs[node];
    if (exposed == 0 || problem.kind(node) == NodeKind::Start)
      continue;
    int64_t end = timeline.endNs[node];
    intervals.push_back({end - exposed, end, sum});
    sum += exposed;
  }
}

int64_t Standstill::until(int64_t timeNs) const {
  auto next = std::upper_bound(
      intervals.begin(), intervals.end(), timeNs,
      [](int64_t time, const Interval &it) { return time < it.beginNs; });
  if (next == intervals.begin())
    return 0;
  const Interval &last = *std::prev(next);
  return last.beforeNs + std::min(timeNs, last.endNs) - last.beginNs;
}

Result<Execution> schedule::execute(const Problem &problem,
                                    const Order &order) {
  Result<Timeline> timeline = simulate(problem, order);
  if (!timeline)
    return Error{timeline.error()};
  Standstill standstill(problem, order, *timeline);
  Execution execution;
  execution.uncoveredNs.resize(order.size());
  execution.computedNs.resize(order.size());
  int64_t computed = 0;
  for (NodeId node : order) {
    execution.computedNs[node] = computed;
    if (problem.kind(node) == NodeKind::Compute)
      computed += problem.costNs(node);
    if (problem.isCollective(node))
      execution.uncoveredNs[node] = standstill.until(timeline->endNs[node]) -
                                    standstill.until(timeline->beginNs[node]);
  }
  execution.timeline = std::move(*timeline);
  return execution;
}

void Comparison::add(const Execution &before, NodeId member) {
  uncoveredBefore += before.uncoveredNs[member];
  exposedBefore += before.timeline.exposedNs[member];
  firstBeginNs = std::min(firstBeginNs, before.timeline.beginNs[member]);
  lastBeginNs = std::max(lastBeginNs, before.timeline.beginNs[member]);
}

Search::Search(const BucketedExecution &execution)
    : execution(execution), bucketed(execution.bucketed),
      merged(bucketed.getProblem()), timeline(execution.after.timeline),
      comparisons(merged.numNodes()), isVictim(merged.numNodes()),
      isAccuser(merged.numNodes()), blamed(bucketed.numBuckets()) {
  const Problem &original = bucketed.getOriginal();
  for (NodeId node = 0; node < original.numNodes(); ++node)
    if (original.isCollective(node))
      comparisons[bucketed.nodeOf(node)].add(execution.before, node);
  std::vector<NodeId> keys =
      computeBucketKeys(bucketed, findCheapNodes(bucketed));
  for (int32_t bucket = 0; bucket < bucketed.numBuckets(); ++bucket) {
    const std::vector<NodeId> &starts = bucketed.bucket(bucket).starts;
    isLate.push_back(keys[bucketed.startOf(bucket)] >
                     *std::min_element(starts.begin(), starts.end()));
  }
}

void Search::findUncovered() {
  for (NodeId node = 0; node < merged.numNodes(); ++node)
    isVictim[node] =
        merged.isCollective(node) &&
        execution.after.uncoveredNs[node] > comparisons[node].uncoveredBefore;
}

/// If the step is longer, so is the sum of what its parts add to it: of each
/// bucket the copies, less what they absorb, and of each collective the stalls.
void Search::findWhatLengthensStep() {
  const Problem &original = bucketed.getOriginal();
  std::vector<int64_t> added(merged.numNodes());
  for (NodeId node = 0; node < merged.numNodes(); ++node)
    if (merged.isCollective(node))
      added[node] = timeline.exposedNs[node] - comparisons[node].exposedBefore;
  for (int32_t bucket = 0; bucket < bucketed.numBuckets(); ++bucket) {
    const BucketCost &cost = execution.costs[bucket];
    int64_t &sum = added[bucketed.startOf(bucket)];
    sum += cost.copyInNs + cost.copyOutNs;
    for (NodeId node : cost.absorbed)
      sum -= original.costNs(node);
    blamed[bucket] = sum > 0;
  }
  for (NodeId node = 0; node < merged.numNodes(); ++node)
    isVictim[node] = bucketed.bucketOf(node) < 0 && added[node] > 0;
}

/// Whether enough computation stands between start and wait to cover as much of
/// a collective as was covered before.
bool Search::hasRoom(NodeId node) const {
  int64_t room = 0;
  if (NodeId wait = merged.waitOf(node); wait != noNode)
    room = execution.after.computedNs[wait] - execution.after.computedNs[node];
  return merged.costNs(node) - room <= comparisons[node].uncoveredBefore;
}

/// Whether a bucket that is ahead of a victim holds it up more than the members
/// did: one of them came later than the victim, or all come later than they
/// did.
bool Search::isHarmful(int32_t bucket, int64_t victimBeginNs) const {
  return isLate[bucket] ||
         comparisons[bucketed.startOf(bucket)].lastBeginNs > victimBeginNs;
}

/// A bucket has itself to blame, unless one ahead of it is harmful and it would
/// be covered otherwise.
void Search::accuse(NodeId victim, bool isHarmfulAhead) {
  int32_t bucket = bucketed.bucketOf(victim);
  if (isHarmfulAhead && hasRoom(victim))
    isAccuser[victim] = true;
  else if (bucket >= 0)
    blamed[bucket] = true;
  else
    helpless.push_back(victim);
}

/// `run`: collectives that keep their stream busy without a gap.
void Search::blameAhead(ArrayView<NodeId> run) {
  bool isLateAhead = false;
  int64_t lastBeginNs = std::numeric_limits<int64_t>::min();
  for (NodeId node : run) {
    if (isVictim[node])
      accuse(node, isLateAhead || lastBeginNs > comparisons[node].firstBeginNs);
    int32_t bucket = bucketed.bucketOf(node);
    if (bucket < 0)
      continue;
    isLateAhead = isLateAhead || isLate[bucket];
    lastBeginNs = std::max(lastBeginNs, comparisons[node].lastBeginNs);
  }
  // Back again, with the first begin of those behind that accuse.
  bool isAccused = false;
  int64_t firstBeginNs = std::numeric_limits<int64_t>::max();
  for (size_t i = run.size(); i-- > 0;) {
    int32_t bucket = bucketed.bucketOf(run[i]);
    if (bucket >= 0 && isAccused && isHarmful(bucket, firstBeginNs))
      blamed[bucket] = true;
    if (!isAccuser[run[i]])
      continue;
    isAccused = true;
    firstBeginNs = std::min(firstBeginNs, comparisons[run[i]].firstBeginNs);
  }
}

void Search::searchQueue(ArrayView<NodeId> queue) {
  size_t first = 0;
  for (size_t i = 1; i <= queue.size(); ++i) {
    if (i < queue.size() &&
        timeline.beginNs[queue[i]] == timeline.endNs[queue[i - 1]])
      continue;
    blameAhead({queue.begin() + first, i - first});
    first = i;
  }
}

/// Something else has changed what runs beside the helpless: buckets with
/// members in flight when one of them was.
void Search::blameNeighbours() {
  const Problem &original = bucketed.getOriginal();
  // By node: how many of the helpless are in flight there; then up to there.
  std::vector<int64_t> sums(original.numNodes() + 1);
  for (NodeId victim : helpless) {
    NodeId node = bucketed.originalOf(victim);
    NodeId wait = original.waitOf(node);
    ++sums[node];
    --sums[wait == noNode ? node + 1 : wait];
  }
  for (int round = 0; round < 2; ++round)
    std::partial_sum(sums.begin(), sums.end(), sums.begin());
  for (int32_t index = 0; index < bucketed.numBuckets(); ++index) {
    const BucketedProblem::MergedBucket &bucket = bucketed.bucket(index);
    NodeId first =
        *std::min_element(bucket.starts.begin(), bucket.starts.end());
    NodeId last = *std::max_element(bucket.waits.begin(), bucket.waits.end());
    blamed[index] = sums[last] > sums[first];
  }
}

std::vector<bool> Search::run() {
  auto isAny = [](const std::vector<bool> &flags) {
    return std::find(flags.begin(), flags.end(), true) != flags.end();
  };
  findUncovered();
  if (!isAny(isVictim) && timeline.stepNs > execution.before.timeline.stepNs)
    findWhatLengthensStep();
  if (!isAny(isVictim))
    return blamed;
  Csr<NodeId> queues;
  queues.build(
      merged.numStreams(), execution.order.size(),
      [&](size_t i) {
        NodeId node = execution.order[i];
        return merged.isCollective(node) ? merged.stream(node) : -1;
      },
      [&](size_t i) { return execution.order[i]; });
  for (StreamId stream = 0; stream < merged.numStreams(); ++stream)
    searchQueue(queues[stream]);
  if (!isAny(blamed))
    blameNeighbours();
  return blamed;
}

std::vector<bool>
schedule::findBlamedBuckets(const BucketedExecution &execution) {
  return Search(execution).run();
}
