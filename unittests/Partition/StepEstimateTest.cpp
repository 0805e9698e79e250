//===- StepEstimateTest.cpp - Tests of estimates of partitions ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/Partition/PricedCut.h"
#include "CommSched/Partition/SavedValues.h"
#include "TestGraphs.h"

using namespace mlir::commsched::partition::testing;

static StepEstimate estimate(const TextGraph &graph, const std::string &saved,
                             const std::string &onStream0 = "") {
  Split halves = expectNoConflict(
      split(graph, graph.list(saved), /*allowCollectives=*/true));
  std::vector<int32_t> streams(static_cast<size_t>(graph.size()), -1);
  for (NodeId node : graph.list(onStream0))
    streams[node] = 0;
  return StepEstimator(graph, streams).estimate(halves);
}

TEST(StepEstimate, CountsSavedAndRepeatedValues) {
  TextGraph graph(R"(
    x = input 10; dy = tangent 5; y = mm 100 x : cost=1000
    z = mm 1 y : cost=100; dx = mm 7 y dy : cost=10; return z | dx)");
  // Either way x, y, z, dy and dx are live at the end.
  EXPECT_EQ(estimate(graph, "y").peakBytes, 10 + 100 + 1 + 5 + 7);
  EXPECT_EQ(estimate(graph, "y").timeNs, 1110);
  EXPECT_EQ(estimate(graph, "x").peakBytes, 10 + 100 + 1 + 5 + 7);
  EXPECT_EQ(estimate(graph, "x").timeNs, 2110);
}

TEST(StepEstimate, ComputesAgainWhereItIsNeeded) {
  TextGraph graph(R"(
    x = input 1; dy = tangent 1; first = mm 100 x; second = mm 100 x
    y = mm 1 first second; d = mm 1 first dy; dx = mm 1 second d
    return y | dx)");
  Split halves = expectNoConflict(split(graph, graph.list("x"), false));
  EXPECT_EQ(graph.tell(getBackwardOrder(graph, halves)), "first d second dx");
}

TEST(StepEstimate, TakesTheBusiestStream) {
  TextGraph graph(R"(
    x = input 1; dy = tangent 1; a = mm 1 x : cost=30; c = mm 1 x : cost=50
    dx = mm 1 a c dy : cost=7; return a c | dx)");
  EXPECT_EQ(estimate(graph, "a c").timeNs, 87);
  EXPECT_EQ(estimate(graph, "a c", "a").timeNs, 57);
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
              SlowEstimate(graph, *found).computePeak());
    ++numChecked;
  }
  EXPECT_GT(numChecked, 150);
}
