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

TEST(ExposureReasons, NothingIsSaidOfWhatIsHidden) {
  Problem problem;
  NodeId start = addStart(problem, 10);
  addProduct(problem, 10);
  problem.addWait(start);
  EXPECT_TRUE(explain(problem).empty());
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
