//===- IterativeReorderingTest.cpp - Tests of moving collectives ----------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Schedule/Inductor/IterativeReordering.h"
#include "CommSched/Schedule/Reordering/SimpleOverlap.h"
#include "ReferenceExposure.h"
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

/// reorderComms() and sinkWaitsIteratively() literally by their description:
/// the order is a vector, every swap is separate, and every swap simulates
/// memory from scratch and walks every window.
class ReferenceIterativeReordering {
public:
  /// `up`: reorderComms(); otherwise sinkWaitsIteratively(). The program's
  /// order is legal.
  ReferenceIterativeReordering(const Problem &problem,
                               const IterativeReorderingOptions &options,
                               bool up)
      : problem(problem), scaled(scaleCosts(problem, options)),
        options(options), up(up), order(programOrder(problem)) {}

  IterativeReordering run() {
    IterativeReordering result;
    result.oldPeakBytes = simulateMemory(problem, order)->peakBytes;
    Order nodes = programOrder(problem);
    if (!up)
      std::reverse(nodes.begin(), nodes.end());
    for (NodeId node : nodes)
      if (problem.kind(node) == (up ? NodeKind::Start : NodeKind::Wait) &&
          (!options.maxCollectives ||
           static_cast<int64_t>(result.collectives.size()) <
               *options.maxCollectives))
        result.collectives.push_back(move(node));
    result.order = order;
    result.newPeakBytes = simulateMemory(problem, order)->peakBytes;
    return result;
  }

private:
  /// The operations with the costs that decisions see.
  static Problem scaleCosts(const Problem &problem,
                            const IterativeReorderingOptions &options) {
    Problem scaled = copyOperations(problem, [&](NodeId node) {
      double multiplier = problem.isCollective(node)
                              ? options.commMultiplier
                              : options.computeMultiplier;
      double cost = static_cast<double>(problem.costNs(node)) * multiplier;
      return static_cast<int64_t>(std::nearbyint(cost));
    });
    scaled.finalize();
    return scaled;
  }

  CollectiveMoves move(NodeId node) {
    CollectiveMoves moved;
    moved.node = node;
    first = std::find(order.begin(), order.end(), node) - order.begin();
    end = first + 1;
    absorbedExposures.clear();
    hasBlocking = false;
    NodeId start = up ? node : problem.startOf(node);
    while (hasFront()) {
      NodeId front = order[frontPlace()];
      auto stop = [&](MoveLimit limit) {
        moved.limit = limit;
        if (limit != MoveLimit::Hidden)
          moved.obstacle = front;
        return moved;
      };
      if (options.useRuntimeEstimations && isHidden(start))
        return stop(MoveLimit::Hidden);
      if (isForbidden(front))
        return stop(MoveLimit::Collective);
      std::optional<DependenceKind> dependence = dependenceWith(front);
      bool bothCommunicate = hasBlocking && problem.isCollective(front);
      if (dependence || bothCommunicate) {
        bool joins = mayJoin(front);
        if (joins && moved.grouped < options.maxGroupSize) {
          join(front);
          ++moved.grouped;
          continue;
        }
        if (dependence) {
          moved.dependence = *dependence;
          return stop(joins ? MoveLimit::GroupSize : MoveLimit::Dependence);
        }
        if (!options.reorderCollectives)
          return stop(MoveLimit::Collective);
      }
      if (options.useRuntimeEstimations && losesTime(start, front))
        return stop(MoveLimit::Exposure);
      int64_t needed = bytesNeededToPassFront();
      if (needed > options.limitBytes) {
        moved.neededBytes = needed;
        return stop(MoveLimit::Memory);
      }
      passFront();
      ++moved.moves;
    }
    return moved;
  }

  //===--------------------------------------------------------------------===//
  // The group is at [first, end) of the order.
  //===--------------------------------------------------------------------===//

  bool hasFront() const { return up ? first > 0 : end < order.size(); }
  size_t frontPlace() const { return up ? first - 1 : end; }

  bool isForbidden(NodeId front) const {
    if (up)
      return problem.isCollective(front) && !options.reorderCollectives;
    return problem.kind(front) == NodeKind::Start && !options.withCollectives;
  }

  /// The first of all kinds for which `later` has to come after `earlier`.
  std::optional<DependenceKind> dependenceOf(NodeId later,
                                             NodeId earlier) const {
    std::optional<DependenceKind> hardest;
    auto note = [&](DependenceKind kind) {
      hardest = hardest ? std::min(*hardest, kind) : kind;
    };
    for (DependenceEnd before : problem.predecessors(later))
      if (before.node == earlier)
        note(before.kind);
    for (BufferId buffer : problem.buffersUsedBy(later))
      if (problem.buffer(buffer).producer == earlier)
        note(DependenceKind::Data);
    return hardest;
  }

  std::optional<DependenceKind> dependenceWith(NodeId front) const {
    std::optional<DependenceKind> hardest;
    for (size_t place = first; place < end; ++place)
      if (std::optional<DependenceKind> kind =
              up ? dependenceOf(order[place], front)
                 : dependenceOf(front, order[place]))
        hardest = hardest ? std::min(*hardest, *kind) : *kind;
    return hardest;
  }

  bool mayJoin(NodeId front) const {
    switch (problem.kind(front)) {
    case NodeKind::Compute:
      return options.useRuntimeEstimations || !problem.isExpensive(front);
    case NodeKind::Start:
      return up && options.withCollectives;
    case NodeKind::Wait:
      return up;
    case NodeKind::Blocking:
      return up || options.useRuntimeEstimations;
    }
    return false;
  }

