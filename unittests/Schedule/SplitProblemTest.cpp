//===- SplitProblemTest.cpp - Tests of split problems ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/Schedule/Splitting/SplitProblem.h"
#include "CommSched/Schedule/Bucketing/BucketedProblem.h"
#include "CommSched/Schedule/Splitting/RegionSketch.h"
#include "TestProblems.h"
#include "ValueProgram.h"

using namespace mlir::commsched::schedule::testing;

namespace {

/// A gather, a product, a scatter and a use of its result, with 8 bytes of
/// input, 32 gathered, 64 computed, 16 scattered.
struct Block {
  static constexpr NodeId input = 0, gather = 1, waitGather = 2, mm = 3,
                          scatter = 4, waitScatter = 5, use = 6;
  static constexpr BufferId shard = 0, gathered = 1, product = 2, scattered = 3,
                            output = 4;
  Problem problem;
  SplitSpec spec;

  explicit Block(int32_t chunks = 2)
      : problem(TextProblem(R"(
          input = 10 -> 8; g = start 40 input -> 32; wait g
          mm = mm 100 g' -> 64; s = start 60 mm -> 16; wait s
          use = 10 s' -> 16)")) {
    spec.chunks = chunks;
    spec.members = {{gather, 25},
                    {waitGather, 0},
                    {mm, 55},
                    {scatter, 35},
                    {waitScatter, 0}};
    spec.buffers = {{gathered, 32 / chunks},
                    {product, 64 / chunks},
                    {scattered, 16 / chunks}};
    spec.slices = {{input, shard, 1, 8 / chunks, {gather}}};
    spec.wholes = {{waitScatter, scattered, 2, 16, true, {use}}};
  }

  SplitProblem split() const {
    return need(SplitProblem::create(problem, {spec}));
  }
};

/// The nodes of the split program by their numbers in the original one.
std::string tell(const SplitProblem &split) {
  std::string text;
  for (NodeId node : split.place()) {
    const SplitProblem::Origin &origin = split.originOf(node);
    if (!text.empty())
      text += ' ';
    switch (origin.role) {
    case SplitProblem::Role::Kept:
      text += std::to_string(origin.node);
      break;
    case SplitProblem::Role::Chunk:
      text += std::to_string(origin.node) + "." + std::to_string(origin.chunk);
      break;
    case SplitProblem::Role::Whole:
      text += "whole" + std::to_string(origin.index);
      break;
    case SplitProblem::Role::Slice:
      text += "slice" + std::to_string(origin.index) + "." +
              std::to_string(origin.chunk);
      break;
    case SplitProblem::Role::Storage:
      text += "storage" + std::to_string(origin.index);
      break;
    }
  }
  return text;
}

NodeId findChunk(const SplitProblem &split, NodeId member, int32_t chunk) {
  for (NodeId node : split.place())
    if (split.originOf(node).node == member &&
        split.originOf(node).chunk == chunk)
      return node;
  return noNode;
}

TEST(SplitProblem, ChunksFollowEachOtherInAPipeline) {
  Block block;
  SplitProblem split = block.split();
  EXPECT_EQ(tell(split), "0 slice0.0 1.0 slice0.1 2.0 1.1 3.0 2.1 4.0 3.1 5.0 "
                         "4.1 5.1 whole0 6");
  const Problem &problem = split.getProblem();
  Timeline timeline = need(simulate(problem, split.place()));
  // 10 + 1, the first gather of 25, two products, a scatter, and the end.
  EXPECT_EQ(timeline.stepNs, 11 + 25 + 110 + 35 + 2 + 10);
  EXPECT_TRUE(problem.isExpensive(findChunk(split, Block::mm, 1)));
  EXPECT_EQ(problem.stream(findChunk(split, Block::scatter, 1)), 0);
}

TEST(SplitProblem, ChunksAreWrittenIntoTheirWhole) {
  Block block;
  block.spec.wholes.push_back(
      {Block::mm, Block::product, 0, 64, true, {}, /*isWritten=*/true});
  SplitProblem split = block.split();
  EXPECT_EQ(tell(split),
            "0 slice0.0 1.0 slice0.1 storage1 2.0 1.1 3.0 2.1 4.0 3.1 5.0 4.1 "
            "whole1 5.1 whole0 6");
  const Problem &problem = split.getProblem();
  Timeline timeline = need(simulate(problem, split.place()));
  EXPECT_EQ(timeline.stepNs, 11 + 25 + 110 + 35 + 2 + 10);
  // The input and its slices, the gathered chunks, the product once, the
  // scattered chunks and their whole, and the output.
  int64_t bytes = 0;
  for (BufferId id = 0; id < problem.numBuffers(); ++id)
    bytes += problem.buffer(id).bytes;
  EXPECT_EQ(bytes, 8 + 2 * 4 + 2 * 16 + 64 + 2 * 8 + 16 + 16);
  NodeId storage = noNode;
  for (NodeId node = 0; node < problem.numNodes(); ++node)
    if (split.originOf(node).role == SplitProblem::Role::Storage)
      storage = node;
  ASSERT_NE(storage, noNode);
  ASSERT_EQ(problem.buffersMadeBy(storage).size(), 1u);
  BufferId whole = *problem.buffersMadeBy(storage).begin();
  EXPECT_EQ(problem.buffer(whole).bytes, 64);
  for (int32_t chunk = 0; chunk < 2; ++chunk) {
    NodeId node = findChunk(split, Block::mm, chunk);
    EXPECT_TRUE(problem.buffersMadeBy(node).empty());
    ArrayView<BufferId> used = problem.buffersUsedBy(node);
    EXPECT_NE(std::find(used.begin(), used.end(), whole), used.end());
  }
}

TEST(SplitProblem, SectionsEndWhereAllChunksAreNeeded) {
  // Two products whose results nothing but the next one needs, and a cheap
  // operation of the region behind another one that needs the first whole.
  auto tellSplit = [](const char *other) {
    TextProblem problem("mm = 10; mm2 = 10 mm; other = 1 " +
                        std::string(other) + "; mm3 = 10 mm2");
    SplitSpec spec;
    spec.members = {{0, 5}, {1, 5}, {3, 5}};
    return tell(*SplitProblem::create(problem, {spec}));
  };
  EXPECT_EQ(tellSplit(""), "0.0 1.0 2 3.0 0.1 1.1 3.1");
  EXPECT_EQ(tellSplit("mm"), "0.0 1.0 0.1 1.1 2 3.0 3.1");
}

std::string errorOf(const Problem &problem,
                    const std::vector<SplitSpec> &specs) {
  return SplitProblem::create(problem, specs).error();
}

/// A change of the block's region, and the error for it.
struct WrongSpec {
  void (*change)(SplitSpec &);
  const char *error;
};

template <size_t count> void expectErrors(const WrongSpec (&cases)[count]) {
  for (const WrongSpec &wrong : cases) {
    Block block;
    wrong.change(block.spec);
    EXPECT_EQ(errorOf(block.problem, {block.spec}), wrong.error);
  }
}

TEST(SplitProblem, WrongMembersAreErrors) {
  expectErrors(
      {{[](SplitSpec &spec) { spec.chunks = 1; },
        "region 0 has 1 chunks; there can be 2 to 64"},
       {[](SplitSpec &spec) { spec.chunks = 65; },
        "region 0 has 65 chunks; there can be 2 to 64"},
       {[](SplitSpec &spec) { spec.members.clear(); },
        "region 0 has no members"},
       {[](SplitSpec &spec) { spec.members[0].node = 7; },
        "region 0 has node 7; the problem has 7 nodes"},
       {[](SplitSpec &spec) { std::swap(spec.members[0], spec.members[1]); },
        "region 0 has node 1 (start) after node 2 (wait); members are in "
        "ascending order"},
       {[](SplitSpec &spec) { spec.members.erase(spec.members.begin()); },
        "region 0 has node 2 (wait) without node 1 (start)"},
       {[](SplitSpec &spec) { spec.members.pop_back(); },
        "region 0 has node 4 (start) without node 5 (wait)"},
       {[](SplitSpec &spec) { spec.members[2].chunkCostNs = -3; },
        "a chunk of node 3 (compute) has a negative cost of -3 ns"},
       {[](SplitSpec &spec) { spec.members[1].chunkCostNs = 3; },
        "a chunk of node 2 (wait) has a cost of 3 ns, but the time of a "
        "collective belongs to its start"}});

  Block block;
  EXPECT_EQ(errorOf(block.problem, {block.spec, block.spec}),
            "node 1 (start) is in region 0 and again in region 1");
  SplitSpec large = block.spec;
  large.members[2].chunkCostNs = std::numeric_limits<int64_t>::max() / 2 + 1;
  EXPECT_EQ(errorOf(block.problem, {large})
                .rfind("the regions make a program that is not valid: the sum "
                       "of the costs",
                       0),
            0u);
  NodeId barrier = block.problem.addNode(NodeKind::Blocking, 1, 0);
  EXPECT_EQ(errorOf(block.problem, {block.spec}),
            "the problem was changed after it was finalized");
  block.problem.finalize();
  block.spec.members.push_back({barrier, 1});
  EXPECT_EQ(errorOf(block.problem, {block.spec}),
            "region 0 has node 7 (blocking), which cannot be split");
}

TEST(SplitProblem, WrongBuffersAreErrors) {
  expectErrors(
      {{[](SplitSpec &spec) { spec.buffers[0].buffer = 5; },
        "region 0 splits buffer 5; the problem has 5 buffers"},
       {[](SplitSpec &spec) { spec.buffers[0].buffer = 0; },
        "region 0 splits buffer 0, which no member of it makes"},
       {[](SplitSpec &spec) { spec.buffers[0].buffer = 2; },
        "region 0 splits buffer 2 twice"},
       {[](SplitSpec &spec) { spec.buffers.pop_back(); },
        "region 0 has node 4 (start), but does not split its buffer 3"},
       {[](SplitSpec &spec) { spec.buffers[0].chunkBytes = -1; },
        "a chunk of buffer 1 has a negative size of -1 bytes"}});
}

TEST(SplitProblem, WrongWholesAreErrors) {
  expectErrors(
      {{[](SplitSpec &spec) { spec.wholes[0].producer = noNode; },
        "whole 0 of region 0 has no producer"},
       {[](SplitSpec &spec) { spec.wholes[0].producer = 7; },
        "whole 0 of region 0 has node 7 as its producer; the problem has 7 "
        "nodes"},
       {[](SplitSpec &spec) { spec.wholes[0].source = 5; },
        "whole 0 of region 0 reads buffer 5; the problem has 5 buffers"},
       {[](SplitSpec &spec) { spec.wholes[0].source = Block::gathered; },
        "whole 0 of region 0 reads buffer 1, which node 5 (wait) neither "
        "makes nor uses"},
       {[](SplitSpec &spec) { spec.wholes[0].costNs = -1; },
        "whole 0 of region 0 has a negative cost of -1 ns"},
       {[](SplitSpec &spec) { spec.wholes[0].bytes = -1; },
        "whole 0 of region 0 has a negative size of -1 bytes"},
       {[](SplitSpec &spec) { spec.wholes[0].users = {7}; },
        "whole 0 of region 0 has node 7 as a user; the problem has 7 nodes"},
       {[](SplitSpec &spec) { spec.wholes[0].users = {0}; },
        "whole 0 of region 0 has node 0 (compute) as a user, which does not "
        "depend on node 5 (wait)"},
       {[](SplitSpec &spec) {
          spec.wholes[0].producer = Block::use;
          spec.wholes[0].users.clear();
        },
        "whole 0 of region 0 has node 6 (compute) as its producer, which is "
        "no member of the region"},
       // Chunks that are parts of a whole.
       {[](SplitSpec &spec) {
          spec.wholes.push_back({Block::mm,
                                 Block::product,
                                 3,
                                 64,
                                 true,
                                 {},
                                 /*isWritten=*/true});
        },
        "whole 1 of region 0 costs 3 ns, but its chunks are parts of it"},
       {[](SplitSpec &spec) {
          spec.wholes.push_back(spec.wholes.front());
          spec.wholes.back().costNs = 0;
          spec.wholes.back().isWritten = true;
        },
        "whole 1 of region 0 has chunks that are parts of buffer 3, which no "
        "Compute of the region makes"}});
}

TEST(SplitProblem, WrongSlicesAreErrors) {
  expectErrors(
      {{[](SplitSpec &spec) { spec.slices[0].producer = noNode; },
        "slice 0 of region 0 reads buffer 0, which node 0 (compute) makes, "
        "but has no producer"},
       {[](SplitSpec &spec) { spec.slices[0].users.clear(); },
        "slice 0 of region 0 has no users"},
       {[](SplitSpec &spec) { spec.slices[0].users = {3}; },
        "slice 0 of region 0 has node 3 (compute) as a user, which does not "
        "depend on node 0 (compute)"},
       {[](SplitSpec &spec) { spec.slices[0].costNs = -2; },
        "slice 0 of region 0 has a negative cost of -2 ns"},
       {[](SplitSpec &spec) {
          spec.slices[0] = {Block::waitScatter, Block::scattered, 1, 1, {6}};
        },
        "slice 0 of region 0 has node 6 (compute) as a user, which is no "
        "member of the region"},
       {[](SplitSpec &spec) {
          spec.slices[0] = {Block::mm, Block::product, 1, 1, {Block::scatter}};
        },
        "slice 0 of region 0 has a value of node 3 (compute), which is a "
        "member, but no whole that node 4 (start) uses"}});
  // An argument that the user does not use.
  Block block;
  BufferId argument = block.problem.addBuffer(8, noNode, false);
  block.problem.finalize();
  block.spec.slices[0] = {noNode, argument, 1, 1, {Block::gather}};
  EXPECT_EQ(errorOf(block.problem, {block.spec}),
            "slice 0 of region 0 has node 1 (start) as a user, which does not "
            "use buffer 5");
}

TEST(SplitProblem, UsesWithoutADependenceAreRespected) {
  // The use alone says that the user comes after the maker.
  auto build = [](const char *operand) {
    SplitSpec spec;
    spec.members = {{0, 1}};
    spec.buffers = {{0, 2}};
    return SplitProblem::create(TextProblem("maker = 1 " +
                                            std::string(operand) +
                                            " -> 4; user = 1 use:maker"),
                                {spec});
  };
  EXPECT_TRUE(build(""));
  EXPECT_EQ(build("order:user").error(),
            "the problem has no legal order: a node uses a buffer before the "
            "node that makes it can run");
}

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
  int64_t regions = 0, wholes = 0, slices = 0, wholeMembers = 0;
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
    ASSERT_EQ(result.numSpecs(), static_cast<int32_t>(specs.size()));
    for (NodeId node = 0; node < original.numNodes(); ++node)
      ASSERT_EQ(result.specOf(node), program.operations[node].region);
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
      int64_t longestNs = 0, longestChunkNs = 0;
      for (const SplitSpec::Member &member : spec.members) {
        longestNs = std::max(longestNs, original.costNs(member.node));
        longestChunkNs = std::max(longestChunkNs, member.chunkCostNs);
      }
      ASSERT_GE(sketch.wholeNs, longestNs);
      ASSERT_GE(sketch.splitNs, longestChunkNs);
    }
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
}

} // namespace
