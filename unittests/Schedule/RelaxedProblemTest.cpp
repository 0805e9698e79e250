//===- RelaxedProblemTest.cpp - The bound of all ways of splitting --------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Schedule/Bounds/RelaxedProblem.h"
#include "CommSched/Schedule/Bounds/LowerBounds.h"
#include "CommSched/Schedule/Graphs/ChainPlaces.h"
#include "CommSched/Support/Unlimited.h"
#include "ExactStep.h"
#include "TestProblems.h"
#include "ValueProgram.h"

#include <functional>

using namespace mlir::commsched::schedule::testing;

namespace {

std::vector<int64_t> listCosts(const Problem &problem) {
  std::vector<int64_t> costs;
  for (NodeId node = 0; node < problem.numNodes(); ++node)
    costs.push_back(problem.costNs(node));
  return costs;
}

int64_t computeBoundNs(const Problem &relaxed) {
  EXPECT_TRUE(relaxed.check()) << relaxed.check().error();
  return computeTightLowerBound(relaxed)->ns;
}

/// A program, and how its regions become chunks.
struct SmallProgram {
  Problem problem;
  int32_t numRegions = 0;
  std::function<std::vector<SplitSpec>(const std::vector<int32_t> &)> split;
};

/// One or two regions, one behind the other, each a chain of collectives and
/// computation, with computation before, beside and behind.
class RegionChainWriter {
public:
  explicit RegionChainWriter(uint64_t seed) : random(seed) {}

  SmallProgram write() {
    NodeId before = compute({});
    NodeId beside = compute({before});
    NodeId last = before;
    int64_t numRegions = 1 + random.below(2);
    for (int64_t region = 0; region < numRegions; ++region)
      last = addRegion(last, numRegions == 1 ? 3 : 2);
    compute({last, beside});
    EXPECT_TRUE(problem.finalize());
    auto split = [regions = regions](const std::vector<int32_t> &chunks) {
      std::vector<SplitSpec> specs;
      for (const std::vector<NodeId> &members : regions) {
        SplitSpec &spec = specs.emplace_back();
        spec.chunks = chunks[specs.size() - 1];
        for (NodeId member : members)
          spec.members.push_back({member, 0});
      }
      return specs;
    };
    return {std::move(problem), static_cast<int32_t>(numRegions), split};
  }

private:
  NodeId compute(std::initializer_list<NodeId> operands) {
    return addCompute(problem, random.below(60), operands);
  }

  NodeId addRegion(NodeId operand, int64_t length) {
    std::vector<NodeId> &members = regions.emplace_back();
    bool isCollective = random.percent(50);
    for (int64_t i = 0; i < length; ++i, isCollective = !isCollective) {
      if (isCollective) {
        members.push_back(
            addStart(problem, random.below(90), {operand}, random.percent(30)));
        operand = problem.addWait(members.back());
      } else {
        operand = compute({operand});
      }
      members.push_back(operand);
    }
    return operand;
  }

