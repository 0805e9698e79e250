//===- LowerBoundTest.cpp - Bounds against optimal steps ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Bounds/OneMachine.h"
#include "CommSched/Schedule/Bounds/LowerBounds.h"
#include "CommSched/Schedule/Step/StepScheduler.h"
#include "CommSched/Support/Unlimited.h"
#include "ExactStep.h"
#include "TestProblems.h"

using namespace mlir::commsched::schedule::testing;

namespace {

TEST(LowerBound, EachPartCanBeTheLargest) {
  Result<LowerBound> bound = computeLowerBound(TextProblem("a = 10; b = 10"));
  EXPECT_EQ(bound->ns(), 20);
  EXPECT_EQ(bound->criticalPathNs, 10);
  EXPECT_EQ(bound->busiestStream, noStream);
  bound = computeLowerBound(TextProblem(R"(
    a = start 10; wait a; b = start 10@1; wait b; c = start 10@1; wait c)"));
  EXPECT_EQ(bound->ns(), 20);
  EXPECT_EQ(bound->busiestStream, 1);
  bound = computeLowerBound(
      TextProblem("a = 10; s = start 30 a; wait s; b = 5 s'"));
  EXPECT_EQ(bound->criticalPathNs, 45);
  EXPECT_EQ(bound->ns(), 45);
}

TEST(LowerBound, OrderAfterAStartCarriesNoTime) {
  // The second start issues at once, on a stream of its own.
  TextProblem problem("a = start 30; b = start 30@1 order:a; wait a; wait b");
  EXPECT_EQ(computeLowerBound(problem)->criticalPathNs, 30);
  EXPECT_EQ(simulate(problem, programOrder(problem))->stepNs, 30);
}

TEST(LowerBound, OrderAfterABlockingCarriesItsTime) {
  TextProblem problem("a = blocking 30; b = start 30@1 order:a; wait b");
  EXPECT_EQ(computeLowerBound(problem)->criticalPathNs, 60);
  EXPECT_EQ(simulate(problem, programOrder(problem))->stepNs, 60);
}

TEST(LowerBound, ReportsTheProblemsOwnError) {
  const char *error = "the problem is not finalized";
  EXPECT_EQ(computeLowerBound(Problem()).error(), error);
  EXPECT_EQ(computeTightLowerBound(Problem()).error(), error);
}

int64_t findBestNs(const Problem &problem) {
  return *ExactStep(problem, unlimited).find();
}

/// The bound of a problem that has one.
TightLowerBound getBound(const Problem &problem) {
  return need(computeTightLowerBound(problem));
}

void expectBound(const Problem &problem, int64_t ns, BoundKind kind,
                 StreamId stream = noStream) {
  TightLowerBound bound = getBound(problem);
  EXPECT_EQ(bound.ns, ns);
  EXPECT_EQ(bound.kind, kind);
  EXPECT_EQ(bound.stream, stream);
}

TEST(TightLowerBound, TimelineExample) {
  // Both gathers, the shorter tail of 20 last; the plain bound is 150.
  TimelineExample example;
  expectBound(example.problem, 170, BoundKind::Stream, 0);
  EXPECT_EQ(findBestNs(example.problem), 170);
}

TEST(TightLowerBound, SaysWhatLimits) {
  expectBound(TextProblem(""), 0, BoundKind::Computation);
  expectBound(TextProblem("a = 10; b = 10 a"), 20, BoundKind::Computation);
  expectBound(TextProblem(R"(a = start 10; wait a; b = start 10@1; wait b
                             c = start 10@1; wait c)"),
              20, BoundKind::Stream, 1);
  expectBound(TextProblem("a = 10; s = start 30 a; wait s; b = 5 s'"), 45,
              BoundKind::CriticalPath);
  // Both have 20 to run.
  expectBound(TextProblem("a = 20; s = start 20; wait s"), 20,
              BoundKind::Computation);
  // A Blocking is on both machines: 5 + 10 on each, and neither waits.
  expectBound(TextProblem("a = 5; b = blocking 10"), 15,
              BoundKind::Computation);
}

TEST(TightLowerBound, HeadsCountAllThatPrecedes) {
  // Behind `first` come two operations of 20 ns, on the compute stream or on
  // stream 2. The second has other predecessors, which take no time or run
  // beside the predecessors of `first`, and that receive its ancestors instead:
  // the tail of `first` is that of one, and the heads of both must show it.
  const std::string computes = R"(
    shallow = 0; none = 0; deep = 9 none; c = 20 first
    d = 20 first shallow deep)";
  const std::string starts = R"(
    shallow = 0; none = 0; deep = 9 none; c = start 20@2 first; wait c
    d = start 20@2 first shallow deep; wait d)";
  // 20 until both are gathered.
  TextProblem gathers("a = start 10; wait a; b = start 10; wait b; "
                      "first = 5 a' b'" +
                      computes);
  expectBound(gathers, 65, BoundKind::Computation);
  EXPECT_EQ(findBestNs(gathers), 65);
  // 20 on the compute stream, although on streams of their own.
  TextProblem blockings("a = blocking 10; b = blocking 10@1; first = 5 a b" +
                        starts);
  expectBound(blockings, 65, BoundKind::Stream, 2);
  EXPECT_EQ(findBestNs(blockings), 65);
  // The first gather is ahead on the stream of the second.
  TextProblem ordered("a = start 10; b = start 10 order:a; wait a; wait b; "
                      "first = 5 b'" +
                      computes);
  expectBound(ordered, 65, BoundKind::Computation);
  EXPECT_EQ(findBestNs(ordered), 65);
}

