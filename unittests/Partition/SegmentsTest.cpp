//===- SegmentsTest.cpp - Tests of segments of the forward ----------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Partition/PricedCut.h"
#include "TestGraphs.h"

using namespace mlir::commsched::partition::testing;

static std::string findInputs(const TextGraph &graph, int64_t segmentBytes) {
  Classification classes = expectNoConflict(classify(graph));
  std::vector<char> isInput = findSegmentInputs(graph, classes, segmentBytes);
  std::vector<NodeId> inputs;
  for (NodeId node = 0; node < graph.size(); ++node)
    if (isInput[node])
      inputs.push_back(node);
  return graph.tell(inputs);
}

/// Layers of a wide value of 100 bytes between narrow ones of 10.
static TextGraph makeWideLayers(int32_t count) {
  return "n-1 = input 10; dy = tangent 10;" +
         repeat(count, "w$ = mm 100 n^; n$ = mm 10 w$") +
         "dx = mm 10 w0 dy; return n" + std::to_string(count - 1) + " | dx";
}

TEST(Segments, EndWhereFewBytesCross) {
  TextGraph graph = makeWideLayers(4);
  Classification classes = expectNoConflict(classify(graph));
  EXPECT_EQ(computeForwardBytes(graph, classes), 440);
  // Nothing reads the last one any more.
  EXPECT_EQ(findInputs(graph, 110), "n0 n1 n2");
  // Two layers each.
  EXPECT_EQ(findInputs(graph, 220), "n1");
  EXPECT_EQ(findInputs(graph, 440), "");
}

TEST(Segments, OfSingleOperationsEndBehindEach) {
  EXPECT_EQ(findInputs(makeWideLayers(2), 1), "w0 n0 w1");
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
    EXPECT_EQ(std::count(one.begin(), one.end(), 1), 0);
    // Smaller segments only add ends when they divide larger ones; an input is
    // in any case a value of the forward that something reads later.
    std::vector<char> isInput = findSegmentInputs(graph, *classes, total / 4);
    for (NodeId node = 0; node < graph.size(); ++node) {
      if (!isInput[node])
        continue;
      EXPECT_TRUE(classes->requiredForward[node]);
      EXPECT_FALSE(graph.isArgument(node));
      EXPECT_FALSE(classes->isGatheredParameter[node]);
    }
  }
}
