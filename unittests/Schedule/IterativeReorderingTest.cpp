//===- IterativeReorderingTest.cpp - Tests of moving collectives ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/Schedule/Inductor/IterativeReordering.h"
#include "CommSched/Schedule/Reordering/SimpleOverlap.h"
#include "TestProblems.h"

#include <cmath>

using namespace mlir::commsched::schedule::testing;

namespace {

TEST(IterativeReordering, RejectsWhatItCannotStartFrom) {
  EXPECT_EQ(reorderComms(Problem(), {}).error(),
            "the problem is not finalized");
  TextProblem problem("a = 1 b; b = 1");
  const char *error = "the program is not a legal order: node 0 (compute) at "
                      "position 0 comes before node 1 (compute) at position 1, "
                      "on which it depends (data)";
  EXPECT_EQ(sinkWaitsIteratively(problem, {}).error(), error);
  EXPECT_EQ(overlapSimply(problem).error(), error);
}

TEST(IterativeReordering, RejectsMultipliersThatMakeNoTimes) {
  TextProblem problem("s = start 10; wait s; a = 10");
  for (double bad : {-1.0, std::nan(""), 1e18}) {
    IterativeReorderingOptions options;
    options.commMultiplier = bad;
    Result<IterativeReordering> result = reorderComms(problem, options);
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().find("node 0 (start) takes "), 0u)
        << result.error();
    options = {};
    options.computeMultiplier = bad;
    result = sinkWaitsIteratively(problem, options);
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().find("node 2 (compute) takes "), 0u)
        << result.error();
  }
}

Problem drawProblem(uint64_t seed, Random &draw, int32_t maxNodes) {
  RandomProblemOptions options;
  options.maxNodes = maxNodes;
  options.expensivePercent = draw.oneOf({0, 10, 40});
  options.impliedPercent = draw.oneOf({0, 0, 30});
  options.unevenBuffers = draw.percent(50);
  return makeRandomProblem(seed, options);
}

int64_t drawLimit(Random &draw, int64_t peakBytes) {
  int64_t dice = draw.below(100);
  if (dice < 15)
    return std::numeric_limits<int64_t>::max();
  if (dice < 30)
    return draw.below(peakBytes + 1);
  return peakBytes + draw.below(peakBytes / 2 + 1);
}

IterativeReorderingOptions drawOptions(Random &draw, int64_t peakBytes) {
  IterativeReorderingOptions options;
  options.limitBytes = drawLimit(draw, peakBytes);
  options.useRuntimeEstimations = draw.percent(50);
  options.extraOverlap = draw.oneOf({0.0, 0.5, 0.5, 3.0, -0.5});
  options.commMultiplier = draw.oneOf({1.0, 2.0, 2.5, 0.0});
  options.computeMultiplier = draw.oneOf({1.0, 1.0, 0.5, 3.0});
  options.reorderCollectives = draw.percent(70);
  options.withCollectives = draw.percent(40);
  if (draw.percent(10))
    options.maxCollectives = draw.below(4);
  if (draw.percent(20))
    options.maxGroupSize = draw.below(4);
  return options;
}

std::string describe(const IterativeReorderingOptions &options, bool up) {
  auto number = [](auto value) { return std::to_string(value); };
  return std::string(up ? "reorderComms" : "sinkWaitsIteratively") + " limit " +
         number(options.limitBytes) + " estimations " +
         number(options.useRuntimeEstimations) + " extra " +
         number(options.extraOverlap) + " multipliers " +
         number(options.commMultiplier) + " " +
         number(options.computeMultiplier) + " reorder " +
         number(options.reorderCollectives) + " with " +
         number(options.withCollectives) + " max " +
         number(options.maxCollectives.value_or(-1)) + " group " +
         number(options.maxGroupSize);
}

Result<IterativeReordering> solve(const Problem &problem,
                                  const IterativeReorderingOptions &options,
                                  bool up) {
  return up ? reorderComms(problem, options)
            : sinkWaitsIteratively(problem, options);
}

void expectSame(const IterativeReordering &actual,
                const IterativeReordering &expected) {
  ASSERT_EQ(actual.collectives.size(), expected.collectives.size());
  for (size_t i = 0; i < actual.collectives.size(); ++i) {
    const CollectiveMoves &moved = actual.collectives[i];
    const CollectiveMoves &other = expected.collectives[i];
    SCOPED_TRACE("node " + std::to_string(other.node));
    ASSERT_EQ(moved.node, other.node);
    ASSERT_EQ(moved.limit, other.limit);
    ASSERT_EQ(moved.obstacle, other.obstacle);
    ASSERT_EQ(moved.moves, other.moves);
    ASSERT_EQ(moved.grouped, other.grouped);
    ASSERT_EQ(moved.dependence, other.dependence);
    ASSERT_EQ(moved.neededBytes, other.neededBytes);
  }
  ASSERT_EQ(actual.order, expected.order);
  ASSERT_EQ(actual.oldPeakBytes, expected.oldPeakBytes);
  ASSERT_EQ(actual.newPeakBytes, expected.newPeakBytes);
}

