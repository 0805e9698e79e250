//===- MemoryPlan.cpp - Partitions by the price of memory -----------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MemoryPlan.h"
#include "PartitionPlan.h"
#include "SavedValues.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::commsched;
using partition::JointGraph;
using partition::NodeId;
using partition::Split;

//===----------------------------------------------------------------------===//
// The list
//===----------------------------------------------------------------------===//

/// The prices of memory: nothing, then 16 ns/MiB and so on by a factor of about
/// the square root of 2, to where nanoseconds buy single bytes.
static constexpr int32_t numPrices = 66;

static int64_t getPricePerMiB(int32_t index) {
  if (index == 0)
    return 0;
  int32_t step = index - 1;
  int64_t price = int64_t(16) << (step / 2);
  // 181 / 128 is the square root of 2, as near as that.
  return step % 2 == 0 ? price : price / 16 * 181 / 8;
}

/// The rungs of the ladder: those without a knapsack, and every tenth fraction.
static constexpr int32_t rungStep = partition::SavedValuesLadder::numSteps / 10;
static constexpr int32_t numRungs =
    partition::SavedValuesLadder::firstKnapsack +
    (partition::SavedValuesLadder::numSteps + rungStep - 1) / rungStep;

static int32_t getRung(int32_t index) {
  constexpr int32_t first = partition::SavedValuesLadder::firstKnapsack;
  if (index < first)
    return index;
  // The last rung of all is one of them.
  return first + (index - first + 1) * rungStep - 1;
}

/// What `bytes` cost at that price, at most `most`.
static int64_t getPrice(int64_t bytes, int64_t pricePerMiB, int64_t most) {
  int64_t ns = 0;
  if (llvm::MulOverflow(bytes, pricePerMiB, ns))
    return most;
  return std::min(ns >> 20, most);
}

//===----------------------------------------------------------------------===//
// PartitionTrials
//===----------------------------------------------------------------------===//

FailureOr<PartitionTrials>
PartitionTrials::create(const JointFunction &joint,
                        partition::CollectivePolicy collectives) {
  PartitionTrials trials(joint);
  trials.graph = std::make_unique<JointGraph>(joint.getGraph());
  JointGraph &graph = *trials.graph;
  FailureOr<partition::Classification> classes = unwrap(joint, classify(graph));
  if (failed(classes))
    return failure();
  trials.classes =
      std::make_unique<partition::Classification>(std::move(*classes));
  if (collectives == partition::CollectivePolicy::Cost)
    priceGathers(graph, *trials.classes);
  settlePolicies(graph, *trials.classes, collectives);
  trials.keepsCollectives = collectives == partition::CollectivePolicy::Save;
  partition::SavedValuesOptions options;
  options.cut.repeatGathers = collectives == partition::CollectivePolicy::Cost;
  FailureOr<partition::SavedValuesLadder> ladder =
      unwrap(joint, partition::SavedValuesLadder::create(graph, *trials.classes,
                                                         options));
  if (failed(ladder))
    return failure();
  trials.ladder = std::move(*ladder);
  return trials;
}

PartitionTrials PartitionTrials::createFixed(const JointFunction &joint,
                                             Split split) {
  PartitionTrials trials(joint);
  PartitionTrial trial;
  trial.origin = "commsched.saved_values";
  trial.split = std::move(split);
  trials.trials[trial.split.saved] = std::move(trial);
  return trials;
}

PartitionTrials::Solution PartitionTrials::solvePrice(int32_t index) const {
  int64_t most = (int64_t(1) << 61) / std::max(graph->size(), 1);
  int64_t pricePerMiB = getPricePerMiB(index);
  partition::TreatmentPrices prices;
  for (NodeId node = 0; node < graph->size(); ++node) {
    prices.saveNs.push_back(getPrice((*graph)[node].bytes, pricePerMiB, most));
    bool isKept = keepsCollectives &&
                  (*graph)[node].operatorClass == OperatorClass::Collective;
    prices.repeatNs.push_back(isKept ? most
                                     : std::min((*graph)[node].cost, most));
  }
  FailureOr<std::vector<NodeId>> saved =
      unwrap(*joint, solvePricedCut(*graph, *classes, prices));
  if (failed(saved))
    return failure();
  return unwrap(*joint, splitAtStorages(*graph, *saved,
                                        /*allowCollectives=*/true));
}

