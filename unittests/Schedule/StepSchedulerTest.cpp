//===- StepSchedulerTest.cpp - Tests of the scheduler of steps ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/Schedule/Step/StepScheduler.h"
#include "CommSched/Schedule/Bounds/LowerBounds.h"
#include "CommSched/Schedule/Exposure/ExposureReasons.h"
#include "CommSched/Schedule/Model/MemoryTimeline.h"
#include "CommSched/Schedule/Reordering/SimpleOverlap.h"
#include "CommSched/Support/Unlimited.h"
#include "Step/ComputeOrders.h"
#include "Step/ListScheduling.h"
#include "Step/StepConstruction.h"
#include "TestProblems.h"

using namespace mlir::commsched::schedule::testing;

namespace {

/// Few trials are enough for a few operations.
StepSchedulerOptions withLittleEffort() {
  StepSchedulerOptions options;
  options.effort = 20'000;
  return options;
}

StepSchedule
schedule(const Problem &problem,
         const StepSchedulerOptions &options = withLittleEffort()) {
  return need(scheduleStep(problem, options));
}

TEST(StepScheduler, KeepsAProgramThatCannotBeBettered) {
  // Of one gather that is hidden, without anything to hide a collective, and
  // without operations.
  for (auto [text, stepNs] :
       {std::pair("g = start 100; a = 100; wait g; b = 10 g'", 110),
        {"a = 10; g = start 100 a; wait g; b = 10 g'", 120},
        {R"(a = 10; g = start 100 a; wait g; h = start 100 g'; wait h
            b = 10 h')",
         220},
        {"", 0}}) {
    TextProblem problem(text);
    StepSchedule best = schedule(problem);
    EXPECT_EQ(best.origin, ScheduleOrigin::Program);
    EXPECT_EQ(best.order, programOrder(problem));
    EXPECT_EQ(best.stepNs, stepNs);
  }
}

TEST(StepScheduler, TakesSimpleOverlapThatIsAsGood) {
  TextProblem problem("a = 100; g = start 100; wait g; last = 10 g' a");
  StepSchedule best = schedule(problem);
  EXPECT_EQ(best.origin, ScheduleOrigin::SimpleOverlap);
  EXPECT_EQ(problem.tell(best.order), "g a g' last");
  EXPECT_EQ(best.stepNs, 110);
}

TEST(StepScheduler, MakesTheMovesThatAnExplanationAdvises) {
  for (uint64_t seed : Seeds(40)) {
    Problem problem = makeRandomStep(seed, 60);
    StepSchedulerOptions options = withLittleEffort();
    if (seed % 2 == 0)
      options.limitBytes =
          simulateMemory(problem, programOrder(problem))->peakBytes;
    // Enough to try all of them, and too little for the other searches, which
    // would make most of these moves, too.
    options.effort = int64_t(problem.numNodes()) * 512;
    StepSchedule best = schedule(problem, options);
    for (const ExposureReason &reason :
         need(explainExposure(problem, best.order, ExposureOptions())))
      if (reason.cause == ExposureCause::Unhindered) {
        EXPECT_LE(reason.gainNs.value_or(0), best.stepNs / 5000)
            << "of collective " << reason.collective;
      }
  }
}

TEST(StepScheduler, IsAsShortAsListSchedulingAndWhatItConstructs) {
  StepSchedulerOptions free, options;
  free.slackPercent = options.slackPercent = 0;
  free.effort = options.effort = 0;
  for (uint64_t seed : Seeds(60)) {
    Problem problem = makeRandomStep(seed, 40);
    options.limitBytes =
        simulateMemory(problem, programOrder(problem))->peakBytes;
    // What gains less than a thousandth is not tried.
    auto schedule = [&](const StepSchedulerOptions &with) {
      int64_t stepNs = scheduleStep(problem, with)->stepNs;
      return stepNs - stepNs / 512;
    };
    int64_t freeNs = schedule(free), stepNs = schedule(options);
    for (int32_t length : {64, 256, 1024})
      EXPECT_LE(
          freeNs,
          scheduleByRank(problem, rankByTail(problem), {length, {}}).stepNs)
          << "window " << length;
    StepStructure structure = need(StepStructure::create(problem));
    StepConstruction construction(structure, getProgramComputeOrder(structure));
    for (int64_t lookAheadNs : {int64_t(0), unlimited}) {
      Order order = construction.construct({options, lookAheadNs}).order;
      if (simulateMemory(problem, order)->peakBytes <= options.limitBytes) {
        EXPECT_LE(stepNs, simulate(problem, order)->stepNs)
            << "look-ahead " << lookAheadNs;
      }
    }
  }
}

/// Whether the operations come in this order.
bool areInOrder(const TextProblem &problem, const Order &order,
                const std::string &names) {
  Positions positions = *invert(problem, order);
  Order nodes = problem.list(names);
  return std::is_sorted(nodes.begin(), nodes.end(), [&](NodeId a, NodeId b) {
    return positions[a] < positions[b];
  });
}

TEST(StepScheduler, MakesRoomWhereLowerLimitsDoNot) {
  // Two gradients are summed over replicas, scattered, and added. The second
  // sum has room behind the first scatter, but not beside it.
  TextProblem problem(R"(
    a = mm 100 -> 80; r = start 100@1 a -> 81; wait r; s = start 10 r' -> 20
    b = mm 100 a -> 80; wait s; t = start 100@1 b -> 81; wait t
    u = start 10 t' -> 20; wait u; c = 100 b s' u' -> 20!)");
  StepSchedulerOptions options;
  options.effort = 0;
  options.limitBytes = 80 + 80 + 81;
  EXPECT_EQ(schedule(problem, options).stepNs, 420);
}

TEST(StepScheduler, ConstructsWhatTheProgramIsTooStiffFor) {
  // A gather that is needed first comes behind one that is needed last.
  TextProblem problem(R"(
    second = start 100; first = start 100; wait first; needsFirst = 100 first'
    wait second; needsSecond = 100 second' needsFirst)");
  StepSchedule best = schedule(problem);
  EXPECT_EQ(best.origin, ScheduleOrigin::Constructed);
  EXPECT_TRUE(areInOrder(problem, best.order, "first second"));
  EXPECT_TRUE(areInOrder(problem, best.order, "needsFirst needsSecond"));
  EXPECT_EQ(best.stepNs, 300);
}

TEST(StepScheduler, TakesTheLeastMemoryIfNothingFits) {
  // Two values of 100 bytes each from one operation each; what needs them
  // leaves 10. The program makes both first.
  TextProblem problem(R"(
    x = arg 10!; a = 10 x -> 100; b = 10 x -> 100; g = start 50 x -> 40; wait g
    fromA = 10 a -> 10; fromB = 10 b -> 10; last = 10 fromA fromB g' -> 10!)");
  StepSchedulerOptions options = withLittleEffort();
  options.limitBytes = 1;
  StepSchedule best = schedule(problem, options);
  EXPECT_EQ(best.origin, ScheduleOrigin::LeastMemory);
  EXPECT_FALSE(best.fits(options.limitBytes));
  // Input, one value with what it leaves, and what the other one left.
  EXPECT_EQ(best.peakBytes, 10 + 100 + 10 + 10);
  // With that for a limit it is met.
  options.limitBytes = best.peakBytes;
  EXPECT_TRUE(schedule(problem, options).fits(best.peakBytes));
}

TEST(StepScheduler, TakesNoBadProblem) {
  Problem open;
  EXPECT_FALSE(scheduleStep(open, {}));
  EXPECT_FALSE(scheduleStepOnce(open, {}));
  EXPECT_FALSE(sketchStep(open, {}));
  TextProblem backwards("a = 1 b; b = 1");
  Result<StepSchedule> result = scheduleStep(backwards, {});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().find("the program is not a legal order: "), 0u)
      << result.error();
}

/// Compares schedules by `solver` of random steps with those of scheduleStep():
/// how many are longer, and shorter than the program.
std::pair<int, int> compareWithScheduleStep(
    const Seeds &seeds,
    Result<StepSchedule> (*solver)(const Problem &,
                                   const StepSchedulerOptions &)) {
  int numWorse = 0, numBetterThanProgram = 0;
  for (uint64_t seed : seeds) {
    Problem problem = makeRandomStep(seed, 4);
    StepSchedulerOptions options = withLittleEffort();
    options.slackPercent = 0;
    if (seed % 3 == 0)
      options.contention.slowdownPpm.assign(problem.numStreams(), 200'000);
    Measured program =
        measure(problem, programOrder(problem), options.contention);
    // Twice the program's peak, as much, a little less, and half of it.
    const int64_t limits[] = {program.second * 2, program.second,
                              program.second - 1, program.second / 2};
    options.limitBytes = limits[seed % 4];
    Result<StepSchedule> fast = solver(problem, options);
    if (!fast) {
      ADD_FAILURE() << fast.error();
      continue;
    }
    EXPECT_TRUE(verify(problem, fast->order));
    Measured cost = {fast->stepNs, fast->peakBytes};
    EXPECT_EQ(cost, measure(problem, fast->order, options.contention));
    EXPECT_FALSE(isWorse(cost, program, options.limitBytes));
    if (program.second > options.limitBytes)
      continue;
    numBetterThanProgram += cost.first < program.first;
    StepSchedule best = *scheduleStep(problem, options);
    EXPECT_GE(fast->stepNs, best.stepNs - best.stepNs / 1000);
    numWorse += fast->stepNs > best.stepNs;
  }
  return {numWorse, numBetterThanProgram};
}

TEST(StepScheduler, SketchesAreSchedulesThatMayBeWorse) {
  Seeds seeds(200);
  auto [numWorse, numBetterThanProgram] =
      compareWithScheduleStep(seeds, sketchStep);
  EXPECT_GT(numBetterThanProgram, 30);
  EXPECT_GT(numWorse, 3);
}

TEST(StepScheduler, OneRunMakesASchedule) {
  Seeds seeds(200);
  auto [numWorse, numBetterThanProgram] =
      compareWithScheduleStep(seeds, scheduleStepOnce);
  EXPECT_GT(numBetterThanProgram, 30);
  EXPECT_LT(numWorse, seeds.size() / 8);
}

TEST(StepScheduler, ImprovesOneRunToTheSchedule) {
  for (uint64_t seed : Seeds(50)) {
    Problem problem = makeRandomStep(seed, 4);
    StepSchedulerOptions options = withLittleEffort();
    EXPECT_EQ(improveStep(problem, *scheduleStepOnce(problem, options), options)
                  ->order,
              scheduleStep(problem, options)->order);
  }
}

TEST(StepScheduler, FindsTheSameWithACache) {
  StepCache cache;
  auto compare = [&](const Problem &problem, StepSchedulerOptions options) {
    for (auto solve : {scheduleStep, scheduleStepOnce}) {
      options.cache = nullptr;
      StepSchedule plain = need(solve(problem, options));
      options.cache = &cache;
      for (int32_t time = 0; time < 2; ++time) {
        StepSchedule cached = need(solve(problem, options));
        EXPECT_EQ(cached.order, plain.order);
        EXPECT_EQ(cached.stepNs, plain.stepNs);
        EXPECT_EQ(cached.peakBytes, plain.peakBytes);
        EXPECT_EQ(cached.origin, plain.origin);
      }
    }
  };
  for (uint64_t seed : Seeds(20)) {
    Problem problem = makeRandomStep(seed, 4);
    StepSchedulerOptions options = withLittleEffort();
    compare(problem, options);
    options.limitBytes = schedule(problem).peakBytes - 1;
    compare(problem, options);
    options.slackPercent = 0;
    compare(problem, options);
    Random random(seed);
    options.contention = makeRandomContention(random, problem.numStreams());
    compare(problem, options);
  }
}

TEST(StepScheduler, KeepsSchedulesByAllThatTheyDependOn) {
  auto makeKey = [](const char *text, int64_t limitBytes = 100) {
    StepSchedulerOptions options;
    options.limitBytes = limitBytes;
    return StepCache::makeKey(TextProblem(text), options, false);
  };
  const char *text = "a = 1 -> 8; g = start 5 a; wait g; b = 1 g'";
  StepCache cache;
  cache.keep(makeKey(text), {{}, /*stepNs=*/7});
  EXPECT_EQ(cache.find(makeKey(text))->stepNs, 7);
  EXPECT_FALSE(cache.find(makeKey(text, 99)));
  for (const char *other : {"a = 2 -> 8; g = start 5 a; wait g; b = 1 g'",
                            "a = 1 -> 9; g = start 5 a; wait g; b = 1 g'",
                            "a = 1 -> 8; g = start 5; wait g; b = 1 g'",
                            "a = 1 -> 8; g = start 5 a; wait g; b = 1 g' a"})
    EXPECT_FALSE(cache.find(makeKey(other))) << other;
}

TEST(StepScheduler, StartsLate) {
  TextProblem problem(R"(
    g = start 5 -> 40; h = start 5 -> 40; a = 1; wait g; wait h
    b = 1 g' a; c = 1 h' b)");
  EXPECT_EQ(problem.tell(*startLate(problem)), "a g g' b h h' c");
}

TEST(StepScheduler, OverlapsOnlyStreamsThatMayRunAtOnce) {
  TextProblem problem(repeat(3, "g$ = start 100@$; wait g$; a$ = 10 g$'"));
  EXPECT_EQ(schedule(problem).stepNs, 130);
  StepSchedulerOptions options = withLittleEffort();
  options.contention.exclusive = {{0, 1}, {0, 2}, {1, 2}};
  StepSchedule best = schedule(problem, options);
  EXPECT_EQ(best.stepNs, 310);
  Timeline timeline = *simulate(problem, best.order, options.contention);
  for (NodeId a = 0; a < problem.numNodes(); ++a)
    for (NodeId b = 0; b < a; ++b)
      if (problem.isCollective(a) && problem.isCollective(b)) {
        EXPECT_TRUE(timeline.endNs[a] <= timeline.beginNs[b] ||
                    timeline.endNs[b] <= timeline.beginNs[a]);
      }
}

TEST(StepScheduler, FillsStallsWithWeightGradients) {
  // A backward: each layer's exchange holds up the next, while the gradients
  // of the weights are there for what would stand still.
  TextProblem problem("x-1' = arg 100!;" + repeat(6, R"(
    activation$ = arg 100!; below$ = mm 100 x^' activation$ -> 100
    weight$ = mm 100 x^' activation$ -> 200; s$ = start 50 weight$ -> 50
    wait s$; shard$ = 5 s$' -> 50!; x$ = start 100@1 below$ -> 100; wait x$)") +
                      "last = 5 x5' -> 100!");
  Order program = programOrder(problem);
  StepSchedulerOptions options = withLittleEffort();
  options.slackPercent = 0;
  options.limitBytes = simulateMemory(problem, program)->peakBytes * 5 / 4;
  StepSchedule best = schedule(problem, options);
  EXPECT_TRUE(best.fits(options.limitBytes));
  EXPECT_GT(simulate(problem, program)->stepNs, best.stepNs);
  // The time of all computation, and the exposed rest at the end.
  EXPECT_LE(best.stepNs, simulate(problem, program)->computeNs + 100);
  // No gradient is left for much later, so that what it reads can go.
  for (const char *names :
       {"weight0 below3", "weight1 below4", "weight2 below5"})
    EXPECT_TRUE(areInOrder(problem, best.order, names)) << names;
}

/// The results over all problems.
struct Seen {
  int64_t schedules = 0;
  std::map<ScheduleOrigin, int64_t> origins;
  /// The position of the limit between the least peak and the peak of the
  /// shortest step.
  int64_t shorterThanSimple = 0, overLimit = 0, longerForTheLimit = 0;
};

/// Schedules one problem within several limits and checks every answer.
class PropertyCheck {
public:
  PropertyCheck(const Problem &problem, const StepSchedulerOptions &options,
                Seen &seen)
      : problem(problem), options(options), seen(seen),
        program(measure(problem, programOrder(problem), options.contention)),
        simple(measure(problem, overlapSimply(problem)->order,
                       options.contention)) {}

  void run() {
    int64_t unlimitedNs = -1;
    options.limitBytes = -1;
    checkLimit();
    if (::testing::Test::HasFatalFailure())
      return;
    leastBytes = schedule.peakBytes;
    // None, a little more than the program takes, as much, and the least.
    for (int64_t limit :
         {std::numeric_limits<int64_t>::max(), program.second * 21 / 20,
          program.second, leastBytes}) {
      SCOPED_TRACE("limit " + std::to_string(limit));
      options.limitBytes = limit;
      checkLimit();
      if (::testing::Test::HasFatalFailure())
        return;
      if (unlimitedNs < 0)
        unlimitedNs = schedule.stepNs;
      seen.longerForTheLimit +=
          schedule.fits(limit) && schedule.stepNs > unlimitedNs;
    }
  }

private:
  void checkLimit() {
    StepSchedule result = need(scheduleStep(problem, options));
    schedule = result;
    ++seen.schedules;
    ++seen.origins[schedule.origin];
    checkAnswer();
    if (!::testing::Test::HasFatalFailure())
      checkAgain();
  }

  void checkAnswer() {
    Status status = verify(problem, schedule.order);
    ASSERT_TRUE(status) << status.error();
    Measured cost = {schedule.stepNs, schedule.peakBytes};
    ASSERT_EQ(cost, measure(problem, schedule.order, options.contention));
    ASSERT_GE(schedule.stepNs, computeLowerBound(problem)->ns());
    bool fits = schedule.fits(options.limitBytes);
    ASSERT_EQ(fits, options.limitBytes >= leastBytes);
    for (Measured other : {program, simple})
      ASSERT_FALSE(isWorse(cost, other, options.limitBytes));
    seen.overLimit += !fits;
    seen.shorterThanSimple +=
        fits && schedule.stepNs < std::min(program.first, simple.first);
    if (schedule.origin == ScheduleOrigin::Program) {
      ASSERT_EQ(schedule.order, programOrder(problem));
    }
  }

  void checkAgain() {
    StepSchedule same = need(scheduleStep(problem, options));
    ASSERT_EQ(same.order, schedule.order);
    ASSERT_EQ(same.origin, schedule.origin);
    Problem next = renumber(problem, schedule.order);
    StepSchedule second = need(scheduleStep(next, options));
    ASSERT_EQ(second.origin, ScheduleOrigin::Program)
        << second.stepNs << " ns in " << second.peakBytes << " bytes after "
        << schedule.stepNs << " ns in " << schedule.peakBytes;
  }

  const Problem &problem;
  StepSchedulerOptions options;
  Seen &seen;
  Measured program, simple;
  /// The peak under a limit that nothing is within.
  int64_t leastBytes = 0;
  StepSchedule schedule;
};

Problem drawProblem(uint64_t seed, Random &random) {
  if (random.percent(60))
    return makeRandomStep(seed, random.percent(95) ? 4 : 12);
  RandomProblemOptions options;
  options.maxNodes = random.percent(90) ? 30 : 80;
  options.impliedPercent = random.percent(50) ? 0 : 30;
  options.unevenBuffers = random.percent(50);
  options.waitsMakeBuffers = random.percent(30);
  return makeRandomProblem(seed, options);
}

StepSchedulerOptions drawOptions(Random &random) {
  StepSchedulerOptions options;
  constexpr int32_t slacks[] = {0, 0, 10, 50};
  options.slackPercent = slacks[random.below(4)];
  constexpr int64_t efforts[] = {0, 1000, 20000};
  options.effort = efforts[random.below(3)];
  return options;
}

Seen checkMany(uint64_t numProblems, bool contended) {
  Seen seen;
  for (uint64_t seed : Seeds(numProblems)) {
    Random random(seed);
    Problem problem = drawProblem(seed, random);
    StepSchedulerOptions options = drawOptions(random);
    if (contended)
      options.contention = makeRandomContention(random, problem.numStreams());
    PropertyCheck(problem, options, seen).run();
    if (::testing::Test::HasFatalFailure())
      break;
  }
  return seen;
}

/// Checks that every possible outcome occurred on some problems.
void expectVariety(const Seen &seen) {
  int64_t some = seen.schedules / 100;
  EXPECT_GT(seen.shorterThanSimple, some);
  EXPECT_GT(seen.overLimit, some);
  EXPECT_GT(seen.longerForTheLimit, some);
}

TEST(StepScheduler, KeepsItsPromises) {
  Seen seen = checkMany(/*numProblems=*/200, /*contended=*/false);
  expectVariety(seen);
  for (ScheduleOrigin origin :
       {ScheduleOrigin::Program, ScheduleOrigin::SimpleOverlap,
        ScheduleOrigin::Constructed, ScheduleOrigin::LeastMemory})
    EXPECT_GT(seen.origins[origin], 0) << static_cast<int>(origin);
}

TEST(StepScheduler, KeepsItsPromisesUnderContention) {
  expectVariety(checkMany(/*numProblems=*/100, /*contended=*/true));
}

} // namespace
