//===- StepStructureTest.cpp - Tests of the roles of operations -----------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Step/StepStructure.h"

#include "StepBuilder.h"
#include "TestProblems.h"

#include <gtest/gtest.h>

using namespace mlir::commsched;
using namespace mlir::commsched::schedule;
using namespace mlir::commsched::schedule::testing;

namespace {

/// The structure of what was built, which has to live on.
StepStructure analyze(StepBuilder &step) {
  const Status &status = step.problem.finalize();
  EXPECT_TRUE(status) << status.error();
  return *StepStructure::create(step.problem);
}

/// A shard that is cast, gathered, viewed and multiplied by an argument.
struct GatherExample {
  StepBuilder step;
  Tensor shard = step.addArgument(10);
  Tensor cast = step.compute(5, 20, {shard});
  Started gather = step.start(100, 80, cast);
  Tensor weight = step.wait(gather);
  Tensor view = step.view(weight);
  Tensor product = step.finish(100, 40, {view, step.addArgument(10)});
};

TEST(StepStructure, CastsBeforeGathersPrepareThem) {
  GatherExample example;
  StepStructure structure = analyze(example.step);
  ASSERT_EQ(structure.numCollectives(), 1);
  const MovableCollective &gather = structure.collective(0);
  EXPECT_EQ(gather.start, example.gather.start);
  EXPECT_EQ(gather.wait, example.weight.node);
  EXPECT_EQ(gather.preparation, (Order{example.cast.node}));
  EXPECT_TRUE(structure.isPreparation(example.cast.node));
  EXPECT_EQ(structure.collectiveOf(example.gather.start), 0);
  EXPECT_EQ(structure.collectiveOf(example.weight.node), 0);
  EXPECT_EQ(structure.collectiveOf(example.cast.node), noCollective);
  // The result of the cast is in flight until the wait.
  EXPECT_EQ(gather.issuedBytes, 100);
  EXPECT_EQ(gather.issuingBytes, 100);
  EXPECT_FALSE(gather.isReleasing);
  EXPECT_EQ(gather.numPredecessors, 0);
  for (NodeId node : {example.cast.node, example.gather.start,
                      example.weight.node, example.view.node})
    EXPECT_FALSE(structure.isInComputeOrder(node)) << node;
  EXPECT_TRUE(structure.isInComputeOrder(example.product.node));
  EXPECT_FALSE(structure.isPreparation(example.product.node));
}

/// A gradient that is cast from `gradientBytes` to `castBytes`, scattered, and
/// taken by an update that takes `updateNs`.
struct StructureExample {
  StructureExample(int64_t gradientBytes, int64_t castBytes, int64_t updateNs)
      : gradient(step.multiply(100, gradientBytes, {step.addArgument(10)})),
        cast(step.compute(5, castBytes, {gradient})),
        scatter(step.start(100, castBytes / 4, cast)),
        shard(step.wait(scatter)), update(step.finish(updateNs, 10, {shard})) {}