  Random random;
  Problem problem;
  std::vector<std::vector<NodeId>> regions;
};

/// With slices, wholes, and all kinds of dependences.
SmallProgram makeValueProgram(uint64_t seed) {
  ValueProgram program = makeRandomValueProgram(seed, 8);
  int32_t numRegions = 0;
  for (const ValueOperation &op : program.operations)
    numRegions = std::max(numRegions, op.region + 1);
  // Regions that are empty are none.
  for (int32_t region = 0; region < numRegions; ++region)
    if (std::none_of(
            program.operations.begin(), program.operations.end(),
            [&](const ValueOperation &op) { return op.region == region; }))
      return {};
  Problem problem = program.makeProblem();
  return {std::move(problem), numRegions,
          [program](const std::vector<int32_t> &chunks) {
            return makeSpecs(program, chunks);
          }};
}

/// What happened over all programs.
struct SeenChunks {
  int64_t originals = 0, splits = 0, gains = 0, reached = 0;
};

/// The shortest step in that many chunks, none of which takes less than its
/// part; none if it takes long to find.
std::optional<int64_t> findExactNs(const SmallProgram &program,
                                   const std::vector<int32_t> &chunks) {
  std::vector<SplitSpec> specs = program.split(chunks);
  for (SplitSpec &spec : specs)
    for (SplitSpec::Member &member : spec.members) {
      int64_t cost = program.problem.costNs(member.node);
      member.chunkCostNs = (cost + spec.chunks - 1) / spec.chunks;
    }
  Result<SplitProblem> split = SplitProblem::create(program.problem, specs);
  EXPECT_TRUE(split) << split.error();
  constexpr NodeId mostNodes = 18;
  if (!split || split->getProblem().numNodes() > mostNodes)
    return std::nullopt;
  return ExactStep(split->getProblem(), unlimited).find();
}

/// Compares the bound with the program in two and in three chunks.
void expectBoundOfChunks(const SmallProgram &program, SeenChunks &seen) {
  std::vector<DivisibleRegion> regions;
  for (const SplitSpec &spec :
       program.split(std::vector<int32_t>(program.numRegions, 3))) {
    DivisibleRegion &region = regions.emplace_back();
    region.mostChunks = 3;
    for (const SplitSpec::Member &member : spec.members)
      region.members.push_back(member.node);
  }
  int64_t boundNs = computeBoundNs(
      relax(program.problem, listCosts(program.problem), regions));
  int64_t wholeNs = *ExactStep(program.problem, unlimited).find();
  int64_t leastNs = wholeNs;
  for (int32_t first : {2, 3})
    for (int32_t second : {2, 3}) {
      if (program.numRegions < 2 && second != first)
        continue;
      std::vector<int32_t> chunks = {first, second};
      chunks.resize(program.numRegions);
      std::optional<int64_t> splitNs = findExactNs(program, chunks);
      seen.splits += splitNs.has_value();
      leastNs = std::min(leastNs, splitNs.value_or(leastNs));
    }
  ASSERT_LE(boundNs, leastNs);
  ++seen.originals;
  seen.gains += leastNs < wholeNs;
  seen.reached += boundNs * 10 >= leastNs * 9;
}

TEST(RelaxedProblem, ExceedsNoChainInChunksInAnyOrder) {
  SeenChunks seen;
  for (uint64_t seed : Seeds(150)) {
    expectBoundOfChunks(RegionChainWriter(seed).write(), seen);
  }
  EXPECT_GT(seen.splits, seen.originals);
  EXPECT_GT(seen.gains, seen.originals / 2);
  EXPECT_GT(seen.reached, seen.originals / 2);
}

TEST(RelaxedProblem, ExceedsNoProgramOfValuesInAnyOrder) {
  SeenChunks seen;
  for (uint64_t seed : Seeds(150)) {
    SmallProgram program = makeValueProgram(seed);
    if (program.numRegions > 0)
      expectBoundOfChunks(program, seen);
  }
  EXPECT_GT(seen.splits, seen.originals);
  EXPECT_GT(seen.reached, seen.originals / 4);
}

TEST(RelaxedProblem, WithoutRegionsTheBoundIsTheSame) {
  for (uint64_t seed : Seeds(20)) {
    Problem problem = makeRandomProblem(seed, {});
    Problem relaxed = relax(problem, listCosts(problem));
    EXPECT_EQ(computeBoundNs(relaxed), computeTightLowerBound(problem)->ns);
    EXPECT_EQ(relaxed.numNodes(), problem.numNodes());
    EXPECT_EQ(relaxed.numBuffers(), 0);
  }
}

/// A chain of two operations in four chunks: one begins when a chunk of the
/// other has ended, and what is outside waits for all.
TEST(RelaxedProblem, PartsOfAChain) {
  Problem problem;
  NodeId start = addStart(problem, 100);
  NodeId wait = problem.addWait(start);
  NodeId product = addCompute(problem, 60, {wait});
  addCompute(problem, 5, {product});
  ASSERT_TRUE(problem.finalize());
  std::vector<int64_t> costs = listCosts(problem);
  EXPECT_EQ(computeBoundNs(relax(problem, costs)), 165);
  // The last chunk of the product, behind the last one of the collective.
  EXPECT_EQ(
      computeBoundNs(relax(problem, costs, {{{start, wait, product}, 4}})),
      100 + 15 + 5);
  // Two regions of their own: all chunks are needed.
  EXPECT_EQ(computeBoundNs(
                relax(problem, costs, {{{start, wait}, 4}, {{product}, 4}})),
            165);
  costs[start] = 10;
  EXPECT_EQ(
      computeBoundNs(relax(problem, costs, {{{start, wait, product}, 4}})),
      // The first chunk of the collective, then all products.
      2 + 60 + 5);
}

/// Every pair that is said to be dependent is.
TEST(ChainPlaces, AgreeWithReachability) {
  int64_t numBefore = 0, numReachable = 0;
  for (uint64_t seed : Seeds(40)) {
    Problem problem = makeRandomProblem(seed, {});
    ChainPlaces places = findChainPlaces(problem);
    for (NodeId from = 0; from < problem.numNodes(); ++from) {
      std::vector<char> isReached(problem.numNodes());
      isReached[from] = 1;
      for (NodeId node : problem.topologicalOrder())
        for (DependenceEnd end : problem.successors(node))
          if (isReached[node] && end.kind != DependenceKind::Order)
            isReached[end.node] = 1;
      for (NodeId to = 0; to < problem.numNodes(); ++to) {
        bool isBefore = places.isBefore(from, to);
        numBefore += isBefore;
        numReachable += from != to && isReached[to];
        ASSERT_TRUE(!isBefore || isReached[to]) << from << " before " << to;
      }
    }
  }
  EXPECT_GT(numBefore * 4, numReachable);
}

} // namespace
