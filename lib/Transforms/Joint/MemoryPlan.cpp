//===- MemoryPlan.cpp - Partitions by the price of memory -----------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MemoryPlan.h"
#include "CommSched/Dialect/CommSchedAttributes.h"
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
/// the square root of 2. Of large functions, up to 256 us/MiB, for which a link
/// of 4 GB/s would move a value twice; of small ones to where nanoseconds buy
/// single bytes.
static int32_t getNumPrices(const JointGraph &graph) {
  return PartitionTrials::isSmall(graph) ? 66 : 30;
}

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
                        partition::CollectivePolicy collectives,
                        Treatment allowed) {
  PartitionTrials trials(joint, allowed);
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
                                             Split split, Treatment allowed) {
  PartitionTrials trials(joint, allowed);
  trials.fixed = std::move(split);
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

/// All treatments of which nothing is done that is not `allowed`.
static SmallVector<Treatment> listTreatments(Treatment allowed) {
  SmallVector<Treatment> treatments;
  for (bool quantizes : {false, true})
    for (bool offloads : {false, true})
      if (quantizes <= allowed.quantizes && offloads <= allowed.offloads)
        treatments.push_back({offloads, quantizes});
  return treatments;
}

static std::string describe(const std::string &origin, Treatment treatment) {
  std::string text = origin;
  if (treatment.quantizes)
    text += treatment.quantizedEighths == 8
                ? ", in 8 bits"
                : ", " + std::to_string(treatment.quantizedEighths) +
                      "/8 in 8 bits";
  return text + (treatment.offloads ? ", with transfers" : "");
}

FailureOr<int64_t> PartitionTrials::measureOnce(const std::string &origin,
                                                const Split &split,
                                                MeasureTrial measure) {
  std::vector<PartitionTrial> &variants = trials[split.saved];
  if (variants.empty())
    for (Treatment treatment : listTreatments(allowed)) {
      FailureOr<TrialCosts> costs = measure(split, treatment);
      if (failed(costs))
        return failure();
      variants.push_back(
          {describe(origin, treatment), split, treatment, *costs});
    }
  int64_t leastBytes = variants.front().costs.peakBytes;
  for (const PartitionTrial &variant : variants)
    leastBytes = std::min(leastBytes, variant.costs.peakBytes);
  return leastBytes;
}

FailureOr<int64_t> PartitionTrials::visitPrice(int32_t index,
                                               MeasureTrial measure) {
  if (auto it = prices.find(index); it != prices.end())
    return it->second;
  Solution split = solvePrice(index);
  if (failed(split))
    return failure();
  FailureOr<int64_t> bytes = measureOnce(
      "memory at " + std::to_string(getPricePerMiB(index)) + " ns/MiB", *split,
      measure);
  if (succeeded(bytes))
    prices[index] = *bytes;
  return bytes;
}

FailureOr<int64_t> PartitionTrials::visitRung(int32_t index,
                                              MeasureTrial measure) {
  if (auto it = rungs.find(index); it != rungs.end())
    return it->second;
  Solution split = solveRung(index);
  if (failed(split))
    return failure();
  FailureOr<int64_t> bytes =
      measureOnce("rung " + std::to_string(getRung(index)) + " of the ladder",
                  *split, measure);
  if (succeeded(bytes))
    rungs[index] = *bytes;
  return bytes;
}

LogicalResult PartitionTrials::visitAll(MeasureTrial measure) {
  if (fixed)
    return measureOnce(savedValuesAttrName.str(), *fixed, measure);
  for (int32_t index = 0; index < getNumPrices(*graph); ++index)
    if (failed(visitPrice(index, measure)))
      return failure();
  for (int32_t index = 0; index < numRungs; ++index)
    if (failed(visitRung(index, measure)))
      return failure();
  return success();
}

/// Calls `visit` for entries 0 to `count` - 1 of a list by bisection.
static LogicalResult bisect(int32_t count, int64_t bytes,
                            function_ref<FailureOr<int64_t>(int32_t)> visit) {
  int32_t first = 0, end = count;
  while (first < end) {
    int32_t middle = first + (end - first) / 2;
    FailureOr<int64_t> peakBytes = visit(middle);
    if (failed(peakBytes))
      return failure();
    if (*peakBytes <= bytes)
      end = middle;
    else
      first = middle + 1;
  }
  return success();
}

LogicalResult PartitionTrials::visitAround(int64_t bytes,
                                           MeasureTrial measure) {
  if (fixed)
    return visitAll(measure);
  // A price that is too high has so much computed again at once that the peak
  // rises, so that bisection would go astray.
  constexpr int32_t step = 4;
  std::optional<int32_t> first;
  for (int32_t index = 0; index < getNumPrices(*graph); index += step) {
    FailureOr<int64_t> peakBytes = visitPrice(index, measure);
    if (failed(peakBytes))
      return failure();
    if (!first && *peakBytes <= bytes)
      first = index;
  }
  for (int32_t before = 1; first && before < std::min(step, *first); ++before)
    if (failed(visitPrice(*first - before, measure)))
      return failure();
  return bisect(numRungs, bytes,
                [&](int32_t index) { return visitRung(index, measure); });
}

std::vector<const PartitionTrial *> PartitionTrials::getVisited() const {
  std::vector<const PartitionTrial *> visited;
  for (const auto &[saved, variants] : trials)
    for (const PartitionTrial &trial : variants)
      visited.push_back(&trial);
  // The map is in the order of what is saved, which decides between equals.
  auto getKey = [](const PartitionTrial *trial) {
    return std::make_tuple(trial->costs.boundNs, trial->treatment.quantizes,
                           trial->treatment.offloads, trial->costs.peakBytes);
  };
  llvm::stable_sort(visited,
                    [&](const PartitionTrial *a, const PartitionTrial *b) {
                      return getKey(a) < getKey(b);
                    });
  return visited;
}
