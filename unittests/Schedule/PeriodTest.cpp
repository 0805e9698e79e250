//===- PeriodTest.cpp - Tests of the time and memory of periods -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/Schedule/Cyclic/Period.h"
#include "CommSched/Schedule/Cyclic/CyclicScheduler.h"
#include "TestProblems.h"

using namespace mlir::commsched::schedule::testing;

namespace {

/// The loop over layers: 30 ns gather a weight of 1,000 bytes, 50 ns compute
/// an activation of 10 bytes from it and from the last one.
CyclicProblem makeLayers() {
  TextProblem body("g = start 30 -> 1000; wait g; c = 50 g' -> 10");
  CyclicProblem problem(body);
  problem.addDependence(body["c"], body["c"], DependenceKind::Data, 1);
  problem.addUse(body.bufferOf("c"), body["c"], 1);
  return problem;
}

TEST(Period, ARunReservesWholeSegments) {
  // Weights of 8 MiB, of which two are live at a time, and activations of 6.
  TextProblem body("g = start 30 -> 8388608; wait g; c = 50 g' -> 6291456");
  CyclicProblem problem(body);
  problem.addDependence(body["c"], body["c"], DependenceKind::Data, 1);
  problem.addUse(body.bufferOf("c"), body["c"], 1);
  CyclicOrder schedule = {{0, 0, 1}, {0, 2, 1}};
  EXPECT_EQ(computeRunPeak(problem, schedule), (2 * 8 + 2 * 6) << 20);
  // Each gets a segment of 20 MiB, which has room for one of each; and what is
  // beside them one of its own.
  ReservedMemory reserved =
      need(replayRun(problem, schedule, {30 << 20}, {}, SegmentKind::Fixed));
  EXPECT_EQ(reserved.reservedBytes, (2 * 20 + 30) << 20);
  EXPECT_EQ(reserved.fragmentationBytes, (2 * 20 - 28) << 20);
}

TEST(Period, ABusyStreamTakesLongToHoldUpTheComputation) {
  // A stream with 101 ns of work beside 100 ns of computation: it falls behind
  // by 1 ns in each period, for 49 of them, until the computation has to wait.
  TextProblem body("s = start 50; t = start 51; a = 50; b = 50 a; wait s; "
                   "wait t");
  CyclicProblem problem(body);
  CyclicOrder schedule = {{0, 0, 0, 0, 1, 1}, body.list("s' s a t' t b")};
  ASSERT_TRUE(verify(problem, schedule));
  PeriodTimeline period = need(simulatePeriod(problem, schedule));
  EXPECT_EQ(period.periodNs, 101);
}

TEST(PeriodBound, NamesTheStreamOrTheCircle) {
  CyclicProblem problem = makeLayers();
  PeriodBound bound = need(computePeriodBound(problem));
  EXPECT_EQ(bound.ns, 50);
  EXPECT_EQ(bound.kind, PeriodBoundKind::Computation);
  EXPECT_EQ(bound.circle, std::vector<NodeId>({2}));
  // The weight that is gathered depends on the computation before.
  problem.addDependence(2, 0, DependenceKind::Data, 1);
  bound = need(computePeriodBound(problem));
  EXPECT_EQ(bound.ns, 80);
  EXPECT_EQ(bound.kind, PeriodBoundKind::Circle);
  EXPECT_EQ(bound.circle, std::vector<NodeId>({0, 1, 2}));
  EXPECT_EQ(bound.circleNs, 80);
  EXPECT_EQ(bound.circleDistance, 1);
}

TEST(PeriodBound, AStreamWaitsBetweenGathersAndReductions) {
  // Two parameters, each gathered, used, and reduced for its next gather. No
  // collective may run beside what lies between, and no circle is longer than
  // 26 ns.
  TextProblem body("p = start 10; q = start 10; wait p; wait q; "
                   "logits = 1 p' q'; loss = 5 logits; norm = 5 logits; "
                   "r = start 10 loss norm; s = start 10 loss norm; "
                   "wait r; wait s");
  CyclicProblem problem(body);
  std::vector<NodeId> ends = body.list("p r' q s'");
  problem.addDependence(ends[1], ends[0], DependenceKind::Data, 1);
  problem.addDependence(ends[3], ends[2], DependenceKind::Data, 1);
  PeriodBound bound = need(computePeriodBound(problem));
  EXPECT_EQ(bound.ns, 51);
  EXPECT_EQ(bound.kind, PeriodBoundKind::Stream);
  EXPECT_EQ(bound.circleNs, 26);
  CyclicSchedulerOptions options;
  EXPECT_EQ(need(scheduleCyclic(problem, options)).periodNs, 51);
}

TEST(PeriodBound, WithoutCircles) {
  PeriodBound bound = need(computePeriodBound(
      CyclicProblem(TextProblem("a = blocking 7@2; b = 3"))));
  EXPECT_EQ(bound.ns, 7);
  EXPECT_EQ(bound.kind, PeriodBoundKind::Stream);
  EXPECT_EQ(bound.stream, 2);
  EXPECT_TRUE(bound.circle.empty());
}

constexpr uint64_t numProblems = 2000;

RandomProblemOptions getOptions() {
  RandomProblemOptions options;
  options.maxNodes = 14;
  return options;
}

struct Case {
  explicit Case(uint64_t seed)
      : problem(makeRandomCyclicProblem(seed, getOptions())),
        schedule(makeRandomCyclicOrder(seed, problem, seed % 4)) {}