std::vector<NodeId> collectivesIn(const Problem &problem, const Order &order) {
  std::vector<NodeId> collectives;
  for (NodeId node : order)
    if (problem.isCollective(node))
      collectives.push_back(node);
  return collectives;
}

/// How often each thing happened, so that a test knows that it saw it.
struct Seen {
  std::map<MoveLimit, int64_t> limits;
  std::map<DependenceKind, int64_t> dependences;
  int64_t moves = 0;
  int64_t grouped = 0;
  /// Runs from a result that changed nothing more.
  int64_t repeated = 0;
};

/// Solves one problem in one direction, and checks all that holds for it.
void check(const Problem &problem, const IterativeReorderingOptions &options,
           bool up, Seen &seen) {
  SCOPED_TRACE(describe(options, up));
  IterativeReordering result = need(solve(problem, options, up));
  ASSERT_TRUE(verify(problem, result.order));
  ASSERT_EQ(result.oldPeakBytes,
            simulateMemory(problem, programOrder(problem))->peakBytes);
  ASSERT_EQ(result.newPeakBytes,
            simulateMemory(problem, result.order)->peakBytes);
  ASSERT_LE(result.newPeakBytes,
            std::max(options.limitBytes, result.oldPeakBytes));
  if (options.maxCollectives) {
    ASSERT_LE(result.collectives.size(), size_t(*options.maxCollectives));
  }

  IterativeReorderingOptions recomputing = options;
  recomputing.recomputeMemory = true;
  IterativeReordering checked = need(solve(problem, recomputing, up));
  expectSame(checked, result);

  if (!options.reorderCollectives) {
    ASSERT_EQ(collectivesIn(problem, result.order),
              collectivesIn(problem, programOrder(problem)));
  }

  // Without other starts in between, and without windows that others change,
  // each has gone as far as it can.
  if (up && !options.reorderCollectives && !options.useRuntimeEstimations) {
    IterativeReordering second =
        need(solve(renumber(problem, result.order), options, up));
    ASSERT_EQ(second.order, programOrder(problem));
    ++seen.repeated;
  }

  // Within as many bytes as are needed least, and no fewer, one goes on.
  const CollectiveMoves *least = nullptr;
  for (const CollectiveMoves &moved : result.collectives)
    if (moved.limit == MoveLimit::Memory &&
        (!least || moved.neededBytes < least->neededBytes))
      least = &moved;
  if (least) {
    IterativeReorderingOptions within = options;
    within.limitBytes = least->neededBytes - 1;
    expectSame(need(solve(problem, within, up)), result);
    within.limitBytes = least->neededBytes;
    size_t index = least - result.collectives.data();
    ASSERT_GT(need(solve(problem, within, up)).collectives[index].moves,
              least->moves);
  }

  for (const CollectiveMoves &moved : result.collectives) {
    ASSERT_LE(moved.grouped, options.maxGroupSize);
    ++seen.limits[moved.limit];
    if (moved.limit == MoveLimit::Dependence)
      ++seen.dependences[moved.dependence];
    seen.moves += moved.moves;
    seen.grouped += moved.grouped;
  }
}

void checkMany(uint64_t numProblems, int32_t maxNodes) {
  Seen seen[2];
  Seeds seeds(numProblems);
  for (uint64_t seed : seeds) {
    Random draw(seed);
    Problem problem = drawProblem(seed, draw, maxNodes);
    ASSERT_TRUE(problem.check());
    int64_t peakBytes =
        simulateMemory(problem, programOrder(problem))->peakBytes;
    IterativeReorderingOptions options = drawOptions(draw, peakBytes);
    for (bool up : {true, false}) {
      check(problem, options, up, seen[up]);
      if (::testing::Test::HasFatalFailure())
        return;
    }
  }
  // Nothing of what may happen was left out of many.
  if (seeds.size() < 1000)
    return;
  int64_t some = seeds.size() / 200;
  EXPECT_GT(seen[true].repeated, some);
  for (bool up : {true, false}) {
    SCOPED_TRACE(up ? "up" : "down");
    EXPECT_GT(seen[up].moves, some);
    EXPECT_GT(seen[up].grouped, some);
    for (MoveLimit limit :
         {MoveLimit::None, MoveLimit::Dependence, MoveLimit::GroupSize,
          MoveLimit::Collective, MoveLimit::Memory, MoveLimit::Hidden,
          MoveLimit::Exposure}) {
      // On the way down only groups with blocking collectives expose others.
      bool isRare = !up && limit == MoveLimit::Exposure;
      EXPECT_GT(seen[up].limits[limit], isRare ? 0 : some)
          << "limit " << static_cast<int>(limit);
    }
    for (DependenceKind kind : {DependenceKind::Data, DependenceKind::Memory,
                                DependenceKind::Order, DependenceKind::Barrier})
      EXPECT_GT(seen[up].dependences[kind], some) << toString(kind);
  }
}