PartitionTrials::Solution PartitionTrials::solveRung(int32_t index) const {
  return unwrap(*joint, ladder->solve(getRung(index)));
}

FailureOr<TrialCosts> PartitionTrials::measureOnce(std::string origin,
                                                   Split split,
                                                   MeasureTrial measure) {
  auto it = trials.find(split.saved);
  if (it != trials.end())
    return it->second.costs;
  FailureOr<TrialCosts> costs = measure(split);
  if (failed(costs))
    return failure();
  std::vector<NodeId> saved = split.saved;
  trials[saved] = {std::move(origin), std::move(split), *costs};
  return costs;
}

FailureOr<TrialCosts> PartitionTrials::visitPrice(int32_t index,
                                                  MeasureTrial measure) {
  if (auto it = prices.find(index); it != prices.end())
    return it->second;
  Solution split = solvePrice(index);
  if (failed(split))
    return failure();
  FailureOr<TrialCosts> costs = measureOnce(
      "memory at " + std::to_string(getPricePerMiB(index)) + " ns/MiB",
      std::move(*split), measure);
  if (succeeded(costs))
    prices[index] = *costs;
  return costs;
}

FailureOr<TrialCosts> PartitionTrials::visitRung(int32_t index,
                                                 MeasureTrial measure) {
  if (auto it = rungs.find(index); it != rungs.end())
    return it->second;
  Solution split = solveRung(index);
  if (failed(split))
    return failure();
  FailureOr<TrialCosts> costs =
      measureOnce("rung " + std::to_string(getRung(index)) + " of the ladder",
                  std::move(*split), measure);
  if (succeeded(costs))
    rungs[index] = *costs;
  return costs;
}

LogicalResult PartitionTrials::visitAll(MeasureTrial measure) {
  if (!graph) {
    PartitionTrial &only = trials.begin()->second;
    FailureOr<TrialCosts> costs = measure(only.split);
    if (succeeded(costs))
      only.costs = *costs;
    return costs;
  }
  for (int32_t index = 0; index < numPrices; ++index)
    if (failed(visitPrice(index, measure)))
      return failure();
  for (int32_t index = 0; index < numRungs; ++index)
    if (failed(visitRung(index, measure)))
      return failure();
  return success();
}

/// Calls `visit` for entries 0 to `count` - 1 of a list by bisection.
static LogicalResult
bisect(int32_t count, int64_t bytes,
       function_ref<FailureOr<TrialCosts>(int32_t)> visit) {
  int32_t first = 0, end = count;
  while (first < end) {
    int32_t middle = first + (end - first) / 2;
    FailureOr<TrialCosts> costs = visit(middle);
    if (failed(costs))
      return failure();
    if (costs->peakBytes <= bytes)
      end = middle;
    else
      first = middle + 1;
  }
  return success();
}

LogicalResult PartitionTrials::visitAround(int64_t bytes,
                                           MeasureTrial measure) {
  if (!graph)
    return visitAll(measure);
  if (failed(bisect(numPrices, bytes,
                    [&](int32_t index) { return visitPrice(index, measure); })))
    return failure();
  return bisect(numRungs, bytes,
                [&](int32_t index) { return visitRung(index, measure); });
}

std::vector<const PartitionTrial *> PartitionTrials::getVisited() const {
  std::vector<const PartitionTrial *> visited;
  for (const auto &[saved, trial] : trials)
    visited.push_back(&trial);
  // The map is in the order of what is saved, which decides between equals.
  llvm::stable_sort(
      visited, [](const PartitionTrial *a, const PartitionTrial *b) {
        return std::make_pair(a->costs.boundNs, a->costs.peakBytes) <
               std::make_pair(b->costs.boundNs, b->costs.peakBytes);
      });
  return visited;
}
