//===- LatencyHidingSchedulerTest.cpp - Tests of the model of XLA ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The scheduler does in XLA's own test scenarios what XLA's does.
//===----------------------------------------------------------------------===//

#include "LatencyHidingScheduler.h"
#include "TestProblems.h"

using namespace mlir::commsched::schedule::testing;

namespace {

/// The largest number of collectives of one stream between start and wait.
int32_t countInFlight(const Problem &problem, const Order &order) {
  std::vector<int32_t> inFlight(problem.numStreams());
  int32_t most = 0;
  for (NodeId node : order) {
    if (problem.kind(node) == NodeKind::Start)
      most = std::max(most, ++inFlight[problem.stream(node)]);
    else if (problem.kind(node) == NodeKind::Wait)
      --inFlight[problem.stream(problem.startOf(node))];
  }
  return most;
}

LatencyHidingOptions within(int64_t limitBytes, int32_t numReruns = 0,
                            bool byDepth = false) {
  LatencyHidingOptions options;
  options.limitBytes = limitBytes;
  options.numReruns = numReruns;
  options.reducesPressureByDepth = byDepth;
  return options;
}

LatencyHidingOptions preferring(std::vector<int64_t> preferences) {
  LatencyHidingOptions options;
  options.preferences = std::move(preferences);
  return options;
}

/// A gather that may start before or after an operation that needs much.
const std::string pressure = R"(
  g = start 50 -> 40; wait g; large = 60 -> 80; small = 10 large -> 10
  root = 1 g' small)";

struct RuleCase {
  const char *rule;
  std::string text;
  /// Some operations, or all, in the order in which they are scheduled.
  const char *names;
  LatencyHidingOptions options = {};
};

/// Rules decide when all before them do not. Of two operations the one that has
/// to come later has the smaller index.
TEST(LatencyHidingScheduler, FollowsTheRules) {
  const std::string two = "; wait g; wait h; product = 30; "
                          "root = 1 g' h' product";
  const RuleCase cases[] = {
      {"all computation goes into the window",
       "g = start 50; wait g; a = 40; b = 40; root = 1 g' a b",
       "g a b g' root"},
      {"windows share it", R"(g = start 50; wait g; h = start 50; wait h
       a = 60; b = 60; root = 1 g' h' a b)",
       "g a g' h b h' root"},
      {"a view opens no window", R"(g = start 50; wait g; view = 0 g'
       product = 60; root = 1 view product)",
       "g product g' view root"},
      {"the longer starts first", "g = start 80; h = start 20@1" + two, "g h"},
      {"the longer starts first", "g = start 20; h = start 80@1" + two, "h g"},
      {"a blocking collective needs a place in its stream",
       "g = start 50; wait g; barrier = blocking 30; root = 1 g' barrier",
       "barrier g g' root"},
      {"another stream has one",
       "g = start 50; wait g; barrier = blocking 30@1; root = 1 g' barrier",
       "g barrier g' root"},
      {"a start after no collective comes early",
       "a = 20; b = 20; g = start 10; wait g", "g a b g'"},
      {"what follows collectives comes late",
       "g = start 10; wait g; user = 20 g'; end = 20 user; other = 20",
       "other end"},
      {"computation that fills the window goes first",
       "large = 50; small = 10; g = start 50; wait g", "g small large g'"},
      {"what uses a wait comes late", R"(g = start 10; wait g; user = 20 g'
       middle = 20 g'; indirect = 20 middle)",
       "indirect user"},
      {"what makes more ready comes late",
       "a = 20; b = 20; both = 20 a b; c = 20; single = 20 c", "single both"},
      {"preferences come first", "a = 10; b = 10; c = 10; d = 10", "b d a c",
       preferring({3, 1, 4, 2})},
      // The deepest operation needs memory.
      {"under pressure what lies deepest and frees goes last", R"(
       g0 = 10; g1 = 10 g0; g = 10 g1 -> 8; h0 = 10; h = 10 h0 -> 8
       f = 10 -> 8; d0 = 10; d1 = 10 d0; d2 = 10 d1; w = arg 1
       deepest = 10 d2 w; root = 10 f g h deepest)",
       "deepest f h g", within(0, 0, /*byDepth=*/true)},
      {"over the limit what frees most goes last",
       "much = 10 -> 20; little = 10 -> 10; root = 10 much little",
       "little much root", within(0)},
      {"near the limit what frees goes last",
       "freeing = 10 -> 10; other = 10; root = 10 freeing other",
       "other freeing root", within(15)},
      {"but not far from it",
       "freeing = 10 -> 10; other = 10; root = 10 freeing other",
       "freeing other root", within(20)},
      // Once the root is there, 50 bytes are live.
      {"memory counts from half of the limit", pressure,
       "g large small g' root", within(100)},
      {"memory counts from half of the limit", pressure,
       "large small g g' root", within(99)},
      {"another run has nine tenths of the limit", pressure,
       "large small g g' root", within(100, 3)}};
  for (const RuleCase &rule : cases) {
    TextProblem problem(rule.text);
    Positions at =
        *invert(problem, need(hideLatency(problem, rule.options)).order);
    Order names = problem.list(rule.names);
    EXPECT_TRUE(
        std::is_sorted(names.begin(), names.end(),
                       [&](NodeId a, NodeId b) { return at[a] < at[b]; }))
        << rule.rule << ": " << rule.text;
  }
}

