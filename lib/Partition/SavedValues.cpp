//===- SavedValues.cpp - Choice of saved values ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/Partition/SavedValues.h"

#include <algorithm>
#include <iterator>
#include <unordered_set>
#include <utility>

using namespace mlir::commsched;
using namespace mlir::commsched::partition;

namespace {

// Products of two 64-bit numbers.
__extension__ using Wide = unsigned __int128;

constexpr int64_t maxSteps = 10'000;

/// An item whose size is counted in steps.
struct Candidate {
  int32_t index;
  /// Between 1 and the capacity.
  int64_t steps;
  /// Positive.
  int64_t gain;
};

using Row = std::vector<int64_t>;

/// Chooses among the candidates in [begin, end) for a capacity, and appends
/// what is chosen in ascending order.
class StepSolver {
public:
  StepSolver(const std::vector<Candidate> &candidates,
             std::vector<int32_t> &chosen)
      : candidates(candidates), chosen(chosen) {}

  void solve(size_t begin, size_t end, int64_t capacity);

private:
  /// By capacity up to `capacity`: the most gain from [begin, end).
  void computeGains(size_t begin, size_t end, int64_t capacity, Row &gains);

  const std::vector<Candidate> &candidates;
  std::vector<int32_t> &chosen;
  Row earlierGains;
  Row laterGains;
  Row nextGains;
};

} // namespace

void StepSolver::computeGains(size_t begin, size_t end, int64_t capacity,
                              Row &gains) {
  gains.assign(capacity + 1, 0);
  nextGains.resize(capacity + 1);
  for (size_t i = begin; i < end; ++i) {
    auto [index, steps, gain] = candidates[i];
    if (steps > capacity)
      continue;
    std::copy_n(gains.begin(), steps, nextGains.begin());
    for (int64_t used = steps; used <= capacity; ++used)
      nextGains[used] = std::max(gains[used], gains[used - steps] + gain);
    gains.swap(nextGains);
  }
}

void StepSolver::solve(size_t begin, size_t end, int64_t capacity) {
  int64_t sum = 0;
  for (size_t i = begin; i < end && sum <= capacity; ++i)
    sum += candidates[i].steps;
  if (sum <= capacity) {
    for (size_t i = begin; i < end; ++i)
      chosen.push_back(candidates[i].index);
    return;
  }
  if (end - begin == 1)
    return;
  size_t middle = begin + (end - begin) / 2;
  const Row &earlier = earlierGains;
  const Row &later = laterGains;
  computeGains(begin, middle, capacity, earlierGains);
  computeGains(middle, end, capacity, laterGains);
  int64_t most = 0;
  for (int64_t used = 0; used <= capacity; ++used)
    most = std::max(most, earlier[capacity - used] + later[used]);
  // The fewest steps that gain that much, and of these the fewest for the later
  // half. What the earlier half needs only falls as the later one gets more.
  int64_t fewestEarlier = capacity;
  int64_t fewestLater = capacity;
  int64_t needed = capacity;
  for (int64_t used = 0; used <= capacity; ++used) {
    if (earlier[needed] + later[used] < most)
      continue;
    while (needed > 0 && earlier[needed - 1] + later[used] >= most)
      --needed;
    if (needed + used < fewestEarlier + fewestLater) {
      fewestEarlier = needed;
      fewestLater = used;
    }
  }
  solve(begin, middle, fewestEarlier);
  solve(middle, end, fewestLater);
}

/// The items that gain anything, those with the most gain per byte first.
static std::vector<int32_t>
sortByDensity(const std::vector<KnapsackItem> &items) {
  std::vector<int32_t> order;
  for (size_t i = 0; i < items.size(); ++i)
    if (items[i].gain > 0)
      order.push_back(static_cast<int32_t>(i));
  std::sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
    Wide left = Wide(items[a].gain) * Wide(items[b].bytes);
    Wide right = Wide(items[b].gain) * Wide(items[a].bytes);
    return left != right ? left > right : a < b;
  });
  return order;
}

/// The longest run of the densest items that fits, ascending: the most that can
/// be gained but for a part of the next one, and never less for more capacity.
static std::vector<int32_t> takeDensest(const std::vector<KnapsackItem> &items,
                                        int64_t capacityBytes) {
  std::vector<int32_t> order = sortByDensity(items);
  size_t length = 0;
  for (int64_t left = capacityBytes;
       length < order.size() && items[order[length]].bytes <= left; ++length)
    left -= items[order[length]].bytes;
  order.resize(length);
  std::sort(order.begin(), order.end());
  return order;
}

