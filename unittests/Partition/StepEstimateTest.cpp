//===- StepEstimateTest.cpp - Tests of estimates of partitions ------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Partition/StepEstimate.h"
#include "../Seeds.h"
#include "CommSched/Partition/SavedValues.h"
#include "RandomJointGraph.h"
#include "TestGraphs.h"

#include <algorithm>
#include <map>
#include <set>

using namespace mlir::commsched;
using namespace mlir::commsched::partition;
using namespace mlir::commsched::partition::testing;
using mlir::commsched::testing::Seeds;

static StepEstimate estimate(const JointGraph &graph,
                             const std::vector<NodeId> &saved) {
  Split halves =
      expectNoConflict(split(graph, saved, /*allowCollectives=*/true));
  std::vector<int32_t> streams(static_cast<size_t>(graph.size()), -1);
  return StepEstimator(graph, streams).estimate(halves);
}

TEST(StepEstimate, CountsSavedAndRepeatedValues) {
  GraphBuilder b;
  NodeId x = b.input(10), dy = b.tangent(5);
  NodeId y = b.matmul(100, {x});
  NodeId z = b.matmul(1, {y});
  NodeId dx = b.matmul(7, {y, dy});
  JointGraph graph = b.finish({z}, {dx});
  graph[y].cost = 1000;
  graph[z].cost = 100;
  graph[dx].cost = 10;
  // Either way x, y, z, dy and dx are live at the end.
  EXPECT_EQ(estimate(graph, {y}).peakBytes, 10 + 100 + 1 + 5 + 7);
  EXPECT_EQ(estimate(graph, {y}).timeNs, 1110);
  EXPECT_EQ(estimate(graph, {x}).peakBytes, 10 + 100 + 1 + 5 + 7);
  EXPECT_EQ(estimate(graph, {x}).timeNs, 2110);
}

TEST(StepEstimate, ComputesAgainWhereItIsNeeded) {
  GraphBuilder b;
  NodeId x = b.input(1), dy = b.tangent(1);
  NodeId first = b.matmul(100, {x});
  NodeId second = b.matmul(100, {x});
  NodeId y = b.matmul(1, {first, second});
  NodeId d = b.matmul(1, {first, dy});
  NodeId dx = b.matmul(1, {second, d});
  JointGraph graph = b.finish({y}, {dx});
  Split halves = expectNoConflict(split(graph, {x}, false));
  EXPECT_EQ(getBackwardOrder(graph, halves),
            (std::vector<NodeId>{first, d, second, dx}));
}

TEST(StepEstimate, TakesTheBusiestStream) {
  GraphBuilder b;
  NodeId x = b.input(1), dy = b.tangent(1);
  NodeId a = b.matmul(1, {x}, 30);
  NodeId c = b.matmul(1, {x}, 50);
  NodeId dx = b.matmul(1, {a, c, dy}, 7);
  JointGraph graph = b.finish({a, c}, {dx});
  Split halves = expectNoConflict(split(graph, {a, c}, false));
  std::vector<int32_t> streams(static_cast<size_t>(graph.size()), -1);
  EXPECT_EQ(StepEstimator(graph, streams).estimate(halves).timeNs, 87);
  streams[a] = 0;
  EXPECT_EQ(StepEstimator(graph, streams).estimate(halves).timeNs, 57);
}

namespace {

/// Live bytes by looking at all that comes later, after each operation.
class SlowEstimate {
public:
  SlowEstimate(const JointGraph &graph, const Split &halves)
      : graph(graph), halves(halves) {}

  int64_t computePeak() {
    std::vector<NodeId> forward;
    std::set<int32_t> there, kept;
    for (NodeId node = 0; node < graph.size(); ++node) {
      if (graph[node].kind == JointNodeKind::Primal)
        add(there, node);
      if (graph[node].kind == JointNodeKind::Primal && !graph[node].isFreeable)
        add(kept, node);
      if (graph[node].kind == JointNodeKind::Operation &&
          halves.inForward[node])
        forward.push_back(node);
    }
    std::set<int32_t> keptBehind = kept;
    for (NodeId value : graph.getForwardResults())
      add(keptBehind, value);
    std::set<int32_t> handedOver = keptBehind;
    for (NodeId value : halves.saved)
      add(handedOver, value);
    int64_t peak = run(forward, there, handedOver);

    there = handedOver;
    for (NodeId node = 0; node < graph.size(); ++node)
      if (isBackwardArgument(graph[node].kind))
        add(there, node);
    std::set<int32_t> end = keptBehind;
    for (NodeId value : graph.getBackwardResults())
      add(end, value);
    return std::max(peak, run(getBackwardOrder(graph, halves), there, end));
  }

private:
  /// Values without a storage have one of their own.
  int32_t getStorage(NodeId node) const {
    return graph[node].storage >= 0 ? graph[node].storage : -2 - node;
  }
  void add(std::set<int32_t> &storages, NodeId node) const {
    storages.insert(getStorage(node));
  }
  void addTouched(std::set<int32_t> &storages, NodeId operation) const {
    for (NodeId operand : graph.getOperands(operation))
      add(storages, operand);
    for (NodeId node = 0; node < graph.size(); ++node)
      if (graph.getOperation(node) == operation)
        add(storages, node);
  }
  int64_t countBytes(const std::set<int32_t> &storages) const {
    std::map<int32_t, int64_t> bytes;
    for (NodeId node = 0; node < graph.size(); ++node)
      if (storages.count(getStorage(node)) != 0)
        bytes[getStorage(node)] =
            std::max(bytes[getStorage(node)], graph[node].bytes);
    int64_t total = 0;
    for (auto [storage, count] : bytes)
      total += count;
    return total;
  }
  int64_t run(const std::vector<NodeId> &order, std::set<int32_t> live,
              const std::set<int32_t> &end) const {
    int64_t peak = countBytes(live);
    for (size_t i = 0; i <= order.size(); ++i) {
      // What nothing needs any more goes.
      std::set<int32_t> needed = end;
      for (size_t later = i; later < order.size(); ++later)
        addTouched(needed, order[later]);
      for (auto it = live.begin(); it != live.end();)
        it = needed.count(*it) != 0 ? std::next(it) : live.erase(it);
      if (i == order.size())
        break;
      addTouched(live, order[i]);
      peak = std::max(peak, countBytes(live));
    }
    return peak;
  }

  const JointGraph &graph;
  const Split &halves;
};

} // namespace

TEST(StepEstimate, AgreesWithASlowReference) {
  int32_t numChecked = 0;
  for (uint64_t seed : Seeds(3000)) {
    JointGraph graph = makeRandomJointGraph(seed);
    PartitionResult<Classification> classes = classify(graph);
    if (!std::holds_alternative<Classification>(classes))
      continue;
    // Values that are saved if that is possible, others each time.
    std::vector<NodeId> saved;
    for (NodeId node = 0; node < graph.size(); ++node)
      if (graph[node].isSaveable &&
          (seed + static_cast<uint32_t>(node)) % 3 != 0 &&
          !std::get<Classification>(classes).needsTangent[node])
        saved.push_back(node);
    PartitionResult<Split> halves = split(graph, saved, true);
    const auto *found = std::get_if<Split>(&halves);
    if (!found)
      continue;
    std::vector<int32_t> streams(static_cast<size_t>(graph.size()), -1);
    EXPECT_EQ(StepEstimator(graph, streams).estimate(*found).peakBytes,
              SlowEstimate(graph, *found).computePeak())
        << "seed " << seed;
    ++numChecked;
  }
  EXPECT_GT(numChecked, 150);
}
