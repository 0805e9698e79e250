//===- MemoryTimelineTest.cpp - Tests of the memory model -----------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Schedule/Model/MemoryTimeline.h"
#include "TestProblems.h"

using namespace mlir::commsched::schedule::testing;

namespace {

/// Whether `buffer` is live at `position`, from nothing but the rules: while
/// the operation there runs, or (`after`) when it has ended.
bool isLive(const Problem &problem, const Order &order, BufferId id,
            size_t position, bool after) {
  const Buffer &buffer = problem.buffer(id);
  auto hasRun = [&](NodeId node, size_t end) {
    return std::find(order.begin(), order.begin() + end, node) !=
           order.begin() + end;
  };
  if (buffer.producer != noNode && !hasRun(buffer.producer, position + 1))
    return false;
  if (!buffer.freed)
    return true;
  ArrayView<NodeId> users = problem.users(id);
  if (users.empty() && buffer.producer == noNode)
    return true;
  size_t end = after ? position + 1 : position;
  bool isNeeded = buffer.producer != noNode && !hasRun(buffer.producer, end);
  for (NodeId user : users)
    isNeeded |= !hasRun(user, end);
  return isNeeded;
}

TEST(MemoryTimeline, RejectsWhatItCannotRun) {
  TimelineExample example;
  EXPECT_EQ(simulateMemory(example.problem, {}).error(),
            "the order has 0 entries for a problem of 7 nodes");
}

TEST(MemoryTimeline, RejectsPositionsThatAreNone) {
  TimelineExample example;
  Order order = programOrder(example.problem);
  EXPECT_EQ(findLive(example.problem, order, 7).error(),
            "there is no position 7 in an order of 7 nodes");
  EXPECT_EQ(findLive(example.problem, order, -2).error(),
            "there is no position -2 in an order of 7 nodes");
  EXPECT_EQ(findLive(example.problem, {}, 0).error(),
            "the order has 0 entries for a problem of 7 nodes");
}

TEST(MemoryTimeline, AgreesWithLiveSets) {
  for (uint64_t seed : Seeds(500)) {
    Problem problem = makeEitherProblem(seed);
    Order order = makeRandomOrder(seed, problem);
    MemoryTimeline memory = need(simulateMemory(problem, order));
    std::vector<BufferId> initial;
    int64_t initialBytes = 0;
    for (BufferId id = 0; id < problem.numBuffers(); ++id)
      if (problem.buffer(id).producer == noNode) {
        initial.push_back(id);
        initialBytes += problem.buffer(id).bytes;
      }
    EXPECT_EQ(memory.initialBytes, initialBytes);
    EXPECT_EQ(*findLive(problem, order, -1), initial);
    int64_t peak = -1;
    int32_t peakPosition = -1;
    for (size_t position = 0; position < order.size(); ++position) {
      int64_t during = 0, after = 0;
      std::vector<BufferId> live;
      for (BufferId id = 0; id < problem.numBuffers(); ++id) {
        int64_t bytes = problem.buffer(id).bytes;
        if (isLive(problem, order, id, position, false)) {
          during += bytes;
          live.push_back(id);
        }
        after += isLive(problem, order, id, position, true) ? bytes : 0;
      }
      std::vector<BufferId> found =
          need(findLive(problem, order, static_cast<int32_t>(position)));
      ASSERT_EQ(found, live) << "position " << position;
      ASSERT_EQ(memory.allocatedBytes[position], during)
          << "position " << position;
      ASSERT_EQ(memory.remainingBytes[position], after)
          << "position " << position;
      if (during > peak) {
        peak = during;
        peakPosition = static_cast<int32_t>(position);
      }
    }
    EXPECT_EQ(memory.peakBytes, peak);
    EXPECT_EQ(memory.peakPosition, peakPosition);
  }
}

} // namespace
