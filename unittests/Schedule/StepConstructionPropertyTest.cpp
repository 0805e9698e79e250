//===- StepConstructionPropertyTest.cpp - Properties of constructions -----===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Step/StepConstruction.h"

#include "../Random.h"
#include "../Seeds.h"
#include "CommSched/Schedule/Model/MemoryTimeline.h"
#include "CommSched/Schedule/Model/Simulator.h"
#include "CommSched/Schedule/Model/Verify.h"
#include "RandomProblem.h"
#include "RandomStep.h"
#include "Step/ComputeOrders.h"
#include "TestProblems.h"

#include <gtest/gtest.h>

#include <algorithm>

using namespace mlir::commsched;
using namespace mlir::commsched::schedule;
using namespace mlir::commsched::testing;
using namespace mlir::commsched::schedule::testing;

namespace {

TEST(StepConstruction, PipelinesAChainOfGathers) {
  for (uint64_t seed : Seeds(200)) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    Problem problem;
    std::vector<int64_t> gathersNs, productsNs;
    NodeId last = noNode;
    for (int64_t i = 0, size = 1 + random.below(12); i < size; ++i) {
      gathersNs.push_back(random.below(100));
      productsNs.push_back(random.below(100));
      NodeId gather = addStart(problem, gathersNs.back());
      NodeId wait = problem.addWait(gather);
      problem.addUse(problem.addBuffer(80, gather, /*freed=*/true), wait);
      NodeId product = addCompute(problem, productsNs.back(), {wait});
      problem.setExpensive(product);
      if (last != noNode)
        problem.addDependence(last, product, DependenceKind::Data);
      last = product;
    }
    // A flow shop of two machines with a fixed order: some gather has kept its
    // stream busy until then, and products the compute stream from then on.
    int64_t gatheredNs = 0, optimumNs = 0;
    for (size_t i = 0; i < gathersNs.size(); ++i) {
      gatheredNs += gathersNs[i];
      int64_t restNs = 0;
      for (size_t j = i; j < productsNs.size(); ++j)
        restNs += productsNs[j];
      optimumNs = std::max(optimumNs, gatheredNs + restNs);
    }
    ASSERT_TRUE(problem.finalize());
    StepStructure structure = *StepStructure::create(problem);
    Order order = StepConstruction(structure, getProgramComputeOrder(structure))
                      .construct({})
                      .order;
    ASSERT_TRUE(verify(problem, order));
    ASSERT_EQ(simulate(problem, order)->stepNs, optimumNs);
  }
}

/// Whether `part` is what is left of `order` without the others.
bool isSubsequence(const Order &part, const Order &order) {
  size_t found = 0;
  for (NodeId node : order)
    found += found < part.size() && part[found] == node;
  return found == part.size();
}

TEST(StepConstruction, IsAlwaysLegal) {
  int numWithin = 0, numLimited = 0;
  for (uint64_t seed : Seeds(600)) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Problem problem =
        seed % 2 ? makeRandomStep(seed, 4) : makeRandomProblem(seed, {});
    for (NodeId node = 0; node < problem.numNodes(); ++node)
      if (problem.kind(node) == NodeKind::Compute && problem.costNs(node) > 16)
        problem.setExpensive(node);
    StepStructure structure = *StepStructure::create(problem);
    Order computeOrder = getProgramComputeOrder(structure);
    StepConstruction construction(structure, computeOrder);
    ASSERT_TRUE(verify(problem, construction.alapOrder()));
    // The random problems have waits that need computation, which is not what
    // steps are like: waiting early then brings that computation forward.
    bool isStep = seed % 2;
    if (isStep) {
      ASSERT_TRUE(isSubsequence(computeOrder, construction.alapOrder()));
    }
    int64_t leastBytes =
        simulateMemory(problem, construction.alapOrder())->peakBytes;
    Random random(seed);
    for (int64_t percent : {90, 100, 110, 1000}) {
      ConstructionOptions options;
      options.limitBytes = leastBytes * percent / 100;
      options.lookAheadNs = random.below(400);
      options.slackPercent = static_cast<int32_t>(random.below(100));
      ConstructedOrder result = construction.construct(options);
      ASSERT_TRUE(verify(problem, result.order));
      if (isStep) {
        ASSERT_TRUE(isSubsequence(computeOrder, result.order));
      }
      ASSERT_LE(simulate(problem, result.order)->stepNs, result.stepNs);
      if (percent < 100 || !isStep)
        continue;
      ++numLimited;
      numWithin += simulateMemory(problem, result.order)->peakBytes <=
                   options.limitBytes;
    }
  }
  // Estimates may be wrong, but not often.
  EXPECT_GT(numWithin * 100, numLimited * 90);
}

} // namespace
