//===- SplitProblemPropertyTest.cpp - Split programs against IR -----------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compares SplitProblem with a reference that splits programs of values
// operation by operation.
//
//===----------------------------------------------------------------------===//

#include "CommSched/Schedule/Bucketing/BucketedProblem.h"
#include "CommSched/Schedule/Splitting/RegionSketch.h"
#include "TestProblems.h"
#include "ValueProgram.h"

using namespace mlir::commsched::schedule::testing;

namespace {

using Labels = std::vector<std::string>;
using NamedEdges =
    std::set<std::tuple<std::string, std::string, DependenceKind>>;

NamedEdges listEdges(const Problem &problem, const Labels &labels) {
  NamedEdges edges;
  for (NodeId node = 0; node < problem.numNodes(); ++node)
    for (DependenceEnd end : problem.successors(node))
      edges.insert({labels[node], labels[end.node], end.kind});
  return edges;
}

/// What happened over all programs.
struct SeenSplits {
  int64_t regions = 0, wholes = 0, slices = 0, wholeMembers = 0, buckets = 0;
};

/// One program, split both ways.
class SplitCheck {
public:
  SplitCheck(uint64_t seed, SeenSplits &seen)
      : random(seed), seen(seen), program(makeRandomValueProgram(seed, 25)),
        chunks({2 + static_cast<int32_t>(random.below(3)),
                2 + static_cast<int32_t>(random.below(3))}) {
    for (const ValueOperation &op : program.operations)
      regions.insert(op.region);
    // Regions that are empty are none.
    for (int32_t region = 1; region >= 0; --region)
      if (!regions.count(region))
        chunks.erase(chunks.begin() + region);
    if (!regions.count(0))
      for (ValueOperation &op : program.operations)
        op.region = std::min(op.region, 0);
  }

  void run() {
    original = program.makeProblem();
    ASSERT_TRUE(original.check()) << original.check().error();
    specs = makeSpecs(program, chunks);
    SplitProblem result = need(SplitProblem::create(original, specs));
    ValueProgram written = splitValues(program, chunks);
    reference = written.makeProblem();
    ASSERT_TRUE(reference.check()) << reference.check().error();
    for (const ValueOperation &op : written.operations)
      writtenLabels.push_back(op.label);
    for (NodeId node = 0; node < result.getProblem().numNodes(); ++node)
      labels.push_back(labelOf(result, specs, node, program));
    compare(result.getProblem());
    if (::testing::Test::HasFatalFailure())
      return;
    checkSketches();
    merge(result);
    count();
  }

private:
  /// The order of the reference that is an order of the split problem.
  Order translate(const Order &order) const {
    std::map<std::string, NodeId> nodes;
    for (size_t i = 0; i < writtenLabels.size(); ++i)
      nodes[writtenLabels[i]] = static_cast<NodeId>(i);
    Order translated;
    for (NodeId node : order)
      translated.push_back(nodes.at(labels[node]));
    return translated;
  }

  void compare(const Problem &split) {
    ASSERT_EQ(
        std::multiset<std::string>(labels.begin(), labels.end()),
        std::multiset<std::string>(writtenLabels.begin(), writtenLabels.end()));
    ASSERT_EQ(listEdges(split, labels), listEdges(reference, writtenLabels));
    for (int i = 0; i < 3; ++i) {
      Order order = i == 0 ? split.programOrder()
                           : makeRandomOrder(random.below(1 << 20), split);
      Order written = translate(order);
      Status status = verify(reference, written);
      ASSERT_TRUE(status) << status.error();
      ASSERT_EQ(simulate(split, order)->stepNs,
                simulate(reference, written)->stepNs);
      Result<MemoryTimeline> actual = simulateMemory(split, order);
      Result<MemoryTimeline> expected = simulateMemory(reference, written);
      ASSERT_EQ(actual->allocatedBytes, expected->allocatedBytes);
      ASSERT_EQ(actual->remainingBytes, expected->remainingBytes);
    }
  }

  void checkSketches() {
    for (const SplitSpec &spec : specs) {
      RegionSketch sketch = need(sketchRegion(original, spec));
      ASSERT_GE(sketch.whole.stepNs, sketch.whole.bound.ns());
      ASSERT_GE(sketch.split.stepNs, sketch.split.bound.ns());
    }
  }

  /// Merges the collectives of one stream that are in no region.
  void merge(const SplitProblem &split) {
    Bucket bucket;
    for (NodeId node : collectivesInProgramOrder(original))
      if (split.nodeOf(node) != noNode && original.stream(node) == 0)
        bucket.starts.push_back(split.nodeOf(node));
    if (bucket.starts.size() < 2)
      return;
    Result<BucketedProblem> merged = BucketedProblem::create(
        split.getProblem(), {bucket}, {{1, 10, 1, {}}}, BucketBuffers::Kept);
    // Members may depend on each other.
    if (!merged)
      return;
    Order order = need(merged->place());
    Order expanded = need(merged->expand(order));
    ++seen.buckets;
  }

  void count() {
    seen.regions += static_cast<int64_t>(specs.size());
    for (const SplitSpec &spec : specs) {
      seen.wholes += static_cast<int64_t>(spec.wholes.size());
      seen.slices += static_cast<int64_t>(spec.slices.size());
    }
    for (const ValueOperation &op : program.operations)
      for (const ValueOperation::Operand &operand : op.operands)
        seen.wholeMembers +=
            operand.way == Way::Whole || operand.way == Way::WholeCopied;
  }

  Random random;
  SeenSplits &seen;
  ValueProgram program;
  std::vector<int32_t> chunks;
  std::set<int32_t> regions;
  Problem original, reference;
  std::vector<SplitSpec> specs;
  Labels labels, writtenLabels;
};

TEST(SplitProblem, EqualsTheProblemOfTheWrittenProgram) {
  SeenSplits seen;
  Seeds seeds(400);
  for (uint64_t seed : seeds) {
    SplitCheck(seed, seen).run();
    if (::testing::Test::HasFatalFailure())
      return;
  }
  EXPECT_GT(seen.regions, seeds.size() / 2);
  EXPECT_GT(seen.wholes, seeds.size() / 2);
  EXPECT_GT(seen.slices, seeds.size() / 2);
  EXPECT_GT(seen.wholeMembers, seeds.size() / 10);
  EXPECT_GT(seen.buckets, 0);
}

} // namespace
