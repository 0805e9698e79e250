//===- OverlapPreservingBucketing.cpp - Buckets that keep overlap ---------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Schedule/Bucketing/Bucketing.h"

#include "BucketKeys.h"
#include "CommSched/Schedule/Bucketing/BucketedProblem.h"
#include "CommSched/Schedule/Model/Simulator.h"
#include "CommSched/Schedule/Model/Verify.h"

#include <algorithm>
#include <limits>
#include <numeric>

using namespace mlir::commsched;
using namespace mlir::commsched::schedule;

//===----------------------------------------------------------------------===//
// Attribution of lost overlap to buckets
//===----------------------------------------------------------------------===//

namespace {

/// How an order of a problem runs.
struct Execution {
  Timeline timeline;
  /// By node: how long a collective ran while the compute stream stood still,
  /// for whatever it waited; 0 for other nodes.
  std::vector<int64_t> uncoveredNs;
  /// By node: the cost of all computation before it.
  std::vector<int64_t> computedNs;
};

/// A merged program beside the original one.
struct BucketedExecution {
  const BucketedProblem &bucketed;
  const std::vector<BucketCost> &costs;
  const Order &order;
  /// Of the original program in its own order.
  const Execution &before;
  /// Of the merged program in `order`.
  const Execution &after;
};

/// When the compute stream is idle.
class IdleTime {
public:
  IdleTime(const Problem &problem, const Order &order,
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

/// Finds the buckets that are responsible for collectives that are worse off in
/// the merged program, or for a longer step.
class OverlapAttribution {
public:
  explicit OverlapAttribution(const BucketedExecution &execution);
  std::vector<bool> run();

private:
  void findUncovered();
  void findWhatLengthensStep();
  bool hasRoom(NodeId node) const;
  bool isHarmful(int32_t bucket, int64_t otherBeginNs) const;
  void attribute(NodeId worse, bool isHarmfulAhead);
  void searchQueue(ArrayView<NodeId> queue);
  void attributeAhead(ArrayView<NodeId> run);
  void attributeToNeighbours();

  const BucketedExecution &execution;
  const BucketedProblem &bucketed;
  const Problem &merged;
  const Timeline &timeline;
  /// By node of the merged program, for its collectives.
  std::vector<Comparison> comparisons;
  /// By bucket: whether it starts later than its first member did.
  std::vector<bool> isLate;
  std::vector<bool> isWorse;
  /// Collectives whose loss is due to harmful buckets ahead on their stream.
  std::vector<bool> lossFromAhead;
  /// Worse collectives that no bucket was found for yet.
  std::vector<NodeId> unattributed;
  std::vector<bool> responsible;
};

} // namespace

IdleTime::IdleTime(const Problem &problem, const Order &order,
                   const Timeline &timeline) {
  int64_t sum = 0;
  for (NodeId node : order) {
    // A start has the same exposed time as its wait.
    int64_t exposed = timeline.exposedNs[node];
    if (exposed == 0 || problem.kind(node) == NodeKind::Start)
      continue;
    int64_t end = timeline.endNs[node];
    intervals.push_back({end - exposed, end, sum});
    sum += exposed;
  }
}

int64_t IdleTime::until(int64_t timeNs) const {
  auto next = std::upper_bound(
      intervals.begin(), intervals.end(), timeNs,
      [](int64_t time, const Interval &it) { return time < it.beginNs; });
  if (next == intervals.begin())
    return 0;
  const Interval &last = *std::prev(next);
  return last.beforeNs + std::min(timeNs, last.endNs) - last.beginNs;
}

/// Error: that of simulate(). O(nodes * log(waits)).
static Result<Execution> execute(const Problem &problem, const Order &order) {
  Result<Timeline> timeline = simulate(problem, order);
  if (!timeline)
    return Error{timeline.error()};
  IdleTime idleTime(problem, order, *timeline);
  Execution execution;
  execution.uncoveredNs.resize(order.size());
  execution.computedNs.resize(order.size());
  int64_t computed = 0;
  for (NodeId node : order) {
    execution.computedNs[node] = computed;
    if (problem.kind(node) == NodeKind::Compute)
      computed += problem.costNs(node);
    if (problem.isCollective(node))
      execution.uncoveredNs[node] = idleTime.until(timeline->endNs[node]) -
                                    idleTime.until(timeline->beginNs[node]);
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

OverlapAttribution::OverlapAttribution(const BucketedExecution &execution)
    : execution(execution), bucketed(execution.bucketed),
      merged(bucketed.getProblem()), timeline(execution.after.timeline),
      comparisons(merged.numNodes()), isWorse(merged.numNodes()),
      lossFromAhead(merged.numNodes()), responsible(bucketed.numBuckets()) {
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

void OverlapAttribution::findUncovered() {
  for (NodeId node = 0; node < merged.numNodes(); ++node)
    isWorse[node] =
        merged.isCollective(node) &&
        execution.after.uncoveredNs[node] > comparisons[node].uncoveredBefore;
}

/// If the step is longer, so is the sum of what its parts add to it: of each
/// bucket the copies, less what they absorb, and of each collective the stalls.
void OverlapAttribution::findWhatLengthensStep() {
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
    responsible[bucket] = sum > 0;
  }
  for (NodeId node = 0; node < merged.numNodes(); ++node)
    isWorse[node] = bucketed.bucketOf(node) < 0 && added[node] > 0;
}

/// Whether enough computation stands between start and wait to cover as much of
/// a collective as was covered before.
bool OverlapAttribution::hasRoom(NodeId node) const {
  int64_t room = 0;
  if (NodeId wait = merged.waitOf(node); wait != noNode)
    room = execution.after.computedNs[wait] - execution.after.computedNs[node];
  return merged.costNs(node) - room <= comparisons[node].uncoveredBefore;
}

/// Whether a bucket that is ahead of another collective delays it more than the
/// members did: one of them began later than the other, or the bucket starts
/// later than its members did.
bool OverlapAttribution::isHarmful(int32_t bucket, int64_t otherBeginNs) const {
  return isLate[bucket] ||
         comparisons[bucketed.startOf(bucket)].lastBeginNs > otherBeginNs;
}

/// A bucket is responsible for its own loss, unless one ahead of it is harmful
/// and it would be covered otherwise.
void OverlapAttribution::attribute(NodeId worse, bool isHarmfulAhead) {
  int32_t bucket = bucketed.bucketOf(worse);
  if (isHarmfulAhead && hasRoom(worse))
    lossFromAhead[worse] = true;
  else if (bucket >= 0)
    responsible[bucket] = true;
  else
    unattributed.push_back(worse);
}

/// `run`: collectives that keep their stream busy without a gap.
void OverlapAttribution::attributeAhead(ArrayView<NodeId> run) {
  bool isLateAhead = false;
  int64_t lastBeginNs = std::numeric_limits<int64_t>::min();
  for (NodeId node : run) {
    if (isWorse[node])
      attribute(node,
                isLateAhead || lastBeginNs > comparisons[node].firstBeginNs);
    int32_t bucket = bucketed.bucketOf(node);
    if (bucket < 0)
      continue;
    isLateAhead = isLateAhead || isLate[bucket];
    lastBeginNs = std::max(lastBeginNs, comparisons[node].lastBeginNs);
  }
  // Backwards, with the first begin of those behind whose loss is due to
  // buckets ahead.
  bool isAttributed = false;
  int64_t firstBeginNs = std::numeric_limits<int64_t>::max();
  for (size_t i = run.size(); i-- > 0;) {
    int32_t bucket = bucketed.bucketOf(run[i]);
    if (bucket >= 0 && isAttributed && isHarmful(bucket, firstBeginNs))
      responsible[bucket] = true;
    if (!lossFromAhead[run[i]])
      continue;
    isAttributed = true;
    firstBeginNs = std::min(firstBeginNs, comparisons[run[i]].firstBeginNs);
  }
}

void OverlapAttribution::searchQueue(ArrayView<NodeId> queue) {
  size_t first = 0;
  for (size_t i = 1; i <= queue.size(); ++i) {
    if (i < queue.size() &&
        timeline.beginNs[queue[i]] == timeline.endNs[queue[i - 1]])
      continue;
    attributeAhead({queue.begin() + first, i - first});
    first = i;
  }
}

/// Attributes what is left to the buckets with members in flight when one of
/// the unattributed collectives was: they changed what runs beside it.
void OverlapAttribution::attributeToNeighbours() {
  const Problem &original = bucketed.getOriginal();
  // By node: how many unattributed collectives are in flight there; then the
  // sum up to there.
  std::vector<int64_t> sums(original.numNodes() + 1);
  for (NodeId worse : unattributed) {
    NodeId node = bucketed.originalOf(worse);
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
    responsible[index] = sums[last] > sums[first];
  }
}

std::vector<bool> OverlapAttribution::run() {
  auto isAny = [](const std::vector<bool> &flags) {
    return std::find(flags.begin(), flags.end(), true) != flags.end();
  };
  findUncovered();
  if (!isAny(isWorse) && timeline.stepNs > execution.before.timeline.stepNs)
    findWhatLengthensStep();
  if (!isAny(isWorse))
    return responsible;
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
  if (!isAny(responsible))
    attributeToNeighbours();
  return responsible;
}

/// By bucket: whether a loss of overlap is attributed to it. No bucket is
/// responsible if the step is no longer and no collective more exposed than its
/// members were together.
/// O((nodes + members) * log(buckets)).
static std::vector<bool>
findResponsibleBuckets(const BucketedExecution &execution) {
  return OverlapAttribution(execution).run();
}

//===----------------------------------------------------------------------===//
// Splitting
//===----------------------------------------------------------------------===//

/// How many rounds there may be for each time that the largest bucket can be
/// halved. In steps of transformers with several depths of prefetching, the
/// best round was not after twice as many.
static constexpr int roundsPerHalving = 4;

namespace {

/// The score of the buckets of one round. Smaller is better.
struct Score {
  int64_t stepNs;
  /// The sum over all collectives.
  int64_t uncoveredNs;

  explicit Score(const Execution &execution)
      : stepNs(execution.timeline.stepNs),
        uncoveredNs(std::accumulate(execution.uncoveredNs.begin(),
                                    execution.uncoveredNs.end(), int64_t(0))) {}

  bool operator<(const Score &other) const {
    return stepNs != other.stepNs ? stepNs < other.stepNs
                                  : uncoveredNs < other.uncoveredNs;
  }
};

struct Round {
  Score score;
  std::vector<bool> responsible;
};

/// Splits the responsible buckets, round after round.
class Splitting {
public:
  Splitting(const Problem &problem,
            const std::vector<BucketCandidate> &candidates,
            const BucketCostFunction &getCost, Bucketing bucketing,
            Execution before);

  Result<Bucketing> run();

private:
  Result<Round> tryBuckets() const;
  void split(const std::vector<bool> &responsible);
  void add(Bucket bucket);
  int maxRounds() const;
  Bucketing getBuckets() const;

  const Problem &problem;
  const std::vector<BucketCandidate> &candidates;
  const BucketCostFunction &getCost;
  /// By node: its candidate, or -1.
  std::vector<int32_t> candidateOf;
  Execution before;
  std::vector<BucketAssignment> assignments;
  std::vector<Bucket> buckets;
  /// By bucket.
  std::vector<BucketCost> costs;
};

} // namespace

Splitting::Splitting(const Problem &problem,
                     const std::vector<BucketCandidate> &candidates,
                     const BucketCostFunction &getCost, Bucketing bucketing,
                     Execution before)
    : problem(problem), candidates(candidates), getCost(getCost),
      candidateOf(problem.numNodes(), -1), before(std::move(before)),
      assignments(std::move(bucketing.assignments)) {
  for (size_t i = 0; i < candidates.size(); ++i)
    candidateOf[candidates[i].start] = static_cast<int32_t>(i);
  for (Bucket &bucket : bucketing.buckets)
    add(std::move(bucket));
}

void Splitting::add(Bucket bucket) {
  costs.push_back(getCost(bucket.starts));
  buckets.push_back(std::move(bucket));
}

Result<Round> Splitting::tryBuckets() const {
  Result<BucketedProblem> bucketed =
      BucketedProblem::create(problem, buckets, costs);
  if (!bucketed)
    return Error{bucketed.error()};
  Result<Order> order = bucketed->place();
  if (!order)
    return Error{order.error()};
  Result<Execution> after = execute(bucketed->getProblem(), *order);
  if (!after)
    return Error{after.error()};
  return Round{Score(*after), findResponsibleBuckets(
                                  {*bucketed, costs, *order, before, *after})};
}

/// Splits buckets in halves. A half of one is no bucket.
void Splitting::split(const std::vector<bool> &responsible) {
  std::vector<Bucket> oldBuckets = std::move(buckets);
  std::vector<BucketCost> oldCosts = std::move(costs);
  buckets.clear();
  costs.clear();
  for (size_t i = 0; i < oldBuckets.size(); ++i) {
    Bucket &old = oldBuckets[i];
    if (!responsible[i]) {
      buckets.push_back(std::move(old));
      costs.push_back(std::move(oldCosts[i]));
      continue;
    }
    size_t size = old.starts.size();
    size_t middle = size / 2;
    for (auto [first, last] : {std::pair(size_t(0), middle), {middle, size}}) {
      Bucket half;
      half.key = old.key;
      half.starts.assign(old.starts.begin() + static_cast<ptrdiff_t>(first),
                         old.starts.begin() + static_cast<ptrdiff_t>(last));
      for (NodeId start : half.starts)
        half.bytes += candidates[candidateOf[start]].bytes;
      if (half.starts.size() > 1) {
        add(std::move(half));
        continue;
      }
      // The nearest other member stands at the other side of the cut.
      NodeId other = old.starts[first == 0 ? middle : middle - 1];
      assignments[candidateOf[half.starts[0]]] = {
          -1, UnbucketedReason::LosesOverlap, other};
    }
  }
}

int Splitting::maxRounds() const {
  size_t largest = 1;
  for (const Bucket &bucket : buckets)
    largest = std::max(largest, bucket.starts.size());
  int halvings = 0;
  for (; largest > 1; largest = (largest + 1) / 2)
    ++halvings;
  return roundsPerHalving * halvings;
}

/// The buckets of now, by first member.
Bucketing Splitting::getBuckets() const {
  Bucketing result{buckets, assignments};
  std::sort(result.buckets.begin(), result.buckets.end(),
            [](const Bucket &a, const Bucket &b) {
              return a.starts.front() < b.starts.front();
            });
  for (size_t i = 0; i < result.buckets.size(); ++i)
    for (NodeId start : result.buckets[i].starts)
      result.assignments[candidateOf[start]].bucket = static_cast<int32_t>(i);
  return result;
}

Result<Bucketing> Splitting::run() {
  Score bestScore(before);
  std::optional<Bucketing> best;
  for (int left = maxRounds(); left >= 0 && !buckets.empty(); --left) {
    Result<Round> round = tryBuckets();
    if (!round)
      return Error{round.error()};
    // Buckets are better than none that are as good.
    bool isBetter =
        best ? round->score < bestScore : !(bestScore < round->score);
    if (isBetter) {
      bestScore = round->score;
      best = getBuckets();
    }
    if (std::find(round->responsible.begin(), round->responsible.end(), true) ==
        round->responsible.end())
      break;
    split(round->responsible);
  }
  if (best)
    return *best;
  while (!buckets.empty())
    split(std::vector<bool>(buckets.size(), true));
  return getBuckets();
}

/// The order in which candidates are looked at.
static std::vector<size_t>
sortCandidates(const std::vector<BucketCandidate> &candidates,
               const std::vector<bool> &exposedFirst,
               const Execution &execution) {
  auto isHidden = [&](const BucketCandidate &candidate) {
    // formBuckets() diagnoses invalid candidates.
    size_t key = candidate.key, start = candidate.start;
    return key < exposedFirst.size() && exposedFirst[key] &&
           start < execution.uncoveredNs.size() &&
           execution.uncoveredNs[start] == 0;
  };
  std::vector<size_t> sorted(candidates.size());
  std::iota(sorted.begin(), sorted.end(), size_t(0));
  std::sort(sorted.begin(), sorted.end(), [&](size_t a, size_t b) {
    bool isHiddenA = isHidden(candidates[a]),
         isHiddenB = isHidden(candidates[b]);
    if (isHiddenA != isHiddenB)
      return isHiddenB;
    return candidates[a].start < candidates[b].start;
  });
  return sorted;
}

Result<Bucketing> schedule::formOverlapPreservingBuckets(
    const Problem &problem, const std::vector<BucketCandidate> &candidates,
    const BucketingOptions &options, const std::vector<bool> &exposedFirst,
    const BucketCostFunction &getCost) {
  if (!problem.check())
    return problem.check();
  Order program = problem.programOrder();
  if (Status status = verify(problem, program); !status)
    return Error{"the program is not a legal order: " + status.error()};
  if (exposedFirst.size() != options.capBytes.size())
    return Error{"exposedFirst is given for " +
                 std::to_string(exposedFirst.size()) + " keys, caps for " +
                 std::to_string(options.capBytes.size())};
  Result<Execution> before = execute(problem, program);
  if (!before)
    return Error{before.error()};

  std::vector<size_t> order = sortCandidates(candidates, exposedFirst, *before);
  std::vector<BucketCandidate> sorted;
  sorted.reserve(candidates.size());
  for (size_t index : order)
    sorted.push_back(candidates[index]);
  Result<Bucketing> formed = formBuckets(problem, sorted, options);
  if (!formed)
    return Error{formed.error()};
  Bucketing bucketing{std::move(formed->buckets), {}};
  bucketing.assignments.resize(candidates.size());
  for (size_t i = 0; i < order.size(); ++i)
    bucketing.assignments[order[i]] = formed->assignments[i];

  return Splitting(problem, candidates, getCost, std::move(bucketing),
                   std::move(*before))
      .run();
}