  StepBuilder step;
  Tensor gradient, cast;
  Started scatter;
  Tensor shard, update;
};

TEST(StepStructure, WideningCastsPrepareReduceScatters) {
  StructureExample example(80, 160, 20);
  StepStructure structure = analyze(example.step);
  const MovableCollective &scatter = structure.collective(0);
  EXPECT_EQ(scatter.preparation, (Order{example.cast.node}));
  // 160 cast and 40 received; the gradient goes with the cast.
  EXPECT_EQ(scatter.issuingBytes, 200);
  EXPECT_EQ(scatter.issuedBytes, 120);
  EXPECT_TRUE(scatter.isReleasing);
  EXPECT_EQ(scatter.numPredecessors, 1);
  ASSERT_EQ(structure.successors(example.gradient.node).size(), 1u);
  EXPECT_EQ(structure.successors(example.gradient.node)[0], 0);
  EXPECT_EQ(structure.successors(example.cast.node).size(), 0u);
}

TEST(StepStructure, NarrowingCastsStay) {
  StructureExample example(80, 40, 20);
  StepStructure structure = analyze(example.step);
  EXPECT_TRUE(structure.collective(0).preparation.empty());
  EXPECT_TRUE(structure.isInComputeOrder(example.cast.node));
  EXPECT_EQ(structure.collective(0).issuedBytes, 10);
  EXPECT_EQ(structure.successors(example.cast.node).size(), 1u);

  // One whose operand is needed elsewhere frees nothing.
  StructureExample shared(80, 40, 20);
  shared.step.finish(10, 8, {shared.gradient});
  EXPECT_TRUE(analyze(shared.step).isPreparation(shared.cast.node));
}

TEST(StepStructure, CastsOfOneSizePrepare) {
  StructureExample example(80, 80, 20);
  EXPECT_TRUE(analyze(example.step).isPreparation(example.cast.node));
}

TEST(StepStructure, WhatIsExpensiveOrABarrierStays) {
  GatherExample expensive;
  expensive.step.problem.setExpensive(expensive.cast.node);
  expensive.step.problem.setExpensive(expensive.view.node);
  StepStructure structure = analyze(expensive.step);
  EXPECT_TRUE(structure.isInComputeOrder(expensive.cast.node));
  EXPECT_TRUE(structure.isInComputeOrder(expensive.view.node));
  EXPECT_TRUE(structure.collective(0).preparation.empty());

  GatherExample fenced;
  fenced.step.problem.addDependence(fenced.cast.node, fenced.product.node,
                                    DependenceKind::Barrier);
  EXPECT_TRUE(analyze(fenced.step).isInComputeOrder(fenced.cast.node));
}

TEST(StepStructure, BranchesJoinOnlyDirectlyBeforeTheStart) {
  StepBuilder step;
  Tensor a = step.multiply(50, 40, {step.addArgument(10)});
  Tensor b = step.multiply(50, 40, {step.addArgument(10)});
  Tensor packed = step.compute(5, 80, {a, b});
  step.wait(step.start(100, 20, packed));
  Tensor sum = step.compute(5, 80, {a, b});
  Tensor cast = step.compute(5, 160, {sum});
  step.wait(step.start(100, 40, cast));
  StepStructure structure = analyze(step);
  EXPECT_EQ(structure.collective(0).preparation, (Order{packed.node}));
  EXPECT_EQ(structure.collective(0).numPredecessors, 2);
  EXPECT_EQ(structure.collective(1).preparation, (Order{cast.node}));
  EXPECT_TRUE(structure.isInComputeOrder(sum.node));
}

TEST(StepStructure, PreparationIsAChainForOneStart) {
  StepBuilder step;
  Tensor gradient = step.multiply(50, 40, {step.addArgument(10)});
  Tensor view = step.view(gradient);
  Tensor cast = step.compute(5, 80, {view});
  step.wait(step.start(100, 20, cast));
  // One that two starts need goes with none of them.
  Tensor shared = step.compute(5, 40, {step.addArgument(10)});
  step.wait(step.start(100, 20, shared));
  step.wait(step.start(100, 20, shared, /*stream=*/1));
  // Nor does one that computation needs as well.
  Tensor used = step.compute(5, 40, {step.addArgument(10)});
  step.wait(step.start(100, 20, used));
  step.finish(50, 8, {used});
  StepStructure structure = analyze(step);
  EXPECT_EQ(structure.collective(0).preparation, (Order{view.node, cast.node}));
  EXPECT_TRUE(structure.isInComputeOrder(shared.node));
  EXPECT_TRUE(structure.isInComputeOrder(used.node));
}

TEST(StepStructure, ShortWorkOnOneResultFollows) {
  for (int64_t updateNs : {0, 50, 51}) {
    StructureExample example(80, 160, updateNs);
    EXPECT_EQ(analyze(example.step).isInComputeOrder(example.update.node),
              updateNs > 50);
  }

  StepBuilder step;
  Tensor operand = step.addArgument(10);
  Tensor product = step.multiply(100, 10, {operand});
  Tensor a = step.wait(step.start(100, 40, operand));
  Tensor b = step.wait(step.start(100, 40, operand));
  Tensor copy = step.compute(20, 40, {step.view(a)});
  Tensor joined = step.compute(20, 40, {copy, a});
  Tensor ofBoth = step.compute(20, 40, {a, b});
  Tensor withProduct = step.compute(20, 40, {product, b});
  Tensor behindBoth = step.compute(20, 40, {ofBoth});
  StepStructure structure = analyze(step);
  EXPECT_FALSE(structure.isInComputeOrder(copy.node));
  EXPECT_FALSE(structure.isInComputeOrder(joined.node));
  EXPECT_TRUE(structure.isInComputeOrder(ofBoth.node));
  EXPECT_TRUE(structure.isInComputeOrder(withProduct.node));
  EXPECT_TRUE(structure.isInComputeOrder(behindBoth.node));
  // An operation without predecessors follows nothing.
  EXPECT_TRUE(structure.isInComputeOrder(product.node));
}

TEST(StepStructure, CountsWhatIsAwaitedOnce) {
  StepBuilder step;
  Tensor gradient = step.multiply(50, 40, {step.addArgument(10)});
  Tensor cast = step.compute(5, 80, {gradient});
  Started first = step.start(100, 20, cast);
  Started second = step.start(100, 20, step.addArgument(10));
  step.wait(first);
  step.wait(second);
  Problem &problem = step.problem;
  problem.addDependence(gradient.node, cast.node, DependenceKind::Memory);
  problem.addDependence(gradient.node, first.start, DependenceKind::Memory);
  problem.addDependence(gradient.node, second.start, DependenceKind::Memory);
  problem.addDependence(first.start, second.start, DependenceKind::Order);
  StepStructure structure = analyze(step);
  EXPECT_EQ(structure.collective(0).numPredecessors, 1);
  EXPECT_EQ(structure.collective(1).numPredecessors, 2);
  ArrayView<CollectiveId> successors = structure.successors(gradient.node);
  EXPECT_EQ(std::vector<CollectiveId>(successors.begin(), successors.end()),
            (std::vector<CollectiveId>{0, 1}));
  ASSERT_EQ(structure.successors(first.start).size(), 1u);
  EXPECT_EQ(structure.successors(first.start)[0], 1);
}

TEST(StepStructure, WhatFreesAsMuchAsItDeliversIsEager) {
  auto isReleasing = [](int64_t sent, int64_t received, bool isSentUsed,
                        bool isReceivedUsed) {
    StepBuilder step;
    Tensor value = step.multiply(100, sent, {step.addArgument(10)});
    Tensor result = step.wait(step.start(100, received, value));
    if (isSentUsed)
      step.finish(100, 10, {value});
    if (isReceivedUsed)
      step.finish(100, 10, {result});
    return analyze(step).collective(0).isReleasing;
  };
  EXPECT_TRUE(isReleasing(80, 80, false, true));
  EXPECT_FALSE(isReleasing(80, 81, false, true));
  EXPECT_FALSE(isReleasing(80, 80, true, true));
  // Nothing needs it, whatever it delivers.
  EXPECT_TRUE(isReleasing(80, 81, false, false));
}

TEST(StepStructure, TakesNoBadProblem) {
  Problem open;
  EXPECT_FALSE(StepStructure::create(open));
}

} // namespace
