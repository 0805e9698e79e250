//===- SplitProblemTest.cpp - Tests of split programs ---------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Schedule/Splitting/SplitProblem.h"

#include "CommSched/Schedule/Bucketing/BucketedProblem.h"
#include "CommSched/Schedule/Model/MemoryTimeline.h"
#include "CommSched/Schedule/Model/Simulator.h"
#include "CommSched/Schedule/Model/Verify.h"

#include "TestProblems.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

using namespace mlir::commsched;
using namespace mlir::commsched::schedule;
using namespace mlir::commsched::schedule::testing;

namespace {

/// A gather, a product, a scatter and a use of its result, with 8 bytes of
/// input, 32 gathered, 64 computed, 16 scattered.
struct Block {
  static constexpr NodeId input = 0, gather = 1, waitGather = 2, mm = 3,
                          scatter = 4, waitScatter = 5, use = 6;
  static constexpr BufferId shard = 0, gathered = 1, product = 2, scattered = 3,
                            output = 4;
  Problem problem;
  SplitSpec spec;

  explicit Block(int32_t chunks = 2) {
    addCompute(problem, 10);
    addStart(problem, 40, {input});
    problem.addWait(gather);
    addCompute(problem, 100, {waitGather});
    problem.setExpensive(mm);
    addStart(problem, 60, {mm});
    problem.addWait(scatter);
    addCompute(problem, 10, {waitScatter});
    addBuffer(8, input, {gather, waitGather});
    addBuffer(32, gather, {waitGather, mm});
    addBuffer(64, mm, {scatter, waitScatter});
    addBuffer(16, scatter, {waitScatter, use});
    addBuffer(16, use, {});
    problem.finalize();
    spec.chunks = chunks;
    spec.members = {{gather, 25},
                    {waitGather, 0},
                    {mm, 55},
                    {scatter, 35},
                    {waitScatter, 0}};
    spec.buffers = {{gathered, 32 / chunks},
                    {product, 64 / chunks},
                    {scattered, 16 / chunks}};
    spec.slices = {{input, shard, 1, 8 / chunks, {gather}}};
    spec.wholes = {{waitScatter, scattered, 2, 16, true, {use}}};
  }

