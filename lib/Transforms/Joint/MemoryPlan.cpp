//===- MemoryPlan.cpp - Partitions by the price of memory -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/Dialect/CommSchedAttributes.h"
#include "CommSched/Interfaces/CommSchedInterfaces.h"
#include "CommSched/Partition/PricedCut.h"
#include "CommSched/Partition/SavedValues.h"
#include "CommSched/Support/Unlimited.h"
#include "MemorySearch.h"
#include "PartitionPlan.h"
#include "SavedValues.h"
#include "mlir/IR/Threading.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/MathExtras.h"

#include <set>

using namespace mlir;
using namespace mlir::commsched;
using partition::CollectivePolicy;
using partition::JointGraph;
using partition::NodeId;
using partition::Split;

//===----------------------------------------------------------------------===//
// Prices
//===----------------------------------------------------------------------===//

/// A price rises in steps: one share of the forward after the other.
static constexpr int32_t numShares = 64;

bool PartitionList::isSmall() const {
  constexpr int32_t mostNodes = 256;
  return joint->getGraph().size() <= mostNodes;
}

bool PartitionList::isTiny() const {
  constexpr int32_t mostNodes = 64;
  return joint->getGraph().size() <= mostNodes;
}

bool PartitionList::isLarge() const {
  constexpr int32_t leastNodes = 1 << 14;
  return joint->getGraph().size() >= leastNodes;
}

/// The prices of memory: nothing, then 16 ns/MiB and so on by a factor of about
/// the square root of 2. Of large functions, up to 256 us/MiB, for which a link
/// of 4 GB/s would move a value twice; of small ones to where nanoseconds buy
/// single bytes.
int32_t PartitionList::getNumPrices() const { return isSmall() ? 66 : 30; }

static int64_t getPricePerMiB(int32_t index) {
  if (index == 0)
    return 0;
  int32_t step = index - 1;
  int64_t price = int64_t(16) << (step / 2);
  // 181 / 128 is the square root of 2, as near as that.
  return step % 2 == 0 ? price : price / 16 * 181 / 8;
}

/// What `bytes` cost at that price, at most `most`.
static int64_t getPrice(int64_t bytes, int64_t pricePerMiB, int64_t most) {
  int64_t ns = 0;
  if (llvm::MulOverflow(bytes, pricePerMiB, ns))
    return most;
  return std::min(ns >> 20, most);
}

/// By node: the share of the bytes of the forward that come before it.
static std::vector<int32_t>
divideForward(const JointGraph &graph,
              const partition::Classification &classes) {
  auto getBytes = [&](NodeId node) {
    return classes.requiredForward[node] && !graph.isArgument(node)
               ? graph[node].bytes
               : 0;
  };
  int64_t total = 1;
  for (NodeId node = 0; node < graph.size(); ++node)
    total += getBytes(node);
  std::vector<int32_t> shares;
  int64_t before = 0;
  for (NodeId node = 0; node < graph.size(); ++node) {
    // A sum of bytes fits, a multiple of it need not.
    shares.push_back(static_cast<int32_t>(
        static_cast<double>(before) / static_cast<double>(total) * numShares));
    before += getBytes(node);
  }
  return shares;
}

//===----------------------------------------------------------------------===//
// Families
//===----------------------------------------------------------------------===//

/// By node: the stream that a collective runs on, from 0, and -1 for what
/// computes.
static std::vector<int32_t> findStreams(const JointFunction &joint) {
  llvm::MapVector<Attribute, int32_t> streams;
  std::vector<int32_t> result;
  for (NodeId node = 0; node < joint.getGraph().size(); ++node) {
    auto start =
        dyn_cast_or_null<CollectiveOpInterface>(joint.getOperation(node));
    if (!start) {
      result.push_back(-1);
      continue;
    }
    auto next = static_cast<int32_t>(streams.size());
    result.push_back(streams.insert({getStreamKey(start), next}).first->second);
  }
  return result;
}

void PartitionList::addFamilies(CollectivePolicy policy) {
  auto gathers = std::make_unique<Gathers>();
  gathers->policy = policy;
  gathers->graph = std::make_unique<JointGraph>(joint->getGraph());
  JointGraph &graph = *gathers->graph;
  if (policy == CollectivePolicy::Cost)
    priceGathers(graph, *classes);
  settlePolicies(graph, *classes, policy);
  const char *name = policy == CollectivePolicy::Save   ? "gathers kept"
                     : policy == CollectivePolicy::Cost ? "gathers by cost"
                                                        : "gathers repeated";
  auto size = static_cast<size_t>(graph.size());
  families.push_back({gathers.get(), name, std::vector<char>(size, 0)});
  int64_t bytes = computeForwardBytes(graph, *classes);
  for (int32_t parts : {128, 64, 32, 16, 8, 4})
    families.push_back({gathers.get(),
                        (Twine(name) + ", segments of 1/" + Twine(parts)).str(),
                        findSegmentInputs(graph, *classes, bytes / parts)});
  treatments.push_back(std::move(gathers));
}

