//===- OverlapPreservingBucketingTest.cpp - Buckets and overlap -*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Schedule/OverlapPreservingBucketing.h"

#include "CommSched/Schedule/Verify.h"

#include "RandomProblem.h"
#include "ReferenceSimulator.h"
#include "TestProblems.h"

#include <gtest/gtest.h>

#include <algorithm>

using namespace commsched;
using namespace commsched::testing;

namespace {

/// A launch takes 2 ns, and each byte one.
constexpr int64_t launchNs = 2;

/// A problem of collectives that cost what a launch of their bytes costs.
class Step {
public:
  NodeId gather(int64_t bytes, std::initializer_list<NodeId> operands = {},
                int32_t key = 0) {
    NodeId start = addStart(problem, launchNs + bytes, operands, key);
    candidates.push_back({start, key, bytes});
    return start;
  }

  NodeId wait(NodeId start) { return problem.addWait(start); }

  NodeId mm(int64_t costNs, std::initializer_list<NodeId> operands = {}) {
    NodeId node = addCompute(problem, costNs, operands);
    problem.setExpensive(node);
    return node;
  }

  /// The members of each bucket.
  std::vector<std::vector<NodeId>> buckets() {
    problem.finalize();
    BucketingOptions options;
    options.capBytes.assign(8, {cap});
    Result<Bucketing> result = formOverlapPreservingBuckets(
        problem, candidates, options, std::vector<bool>(8, exposedFirst),
        [&](const std::vector<NodeId> &starts) {
          BucketCost cost = copies;
          cost.collectiveNs = launchNs;
          for (NodeId start : starts)
            cost.collectiveNs += problem.costNs(start) - launchNs;
          return cost;
        });
    EXPECT_TRUE(result) << result.error();
    std::vector<std::vector<NodeId>> members;
    for (const Bucket &bucket : result->buckets)
      members.push_back(bucket.starts);
    fates = result->fates;
    return members;
  }

  Problem problem;
  std::vector<BucketCandidate> candidates;
  std::vector<CandidateFate> fates;
  int64_t cap = 1000;
  bool exposedFirst = false;
  BucketCost copies;
};

using Buckets = std::vector<std::vector<NodeId>>;

TEST(OverlapPreservingBucketing, MergesWhatIsHiddenTogether) {
  // Both are hidden behind both.
  Step step;
  NodeId a = step.gather(8), b = step.gather(8);
  step.mm(10);
  step.mm(10);
  step.wait(a);
  step.wait(b);
  EXPECT_EQ(step.buckets(), (Buckets{{a, b}}));
}

TEST(OverlapPreservingBucketing, KeepsApartWhatOneHidesAfterTheOther) {
  // mm1 hides the first and needs the second, which mm2 hides.
  Step step;
  NodeId b = step.gather(8), a = step.gather(8);
  step.mm(10);
  NodeId waitB = step.wait(b);
  step.mm(10, {waitB});
  step.wait(a);
  EXPECT_EQ(step.buckets(), Buckets());
  for (CandidateFate fate : step.fates) {
    EXPECT_EQ(fate.bucket, -1);
    EXPECT_EQ(fate.reason, AloneReason::LosesOverlap);
  }
  EXPECT_EQ(step.fates[0].other, a);
  EXPECT_EQ(step.fates[1].other, b);
}

} // namespace
