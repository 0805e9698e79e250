//===- BucketedProblemTest.cpp - Tests of merged programs -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/Schedule/Bucketing/BucketedProblem.h"
#include "ReferenceBucketPlacement.h"
#include "ReferenceContraction.h"
#include "TestProblems.h"

using namespace mlir::commsched::schedule::testing;

namespace {

/// Buckets of the given starts. What they cost does not matter for places, but
/// that there are copies does.
const BucketCost uncopied = {0, 10, 0, {}};
const BucketCost copied = {1, 10, 2, {}};

BucketedProblem merge(const Problem &problem,
                      const std::vector<std::vector<NodeId>> &members,
                      const BucketCost &cost = uncopied) {
  std::vector<Bucket> buckets;
  for (const std::vector<NodeId> &starts : members)
    buckets.push_back({0, starts, 0});
  return need(BucketedProblem::create(
      problem, buckets, std::vector<BucketCost>(buckets.size(), cost)));
}

/// An order of the merged program: nodes that are not merged by their numbers
/// in the original one.
std::string tell(const BucketedProblem &bucketed, const Order &order) {
  std::string text;
  for (NodeId node : order) {
    if (!text.empty())
      text += ' ';
    int32_t index = bucketed.bucketOf(node);
    if (index < 0) {
      text += std::to_string(bucketed.originalOf(node));
      continue;
    }
    const BucketedProblem::MergedBucket &bucket = bucketed.bucket(index);
    text += node == bucket.copyIn  ? "in"
            : node == bucket.start ? "start"
            : node == bucket.wait  ? "wait"
                                   : "out";
    text += std::to_string(index);
  }
  return text;
}

std::string place(const BucketedProblem &bucketed,
                  const BucketPlacement &placement = {}) {
  Result<Order> order = bucketed.place(placement);
  EXPECT_TRUE(order) << order.error();
  return order ? tell(bucketed, *order) : "";
}

/// `count` layers of gather, wait, and computation on the wait.
TextProblem makeGathers(int count) {
  return repeat(count, "g$ = start 10; wait g$; c$ = mm 10 g$'");
}

TEST(BucketedProblem, ExpandsWithMembersSideBySide) {
  Problem problem = makeGathers(3);
  BucketedProblem bucketed = merge(problem, {{0, 6}}, copied);
  Order order = *bucketed.place();
  EXPECT_EQ(tell(bucketed, order), "in0 start0 wait0 out0 2 3 4 5 8");
  Order expanded = need(bucketed.expand(order));
  EXPECT_EQ(expanded, (Order{0, 6, 1, 7, 2, 3, 4, 5, 8}));
  std::swap(order[1], order[2]);
  EXPECT_EQ(bucketed.expand(order).error(),
            "node 2 (wait) at position 1 comes before node 1 (start) at "
            "position 2, on which it depends (data)");
}

std::string createError(const Problem &problem,
                        const std::vector<Bucket> &buckets,
                        const std::vector<BucketCost> &costs) {
  Result<BucketedProblem> bucketed =
      BucketedProblem::create(problem, buckets, costs);
  EXPECT_FALSE(bucketed);
  return bucketed.error();
}

TEST(BucketedProblem, RejectsWhatIsNoBucket) {
  Problem problem = makeGathers(2);
  auto error = [&](std::vector<std::vector<NodeId>> members) {
    std::vector<Bucket> buckets;
    for (std::vector<NodeId> &starts : members)
      buckets.push_back({0, std::move(starts), 0});
    return createError(problem, buckets,
                       std::vector<BucketCost>(buckets.size()));
  };
  EXPECT_EQ(error({{}}), "bucket 0 is empty");
  EXPECT_EQ(error({{0, 6}}), "bucket 0 has node 6; the problem has 6 nodes");
  EXPECT_EQ(error({{0, -1}}), "bucket 0 has node -1; the problem has 6 nodes");
  EXPECT_EQ(error({{0, 4}}),
            "bucket 0 has node 4 (wait), which is not a start");
  EXPECT_EQ(error({{0}, {3, 0}}),
            "node 0 (start) is in bucket 0 and again in bucket 1");
  addStart(problem, 1, {}, 2);
  problem.addWait(6);
  EXPECT_EQ(error({{0}}), "the problem was changed after it was finalized");
  problem.finalize();
  EXPECT_EQ(error({{0, 6}}), "bucket 0 has node 0 (start) on stream 0 and node "
                             "6 (start) on stream 2");
  problem.addDependence(0, 3, DependenceKind::Memory);
  problem.finalize();
  EXPECT_EQ(error({{0, 3}}), "bucket 0 merges node 3 (start) with node 0 "
                             "(start), on which it depends (memory)");
}

TEST(BucketedProblem, RejectsWhatIsNoCost) {
  Problem problem = makeGathers(2);
  std::vector<Bucket> buckets = {{0, {0, 3}, 0}};
  EXPECT_EQ(createError(problem, buckets, {}),
            "there are 0 costs for 1 buckets");
  EXPECT_EQ(createError(problem, buckets, {{1, 1, -2, {}}}),
            "bucket 0 has a negative cost of -2 ns");
  EXPECT_EQ(createError(problem, buckets, {{1, 1, 1, {4}}}),
            "bucket 0 absorbs node 4 (wait), which is not a compute operation");
  EXPECT_EQ(createError(problem, buckets, {{1, 1, 1, {6}}}),
            "bucket 0 absorbs node 6, which is not a compute operation");
  EXPECT_EQ(createError(problem, buckets, {{1, 1, 1, {5, 5}}}),
            "bucket 0 absorbs node 5 (compute), which is absorbed already");
  EXPECT_EQ(createError(problem, buckets, {{INT64_MAX, 1, 1, {}}}),
            "the buckets make a program that is not valid: the sum of the "
            "costs up to node 1 (start), which adds 1 ns, does not fit 64 "
            "bits");
}

TEST(BucketedProblem, RejectsConstraintsOnNoBucket) {
  Problem problem = makeGathers(2);
  BucketedProblem bucketed = merge(problem, {{0, 3}});
  EXPECT_EQ(bucketed.place({{{0, 1}}, {}}).error(),
            "a wish names bucket 1; there are 1 buckets");
  EXPECT_EQ(bucketed.place({{}, {{-1, 0}}}).error(),
            "a wish names bucket -1; there are 1 buckets");
}

/// The stream of collectives that addTails() adds.
constexpr StreamId tailStream = 3;

/// Adds operations that need only waits or other added operations, and that no
/// other operation needs.
Problem addTails(Problem problem, std::mt19937_64 &random) {
  std::vector<NodeId> sources;
  for (NodeId node = 0; node < problem.numNodes(); ++node)
    if (problem.kind(node) == NodeKind::Wait)
      sources.push_back(node);
  if (sources.empty())
    return problem;
  for (uint64_t count = random() % 6; count > 0; --count) {
    NodeId node = random() % 2 ? addCompute(problem, 1)
                               : addStart(problem, 10, {}, tailStream);
    for (uint64_t inputs = 1 + random() % 2; inputs > 0; --inputs)
      problem.addDependence(sources[random() % sources.size()], node,
                            DependenceKind::Data);
    sources.push_back(
        problem.kind(node) == NodeKind::Start ? problem.addWait(node) : node);
  }
  problem.finalize();
  return renumber(problem, makeRandomOrder(random(), problem));
}

/// Random buckets of one stream each, merged as long as that makes no cycle.
std::vector<std::vector<NodeId>> makeBuckets(const Problem &problem,
                                             std::mt19937_64 &random) {
  std::vector<NodeId> starts;
  for (NodeId node = 0; node < problem.numNodes(); ++node)
    if (problem.kind(node) == NodeKind::Start)
      starts.push_back(node);
  ReferenceContraction merged(problem);
  std::vector<std::vector<NodeId>> buckets;
  for (NodeId start : starts) {
    uint64_t dice = random() % 8;
    if (dice == 0 || (dice < 6 && problem.stream(start) == tailStream))
      continue;
    bool isMember = false;
    for (std::vector<NodeId> &bucket : buckets) {
      if (dice == 1 || isMember ||
          problem.stream(bucket.front()) != problem.stream(start))
        continue;
      ReferenceContraction trial = merged;
      trial.merge(bucket.front(), start);
      trial.merge(problem.waitOf(bucket.front()), problem.waitOf(start));
      if (trial.hasCycle())
        continue;
      merged = trial;
      bucket.push_back(start);
      isMember = true;
    }
    if (!isMember)
      buckets.push_back({start});
  }
  return buckets;
}

BucketPlacement makePlacement(size_t numBuckets, std::mt19937_64 &random) {
  BucketPlacement placement;
  auto draw = [&] { return static_cast<int32_t>(random() % numBuckets); };
  for (uint64_t count = random() % (numBuckets + 1); count > 0; --count)
    placement.startBeforeWait.push_back({draw(), draw()});
  for (uint64_t count = random() % (numBuckets + 1); count > 0; --count)
    placement.waitAfterStart.push_back({draw(), draw()});
  return placement;
}

struct RandomCase {
  Problem problem;
  std::vector<std::vector<NodeId>> buckets;
  BucketPlacement placement;
  BucketCost cost;

