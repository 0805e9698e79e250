//===- SplitTest.cpp - Tests of the split of a joint graph ----------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Partition/Split.h"

#include "TestGraphs.h"

#include <gtest/gtest.h>

using namespace mlir::commsched;
using namespace mlir::commsched::partition;
using namespace mlir::commsched::partition::testing;

namespace {

using Nodes = std::vector<NodeId>;

Nodes list(const std::vector<char> &half) {
  Nodes nodes;
  for (size_t node = 0; node < half.size(); ++node)
    if (half[node])
      nodes.push_back(static_cast<NodeId>(node));
  return nodes;
}

/// x, w, dy -> h = x * w, y = max(h); dh = dy * y, dx = dh * w, dw = dh * x.
struct Layer {
  GraphBuilder builder;
  NodeId x = builder.input(100);
  NodeId w = builder.parameter(50);
  NodeId dy = builder.tangent(10);
  NodeId h = builder.matmul(40, {x, w});
  NodeId y = builder.pointwise(40, {h});
  NodeId dh = builder.pointwise(40, {dy, y});
  NodeId dx = builder.matmul(100, {dh, w});
  NodeId dw = builder.matmul(50, {dh, x});

  JointGraph finish() { return builder.finish({y}, {dx, dw}); }
};

TEST(SplitTest, HandsOverWhatIsSavedAndWhatIsAnArgument) {
  Layer layer;
  JointGraph graph = layer.finish();
  Split split = expectNoConflict(partition::split(graph, {layer.y}, false));
  EXPECT_EQ(split.saved, (Nodes{layer.x, layer.w, layer.y}));
  EXPECT_EQ(list(split.inForward), (Nodes{layer.h, layer.y}));
  EXPECT_EQ(list(split.inBackward), (Nodes{layer.dh, layer.dx, layer.dw}));
}

TEST(SplitTest, DropsWhatTheBackwardDoesNotUse) {
  Layer layer;
  NodeId spare = layer.builder.pointwise(7, {layer.x});
  JointGraph graph = layer.finish();
  Split split = expectNoConflict(
      partition::split(graph, {spare, layer.y, layer.h}, false));
  EXPECT_EQ(split.saved, (Nodes{layer.x, layer.w, layer.y}));
  EXPECT_FALSE(split.inForward[spare]);
}

TEST(SplitTest, DropsWhatNothingNeeds) {
  GraphBuilder builder;
  NodeId x = builder.input(8);
  NodeId dy = builder.tangent(8);
  builder.pointwise(8, {x});
  NodeId start = builder.start({x});
  builder.wait(start, 8);
  builder.pointwise(8, {dy, x});
  NodeId y = builder.pointwise(8, {x});
  JointGraph graph = builder.finish({y}, {dy});
  Split split = expectNoConflict(partition::split(graph, {}, false));
  EXPECT_EQ(split.saved, Nodes{});
  EXPECT_EQ(list(split.inForward), (Nodes{y}));
  EXPECT_EQ(list(split.inBackward), Nodes{});
}

//===----------------------------------------------------------------------===//
// Effects and tags
//===----------------------------------------------------------------------===//

TEST(SplitTest, EffectsRunOnceWhereTheirOperandsAre) {
  GraphBuilder builder;
  NodeId x = builder.input(8);
  NodeId dy = builder.tangent(8);
  NodeId store = builder.pointwise(8, {x});
  NodeId late = builder.pointwise(8, {x});
  NodeId gradient = builder.pointwise(8, {dy});
  NodeId accumulate = builder.pointwise(8, {gradient});
  for (NodeId node : {store, late, accumulate})
    builder[node].isPinned = true;
  builder[late].tag = PartitionTag::Backward;
  JointGraph graph = builder.finish({x}, {});
  Split split = expectNoConflict(partition::split(graph, {}, false));
  EXPECT_EQ(split.saved, (Nodes{x}));
  EXPECT_EQ(list(split.inForward), (Nodes{store}));
  EXPECT_EQ(list(split.inBackward), (Nodes{late, gradient, accumulate}));
}

TEST(SplitTest, TagsKeepOperationsInTheirHalf) {
  GraphBuilder builder;
  NodeId x = builder.input(8);
  NodeId dy = builder.tangent(8);
  NodeId kept = builder.pointwise(8, {x});
  NodeId hinted = builder.pointwise(8, {x});
  NodeId late = builder.pointwise(8, {kept});
  builder[kept].tag = PartitionTag::MustBeForward;
  builder[hinted].tag = PartitionTag::Forward;
  builder[late].tag = PartitionTag::MustBeBackward;
  JointGraph graph = builder.finish({}, {dy});
  Split split = expectNoConflict(partition::split(graph, {kept}, false));
  EXPECT_EQ(split.saved, (Nodes{kept}));
  EXPECT_EQ(list(split.inForward), (Nodes{kept}));
  EXPECT_EQ(list(split.inBackward), (Nodes{late}));
}

TEST(SplitTest, WhatComesFirstInMemoryIsInTheForwardToo) {
  GraphBuilder builder;
  NodeId x = builder.input(8);
  NodeId dy = builder.tangent(8);
  NodeId read = builder.pointwise(8, {x});
  NodeId write = builder.pointwise(8, {x});
  NodeId dx = builder.pointwise(8, {dy, read});
  JointGraph graph = builder.finish({write}, {dx});
  graph.addMemoryOrder(read, write);
  ASSERT_TRUE(graph.finalize());
  Split split = expectNoConflict(partition::split(graph, {read}, false));
  EXPECT_EQ(list(split.inForward), (Nodes{read, write}));
  EXPECT_EQ(list(split.inBackward), (Nodes{dx}));
}

TEST(SplitTest, StartsTakeTheirWaitsAlong) {
  GraphBuilder builder;
  NodeId x = builder.input(8);
  NodeId dy = builder.tangent(8);
  NodeId early = builder.start({x});
  NodeId earlyWait = builder.wait(early, 8);
  NodeId late = builder.start({x});
  NodeId lateWait = builder.wait(late, 8);
  builder[early].isPinned = true;
  builder[late].tag = PartitionTag::MustBeBackward;
  JointGraph graph = builder.finish({x}, {dy});
  Split split = expectNoConflict(partition::split(graph, {}, false));
  EXPECT_EQ(list(split.inForward), (Nodes{early, earlyWait}));
  EXPECT_EQ(list(split.inBackward), (Nodes{late, lateWait}));
}

//===----------------------------------------------------------------------===//
// Conflicts
//===----------------------------------------------------------------------===//

void expectEqual(const PartitionConflict &conflict, NodeId node,
                 const char *reason, NodeId other, const char *otherReason) {
  EXPECT_EQ(conflict.node, node);
  EXPECT_EQ(conflict.reason, reason);
  EXPECT_EQ(conflict.other, other);
  EXPECT_EQ(conflict.otherReason, otherReason);
}

TEST(SplitConflictTest, TheForwardNeedsATangent) {
  GraphBuilder builder;
  NodeId dy = builder.tangent(8);
  NodeId middle = builder.pointwise(8, {dy});
  NodeId result = builder.pointwise(8, {middle});
  JointGraph graph = builder.finish({result}, {});
  expectEqual(
      expectConflict(split(graph, {}, false)), result,
      "is a result of the forward, but needs what only the backward has", dy,
      "is a tangent, which only the backward has");
  GraphBuilder again;
  dy = again.tangent(8);
  middle = again.pointwise(8, {dy});
  NodeId user = again.pointwise(8, {middle});
  JointGraph saving = again.finish({}, {user});
  expectEqual(
      expectConflict(split(saving, {middle}, false)), middle,
      "is to be saved by the forward, but needs what only the backward has", dy,
      "is a tangent, which only the backward has");
  JointGraph kept = saving;
  kept[middle].tag = PartitionTag::MustBeForward;
  expectEqual(expectConflict(split(kept, {}, false)), middle,
              "has to be in the forward, but needs what only the backward has",
              dy, "is a tangent, which only the backward has");
}

TEST(SplitConflictTest, TheForwardNeedsASeedOfTheBackward) {
  GraphBuilder builder;
  NodeId seed = builder.backwardSeed(8);
  NodeId reader = builder.pointwise(8, {seed});
  NodeId middle = builder.pointwise(8, {reader});
  NodeId result = builder.pointwise(8, {middle});
  JointGraph graph = builder.finish({result}, {});
  PartitionConflict conflict = expectConflict(split(graph, {}, false));
  expectEqual(
      conflict, result,
      "is a result of the forward, but needs what only the backward has", seed,
      "is a random state that only the backward has");
  EXPECT_EQ(conflict.reader, reader);
}

TEST(SplitConflictTest, TheForwardNeedsWhatIsKeptInTheBackward) {
  GraphBuilder builder;
  NodeId x = builder.input(8);
  NodeId kept = builder.pointwise(8, {x});
  NodeId y = builder.pointwise(8, {kept});
  JointGraph graph = builder.finish({y}, {});
  graph[kept].tag = PartitionTag::MustBeBackward;
  expectEqual(
      expectConflict(split(graph, {}, false)), y,
      "is a result of the forward, but needs what only the backward has", kept,
      "has to be in the backward");
  graph[kept].tag = PartitionTag::Backward;
  expectNoConflict(split(graph, {}, false));
  graph[kept].isPinned = true;
  expectEqual(
      expectConflict(split(graph, {}, false)), y,
      "is a result of the forward, but needs what only the backward has", kept,
      "has to be in the backward");
}

TEST(SplitConflictTest, TheForwardTouchesMemoryAfterTheBackward) {
  GraphBuilder builder;
  NodeId x = builder.input(8);
  NodeId dy = builder.tangent(8);
  NodeId gradient = builder.pointwise(8, {dy});
  NodeId store = builder.pointwise(8, {gradient});
  NodeId load = builder.pointwise(8, {x});
  NodeId y = builder.pointwise(8, {load});
  NodeId clear = builder.pointwise(8, {x});
  NodeId next = builder.pointwise(8, {x});
  JointGraph graph = builder.finish({y}, {});
  graph.addMemoryOrder(store, load);
  graph.addMemoryOrder(clear, next);
  ASSERT_TRUE(graph.finalize());
  expectEqual(expectConflict(split(graph, {}, false)), load,
              "is in the forward and touches memory after what only the "
              "backward can compute",
              store, "needs what only the backward has");
  graph[clear].tag = PartitionTag::MustBeBackward;
  graph[next].tag = PartitionTag::MustBeForward;
  graph[dy].kind = JointNodeKind::Primal;
  expectEqual(expectConflict(split(graph, {}, false)), next,
              "is in the forward and touches memory after what only the "
              "backward can compute",
              clear, "has to be in the backward");
}

TEST(SplitConflictTest, WhatIsSavedCannotBe) {
  Layer layer;
  JointGraph graph = layer.finish();
  graph[layer.y].isSaveable = false;
  expectEqual(expectConflict(split(graph, {layer.y}, false)), layer.y,
              "cannot be saved, for a function cannot return it", layer.dh,
              "needs it in the backward");
  expectNoConflict(split(graph, {}, false));
  graph[layer.x].isSaveable = false;
  expectEqual(expectConflict(split(graph, {}, false)), layer.x,
              "cannot be saved, for a function cannot return it", layer.dw,
              "needs it in the backward");
}

const char *const tail =
    ", so it cannot be computed again, but is not saved for the backward";

TEST(SplitConflictTest, TheBackwardWouldRepeatWhatItCannot) {
  Layer layer;
  JointGraph plain = layer.finish();
  auto expectReason = [&](const JointGraph &graph, std::string reason) {
    reason += tail;
    expectEqual(expectConflict(split(graph, {}, false)), layer.h,
                reason.c_str(), layer.dh, "is in the backward and needs it");
    expectNoConflict(split(graph, {layer.h}, false));
    expectNoConflict(split(graph, {layer.y}, false));
  };
  JointGraph graph = plain;
  graph[layer.h].isPinned = true;
  expectReason(graph, "touches memory that is written");
  graph[layer.h].operatorClass = OperatorClass::Collective;
  expectReason(graph, "must run exactly once");
  graph = plain;
  graph[layer.h].tag = PartitionTag::MustBeForward;
  expectReason(graph, "has to be in the forward");
  graph = plain;
  graph[layer.h].operatorClass = OperatorClass::Random;
  expectReason(graph, "draws random numbers");
  graph = plain;
  graph[layer.h].policy = RecomputePolicy::MustSave;
  expectReason(graph, "has to be saved");
}

TEST(SplitConflictTest, NamesTheResultThatNeedsARepetition) {
  GraphBuilder builder;
  NodeId x = builder.input(8);
  NodeId draw = builder.multiple(OperatorClass::Random, {x});
  NodeId result = builder.result(draw, 8);
  JointGraph graph = builder.finish({result}, {result});
  expectEqual(expectConflict(split(graph, {}, false)), draw,
              (std::string("draws random numbers") + tail).c_str(), result,
              "is a result of the backward");
  GraphBuilder single;
  x = single.input(8);
  draw = single.op(OperatorClass::Random, 8, {x});
  JointGraph alone = single.finish({draw}, {draw});
  expectEqual(expectConflict(split(alone, {}, false)), draw,
              (std::string("draws random numbers") + tail).c_str(), noNode, "");
}

//===----------------------------------------------------------------------===//
// Bytes
//===----------------------------------------------------------------------===//

TEST(SavedBytesTest, CountsStoragesOnce) {
  GraphBuilder builder;
  NodeId x = builder.input(100);
  NodeId w = builder.parameter(50);
  NodeId shownInput = builder.view(x);
  NodeId h = builder.matmul(40, {x, w});
  NodeId part = builder.view(h);
  NodeId whole = builder.view(h);
  NodeId number = builder.pointwise(3, {h});
  builder[part].bytes = 10;
  builder[number].storage = -1;
  JointGraph graph = builder.finish({}, {});
  auto count = [&](const Nodes &saved) {
    return computeSavedBytes(graph, saved);
  };
  EXPECT_EQ(count({}), 0);
  // The arguments are there anyway.
  EXPECT_EQ(count({x, w, shownInput}), 0);
  // A view keeps all that it shows a part of, and nothing twice.
  EXPECT_EQ(count({part}), 40);
  EXPECT_EQ(count({whole, part, h, h}), 40);
  EXPECT_EQ(count({part, number, x, number}), 43);
  graph[x].storage = -1;
  EXPECT_EQ(count({x}), 0);
  // A view that is larger than what it shows: a storage that was resized.
  graph[whole].bytes = 70;
  EXPECT_EQ(count({part}), 40);
  EXPECT_EQ(count({part, whole}), 70);
}

} // namespace
