//===- SavedStoragesTest.cpp - Tests of saved storages and sizes ----------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Partition/SavedValues.h"

#include "../Seeds.h"
#include "RandomJointGraph.h"
#include "TestGraphs.h"

#include <algorithm>
#include <random>
#include <set>

using namespace mlir::commsched;
using namespace mlir::commsched::partition;
using namespace mlir::commsched::partition::testing;
using mlir::commsched::testing::Seeds;

namespace {

using Nodes = std::vector<NodeId>;

Nodes saveStorages(const JointGraph &graph, const Nodes &saved) {
  Split halves = expectNoConflict(split(graph, saved, false));
  return expectNoConflict(partition::saveStorages(graph, halves, false)).saved;
}

//===----------------------------------------------------------------------===//
// Storages
//===----------------------------------------------------------------------===//

struct SavedStoragesTest : ::testing::Test {
  GraphBuilder build;
  NodeId input = build.input(8);
  NodeId tangent = build.tangent(8);
};

TEST_F(SavedStoragesTest, ViewsOfOneStorageSaveItOnce) {
  NodeId value = build.matmul(8, {input});
  NodeId first = build.view(value);
  NodeId second = build.view(first);
  NodeId gradient = build.pointwise(8, {tangent, first, second});
  JointGraph graph = build.finish({second}, {gradient});
  EXPECT_EQ(saveStorages(graph, {first, second}), Nodes({value}));
  EXPECT_EQ(saveStorages(graph, {second, value}), Nodes({value}));
}

TEST_F(SavedStoragesTest, AViewOfAnArgumentSavesTheArgument) {
  NodeId view = build.view(input);
  NodeId gradient = build.pointwise(8, {tangent, view});
  JointGraph graph = build.finish({view}, {gradient});
  EXPECT_EQ(saveStorages(graph, {view}), Nodes({input}));
}

TEST_F(SavedStoragesTest, ResultsOfAViewSaveWhatItShows) {
  NodeId value = build.matmul(8, {input});
  NodeId unbind = build.multiple(OperatorClass::View, {value});
  NodeId first = build.result(unbind, 4);
  NodeId second = build.result(unbind, 4);
  build[first].storage = build[second].storage = build[value].storage;
  NodeId gradient = build.pointwise(8, {tangent, first, second});
  JointGraph graph = build.finish({value}, {gradient});
  EXPECT_EQ(saveStorages(graph, {first, second}), Nodes({value}));
}

TEST_F(SavedStoragesTest, AViewIsKeptWhereItsStorageIsComputedAgain) {
  NodeId value = build.pointwise(8, {input});
  NodeId view = build.view(value);
  NodeId gradient = build.pointwise(8, {tangent, value, view});
  JointGraph graph = build.finish({view}, {gradient});
  EXPECT_EQ(saveStorages(graph, {view}), Nodes({input, view}));
}

TEST_F(SavedStoragesTest, AViewIsKeptWhereItsStorageHasToBeComputedAgain) {
  NodeId value = build.pointwise(8, {input});
  NodeId view = build.view(value);
  NodeId gradient = build.pointwise(8, {tangent, view});
  build[value].policy = RecomputePolicy::MustRecompute;
  JointGraph graph = build.finish({view}, {gradient});
  EXPECT_EQ(saveStorages(graph, {view}), Nodes({view}));
}

TEST_F(SavedStoragesTest, AViewThatCannotBeRepeatedIsSaved) {
  for (int32_t way = 0; way < 4; ++way) {
    SCOPED_TRACE(way);
    GraphBuilder build;
    NodeId input = build.input(8);
    NodeId tangent = build.tangent(8);
    NodeId value = build.matmul(8, {input});
    NodeId offset = build.matmul(8, {input});
    NodeId view = build.view(value);
    NodeId slice = way == 3 ? build.op(OperatorClass::View, 8, {view, offset})
                            : build.view(view);
    build[slice].storage = build[value].storage;
    if (way == 0)
      build[view].isPinned = true;
    if (way == 1)
      build[view].policy = RecomputePolicy::MustSave;
    if (way == 2)
      build[view].tag = PartitionTag::MustBeForward;
    NodeId gradient = build.pointwise(8, {tangent, slice});
    JointGraph graph = build.finish({slice}, {gradient});
    EXPECT_EQ(saveStorages(graph, {slice}), Nodes({way == 3 ? slice : view}));
  }
}

TEST_F(SavedStoragesTest, AViewMayReadWhatTheBackwardHas) {
  NodeId value = build.matmul(8, {input});
  NodeId offset = build.matmul(8, {input});
  NodeId zero = build.op(OperatorClass::Constant, 8, {});
  NodeId slice = build.op(OperatorClass::View, 8, {value, offset, zero});
  build[slice].storage = build[value].storage;
  NodeId gradient = build.pointwise(8, {tangent, slice, offset});
  JointGraph graph = build.finish({slice}, {gradient});
  EXPECT_EQ(saveStorages(graph, {slice, offset}), Nodes({value, offset}));
}

//===----------------------------------------------------------------------===//
// Dimensions
//===----------------------------------------------------------------------===//

struct SavedDimensionsTest : SavedStoragesTest {
  NodeId value = build.matmul(8, {input});
  NodeId index = build.op(OperatorClass::Constant, 8, {});

