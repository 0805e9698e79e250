//===- StepConstructionTest.cpp - Tests of one-pass construction ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Step/StepConstruction.h"
#include "Step/ComputeOrders.h"
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

  Analysis narrowing(castAndScatter(40));
  EXPECT_EQ(narrowing.collective(0).issuedBytes, 10);
  EXPECT_EQ(narrowing.successors("cast"), Ids{0});
}

TEST(StepStructure, WhatPreparesCollectivesAndWhatIsComputed) {
  struct {
    std::string text;
    /// Of one collective behind the other.
    const char *preparations, *computed;
  } const cases[] = {
      // Narrowing casts stay, unless their operands are needed elsewhere, so
      // that they free nothing; those of one size prepare.
      {castAndScatter(40), "", "gradient cast"},
      {castAndScatter(40) + "other = 10 gradient -> 8!", "cast",
       "gradient other"},
      {castAndScatter(80), "cast", "gradient"},
      // What is expensive or a barrier stays.
      {R"(shard = arg 10!; cast = mm 5 shard -> 20; g = start 100 cast -> 80
          wait g; view = mm 0 g' -> g'; x = arg 10!
          product = 100 view x -> 40!)",
       "", "cast view product"},
      {gathering + "last = 1 barrier:cast", "", "cast product last"},
      {gathering + "h = start 9 barrier:view; wait h", "cast;", "view product"},
      // Branches join only directly before the start.
      {R"(x = arg 10!; a = mm 50 x -> 40; b = mm 50 x -> 40
          packed = 5 a b -> 80; s = start 100 packed -> 20; wait s
          sum = 5 a b -> 80; cast = 5 sum -> 160; t = start 100 cast -> 40
          wait t)",
       "packed;cast", "a b sum"},
      // Preparation is a chain for one start: one that two need goes with none
      // of them, nor does one that computation needs as well.
      {R"(x = arg 10!; y = arg 10!; z = arg 10!; gradient = mm 50 x -> 40
          view = 0 gradient -> gradient; cast = 5 view -> 80
          s = start 100 cast -> 20; wait s; shared = 5 y -> 40
          t = start 100 shared -> 20; wait t; u = start 100@1 shared -> 20
          wait u; used = 5 z -> 40; v = start 100 used -> 20; wait v
          last = 50 used -> 8!)",
       "view cast;;;", "gradient shared used last"},
      // Short work on one result follows its wait.
      {castAndScatter(160, 0), "cast", "gradient"},
      {castAndScatter(160, 50), "cast", "gradient"},
      {castAndScatter(160, 51), "cast", "gradient update"},
      // An operation without predecessors follows nothing.
      {R"(x = arg 10!; product = mm 100 x -> 10; a = start 100 x -> 40; wait a
          b = start 100 x -> 40; wait b; view = 0 a' -> a'; copy = 20 view -> 40
          joined = 20 copy a' -> 40; ofBoth = 20 a' b' -> 40
          withProduct = 20 product b' -> 40; behindBoth = 20 ofBoth -> 40)",
       ";", "product ofBoth withProduct behindBoth"}};
  for (const auto &[text, preparations, computed] : cases) {
    Analysis example(text);
    std::string found;
    for (CollectiveId id = 0; id < example.structure.numCollectives(); ++id)
      found += (id ? ";" : "") + example.preparation(id);
    EXPECT_EQ(found, preparations) << text;
    EXPECT_EQ(example.computed(), computed) << text;
  }
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

TEST(StepConstruction, LastMinuteIssuesDirectlyBeforeTheNeed) {
  // Operations that lower the memory run as early as possible, with their
  // successors.
  TextProblem problem(R"(
    x = arg 10!; y = arg 10!; cast = 5 y -> 20; g = start 100 cast -> 80; wait g
    a = mm 100 x -> 40; b = mm 100 a g' -> 40; s = start 100 b -> 10
    c = 100 a -> 40!; wait s; update = 5 s' -> 10!)");
  StepStructure structure = *StepStructure::create(problem);
  StepConstruction construction(structure, getProgramComputeOrder(structure));
  EXPECT_EQ(problem.tell(construction.alapOrder()),
            "a cast g g' b s s' update c");
}

ConstructionOptions ahead(int64_t lookAheadNs, int32_t slackPercent = 0) {
  ConstructionOptions options;
  options.lookAheadNs = lookAheadNs;
  options.slackPercent = slackPercent;
  return options;
}

ConstructionOptions within(int64_t limitBytes) {
  ConstructionOptions options;
  options.limitBytes = limitBytes;
  return options;
}

/// Four products in a row of 100 ns each, the last of which needs a gather.
const std::string prefetch = R"(
  a = 100; b = 100 a; c = 100 b; g = start 100 -> 80; wait g; d = 100 c g'
  other = arg 10!;)";