// python/tests/test_inductor_parity.py compares with PyTorch's functions how
// far each collective moves, and why not further.
TEST(IterativeReordering, KeepsItsPromises) {
  checkMany(/*numProblems=*/4000, /*maxNodes=*/40);
  checkMany(/*numProblems=*/60, /*maxNodes=*/150);
}

TEST(IterativeReordering, ComputationStaysBehindWaitsThatGoAlong) {
  // The wait of s goes along with t. What both pass hides t, and s no longer: s
  // has 6 too much, so two operations may be passed, and not the third.
  TextProblem problem("s = start 10; a = 4; b = 4; c = 4; d = 4; wait s; "
                      "t = start 10 s'; wait t");
  IterativeReorderingOptions options;
  options.useRuntimeEstimations = true;
  options.commMultiplier = 1;
  CollectiveMoves moved = need(reorderComms(problem, options)).collectives[1];
  EXPECT_EQ(moved.moves, 2);
  EXPECT_EQ(moved.limit, MoveLimit::Exposure);
  EXPECT_EQ(problem.tell({moved.node, moved.obstacle}), "t b");
}

/// `problem` with costs that have nothing to do with its own.
Problem changeCosts(const Problem &problem) {
  Problem result = copyOperations(
      problem, [](NodeId node) { return int64_t(node) * 37 % 11; });
  for (BufferId id = 0; id < problem.numBuffers(); ++id) {
    const Buffer &buffer = problem.buffer(id);
    result.addBuffer(buffer.bytes, buffer.producer, buffer.freed);
    for (NodeId user : problem.users(id))
      result.addUse(id, user);
  }
  result.finalize();
  return result;
}

TEST(SimpleOverlap, KeepsItsPromises) {
  int numMoved = 0;
  for (uint64_t seed : Seeds(2000)) {
    RandomProblemOptions options;
    options.maxNodes = seed % 4 ? 40 : 120;
    options.waitsMakeBuffers = seed % 2;
    Problem problem = makeRandomProblem(seed, options);
    Order program = programOrder(problem);
    IterativeReordering result = need(overlapSimply(problem));
    ASSERT_TRUE(verify(problem, result.order));
    EXPECT_LE(simulateMemory(problem, result.order)->peakBytes,
              simulateMemory(problem, program)->peakBytes);
    EXPECT_LE(simulate(problem, result.order)->stepNs,
              simulate(problem, program)->stepNs);
    EXPECT_EQ(collectivesIn(problem, result.order),
              collectivesIn(problem, program));
    numMoved += result.order != program;

    // Once is enough.
    if (!options.waitsMakeBuffers) {
      Problem moved = renumber(problem, result.order);
      IterativeReordering again = need(overlapSimply(moved));
      ASSERT_EQ(again.order, programOrder(moved));
    }

    // The costs do not matter.
    IterativeReordering other = need(overlapSimply(changeCosts(problem)));
    EXPECT_EQ(other.order, result.order);
  }
  EXPECT_GT(numMoved, 300);
}

TEST(SimpleOverlap, StopsAtTheNeighboursThatMatter) {
  TextProblem problem(
      "source = 1; a = 5; s = start 4 source; wait s; b = 5; user = 1 s'");
  IterativeReordering result = need(overlapSimply(problem));
  EXPECT_EQ(problem.tell(result.order), "source s a b s' user");
  ASSERT_EQ(result.collectives.size(), 2u);
  const CollectiveMoves &start = result.collectives[0],
                        &wait = result.collectives[1];
  EXPECT_EQ(problem.tell({start.node, start.obstacle}), "s source");
  EXPECT_EQ(start.moves, 1);
  EXPECT_EQ(start.limit, MoveLimit::Dependence);
  EXPECT_EQ(problem.tell({wait.node, wait.obstacle}), "s' user");
  EXPECT_EQ(wait.moves, 1);
}

TEST(SimpleOverlap, NeverExceedsTheProgramsPeak) {
  // The start makes 8 bytes, and so does the operation above it, which frees
  // them at once: to pass it takes 16.
  TextProblem problem("a = 1; b = 5 -> 8; s = start 4 -> 8; wait s");
  IterativeReordering result = need(overlapSimply(problem));
  EXPECT_EQ(result.order, programOrder(problem));
  EXPECT_EQ(result.collectives[0].limit, MoveLimit::Memory);
  EXPECT_EQ(result.collectives[0].obstacle, problem["b"]);
  EXPECT_EQ(result.collectives[0].neededBytes, 16);
  EXPECT_EQ(result.newPeakBytes, 8);
}

TEST(SimpleOverlap, AWaitGoesNotBehindOtherWaitsOnly) {
  TextProblem problem("s = start 4; t = start 4; wait s; wait t");
  IterativeReordering result = need(overlapSimply(problem));
  EXPECT_EQ(result.order, programOrder(problem));
  for (const CollectiveMoves &moves : result.collectives)
    EXPECT_EQ(moves.moves, 0);
}

} // namespace