  SplitProblem split() const {
    Result<SplitProblem> result = SplitProblem::create(problem, {spec});
    EXPECT_TRUE(result) << result.error();
    return *result;
  }

private:
  void addBuffer(int64_t bytes, NodeId producer,
                 std::initializer_list<NodeId> users) {
    BufferId buffer = problem.addBuffer(bytes, producer, /*freed=*/true);
    for (NodeId user : users)
      problem.addUse(buffer, user);
  }
};

/// The nodes of the split program by their numbers in the original one.
std::string tell(const SplitProblem &split) {
  std::string text;
  for (NodeId node : split.place()) {
    const SplitProblem::Origin &origin = split.originOf(node);
    if (!text.empty())
      text += ' ';
    switch (origin.role) {
    case SplitProblem::Role::Kept:
      text += std::to_string(origin.node);
      break;
    case SplitProblem::Role::Chunk:
      text += std::to_string(origin.node) + "." + std::to_string(origin.chunk);
      break;
    case SplitProblem::Role::Whole:
      text += "whole" + std::to_string(origin.index);
      break;
    case SplitProblem::Role::Slice:
      text += "slice" + std::to_string(origin.index) + "." +
              std::to_string(origin.chunk);
      break;
    case SplitProblem::Role::Storage:
      text += "storage" + std::to_string(origin.index);
      break;
    }
  }
  return text;
}

TEST(SplitProblem, ChunksFollowEachOtherInAPipeline) {
  Block block;
  SplitProblem split = block.split();
  EXPECT_EQ(tell(split), "0 slice0.0 1.0 slice0.1 2.0 1.1 3.0 2.1 4.0 3.1 5.0 "
                         "4.1 5.1 whole0 6");
  const Problem &problem = split.getProblem();
  Result<Timeline> timeline = simulate(problem, split.place());
  ASSERT_TRUE(timeline);
  // 10 + 1, the first gather of 25, two products, a scatter, and the end.
  EXPECT_EQ(timeline->stepNs, 11 + 25 + 110 + 35 + 2 + 10);
  EXPECT_TRUE(problem.isExpensive(split.chunkOf(Block::mm, 1)));
  EXPECT_EQ(problem.stream(split.chunkOf(Block::scatter, 1)), 0);
}

TEST(SplitProblem, ChunksAreWrittenIntoTheirWhole) {
  Block block;
  block.spec.wholes.push_back(
      {Block::mm, Block::product, 0, 64, true, {}, /*isWritten=*/true});
  SplitProblem split = block.split();
  EXPECT_EQ(tell(split),
            "0 slice0.0 1.0 slice0.1 storage1 2.0 1.1 3.0 2.1 4.0 3.1 5.0 4.1 "
            "whole1 5.1 whole0 6");
  const Problem &problem = split.getProblem();
  Result<Timeline> timeline = simulate(problem, split.place());
  ASSERT_TRUE(timeline);
  EXPECT_EQ(timeline->stepNs, 11 + 25 + 110 + 35 + 2 + 10);
  // The input and its slices, the gathered chunks, the product once, the
  // scattered chunks and their whole, and the output.
  int64_t bytes = 0;
  for (BufferId id = 0; id < problem.numBuffers(); ++id)
    bytes += problem.buffer(id).bytes;
  EXPECT_EQ(bytes, 8 + 2 * 4 + 2 * 16 + 64 + 2 * 8 + 16 + 16);
  NodeId storage = noNode;
  for (NodeId node = 0; node < problem.numNodes(); ++node)
    if (split.originOf(node).role == SplitProblem::Role::Storage)
      storage = node;
  ASSERT_NE(storage, noNode);
  ASSERT_EQ(problem.buffersMadeBy(storage).size(), 1u);
  BufferId whole = *problem.buffersMadeBy(storage).begin();
  EXPECT_EQ(problem.buffer(whole).bytes, 64);
  for (int32_t chunk = 0; chunk < 2; ++chunk) {
    NodeId node = split.chunkOf(Block::mm, chunk);
    EXPECT_TRUE(problem.buffersMadeBy(node).empty());
    ArrayView<BufferId> used = problem.buffersUsedBy(node);
    EXPECT_NE(std::find(used.begin(), used.end(), whole), used.end());
  }

  block.spec.wholes.back().costNs = 3;
  Result<SplitProblem> costly =
      SplitProblem::create(block.problem, {block.spec});
  ASSERT_FALSE(costly);
  EXPECT_EQ(costly.error(), "whole 1 of region 0 costs 3 ns, but its chunks "
                            "are parts of it");
  block.spec.wholes.back() = block.spec.wholes.front();
  block.spec.wholes.back().costNs = 0;
  block.spec.wholes.back().isWritten = true;
  Result<SplitProblem> delivered =
      SplitProblem::create(block.problem, {block.spec});
  ASSERT_FALSE(delivered);
  EXPECT_EQ(delivered.error(),
            "whole 1 of region 0 has chunks that are parts of buffer 3, which "
            "no Compute of the region makes");
}

TEST(SplitProblem, NodesAreFoundBothWays) {
  Block block(4);
  SplitProblem split = block.split();
  EXPECT_EQ(split.numSpecs(), 1);
  for (NodeId node = 0; node < block.problem.numNodes(); ++node) {
    bool isMember = node != Block::input && node != Block::use;
    EXPECT_EQ(split.specOf(node), isMember ? 0 : -1);
    EXPECT_EQ(split.nodeOf(node) == noNode, isMember);
    if (!isMember) {
      EXPECT_EQ(split.originalOf(split.nodeOf(node)), node);
    }
    for (int32_t chunk = 0; isMember && chunk < 4; ++chunk) {
      NodeId found = split.chunkOf(node, chunk);
      EXPECT_EQ(split.originalOf(found), node);
      EXPECT_EQ(split.originOf(found).chunk, chunk);
      EXPECT_EQ(split.getProblem().kind(found), block.problem.kind(node));
    }
  }
  EXPECT_EQ(split.originOf(split.wholeOf(0, 0)).role,
            SplitProblem::Role::Whole);
  EXPECT_EQ(split.originOf(split.sliceOf(0, 0, 3)).chunk, 3);
  EXPECT_EQ(split.originalOf(split.sliceOf(0, 0, 3)), noNode);
}

TEST(SplitProblem, MemoryIsThatOfTheWrittenProgram) {
  // The same program by hand.
  Problem written;
  auto allocate = [&](NodeId node, int64_t bytes) {
    written.addBuffer(bytes, node, /*freed=*/true);
    return node;
  };
  NodeId input = allocate(addCompute(written, 10), 8);
  NodeId slice0 = allocate(addCompute(written, 1, {input}), 4);
  NodeId gather0 = allocate(addStart(written, 25, {slice0}), 16);
  NodeId slice1 = allocate(addCompute(written, 1, {input}), 4);
  NodeId gather1 = allocate(addStart(written, 25, {slice1}), 16);
  NodeId arrived0 = written.addWait(gather0);
  NodeId mm0 = allocate(addCompute(written, 55, {arrived0}), 32);
  NodeId scatter0 = allocate(addStart(written, 35, {mm0}), 8);
  NodeId arrived1 = written.addWait(gather1);
  NodeId mm1 = allocate(addCompute(written, 55, {arrived1}), 32);
  NodeId scatter1 = allocate(addStart(written, 35, {mm1}), 8);
  NodeId done0 = written.addWait(scatter0);
  NodeId done1 = written.addWait(scatter1);
  NodeId whole = allocate(addCompute(written, 2, {done0, done1}), 16);
  allocate(addCompute(written, 10, {whole}), 16);
  const std::pair<BufferId, std::vector<NodeId>> uses[] = {
      {0, {slice0, slice1}}, {1, {gather0, arrived0}},
      {2, {arrived0, mm0}},  {3, {gather1, arrived1}},
      {4, {arrived1, mm1}},  {5, {scatter0, done0}},
      {6, {done0, whole}},   {7, {scatter1, done1}},
      {8, {done1, whole}},   {9, {whole + 1}}};
  for (const auto &[buffer, users] : uses)
    for (NodeId user : users)
      written.addUse(buffer, user);
  ASSERT_TRUE(written.finalize());

  SplitProblem split = Block().split();
  Result<MemoryTimeline> expected =
      simulateMemory(written, written.programOrder());
  auto chunk = [&](NodeId node, int32_t index) {
    return split.chunkOf(node, index);
  };
  Order order = {split.nodeOf(Block::input)};
  for (int32_t i : {0, 1}) {
    order.push_back(split.sliceOf(0, 0, i));
    order.push_back(chunk(Block::gather, i));
  }
  for (int32_t i : {0, 1})
    for (NodeId node : {Block::waitGather, Block::mm, Block::scatter})
      order.push_back(chunk(node, i));
  for (int32_t i : {0, 1})
    order.push_back(chunk(Block::waitScatter, i));
  order.push_back(split.wholeOf(0, 0));
  order.push_back(split.nodeOf(Block::use));
  Result<MemoryTimeline> actual = simulateMemory(split.getProblem(), order);
  ASSERT_TRUE(expected && actual);
  EXPECT_EQ(actual->allocatedBytes, expected->allocatedBytes);
  EXPECT_EQ(actual->remainingBytes, expected->remainingBytes);
}

TEST(SplitProblem, SectionsEndWhereAllChunksAreNeeded) {
  // Two products whose results nothing but the next one needs, and a cheap
  // operation of the region behind another one that needs the first whole.
  auto build = [](bool needsWhole) {
    Problem problem;
    NodeId mm = addCompute(problem, 10);
    NodeId mm2 = addCompute(problem, 10, {mm});
    NodeId other = addCompute(problem, 1);
    NodeId mm3 = addCompute(problem, 10, {mm2});
    if (needsWhole)
      problem.addDependence(mm, other, DependenceKind::Data);
    problem.finalize();
    SplitSpec spec;
    spec.members = {{mm, 5}, {mm2, 5}, {mm3, 5}};
    return std::pair(problem, spec);
  };
  auto [apart, spec] = build(false);
  EXPECT_EQ(tell(*SplitProblem::create(apart, {spec})),
            "0.0 1.0 2 3.0 0.1 1.1 3.1");
  auto [needed, same] = build(true);
  EXPECT_EQ(tell(*SplitProblem::create(needed, {same})),
            "0.0 1.0 0.1 1.1 2 3.0 3.1");
}

TEST(SplitProblem, RegionsFollowOnEachOther) {
  // What the first region computes is scattered by the second one, in another
  // number of chunks.
  Problem problem;
  NodeId mm = addCompute(problem, 10);
  NodeId scatter = addStart(problem, 10, {mm});
  NodeId wait = problem.addWait(scatter);
  BufferId product = problem.addBuffer(60, mm, true);
  problem.addUse(product, scatter);
  problem.addUse(product, wait);
  problem.finalize();
  SplitSpec first, second;
  first.members = {{mm, 5}};
  first.buffers = {{product, 30}};
  first.wholes = {{mm, product, 1, 60, true, {scatter}}};
  second.chunks = 3;
  second.members = {{scatter, 4}, {wait, 0}};
  second.slices = {{mm, product, 1, 20, {scatter}}};
  Result<SplitProblem> split = SplitProblem::create(problem, {second, first});
  ASSERT_TRUE(split) << split.error();
  EXPECT_EQ(tell(*split),
            "0.0 0.1 whole0 slice0.0 1.0 slice0.1 slice0.2 2.0 1.1 "
            "1.2 2.1 2.2");
  // The slices read the whole: both chunks and it, it and one slice, then all
  // three slices.
  EXPECT_EQ(simulateMemory(split->getProblem(), split->place())->peakBytes,
            120);
  EXPECT_EQ(split->specOf(mm), 1);
}

TEST(SplitProblem, BucketsAreMergedOnTop) {
  // Two gathers for two other products before and behind a block.
  Block block;
  Problem &problem = block.problem;
  std::vector<NodeId> starts;
  for (int i = 0; i < 2; ++i) {
    NodeId start = addStart(problem, 20, {}, /*stream=*/1);
    addCompute(problem, 10, {problem.addWait(start)});
    starts.push_back(start);
  }
  problem.finalize();
  SplitProblem split = block.split();
  Bucket bucket;
  for (NodeId start : starts)
    bucket.starts.push_back(split.nodeOf(start));
  Result<BucketedProblem> merged = BucketedProblem::create(
      split.getProblem(), {bucket}, {{1, 30, 1, {}}}, BucketBuffers::LeftOut);
  ASSERT_TRUE(merged) << merged.error();
  Result<Order> order = merged->place();
  ASSERT_TRUE(order) << order.error();
  EXPECT_EQ(merged->getProblem().numNodes(),
            split.getProblem().numNodes() - 4 + 4);
  // The products' chunks keep their places.
  EXPECT_NE(merged->nodeOf(split.chunkOf(Block::mm, 1)), noNode);
}

std::string errorOf(const Problem &problem,
                    const std::vector<SplitSpec> &specs) {
  return SplitProblem::create(problem, specs).error();
}

/// The error for the block with a change of its region.
template <typename ChangeFn> std::string errorAfter(ChangeFn change) {
  Block block;
  change(block.spec);
  return errorOf(block.problem, {block.spec});
}

TEST(SplitProblem, WrongMembersAreErrors) {
  EXPECT_EQ(errorAfter([](SplitSpec &spec) { spec.chunks = 1; }),
            "region 0 has 1 chunks; there can be 2 to 64");
  EXPECT_EQ(errorAfter([](SplitSpec &spec) { spec.chunks = 65; }),
            "region 0 has 65 chunks; there can be 2 to 64");
  EXPECT_EQ(errorAfter([](SplitSpec &spec) { spec.members.clear(); }),
            "region 0 has no members");
  EXPECT_EQ(errorAfter([](SplitSpec &spec) { spec.members[0].node = 7; }),
            "region 0 has node 7; the problem has 7 nodes");
  EXPECT_EQ(errorAfter([](SplitSpec &spec) {
              std::swap(spec.members[0], spec.members[1]);
            }),
            "region 0 has node 1 (start) after node 2 (wait); members are in "
            "ascending order");
  EXPECT_EQ(errorAfter([](SplitSpec &spec) {
              spec.members.erase(spec.members.begin());
            }),
            "region 0 has node 2 (wait) without node 1 (start)");
  EXPECT_EQ(errorAfter([](SplitSpec &spec) { spec.members.pop_back(); }),
            "region 0 has node 4 (start) without node 5 (wait)");
  EXPECT_EQ(
      errorAfter([](SplitSpec &spec) { spec.members[2].chunkCostNs = -3; }),
      "a chunk of node 3 (compute) has a negative cost of -3 ns");
  EXPECT_EQ(
      errorAfter([](SplitSpec &spec) { spec.members[1].chunkCostNs = 3; }),
      "a chunk of node 2 (wait) has a cost of 3 ns, but the time of a "
      "collective belongs to its start");
  EXPECT_EQ(
      errorAfter([](SplitSpec &spec) {
        spec.members[2].chunkCostNs =
            std::numeric_limits<int64_t>::max() / 2 + 1;
      })
          .rfind("the regions make a program that is not valid: the sum of "
                 "the costs",
                 0),
      0u);

  Block block;
  EXPECT_EQ(errorOf(block.problem, {block.spec, block.spec}),
            "node 1 (start) is in region 0 and again in region 1");
  NodeId barrier = block.problem.addNode(NodeKind::Blocking, 1, 0);
  EXPECT_EQ(errorOf(block.problem, {block.spec}),
            "the problem was changed after it was finalized");
  block.problem.finalize();
  block.spec.members.push_back({barrier, 1});
  EXPECT_EQ(errorOf(block.problem, {block.spec}),
            "region 0 has node 7 (blocking), which cannot be split");
}

TEST(SplitProblem, WrongBuffersAreErrors) {
  EXPECT_EQ(errorAfter([](SplitSpec &spec) { spec.buffers[0].buffer = 5; }),
            "region 0 splits buffer 5; the problem has 5 buffers");
  EXPECT_EQ(errorAfter([](SplitSpec &spec) { spec.buffers[0].buffer = 0; }),
            "region 0 splits buffer 0, which no member of it makes");
  EXPECT_EQ(errorAfter([](SplitSpec &spec) { spec.buffers[0].buffer = 2; }),
            "region 0 splits buffer 2 twice");
  EXPECT_EQ(errorAfter([](SplitSpec &spec) { spec.buffers.pop_back(); }),
            "region 0 has node 4 (start), but does not split its buffer 3");
  EXPECT_EQ(
      errorAfter([](SplitSpec &spec) { spec.buffers[0].chunkBytes = -1; }),
      "a chunk of buffer 1 has a negative size of -1 bytes");
}

TEST(SplitProblem, WrongWholesAreErrors) {
  auto errorWith = [](auto change) {
    return errorAfter([&](SplitSpec &spec) { change(spec.wholes[0]); });
  };
  using Whole = SplitSpec::Whole;
  EXPECT_EQ(errorWith([](Whole &whole) { whole.producer = noNode; }),
            "whole 0 of region 0 has no producer");
  EXPECT_EQ(errorWith([](Whole &whole) { whole.producer = 7; }),
            "whole 0 of region 0 has node 7 as its producer; the problem has 7 "
            "nodes");
  EXPECT_EQ(errorWith([](Whole &whole) { whole.source = 5; }),
            "whole 0 of region 0 reads buffer 5; the problem has 5 buffers");
  EXPECT_EQ(errorWith([](Whole &whole) { whole.source = Block::gathered; }),
            "whole 0 of region 0 reads buffer 1, which node 5 (wait) neither "
            "makes nor uses");
  EXPECT_EQ(errorWith([](Whole &whole) { whole.costNs = -1; }),
            "whole 0 of region 0 has a negative cost of -1 ns");
  EXPECT_EQ(errorWith([](Whole &whole) { whole.bytes = -1; }),
            "whole 0 of region 0 has a negative size of -1 bytes");
  EXPECT_EQ(errorWith([](Whole &whole) { whole.users = {7}; }),
            "whole 0 of region 0 has node 7 as a user; the problem has 7 "
            "nodes");
  EXPECT_EQ(errorWith([](Whole &whole) { whole.users = {0}; }),
            "whole 0 of region 0 has node 0 (compute) as a user, which does "
            "not depend on node 5 (wait)");
  EXPECT_EQ(errorWith([](Whole &whole) {
              whole.producer = Block::use;
              whole.users.clear();
            }),
            "whole 0 of region 0 has node 6 (compute) as its producer, which "
            "is no member of the region");
}

TEST(SplitProblem, WrongSlicesAreErrors) {
  auto errorWith = [](auto change) {
    return errorAfter([&](SplitSpec &spec) { change(spec.slices[0]); });
  };
  using Slice = SplitSpec::Slice;
  EXPECT_EQ(errorWith([](Slice &slice) { slice.producer = noNode; }),
            "slice 0 of region 0 reads buffer 0, which node 0 (compute) makes, "
            "but has no producer");
  EXPECT_EQ(errorWith([](Slice &slice) { slice.users.clear(); }),
            "slice 0 of region 0 has no users");
  EXPECT_EQ(errorWith([](Slice &slice) { slice.users = {3}; }),
            "slice 0 of region 0 has node 3 (compute) as a user, which does "
            "not depend on node 0 (compute)");
  EXPECT_EQ(errorWith([](Slice &slice) { slice.costNs = -2; }),
            "slice 0 of region 0 has a negative cost of -2 ns");
  EXPECT_EQ(errorWith([](Slice &slice) {
              slice = {Block::waitScatter, Block::scattered, 1, 1, {6}};
            }),
            "slice 0 of region 0 has node 6 (compute) as a user, which is no "
            "member of the region");
  EXPECT_EQ(errorWith([](Slice &slice) {
              slice = {Block::mm, Block::product, 1, 1, {Block::scatter}};
            }),
            "slice 0 of region 0 has a value of node 3 (compute), which is a "
            "member, but no whole that node 4 (start) uses");
  // An argument that the user does not use.
  Block block;
  BufferId argument = block.problem.addBuffer(8, noNode, false);
  block.problem.finalize();
  block.spec.slices[0] = {noNode, argument, 1, 1, {Block::gather}};
  EXPECT_EQ(errorOf(block.problem, {block.spec}),
            "slice 0 of region 0 has node 1 (start) as a user, which does not "
            "use buffer 5");
}

TEST(SplitProblem, UsesWithoutADependenceAreRespected) {
  // The use alone says that 1 comes after 0, and 2 after 3.
  auto build = [](bool isImpossible) {
    Problem problem;
    NodeId maker = addCompute(problem, 1);
    NodeId user = addCompute(problem, 1);
    problem.addUse(problem.addBuffer(4, maker, true), user);
    if (isImpossible)
      problem.addDependence(user, maker, DependenceKind::Order);
    problem.finalize();
    SplitSpec spec;
    spec.members = {{maker, 1}};
    spec.buffers = {{0, 2}};
    return SplitProblem::create(problem, {spec});
  };
  EXPECT_TRUE(build(false));
  EXPECT_EQ(build(true).error(),
            "the problem has no legal order: a node uses a buffer before the "
            "node that makes it can run");
}

} // namespace
