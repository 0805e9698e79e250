//===- SegmentsTest.cpp - Tests of segments of the forward ----------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Partition/Segments.h"
#include "../Seeds.h"
#include "RandomJointGraph.h"
#include "TestGraphs.h"

#include <algorithm>

using namespace mlir::commsched;
using namespace mlir::commsched::partition;
using namespace mlir::commsched::partition::testing;
using mlir::commsched::testing::Seeds;

static std::vector<NodeId> findInputs(const JointGraph &graph,
                                      int64_t segmentBytes) {
  Classification classes = expectNoConflict(classify(graph));
  std::vector<char> isInput = findSegmentInputs(graph, classes, segmentBytes);
  std::vector<NodeId> inputs;
  for (NodeId node = 0; node < graph.size(); ++node)
    if (isInput[node])
      inputs.push_back(node);
  return inputs;
}

namespace {

/// Layers of a wide value of 100 bytes between narrow ones of 10.
struct Layers {
  explicit Layers(int32_t count) {
    NodeId x = b.input(10), dy = b.tangent(10);
    for (int32_t i = 0; i < count; ++i) {
      wide.push_back(b.matmul(100, {x}));
      x = b.matmul(10, {wide.back()});
      narrow.push_back(x);
    }
    NodeId dx = b.matmul(10, {wide.front(), dy});
    graph = b.finish({x}, {dx});
  }

  GraphBuilder b;
  std::vector<NodeId> wide;
  std::vector<NodeId> narrow;
  JointGraph graph;
};

} // namespace

TEST(Segments, EndWhereFewBytesCross) {
  Layers layers(4);
  Classification classes = expectNoConflict(classify(layers.graph));
  EXPECT_EQ(computeForwardBytes(layers.graph, classes), 440);
  // Nothing reads the last one any more.
  std::vector<NodeId> ends(layers.narrow.begin(), layers.narrow.end() - 1);
  EXPECT_EQ(findInputs(layers.graph, 110), ends);
  // Two layers each.
  EXPECT_EQ(findInputs(layers.graph, 220),
            std::vector<NodeId>{layers.narrow[1]});
  EXPECT_EQ(findInputs(layers.graph, 440), std::vector<NodeId>{});
}

TEST(Segments, OfSingleOperationsEndBehindEach) {
  Layers layers(2);
  std::vector<NodeId> all = {layers.wide[0], layers.narrow[0], layers.wide[1]};
  EXPECT_EQ(findInputs(layers.graph, 1), all);
}

/// What crosses an end of a segment is an input, by a search from each end.
TEST(Segments, HaveAllThatCrossesAsInputs) {
  for (uint64_t seed : Seeds(2000)) {
    JointGraph graph = makeRandomJointGraph(seed);
    PartitionResult<Classification> classified = classify(graph);
    const auto *classes = std::get_if<Classification>(&classified);
    if (!classes)
      continue;
    int64_t total = computeForwardBytes(graph, *classes);
    std::vector<char> one = findSegmentInputs(graph, *classes, total);
    EXPECT_EQ(std::count(one.begin(), one.end(), 1), 0) << "seed " << seed;
    // Smaller segments only add ends when they divide larger ones; an input is
    // in any case a value of the forward that something reads later.
    std::vector<char> isInput = findSegmentInputs(graph, *classes, total / 4);
    for (NodeId node = 0; node < graph.size(); ++node) {
      if (!isInput[node])
        continue;
      EXPECT_TRUE(classes->requiredForward[node]) << "seed " << seed;
      EXPECT_FALSE(graph.isArgument(node)) << "seed " << seed;
      EXPECT_FALSE(classes->isGatheredParameter[node]) << "seed " << seed;
    }
  }
}
