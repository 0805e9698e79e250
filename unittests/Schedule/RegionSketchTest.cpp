//===- RegionSketchTest.cpp - Tests of the gain of splitting --------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Schedule/Splitting/RegionSketch.h"
#include "TestProblems.h"

using namespace mlir::commsched::schedule::testing;

namespace {

/// A product on what a gather on stream 3 delivers, between two operations that
/// are in no region.
struct GatherAndProduct {
  TextProblem problem;
  SplitSpec spec;

  GatherAndProduct(int64_t gatherNs, int64_t productNs, int32_t chunks)
      : problem("input = 1000; g = start " + std::to_string(gatherNs) +
                "@3 input; wait g; mm = " + std::to_string(productNs) +
                " g' -> 8; use = 1000 mm") {
    NodeId gather = problem["g"], mm = problem["mm"], use = problem["use"];
    BufferId product = problem.bufferOf("mm");
    spec.chunks = chunks;
    spec.members = {{gather, gatherNs / chunks},
                    {problem["g'"], 0},
                    {mm, productNs / chunks}};
    spec.buffers = {{product, 8 / chunks}};
    spec.wholes = {{mm, product, 3, 8, true, {use}}};
  }
};

TEST(RegionSketch, TheRegionIsSimulatedAlone) {
  GatherAndProduct example(40, 100, 2);
  RegionSketch sketch = need(sketchRegion(example.problem, example.spec));
  EXPECT_EQ(sketch.whole.stepNs, 140);
  EXPECT_EQ(sketch.split.stepNs, 20 + 100 + 3);
  EXPECT_EQ(sketch.gainNs(), 17);
  ASSERT_EQ(sketch.streams.size(), 1u);
  EXPECT_EQ(sketch.streams[0].stream, 3);
  EXPECT_EQ(sketch.streams[0].wholeNs, 40);
  EXPECT_EQ(sketch.streams[0].splitNs, 40);
}

TEST(RegionSketch, ItSaysWhatIsBound) {
  GatherAndProduct computing(40, 400, 8);
  RegionSketch sketch = need(sketchRegion(computing.problem, computing.spec));
  EXPECT_EQ(sketch.whole.boundBy(), BoundKind::CriticalPath);
  EXPECT_EQ(sketch.split.boundBy(), BoundKind::Computation);
  GatherAndProduct gathering(400, 40, 8);
  sketch = need(sketchRegion(gathering.problem, gathering.spec));
  EXPECT_EQ(sketch.split.boundBy(), BoundKind::Stream);
  EXPECT_EQ(sketch.split.bound.busiestStream, 3);
}

TEST(RegionSketch, MoreTimePerChunkIsALoss) {
  GatherAndProduct example(10, 100, 2);
  example.spec.members[2].chunkCostNs = 70;
  RegionSketch sketch = need(sketchRegion(example.problem, example.spec));
  EXPECT_EQ(sketch.gainNs(), 110 - (5 + 140 + 3));
}

TEST(RegionSketch, WrongRegionsAreErrors) {
  GatherAndProduct example(40, 100, 1);
  EXPECT_EQ(sketchRegion(example.problem, example.spec).error(),
            "region 0 has 1 chunks; there can be 2 to 64");
  example.spec.chunks = 2;
  example.spec.members.erase(example.spec.members.begin());
  EXPECT_EQ(sketchRegion(example.problem, example.spec).error(),
            "the region has node 2 (wait) without node 1 (start)");
}

} // namespace