/// By dynamic programming over sizes in steps, ascending.
static std::vector<int32_t>
chooseBySteps(const std::vector<KnapsackItem> &items, int64_t capacityBytes) {
  bool isExact = capacityBytes <= maxSteps;
  std::vector<int32_t> chosen;
  std::vector<Candidate> candidates;
  for (size_t i = 0; i < items.size(); ++i) {
    auto [bytes, gain] = items[i];
    int32_t index = static_cast<int32_t>(i);
    if (gain == 0 || bytes > capacityBytes)
      continue;
    if (bytes == 0) {
      chosen.push_back(index);
      continue;
    }
    // Rounding the same size up to steps of a larger capacity never gives more
    // of them, so a larger capacity never gains less.
    Wide rounded = (Wide(bytes) * maxSteps + Wide(capacityBytes - 1)) /
                   Wide(capacityBytes);
    candidates.push_back(
        {index, isExact ? bytes : static_cast<int64_t>(rounded), gain});
  }
  if (!candidates.empty())
    StepSolver(candidates, chosen)
        .solve(0, candidates.size(), std::min(capacityBytes, maxSteps));
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

static int64_t sumGains(const std::vector<KnapsackItem> &items,
                        const std::vector<int32_t> &chosen) {
  int64_t sum = 0;
  for (int32_t index : chosen)
    sum += items[index].gain;
  return sum;
}

std::vector<int32_t>
partition::solveKnapsack(const std::vector<KnapsackItem> &items,
                         int64_t capacityBytes) {
  if (capacityBytes < 0)
    return {};
  // Many small items lose more by rounding than there is to choose.
  std::vector<int32_t> bySteps = chooseBySteps(items, capacityBytes);
  std::vector<int32_t> densest = takeDensest(items, capacityBytes);
  return sumGains(items, densest) > sumGains(items, bySteps) ? densest
                                                             : bySteps;
}

std::vector<int32_t>
partition::solveKnapsackGreedily(const std::vector<KnapsackItem> &items,
                                 int64_t capacityBytes) {
  std::vector<int32_t> chosen;
  int64_t left = capacityBytes;
  for (int32_t index : sortByDensity(items)) {
    if (items[index].bytes > left)
      continue;
    left -= items[index].bytes;
    chosen.push_back(index);
  }
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

//===----------------------------------------------------------------------===//
// Storages and dimensions
//===----------------------------------------------------------------------===//

namespace {

/// Which values each half has at hand.
class Availability {
public:
  Availability(const JointGraph &graph, const Split &split)
      : graph(graph), split(split), isSaved(graph.size(), 0) {
    for (NodeId node : split.saved)
      isSaved[node] = 1;
  }

  bool isComputedIn(const std::vector<char> &half, NodeId node) const {
    return half[graph.getOperation(node)];
  }
  bool isInForward(NodeId node) const {
    return graph[node].kind == JointNodeKind::Primal ||
           isComputedIn(split.inForward, node) || isConstant(node);
  }
  bool isInBackward(NodeId node) const {
    return isSaved[node] || isBackwardArgument(graph[node].kind) ||
           isComputedIn(split.inBackward, node) || isConstant(node);
  }
  bool isSavedValue(NodeId node) const { return isSaved[node]; }

private:
  /// Whether any half can make `node` without having anything.
  bool isConstant(NodeId node) const {
    NodeId operation = graph.getOperation(node);
    return graph[operation].operatorClass == OperatorClass::Constant &&
           !graph[operation].isPinned && !graph.isArgument(operation) &&
           graph.getOperands(operation).empty();
  }

  const JointGraph &graph;
  const Split &split;
  /// By node.
  std::vector<char> isSaved;
};

} // namespace

//===----------------------------------------------------------------------===//
// Storages
//===----------------------------------------------------------------------===//

/// Returns the operand of the view `node`, if the backward can repeat the view.
static NodeId getShownValue(const JointGraph &graph, NodeId node,
                            const Availability &halves) {
  NodeId operation = graph.getOperation(node);
  const JointNode &view = graph[operation];
  if (view.operatorClass != OperatorClass::View || view.isPinned ||
      view.tag == PartitionTag::MustBeForward ||
      view.policy == RecomputePolicy::MustSave || graph[node].storage < 0)
    return noNode;
  NodeId shown = noNode;
  for (NodeId operand : graph.getOperands(operation)) {
    if (shown == noNode && graph[operand].storage == graph[node].storage)
      shown = operand;
    else if (operand != shown && !halves.isInBackward(operand))
      return noNode;
  }
  return shown;
}

std::vector<NodeId> partition::getSavedStorages(const JointGraph &graph,
                                                const Split &split) {
  Availability halves(graph, split);
  // By node: what it shows, through all views that can be taken again.
  std::vector<NodeId> base(graph.size());
  for (NodeId node = 0; node < graph.size(); ++node) {
    NodeId shown = getShownValue(graph, node, halves);
    base[node] = shown == noNode ? node : base[shown];
  }
  auto canSave = [&](NodeId node) {
    return halves.isSavedValue(node) ||
           (graph[node].isSaveable &&
            graph[node].policy != RecomputePolicy::MustRecompute &&
            halves.isInForward(node) &&
            !halves.isComputedIn(split.inBackward, node));
  };
  std::vector<NodeId> saved;
  for (NodeId node : split.saved)
    saved.push_back(canSave(base[node]) ? base[node] : node);
  std::sort(saved.begin(), saved.end());
  saved.erase(std::unique(saved.begin(), saved.end()), saved.end());
  return saved;
}

//===----------------------------------------------------------------------===//
// Dimensions
//===----------------------------------------------------------------------===//

/// Whether the forward can compute `node`, which is not in it now.
static bool canMoveToForward(const JointGraph &graph, NodeId node,
                             const Availability &halves) {
  if (graph[node].isPinned || !graph[node].isSaveable ||
      graph[node].policy == RecomputePolicy::MustRecompute ||
      graph[node].tag == PartitionTag::MustBeBackward)
    return false;
  ArrayView<NodeId> operands = graph.getOperands(node);
  return std::all_of(operands.begin(), operands.end(), [&](NodeId operand) {
    return halves.isInForward(operand);
  });
}

std::vector<NodeId> partition::getSavedDimensions(const JointGraph &graph,
                                                  const Split &split) {
  Availability halves(graph, split);
  std::vector<char> isBackwardResult(graph.size(), 0);
  for (NodeId result : graph.getBackwardResults())
    isBackwardResult[result] = 1;
  std::vector<NodeId> saved;
  for (NodeId node : split.saved) {
    ArrayView<NodeId> users = graph.getUsers(node);
    bool isOnlyMeasured =
        !isBackwardResult[node] &&
        std::all_of(users.begin(), users.end(), [&](NodeId user) {
          return !split.inBackward[user] ||
                 (graph[user].readsDimensions &&
                  canMoveToForward(graph, user, halves));
        });
    if (!isOnlyMeasured) {
      saved.push_back(node);
      continue;
    }
    std::copy_if(users.begin(), users.end(), std::back_inserter(saved),
                 [&](NodeId user) { return split.inBackward[user]; });
  }
  std::sort(saved.begin(), saved.end());
  saved.erase(std::unique(saved.begin(), saved.end()), saved.end());
  return saved;
}

PartitionResult<Split> partition::saveStorages(const JointGraph &graph,
                                               Split halves,
                                               bool allowCollectives) {
  for (auto *replace : {&getSavedDimensions, &getSavedStorages}) {
    std::vector<NodeId> saved = replace(graph, halves);
    if (saved == halves.saved)
      continue;
    PartitionResult<Split> replaced = split(graph, saved, allowCollectives);
    auto *found = std::get_if<Split>(&replaced);
    if (!found)
      return replaced;
    halves = std::move(*found);
  }
  return halves;
}

PartitionResult<Split>
partition::splitAtStorages(const JointGraph &graph,
                           const std::vector<NodeId> &saved,
                           bool allowCollectives) {
  PartitionResult<Split> result = split(graph, saved, allowCollectives);
  if (auto *halves = std::get_if<Split>(&result))
    return saveStorages(graph, std::move(*halves), allowCollectives);
  return result;
}

//===----------------------------------------------------------------------===//
// The choice of values
//===----------------------------------------------------------------------===//

PartitionResult<Split> partition::splitAsEager(const JointGraph &graph,
                                               const Classification &classes) {
  std::vector<NodeId> saved;
  for (NodeId node = 0; node < graph.size(); ++node) {
    const JointNode &data = graph[node];
    // All results of an operation are there as soon as one of them is.
    bool isForward = classes.requiredForward[graph.getOperation(node)] ||
                     data.tag == PartitionTag::Forward ||
                     data.tag == PartitionTag::MustBeForward;
    if (isForward && !classes.needsTangent[node] && data.isSaveable &&
        (data.operatorClass != OperatorClass::Constant ||
         data.policy == RecomputePolicy::MustSave || isKeptInForward(data)) &&
        !isToBeRecomputed(data))
      saved.push_back(node);
  }
  return splitAtStorages(graph, saved, /*allowCollectives=*/false);
}

//===----------------------------------------------------------------------===//
// SavedValuesLadder
//===----------------------------------------------------------------------===//

PartitionResult<SavedValuesLadder>
SavedValuesLadder::create(const JointGraph &graph,
                          const Classification &classes,
                          const SavedValuesOptions &options) {
  SavedValuesLadder ladder(graph, classes, options);
  CutOptions cut = ladder.getCutOptions(0);
  PartitionResult<Split> first =
      ladder.solveCut(cut, findBans(graph, classes, cut));
  if (auto *conflict = std::get_if<PartitionConflict>(&first))
    return *conflict;
  ladder.first = std::get<Split>(std::move(first));
  ladder.mostBytes = computeSavedBytes(graph, ladder.first.saved);
  ladder.findCandidates();
  return ladder;
}

CutOptions SavedValuesLadder::getCutOptions(int32_t rung) const {
  CutOptions cut = options.cut;
  if (rung >= 1 || options.aggressiveRecomputation) {
    cut.banRecomputeUsedFarApart = false;
    cut.banRecomputeLongFusibleChains = false;
    cut.banRecomputeMaterializedBackward = false;
  }
  if (rung >= 2 || options.aggressiveRecomputation)
    cut.banRecomputeNotInAllowlist = false;
  return cut;
}

/// Returns the capacity of the knapsack of a rung in bytes.
int64_t SavedValuesLadder::getCapacity(int32_t rung) const {
  int64_t steps = size() - 1 - rung;
  return mostBytes / numSteps * steps + mostBytes % numSteps * steps / numSteps;
}

PartitionResult<Split>
SavedValuesLadder::solveCut(const CutOptions &cut,
                            const std::vector<BanReason> &bans) const {
  PartitionResult<std::vector<NodeId>> saved =
      solveMinCut(*graph, *classes, cut, bans);
  if (auto *conflict = std::get_if<PartitionConflict>(&saved))
    return *conflict;
  return splitAtStorages(*graph, std::get<std::vector<NodeId>>(saved),
                         cut.repeatGathers);
}

/// Returns the cost of computing `node` again; a wait counts for its
/// collective.
static int64_t getRepetitionCost(const JointGraph &graph, NodeId node) {
  int64_t cost = graph[node].cost;
  if (graph[node].operatorClass == OperatorClass::Collective)
    for (NodeId operand : graph.getOperands(node))
      if (graph[operand].operatorClass == OperatorClass::Collective)
        cost += graph[operand].cost;
  return std::max<int64_t>(cost, 1);
}

void SavedValuesLadder::findCandidates() {
  std::unordered_set<int32_t> argumentStorages;
  for (NodeId node = 0; node < graph->size(); ++node)
    if (graph->isArgument(node) && (*graph)[node].storage >= 0)
      argumentStorages.insert((*graph)[node].storage);

  aggressiveBans = findBans(*graph, *classes, getCutOptions(/*rung=*/2));
  for (NodeId node = 0; node < graph->size(); ++node) {
    BanReason ban = aggressiveBans[node];
    if (ban == BanReason::None || isHard(ban) ||
        classes->distanceToBackward[node] >= Classification::far ||
        argumentStorages.count((*graph)[node].storage))
      continue;
    int64_t bytes = (*graph)[node].bytes;
    for (NodeId user : graph->getUsers(node))
      if ((*graph)[user].kind == JointNodeKind::Result)
        bytes += (*graph)[user].bytes;
    candidates.push_back({node, {bytes, getRepetitionCost(*graph, node)}});
    candidateBytes += bytes;
  }
  std::sort(candidates.begin(), candidates.end(),
            [](const Candidate &a, const Candidate &b) {
              return std::make_pair(-a.item.bytes, a.node) <
                     std::make_pair(-b.item.bytes, b.node);
            });
}

/// The bans that are left if candidates are to be saved within so many bytes.
std::vector<BanReason>
SavedValuesLadder::banWithin(int64_t capacityBytes) const {
  std::vector<KnapsackItem> items;
  for (const Candidate &candidate : candidates)
    items.push_back(candidate.item);
  std::vector<int32_t> kept = options.solver == KnapsackSolver::Greedy
                                  ? solveKnapsackGreedily(items, capacityBytes)
                                  : solveKnapsack(items, capacityBytes);
  std::vector<BanReason> bans = aggressiveBans;
  for (const Candidate &candidate : candidates)
    bans[candidate.node] = BanReason::None;
  for (int32_t index : kept)
    bans[candidates[index].node] = aggressiveBans[candidates[index].node];
  return bans;
}

PartitionResult<Split> SavedValuesLadder::solve(int32_t rung) const {
  if (rung == 0)
    return first;
  CutOptions cut = getCutOptions(rung);
  if (rung < firstKnapsack)
    return solveCut(cut, findBans(*graph, *classes, cut));
  return solveCut(cut, banWithin(getCapacity(rung)));
}
