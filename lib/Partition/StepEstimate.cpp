//===- StepEstimate.cpp - Memory and time of a partition ------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Partition/StepEstimate.h"

#include <algorithm>

using namespace mlir::commsched;
using namespace mlir::commsched::partition;

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
