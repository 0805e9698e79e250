//===- SavedValuesTest.cpp - Tests of the choice of saved values ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/Partition/SavedValues.h"
#include "CommSched/Partition/Classification.h"
#include "TestGraphs.h"

using namespace mlir::commsched::partition::testing;

static std::string saveAsEager(const TextGraph &graph) {
  return graph.tell(
      expectNoConflict(splitAsEager(graph, expectNoConflict(classify(graph))))
          .saved);
}

TEST(SplitAsEager, SavesWhatTheBackwardUses) {
  EXPECT_EQ(saveAsEager(TextGraph(R"(
              x = input 64; p = parameter 64; dy = tangent 64
              a = pointwise 64 x; y = mm 64 a p; da = mm 64 dy p
              dp = mm 64 a dy; return y | da dp)")),
            "p a");
  // Constants and views are made again.
  EXPECT_EQ(saveAsEager(TextGraph(R"(
              x = input 64; dy = tangent 64; one = constant 4
              a = pointwise 64 x one; left = view a; right = view a
              y = mm 64 left right; dx = mm 64 left dy; dz = mm 64 right dy one
              return y | dx dz)")),
            "a");
  // What has to be computed again is.
  EXPECT_EQ(saveAsEager(TextGraph(R"(
              x = input 64; dy = tangent 64; product = mm 64 x : must-recompute
              dx = mm 64 product dy; return product | dx)")),
            "x");
}

TEST(SplitAsEager, TheForwardHasWhatIsTaggedSo) {
  // No result of the forward needs the mask.
  for (const char *tag : {"", "forward", "must-be-forward"})
    EXPECT_EQ(saveAsEager("x = input 64; dy = tangent 64; mask = pointwise 8 x "
                          ": " +
                          std::string(tag) +
                          "; y = mm 64 x; dx = mm 64 mask dy; return y | dx"),
              *tag ? "mask" : "x");
}

/// Layers of a product and a pointwise operation, each of which the backward
/// uses; the products of later layers cost more: 10 to 19.
static TextGraph makeLayers(int numLayers) {
  std::string text =
      "y-1 = input 100; dy = tangent 100;" +
      repeat(numLayers, "h$ = mm 100 y^ : cost=1$; y$ = pointwise 100 h$");
  std::string gradient = "dy";
  for (int i = numLayers; i-- > 0;) {
    std::string next = "d" + std::to_string(i);
    text += next + " = mm 100 " + gradient + " h" + std::to_string(i) + ";";
    gradient = next;
  }
  return text + "return y" + std::to_string(numLayers - 1) + " | " + gradient;
}

/// The rung whose knapsack has room for half the bytes: the first has room for
/// a step less than all.
static constexpr int32_t halfRung =
    SavedValuesLadder::firstKnapsack + SavedValuesLadder::numSteps / 2 - 1;

static SavedValuesLadder makeLadder(const JointGraph &graph,
                                    const Classification &classes,
                                    const SavedValuesOptions &options = {}) {
  return expectNoConflict(SavedValuesLadder::create(graph, classes, options));
}

TEST(SavedValuesLadder, KeepsWhatCostsMost) {
  JointGraph graph = makeLayers(10);
  Classification classes = expectNoConflict(classify(graph));
  for (KnapsackSolver solver :
       {KnapsackSolver::DynamicProgramming, KnapsackSolver::Greedy}) {
    SavedValuesOptions options;
    options.solver = solver;
    SavedValuesLadder ladder = makeLadder(graph, classes, options);
    EXPECT_EQ(ladder.getMostBytes(), 1000);
    Split half = expectNoConflict(ladder.solve(halfRung));
    EXPECT_EQ(computeSavedBytes(graph, half.saved), 500);
    std::vector<NodeId> expected = {0};
    for (int layer = 5; layer < 10; ++layer)
      expected.push_back(2 + 2 * layer);
    EXPECT_EQ(half.saved, expected);
    Split nothing =
        expectNoConflict(ladder.solve(SavedValuesLadder::size() - 1));
    EXPECT_EQ(nothing.saved, std::vector<NodeId>{0});
  }
}

TEST(SavedValuesLadder, ARepeatedGatherCountsWithItsPrice) {
  // Two gathers of one size; the second is dearer.
  TextGraph graph(R"(
    p = parameter 8; q = parameter 8; x = input 8; dy = tangent 64
    first = start p; cheap = wait 64 first; second = start q : cost=20
    dear = wait 64 second; y = mm 64 cheap dear x; dx = mm 64 cheap dear dy
    return y | dx)");
  Classification classes = expectNoConflict(classify(graph));
  SavedValuesOptions options;
  options.cut.repeatGathers = true;
  SavedValuesLadder ladder = makeLadder(graph, classes, options);
  EXPECT_EQ(ladder.getMostBytes(), 128);
  EXPECT_EQ(graph.tell(expectNoConflict(ladder.solve(halfRung)).saved),
            "p dear");
  options.cut.repeatGathers = false;
  EXPECT_EQ(expectNoConflict(makeLadder(graph, classes, options)
                                 .solve(SavedValuesLadder::size() - 1))
                .saved,
            graph.list("cheap dear"));
}

TEST(SavedValuesLadder, AggressiveRecomputationStartsLow) {
  JointGraph graph = makeLayers(4);
  Classification classes = expectNoConflict(classify(graph));
  SavedValuesOptions options;
  options.cut.banRecomputeMaterializedBackward = true;
  options.aggressiveRecomputation = true;
  // Products stay banned, whatever else is repeated.
  EXPECT_EQ(makeLadder(graph, classes, options).getMostBytes(), 400);
}

TEST(SavedValuesLadder, OnRandomGraphs) {
  int numGraphs = 0, numSmaller = 0, numRepetitions = 0;
  for (uint64_t seed : Seeds(100)) {
    JointGraph graph = makeRandomJointGraph(seed, {});
    PartitionResult<Classification> classified = classify(graph);
    auto *classes = std::get_if<Classification>(&classified);
    if (!classes)
      continue;
    settlePolicies(graph, *classes, static_cast<CollectivePolicy>(seed % 3));
    SavedValuesOptions options;
    options.cut.repeatGathers = seed % 3 == 2;
    PartitionResult<SavedValuesLadder> created =
        SavedValuesLadder::create(graph, *classes, options);
    auto *ladder = std::get_if<SavedValuesLadder>(&created);
    if (!ladder)
      continue;
    ++numGraphs;
    // A rung is the same whenever it is asked for. All of the first are, and
    // some of the others.
    constexpr int32_t firstRungs = 10;
    std::vector<int64_t> bytes;
    Split previous;
    for (int32_t rung = 0; rung < SavedValuesLadder::size();
         rung += rung < firstRungs ? 1 : 40) {
      // Marks that rung 0 keeps may contradict each other with less to save.
      PartitionResult<Split> solved = ladder->solve(rung);
      if (std::holds_alternative<PartitionConflict>(solved))
        break;
      Split split = std::get<Split>(std::move(solved));
      EXPECT_TRUE(std::is_sorted(split.saved.begin(), split.saved.end()));
      EXPECT_EQ(split.saved, expectNoConflict(ladder->solve(rung)).saved);
      bytes.push_back(computeSavedBytes(graph, split.saved));
      if (ladder->isRepetition(rung)) {
        EXPECT_EQ(split.saved, previous.saved) << "rung " << rung;
        ++numRepetitions;
      }
      previous = split;
    }
    EXPECT_EQ(bytes.front(), ladder->getMostBytes());
    numSmaller += bytes.back() < bytes.front();
  }
  EXPECT_GT(numGraphs, 15);
  EXPECT_GT(numSmaller, 5);
  EXPECT_GT(numRepetitions, 30);
}

namespace {

using Nodes = std::vector<NodeId>;

/// What is saved instead of `saved`, for an input x and a tangent dy.
std::string saveStorages(const std::string &text, const std::string &saved) {
  TextGraph graph("x = input 8; dy = tangent 8;" + text);
  Split halves = expectNoConflict(split(graph, graph.list(saved), false));
  return graph.tell(
      expectNoConflict(partition::saveStorages(graph, halves, false)).saved);
}

struct StorageCase {
  std::string text;
  const char *given, *saved;
};

TEST(SavedStoragesTest, AViewSavesItsStorage) {
  const std::string views = R"(value = mm 8 x; a = view value; b = view a
                               g = pointwise 8 dy a b; return b | g)";
  const StorageCase cases[] = {
      // Several of one storage save it once.
      {views, "a b", "value"},
      {views, "b value", "value"},
      // An argument, and what results of a view show.
      {"a = view x; g = pointwise 8 dy a; return a | g", "a", "x"},
      {R"(value = mm 8 x; unbind = several view value
          a = result 4 unbind : in=value; b = result 4 unbind : in=value
          g = pointwise 8 dy a b; return value | g)",
       "a b", "value"},
      // It is kept where its storage is computed again, or has to be.
      {R"(value = pointwise 8 x; a = view value; g = pointwise 8 dy value a
          return a | g)",
       "a", "x a"},
      {R"(value = pointwise 8 x : must-recompute; a = view value
          g = pointwise 8 dy a; return a | g)",
       "a", "a"},
      // It cannot be repeated, or it can with what the backward has.
      {R"(value = mm 8 x; offset = mm 8 x; a = view value
          slice = view a offset; g = pointwise 8 dy slice; return slice | g)",
       "slice", "slice"},
      {R"(value = mm 8 x; offset = mm 8 x; zero = constant 8
          slice = view value offset zero; g = pointwise 8 dy slice offset
          return slice | g)",
       "slice offset", "value offset"}};
  for (const auto &[text, given, saved] : cases)
    EXPECT_EQ(saveStorages(text, given), saved) << text;
  for (const char *mark : {"pinned", "must-save", "must-be-forward"})
    EXPECT_EQ(saveStorages("value = mm 8 x; a = view value : " +
                               std::string(mark) + R"(; slice = view a
                           g = pointwise 8 dy slice; return slice | g)",
                           "slice"),
              "a");
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
