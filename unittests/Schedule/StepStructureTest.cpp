//===- StepStructureTest.cpp - Tests of the roles of operations -----------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Step/StepStructure.h"
#include "TestProblems.h"

using namespace mlir::commsched::schedule::testing;

namespace {

/// A problem, its structure, and how the operations of a name stand in it.
struct Analysis {
  Analysis(const std::string &text)
      : problem(text), structure(*StepStructure::create(problem)) {}

  const MovableCollective &collective(CollectiveId id) const {
    return structure.collective(id);
  }
  std::string preparation(CollectiveId id) const {
    return problem.tell(structure.collective(id).preparation);
  }
  /// The operations in the compute order.
  std::string computed() const {
    Order order;
    for (NodeId node = 0; node < problem.numNodes(); ++node)
      if (structure.isInComputeOrder(node))
        order.push_back(node);
    return problem.tell(order);
  }
  std::vector<CollectiveId> successors(const std::string &name) const {
    ArrayView<CollectiveId> view = structure.successors(problem[name]);
    return {view.begin(), view.end()};
  }

  TextProblem problem;
  StepStructure structure;
};

using Ids = std::vector<CollectiveId>;

/// A shard that is cast, gathered, viewed and multiplied by an argument.
const std::string gathering = R"(
  shard = arg 10!; cast = 5 shard -> 20; g = start 100 cast -> 80; wait g
  view = 0 g' -> g'; x = arg 10!; product = 100 view x -> 40!;)";

TEST(StepStructure, CastsBeforeGathersPrepareThem) {
  Analysis example(gathering);
  const StepStructure &structure = example.structure;
  const TextProblem &problem = example.problem;
  ASSERT_EQ(structure.numCollectives(), 1);
  const MovableCollective &gather = structure.collective(0);
  EXPECT_EQ(problem.tell({gather.start, gather.wait}), "g g'");
  EXPECT_EQ(example.preparation(0), "cast");
  EXPECT_TRUE(structure.isPreparation(problem["cast"]));
  EXPECT_FALSE(structure.isPreparation(problem["product"]));
  EXPECT_EQ(structure.collectiveOf(gather.start), 0);
  EXPECT_EQ(structure.collectiveOf(gather.wait), 0);
  EXPECT_EQ(structure.collectiveOf(problem["cast"]), noCollective);
  // The result of the cast is in flight until the wait.
  EXPECT_EQ(gather.issuedBytes, 100);
  EXPECT_EQ(gather.issuingBytes, 100);
  EXPECT_FALSE(gather.isReleasing);
  EXPECT_EQ(gather.numPredecessors, 0);
  EXPECT_EQ(example.computed(), "product");
}

/// A gradient of 80 bytes that is cast, scattered, and taken by an update.
std::string castAndScatter(int64_t castBytes, int64_t updateNs = 20) {
  return "x = arg 10!; gradient = mm 100 x -> 80; cast = 5 gradient -> " +
         std::to_string(castBytes) + "; s = start 100 cast -> " +
         std::to_string(castBytes / 4) +
         "; wait s; update = " + std::to_string(updateNs) + " s' -> 10!;";
}

TEST(StepStructure, WideningCastsPrepareReduceScatters) {
  Analysis example(castAndScatter(160));
  const MovableCollective &scatter = example.collective(0);
  EXPECT_EQ(example.preparation(0), "cast");
  // 160 cast and 40 received; the gradient goes with the cast.
  EXPECT_EQ(scatter.issuingBytes, 200);
  EXPECT_EQ(scatter.issuedBytes, 120);
  EXPECT_TRUE(scatter.isReleasing);
  EXPECT_EQ(scatter.numPredecessors, 1);
  EXPECT_EQ(example.successors("gradient"), Ids{0});
  EXPECT_EQ(example.successors("cast"), Ids{});
}

TEST(StepStructure, NarrowingCastsStay) {
  Analysis example(castAndScatter(40));
  EXPECT_EQ(example.preparation(0), "");
  EXPECT_EQ(example.computed(), "gradient cast");
  EXPECT_EQ(example.collective(0).issuedBytes, 10);
  EXPECT_EQ(example.successors("cast").size(), 1u);

  // One whose operand is needed elsewhere frees nothing.
  EXPECT_EQ(
      Analysis(castAndScatter(40) + "other = 10 gradient -> 8!").preparation(0),
      "cast");
  // Those of one size prepare.
  EXPECT_EQ(Analysis(castAndScatter(80)).preparation(0), "cast");
}

