//===- BucketingTest.cpp - Which collectives travel together --------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Schedule/Bucketing.h"

#include "TestProblems.h"

#include <gtest/gtest.h>

using namespace commsched;
using namespace commsched::testing;

namespace {

TEST(Bucketing, NestsChains) {
  // A, B (after A), C, D (after C).
  Problem problem;
  for (NodeId start : {0, 2, 4, 6}) {
    addStart(problem, 1);
    problem.addWait(start);
  }
  problem.addDependence(1, 2, DependenceKind::Data);
  problem.addDependence(5, 6, DependenceKind::Data);
  problem.finalize();
  Result<Bucketing> bucketing = formBuckets(
      problem, {{0, 0, 1}, {2, 0, 1}, {4, 0, 1}, {6, 0, 1}}, {{{100}}});
  ASSERT_TRUE(bucketing) << bucketing.error();
  ASSERT_EQ(bucketing->buckets.size(), 2u);
  EXPECT_EQ(bucketing->buckets[0].starts, (std::vector<NodeId>{0, 4}));
  EXPECT_EQ(bucketing->buckets[1].starts, (std::vector<NodeId>{2, 6}));
}

} // namespace