  void join(NodeId front) {
    if (up && problem.kind(front) == NodeKind::Wait)
      absorbedExposures.push_back(walkWindow(scaled, order,
                                             problem.startOf(front),
                                             ExposureWalk::FromWait)
                                      .exposedNs());
    if (!up && problem.kind(front) == NodeKind::Blocking)
      hasBlocking = true;
    if (up)
      --first;
    else
      ++end;
  }

  /// The order with the group on the other side of the operation in front.
  Order swapped() const {
    Order result = order;
    auto at = [&](size_t place) {
      return result.begin() + static_cast<ptrdiff_t>(place);
    };
    if (up)
      std::rotate(at(first - 1), at(first), at(end));
    else
      std::rotate(at(first), at(end), at(end + 1));
    return result;
  }

  int64_t bytesNeededToPassFront() const {
    MemoryTimeline memory = *simulateMemory(problem, swapped());
    int64_t highest = 0;
    for (size_t place = std::min(first, frontPlace());
         place < std::max(end, frontPlace() + 1); ++place)
      highest = std::max(highest, memory.allocatedBytes[place]);
    return highest;
  }

  void passFront() {
    // What has been taken along leaves computation of its window behind.
    for (int64_t &exposed : absorbedExposures)
      exposed += computeTime(order[frontPlace()]);
    order = swapped();
    first += up ? -1 : 1;
    end += up ? -1 : 1;
  }

  //===--------------------------------------------------------------------===//
  // Estimations.
  //===--------------------------------------------------------------------===//

  int64_t exposureOf(NodeId start) const {
    return walkWindow(scaled, order, start,
                      up ? ExposureWalk::FromStart : ExposureWalk::FromWait)
        .exposedNs();
  }

  int64_t computeTime(NodeId node) const {
    bool holdsStream = scaled.kind(node) == NodeKind::Compute ||
                       scaled.kind(node) == NodeKind::Blocking;
    return holdsStream ? scaled.costNs(node) : 0;
  }

  bool isHidden(NodeId start) const {
    return static_cast<double>(exposureOf(start)) <
           -options.extraOverlap * static_cast<double>(scaled.costNs(start));
  }

  /// How much more is exposed of a collective when `lost` (which may be
  /// negative) of the computation beside it goes away.
  static int64_t growth(int64_t exposed, int64_t lost) {
    return std::max<int64_t>(0, exposed + lost) - std::max<int64_t>(0, exposed);
  }

  /// Whether passing the operation in front exposes more than it hides.
  bool losesTime(NodeId start, NodeId front) const {
    bool isUpPastStart = up && problem.kind(front) == NodeKind::Start;
    bool isDownPastWait = !up && problem.kind(front) == NodeKind::Wait;
    if (isUpPastStart || isDownPastWait) {
      int64_t lost = 0;
      for (size_t place = first; place < end; ++place)
        if (up || scaled.kind(order[place]) == NodeKind::Blocking)
          lost += computeTime(order[place]);
      return growth(exposureOf(up ? front : problem.startOf(front)), lost) > 0;
    }
    if (absorbedExposures.empty())
      return false;
    int64_t time = computeTime(front);
    int64_t more = growth(exposureOf(start), -time);
    for (int64_t exposed : absorbedExposures)
      more += growth(exposed, time);
    return more > 0;
  }

  const Problem &problem;
  Problem scaled;
  IterativeReorderingOptions options;
  bool up;
  Order order;
  size_t first = 0;
  size_t end = 0;
  /// Of the collectives whose waits the group has taken along: what is exposed.
  std::vector<int64_t> absorbedExposures;
  /// Down: the group has taken a blocking collective along.
  bool hasBlocking = false;
};

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
  expectSame(result, ReferenceIterativeReordering(problem, options, up).run());
  if (::testing::Test::HasFatalFailure())
    return;
  ASSERT_TRUE(verify(problem, result.order));
  MemoryTimeline memory = need(simulateMemory(problem, result.order));
  ASSERT_LE(memory.peakBytes,
            std::max(options.limitBytes, result.oldPeakBytes));

  IterativeReordering again = need(solve(problem, options, up));
  expectSame(again, result);
  IterativeReorderingOptions recomputing = options;
  recomputing.recomputeMemory = true;
  IterativeReordering checked = need(solve(problem, recomputing, up));
  expectSame(checked, result);

  // Without other starts in between, and without windows that others change,
  // each has gone as far as it can.
  if (up && !options.reorderCollectives && !options.useRuntimeEstimations) {
    IterativeReordering second =
        need(solve(renumber(problem, result.order), options, up));
    ASSERT_EQ(second.order, programOrder(problem));
    ++seen.repeated;
  }

  for (const CollectiveMoves &moved : result.collectives) {
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

TEST(IterativeReordering, AgreesWithOneSwapAtATime) {
  checkMany(/*numProblems=*/4000, /*maxNodes=*/40);
}

TEST(IterativeReordering, AgreesWithOneSwapAtATimeOnLargerProblems) {
  checkMany(/*numProblems=*/60, /*maxNodes=*/150);
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

std::vector<NodeId> collectivesIn(const Problem &problem, const Order &order) {
  std::vector<NodeId> collectives;
  for (NodeId node : order)
    if (problem.isCollective(node))
      collectives.push_back(node);
  return collectives;
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
