//===- SimulatorTest.cpp - Tests of the models of time and memory ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/Schedule/Model/Simulator.h"
#include "CommSched/Schedule/Model/MemoryTimeline.h"
#include "Model/RunState.h"
#include "Step/IssuedOrder.h"
#include "TestProblems.h"

#include <deque>

using namespace mlir::commsched::schedule::testing;

namespace {

/// Simulates the time model, with contention or without, in steps of one
/// nanosecond: operations in flight progress by their share, and streams poll
/// their queues. It shares no formula with the simulator that it checks.
class ReferenceSimulator {
public:
  /// At most 16 streams may share a link. Few slowdowns may differ.
  ReferenceSimulator(const Problem &problem, const Order &order,
                     Contention contention = {})
      : problem(problem), order(order), contention(std::move(contention)),
        queues(problem.numStreams()), positions(problem.numNodes()),
        left(problem.numNodes()), beginNs(problem.numNodes(), -1),
        endNs(problem.numNodes(), -1) {
    std::set<int64_t> slowdowns(this->contention.slowdownPpm.begin(),
                                this->contention.slowdownPpm.end());
    slowdowns.insert(0);
    for (int64_t slowdown : slowdowns)
      computeParts *= millionths + slowdown;
    for (size_t position = 0; position < order.size(); ++position)
      positions[order[position]] = position;
    for (NodeId node = 0; node < problem.numNodes(); ++node)
      left[node] = problem.costNs(node) *
                   (problem.isCollective(node) ? linkParts : computeParts);
  }

  /// Returns the time of the step.
  int64_t run() {
    while (true) {
      while (makeProgress())
        ;
      if (nextToIssue == order.size() && running == noNode)
        return now;
      tick();
    }
  }

  const std::vector<int64_t> &begins() const { return beginNs; }
  const std::vector<int64_t> &ends() const { return endNs; }

private:
  /// Divisible by all shares of a link.
  static constexpr int64_t linkParts = 16 * 9 * 5 * 7 * 11 * 13;
  static constexpr int64_t millionths = 1'000'000;
  /// Wide enough for the product of a few slowdowns.
  __extension__ using Parts = __int128;

  bool isInFlight(NodeId collective) const {
    return beginNs[collective] >= 0 && endNs[collective] < 0;
  }

  int32_t linkOf(NodeId collective) const {
    return contention.links.empty()
               ? -1
               : contention.links[problem.stream(collective)];
  }

  std::vector<NodeId> allInFlight() const {
    std::vector<NodeId> result;
    for (const std::deque<NodeId> &queue : queues)
      if (!queue.empty() && isInFlight(queue.front()))
        result.push_back(queue.front());
    return result;
  }

  int64_t slowdownOf(NodeId collective) const {
    return contention.slowdownPpm.empty()
               ? 0
               : contention.slowdownPpm[problem.stream(collective)];
  }

  void tick() {
    std::vector<NodeId> inFlight = allInFlight();
    for (NodeId node : inFlight) {
      int64_t sharers = 0;
      for (NodeId other : inFlight)
        sharers += other == node ||
                   (linkOf(node) >= 0 && linkOf(other) == linkOf(node));
      left[node] -= linkParts / sharers;
    }
    int64_t slowdown = 0;
    for (NodeId node : inFlight)
      slowdown = std::max(slowdown, slowdownOf(node));
    if (running != noNode && problem.kind(running) == NodeKind::Compute)
      left[running] -= computeParts / (millionths + slowdown) * millionths;
    ++now;
  }

  /// Whether all has ended that was issued before on exclusive streams.
  bool mayBegin(NodeId collective) const {
    StreamId own = problem.stream(collective);
    for (auto [first, second] : contention.exclusive) {
      if (first != own && second != own)
        continue;
      for (NodeId other : queues[first == own ? second : first])
        if (positions[other] < positions[collective])
          return false;
    }
    return true;
  }

