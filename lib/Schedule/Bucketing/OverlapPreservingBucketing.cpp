//===- OverlapPreservingBucketing.cpp - Buckets that cost no overlap ------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Schedule/Bucketing/Bucketing.h"

#include "CommSched/Schedule/Model/Verify.h"
#include "OverlapBlame.h"

#include <algorithm>
#include <numeric>

using namespace mlir::commsched;
using namespace mlir::commsched::schedule;

/// How many rounds there may be for each time that the largest bucket can be
/// halved. In steps of transformers with several depths of prefetching, the
/// best round was not after twice as many.
static constexpr int roundsPerHalving = 4;

namespace {

/// What the buckets of one round have come to. Smaller is better.
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
  std::vector<bool> blamed;
};

/// Splits the buckets that are to blame, round after round.
class Splitting {
public:
  Splitting(const Problem &problem,
            const std::vector<BucketCandidate> &candidates,
            const BucketCostFunction &getCost, Bucketing bucketing,
            Execution before);

  Result<Bucketing> run();

private:
  Result<Round> tryBuckets() const;
  void split(const std::vector<bool> &blamed);
  void add(Bucket bucket);
  int maxRounds() const;
  Bucketing getBuckets() const;

  const Problem &problem;
  const std::vector<BucketCandidate> &candidates;
  const BucketCostFunction &getCost;
  /// By node: its candidate, or -1.
  std::vector<int32_t> candidateOf;
  Execution before;
  std::vector<CandidateFate> fates;
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
      fates(std::move(bucketing.fates)) {
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
  return Round{Score(*after),
               findBlamedBuckets({*bucketed, costs, *order, before, *after})};
}

/// Splits buckets in halves. A half of one is no bucket.
void Splitting::split(const std::vector<bool> &blamed) {
  std::vector<Bucket> oldBuckets = std::move(buckets);
  std::vector<BucketCost> oldCosts = std::move(costs);
  buckets.clear();
  costs.clear();
  for (size_t i = 0; i < oldBuckets.size(); ++i) {
    Bucket &old = oldBuckets[i];
    if (!blamed[i]) {
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
      fates[candidateOf[half.starts[0]]] = {-1, AloneReason::LosesOverlap,
                                            other};
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
  Bucketing result{buckets, fates};
  std::sort(result.buckets.begin(), result.buckets.end(),
            [](const Bucket &a, const Bucket &b) {
              return a.starts.front() < b.starts.front();
            });
  for (size_t i = 0; i < result.buckets.size(); ++i)
    for (NodeId start : result.buckets[i].starts)
      result.fates[candidateOf[start]].bucket = static_cast<int32_t>(i);
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
    if (std::find(round->blamed.begin(), round->blamed.end(), true) ==
        round->blamed.end())
      break;
    split(round->blamed);
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
    // What is no candidate is formBuckets()'s to tell.
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
  bucketing.fates.resize(candidates.size());
  for (size_t i = 0; i < order.size(); ++i)
    bucketing.fates[order[i]] = formed->fates[i];

  return Splitting(problem, candidates, getCost, std::move(bucketing),
                   std::move(*before))
      .run();
}
