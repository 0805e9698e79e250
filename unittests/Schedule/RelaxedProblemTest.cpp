//===- RelaxedProblemTest.cpp - Bounds and sketches of splitting ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/Schedule/Bounds/RelaxedProblem.h"
#include "CommSched/Schedule/Bounds/LowerBounds.h"
#include "CommSched/Schedule/Graphs/ChainPlaces.h"
#include "CommSched/Schedule/Splitting/RegionSketch.h"
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
  // Nothing waits for a product that is detached, nor does it.
  EXPECT_EQ(computeBoundNs(relax(problem, costs, {}, {product})), 100);
  // The last chunk of the product, behind the last one of the collective.
  std::vector<DivisibleRegion> together = {{{start, wait, product}, 4}};
  EXPECT_EQ(computeBoundNs(relax(problem, costs, together)), 100 + 15 + 5);
  // Two regions of their own: all chunks are needed.
  EXPECT_EQ(computeBoundNs(
                relax(problem, costs, {{{start, wait}, 4}, {{product}, 4}})),
            165);
  costs[start] = 10;
  // The first chunk of the collective, then all products.
  EXPECT_EQ(computeBoundNs(relax(problem, costs, together)), 2 + 60 + 5);
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

/// A product on what a gather on stream 3 delivers, between two operations that
/// are in no region.
struct GatherAndProduct {
  TextProblem problem;
  SplitSpec spec;

  GatherAndProduct(int64_t gatherNs, int64_t productNs, int32_t chunks)
      : problem("input = 1000; g = start " + std::to_string(gatherNs) +
                "@3 input; wait g; mm = " + std::to_string(productNs) +
                " g' -> 8; use = 1000 mm") {
    NodeId gather = problem["g"], mm = problem["mm"], use = problem["use"];
    BufferId product = problem.bufferOf("mm");
    spec.chunks = chunks;
    spec.members = {{gather, gatherNs / chunks},
                    {problem["g'"], 0},
                    {mm, productNs / chunks}};
    spec.buffers = {{product, 8 / chunks}};
    spec.wholes = {{mm, product, 3, 8, true, {use}}};
  }
};

TEST(RegionSketch, TheRegionIsSimulatedAlone) {
  GatherAndProduct example(40, 100, 2);
  RegionSketch sketch = need(sketchRegion(example.problem, example.spec));
  EXPECT_EQ(sketch.wholeNs, 140);
  EXPECT_EQ(sketch.splitNs, 20 + 100 + 3);
}

TEST(RegionSketch, MoreTimePerChunkIsALoss) {
  GatherAndProduct example(10, 100, 2);
  example.spec.members[2].chunkCostNs = 70;
  RegionSketch sketch = need(sketchRegion(example.problem, example.spec));
  EXPECT_EQ(sketch.wholeNs, 110);
  EXPECT_EQ(sketch.splitNs, 5 + 140 + 3);
}

TEST(RegionSketch, WrongRegionsAreErrors) {
  GatherAndProduct example(40, 100, 1);
  EXPECT_EQ(sketchRegion(example.problem, example.spec).error(),
            "region 0 has 1 chunks; there can be 2 to 64");
  example.spec.chunks = 2;
  example.spec.members.erase(example.spec.members.begin());
  EXPECT_EQ(sketchRegion(example.problem, example.spec).error(),
            "the region has node 2 (wait) without node 1 (start)");
}

} // namespace