/// A gradient of 100 bytes from the first of three operations, which is
/// scattered to 25; the last needs 60 bytes for itself.
std::string scattering(int64_t scatterNs) {
  return "a = mm 100 -> 100; s = start " + std::to_string(scatterNs) +
         " a -> 25; wait s; b = 100 -> 0!; c = 100 b -> 0! 60;";
}

TEST(StepConstruction, FollowsItsRules) {
  const std::string delayed = R"(
    a = 100 -> 100; b = 100 data:a; c = 100 b; g = start 100 -> 80; wait g
    d = 100 c g'; other = arg 10!)";
  const std::string twoStreams = R"(
    g = start 100 -> 80; wait g; h = start 100@1 -> 80; wait h; a = 100
    b = 100 a data:g'; c = 100 b data:h')";
  // Two gradients are summed over replicas, scattered, and added.
  const std::string summed = R"(
    a = mm 100 -> 80; b = mm 100 a -> 80; r = start 100@1 a -> 81; wait r
    s = start 10 r' -> 20; wait s; t = start 100@1 b -> 81; wait t
    u = start 10 t' -> 20; wait u; c = 100 b s' u' -> 20!)";
  ConstructionOptions tight = within(80 + 80 + 81);
  ConstructionOptions roomy = tight;
  roomy.makesRoom = true;
  ConstructionOptions exclusive, nextOnce = ahead(0);
  exclusive.contention.exclusive = {{0, 1}};
  nextOnce.limitBytes = 100 + 25 + 80;
  struct {
    const char *rule;
    std::string text;
    const char *order;
    ConstructionOptions options = {};
  } const cases[] = {
      {"a gather starts as late as is safe: at 200", prefetch, "a b g c g' d",
       ahead(0)},
      {"a gather starts as late as is safe", prefetch, "a b g c g' d",
       ahead(99)},
      {"it looks ahead", prefetch, "a g b c g' d", ahead(100)},
      {"it looks ahead", prefetch, "g a b c g' d", ahead(200)},
      {"with slack it starts earlier", prefetch, "a g b c g' d", ahead(0, 100)},
      // The one for the fourth product has to start at 100, the other one,
      // though it is only needed at 200, at 0.
      {"the next gather limits the one before", R"(
       a = 100; b = 100 a; c = 100 b h'; g = start 200 -> 80; wait g
       d = 100 c g'; h = start 100 -> 80; wait h; other = arg 10!)",
       "h a g b h' c g' d", ahead(0)},
      // Only the first needs room for itself.
      {"the limit has room for a gather", delayed, "g a b c g' d",
       within(10 + 100 + 80)},
      {"the limit delays a gather by one operation", delayed, "a g b c g' d",
       within(10 + 100 + 79)},
      // From 100 to 200, where the gather has to start.
      {"a scatter goes into the gap before the next gather",
       prefetch + "s = start 100 a; wait s", "a s b s' g c g' d", ahead(0)},
      // The gather is no later than it has to be. Collectives with unused
      // results are complete at the end.
      {"a longer one comes behind it", prefetch + "s = start 101 a; wait s",
       "a g b s c g' d s'", ahead(0)},
      {"a scatter is waited for when that costs nothing", scattering(100),
       "a s b s' c"},
      {"but not when it costs something", scattering(101), "a s b c s'"},
      {"nor when there is memory", scattering(1000), "a s b c s'",
       within(100 + 25 + 60)},
      {"a scatter is waited for when the memory is needed", scattering(1000),
       "a s b s' c", within(100 + 25 + 59)},
      // The third has room beside the scatter, or beside the gather.
      {"there is room for what a scatter holds",
       scattering(150) +
           "x = arg 0!; g = start 100 x -> 80; wait g; d = 100 c g' -> 0!",
       "a s b c s' g g' d", within(100 + 25 + 60)},
      // The limit allows for the weight beside the scatter, so no wait is
      // needed.
      {"what the next operation needs counts once", R"(
       a = mm 100 -> 100; s = start 1000@1 a -> 25; wait s; x = arg 0!
       g = start 1 x -> 80; wait g; b = mm 100 g' -> 0)",
       "a g s g' b s'", nextOnce},
      {"what is due is issued beside what is in flight", summed,
       "a r b r' s t t' u s' u' c", tight},
      {"or behind what frees the result of another one", summed,
       "a r b r' s s' t t' u u' c", roomy},
      {"a sum over replicas is beside the next operation", R"(
       a = mm 100 -> 80; s = start 60 a -> 20; wait s
       r = start 60@1 s' -> 20; wait r; x = arg 10!; b = 100 x -> 10!
       c = 100 b -> 10!; d = 100 c -> 10!)",
       "a s b s' r c r' d"},
      // With two streams of their own both are over at 100; else the second
      // would only queue until the first operation is over.
      {"streams have no turns", twoStreams, "g h a g' b h' c"},
      {"exclusive streams take turns", twoStreams, "g a h g' b h' c",
       exclusive}};
  for (const auto &[rule, text, order, options] : cases) {
    TextProblem problem(text);
    StepStructure structure = *StepStructure::create(problem);
    StepConstruction construction(structure, getProgramComputeOrder(structure));
    EXPECT_EQ(problem.tell(construction.construct(options).order), order)
        << rule << ": " << text;
  }
}

