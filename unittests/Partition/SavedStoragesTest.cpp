//===- SavedStoragesTest.cpp - Tests of saved storages and sizes ----------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Partition/SavedValues.h"
#include "TestGraphs.h"

using namespace mlir::commsched::partition::testing;

namespace {

using Nodes = std::vector<NodeId>;

/// What is saved instead of `saved`, for an input x and a tangent dy.
std::string saveStorages(const std::string &text, const std::string &saved) {
  TextGraph graph("x = input 8; dy = tangent 8;" + text);
  Split halves = expectNoConflict(split(graph, graph.list(saved), false));
  return graph.tell(
      expectNoConflict(partition::saveStorages(graph, halves, false)).saved);
}

TEST(SavedStoragesTest, ViewsOfOneStorageSaveItOnce) {
  const char *views = R"(value = mm 8 x; a = view value; b = view a
                         g = pointwise 8 dy a b; return b | g)";
  EXPECT_EQ(saveStorages(views, "a b"), "value");
  EXPECT_EQ(saveStorages(views, "b value"), "value");
}

TEST(SavedStoragesTest, AViewSavesWhatItShows) {
  // An argument, and what results of a view show.
  EXPECT_EQ(saveStorages("a = view x; g = pointwise 8 dy a; return a | g", "a"),
            "x");
  EXPECT_EQ(saveStorages(R"(
              value = mm 8 x; unbind = several view value
              a = result 4 unbind : in=value; b = result 4 unbind : in=value
              g = pointwise 8 dy a b; return value | g)",
                         "a b"),
            "value");
}

TEST(SavedStoragesTest, AViewIsKeptWhereItsStorageIsComputedAgain) {
  EXPECT_EQ(saveStorages(R"(value = pointwise 8 x; a = view value
                            g = pointwise 8 dy value a; return a | g)",
                         "a"),
            "x a");
  // Or has to be.
  EXPECT_EQ(saveStorages(R"(value = pointwise 8 x : must-recompute
                            a = view value; g = pointwise 8 dy a
                            return a | g)",
                         "a"),
            "a");
}

TEST(SavedStoragesTest, AViewThatCannotBeRepeatedIsSaved) {
  for (const char *mark : {"pinned", "must-save", "must-be-forward"})
    EXPECT_EQ(saveStorages("value = mm 8 x; a = view value : " +
                               std::string(mark) + R"(; slice = view a
                           g = pointwise 8 dy slice; return slice | g)",
                           "slice"),
              "a");
  EXPECT_EQ(saveStorages(R"(value = mm 8 x; offset = mm 8 x; a = view value
                            slice = view a offset; g = pointwise 8 dy slice
                            return slice | g)",
                         "slice"),
            "slice");
}

TEST(SavedStoragesTest, AViewMayReadWhatTheBackwardHas) {
  EXPECT_EQ(saveStorages(R"(
              value = mm 8 x; offset = mm 8 x; zero = constant 8
              slice = view value offset zero; g = pointwise 8 dy slice offset
              return slice | g)",
                         "slice offset"),
            "value offset");
}

/// What is saved instead of a value, some sizes of which are read.
std::string saveMeasured(const std::string &text) {
  return saveStorages("value = mm 8 x; zero = constant 8;" + text, "value");
}

TEST(SavedDimensionsTest, WhatIsOnlyMeasuredIsNotSaved) {
  EXPECT_EQ(saveMeasured(R"(a = other 8 value zero : measures
                            b = other 8 value zero : measures
                            g = pointwise 8 dy a b; return value | g)"),
            "a b");
}

TEST(SavedDimensionsTest, WhatIsNeededAsWellIsSaved) {
  const std::string size = "a = other 8 value zero : measures;";
  // Read, returned, and what the forward cannot measure.
  EXPECT_EQ(saveMeasured(size + "g = pointwise 8 dy value a; return value | g"),
            "value");
  EXPECT_EQ(saveMeasured(size + "g = pointwise 8 dy a; return value | value g"),
            "value");
  EXPECT_EQ(saveMeasured("g = pointwise 8 dy; a = other 8 value g : measures; "
                         "return value | a"),
            "value");
}

TEST(SavedDimensionsTest, WhatIsMeasuredInTheBackwardIsSaved) {
  for (const char *marks :
       {"pinned must-be-backward", "must-be-backward", "must-recompute"})
    EXPECT_EQ(saveMeasured("a = other 8 value : measures " +
                           std::string(marks) +
                           "; g = pointwise 8 dy a; return value | g"),
              "value")
        << marks;
}

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
