//===- ObjectiveTest.cpp - Tests of the ranking of schedules --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/Schedule/Model/Objective.h"
#include "CommSched/Schedule/Cyclic/CyclicScheduler.h"
#include "CommSched/Schedule/Interleave/Interleaving.h"
#include "TestProblems.h"

using namespace mlir::commsched::schedule::testing;

namespace {

constexpr int64_t limit = 100;

TEST(Objective, TimeThenPeakWithinTheLimitAndPeakThenTimeOverIt) {
  // From the best to the worst.
  const Rank ranks[] = {{10, 90, limit},  {10, 100, limit}, {11, 5, limit},
                        {30, 101, limit}, {31, 101, limit}, {9, 102, limit}};
  for (size_t a = 0; a < std::size(ranks); ++a)
    for (size_t b = 0; b < std::size(ranks); ++b)
      EXPECT_EQ(isBetter(ranks[a], ranks[b]), a < b) << a << " and " << b;
}

TEST(Objective, WorthwhileIsMoreThanAThousandthWithinTheLimit) {
  auto isWorth = [](Rank a, Rank b) {
    return isBetter(a, b, Gain::Worthwhile);
  };
  EXPECT_FALSE(isWorth({9990, 50, limit}, {10000, 50, limit}));
  EXPECT_TRUE(isWorth({9989, 50, limit}, {10000, 50, limit}));
  EXPECT_FALSE(isWorth({10000, 40, limit}, {10000, 50, limit}));
  // What fits, or takes less of what is too much, is worth any time.
  EXPECT_TRUE(isWorth({90000, 100, limit}, {10000, 101, limit}));
  EXPECT_TRUE(isWorth({90000, 101, limit}, {10000, 102, limit}));
  EXPECT_FALSE(isWorth({10, 101, limit}, {10000, 100, limit}));
  EXPECT_TRUE(isWorthTrying(21, 10000));
  EXPECT_FALSE(isWorthTrying(20, 10000));
}

/// Limits below, at and above a peak.
std::vector<int64_t> listLimits(int64_t peakBytes) {
  return {peakBytes / 2, peakBytes - 1, peakBytes, peakBytes * 5 / 4,
          std::numeric_limits<int64_t>::max()};
}

TEST(ObjectiveProperty, NoPeriodIsWorseThanTheProgram) {
  for (uint64_t seed : Seeds(40)) {
    RandomProblemOptions random;
    random.maxNodes = 20;
    CyclicProblem problem = makeRandomCyclicProblem(seed, random);
    CyclicOrder program;
    program.order = problem.body().programOrder();
    program.stages.assign(program.order.size(), 0);
    Result<CyclicSchedule> before = measureCyclic(problem, program);
    if (!before || program.order.empty())
      continue;
    CyclicSchedulerOptions options;
    options.step.effort = 1 << 12;
    for (int64_t limitBytes : listLimits(before->peakBytes)) {
      options.step.limitBytes = limitBytes;
      CyclicSchedule after = need(scheduleCyclic(problem, options));
      ASSERT_TRUE(verify(problem, after.order));
      ASSERT_EQ(after.peakBytes, computeRunPeak(problem, after.order));
      ASSERT_EQ(after.periodNs, simulatePeriod(problem, after.order)->periodNs);
      ASSERT_FALSE(isWorse({after.periodNs, after.peakBytes},
                           {before->periodNs, before->peakBytes}, limitBytes));
      ASSERT_EQ(need(scheduleCyclic(problem, options)).order.order,
                after.order.order);
    }
  }
}

TEST(ObjectiveProperty, NoInterleavingIsWorseThanTheSequence) {
  for (uint64_t seed : Seeds(40)) {
    Problem problem = makeRandomStep(seed, 3);
    NodeId numFirst = problem.numNodes() / 2;
    Result<ProgramSequence> sequence = chooseSequence(problem, numFirst);
    if (!sequence)
      continue;
    for (int64_t limitBytes : listLimits(sequence->peakBytes)) {
      StepSchedulerOptions options;
      options.effort = 1 << 12;
      options.limitBytes = limitBytes;
      Result<Interleaving> both =
          interleave(problem, numFirst, *sequence, options);
      if (!both)
        continue;
      ASSERT_TRUE(verify(problem, both->merged.order));
      ASSERT_FALSE(isWorse(measure(problem, both->merged.order),
                           {both->sequence.stepNs, both->sequence.peakBytes},
                           limitBytes));
    }
  }
}

} // namespace