FailureOr<PartitionList> PartitionList::create(const JointFunction &joint,
                                               CollectivePolicy collectives) {
  PartitionList list(joint);
  const JointGraph &graph = joint.getGraph();
  list.estimator =
      std::make_unique<partition::StepEstimator>(graph, findStreams(joint));
  if (joint.getFunction()->hasAttr(savedValuesAttrName)) {
    FailureOr<Split> split = splitAtSavedValues(joint);
    if (failed(split))
      return failure();
    list.fixed = list.add(savedValuesAttrName.str(), CollectivePolicy::Cost,
                          std::move(*split));
    return list;
  }
  FailureOr<partition::Classification> classes = unwrap(joint, classify(graph));
  if (failed(classes))
    return failure();
  list.classes =
      std::make_unique<partition::Classification>(std::move(*classes));
  list.shares = divideForward(graph, *list.classes);
  SmallVector<CollectivePolicy> policies = {collectives};
  bool hasGathers = llvm::is_contained(list.classes->isGatheredParameter, 1);
  if (collectives == CollectivePolicy::Cost && hasGathers)
    policies = {CollectivePolicy::Save, CollectivePolicy::Cost,
                CollectivePolicy::Recompute};
  for (CollectivePolicy policy : policies)
    list.addFamilies(policy);
  return list;
}

//===----------------------------------------------------------------------===//
// The list
//===----------------------------------------------------------------------===//

partition::TreatmentPrices PartitionList::getPrices(const Family &family,
                                                    int32_t level) const {
  const JointGraph &graph = *family.gathers->graph;
  int64_t most = (int64_t(1) << 61) / std::max(graph.size(), 1);
  int64_t lowPrice = getPricePerMiB(level / numShares);
  int64_t highPrice = getPricePerMiB(level / numShares + 1);
  bool keepsCollectives = family.gathers->policy == CollectivePolicy::Save;
  partition::TreatmentPrices prices;
  for (NodeId node = 0; node < graph.size(); ++node) {
    bool isRaised = shares[node] < level % numShares;
    prices.saveNs.push_back(
        getPrice(graph[node].bytes, isRaised ? highPrice : lowPrice, most));
    bool isKept = (keepsCollectives &&
                   graph[node].operatorClass == OperatorClass::Collective) ||
                  family.isInput[node];
    prices.repeatNs.push_back(isKept ? most : std::min(graph[node].cost, most));
  }
  return prices;
}

const ListedPartition *
PartitionList::add(std::string origin, CollectivePolicy gathers, Split split) {
  auto [it, isNew] = partitions.try_emplace(split.saved);
  if (isNew) {
    partition::StepEstimate estimate = estimator->estimate(split);
    it->second = {std::move(origin), gathers, std::move(split), estimate};
  }
  return &it->second;
}

/// Other families may be solved meanwhile.
FailureOr<const PartitionList::SolvedCut *>
PartitionList::solve(Family &family, int32_t level) const {
  if (auto it = family.solved.find(level); it != family.solved.end())
    return &it->second;
  const JointGraph &graph = *family.gathers->graph;
  FailureOr<std::vector<NodeId>> saved =
      unwrap(*joint, solvePricedCut(graph, *classes, getPrices(family, level)));
  if (failed(saved))
    return failure();
  FailureOr<Split> split =
      unwrap(*joint, splitAtStorages(graph, *saved, /*allowCollectives=*/true));
  if (failed(split))
    return failure();
  partition::StepEstimate estimate = estimator->estimate(*split);
  SolvedCut &cut = family.solved[level];
  cut = {std::move(*split), estimate};
  return &cut;
}

FailureOr<const ListedPartition *> PartitionList::get(Family &family,
                                                      int32_t level) {
  if (auto it = family.byLevel.find(level); it != family.byLevel.end())
    return it->second;
  FailureOr<const SolvedCut *> cut = solve(family, level);
  if (failed(cut))
    return failure();
  std::string origin =
      ("memory at " + Twine(getPricePerMiB(level / numShares)) + " ns/MiB" +
       (level % numShares == 0 ? Twine("")
                               : ", raised for " + Twine(level % numShares) +
                                     " of " + Twine(numShares) + " shares") +
       ", " + family.name)
          .str();
  const ListedPartition *result =
      add(std::move(origin), family.gathers->policy, (*cut)->split);
  family.byLevel[level] = result;
  return result;
}