TEST(StepStructure, WhatIsExpensiveOrABarrierStays) {
  Analysis expensive(R"(
    shard = arg 10!; cast = mm 5 shard -> 20; g = start 100 cast -> 80; wait g
    view = mm 0 g' -> g'; x = arg 10!; product = 100 view x -> 40!)");
  EXPECT_EQ(expensive.computed(), "cast view product");
  EXPECT_EQ(expensive.preparation(0), "");
  EXPECT_EQ(Analysis(gathering + "last = 1 barrier:cast").computed(),
            "cast product last");
  EXPECT_EQ(Analysis(gathering + "h = start 9 barrier:view; wait h").computed(),
            "view product");
}

TEST(StepStructure, BranchesJoinOnlyDirectlyBeforeTheStart) {
  Analysis example(R"(
    x = arg 10!; a = mm 50 x -> 40; b = mm 50 x -> 40; packed = 5 a b -> 80
    s = start 100 packed -> 20; wait s; sum = 5 a b -> 80; cast = 5 sum -> 160
    t = start 100 cast -> 40; wait t)");
  EXPECT_EQ(example.preparation(0), "packed");
  EXPECT_EQ(example.collective(0).numPredecessors, 2);
  EXPECT_EQ(example.preparation(1), "cast");
  EXPECT_EQ(example.computed(), "a b sum");
}

TEST(StepStructure, PreparationIsAChainForOneStart) {
  // One that two starts need goes with none of them; nor does one that
  // computation needs as well.
  Analysis example(R"(
    x = arg 10!; y = arg 10!; z = arg 10!; gradient = mm 50 x -> 40
    view = 0 gradient -> gradient; cast = 5 view -> 80
    s = start 100 cast -> 20; wait s; shared = 5 y -> 40
    t = start 100 shared -> 20; wait t; u = start 100@1 shared -> 20; wait u
    used = 5 z -> 40; v = start 100 used -> 20; wait v; last = 50 used -> 8!)");
  EXPECT_EQ(example.preparation(0), "view cast");
  EXPECT_EQ(example.computed(), "gradient shared used last");
}

TEST(StepStructure, ShortWorkOnOneResultFollows) {
  for (int64_t updateNs : {0, 50, 51})
    EXPECT_EQ(Analysis(castAndScatter(160, updateNs)).computed(),
              updateNs > 50 ? "gradient update" : "gradient");
  // An operation without predecessors follows nothing.
  EXPECT_EQ(Analysis(R"(
              x = arg 10!; product = mm 100 x -> 10; a = start 100 x -> 40
              wait a; b = start 100 x -> 40; wait b; view = 0 a' -> a'
              copy = 20 view -> 40; joined = 20 copy a' -> 40
              ofBoth = 20 a' b' -> 40; withProduct = 20 product b' -> 40
              behindBoth = 20 ofBoth -> 40)")
                .computed(),
            "product ofBoth withProduct behindBoth");
}

TEST(StepStructure, CountsWhatIsAwaitedOnce) {
  Analysis example(R"(
    x = arg 10!; gradient = mm 50 x -> 40
    cast = 5 gradient memory:gradient -> 80
    a = start 100 cast memory:gradient -> 20
    b = start 100 x memory:gradient order:a -> 20; wait a; wait b)");
  EXPECT_EQ(example.collective(0).numPredecessors, 1);
  EXPECT_EQ(example.collective(1).numPredecessors, 2);
  EXPECT_EQ(example.successors("gradient"), (Ids{0, 1}));
  EXPECT_EQ(example.successors("a"), Ids{1});
}

TEST(StepStructure, WhatFreesAsMuchAsItDeliversIsEager) {
  auto isReleasing = [](const std::string &received, const std::string &rest) {
    return Analysis("x = arg 10!; value = mm 100 x -> 80; s = start 100 value "
                    "-> " +
                    received + "; wait s;" + rest)
        .collective(0)
        .isReleasing;
  };
  EXPECT_TRUE(isReleasing("80", "a = 100 s' -> 10!"));
  EXPECT_FALSE(isReleasing("81", "a = 100 s' -> 10!"));
  EXPECT_FALSE(isReleasing("80", "a = 100 value -> 10!; b = 100 s' -> 10!"));
  // Nothing needs it, whatever it delivers.
  EXPECT_TRUE(isReleasing("81", ""));
}

TEST(StepStructure, PackedGathersAcquireWhatTheirCopiesMake) {
  auto isReleasing = [](const std::string &rest) {
    return Analysis("x = arg 10; packed = 5 x -> 80; "
                    "s = start 100 packed -> packed; wait s;" +
                    rest)
        .collective(0)
        .isReleasing;
  };
  EXPECT_FALSE(isReleasing("a = 100 s' -> 10!"));
  // The wait frees what nothing else reads.
  EXPECT_TRUE(isReleasing("a = 100 order:s' -> 10!"));
}

TEST(StepStructure, TakesNoBadProblem) {
  Problem open;
  EXPECT_FALSE(StepStructure::create(open));
}

} // namespace
