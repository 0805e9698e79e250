//===- RenumberingTest.cpp - A problem in another order -------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Schedule/Model/ProblemTransforms.h"

#include "CommSched/Schedule/Model/MemoryTimeline.h"
#include "CommSched/Schedule/Model/Simulator.h"
#include "CommSched/Schedule/Model/Verify.h"
#include "RandomProblem.h"
#include "TestProblems.h"

#include <gtest/gtest.h>

#include <set>
#include <tuple>

using namespace mlir::commsched;
using namespace mlir::commsched::schedule;
using namespace mlir::commsched::schedule::testing;

namespace {

TEST(Renumbering, NumbersAsInTheOrder) {
  Problem problem;
  NodeId product = addCompute(problem, 60);
  NodeId gather = addStart(problem, 100, {}, /*stream=*/2);
  NodeId wait = problem.addWait(gather);
  NodeId sum = addCompute(problem, 30, {product, wait});
  problem.setExpensive(product);
  problem.addDependence(product, sum, DependenceKind::Memory);
  BufferId result = problem.addBuffer(8, product, /*freed=*/true);
  problem.addUse(result, sum);
  problem.finalize();

  Problem program = renumber(problem, {gather, product, wait, sum});
  ASSERT_FALSE(program.check()) << *program.check();
  EXPECT_EQ(program.kind(0), NodeKind::Start);
  EXPECT_EQ(program.stream(0), 2);
  EXPECT_EQ(program.costNs(0), 100);
  EXPECT_EQ(program.waitOf(0), 2);
  EXPECT_TRUE(program.isExpensive(1));
  EXPECT_FALSE(program.isExpensive(3));
  EXPECT_EQ(program.numDependences(), problem.numDependences());
  EXPECT_EQ(program.buffer(result).producer, 1);
  EXPECT_EQ(program.users(result)[0], 3);
}

using DependenceSet = std::set<std::tuple<NodeId, NodeId, DependenceKind>>;

/// The dependences, with the ends that `numbers` gives them.
DependenceSet listDependences(const Problem &problem,
                              const Positions &numbers) {
  DependenceSet dependences;
  for (NodeId node = 0; node < problem.numNodes(); ++node)
    for (DependenceEnd end : problem.successors(node))
      dependences.insert({numbers[node], numbers[end.node], end.kind});
  return dependences;
}

TEST(Renumbering, KeepsTheProblem) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomProblemOptions shape;
    shape.shuffleProgram = seed % 2;
    shape.expensivePercent = 30;
    Problem problem = makeRandomProblem(seed, shape);
    Order order = makeRandomOrder(seed, problem);
    Positions numbers = *invert(problem, order);
    Problem program = renumber(problem, order);
    ASSERT_FALSE(program.check()) << *program.check();
    Order same = programOrder(program);
    ASSERT_FALSE(verify(program, same));
    EXPECT_EQ(listDependences(program, same),
              listDependences(problem, numbers));
    Timeline before = *simulate(problem, order),
             after = *simulate(program, same);
    for (size_t place = 0; place < order.size(); ++place) {
      NodeId old = order[place], node = static_cast<NodeId>(place);
      ASSERT_EQ(program.kind(node), problem.kind(old));
      ASSERT_EQ(program.costNs(node), problem.costNs(old));
      ASSERT_EQ(program.stream(node), problem.stream(old));
      ASSERT_EQ(program.isExpensive(node), problem.isExpensive(old));
      ASSERT_EQ(after.endNs[node], before.endNs[old]);
    }
    MemoryTimeline memory = *simulateMemory(program, same);
    EXPECT_EQ(memory.remainingBytes,
              simulateMemory(problem, order)->remainingBytes);
    EXPECT_EQ(memory.allocatedBytes,
              simulateMemory(problem, order)->allocatedBytes);
    ASSERT_EQ(program.numBuffers(), problem.numBuffers());
    for (BufferId id = 0; id < program.numBuffers(); ++id)
      ASSERT_EQ(program.buffer(id).freed, problem.buffer(id).freed);
  }
}

} // namespace
