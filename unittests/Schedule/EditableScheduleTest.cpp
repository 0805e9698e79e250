//===- EditableScheduleTest.cpp - Tests of editable orders ----------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Model/EditableSchedule.h"
#include "TestProblems.h"

using namespace mlir::commsched::schedule::testing;

namespace {

/// Compares everything that `schedule` knows with a simulation from scratch.
void expectExact(const EditableSchedule &schedule, const Order &order) {
  const Problem &problem = schedule.getProblem();
  ASSERT_EQ(schedule.order(), order);
  MemoryTimeline memory = need(simulateMemory(problem, order));
  EXPECT_EQ(schedule.initialBytes(), memory.initialBytes);
  EXPECT_EQ(schedule.peakBytes(), memory.peakBytes);
  for (size_t place = 0; place < order.size(); ++place) {
    NodeId node = order[place];
    ASSERT_EQ(schedule.allocatedBytes(node), memory.allocatedBytes[place]);
    ASSERT_EQ(schedule.remainingBytes(node), memory.remainingBytes[place]);
    ASSERT_EQ(schedule.bytesBefore(node),
              place == 0 ? memory.initialBytes
                         : memory.remainingBytes[place - 1]);
  }
  for (BufferId id = 0; id < problem.numBuffers(); ++id) {
    const Buffer &buffer = problem.buffer(id);
    NodeId last = buffer.freed ? buffer.producer : noNode;
    auto placeOf = [&](NodeId node) {
      return std::find(order.begin(), order.end(), node) - order.begin();
    };
    if (buffer.freed)
      for (NodeId user : problem.users(id))
        if (last == noNode || placeOf(user) > placeOf(last))
          last = user;
    ASSERT_EQ(schedule.lastUser(id), last) << "buffer " << id;
  }
}

TEST(EditableSchedule, RejectsWhatItCannotHold) {
  TimelineExample example;
  EXPECT_EQ(EditableSchedule::create(example.problem, {}).error(),
            "the order has 0 entries for a problem of 7 nodes");
  Problem open;
  EXPECT_EQ(EditableSchedule::create(open, {}).error(),
            "the problem is not finalized");
}

TEST(EditableSchedule, EmptyProblemHoldsItsArguments) {
  TextProblem problem("x = arg 5!");
  EditableSchedule schedule = need(EditableSchedule::create(problem, {}));
  EXPECT_EQ(schedule.peakBytes(), 5);
}

TEST(EditableSchedule, LastUsesFollowInBothDirections) {
  TextProblem problem("a = 1 -> 8; b = 1 use:a; c = 1; d = 1 use:a");
  BufferId buffer = problem.bufferOf("a");
  EditableSchedule schedule =
      need(EditableSchedule::create(problem, {0, 1, 2, 3}));
  schedule.moveUp(3, 4, 1);
  EXPECT_EQ(schedule.lastUser(buffer), 1);
  expectExact(schedule, {0, 3, 1, 2});
  schedule.moveDown(1, 2, 4);
  EXPECT_EQ(schedule.lastUser(buffer), 3);
  expectExact(schedule, {0, 1, 2, 3});
}

TEST(EditableSchedule, SeesWhereItsMemoryIsNotTheSimulations) {
  // `late` uses the buffer last, below the peak that `large` makes.
  TextProblem problem(R"(
    make = 1 -> 8; early = 1 make; late = 1 early use:make
    large = 1 late -> 100)");
  NodeId early = problem["early"];
  BufferId buffer = problem.bufferOf("make");
  EditableSchedule schedule =
      need(EditableSchedule::create(problem, programOrder(problem)));
  EXPECT_TRUE(schedule.compareWithSimulation());
  int64_t peakBytes = schedule.peakBytes();
  schedule.setLastUser(buffer, early);
  EXPECT_EQ(schedule.peakBytes(), peakBytes);
  Status status = schedule.compareWithSimulation();
  ASSERT_FALSE(status);
  EXPECT_EQ(
      status.error(),
      "the live bytes of node 1 (compute) are kept as 8 and then 0, but a "
      "simulation gives 8 and 8");
}

TEST(EditableSchedule, AgreesWithSimulationAfterEveryMove) {
  int numMoves = 0;
  for (uint64_t seed : Seeds(300)) {
    Problem problem = makeEitherProblem(seed);
    Order order = makeRandomOrder(seed, problem);
    EditableSchedule schedule = need(EditableSchedule::create(problem, order));
    expectExact(schedule, order);
    std::mt19937_64 engine(seed);
    for (int move = 0; move < 100; ++move) {
      int32_t cuts[3];
      for (int32_t &cut : cuts)
        cut = static_cast<int32_t>(engine() % (order.size() + 1));
      std::sort(cuts, cuts + 3);
      Order moved = order;
      std::rotate(moved.begin() + cuts[0], moved.begin() + cuts[1],
                  moved.begin() + cuts[2]);
      if (!verify(problem, moved))
        continue;
      order = moved;
      if (engine() % 2)
        schedule.moveUp(cuts[1], cuts[2], cuts[0]);
      else
        schedule.moveDown(cuts[0], cuts[1], cuts[2]);
      expectExact(schedule, order);
      if (HasFatalFailure() || HasNonfatalFailure())
        return;
      ++numMoves;
    }
  }
  EXPECT_GT(numMoves, 600);
}

} // namespace
