//===- StepSchedulerPropertyTest.cpp - Properties of schedules ------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Schedule/Bounds/LowerBounds.h"
#include "CommSched/Schedule/Reordering/SimpleOverlap.h"
#include "CommSched/Schedule/Step/StepScheduler.h"
#include "TestProblems.h"

using namespace mlir::commsched::schedule::testing;

namespace {

/// The results over all problems.
struct Seen {
  int64_t schedules = 0;
  std::map<ScheduleOrigin, int64_t> origins;
  /// The position of the limit between the least peak and the peak of the
  /// shortest step.
  int64_t shorterThanSimple = 0, overLimit = 0, longerForTheLimit = 0;
};

/// Time and memory of one order.
struct Cost {
  int64_t stepNs;
  int64_t peakBytes;
};

Cost measure(const Problem &problem, const Order &order,
             const Contention &contention) {
  return {simulate(problem, order, contention)->stepNs,
          simulateMemory(problem, order)->peakBytes};
}

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
         {std::numeric_limits<int64_t>::max(), program.peakBytes * 21 / 20,
          program.peakBytes, leastBytes}) {
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
    Cost cost = measure(problem, schedule.order, options.contention);
    ASSERT_EQ(schedule.stepNs, cost.stepNs);
    ASSERT_EQ(schedule.peakBytes, cost.peakBytes);
    ASSERT_GE(cost.stepNs, computeLowerBound(problem)->ns());
    bool fits = schedule.fits(options.limitBytes);
    ASSERT_EQ(fits, options.limitBytes >= leastBytes);
    for (Cost other : {program, simple}) {
      if (other.peakBytes <= options.limitBytes) {
        ASSERT_TRUE(fits);
        ASSERT_LE(cost.stepNs, other.stepNs);
      } else if (!fits) {
        ASSERT_LE(cost.peakBytes, other.peakBytes);
      }
    }
    seen.overLimit += !fits;
    seen.shorterThanSimple +=
        fits && cost.stepNs < std::min(program.stepNs, simple.stepNs);
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
  Cost program, simple;
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

Contention drawContention(const Problem &problem, Random &random) {
  Contention contention;
  for (StreamId a = 0; a < problem.numStreams(); ++a)
    for (StreamId b = 0; b < a; ++b)
      if (random.percent(40))
        contention.exclusive.push_back({b, a});
  if (random.percent(50))
    for (StreamId stream = 0; stream < problem.numStreams(); ++stream)
      contention.links.push_back(static_cast<int32_t>(random.below(3)) - 1);
  if (random.percent(50))
    for (StreamId stream = 0; stream < problem.numStreams(); ++stream)
      contention.slowdownPpm.push_back(random.below(2) * random.below(500'000));
  return contention;
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
      options.contention = drawContention(problem, random);
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
