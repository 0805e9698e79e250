//===- ImplementationsPropertyTest.cpp - Random choices of algorithms -----===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Schedule/Implementations/Implementations.h"

#include "../Random.h"
#include "../Seeds.h"
#include "CommSched/Schedule/Model/MemoryTimeline.h"
#include "CommSched/Schedule/Model/Verify.h"
#include "RandomProblem.h"
#include "RandomStep.h"

#include <gtest/gtest.h>

using namespace mlir::commsched;
using namespace mlir::commsched::schedule;
using namespace mlir::commsched::schedule::testing;
using mlir::commsched::testing::Random;
using mlir::commsched::testing::Seeds;

namespace {

/// A problem with implementations and contention for all of their streams.
struct RandomChoice {
  Problem problem;
  Implementations implementations;
  StepSchedulerOptions options;

  RandomChoice(uint64_t seed, Problem drawn) : problem(std::move(drawn)) {
    Random random(seed);
    const StreamId ownStreams = problem.numStreams();
    StreamId numStreams = ownStreams + 1 + random.below(3);
    implementations.resize(problem.numNodes());
    for (NodeId node = 0; node < problem.numNodes(); ++node)
      if (problem.isCollective(node) && random.percent(80))
        addWays(node, numStreams, random);
    addContention(withImplementations(problem, implementations, firstChoice())
                      ->numStreams(),
                  random);
  }

  ImplementationChoice firstChoice() const {
    return ImplementationChoice(problem.numNodes());
  }

  int64_t stepNs(const Order &order, const ImplementationChoice &choice) const {
    Result<Problem> chosen =
        withImplementations(problem, implementations, choice);
    EXPECT_TRUE(chosen) << chosen.error();
    Result<Timeline> timeline = simulate(*chosen, order, options.contention);
    EXPECT_TRUE(timeline) << timeline.error();
    return timeline ? timeline->stepNs : 0;
  }

private:
  void addWays(NodeId node, StreamId numStreams, Random &random) {
    std::vector<Implementation> &ways = implementations[node];
    ways.push_back({problem.costNs(node), problem.stream(node)});
    for (int64_t i = 1 + random.below(2); i > 0; --i)
      ways.push_back({problem.costNs(node) * (50 + random.below(200)) / 100,
                      static_cast<StreamId>(random.below(numStreams))});
  }