TEST(TightLowerBound, TailsCountWhatIsBehindOnTheStream) {
  // The second collective, and 30 behind it, begin when the first has ended.
  // The operations behind b hear of the second product instead.
  TextProblem problem(R"(
    both = 5 a b; a = 20; b = 20; x = 0 b; y = 1 b; z = 90 b
    s = start 50 both; t = start 50 order:s; wait s; wait t; last = 30 t')");
  EXPECT_EQ(getBound(problem).ns, 175);
  EXPECT_EQ(findBestNs(problem), 175);
}

/// A chain of layers, each with weights to gather before it, and each with
/// gradients to reduce behind it on another stream. A layer is a sum of several
/// products side by side, behind a norm; one of the products is a Blocking.
class Layers {
public:
  Layers(uint64_t seed, int64_t numProducts, bool reduce) : random(seed) {
    int64_t numLayers = 1 + random.below(12);
    std::vector<int64_t> gatherNs;
    for (int64_t k = 0; k < numLayers; ++k)
      gatherNs.push_back(add("g" + std::to_string(k) + " = start ", 20, "@0"));
    std::string last, waits;
    int64_t gathered = 0, computed = 0;
    for (int64_t k = 0; k < numLayers; ++k) {
      std::string id = std::to_string(k), products;
      text += "wait g" + id + ";";
      gathered += gatherNs[k];
      computed = std::max(gathered, computed) +
                 add("norm" + id + " = ", 8, " g" + id + "'" + last);
      for (int64_t i = 0; i < numProducts; ++i) {
        std::string product = " p" + id + "." + std::to_string(i);
        computed += add(product + (i == 2 ? " = blocking " : " = "), 8,
                        (i == 2 ? "@2 norm" : " norm") + id);
        products += product;
      }
      last = " sum" + id;
      computed += add(last + " = ", 8, products);
      if (!reduce)
        continue;
      bestNs = std::max(bestNs, computed) +
               add("r" + id + " = start ", 20, "@1" + last);
      waits += "wait r" + id + ";";
    }
    bestNs = std::max(bestNs, computed);
    text += waits;
  }

  std::string text;
  /// The optimum, which the program takes: three machines that each take the
  /// layers in turn.
  int64_t bestNs = 0;

private:
  /// Adds an operation that takes up to so many nanoseconds, and returns them.
  int64_t add(const std::string &before, int64_t endNs,
              const std::string &behind) {
    int64_t costNs = random.below(endNs);
    text += before + std::to_string(costNs) + behind + ";";
    return costNs;
  }

  Random random;
};

TEST(TightLowerBound, IsTheOptimumOfAChain) {
  int better = 0;
  for (uint64_t seed : Seeds(300))
    for (int64_t numProducts : {1, 2, 5})
      for (bool reduce : {false, true}) {
        Layers layers(seed, numProducts, reduce);
        TextProblem problem(layers.text);
        EXPECT_EQ(getBound(problem).ns, layers.bestNs)
            << numProducts << " products, reduce " << reduce;
        EXPECT_EQ(simulate(problem, programOrder(problem))->stepNs,
                  layers.bestNs);
        better += computeLowerBound(problem)->ns() < layers.bestNs;
      }
  EXPECT_GT(better, 300);
}

TEST(TightLowerBound, IsTheOptimumOfLayersThatSplitAtOnce) {
  // Four products need the same weights, with no norm before them.
  TextProblem problem("g0 = start 9; g1 = start 25; g2 = start 3; "
                      "g3 = start 14; sum-1 = 3;" +
                      repeat(4, R"(
    wait g$; a$ = 4 sum^ g$'; b$ = 5 sum^ g$'; c$ = 1 sum^ g$'
    d$ = 3 sum^ g$'; sum$ = 1 a$ b$ c$ d$)"));
  // The first two are gathered at 34, and behind that come three layers.
  EXPECT_EQ(getBound(problem).ns, 34 + 3 * 14);
}

TEST(TightLowerBound, NoOrderBeatsItAndManyReachIt) {
  int reached = 0;
  int reachedByPlain = 0;
  Seeds seeds(2000);
  for (uint64_t seed : seeds) {
    RandomProblemOptions options;
    options.maxNodes = 12;
    options.maxStreams = 2;
    options.shuffleProgram = seed % 2;
    Problem problem = makeRandomProblem(seed, options);
    int64_t bestNs = findBestNs(problem);
    TightLowerBound bound = getBound(problem);
    int64_t plainNs = computeLowerBound(problem)->ns();
    EXPECT_LE(bound.ns, bestNs);
    EXPECT_GE(bound.ns, plainNs);
    EXPECT_EQ(bound.kind == BoundKind::Stream, bound.stream != noStream);
    reached += bound.ns == bestNs;
    reachedByPlain += plainNs == bestNs;
  }
  // 1,982 of the first 2,000, where the plain bound reaches 1,504.
  EXPECT_GT(reached * 100, seeds.size() * 97);
  EXPECT_GT(reachedByPlain * 100, seeds.size() * 60);
  EXPECT_LT(reachedByPlain * 100, seeds.size() * 80);
}

TEST(TightLowerBound, ContentionKeepsAboveIt) {
  int slower = 0;
  for (uint64_t seed : Seeds(500)) {
    RandomProblemOptions options;
    options.maxNodes = 12;
    options.maxCostNs = 1000;
    Problem problem = makeRandomProblem(seed, options);
    Order order = need(scheduleStep(problem, {})).order;
    Contention contention;
    contention.slowdownPpm.assign(problem.numStreams(),
                                  1'000 * Random(seed).below(400));
    if (seed % 2)
      contention.links.assign(problem.numStreams(), 0);
    else if (problem.numStreams() > 1)
      contention.exclusive.push_back({0, 1});
    Timeline timeline = need(simulate(problem, order, contention));
    EXPECT_GE(timeline.stepNs, getBound(problem).ns);
    slower += timeline.stepNs > simulate(problem, order)->stepNs;
  }
  EXPECT_GT(slower, 60);
}

TEST(TightLowerBound, LargeProblemsKeepAboveIt) {
  for (uint64_t seed : Seeds(500)) {
    Problem problem = makeEitherProblem(seed, 300);
    TightLowerBound bound = getBound(problem);
    EXPECT_GE(bound.ns, computeLowerBound(problem)->ns());
    EXPECT_LE(bound.ns,
              simulate(problem, makeRandomOrder(seed, problem))->stepNs);
  }
}

TEST(TightLowerBound, ManyPeriodsTakeNoQuadraticTime) {
  // Collectives that a chain of computations starts, far from each other; one
  // after the other they are joined.
  constexpr int32_t size = 100000;
  TextProblem problem("c-1 = arg 0; join-1 = arg 0;" +
                      repeat(size, "c$ = 10 c^; s$ = start 1 c$; wait s$; "
                                   "join$ = 0 s$' join^"));
  EXPECT_EQ(getBound(problem).ns, 10 * size + 1);
}

std::vector<Job> makeRandomJobs(Random &random, int64_t maxJobs) {
  std::vector<Job> jobs(random.below(maxJobs + 1));
  for (Job &job : jobs)
    job = {random.below(30), random.below(8), random.below(30)};
  return jobs;
}

/// Jackson's rule, one nanosecond after the other.
int64_t runByTheNanosecond(std::vector<Job> jobs) {
  int64_t last = 0;
  for (const Job &job : jobs)
    if (job.timeNs == 0)
      last = std::max(last, job.headNs + job.tailNs);
  for (int64_t clock = 0; clock < 1000; ++clock) {
    Job *chosen = nullptr;
    for (Job &job : jobs)
      if (job.headNs <= clock && job.timeNs > 0 &&
          (!chosen || job.tailNs > chosen->tailNs))
        chosen = &job;
    if (chosen && --chosen->timeNs == 0)
      last = std::max(last, clock + 1 + chosen->tailNs);
  }
  return last;
}

/// Carlier's formula, one set after the other.
int64_t tryAllSets(const std::vector<Job> &jobs) {
  int64_t largest = 0;
  for (uint64_t set = 1; set < uint64_t(1) << jobs.size(); ++set) {
    Job all = {1000, 0, 1000};
    for (size_t i = 0; i < jobs.size(); ++i)
      if (set >> i & 1)
        all = {std::min(all.headNs, jobs[i].headNs),
               all.timeNs + jobs[i].timeNs,
               std::min(all.tailNs, jobs[i].tailNs)};
    largest = std::max(largest, all.headNs + all.timeNs + all.tailNs);
  }
  return largest;
}

/// When one machine is done that runs its jobs in the order of their heads.
int64_t runInOrder(std::vector<std::pair<int64_t, int64_t>> jobs) {
  std::sort(jobs.begin(), jobs.end());
  int64_t clock = 0;
  for (auto [head, time] : jobs)
    if (time > 0)
      clock = std::max(clock, head) + time;
  return clock;
}

TEST(OneMachine, IsJacksonsScheduleAndCarliersBound) {
  Random random(1);
  for (int i = 0; i < 2000; ++i) {
    std::vector<Job> jobs = makeRandomJobs(random, 8);
    EXPECT_EQ(computePreemptiveEnd(jobs), runByTheNanosecond(jobs)) << i;
    EXPECT_EQ(computePreemptiveEnd(jobs), tryAllSets(jobs)) << i;
  }
}

TEST(BusyPeriods, JoinedInAnyOrderTheyAreAllJobs) {
  Random random(2);
  constexpr int32_t machines = 3;
  for (int i = 0; i < 500; ++i) {
    std::vector<BusyPeriods> sets(1 + random.below(8));
    std::vector<std::vector<std::pair<int64_t, int64_t>>> jobs(machines);
    for (BusyPeriods &set : sets)
      for (int64_t count = random.below(12); count > 0; --count) {
        auto machine = static_cast<int32_t>(random.below(machines));
        int64_t head = random.below(120);
        int64_t time = random.below(6);
        set.add(machine, head, time);
        jobs[machine].push_back({head, time});
      }
    while (sets.size() > 1) {
      BusyPeriods last = std::move(sets.back());
      sets.pop_back();
      sets[random.below(static_cast<int64_t>(sets.size()))].join(last);
      EXPECT_EQ(last.endNs(), 0);
    }
    int64_t end = 0;
    for (const auto &machine : jobs)
      end = std::max(end, runInOrder(machine));
    EXPECT_EQ(sets.front().endNs(), end) << i;
  }
}

} // namespace
