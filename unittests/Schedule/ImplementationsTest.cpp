//===- ImplementationsTest.cpp - Tests of the choice of algorithms --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/Schedule/Implementations/Implementations.h"
#include "Implementations/Choices.h"
#include "TestProblems.h"

using namespace mlir::commsched::schedule::testing;

namespace {

/// A problem whose collectives all have the same implementations.
struct SameImplementations {
  SameImplementations(const std::string &text) : problem(text) {}

  TextProblem problem;
  Implementations implementations;
  StepSchedulerOptions options;

  /// NCCL, which slows computation down by 19 %, and copy engines, which are
  /// slower by a half: streams 0 and 1.
  void addCopyEngines() {
    options.contention.slowdownPpm = {190'000, 0};
    add([](int64_t costNs) { return Implementation{costNs * 3 / 2, 1}; });
  }

  /// Another communicator: stream 1.
  void addCommunicator(bool sharesLinks) {
    if (sharesLinks)
      options.contention.links = {0, 0};
    add([](int64_t costNs) { return Implementation{costNs, 1}; });
  }

  ImplementationSchedule choose() {
    return need(chooseImplementations(
        problem, implementations, problem.programOrder(),
        ImplementationChoice(problem.numNodes()), options));
  }
  ImplementationSchedule schedule() {
    return need(scheduleImplementations(problem, implementations,
                                        problem.programOrder(), options));
  }

private:
  template <typename MakeFn> void add(MakeFn make) {
    ASSERT_TRUE(problem.finalize());
    implementations.resize(problem.numNodes());
    for (NodeId node = 0; node < problem.numNodes(); ++node)
      if (problem.isCollective(node))
        implementations[node] = {{problem.costNs(node), problem.stream(node)},
                                 make(problem.costNs(node))};
  }
};

TEST(Implementations, TheOrderFollowsTheChoice) {
  // In the order of the program the collective is exposed, and no other
  // implementation is faster. Another order hides it, and then copy engines do
  // not slow computation down.
  SameImplementations input("s = start 119; wait s; a = 1000; b = 10 s'");
  input.addCopyEngines();
  EXPECT_EQ(input.choose().numChanged, 0);
  ImplementationSchedule result = input.schedule();
  EXPECT_EQ(result.choice, (ImplementationChoice{1, 0, 0, 0}));
  EXPECT_EQ(input.problem.tell(result.schedule.order), "s a s' b");
  EXPECT_EQ(result.schedule.stepNs, 1010);
}

TEST(Implementations, AStartWaitsForItsLink) {
  // Both gathers can start at once. On two streams of one link the second one
  // would take half of the bandwidth from the first, which is exposed.
  SameImplementations input(
      "exposed = start 100; hidden = start 100; wait exposed; "
      "a = 1000 exposed'; wait hidden");
  input.options.contention.links = {0, 0};
  input.addCopyEngines();
  ImplementationSchedule result = input.schedule();
  EXPECT_EQ(result.choice, (ImplementationChoice{0, 1, 0, 0, 0}));
  EXPECT_EQ(result.schedule.stepNs, 1100);
}

TEST(Implementations, LargeCostsDoNotOverflow) {
  SameImplementations input("s = start 1152921504606846976; "
                            "a = 1152921504606846976; wait s");
  input.addCommunicator(/*sharesLinks=*/false);
  input.options.contention.slowdownPpm = {190'000, 0};
  ImplementationSchedule result = input.choose();
  EXPECT_EQ(result.choice, (ImplementationChoice{1, 0, 0}));
  EXPECT_EQ(result.schedule.stepNs, int64_t(1) << 60);
}

TEST(Implementations, ThePriceIsWhatIsExposedAndTheTaxOnTheRest) {
  Contention contention;
  contention.slowdownPpm = {250'000, 0};
  EXPECT_EQ(getTaxPpm(contention, 0), 200'000);
  EXPECT_EQ(getTaxPpm(contention, 1), 0);
  EXPECT_EQ(getTaxPpm({}, 0), 0);
  // With e millionths exposed, (e + (1,000,000 - e) / 5) * 100 ns against
  // e * 150 ns.
  Implementations implementations(4, {{100, 0}, {150, 1}});
  EXPECT_EQ(choosePrices(implementations, contention,
                         {0, 285'714, 285'715, 1'000'000}),
            ImplementationChoice({1, 1, 0, 0}));
}

TEST(Implementations, NothingToChooseFrom) {
  Problem empty;
  ASSERT_TRUE(empty.finalize());
  ImplementationSchedule result =
      need(scheduleImplementations(empty, {}, {}, {}));
  EXPECT_EQ(result.schedule.stepNs, 0);

  TimelineExample example;
  result = need(scheduleImplementations(
      example.problem, Implementations(example.problem.numNodes()),
      example.problem.programOrder(), {}));
  EXPECT_EQ(result.numChanged, 0);
  StepSchedule alone = need(scheduleStep(example.problem, {}));
  EXPECT_EQ(result.schedule.stepNs, alone.stepNs);
}

TEST(Implementations, ReplaceCostsAndStreams) {
  TimelineExample example;
  Implementations implementations(example.problem.numNodes());
  implementations[TimelineExample::gatherA] = {{100, 0}, {70, 3}, {20, 7}};
  ImplementationChoice choice(example.problem.numNodes());
  choice[TimelineExample::gatherA] = 1;
  Problem problem =
      need(withImplementations(example.problem, implementations, choice));
  EXPECT_TRUE(problem.check());
  EXPECT_EQ(problem.costNs(TimelineExample::gatherA), 70);
  EXPECT_EQ(problem.stream(TimelineExample::gatherA), 3);
  EXPECT_EQ(problem.costNs(TimelineExample::gatherB), 50);
  EXPECT_EQ(problem.stream(TimelineExample::gatherB), 0);
  // Those of all implementations, also when it is finalized or renumbered.
  EXPECT_EQ(problem.numStreams(), 8);
  EXPECT_EQ(renumber(problem, problem.programOrder()).numStreams(), 8);
  problem.addNode(NodeKind::Compute, 1);
  ASSERT_TRUE(problem.finalize());
  EXPECT_EQ(problem.numStreams(), 8);
  EXPECT_EQ(example.problem.numStreams(), 1);
}

TEST(Implementations, ChecksTheInput) {
  TimelineExample example;
  const Problem &problem = example.problem;
  auto errorOf = [&](NodeId node, std::vector<Implementation> ways) {
    Implementations implementations(problem.numNodes());
    implementations[node] = std::move(ways);
    std::string error = check(implementations, problem).error();
    EXPECT_EQ(scheduleImplementations(problem, implementations,
                                      problem.programOrder(), {})
                  .error(),
              error);
    return error;
  };
  EXPECT_EQ(errorOf(0, {{100, 0}, {1, 0}}), "");
  EXPECT_EQ(errorOf(1, {{60, 0}}), "node 1 (compute) has 1 implementations, "
                                   "but it is no collective");
  EXPECT_EQ(errorOf(0, {{100, 0}, {-1, 0}}),
            "implementation 1 of node 0 (start) has a negative cost of -1 ns");
  EXPECT_EQ(errorOf(0, {{100, 0}, {1, -1}}),
            "implementation 1 of node 0 (start) is on stream -1, but streams "
            "are numbered from 0 to 1048575");
  EXPECT_EQ(errorOf(2, {{50, 1}}),
            "implementation 0 of node 2 (start) takes 50 ns on stream 1, but "
            "that of the problem takes 50 ns on stream 0");
  EXPECT_EQ(errorOf(2, {{50, 0}, {std::numeric_limits<int64_t>::max(), 0}}),
            "the sum of the longest implementations up to node 2 (start), "
            "which takes up to 9223372036854775807 ns, does not fit 64 bits");
  EXPECT_EQ(
      check(Implementations(2), problem).error(),
      "there are implementations for 2 operations, but the problem has 7");

  Implementations implementations(problem.numNodes());
  implementations[0] = {{100, 0}, {10, 1}};
  auto choiceError = [&](ImplementationChoice choice) {
    return withImplementations(problem, implementations, choice).error();
  };
  EXPECT_EQ(choiceError({1}), "the choice is one for 1 operations, but the "
                              "problem has 7");
  EXPECT_EQ(choiceError({2, 0, 0, 0, 0, 0, 0}),
            "implementation 2 is chosen for node 0 (start), which has 2");
  EXPECT_EQ(choiceError({0, 0, -1, 0, 0, 0, 0}),
            "implementation -1 is chosen for node 2 (start), which has 0");

  // The contention is one for all streams, and the order a legal one.
  StepSchedulerOptions options;
  options.contention.slowdownPpm = {5};
  EXPECT_EQ(scheduleImplementations(problem, implementations,
                                    problem.programOrder(), options)
                .error(),
            "there are slowdowns for 1 streams, but the problem has 2");
  options.contention.slowdownPpm = {5, 6};
  options.contention.exclusive = {{0, 1}};
  EXPECT_TRUE(scheduleImplementations(problem, implementations,
                                      problem.programOrder(), options));
  EXPECT_EQ(scheduleImplementations(problem, implementations,
                                    {3, 0, 1, 2, 4, 5, 6}, options)
                .error(),
            "node 3 (wait) at position 0 comes before node 0 (start) at "
            "position 1, on which it depends (data)");
}

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
    options.contention = makeRandomContention(
        random, withImplementations(problem, implementations, firstChoice())
                    ->numStreams());
  }

  ImplementationChoice firstChoice() const {
    return ImplementationChoice(problem.numNodes());
  }

  int64_t stepNs(const Order &order, const ImplementationChoice &choice) const {
    Problem chosen =
        need(withImplementations(problem, implementations, choice));
    Result<Timeline> timeline = simulate(chosen, order, options.contention);
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
    ImplementationSchedule result = need(
        chooseImplementations(random.problem, random.implementations, order,
                              random.firstChoice(), random.options));
    int64_t stepNs = result.schedule.stepNs;
    EXPECT_EQ(stepNs, random.stepNs(order, result.choice));
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
  ImplementationSchedule result = need(scheduleImplementations(
      random.problem, random.implementations, order, options));
  const StepSchedule &schedule = result.schedule;
  Problem chosen = need(withImplementations(
      random.problem, random.implementations, result.choice));
  Status status = verify(chosen, schedule.order);
  EXPECT_TRUE(status) << status.error();
  EXPECT_EQ(schedule.stepNs, random.stepNs(schedule.order, result.choice));
  EXPECT_EQ(schedule.peakBytes,
            simulateMemory(chosen, schedule.order)->peakBytes);
  EXPECT_EQ(result.numChanged,
            static_cast<int32_t>(result.choice.size()) -
                std::count(result.choice.begin(), result.choice.end(), 0));

  int64_t firstNs = random.stepNs(order, random.firstChoice());
  EXPECT_FALSE(isWorse(
      {schedule.stepNs, schedule.peakBytes},
      {firstNs, simulateMemory(random.problem, order)->peakBytes}, limitBytes));
  numShorter += schedule.stepNs < firstNs;

  // Another run makes the same.
  ImplementationSchedule again = need(scheduleImplementations(
      random.problem, random.implementations, order, options));
  EXPECT_EQ(again.choice, result.choice);
  EXPECT_EQ(again.schedule.order, schedule.order);
}

TEST(ImplementationsProperty, NeverLongerAndWithinTheLimit) {
  int64_t numShorter = 0;
  Seeds seeds(52);
  for (uint64_t seed : seeds) {
    bool isStep = seed % 4 == 0;
    RandomChoice random(seed, isStep ? makeRandomStep(seed, 8)
                                     : drawSmallProblem(seed, 40));
    Order order = isStep ? random.problem.programOrder()
                         : makeRandomOrder(seed, random.problem);
    if (!verify(random.problem, order))
      continue;
    random.options.effort = 1 << (10 + seed % 7);
    int64_t peakBytes = simulateMemory(random.problem, order)->peakBytes;
    constexpr int64_t percents[] = {100, 50, 110, 1000};
    checkSchedule(random, order, peakBytes * percents[seed % 4] / 100,
                  numShorter);
    if (HasFailure())
      return;
  }
  EXPECT_GT(numShorter, seeds.size() / 4);
}

} // namespace