  NodeId measure(NodeId measured) {
    NodeId size = build.op(OperatorClass::Other, 8, {measured, index});
    build[size].readsDimensions = true;
    return size;
  }
};

TEST_F(SavedDimensionsTest, WhatIsOnlyMeasuredIsNotSaved) {
  NodeId first = measure(value);
  NodeId second = measure(value);
  NodeId gradient = build.pointwise(8, {tangent, first, second});
  JointGraph graph = build.finish({value}, {gradient});
  EXPECT_EQ(saveStorages(graph, {value}), Nodes({first, second}));
}

TEST_F(SavedDimensionsTest, WhatIsReadAsWellIsSaved) {
  NodeId size = measure(value);
  NodeId gradient = build.pointwise(8, {tangent, value, size});
  JointGraph graph = build.finish({value}, {gradient});
  EXPECT_EQ(saveStorages(graph, {value}), Nodes({value}));
}

TEST_F(SavedDimensionsTest, WhatIsReturnedIsSaved) {
  NodeId size = measure(value);
  NodeId gradient = build.pointwise(8, {tangent, size});
  JointGraph graph = build.finish({value}, {value, gradient});
  EXPECT_EQ(saveStorages(graph, {value}), Nodes({value}));
}

TEST_F(SavedDimensionsTest, WhatTheForwardCannotMeasureIsSaved) {
  NodeId gradient = build.pointwise(8, {tangent});
  NodeId size = build.op(OperatorClass::Other, 8, {value, gradient});
  build[size].readsDimensions = true;
  JointGraph graph = build.finish({value}, {size});
  EXPECT_EQ(saveStorages(graph, {value}), Nodes({value}));
}

TEST_F(SavedDimensionsTest, WhatIsMeasuredInTheBackwardIsSaved) {
  for (int32_t way = 0; way < 3; ++way) {
    SCOPED_TRACE(way);
    GraphBuilder build;
    NodeId input = build.input(8);
    NodeId tangent = build.tangent(8);
    NodeId value = build.matmul(8, {input});
    NodeId size = build.op(OperatorClass::Other, 8, {value});
    build[size].readsDimensions = true;
    if (way == 0)
      build[size].isPinned = true;
    if (way < 2)
      build[size].tag = PartitionTag::MustBeBackward;
    else
      build[size].policy = RecomputePolicy::MustRecompute;
    NodeId gradient = build.pointwise(8, {tangent, size});
    JointGraph graph = build.finish({value}, {gradient});
    EXPECT_EQ(saveStorages(graph, {value}), Nodes({value}));
  }
}

//===----------------------------------------------------------------------===//
// Random graphs
//===----------------------------------------------------------------------===//

std::set<int32_t> getStorages(const JointGraph &graph, const Nodes &nodes) {
  std::set<int32_t> storages;
  for (NodeId node : nodes)
    storages.insert(graph[node].storage);
  return storages;
}

TEST(SavedStoragesPropertyTest, OnlyRepeatsViews) {
  RandomJointOptions options;
  options.viewPercent = 40;
  int32_t numReplaced = 0;
  int32_t numShared = 0;
  for (uint64_t seed : Seeds(6000)) {
    SCOPED_TRACE(seed);
    JointGraph graph = makeRandomJointGraph(seed, options);
    std::mt19937 random(seed);
    Nodes saved;
    for (NodeId node = 0; node < graph.size(); ++node)
      if (graph[node].isSaveable && random() % 4 != 0 &&
          graph[graph.getOperation(node)].policy !=
              RecomputePolicy::MustRecompute)
        saved.push_back(node);
    PartitionResult<Split> result = split(graph, saved, true);
    auto *before = std::get_if<Split>(&result);
    if (!before)
      continue;
    Split after =
        expectNoConflict(partition::saveStorages(graph, *before, true));
    for (NodeId node = 0; node < graph.size(); ++node) {
      EXPECT_LE(after.inForward[node], before->inForward[node]) << node;
      if (after.inForward[node] != before->inForward[node] ||
          after.inBackward[node] != before->inBackward[node]) {
        EXPECT_EQ(graph[graph.getOperation(node)].operatorClass,
                  OperatorClass::View)
            << node;
      }
    }
    EXPECT_LE(after.saved.size(), before->saved.size());
    EXPECT_EQ(getStorages(graph, after.saved),
              getStorages(graph, before->saved));
    numReplaced += after.saved != before->saved;
    numShared += after.saved.size() < before->saved.size();
    if (::testing::Test::HasFailure())
      return;
  }
  EXPECT_GT(numReplaced, 30);
  EXPECT_GT(numShared, 5);
}

} // namespace