  void addContention(StreamId numStreams, Random &random) {
    Contention &contention = options.contention;
    if (random.percent(50))
      for (StreamId a = 0; a < numStreams; ++a)
        for (StreamId b = 0; b < a; ++b)
          if (random.percent(30))
            contention.exclusive.push_back({b, a});
    if (random.percent(50))
      for (StreamId stream = 0; stream < numStreams; ++stream)
        contention.links.push_back(static_cast<int32_t>(random.below(3)) - 1);
    if (random.percent(80))
      for (StreamId stream = 0; stream < numStreams; ++stream)
        contention.slowdownPpm.push_back(random.below(3) *
                                         random.below(500'000));
  }
};

Problem drawSmallProblem(uint64_t seed, int32_t maxNodes) {
  RandomProblemOptions options;
  options.maxNodes = maxNodes;
  options.maxCostNs = 1000;
  options.shuffleProgram = seed % 2;
  options.unevenBuffers = seed % 3;
  return makeRandomProblem(seed, options);
}

/// The shortest step of all choices.
int64_t findBestStep(const RandomChoice &random, const Order &order) {
  int64_t bestNs = std::numeric_limits<int64_t>::max();
  ImplementationChoice choice = random.firstChoice();
  while (true) {
    bestNs = std::min(bestNs, random.stepNs(order, choice));
    size_t node = 0;
    for (; node < choice.size(); ++node) {
      if (++choice[node] <
          static_cast<int32_t>(random.implementations[node].size()))
        break;
      choice[node] = 0;
    }
    if (node == choice.size())
      return bestNs;
  }
}

int64_t countChoices(const RandomChoice &random) {
  int64_t count = 1;
  for (const std::vector<Implementation> &ways : random.implementations)
    count = std::min<int64_t>(
        count * std::max<int64_t>(static_cast<int64_t>(ways.size()), 1),
        1 << 20);
  return count;
}

TEST(ImplementationsProperty, MostlyTheOptimumOfTheOrder) {
  int64_t numCases = 0, numOptimal = 0, numImproved = 0;
  double lost = 0;
  // The same cases always: what is compared are figures over all.
  for (uint64_t seed = 0; seed < 300; ++seed) {
    RandomChoice random(seed, drawSmallProblem(seed, 40));
    int64_t numChoices = countChoices(random);
    if (numChoices < 8 || numChoices > 2500)
      continue;
    Order order = makeRandomOrder(seed, random.problem);
    Result<ImplementationSchedule> result =
        chooseImplementations(random.problem, random.implementations, order,
                              random.firstChoice(), random.options);
    ASSERT_TRUE(result) << "seed " << seed << ": " << result.error();
    int64_t stepNs = result->schedule.stepNs;
    EXPECT_EQ(stepNs, random.stepNs(order, result->choice));
    int64_t bestNs = findBestStep(random, order);
    ASSERT_GE(stepNs, bestNs) << "seed " << seed;
    ++numCases;
    numOptimal += stepNs == bestNs;
    numImproved += stepNs < random.stepNs(order, random.firstChoice());
    lost += static_cast<double>(stepNs - bestNs) / static_cast<double>(bestNs);
  }
  ASSERT_GT(numCases, 150);
  EXPECT_GT(numOptimal * 100, numCases * 99);
  EXPECT_LT(lost / static_cast<double>(numCases), 0.0003);
  EXPECT_GT(numImproved * 100, numCases * 80);
}

void checkSchedule(const RandomChoice &random, const Order &order,
                   int64_t limitBytes, int64_t &numShorter) {
  StepSchedulerOptions options = random.options;
  options.limitBytes = limitBytes;
  Result<ImplementationSchedule> result = scheduleImplementations(
      random.problem, random.implementations, order, options);
  ASSERT_TRUE(result) << result.error();
  const StepSchedule &schedule = result->schedule;
  Result<Problem> chosen = withImplementations(
      random.problem, random.implementations, result->choice);
  ASSERT_TRUE(chosen) << chosen.error();
  Status status = verify(*chosen, schedule.order);
  EXPECT_TRUE(status) << status.error();
  EXPECT_EQ(schedule.stepNs, random.stepNs(schedule.order, result->choice));
  EXPECT_EQ(schedule.peakBytes,
            simulateMemory(*chosen, schedule.order)->peakBytes);
  EXPECT_EQ(result->numChanged,
            static_cast<int32_t>(result->choice.size()) -
                std::count(result->choice.begin(), result->choice.end(), 0));

  int64_t firstNs = random.stepNs(order, random.firstChoice());
  int64_t peakBytes = simulateMemory(random.problem, order)->peakBytes;
  if (peakBytes <= limitBytes) {
    EXPECT_TRUE(schedule.fits(limitBytes));
    EXPECT_LE(schedule.stepNs, firstNs);
  } else {
    EXPECT_LE(schedule.peakBytes, peakBytes);
  }
  numShorter += schedule.stepNs < firstNs;

  // Another run makes the same.
  Result<ImplementationSchedule> again = scheduleImplementations(
      random.problem, random.implementations, order, options);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->choice, result->choice);
  EXPECT_EQ(again->schedule.order, schedule.order);
}

TEST(ImplementationsProperty, NeverLongerAndWithinTheLimit) {
  int64_t numShorter = 0;
  Seeds seeds(40);
  for (uint64_t seed : seeds) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomChoice random(seed, drawSmallProblem(seed, 40));
    Order order = makeRandomOrder(seed, random.problem);
    if (!verify(random.problem, order))
      continue;
    random.options.effort = 1 << (10 + seed % 8);
    int64_t peakBytes = simulateMemory(random.problem, order)->peakBytes;
    constexpr int64_t percents[] = {50, 100, 110, 1000};
    checkSchedule(random, order, peakBytes * percents[seed % 4] / 100,
                  numShorter);
    if (HasFailure())
      return;
  }
  EXPECT_GT(numShorter, seeds.size() / 4);
}

TEST(ImplementationsProperty, StepsBecomeShorter) {
  int64_t numShorter = 0;
  Seeds seeds(12);
  for (uint64_t seed : seeds) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomChoice random(seed, makeRandomStep(seed, 8));
    random.options.effort = 1 << 16;
    int64_t peakBytes =
        simulateMemory(random.problem, random.problem.programOrder())
            ->peakBytes;
    checkSchedule(random, random.problem.programOrder(), peakBytes, numShorter);
    if (HasFailure())
      return;
  }
  EXPECT_GT(numShorter, seeds.size() / 2);
}

} // namespace