  /// Whatever can happen at this instant; false if nothing can.
  bool makeProgress() {
    for (std::deque<NodeId> &queue : queues) {
      if (queue.empty())
        continue;
      NodeId head = queue.front();
      if (beginNs[head] < 0 && mayBegin(head)) {
        beginNs[head] = now;
        return true;
      }
      if (isInFlight(head) && left[head] <= 0) {
        endNs[head] = now;
        queue.pop_front();
        return true;
      }
    }
    if (running == noNode)
      return issue();
    bool isOver = problem.isCollective(running) ? endNs[running] >= 0
                  : problem.kind(running) == NodeKind::Wait
                      ? endNs[problem.startOf(running)] >= 0
                      : left[running] <= 0;
    if (!isOver)
      return false;
    if (!problem.isCollective(running))
      endNs[running] = now;
    running = noNode;
    return true;
  }

  bool issue() {
    if (nextToIssue == order.size())
      return false;
    for (NodeId start : problem.collectivesEndedBefore(order[nextToIssue]))
      if (endNs[start] < 0)
        return false;
    NodeId node = order[nextToIssue++];
    if (problem.isCollective(node))
      queues[problem.stream(node)].push_back(node);
    else
      beginNs[node] = now;
    if (problem.kind(node) != NodeKind::Start)
      running = node;
    return true;
  }

