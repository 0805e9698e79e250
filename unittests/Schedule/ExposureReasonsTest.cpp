//===- ExposureReasonsTest.cpp - Tests of exposure reasons ----------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Schedule/Exposure/ExposureReasons.h"

#include "CommSched/Schedule/Model/MemoryTimeline.h"
#include "TestProblems.h"

#include <gtest/gtest.h>

using namespace mlir::commsched;
using namespace mlir::commsched::schedule;
using namespace mlir::commsched::schedule::testing;

namespace {

/// A product: computation that stays where it is.
NodeId addProduct(Problem &problem, int64_t costNs,
                  std::initializer_list<NodeId> operands = {}) {
  NodeId node = addCompute(problem, costNs, operands);
  problem.setExpensive(node);
  return node;
}

/// The reasons for the program, within `limitBytes` or what it takes.
std::vector<ExposureReason> explain(Problem &problem, int64_t limitBytes = 0,
                                    ExposureOptions options = {}) {
  problem.finalize();
  options.limitBytes = limitBytes;
  Result<std::vector<ExposureReason>> reasons =
      explainExposure(problem, problem.programOrder(), options);
  EXPECT_TRUE(reasons) << reasons.error();
  return reasons ? *reasons : std::vector<ExposureReason>();
}

/// The only reason.
ExposureReason explainOne(Problem &problem, int64_t limitBytes = 0) {
  std::vector<ExposureReason> reasons = explain(problem, limitBytes);
  EXPECT_EQ(reasons.size(), 1u);
  return reasons.empty() ? ExposureReason() : reasons.front();
}

TEST(ExposureReasons, NothingIsSaidOfWhatIsHidden) {
  Problem problem;
  NodeId start = addStart(problem, 10);
  addProduct(problem, 10);
  problem.addWait(start);
  EXPECT_TRUE(explain(problem).empty());
}

TEST(ExposureReasons, ABlockingCollective) {
  Problem problem;
  addProduct(problem, 10);
  NodeId barrier = problem.addNode(NodeKind::Blocking, 5, 0);
  ExposureReason reason = explainOne(problem);
  EXPECT_EQ(reason.collective, barrier);
  EXPECT_EQ(reason.exposedNs, 5);
  EXPECT_EQ(reason.cause, ExposureCause::Blocking);
}

TEST(ExposureReasons, AnEarlierStart) {
  // The cast moves along.
  Problem problem;
  NodeId product = addProduct(problem, 4);
  NodeId cast = addCompute(problem, 1);
  NodeId start = addStart(problem, 10, {cast});
  problem.addWait(start);
  ExposureReason reason = explainOne(problem);
  EXPECT_EQ(reason.cause, ExposureCause::Unhindered);
  EXPECT_EQ(reason.move, ExposureMove::StartEarlier);
  EXPECT_EQ(reason.other, product);
  EXPECT_EQ(reason.moving, (std::vector<NodeId>{cast, start}));
  EXPECT_EQ(reason.byNs, 4);
  EXPECT_EQ(reason.gainNs, 4);
}

TEST(ExposureReasons, ALaterWait) {
  // Users of the result move along.
  Problem problem;
  NodeId before = addProduct(problem, 3);
  NodeId start = addStart(problem, 10, {before});
  NodeId wait = problem.addWait(start);
  NodeId view = addCompute(problem, 0, {wait});
  NodeId product = addProduct(problem, 4);
  ExposureReason reason = explainOne(problem);
  EXPECT_EQ(reason.cause, ExposureCause::Unhindered);
  EXPECT_EQ(reason.move, ExposureMove::WaitLater);
  EXPECT_EQ(reason.other, product);
  EXPECT_EQ(reason.moving, (std::vector<NodeId>{wait, view}));
  EXPECT_EQ(reason.gainNs, 4);
}

TEST(ExposureReasons, OfTwoMovesTheOneThatGainsMore) {
  for (int64_t behindNs : {3, 7}) {
    SCOPED_TRACE(behindNs);
    Problem problem;
    addProduct(problem, 5);
    NodeId start = addStart(problem, 10);
    problem.addWait(start);
    addProduct(problem, behindNs);
    ExposureReason reason = explainOne(problem);
    EXPECT_EQ(reason.cause, ExposureCause::Unhindered);
    EXPECT_EQ(reason.move, behindNs > 5 ? ExposureMove::WaitLater
                                        : ExposureMove::StartEarlier);
    EXPECT_EQ(reason.gainNs, std::max<int64_t>(behindNs, 5));
  }
}

TEST(ExposureReasons, MovesThatAreNotTriedAreTakenToPay) {
  Problem problem;
  addProduct(problem, 4);
  NodeId start = addStart(problem, 10);
  problem.addWait(start);
  ExposureOptions options;
  options.effort = 2;
  std::vector<ExposureReason> reasons = explain(problem, 0, options);
  ASSERT_EQ(reasons.size(), 1u);
  EXPECT_EQ(reasons[0].cause, ExposureCause::Unhindered);
  EXPECT_FALSE(reasons[0].gainNs);
}

/// 3 bytes are live behind the product, which takes 7; the start allocates 5.
struct MemoryExample {
  Problem problem;
  NodeId product, start;