/// Adds rungs of the ladder of commsched-partition-joint: those without a
/// knapsack, and every tenth fraction.
LogicalResult PartitionList::addLadder(const Gathers &gathers) {
  using partition::SavedValuesLadder;
  partition::SavedValuesOptions options;
  options.cut.repeatGathers = gathers.policy == CollectivePolicy::Cost;
  FailureOr<SavedValuesLadder> ladder = unwrap(
      *joint, SavedValuesLadder::create(*gathers.graph, *classes, options));
  if (failed(ladder))
    return failure();
  constexpr int32_t first = SavedValuesLadder::firstKnapsack;
  constexpr int32_t stride = SavedValuesLadder::numSteps / 10;
  for (int32_t rung = 0; rung < SavedValuesLadder::size();
       rung += rung + 1 < first ? 1 : stride) {
    FailureOr<Split> split = unwrap(*joint, ladder->solve(rung));
    if (failed(split))
      return failure();
    add("rung " + std::to_string(rung) + " of the ladder", gathers.policy,
        std::move(*split));
  }
  return success();
}

std::vector<const ListedPartition *> PartitionList::findBestEstimates() const {
  std::vector<const ListedPartition *> best;
  for (const auto &[saved, listed] : partitions)
    best.push_back(&listed);
  auto getKey = [](const ListedPartition *it) {
    return std::make_pair(it->estimate.timeNs, it->estimate.peakBytes);
  };
  llvm::stable_sort(best,
                    [&](const ListedPartition *a, const ListedPartition *b) {
                      return getKey(a) < getKey(b);
                    });
  int64_t leastBytes = unlimited;
  llvm::erase_if(best, [&](const ListedPartition *it) {
    bool isBeaten = it->estimate.peakBytes >= leastBytes;
    leastBytes = std::min(leastBytes, it->estimate.peakBytes);
    return isBeaten;
  });
  return best;
}

/// Adds the partition that saves `node` as well, or not any more if `listed`
/// does, unless there is none or its estimate is no better than that of one of
/// `best`.
void PartitionList::addNeighbor(const ListedPartition &listed, NodeId node,
                                ArrayRef<const ListedPartition *> best) {
  std::vector<NodeId> saved = listed.split.saved;
  auto it = llvm::lower_bound(saved, node);
  if (it != saved.end() && *it == node)
    saved.erase(it);
  else
    saved.insert(it, node);
  partition::PartitionResult<Split> result =
      splitAtStorages(*treatments.front()->graph, saved,
                      /*allowCollectives=*/true);
  auto *split = std::get_if<Split>(&result);
  if (!split || partitions.count(split->saved) != 0)
    return;
  partition::StepEstimate estimate = estimator->estimate(*split);
  auto isAsGood = [&](const ListedPartition *other) {
    return other->estimate.timeNs <= estimate.timeNs &&
           other->estimate.peakBytes <= estimate.peakBytes;
  };
  if (llvm::none_of(best, isAsGood))
    add(listed.origin + ", changed", listed.gathers, std::move(*split));
}

/// Improves the best estimates by changes of single values: cuts by price only
/// find corners of the convex hull of time and memory.
void PartitionList::addNeighbors() {
  constexpr int32_t mostRounds = 8;
  const JointGraph &graph = joint->getGraph();
  std::set<const ListedPartition *> visited;
  for (int32_t round = 0; round < mostRounds; ++round) {
    std::vector<const ListedPartition *> best = findBestEstimates();
    bool isNew = false;
    for (const ListedPartition *listed : best) {
      if (!visited.insert(listed).second)
        continue;
      isNew = true;
      for (NodeId node = 0; node < graph.size(); ++node)
        if (graph[node].isSaveable && !graph.isArgument(node) &&
            !classes->needsTangent[node])
          addNeighbor(*listed, node, best);
    }
    if (!isNew)
      break;
  }
}

FailureOr<std::vector<const ListedPartition *>> PartitionList::getAll() {
  if (!fixed && !std::exchange(isComplete, true)) {
    for (const std::unique_ptr<Gathers> &gathers : treatments)
      if (failed(addLadder(*gathers)))
        return failure();
    for (Family &family : families)
      for (int32_t level = 0; level <= (getNumPrices() - 1) * numShares;
           level += numShares / 4)
        if (failed(get(family, level)))
          return failure();
    if (isTiny())
      addNeighbors();
  }
  std::vector<const ListedPartition *> all;
  for (const auto &[saved, listed] : partitions)
    all.push_back(&listed);
  return all;
}

