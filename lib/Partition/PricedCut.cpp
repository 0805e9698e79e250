//===- PricedCut.cpp - Saved values by price ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/Partition/PricedCut.h"

#include "FlowNetwork.h"

#include <algorithm>

using namespace mlir::commsched;
using namespace mlir::commsched::partition;

/// Why nodes may not be computed again whatever they cost.
static std::vector<BanReason> findHardBans(const JointGraph &graph,
                                           const Classification &classes) {
  CutOptions options;
  options.banRecomputeUsedFarApart = false;
  options.banRecomputeLongFusibleChains = false;
  options.repeatGathers = true;
  std::vector<BanReason> bans = findBans(graph, classes, options);
  for (BanReason &ban : bans)
    if (!isHard(ban))
      ban = BanReason::None;
  return bans;
}

static int64_t getSaveWeight(const JointNode &node, BanReason ban,
                             int64_t price) {
  if (!node.isSaveable)
    return FlowNetwork::unbounded;
  if (node.kind == JointNodeKind::Primal && !node.isFreeable)
    return 0;
  // But for what the user has saved or keeps in the forward.
  if (isFreeToRepeat(node) && ban == BanReason::None)
    return FlowNetwork::unbounded;
  return price;
}

static int64_t getRepeatWeight(const JointNode &node, BanReason ban,
                               int64_t price) {
  if (ban != BanReason::None)
    return FlowNetwork::unbounded;
  return node.kind == JointNodeKind::Result ? 0 : price;
}

PartitionResult<std::vector<NodeId>>
partition::solvePricedCut(const JointGraph &graph,
                          const Classification &classes,
                          const TreatmentPrices &prices) {
  std::vector<BanReason> bans = findHardBans(graph, classes);
  CutWeights weights;
  for (NodeId node = 0; node < graph.size(); ++node) {
    weights.save.push_back(
        getSaveWeight(graph[node], bans[node], prices.saveNs[node]));
    weights.repeat.push_back(
        getRepeatWeight(graph[node], bans[node], prices.repeatNs[node]));
  }
  return solveCut(graph, classes, bans, weights);
}

//===----------------------------------------------------------------------===//
// Segments
//===----------------------------------------------------------------------===//

namespace {

/// The storages that the forward makes, by where it makes and reads them.
class ForwardStorages {
public:
  ForwardStorages(const JointGraph &graph, const Classification &classes);

  /// Whether `node` is a value that the forward makes.
  bool isMade(NodeId node) const {
    return classes.requiredForward[node] && !graph.isArgument(node) &&
           !classes.isGatheredParameter[node] && graph[node].bytes > 0;
  }
  /// The value that stands for the storage of `node`: the first one in it.
  NodeId getFirst(NodeId node) const { return first[node]; }
  /// The last node of the forward that reads the storage of that first value.
  NodeId getLastUse(NodeId firstValue) const { return lastUse[firstValue]; }
  int64_t getBytes(NodeId firstValue) const { return graph[firstValue].bytes; }

private:
  const JointGraph &graph;
  const Classification &classes;
  /// By node.
  std::vector<NodeId> first;
  std::vector<NodeId> lastUse;
};

} // namespace

ForwardStorages::ForwardStorages(const JointGraph &graph,
                                 const Classification &classes)
    : graph(graph), classes(classes),
      first(static_cast<size_t>(graph.size()), noNode),
      lastUse(static_cast<size_t>(graph.size()), noNode) {
  std::vector<NodeId> byStorage;
  for (NodeId node = 0; node < graph.size(); ++node) {
    if (!isMade(node))
      continue;
    int32_t storage = graph[node].storage;
    first[node] = node;
    if (storage >= 0) {
      if (static_cast<size_t>(storage) >= byStorage.size())
        byStorage.resize(static_cast<size_t>(storage) + 1, noNode);
      if (byStorage[storage] == noNode)
        byStorage[storage] = node;
      first[node] = byStorage[storage];
    }
    NodeId &last = lastUse[first[node]];
    last = std::max(last, node);
    for (NodeId user : graph.getUsers(node))
      if (classes.requiredForward[user])
        last = std::max(last, user);
  }
}

int64_t partition::computeForwardBytes(const JointGraph &graph,
                                       const Classification &classes) {
  ForwardStorages storages(graph, classes);
  int64_t total = 0;
  for (NodeId node = 0; node < graph.size(); ++node)
    if (storages.getFirst(node) == node)
      total += graph[node].bytes;
  return total;
}