  explicit RandomCase(uint64_t seed) {
    RandomProblemOptions options;
    options.maxNodes = seed % 3 == 0 ? 24 : 60;
    options.maxStreams = 2;
    options.expensivePercent = seed % 2 ? 30 : 0;
    problem = makeRandomProblem(seed, options);
    std::mt19937_64 random(seed);
    if (seed % 4 < 2)
      problem = addTails(std::move(problem), random);
    buckets = makeBuckets(problem, random);
    if (seed % 5 < 3 && !buckets.empty())
      placement = makePlacement(buckets.size(), random);
    cost = seed % 7 < 4 ? uncopied : copied;
  }
};

bool areAdjacent(const Positions &positions,
                 const std::vector<NodeId> &members) {
  for (size_t i = 1; i < members.size(); ++i)
    if (positions[members[i]] != positions[members[i - 1]] + 1)
      return false;
  return true;
}

/// Checks the contract of `placed`, which holds for any keys.
void checkPlaced(const BucketedProblem &bucketed, const Order &placed) {
  const Problem &problem = bucketed.getProblem();
  ASSERT_TRUE(verify(problem, placed));
  Positions positions = *invert(problem, placed);
  Order expanded = need(bucketed.expand(placed));
  ASSERT_TRUE(verify(bucketed.getOriginal(), expanded));
  Positions original = *invert(bucketed.getOriginal(), expanded);
  for (int32_t index = 0; index < bucketed.numBuckets(); ++index) {
    const BucketedProblem::MergedBucket &bucket = bucketed.bucket(index);
    EXPECT_TRUE(areAdjacent(original, bucket.starts));
    EXPECT_TRUE(areAdjacent(original, bucket.waits));
    if (bucket.copyIn != noNode) {
      EXPECT_TRUE(areAdjacent(positions, {bucket.copyIn, bucket.start}));
    }
    if (bucket.copyOut != noNode) {
      EXPECT_TRUE(areAdjacent(positions, {bucket.wait, bucket.copyOut}));
    }
  }
  // Nodes of both have the same order.
  Order fromPlaced, fromExpanded;
  for (NodeId node : placed)
    if (bucketed.bucketOf(node) == -1)
      fromPlaced.push_back(bucketed.originalOf(node));
  for (NodeId node : expanded)
    if (bucketed.bucketOf(bucketed.nodeOf(node)) < 0)
      fromExpanded.push_back(node);
  EXPECT_EQ(fromPlaced, fromExpanded);
}

TEST(BucketedProblem, PlacesAsTheReferenceDoes) {
  int numMoved = 0, numGranted = 0, numTails = 0, numWaits = 0;
  for (uint64_t seed : Seeds(1500)) {
    RandomCase test(seed);
    BucketedProblem bucketed = merge(test.problem, test.buckets, test.cost);
    ReferenceBucketPlacement placer(bucketed, test.placement);
    for (NodeId tail : placer.findTails())
      (bucketed.getProblem().kind(tail) == NodeKind::Wait ? numWaits
                                                          : numTails) += 1;
    Order reference = placer.run();
    Order placed = need(bucketed.place(test.placement));
    ASSERT_EQ(tell(bucketed, placed), tell(bucketed, reference));
    ASSERT_NO_FATAL_FAILURE(checkPlaced(bucketed, placed));
    numMoved += reference != bucketed.getProblem().programOrder();
    numGranted += place(bucketed) != place(bucketed, test.placement);
  }
  EXPECT_GT(numMoved, 150);
  EXPECT_GT(numGranted, 60);
  EXPECT_GT(numTails, 150);
  EXPECT_GT(numWaits, 15);
}

TEST(BucketedProblem, AProgramOutOfOrderIsPutInOrder) {
  int numBuckets = 0;
  for (uint64_t seed : Seeds(500)) {
    RandomProblemOptions options;
    options.shuffleProgram = true;
    Problem problem = makeRandomProblem(seed, options);
    std::mt19937_64 random(seed);
    std::vector<std::vector<NodeId>> buckets = makeBuckets(problem, random);
    BucketedProblem bucketed = merge(problem, buckets, copied);
    BucketPlacement placement;
    if (!buckets.empty())
      placement = makePlacement(buckets.size(), random);
    ASSERT_NO_FATAL_FAILURE(checkPlaced(bucketed, *bucketed.place(placement)));
    numBuckets += bucketed.numBuckets();
  }
  EXPECT_GT(numBuckets, 150);
}

TEST(BucketedProblem, RejectsAnyCycle) {
  int numCycles = 0, numMerged = 0;
  for (uint64_t seed : Seeds(1000)) {
    Problem problem = makeRandomProblem(seed, {});
    std::mt19937_64 random(seed);
    // Half of the starts of each stream, whatever comes of it.
    ReferenceContraction merged(problem);
    std::vector<Bucket> buckets(problem.numStreams());
    for (NodeId node = 0; node < problem.numNodes(); ++node) {
      if (problem.kind(node) != NodeKind::Start || random() % 2)
        continue;
      std::vector<NodeId> &starts = buckets[problem.stream(node)].starts;
      starts.push_back(node);
      merged.merge(starts.front(), node);
      merged.merge(problem.waitOf(starts.front()), problem.waitOf(node));
    }
    buckets.erase(
        std::remove_if(buckets.begin(), buckets.end(),
                       [](const Bucket &it) { return it.starts.empty(); }),
        buckets.end());
    Result<BucketedProblem> bucketed = BucketedProblem::create(
        problem, buckets, std::vector<BucketCost>(buckets.size(), copied));
    EXPECT_EQ(static_cast<bool>(bucketed), !merged.hasCycle())
        << bucketed.error();
    (bucketed ? numMerged : numCycles) += 1;
  }
  EXPECT_GT(numCycles, 30);
  EXPECT_GT(numMerged, 30);
}

using Layout = BucketMemory::Layout;

/// Two gathers of 100 and 200 bytes from shards of 10 and 20 that are cast
/// before, and a user of each.
struct Gathers {
  TextProblem problem = TextProblem(R"(
    a = arg 40!; b = arg 80; castA = 1 a -> 10; startA = start 10 castA -> 100
    castB = 1 b -> 20; startB = start 10 castB -> 200; wait startA
    useA = 5 startA'; wait startB; useB = 5 startB'
    overwrite = 1 memory:castA use:a)");
  std::vector<Bucket> buckets = {{0, problem.list("startA startB"), 0}};