TEST(LatencyHidingScheduler, AsManyAreInFlightAsAllowed) {
  TextProblem problem("product = 100;" + repeat(5, "g$ = start 50; wait g$") +
                      "root = 1 product g0' g1' g2' g3' g4'");
  for (int32_t limit = 1; limit <= 6; ++limit) {
    LatencyHidingOptions options;
    options.maxInFlight = limit;
    Order order = need(hideLatency(problem, options)).order;
    EXPECT_EQ(countInFlight(problem, order), std::min(limit, 5));
  }
}

TEST(LatencyHidingScheduler, ReasonsToRunAgainEnd) {
  for (auto [limitBytes, numReruns] : {std::pair(100, 1), {80, 3}}) {
    LatencyHidingSchedule result =
        need(hideLatency(TextProblem(pressure), within(limitBytes, 3)));
    EXPECT_EQ(result.peakBytes, 90);
    EXPECT_EQ(result.numReruns, numReruns);
  }
}

TEST(LatencyHidingScheduler, AnyPreferencesGiveALegalSchedule) {
  int numOverlapping = 0;
  for (uint64_t seed : Seeds(1000)) {
    RandomProblemOptions random;
    random.maxNodes = seed % 4 ? 40 : 120;
    random.impliedPercent = seed % 3 ? 0 : 50;
    random.waitsMakeBuffers = seed % 2;
    Problem problem = makeRandomProblem(seed, random);
    int64_t programPeak =
        simulateMemory(problem, programOrder(problem))->peakBytes;
    LatencyHidingOptions options;
    options.maxInFlight = 1 + seed % 3;
    if (seed % 5)
      options.limitBytes = programPeak * static_cast<int64_t>(seed % 5) / 4;
    options.reducesPressureByDepth = seed % 7 < 3;
    options.numReruns = seed % 2 * 3;
    if (seed % 2)
      for (NodeId node = 0; node < problem.numNodes(); ++node)
        options.preferences.push_back(node * 7919 % 31);
    LatencyHidingSchedule result = need(hideLatency(problem, options));
    EXPECT_TRUE(verify(problem, result.order));
    EXPECT_EQ(result.peakBytes,
              simulateMemory(problem, result.order)->peakBytes);
    numOverlapping += countInFlight(problem, result.order) > 1;
    // The same again.
    EXPECT_EQ(hideLatency(problem, options)->order, result.order);
  }
  EXPECT_GT(numOverlapping, 30);
}

TEST(LatencyHidingScheduler, RefusesOptionsThatMeanNothing) {
  TextProblem problem("a = 1");
  LatencyHidingOptions options;
  options.maxInFlight = 0;
  EXPECT_EQ(hideLatency(problem, options).error(),
            "no collective may be in flight");
  options.maxInFlight = 1;
  options.preferences = {1, 2};
  EXPECT_EQ(hideLatency(problem, options).error(),
            "not every operation has a preference");
}

} // namespace