  MemoryExample() {
    problem.addBuffer(3, noNode, false);
    product = addProduct(problem, 4);
    start = addStart(problem, 10);
    NodeId wait = problem.addWait(start);
    problem.addBuffer(4, product, true);
    problem.addUse(problem.addBuffer(5, start, true), wait);
  }
};

TEST(ExposureReasons, MemoryForAnEarlierStart) {
  for (int64_t limit : {0, 8, 10, 11}) {
    SCOPED_TRACE(limit);
    MemoryExample example;
    ExposureReason reason = explainOne(example.problem, limit);
    EXPECT_EQ(reason.cause, ExposureCause::Memory);
    EXPECT_EQ(reason.other, example.product);
    // 8 is what the program takes, which is never too much.
    EXPECT_EQ(reason.bytesShort, 12 - std::max<int64_t>(limit, 8));
    EXPECT_EQ(reason.fullest, example.product);
    EXPECT_EQ(reason.byNs, 4);
    EXPECT_EQ(reason.gainNs, 4);
  }
  MemoryExample example;
  EXPECT_EQ(explainOne(example.problem, 12).cause, ExposureCause::Unhindered);
}

TEST(ExposureReasons, MemoryForALaterWait) {
  // The wait frees the 6 bytes that are sent, which the product would find
  // still there.
  Problem problem;
  NodeId gradient = addProduct(problem, 3);
  NodeId start = addStart(problem, 10, {gradient});
  NodeId wait = problem.addWait(start);
  NodeId product = addProduct(problem, 4);
  BufferId sent = problem.addBuffer(6, gradient, true);
  problem.addUse(sent, start);
  problem.addUse(sent, wait);
  problem.addBuffer(5, product, true);
  ExposureReason reason = explainOne(problem);
  EXPECT_EQ(reason.cause, ExposureCause::Memory);
  EXPECT_EQ(reason.move, ExposureMove::WaitLater);
  EXPECT_EQ(reason.other, product);
  EXPECT_EQ(reason.bytesShort, 5);
  EXPECT_EQ(reason.fullest, product);
}

TEST(ExposureReasons, ABusyStream) {
  Problem problem;
  NodeId first = addStart(problem, 10);
  NodeId second = addStart(problem, 5);
  NodeId product = addProduct(problem, 4);
  NodeId waits[] = {problem.addWait(first), problem.addWait(second)};
  addProduct(problem, 7, {product, waits[0], waits[1]});
  std::vector<ExposureReason> reasons = explain(problem);
  ASSERT_EQ(reasons.size(), 2u);
  EXPECT_EQ(reasons[1].collective, second);
  EXPECT_EQ(reasons[1].cause, ExposureCause::StreamBusy);
  EXPECT_EQ(reasons[1].other, first);
  EXPECT_EQ(reasons[1].byNs, 10);
  EXPECT_EQ(reasons[1].exposedNs, 5);
}

TEST(ExposureReasons, ABusyExclusiveStream) {
  Problem problem;
  NodeId first = addStart(problem, 10, {}, 0);
  NodeId second = addStart(problem, 5, {}, 1);
  NodeId waits[] = {problem.addWait(second), problem.addWait(first)};
  addProduct(problem, 7, {waits[0], waits[1]});
  ExposureOptions options;
  options.contention.exclusive = {{0, 1}};
  std::vector<ExposureReason> reasons = explain(problem, 0, options);
  ASSERT_EQ(reasons.size(), 1u);
  EXPECT_EQ(reasons[0].collective, second);
  EXPECT_EQ(reasons[0].cause, ExposureCause::StreamBusy);
  EXPECT_EQ(reasons[0].other, first);
  EXPECT_EQ(reasons[0].byNs, 10);
}

TEST(ExposureReasons, AMoveThatDoesNotPay) {
  // Another stream is what the step waits for, before and after.
  Problem problem;
  NodeId longer = addStart(problem, 30, {}, 1);
  NodeId product = addProduct(problem, 4);
  NodeId start = addStart(problem, 10);
  NodeId wait = problem.addWait(start);
  NodeId last = problem.addWait(longer);
  addProduct(problem, 7, {wait, last});
  std::vector<ExposureReason> reasons = explain(problem);
  ASSERT_EQ(reasons.size(), 2u);
  // In order of starts.
  EXPECT_EQ(reasons[0].collective, longer);
  EXPECT_EQ(reasons[0].cause, ExposureCause::NothingLeft);
  EXPECT_EQ(reasons[1].collective, start);
  EXPECT_EQ(reasons[1].cause, ExposureCause::WouldNotPay);
  EXPECT_EQ(reasons[1].other, product);
  EXPECT_EQ(reasons[1].gainNs, 0);
  EXPECT_EQ(reasons[1].spareNs, 4);
}

TEST(ExposureReasons, AnEarlierStartBesideAnotherStream) {
  // Computation is not all that it can be beside.
  Problem problem;
  NodeId longer = addStart(problem, 30, {}, 1);
  NodeId first = problem.addWait(longer);
  NodeId start = addStart(problem, 10);
  NodeId second = problem.addWait(start);
  addProduct(problem, 7, {first, second});
  std::vector<ExposureReason> reasons = explain(problem);
  ASSERT_EQ(reasons.size(), 2u);
  EXPECT_EQ(reasons[0].cause, ExposureCause::NothingLeft);
  EXPECT_EQ(reasons[1].cause, ExposureCause::Unhindered);
  EXPECT_EQ(reasons[1].other, first);
  EXPECT_EQ(reasons[1].gainNs, 10);
}

TEST(ExposureReasons, TheFirstGatherHasNothingToHideBehind) {
  Problem problem;
  NodeId cast = addCompute(problem, 1);
  NodeId start = addStart(problem, 10, {cast});
  NodeId wait = problem.addWait(start);
  NodeId first = addProduct(problem, 5, {wait});
  // A branch that joins the chain of products later.
  NodeId gradient = addProduct(problem, 6, {first});
  NodeId second = addProduct(problem, 5, {first});
  addProduct(problem, 5, {second, gradient});
  ExposureReason reason = explainOne(problem);
  EXPECT_EQ(reason.cause, ExposureCause::NothingLeft);
  EXPECT_EQ(reason.other, noNode);
}

TEST(ExposureReasons, TheLastReductionHasNothingToHideBehind) {
  Problem problem;
  NodeId first = addProduct(problem, 5);
  NodeId second = addProduct(problem, 5, {first});
  NodeId start = addStart(problem, 10, {second});
  NodeId beside = addCompute(problem, 3, {second});
  NodeId wait = problem.addWait(start);
  addCompute(problem, 1, {wait, beside});
  ExposureReason reason = explainOne(problem);
  EXPECT_EQ(reason.cause, ExposureCause::NothingLeft);
  EXPECT_EQ(reason.exposedNs, 7);
}

TEST(ExposureReasons, ADependence) {
  // The product in front makes what the collective sends, after a cast. The one
  // before is independent, but cannot come between.
  Problem problem;
  addProduct(problem, 3);
  NodeId product = addProduct(problem, 5);
  NodeId cast = addCompute(problem, 1, {product});
  NodeId start = addStart(problem, 10, {cast});
  NodeId wait = problem.addWait(start);
  addProduct(problem, 7, {wait});
  ExposureReason reason = explainOne(problem);
  EXPECT_EQ(reason.cause, ExposureCause::Dependence);
  EXPECT_EQ(reason.other, product);
  EXPECT_EQ(reason.byNs, 1);
  EXPECT_EQ(reason.spareNs, 3);
}

TEST(ExposureReasons, NeededAtOnce) {
  Problem problem;
  NodeId start = addStart(problem, 10);
  NodeId wait = problem.addWait(start);
  NodeId user = addProduct(problem, 7, {wait});
  NodeId other = addProduct(problem, 2);
  addProduct(problem, 1, {user, other});
  ExposureReason reason = explainOne(problem);
  EXPECT_EQ(reason.cause, ExposureCause::Needed);
  EXPECT_EQ(reason.other, user);
  EXPECT_EQ(reason.spareNs, 2);
}

TEST(ExposureReasons, Errors) {
  Problem problem;
  NodeId start = addStart(problem, 10);
  problem.addWait(start);
  EXPECT_EQ(explainExposure(problem, {0, 1}, {}).error(),
            "the problem is not finalized");
  problem.finalize();
  EXPECT_EQ(explainExposure(problem, {1, 0}, {}).error(),
            "node 1 (wait) at position 0 comes before its node 0 (start) at "
            "position 1");
}

} // namespace