  Result<BucketedProblem> merge(const BucketCost &cost) const {
    return BucketedProblem::create(problem, buckets, {cost},
                                   BucketBuffers::Kept);
  }
};

/// Returns the live bytes after each operation of an order, and the peak during
/// the operation where that is higher than before and after it.
std::string toText(const BucketedProblem &program, const Order &order) {
  MemoryTimeline timeline = *simulateMemory(program.getProblem(), order);
  int64_t live = timeline.initialBytes;
  std::string text = std::to_string(live);
  for (size_t i = 0; i < order.size(); ++i) {
    int64_t allocated = timeline.allocatedBytes[i];
    text += ' ';
    if (allocated > std::max(live, timeline.remainingBytes[i]))
      text += std::to_string(allocated) + ":";
    live = timeline.remainingBytes[i];
    text += std::to_string(live);
  }
  return text;
}

TEST(BucketMemory, CopiesThatCostNothingHaveTheirPlace) {
  Gathers gathers;
  BucketCost cost = {0, 10, 0, {}, {Layout::CopiedOut, 300, 0}};
  Result<BucketedProblem> program = gathers.merge(cost);
  ASSERT_TRUE(program) << program.error();
  EXPECT_EQ(toText(*program, {0, 3, 1, 2, 4, 5, 6, 7, 8}),
            "120 130 150:70 370:340 340 340 640:340 240 40 40");
  cost.memory = {Layout::Viewed, 30, 300};
  program = gathers.merge(cost);
  EXPECT_NE(program->bucket(0).copyIn, noNode);
  EXPECT_EQ(program->bucket(0).copyOut, noNode);
  // What is packed stays until the wait, also while the overwriting operation
  // runs.
  EXPECT_EQ(toText(*program, {0, 3, 1, 2, 7, 4, 5, 6}),
            "120 130 150:70 100:70 370 370 340 340 40");
  // Without buffers, a copy-in without cost has no node.
  program = BucketedProblem::create(gathers.problem, gathers.buckets, {cost});
  EXPECT_EQ(program->bucket(0).copyIn, noNode);
  EXPECT_EQ(program->getProblem().numBuffers(), 0);
}

TEST(BucketMemory, RejectsWhatCannotBe) {
  Gathers gathers;
  auto error = [&](const BucketCost &cost) {
    Result<BucketedProblem> program = gathers.merge(cost);
    EXPECT_FALSE(program);
    return program ? "" : program.error();
  };
  EXPECT_EQ(error({0, 1, 0, {}, {Layout::Viewed, -3, 0}}),
            "bucket 0 has a negative size of -3 bytes");
  EXPECT_EQ(error({0, 1, 0, {}, {Layout::Viewed, 3, -4}}),
            "bucket 0 has a negative size of -4 bytes");
  EXPECT_EQ(error({0, 1, 0, {0}, {}}),
            "bucket 0 absorbs node 0 (compute), but copies nothing");
  BucketCost absorbing = {1, 1, 0, {0}, {Layout::Viewed, 30, 300}};
  gathers.problem.addUse(gathers.problem.bufferOf("castA"),
                         gathers.problem["useB"]);
  gathers.problem.finalize();
  EXPECT_EQ(error(absorbing), "bucket 0 absorbs node 0 (compute), whose buffer "
                              "2 node 7 (compute) uses");
  gathers = Gathers();
  gathers.problem.addBuffer(1, gathers.problem["castA"], /*freed=*/false);
  gathers.problem.finalize();
  EXPECT_EQ(error(absorbing), "bucket 0 absorbs node 0 (compute), whose buffer "
                              "6 stays to the end");
  EXPECT_EQ(error({0, 1, 0, {}, {Layout::Viewed, INT64_MAX, 1}}),
            "the buckets make a program that is not valid: the sum of the "
            "sizes up to buffer 6, which adds 9223372036854775807 bytes, does "
            "not fit 64 bits");
}

} // namespace