/// By node, whether a segment ends right behind it.
static std::vector<char> findSegmentEnds(const JointGraph &graph,
                                         const ForwardStorages &storages,
                                         int64_t segmentBytes) {
  auto size = static_cast<size_t>(graph.size());
  // By node: the bytes that become live and that end there.
  std::vector<int64_t> ended(size, 0);
  std::vector<char> isEnd(size, 0);
  int64_t madeBytes = 0, crossingBytes = 0, leastBytes = 0;
  NodeId best = noNode;
  // What was made behind `best`.
  int64_t restBytes = 0;
  for (NodeId node = 0; node < graph.size(); ++node) {
    if (storages.getFirst(node) == node) {
      int64_t bytes = storages.getBytes(node);
      if (best != noNode && madeBytes + bytes > segmentBytes) {
        isEnd[best] = 1;
        madeBytes = restBytes;
        best = noNode;
      }
      madeBytes += bytes;
      restBytes += bytes;
      crossingBytes += bytes;
      ended[storages.getLastUse(node)] += bytes;
    }
    crossingBytes -= ended[node];
    // The results of an operation stay with it.
    bool isInside = node + 1 < graph.size() &&
                    graph[node + 1].kind == JointNodeKind::Result;
    if (isInside || madeBytes < segmentBytes / 2 ||
        (best != noNode && crossingBytes > leastBytes))
      continue;
    best = node;
    leastBytes = crossingBytes;
    restBytes = 0;
  }
  return isEnd;
}

std::vector<char> partition::findSegmentInputs(const JointGraph &graph,
                                               const Classification &classes,
                                               int64_t segmentBytes) {
  ForwardStorages storages(graph, classes);
  std::vector<char> isEnd = findSegmentEnds(graph, storages, segmentBytes);
  // By node: how many segments end in front of it.
  std::vector<int32_t> segment;
  segment.reserve(isEnd.size());
  int32_t count = 0;
  for (char end : isEnd) {
    segment.push_back(count);
    count += end;
  }
  std::vector<char> isInput(isEnd.size(), 0);
  for (NodeId node = 0; node < graph.size(); ++node) {
    NodeId first = storages.getFirst(node);
    isInput[node] = first != noNode && !isFreeToRepeat(graph[node]) &&
                    segment[storages.getLastUse(first)] > segment[first];
  }
  return isInput;
}

//===----------------------------------------------------------------------===//
// Order
//===----------------------------------------------------------------------===//

static NodeId findFirstTangentUser(const JointGraph &graph) {
  for (NodeId node = 0; node < graph.size(); ++node)
    for (NodeId operand : graph.getOperands(node))
      if (graph[operand].kind == JointNodeKind::Tangent)
        return node;
  return graph.size();
}

std::vector<NodeId> partition::getBackwardOrder(const JointGraph &graph,
                                                const Split &split) {
  // By operation: what it comes right before, itself if nothing needs it.
  std::vector<NodeId> turns(graph.size());
  NodeId firstBackward = findFirstTangentUser(graph);
  for (NodeId node = graph.size() - 1; node >= 0; --node) {
    turns[node] = node;
    if (node >= firstBackward)
      continue;
    NodeId first = graph.size();
    for (NodeId user : graph.getUsers(node))
      if (split.inBackward[graph.getOperation(user)])
        first = std::min(first, turns[user]);
    if (first < graph.size())
      turns[node] = first;
  }
  Csr<NodeId> byTurn;
  auto size = static_cast<size_t>(graph.size());
  byTurn.build(
      size, size,
      [&](size_t node) {
        auto id = static_cast<NodeId>(node);
        bool isRun = graph[id].kind == JointNodeKind::Operation &&
                     split.inBackward[node];
        return isRun ? turns[node] : -1;
      },
      [](size_t node) { return static_cast<NodeId>(node); });
  std::vector<NodeId> order;
  for (NodeId turn = 0; turn < graph.size(); ++turn)
    order.insert(order.end(), byTurn[turn].begin(), byTurn[turn].end());
  return order;
}

//===----------------------------------------------------------------------===//
// StepEstimator
//===----------------------------------------------------------------------===//

StepEstimator::StepEstimator(const JointGraph &graph,
                             std::vector<int32_t> streams)
    : graph(graph), streams(std::move(streams)) {
  for (int32_t stream : this->streams)
    numStreams = std::max(numStreams, stream + 1);
  int32_t numStorages = 0;
  for (NodeId node = 0; node < graph.size(); ++node)
    numStorages = std::max(numStorages, graph[node].storage + 1);
  storages.reserve(static_cast<size_t>(graph.size()));
  for (NodeId node = 0; node < graph.size(); ++node) {
    bool hasOwn = graph[node].storage < 0 && graph[node].bytes > 0;
    storages.push_back(hasOwn ? numStorages++ : graph[node].storage);
  }
  bytes.assign(static_cast<size_t>(numStorages), 0);
  for (NodeId node = 0; node < graph.size(); ++node)
    if (int32_t storage = storages[node]; storage >= 0)
      bytes[storage] = std::max(bytes[storage], graph[node].bytes);
}

