//===- ImplementationsTest.cpp - Tests of the choice of algorithms --------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Schedule/Implementations/Implementations.h"

#include "TestProblems.h"

#include <gtest/gtest.h>

using namespace mlir::commsched;
using namespace mlir::commsched::schedule;
using namespace mlir::commsched::schedule::testing;

namespace {

/// A problem whose collectives all have the same implementations.
struct SameImplementations {
  Problem problem;
  Implementations implementations;
  StepSchedulerOptions options;

  /// NCCL, which slows computation down by 19 %, and copy engines, which are
  /// slower by a half: streams 0 and 1.
  void addCopyEngines() {
    options.contention.slowdownPpm = {190'000, 0};
    add([](int64_t costNs) { return Implementation{costNs * 3 / 2, 1}; });
  }

  /// Another communicator: stream 1.
  void addCommunicator(bool sharesLinks) {
    if (sharesLinks)
      options.contention.links = {0, 0};
    add([](int64_t costNs) { return Implementation{costNs, 1}; });
  }

  ImplementationSchedule choose() {
    Result<ImplementationSchedule> result = chooseImplementations(
        problem, implementations, problem.programOrder(),
        ImplementationChoice(problem.numNodes()), options);
    EXPECT_TRUE(result) << result.error();
    return result ? *result : ImplementationSchedule();
  }

private:
  template <typename MakeFn> void add(MakeFn make) {
    ASSERT_TRUE(problem.finalize());
    implementations.resize(problem.numNodes());
    for (NodeId node = 0; node < problem.numNodes(); ++node)
      if (problem.isCollective(node))
        implementations[node] = {{problem.costNs(node), problem.stream(node)},
                                 make(problem.costNs(node))};
  }
};

//===----------------------------------------------------------------------===//
// What wins
//===----------------------------------------------------------------------===//

TEST(Implementations, CopyEnginesWinWhereTheyAreHidden) {
  SameImplementations input;
  NodeId start = addStart(input.problem, 119);
  addCompute(input.problem, 1000);
  input.problem.addWait(start);
  input.addCopyEngines();
  ImplementationSchedule result = input.choose();
  EXPECT_EQ(result.choice, (ImplementationChoice{1, 0, 0}));
  EXPECT_EQ(result.numChanged, 1);
  // With NCCL it is 1019.
  EXPECT_EQ(result.schedule.stepNs, 1000);
}

TEST(Implementations, CopyEnginesLoseWhereTheyAreExposed) {
  // Hidden by 20 of 100 ns: with copy engines 50 ns more are exposed, and only
  // 4 ns of computation are saved.
  SameImplementations input;
  NodeId start = addStart(input.problem, 100);
  addCompute(input.problem, 20);
  input.problem.addWait(start);
  input.addCopyEngines();
  ImplementationSchedule result = input.choose();
  EXPECT_EQ(result.choice, (ImplementationChoice{0, 0, 0}));
  EXPECT_EQ(result.numChanged, 0);
  EXPECT_EQ(result.schedule.stepNs, 100);
}

TEST(Implementations, EachCollectiveHasItsOwn) {
  SameImplementations input;
  NodeId exposed = addStart(input.problem, 100);
  input.problem.addWait(exposed);
  NodeId hidden = addStart(input.problem, 119);
  addCompute(input.problem, 1000);
  input.problem.addWait(hidden);
  input.addCopyEngines();
  ImplementationSchedule result = input.choose();
  EXPECT_EQ(result.choice, (ImplementationChoice{0, 0, 1, 0, 0}));
  EXPECT_EQ(result.schedule.stepNs, 1100);
}

TEST(Implementations, ACommunicatorWinsOnlyWithALinkOfItsOwn) {
  for (bool sharesLinks : {false, true}) {
    SameImplementations input;
    NodeId first = addStart(input.problem, 100);
    NodeId second = addStart(input.problem, 100);
    input.problem.addWait(first);
    input.problem.addWait(second);
    input.addCommunicator(sharesLinks);
    ImplementationSchedule result = input.choose();
    EXPECT_EQ(result.numChanged, sharesLinks ? 0 : 1);
    EXPECT_EQ(result.schedule.stepNs, sharesLinks ? 200 : 100);
  }
}

TEST(Implementations, ACommunicatorLetsAnUrgentOnePass) {
  // The short one is needed by computation, behind a long one on its stream. On
  // a stream of its own it takes twice as long, as both share the link.
  SameImplementations input;
  NodeId bulk = addStart(input.problem, 1000);
  NodeId urgent = addStart(input.problem, 10);
  NodeId wait = input.problem.addWait(urgent);
  addCompute(input.problem, 990, {wait});
  input.problem.addWait(bulk);
  input.addCommunicator(/*sharesLinks=*/true);
  ImplementationSchedule result = input.choose();
  EXPECT_EQ(result.numChanged, 1);
  EXPECT_EQ(result.schedule.stepNs, 1010);
}

TEST(Implementations, TheOrderFollowsTheChoice) {
  // In the order of the program the collective is exposed, and no other
  // implementation is faster. Another order hides it, and then copy engines do
  // not slow computation down.
  SameImplementations input;
  NodeId start = addStart(input.problem, 119);
  NodeId wait = input.problem.addWait(start);
  addCompute(input.problem, 1000);
  addCompute(input.problem, 10, {wait});
  input.addCopyEngines();
  EXPECT_EQ(input.choose().numChanged, 0);
  Result<ImplementationSchedule> result =
      scheduleImplementations(input.problem, input.implementations,
                              input.problem.programOrder(), input.options);
  ASSERT_TRUE(result) << result.error();
  EXPECT_EQ(result->choice, (ImplementationChoice{1, 0, 0, 0}));
  EXPECT_EQ(result->schedule.order, (Order{0, 2, 1, 3}));
  EXPECT_EQ(result->schedule.stepNs, 1010);
}

TEST(Implementations, AStartWaitsForItsLink) {
  // Both gathers can start at once. On two streams of one link the second one
  // would take half of the bandwidth from the first, which is exposed.
  SameImplementations input;
  NodeId exposed = addStart(input.problem, 100);
  NodeId hidden = addStart(input.problem, 100);
  NodeId needed = input.problem.addWait(exposed);
  addCompute(input.problem, 1000, {needed});
  input.problem.addWait(hidden);
  input.options.contention.links = {0, 0};
  input.addCopyEngines();
  Result<ImplementationSchedule> result =
      scheduleImplementations(input.problem, input.implementations,
                              input.problem.programOrder(), input.options);
  ASSERT_TRUE(result) << result.error();
  EXPECT_EQ(result->choice[exposed], 0);
  EXPECT_EQ(result->choice[hidden], 1);
  EXPECT_EQ(result->schedule.stepNs, 1100);
}

TEST(Implementations, LargeCostsDoNotOverflow) {
  constexpr int64_t large = int64_t(1) << 60;
  SameImplementations input;
  NodeId start = addStart(input.problem, large);
  addCompute(input.problem, large);
  input.problem.addWait(start);
  input.addCommunicator(/*sharesLinks=*/false);
  input.options.contention.slowdownPpm = {190'000, 0};
  ImplementationSchedule result = input.choose();
  EXPECT_EQ(result.choice, (ImplementationChoice{1, 0, 0}));
  EXPECT_EQ(result.schedule.stepNs, large);
}

TEST(Implementations, NothingToChooseFrom) {
  Problem empty;
  ASSERT_TRUE(empty.finalize());
  Result<ImplementationSchedule> result =
      scheduleImplementations(empty, {}, {}, {});
  ASSERT_TRUE(result) << result.error();
  EXPECT_EQ(result->schedule.stepNs, 0);

  TimelineExample example;
  result = scheduleImplementations(example.problem,
                                   Implementations(example.problem.numNodes()),
                                   example.problem.programOrder(), {});
  ASSERT_TRUE(result) << result.error();
  EXPECT_EQ(result->numChanged, 0);
  Result<StepSchedule> alone = scheduleStep(example.problem, {});
  ASSERT_TRUE(alone);
  EXPECT_EQ(result->schedule.stepNs, alone->stepNs);
}

//===----------------------------------------------------------------------===//
// Input
//===----------------------------------------------------------------------===//

TEST(Implementations, ReplaceCostsAndStreams) {
  TimelineExample example;
  Implementations implementations(example.problem.numNodes());
  implementations[TimelineExample::gatherA] = {{100, 0}, {70, 3}, {20, 7}};
  ImplementationChoice choice(example.problem.numNodes());
  choice[TimelineExample::gatherA] = 1;
  Result<Problem> problem =
      withImplementations(example.problem, implementations, choice);
  ASSERT_TRUE(problem) << problem.error();
  EXPECT_TRUE(problem->check());
  EXPECT_EQ(problem->costNs(TimelineExample::gatherA), 70);
  EXPECT_EQ(problem->stream(TimelineExample::gatherA), 3);
  EXPECT_EQ(problem->costNs(TimelineExample::gatherB), 50);
  EXPECT_EQ(problem->stream(TimelineExample::gatherB), 0);
  // Those of all implementations, also when it is finalized or renumbered.
  EXPECT_EQ(problem->numStreams(), 8);
  EXPECT_EQ(renumber(*problem, problem->programOrder()).numStreams(), 8);
  problem->addNode(NodeKind::Compute, 1);
  ASSERT_TRUE(problem->finalize());
  EXPECT_EQ(problem->numStreams(), 8);
  EXPECT_EQ(example.problem.numStreams(), 1);
}

TEST(Implementations, ChecksTheInput) {
  TimelineExample example;
  const Problem &problem = example.problem;
  auto errorOf = [&](NodeId node, std::vector<Implementation> ways) {
    Implementations implementations(problem.numNodes());
    implementations[node] = std::move(ways);
    std::string error = check(implementations, problem).error();
    EXPECT_EQ(scheduleImplementations(problem, implementations,
                                      problem.programOrder(), {})
                  .error(),
              error);
    return error;
  };
  EXPECT_EQ(errorOf(0, {{100, 0}, {1, 0}}), "");
  EXPECT_EQ(errorOf(1, {{60, 0}}), "node 1 (compute) has 1 implementations, "
                                   "but it is no collective");
  EXPECT_EQ(errorOf(0, {{100, 0}, {-1, 0}}),
            "implementation 1 of node 0 (start) has a negative cost of -1 ns");
  EXPECT_EQ(errorOf(0, {{100, 0}, {1, -1}}),
            "implementation 1 of node 0 (start) is on stream -1, but streams "
            "are numbered from 0 to 1048575");
  EXPECT_EQ(errorOf(2, {{50, 1}}),
            "implementation 0 of node 2 (start) takes 50 ns on stream 1, but "
            "that of the problem takes 50 ns on stream 0");
  EXPECT_EQ(errorOf(2, {{50, 0}, {std::numeric_limits<int64_t>::max(), 0}}),
            "the sum of the longest implementations up to node 2 (start), "
            "which takes up to 9223372036854775807 ns, does not fit 64 bits");
  EXPECT_EQ(
      check(Implementations(2), problem).error(),
      "there are implementations for 2 operations, but the problem has 7");

  Implementations implementations(problem.numNodes());
  implementations[0] = {{100, 0}, {10, 1}};
  auto choiceError = [&](ImplementationChoice choice) {
    return withImplementations(problem, implementations, choice).error();
  };
  EXPECT_EQ(choiceError({1}), "the choice is one for 1 operations, but the "
                              "problem has 7");
  EXPECT_EQ(choiceError({2, 0, 0, 0, 0, 0, 0}),
            "implementation 2 is chosen for node 0 (start), which has 2");
  EXPECT_EQ(choiceError({0, 0, -1, 0, 0, 0, 0}),
            "implementation -1 is chosen for node 2 (start), which has 0");

  // The contention is one for all streams, and the order a legal one.
  StepSchedulerOptions options;
  options.contention.slowdownPpm = {5};
  EXPECT_EQ(scheduleImplementations(problem, implementations,
                                    problem.programOrder(), options)
                .error(),
            "there are slowdowns for 1 streams, but the problem has 2");
  options.contention.slowdownPpm = {5, 6};
  options.contention.exclusive = {{0, 1}};
  EXPECT_TRUE(scheduleImplementations(problem, implementations,
                                      problem.programOrder(), options));
  EXPECT_EQ(scheduleImplementations(problem, implementations,
                                    {3, 0, 1, 2, 4, 5, 6}, options)
                .error(),
            "node 3 (wait) at position 0 comes before node 0 (start) at "
            "position 1, on which it depends (data)");
}

} // namespace
