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
    }
  }
  return text;
}

TEST(SplitProblem, ChunksFollowEachOtherInAPipeline) {
  Block block;
  SplitProblem split = block.split();
  EXPECT_EQ(tell(split), "0 slice0.0 1.0 slice0.1 1.1 2.0 3.0 4.0 2.1 3.1 4.1 "
                         "5.0 5.1 whole0 6");
  const Problem &problem = split.getProblem();
  Result<Timeline> timeline = simulate(problem, split.place());
  ASSERT_TRUE(timeline);
  // 10 + 1, the first gather of 25, two products, a scatter, and the end.
  EXPECT_EQ(timeline->stepNs, 11 + 25 + 110 + 35 + 2 + 10);
  EXPECT_TRUE(problem.isExpensive(split.chunkOf(Block::mm, 1)));
  EXPECT_EQ(problem.stream(split.chunkOf(Block::scatter, 1)), 0);
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
  Result<MemoryTimeline> actual =
      simulateMemory(split.getProblem(), split.place());
  ASSERT_TRUE(expected && actual);
  EXPECT_EQ(actual->allocatedBytes, expected->allocatedBytes);
  EXPECT_EQ(actual->remainingBytes, expected->remainingBytes);
}

} // namespace