TEST(StepConstruction, PipelinesAChainOfGathers) {
  for (uint64_t seed : Seeds(200)) {
    Random random(seed);
    std::string text = "p-1 = arg 0;";
    std::vector<int64_t> gathersNs, productsNs;
    for (int64_t i = 0, size = 1 + random.below(12); i < size; ++i) {
      gathersNs.push_back(random.below(100));
      productsNs.push_back(random.below(100));
      std::string id = std::to_string(i);
      text += "g" + id + " = start " + std::to_string(gathersNs.back()) +
              " -> 80; wait g" + id + "; p" + id + " = mm " +
              std::to_string(productsNs.back()) + " data:g" + id + "' p" +
              std::to_string(i - 1) + ";";
    }
    TextProblem problem(text);
    // A flow shop of two machines with a fixed order: some gather has kept its
    // stream busy until then, and products the compute stream from then on.
    int64_t gatheredNs = 0, optimumNs = 0;
    for (size_t i = 0; i < gathersNs.size(); ++i) {
      gatheredNs += gathersNs[i];
      int64_t restNs = 0;
      for (size_t j = i; j < productsNs.size(); ++j)
        restNs += productsNs[j];
      optimumNs = std::max(optimumNs, gatheredNs + restNs);
    }
    StepStructure structure = *StepStructure::create(problem);
    Order order = StepConstruction(structure, getProgramComputeOrder(structure))
                      .construct({})
                      .order;
    ASSERT_TRUE(verify(problem, order));
    ASSERT_EQ(simulate(problem, order)->stepNs, optimumNs);
  }
}

/// Whether `part` is what is left of `order` without the others.
bool isSubsequence(const Order &part, const Order &order) {
  size_t found = 0;
  for (NodeId node : order)
    found += found < part.size() && part[found] == node;
  return found == part.size();
}

/// What ends the construction early is a lower bound on the step, and at least
/// what is known.
void checkEarlyEnd(const StepConstruction &construction,
                   ConstructionOptions options, const ConstructedOrder &whole) {
  options.knownNs = whole.stepNs + 1;
  ConstructedOrder same = construction.construct(options);
  ASSERT_EQ(same.order, whole.order);
  ASSERT_EQ(same.stepNs, whole.stepNs);
  for (int64_t part : {1, 2, 4}) {
    options.knownNs = whole.stepNs / part;
    ConstructedOrder ended = construction.construct(options);
    ASSERT_GE(ended.stepNs, options.knownNs);
    ASSERT_LE(ended.stepNs, whole.stepNs);
    ASSERT_LE(ended.order.size(), whole.order.size());
  }
}

TEST(StepConstruction, IsAlwaysLegal) {
  int numWithin = 0, numLimited = 0;
  for (uint64_t seed : Seeds(600)) {
    Problem problem =
        seed % 2 ? makeRandomStep(seed, 4) : makeRandomProblem(seed, {});
    for (NodeId node = 0; node < problem.numNodes(); ++node)
      if (problem.kind(node) == NodeKind::Compute && problem.costNs(node) > 16)
        problem.setExpensive(node);
    StepStructure structure = *StepStructure::create(problem);
    Order computeOrder = getProgramComputeOrder(structure);
    StepConstruction construction(structure, computeOrder);
    ASSERT_TRUE(verify(problem, construction.alapOrder()));
    // The random problems have waits that need computation, which is not what
    // steps are like: waiting early then brings that computation forward.
    bool isStep = seed % 2;
    if (isStep) {
      ASSERT_TRUE(isSubsequence(computeOrder, construction.alapOrder()));
    }
    int64_t leastBytes =
        simulateMemory(problem, construction.alapOrder())->peakBytes;
    Random random(seed);
    for (int64_t percent : {90, 100, 110, 1000}) {
      ConstructionOptions options;
      options.limitBytes = leastBytes * percent / 100;
      options.lookAheadNs = random.below(400);
      options.slackPercent = static_cast<int32_t>(random.below(100));
      ConstructedOrder result = construction.construct(options);
      ASSERT_TRUE(verify(problem, result.order));
      if (isStep) {
        ASSERT_TRUE(isSubsequence(computeOrder, result.order));
      }
      ASSERT_LE(simulate(problem, result.order)->stepNs, result.stepNs);
      ASSERT_NO_FATAL_FAILURE(checkEarlyEnd(construction, options, result));
      if (percent < 100 || !isStep)
        continue;
      ++numLimited;
      numWithin += simulateMemory(problem, result.order)->peakBytes <=
                   options.limitBytes;
    }
  }
  // Estimates may be wrong, but not often.
  EXPECT_GT(numWithin * 100, numLimited * 90);
}

} // namespace
