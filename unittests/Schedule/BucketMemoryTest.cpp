//===- BucketMemoryTest.cpp - Tests of the memory of merged programs ------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Schedule/Bucketing/BucketedProblem.h"
#include "TestProblems.h"

using namespace mlir::commsched::schedule::testing;

namespace {

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

/// The same problem, but that what a start makes is there for its wait, and for
/// others only after that, as it is in programs.
Problem deliverByWaits(const Problem &random) {
  Problem problem = copyOperations(random);
  for (BufferId id = 0; id < random.numBuffers(); ++id) {
    const Buffer &buffer = random.buffer(id);
    problem.addBuffer(buffer.bytes, buffer.producer, buffer.freed);
    bool isDelivered = buffer.producer != noNode &&
                       random.kind(buffer.producer) == NodeKind::Start;
    NodeId wait = isDelivered ? random.waitOf(buffer.producer) : noNode;
    if (isDelivered)
      problem.addUse(id, wait);
    for (NodeId user : random.users(id)) {
      if (user <= wait)
        continue;
      problem.addUse(id, user);
      if (isDelivered)
        problem.addDependence(wait, user, DependenceKind::Data);
    }
  }
  problem.finalize();
  return problem;
}

/// A random problem, and random starts that can be merged.
struct RandomBuckets {
  Problem problem;
  std::vector<Bucket> buckets;

  explicit RandomBuckets(uint64_t seed) {
    RandomProblemOptions options;
    options.maxStreams = 2;
    options.unevenBuffers = seed % 2;
    options.waitsMakeBuffers = false;
    problem = deliverByWaits(makeRandomProblem(seed, options));
    std::vector<BucketCandidate> candidates;
    std::mt19937_64 random(seed);
    for (NodeId node = 0; node < problem.numNodes(); ++node)
      if (problem.kind(node) == NodeKind::Start)
        candidates.push_back({node, problem.stream(node), 1});
    BucketingOptions bucketing;
    bucketing.capBytes = {{1000}, {1000}};
    bucketing.maxCount = static_cast<int64_t>(2 + random() % 3);
    buckets = formBuckets(problem, candidates, bucketing)->buckets;
  }
};

int64_t sumBytes(const Problem &problem) {
  int64_t total = 0;
  for (BufferId id = 0; id < problem.numBuffers(); ++id)
    total += problem.buffer(id).bytes;
  return total;
}

/// Copies add what they pack into, and nothing gets lost.
TEST(BucketMemory, CopiesKeepTheSumOfBytes) {
  for (uint64_t seed : Seeds(1000)) {
    RandomBuckets test(seed);
    std::vector<BucketCost> costs;
    int64_t packedBytes = 0, numPacked = 0;
    for (const Bucket &bucket : test.buckets) {
      BucketMemory memory = {static_cast<Layout>((seed + costs.size()) % 3), 0,
                             0};
      int64_t delivered = 0;
      for (NodeId start : bucket.starts)
        for (BufferId id : test.problem.buffersMadeBy(start))
          delivered += test.problem.buffer(id).bytes;
      if (memory.layout != Layout::Separate) {
        memory.packedBytes = 1000 + static_cast<int64_t>(costs.size());
        ++numPacked;
      }
      if (memory.layout == Layout::Viewed)
        memory.deliveredBytes = delivered;
      packedBytes += memory.packedBytes;
      costs.push_back({});
      costs.back().memory = memory;
    }
    BucketedProblem program = need(BucketedProblem::create(
        test.problem, test.buckets, costs, BucketBuffers::Kept));
    const Problem &merged = program.getProblem();
    EXPECT_EQ(sumBytes(merged), sumBytes(test.problem) + packedBytes);
    Order order = makeRandomOrder(seed, merged);
    ASSERT_TRUE(verify(merged, order)) << verify(merged, order).error();
    MemoryTimeline timeline = *simulateMemory(merged, order);
    Order expanded = need(program.expand(order));
    MemoryTimeline original = *simulateMemory(test.problem, expanded);
    EXPECT_EQ(timeline.initialBytes, original.initialBytes);
    // Buffers that stay do so, with the buffers that share their storage.
    int64_t left = timeline.remainingBytes.back();
    EXPECT_GE(left, original.remainingBytes.back());
    if (numPacked == 0) {
      EXPECT_EQ(left, original.remainingBytes.back());
    }
  }
}

} // namespace