  const Problem &problem;
  const Order &order;
  Contention contention;
  std::vector<std::deque<NodeId>> queues;
  std::vector<size_t> positions;
  /// The remaining time of each operation.
  std::vector<Parts> left;
  /// Of a nanosecond of computation: divisible by the time that it takes.
  Parts computeParts = 1;
  /// The operation that holds the compute stream.
  NodeId running = noNode;
  size_t nextToIssue = 0;
  int64_t now = 0;
  std::vector<int64_t> beginNs, endNs;
};

/// Lets some computation find the streams of collectives before it idle.
void addStreamDependences(Problem &problem, const Order &order, Random random) {
  for (size_t place = 1; place < order.size(); ++place)
    if (NodeId from = order[random.below(place)];
        problem.kind(from) == NodeKind::Start &&
        problem.kind(order[place]) == NodeKind::Compute)
      problem.addDependence(from, order[place], DependenceKind::Stream);
  ASSERT_TRUE(problem.finalize());
}

TEST(Simulator, LargestCostsDoNotOverflow) {
  TextProblem problem("s = start 4611686018427387903; wait s; "
                      "a = 4611686018427387903 s'");
  EXPECT_EQ(simulate(problem, programOrder(problem))->stepNs,
            std::numeric_limits<int64_t>::max() - 1);
}

TEST(Simulator, RejectsWhatItCannotRun) {
  TimelineExample example;
  EXPECT_EQ(simulate(example.problem, {0, 1}).error(),
            "the order has 2 entries for a problem of 7 nodes");
  EXPECT_EQ(simulate(example.problem, {3, 1, 2, 0, 4, 5, 6}).error(),
            "node 3 (wait) at position 0 comes before its node 0 (start) at "
            "position 3");
  Problem open;
  EXPECT_EQ(simulate(open, {}).error(), "the problem is not finalized");
}

TEST(Simulator, AgreesWithTheTickingReference) {
  for (uint64_t seed : Seeds(2000)) {
    Problem problem = makeEitherProblem(seed);
    Order order = makeRandomOrder(seed, problem);
    addStreamDependences(problem, order, Random(seed));
    Timeline timeline = need(simulate(problem, order));
    ReferenceSimulator reference(problem, order);
    ASSERT_EQ(timeline.stepNs, reference.run());
    EXPECT_EQ(timeline.beginNs, reference.begins());
    EXPECT_EQ(timeline.endNs, reference.ends());

    // The sum of the stalls is the exposed time.
    int64_t stalls = 0;
    for (NodeId node : order)
      if (problem.isCollective(node))
        stalls += timeline.exposedNs[node];
    EXPECT_EQ(timeline.exposedCommNs, stalls);
  }
}

/// Simulates the program, which has to work.
Timeline run(const Problem &problem, const Contention &contention) {
  return need(simulate(problem, programOrder(problem), contention));
}

Contention sharing(std::vector<int32_t> links) {
  Contention contention;
  contention.links = std::move(links);
  return contention;
}

Contention slowingDown(std::vector<int64_t> ppm) {
  Contention contention;
  contention.slowdownPpm = std::move(ppm);
  return contention;
}

TEST(ContendedSimulator, LargeCostsDoNotOverflow) {
  constexpr int64_t large = int64_t(1) << 59;
  const std::string cost = std::to_string(large);
  TextProblem problem("a = start " + cost + "; b = start " + cost +
                      "@1; c = " + cost + "; wait a; wait b");
  Contention contention = sharing({0, 0});
  contention.slowdownPpm = {3'000'000, 3'000'000};
  Timeline timeline = run(problem, contention);
  // A quarter of 2^60 ns of work beside the collectives; the rest alone.
  EXPECT_EQ(timeline.endNs[0], 2 * large);
  EXPECT_EQ(timeline.endNs[1], 2 * large);
  EXPECT_EQ(timeline.endNs[2], 2 * large + large / 2);

  contention.slowdownPpm = {0, Contention::maxSlowdownPpm};
  EXPECT_EQ(simulate(problem, programOrder(problem), contention).error(),
            "the costs, with computation slowed down by 999000000 millionths, "
            "do not fit 64 bits");
}

TEST(ContendedSimulator, ChecksTheContention) {
  TimelineExample example;
  auto errorOf = [&](const Contention &contention) {
    Status status = check(contention, example.problem);
    EXPECT_EQ(
        simulate(example.problem, programOrder(example.problem), contention)
            .error(),
        status.error());
    return status.error();
  };
  Contention contention;
  contention.exclusive = {{0, 1}};
  EXPECT_EQ(errorOf(contention),
            "exclusive stream 1 is not one of the 1 of the problem");
  contention.exclusive = {{-1, 0}};
  EXPECT_EQ(errorOf(contention),
            "exclusive stream -1 is not one of the 1 of the problem");
  contention.exclusive = {{0, 0}};
  EXPECT_EQ(errorOf(contention), "stream 0 is exclusive with itself");
  EXPECT_EQ(errorOf(sharing({-2})), "stream 0 is on link -2");
  EXPECT_EQ(errorOf(slowingDown({1, -1})),
            "stream 1 slows computation down by -1 millionths, not by 0 to "
            "999000000");
  EXPECT_EQ(errorOf(slowingDown({999'000'001})),
            "stream 0 slows computation down by 999000001 millionths, not by 0 "
            "to 999000000");
  EXPECT_EQ(errorOf(slowingDown({999'000'000})), "");
  EXPECT_EQ(errorOf(slowingDown({0, 5})), "");
  EXPECT_EQ(errorOf(sharing({-1})), "");
  EXPECT_EQ(errorOf(sharing({0, 0})), "");

  TextProblem two("a = start 1; b = start 1@1; wait a; wait b");
  EXPECT_EQ(check(sharing({0}), two).error(),
            "there are links for 1 streams, but the problem has 2");
  EXPECT_EQ(check(slowingDown({5}), two).error(),
            "there are slowdowns for 1 streams, but the problem has 2");

  // Errors of the plain simulation come first.
  EXPECT_EQ(
      simulate(example.problem, {3, 1, 2, 0, 4, 5, 6}, slowingDown({1, -1}))
          .error(),
      "node 3 (wait) at position 0 comes before its node 0 (start) at "
      "position 3");
}

RandomProblemOptions manyStreams(uint64_t seed) {
  RandomProblemOptions options;
  options.shuffleProgram = seed % 2;
  options.maxStreams = 6;
  options.maxNodes = 60;
  return options;
}

TEST(ContendedSimulator, AgreesWithTheTickingReference) {
  for (uint64_t seed : Seeds(3000)) {
    Problem problem = makeRandomProblem(seed, manyStreams(seed));
    Order order = makeRandomOrder(seed, problem);
    Random random(seed);
    Contention contention = makeRandomContention(random, problem.numStreams());
    addStreamDependences(problem, order, random);
    Timeline timeline = need(simulate(problem, order, contention));
    ReferenceSimulator reference(problem, order, contention);
    ASSERT_EQ(timeline.stepNs, reference.run());
    ASSERT_EQ(timeline.beginNs, reference.begins());
    ASSERT_EQ(timeline.endNs, reference.ends());

    // What is lost to stalls and to slower computation is exposed.
    Timeline plain = *simulate(problem, order);
    ASSERT_EQ(timeline.computeNs, plain.computeNs);
    ASSERT_EQ(timeline.commNs, plain.commNs);
    int64_t lost = timeline.slowdownNs;
    for (NodeId node : order)
      if (problem.isCollective(node))
        lost += timeline.exposedNs[node];
    ASSERT_EQ(timeline.exposedCommNs, lost);
    ASSERT_EQ(timeline.exposedCommNs, timeline.stepNs - timeline.computeNs);
  }
}

TEST(LiveBytes, ReportsEachFreedBufferOnce) {
  for (uint64_t seed : Seeds(200)) {
    Problem problem = makeRandomProblem(seed, {});
    LiveBytes live(problem);
    std::vector<int32_t> numFreed(problem.numBuffers());
    for (NodeId node : makeRandomOrder(seed, problem)) {
      int64_t before = live.bytes();
      live.issue(node);
      live.undo(node);
      ASSERT_EQ(live.bytes(), before);
      live.issue(node, [&](BufferId id) { ++numFreed[id]; });
    }
    for (BufferId id = 0; id < problem.numBuffers(); ++id) {
      const Buffer &buffer = problem.buffer(id);
      bool hasEnd = buffer.freed &&
                    (buffer.producer != noNode || !problem.users(id).empty());
      ASSERT_EQ(numFreed[id], hasEnd ? 1 : 0);
    }
  }
}

/// Issues `order` and compares each state with the simulations.
void checkAlong(const Problem &problem, const Order &order,
                const Contention &contention) {
  Timeline timeline = *simulate(problem, order, contention);
  MemoryTimeline memory = *simulateMemory(problem, order);
  IssuedOrder issued(problem, contention.exclusive);
  ASSERT_EQ(issued.liveBytes(), memory.initialBytes);
  int64_t nowNs = 0, computedNs = 0;
  for (size_t place = 0; place < order.size(); ++place) {
    NodeId node = order[place];
    bool isCollective = problem.isCollective(node);
    int64_t beginNs = nowNs;
    if (isCollective)
      beginNs = std::max(nowNs, issued.freeNs(problem.stream(node)));
    ASSERT_EQ(beginNs, timeline.beginNs[node]);
    int64_t before = issued.liveBytes();
    ASSERT_FALSE(issued.contains(node));
    issued.issue(node);
    ASSERT_TRUE(issued.contains(node));
    if (problem.kind(node) != NodeKind::Start)
      nowNs = timeline.endNs[node];
    if (problem.kind(node) == NodeKind::Compute)
      computedNs += problem.costNs(node);
    if (isCollective) {
      ASSERT_EQ(issued.endNs(node), timeline.endNs[node]);
    }
    ASSERT_EQ(issued.nowNs(), nowNs);
    ASSERT_EQ(issued.computedNs(), computedNs);
    ASSERT_EQ(issued.liveBytes(), memory.remainingBytes[place]);
    ASSERT_EQ(issued.takePeak(),
              std::max(before, memory.allocatedBytes[place]));
  }
  ASSERT_EQ(issued.order(), order);
  ASSERT_EQ(issued.takeOrder(), order);
}

/// With exclusive streams if the seed is odd.
TEST(IssuedOrder, EqualsTheSimulations) {
  int numDelayed = 0;
  for (uint64_t seed : Seeds(1000)) {
    RandomProblemOptions shape;
    shape.maxStreams = 4;
    shape.unevenBuffers = seed % 4 < 2;
    Problem problem = makeRandomProblem(seed, shape);
    Order order = makeRandomOrder(seed, problem);
    Random random(seed);
    Contention contention;
    for (StreamId a = 0; a < problem.numStreams(); ++a)
      for (StreamId b = 0; b < a; ++b)
        if (seed % 2 && random.percent(50))
          contention.exclusive.push_back({a, b});
    checkAlong(problem, order, contention);
    if (::testing::Test::HasFatalFailure())
      return;
    numDelayed += simulate(problem, order, contention)->stepNs >
                  simulate(problem, order)->stepNs;
  }
  EXPECT_GT(numDelayed, 15);
}

/// Whether `buffer` is live at `position`, from nothing but the rules: while
/// the operation there runs, or (`after`) when it has ended.
bool isLive(const Problem &problem, const Order &order, BufferId id,
            size_t position, bool after) {
  const Buffer &buffer = problem.buffer(id);
  auto hasRun = [&](NodeId node, size_t end) {
    return std::find(order.begin(), order.begin() + end, node) !=
           order.begin() + end;
  };
  if (buffer.producer != noNode && !hasRun(buffer.producer, position + 1))
    return false;
  if (!buffer.freed)
    return true;
  ArrayView<NodeId> users = problem.users(id);
  if (users.empty() && buffer.producer == noNode)
    return true;
  size_t end = after ? position + 1 : position;
  bool isNeeded = buffer.producer != noNode && !hasRun(buffer.producer, end);
  for (NodeId user : users)
    isNeeded |= !hasRun(user, end);
  return isNeeded;
}

TEST(MemoryTimeline, RejectsWhatItCannotRun) {
  TimelineExample example;
  EXPECT_EQ(simulateMemory(example.problem, {}).error(),
            "the order has 0 entries for a problem of 7 nodes");
  Order order = programOrder(example.problem);
  EXPECT_EQ(findLive(example.problem, order, 7).error(),
            "there is no position 7 in an order of 7 nodes");
  EXPECT_EQ(findLive(example.problem, order, -2).error(),
            "there is no position -2 in an order of 7 nodes");
  EXPECT_EQ(findLive(example.problem, {}, 0).error(),
            "the order has 0 entries for a problem of 7 nodes");
}

TEST(MemoryTimeline, AgreesWithLiveSets) {
  for (uint64_t seed : Seeds(500)) {
    Problem problem = makeEitherProblem(seed);
    Order order = makeRandomOrder(seed, problem);
    MemoryTimeline memory = need(simulateMemory(problem, order));
    std::vector<BufferId> initial;
    int64_t initialBytes = 0;
    for (BufferId id = 0; id < problem.numBuffers(); ++id)
      if (problem.buffer(id).producer == noNode) {
        initial.push_back(id);
        initialBytes += problem.buffer(id).bytes;
      }
    EXPECT_EQ(memory.initialBytes, initialBytes);
    EXPECT_EQ(*findLive(problem, order, -1), initial);
    int64_t peak = -1;
    int32_t peakPosition = -1;
    for (size_t position = 0; position < order.size(); ++position) {
      int64_t during = 0, after = 0;
      std::vector<BufferId> live;
      for (BufferId id = 0; id < problem.numBuffers(); ++id) {
        int64_t bytes = problem.buffer(id).bytes;
        if (isLive(problem, order, id, position, false)) {
          during += bytes;
          live.push_back(id);
        }
        after += isLive(problem, order, id, position, true) ? bytes : 0;
      }
      std::vector<BufferId> found =
          need(findLive(problem, order, static_cast<int32_t>(position)));
      ASSERT_EQ(found, live) << "position " << position;
      ASSERT_EQ(memory.allocatedBytes[position], during)
          << "position " << position;
      ASSERT_EQ(memory.remainingBytes[position], after)
          << "position " << position;
      if (during > peak) {
        peak = during;
        peakPosition = static_cast<int32_t>(position);
      }
    }
    EXPECT_EQ(memory.peakBytes, peak);
    EXPECT_EQ(memory.peakPosition, peakPosition);
  }
}

} // namespace