  CyclicProblem problem;
  CyclicOrder schedule;
};

/// Whether a circle takes more time than its distance times the ratio
/// `ns` / `distance`: the algorithm of Bellman and Ford, with weights that are
/// integers.
bool hasLongerCircle(const CyclicProblem &problem, int64_t ns,
                     int64_t distance) {
  const Problem &body = problem.body();
  struct Edge {
    NodeId from, to;
    int64_t weight;
  };
  std::vector<Edge> edges;
  auto add = [&](NodeId from, NodeId to, int32_t by) {
    bool isTimed =
        body.kind(from) != NodeKind::Start || body.waitOf(from) == to;
    int64_t timeNs = isTimed ? body.costNs(from) : 0;
    edges.push_back({from, to, timeNs * distance - by * ns});
  };
  for (NodeId node = 0; node < body.numNodes(); ++node)
    for (DependenceEnd end : body.successors(node))
      add(node, end.node, 0);
  for (const CarriedDependence &edge : problem.carriedDependences())
    add(edge.from, edge.to, edge.distance);
  std::vector<int64_t> longest(body.numNodes());
  for (NodeId round = 0; round <= body.numNodes(); ++round) {
    bool changed = false;
    for (const Edge &edge : edges)
      if (longest[edge.from] + edge.weight > longest[edge.to]) {
        longest[edge.to] = longest[edge.from] + edge.weight;
        changed = true;
      }
    if (!changed)
      return false;
  }
  return true;
}

/// An order, and one with two neighbours exchanged, is legal if and only if it
/// is legal when it is unrolled.
TEST(PeriodProperty, IllegalOrdersAreFound) {
  int32_t numIllegal = 0;
  for (uint64_t seed : Seeds(numProblems)) {
    Case random(seed);
    ASSERT_TRUE(random.problem.check());
    int32_t count = random.schedule.depth() + 3;
    Problem unrolled = unroll(random.problem, count);
    ASSERT_TRUE(unrolled.check()) << unrolled.check().error();
    auto isUnrolledLegal = [&] {
      return bool(verify(unrolled, unroll(random.schedule, count)));
    };
    ASSERT_TRUE(verify(random.problem, random.schedule));
    ASSERT_TRUE(isUnrolledLegal());
    if (random.schedule.order.size() < 2)
      continue;
    size_t place = seed % (random.schedule.order.size() - 1);
    std::swap(random.schedule.order[place], random.schedule.order[place + 1]);
    // One more rule: no second start of a collective before the wait.
    ASSERT_TRUE(isUnrolledLegal() || !verify(random.problem, random.schedule));
    numIllegal += !isUnrolledLegal();
  }
  EXPECT_GT(numIllegal, 30);
}

TEST(PeriodProperty, TimeIsThatOfTheUnrolledProgram) {
  for (uint64_t seed : Seeds(numProblems)) {
    Case random(seed);
    constexpr int32_t few = 6, many = 240, apart = 12;
    Timeline unrolled = need(
        simulate(unroll(random.problem, few), unroll(random.schedule, few)));
    ASSERT_EQ(simulateRun(random.problem, random.schedule, few),
              unrolled.stepNs);
    PeriodTimeline period =
        need(simulatePeriod(random.problem, random.schedule));
    ASSERT_EQ(period.periodNs * apart,
              simulateRun(random.problem, random.schedule, many + apart) -
                  simulateRun(random.problem, random.schedule, many));
  }
}

/// Where a period of the unrolled program begins, in which all stages run: when
/// the compute stream has issued all before it.
int64_t findBeginOfPeriod(const Case &random, const Timeline &unrolled,
                          int32_t period) {
  NodeId last = random.schedule.order.back();
  int32_t repetition = period - 1 - random.schedule.stages[last];
  NodeId node = repetition * random.problem.body().numNodes() + last;
  return unrolled.endNs[node];
}

TEST(PeriodProperty, ContendedTimeIsThatOfTheUnrolledProgram) {
  int32_t numContended = 0, numWhole = 0;
  for (uint64_t seed : Seeds(numProblems / 4)) {
    Case random(seed);
    const Problem &body = random.problem.body();
    Random draw(seed);
    Contention contention = makeRandomContention(draw, body.numStreams());
    PeriodTimeline period =
        need(simulatePeriod(random.problem, random.schedule, contention));
    // States come again after few periods.
    constexpr int32_t many = 120, apart = 2 * 2 * 2 * 3 * 3 * 5;
    auto run = [&](int32_t count) {
      return need(simulate(unroll(random.problem, count),
                           unroll(random.schedule, count), contention));
    };
    Timeline unrolled = run(many + apart);
    for (int32_t count : {1, 2, 6, many})
      ASSERT_EQ(simulateRun(random.problem, random.schedule, count, contention),
                run(count).stepNs)
          << count << " repetitions";
    int64_t apartNs = unrolled.stepNs - run(many).stepNs;
    ASSERT_EQ(period.periodNs, (apartNs + apart - 1) / apart);
    numContended +=
        period.periodNs !=
        need(simulatePeriod(random.problem, random.schedule)).periodNs;
    // A start does not tell when it was issued.
    if (random.schedule.order.empty() ||
        body.kind(random.schedule.order.back()) == NodeKind::Start)
      continue;
    int64_t beginNs = findBeginOfPeriod(random, unrolled, many);
    if (period.periodNs !=
            findBeginOfPeriod(random, unrolled, many + 1) - beginNs ||
        period.periodNs * 4 !=
            findBeginOfPeriod(random, unrolled, many + 4) - beginNs)
      continue;
    ++numWhole;
    int64_t stallsNs = period.steady.slowdownNs;
    for (NodeId node = 0; node < body.numNodes(); ++node) {
      NodeId copy =
          (many - random.schedule.stages[node]) * body.numNodes() + node;
      ASSERT_EQ(period.steady.beginNs[node], unrolled.beginNs[copy] - beginNs)
          << "of node " << node;
      ASSERT_EQ(period.steady.endNs[node], unrolled.endNs[copy] - beginNs);
      ASSERT_EQ(period.steady.exposedNs[node], unrolled.exposedNs[copy]);
      if (body.kind(node) != NodeKind::Start)
        stallsNs += period.steady.exposedNs[node];
    }
    ASSERT_EQ(period.steady.exposedCommNs, stallsNs);
  }
  EXPECT_GT(numContended, 100);
  EXPECT_GT(numWhole, 200);
}

TEST(PeriodProperty, MemoryIsThatOfTheUnrolledProgram) {
  for (uint64_t seed : Seeds(numProblems)) {
    Case random(seed);
    constexpr int32_t count = 14;
    Problem unrolled = unroll(random.problem, count);
    Order order = unroll(random.schedule, count);
    MemoryTimeline memory = need(simulateMemory(unrolled, order));
    std::vector<int64_t> live =
        simulatePeriodMemory(random.problem, random.schedule);
    // A period in the middle, in which all stages run.
    size_t numNodes = random.schedule.order.size(), begin = 0;
    for (int32_t period = 0; period < 8; ++period)
      for (NodeId node : random.schedule.order)
        begin += random.schedule.stages[node] <= period;
    for (size_t i = 0; i < numNodes; ++i) {
      ASSERT_EQ(live[i], memory.allocatedBytes[begin + i])
          << "at position " << i;
      int64_t liveBytes = 0;
      for (BufferId id : findLiveInPeriod(random.problem, random.schedule,
                                          static_cast<int32_t>(i)))
        liveBytes += random.problem.body().buffer(id).bytes;
      ASSERT_EQ(live[i], liveBytes) << "at position " << i;
    }
    ASSERT_EQ(computeRunPeak(random.problem, random.schedule),
              memory.peakBytes);
  }
}

TEST(PeriodProperty, PeriodProblemHasTheMemoryAndNoLessTime) {
  int32_t numWhole = 0;
  for (uint64_t seed : Seeds(numProblems)) {
    Case random(seed);
    Result<Problem> program =
        makePeriodProblem(random.problem, random.schedule);
    if (!program)
      continue;
    ++numWhole;
    ASSERT_TRUE(program->check()) << program->check().error();
    Timeline step = need(simulate(*program, program->programOrder()));
    MemoryTimeline memory =
        need(simulateMemory(*program, program->programOrder()));
    PeriodTimeline period =
        need(simulatePeriod(random.problem, random.schedule));
    ASSERT_LE(period.periodNs, step.stepNs);
    ASSERT_EQ(memory.allocatedBytes,
              simulatePeriodMemory(random.problem, random.schedule));
  }
  EXPECT_GT(numWhole, 60);
}

TEST(PeriodProperty, BoundIsBelowEveryPeriodAndItsCircleIsTheLongest) {
  int32_t numCircles = 0;
  for (uint64_t seed : Seeds(numProblems)) {
    Case random(seed);
    PeriodBound bound = need(computePeriodBound(random.problem));
    PeriodTimeline period =
        need(simulatePeriod(random.problem, random.schedule));
    ASSERT_LE(bound.ns, period.periodNs);
    ASSERT_FALSE(
        hasLongerCircle(random.problem, bound.circleNs, bound.circleDistance));
    if (bound.circle.empty())
      continue;
    ++numCircles;
    // A nanosecond less over the distance is too little for it.
    ASSERT_TRUE(hasLongerCircle(random.problem, bound.circleNs - 1,
                                bound.circleDistance));
  }
  EXPECT_GT(numCircles, 150);
}

} // namespace
