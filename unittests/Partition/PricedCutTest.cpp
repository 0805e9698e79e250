//===- PricedCutTest.cpp - Tests of saved values by price -----------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Partition/PricedCut.h"
#include "ReferenceMinCut.h"
#include "TestGraphs.h"

using namespace mlir::commsched::partition::testing;

/// Prices of so many nanoseconds a byte, and the costs of the graph.
static TreatmentPrices makePrices(const JointGraph &graph, int64_t nsPerByte) {
  TreatmentPrices prices;
  for (NodeId node = 0; node < graph.size(); ++node) {
    prices.saveNs.push_back(graph[node].bytes * nsPerByte);
    prices.repeatNs.push_back(graph[node].cost);
  }
  return prices;
}

static std::string solve(const TextGraph &graph, int64_t nsPerByte) {
  Classification classes = expectNoConflict(classify(graph));
  return graph.tell(expectNoConflict(
      solvePricedCut(graph, classes, makePrices(graph, nsPerByte))));
}

TEST(PricedCut, ComputesAgainWhatIsCheaperThanItsBytes) {
  TextGraph graph(R"(
    x = input 1000; dy = tangent 1000; y = pointwise 1000 x : cost=5000
    dx = mm 1000 y dy; return y | dx)");
  // The argument stays, so that saving it costs nothing.
  EXPECT_EQ(solve(graph, 4), "y");
  EXPECT_EQ(solve(graph, 6), "x");
  // A tie: nothing is computed again.
  EXPECT_EQ(solve(graph, 5), "y");
}

/// What `saved` costs together with all that is then computed again; none if
/// something can neither be saved nor computed again.
static std::optional<int64_t> findPrice(const JointGraph &graph,
                                        const Classification &classes,
                                        const std::vector<BanReason> &bans,
                                        const TreatmentPrices &prices,
                                        const std::vector<NodeId> &saved) {
  auto isComputed = reference::findComputed(graph, classes, bans, saved);
  if (!isComputed)
    return std::nullopt;
  int64_t price = 0;
  for (NodeId node : saved)
    if (graph[node].kind != JointNodeKind::Primal || graph[node].isFreeable)
      price += prices.saveNs[node];
  for (NodeId node = 0; node < graph.size(); ++node)
    if ((*isComputed)[node] && !classes.needsTangent[node] &&
        !isToBeRecomputed(graph[node]) &&
        graph[node].kind == JointNodeKind::Operation)
      price += prices.repeatNs[node];
  return price;
}

TEST(PricedCut, IsTheCheapestOfAllChoices) {
  RandomJointOptions options;
  options.maxForwardOperations = 8;
  options.maxBackwardOperations = 6;
  options.policyPercent = 3;
  int numCompared = 0, numSplit = 0;
  for (uint64_t seed : Seeds(600)) {
    JointGraph graph = makeRandomJointGraph(seed, options);
    auto classified = classify(graph);
    if (std::holds_alternative<PartitionConflict>(classified))
      continue;
    const Classification &classes = std::get<Classification>(classified);
    std::mt19937 random(seed);
    TreatmentPrices prices;
    for (NodeId node = 0; node < graph.size(); ++node) {
      prices.saveNs.push_back(random() % 50);
      prices.repeatNs.push_back(random() % 100);
    }
    CutOptions hard;
    hard.repeatGathers = true;
    std::vector<BanReason> bans = findBans(graph, classes, hard);
    for (BanReason &ban : bans)
      ban = isHard(ban) ? ban : BanReason::None;
    std::vector<NodeId> candidates =
        reference::getCandidates(graph, classes, {});
    // Views and constants are taken again whatever their policy is, if nothing
    // keeps them in the forward.
    auto isTakenAgain = [&](NodeId node) {
      return bans[node] == BanReason::None && !graph.isArgument(node) &&
             !graph[node].isPinned &&
             graph[node].kind == JointNodeKind::Operation &&
             (graph[node].operatorClass == OperatorClass::View ||
              graph[node].operatorClass == OperatorClass::Constant);
    };
    candidates.erase(
        std::remove_if(candidates.begin(), candidates.end(), isTakenAgain),
        candidates.end());
    if (candidates.size() > 12)
      continue;
    std::optional<int64_t> least;
    for (uint32_t choice = 0; choice < 1u << candidates.size(); ++choice) {
      std::vector<NodeId> saved;
      for (size_t i = 0; i < candidates.size(); ++i)
        if (choice >> i & 1)
          saved.push_back(candidates[i]);
      std::optional<int64_t> price =
          findPrice(graph, classes, bans, prices, saved);
      if (price && (!least || *price < *least))
        least = price;
    }
    auto result = solvePricedCut(graph, classes, prices);
    if (!least) {
      EXPECT_TRUE(std::holds_alternative<PartitionConflict>(result));
      continue;
    }
    std::vector<NodeId> saved = expectNoConflict(std::move(result));
    EXPECT_EQ(findPrice(graph, classes, bans, prices, saved), least);
    ++numCompared;
    for (NodeId node : saved)
      numSplit += !graph.isArgument(node);
  }
  // The graphs are not trivial.
  EXPECT_GT(numCompared, 60);
  EXPECT_GT(numSplit, 60);
}