/// One half of a partition, by storage.
class StepEstimator::Half {
public:
  explicit Half(const StepEstimator &estimator)
      : estimator(estimator), lastUse(estimator.bytes.size(), never),
        isLive(estimator.bytes.size(), 0) {}

  /// For before run(): a storage is there from the start, and stays until
  /// nothing reads it any more.
  void enter(NodeId node) {
    int32_t storage = estimator.storages[node];
    if (storage < 0 || isLive[storage])
      return;
    isLive[storage] = 1;
    liveBytes += estimator.bytes[storage];
    entered.push_back(storage);
  }
  /// For before run(): a storage stays to the end once it is there.
  void keep(NodeId node) {
    if (int32_t storage = estimator.storages[node]; storage >= 0)
      lastUse[storage] = always;
  }
  /// Runs operations in that order.
  void run(const std::vector<NodeId> &order);

  int64_t peakBytes = 0;
  int64_t timeNs = 0;

private:
  static constexpr int32_t never = -1;
  static constexpr int32_t always = INT32_MAX;

  template <typename Visit>
  void forEachStorage(NodeId operation, Visit visit) const;
  void findLastUses(const std::vector<NodeId> &order);
  void leave(int32_t storage) {
    isLive[storage] = 0;
    liveBytes -= estimator.bytes[storage];
  }

  const StepEstimator &estimator;
  /// The index of the last operation that touches it.
  std::vector<int32_t> lastUse;
  std::vector<char> isLive;
  std::vector<int32_t> entered;
  int64_t liveBytes = 0;
};

/// Calls `visit` with the storage of each value that `operation` reads or
/// makes.
template <typename Visit>
void StepEstimator::Half::forEachStorage(NodeId operation, Visit visit) const {
  const JointGraph &graph = estimator.graph;
  auto visitNode = [&](NodeId node) {
    if (int32_t storage = estimator.storages[node]; storage >= 0)
      visit(storage);
  };
  for (NodeId operand : graph.getOperands(operation))
    visitNode(operand);
  visitNode(operation);
  for (NodeId result = operation + 1;
       result < graph.size() && graph[result].kind == JointNodeKind::Result;
       ++result)
    visitNode(result);
}

void StepEstimator::Half::findLastUses(const std::vector<NodeId> &order) {
  for (size_t i = 0; i < order.size(); ++i)
    forEachStorage(order[i], [&](int32_t storage) {
      lastUse[storage] = std::max(lastUse[storage], static_cast<int32_t>(i));
    });
}

void StepEstimator::Half::run(const std::vector<NodeId> &order) {
  findLastUses(order);
  peakBytes = liveBytes;
  for (int32_t storage : entered)
    if (lastUse[storage] == never)
      leave(storage);
  std::vector<int64_t> busyNs(static_cast<size_t>(estimator.numStreams) + 1, 0);
  for (size_t i = 0; i < order.size(); ++i) {
    forEachStorage(order[i], [&](int32_t storage) {
      if (isLive[storage])
        return;
      isLive[storage] = 1;
      liveBytes += estimator.bytes[storage];
    });
    peakBytes = std::max(peakBytes, liveBytes);
    forEachStorage(order[i], [&](int32_t storage) {
      if (isLive[storage] && lastUse[storage] == static_cast<int32_t>(i))
        leave(storage);
    });
    busyNs[estimator.streams[order[i]] + 1] += estimator.graph[order[i]].cost;
  }
  timeNs = *std::max_element(busyNs.begin(), busyNs.end());
}

StepEstimate StepEstimator::estimate(const Split &split) const {
  Half forward(*this), backward(*this);
  std::vector<NodeId> forwardOrder;
  for (NodeId node = 0; node < graph.size(); ++node) {
    const JointNode &data = graph[node];
    if (data.kind == JointNodeKind::Primal) {
      forward.enter(node);
      if (!data.isFreeable) {
        forward.keep(node);
        backward.enter(node);
        backward.keep(node);
      }
    } else if (isBackwardArgument(data.kind)) {
      backward.enter(node);
    } else if (data.kind == JointNodeKind::Operation && split.inForward[node]) {
      forwardOrder.push_back(node);
    }
  }
  for (NodeId value : graph.getForwardResults()) {
    forward.keep(value);
    backward.enter(value);
    backward.keep(value);
  }
  for (NodeId value : split.saved) {
    forward.keep(value);
    backward.enter(value);
  }
  for (NodeId value : graph.getBackwardResults())
    backward.keep(value);
  forward.run(forwardOrder);
  backward.run(getBackwardOrder(graph, split));
  return {std::max(forward.peakBytes, backward.peakBytes),
          forward.timeNs + backward.timeNs};
}