/// Sets `index`, which is where the search begins, to the first price of which
/// the estimate is within `bytes`, as if estimates fell with the price; to the
/// number of prices if the last one is not. O(log d) for a price that is d
/// away.
LogicalResult PartitionList::findPrice(Family &family, int64_t bytes,
                                       int32_t &index) const {
  // Up to `first` no price is within, from `end` on all are.
  int32_t first = -1, end = getNumPrices();
  int32_t stride = 1;
  for (int32_t next = std::min(index, end - 1); first + 1 < end;) {
    FailureOr<const SolvedCut *> cut = solve(family, next * numShares);
    if (failed(cut))
      return failure();
    bool isWithin = (*cut)->estimate.peakBytes <= bytes;
    (isWithin ? end : first) = next;
    bool isBracketed = first >= 0 && end < getNumPrices();
    next = isBracketed ? first + (end - first) / 2
           : isWithin  ? std::max(end - stride, 0)
                       : std::min(first + stride, getNumPrices() - 1);
    stride *= 2;
  }
  index = end;
  return success();
}

/// findPrice() for each family. That of the first one says where to begin with
/// the others.
FailureOr<std::vector<int32_t>> PartitionList::findPrices(int64_t bytes) {
  int32_t index = getNumPrices() / 2;
  if (failed(findPrice(families.front(), bytes, index)))
    return failure();
  std::vector<int32_t> prices(families.size(), index);
  MLIRContext *context = joint->getFunction().getContext();
  if (failed(
          failableParallelForEachN(context, 1, families.size(), [&](size_t i) {
            return findPrice(families[i], bytes, prices[i]);
          })))
    return failure();
  return prices;
}

/// Sets `level`, that of a price, to the first between the price in front of it
/// and that one of which the estimate is within `bytes`.
LogicalResult PartitionList::findShare(Family &family, int64_t bytes,
                                       int32_t &level) const {
  for (int32_t first = std::max(level - numShares, 0); first < level;) {
    int32_t middle = first + (level - first) / 2;
    FailureOr<const SolvedCut *> cut = solve(family, middle);
    if (failed(cut))
      return failure();
    if ((*cut)->estimate.peakBytes <= bytes)
      level = middle;
    else
      first = middle + 1;
  }
  return success();
}

/// The time within `bytes` between two partitions, the first of which is not
/// within, in nanoseconds.
static double interpolate(const partition::StepEstimate &above,
                          const partition::StepEstimate &within,
                          int64_t bytes) {
  auto range = static_cast<double>(above.peakBytes - within.peakBytes);
  double share = static_cast<double>(bytes - within.peakBytes) / range;
  return static_cast<double>(within.timeNs) +
         share * static_cast<double>(above.timeNs - within.timeNs);
}

FailureOr<std::vector<const ListedPartition *>>
PartitionList::getAround(int64_t bytes) {
  if (fixed)
    return std::vector<const ListedPartition *>{fixed};
  // By time, which is compared as an integer: families with about the same are
  // in their order.
  std::vector<std::tuple<int64_t, size_t, int32_t>> promising;
  const ListedPartition *least = nullptr;
  FailureOr<std::vector<int32_t>> prices = findPrices(bytes);
  if (failed(prices))
    return failure();
  for (auto [i, index] : llvm::enumerate(*prices)) {
    Family &family = families[i];
    int32_t last = std::min(index, getNumPrices() - 1);
    const ListedPartition *within = *get(family, last * numShares);
    if (!least || within->estimate.peakBytes < least->estimate.peakBytes)
      least = within;
    if (index == getNumPrices())
      continue;
    double timeNs = static_cast<double>(within->estimate.timeNs);
    if (index > 0)
      timeNs = interpolate((*get(family, (index - 1) * numShares))->estimate,
                           within->estimate, bytes);
    promising.push_back({std::llround(timeNs), i, index});
  }
  if (promising.empty())
    return std::vector<const ListedPartition *>{least};
  constexpr size_t mostFamilies = 3;
  llvm::sort(promising);
  if (promising.size() > mostFamilies)
    promising.resize(mostFamilies);
  SmallVector<int32_t> levels;
  for (const auto &[timeNs, i, price] : promising)
    levels.push_back(price * numShares);
  MLIRContext *context = joint->getFunction().getContext();
  if (failed(
          failableParallelForEachN(context, 0, promising.size(), [&](size_t i) {
            return findShare(families[std::get<1>(promising[i])], bytes,
                             levels[i]);
          })))
    return failure();
  std::vector<const ListedPartition *> around;
  for (auto [entry, level] : llvm::zip_equal(promising, levels)) {
    FailureOr<const ListedPartition *> listed =
        get(families[std::get<1>(entry)], level);
    if (failed(listed))
      return failure();
    if (!llvm::is_contained(around, *listed))
      around.push_back(*listed);
  }
  llvm::stable_sort(
      around, [](const ListedPartition *a, const ListedPartition *b) {
        return std::make_pair(a->estimate.timeNs, a->estimate.peakBytes) <
               std::make_pair(b->estimate.timeNs, b->estimate.peakBytes);
      });
  return around;
}
