//===- ExposureTest.cpp - Tests of exposed time and its reasons -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Inductor/Exposure.h"
#include "CommSched/Schedule/Exposure/ExposureReasons.h"
#include "CommSched/Schedule/Reordering/SimpleOverlap.h"
#include "TestProblems.h"

using namespace mlir::commsched::schedule::testing;

namespace {

// The exposure of one collective by walking from it to the end of its window,
// and remembering which collectives of its stream the walk has met; or from its
// wait back to it, and forgetting the computation behind collectives that the
// walk has met together with their waits.

/// The exposure of `node`, which is a start, walking back from its wait.
Exposure walkBack(const Problem &problem, const Order &order, NodeId node) {
  Exposure exposure;
  exposure.commNs = problem.costNs(node);
  std::set<NodeId> waits;
  auto at = std::find(order.begin(), order.end(), problem.waitOf(node));
  while (*--at != node) {
    switch (problem.kind(*at)) {
    case NodeKind::Compute:
      exposure.computeNs += problem.costNs(*at);
      break;
    case NodeKind::Wait:
      waits.insert(*at);
      break;
    case NodeKind::Start:
      if (waits.count(problem.waitOf(*at)))
        exposure.computeNs = 0;
      break;
    case NodeKind::Blocking:
      exposure.computeNs = 0;
      break;
    }
  }
  return exposure;
}

/// The exposure of `node`, zeros if it is no collective. O(nodes).
Exposure walkWindow(const Problem &problem, const Order &order, NodeId node,
                    ExposureWalk walk) {
  Exposure exposure;
  if (!problem.isCollective(node))
    return exposure;
  exposure.commNs = problem.costNs(node);
  if (problem.kind(node) == NodeKind::Blocking)
    return exposure;
  if (walk == ExposureWalk::FromWait)
    return walkBack(problem, order, node);
  // Whose waits end the window.
  std::set<NodeId> met = {node};
  auto at = std::find(order.begin(), order.end(), node);
  for (++at; at != order.end(); ++at) {
    switch (problem.kind(*at)) {
    case NodeKind::Compute:
      exposure.computeNs += problem.costNs(*at);
      break;
    case NodeKind::Start:
      if (problem.stream(*at) == problem.stream(node))
        met.insert(*at);
      break;
    case NodeKind::Wait:
      if (met.count(problem.startOf(*at)))
        return exposure;
      break;
    case NodeKind::Blocking:
      return exposure;
    }
  }
  return exposure;
}

TEST(Exposure, AgreesWithAWalkThroughEveryWindow) {
  int numForeignEnds[2] = {0, 0};
  for (uint64_t seed : Seeds(800)) {
    Problem problem = makeEitherProblem(seed, seed % 10 == 0 ? 120 : 40);
    Order order = makeRandomOrder(seed, problem);
    std::vector<int64_t> times;
    for (NodeId node = 0; node < problem.numNodes(); ++node)
      times.push_back(
          problem.kind(node) == NodeKind::Compute ? problem.costNs(node) : 0);
    EditableSchedule schedule =
        need(EditableSchedule::create(problem, order, times));
    for (ExposureWalk walk :
         {ExposureWalk::FromStart, ExposureWalk::FromWait}) {
      bool isForward = walk == ExposureWalk::FromStart;
      std::vector<Exposure> exposures = computeExposure(problem, order, walk);
      ASSERT_EQ(exposures.size(), order.size());
      for (NodeId node = 0; node < problem.numNodes(); ++node) {
        SCOPED_TRACE("node " + std::to_string(node) +
                     (isForward ? " from its start" : " from its wait"));
        Exposure expected = walkWindow(problem, order, node, walk);
        ASSERT_EQ(exposures[node].commNs, expected.commNs);
        ASSERT_EQ(exposures[node].computeNs, expected.computeNs);
        if (problem.kind(node) != NodeKind::Start)
          continue;
        NodeId end = findWindowEnd(schedule, node, walk);
        ASSERT_EQ(exposures[node].windowEnd, end);
        ASSERT_EQ(getHidingTime(schedule, node, end), expected.computeNs);
        int64_t toOwnWait = schedule.getTree()
                                .range(schedule.position(node),
                                       schedule.position(problem.waitOf(node)))
                                .computeTime;
        numForeignEnds[isForward] += toOwnWait != expected.computeNs;
      }
    }
  }
  EXPECT_GT(numForeignEnds[true], 150);
  EXPECT_GT(numForeignEnds[false], 150);
}

TEST(ExposureTrade, CountsOnlyWhatIsExposed) {
  ExposureTrade trade;
  trade.own = 5;
  trade.others = {-3, 2};
  EXPECT_EQ(trade.exposedAfter(0), 5 + 0 + 2);
  EXPECT_EQ(trade.exposedAfter(3), 2 + 0 + 5);
  EXPECT_EQ(trade.exposedAfter(4), 1 + 1 + 6);
  EXPECT_EQ(trade.exposedAfter(9), 0 + 6 + 11);
  // One for one until the other is exposed as well.
  EXPECT_EQ(trade.turningPoint(), 3);
}

TEST(ExposureReasons, Errors) {
  EXPECT_EQ(explainExposure(Problem(), {0, 1}, {}).error(),
            "the problem is not finalized");
  EXPECT_EQ(
      explainExposure(TextProblem("s = start 10; wait s"), {1, 0}, {}).error(),
      "node 1 (wait) at position 0 comes before its node 0 (start) at position "
      "1");
}

/// By operation: whether it has to follow `from`, or, backwards, to precede it.
/// A user of a buffer follows the producer even without a dependence.
std::vector<char> findReachable(const Problem &problem, NodeId from,
                                bool backwards) {
  std::vector<char> reached(problem.numNodes());
  std::vector<NodeId> pending = {from};
  auto reach = [&](NodeId node) {
    if (node != noNode && !reached[node])
      pending.push_back(node);
  };
  while (!pending.empty()) {
    NodeId node = pending.back();
    pending.pop_back();
    reached[node] = true;
    for (DependenceEnd end :
         backwards ? problem.predecessors(node) : problem.successors(node))
      reach(end.node);
    if (backwards)
      for (BufferId buffer : problem.buffersUsedBy(node))
        reach(problem.buffer(buffer).producer);
    else
      for (BufferId buffer : problem.buffersMadeBy(node))
        for (NodeId user : problem.users(buffer))
          reach(user);
  }
  return reached;
}

/// Checks the reasons for one order against what they say.
class TruthCheck {
public:
  TruthCheck(const Problem &problem, const Order &order,
             const ExposureOptions &options,
             std::map<ExposureCause, int64_t> &seen)
      : problem(problem), order(order), options(options), seen(seen),
        positions(*invert(problem, order)),
        timeline(*simulate(problem, order, options.contention)) {
    peakBytes = simulateMemory(problem, order)->peakBytes;
  }

  void run() {
    std::vector<ExposureReason> reasons =
        need(explainExposure(problem, order, options));
    size_t next = 0;
    for (NodeId node : order) {
      if (!problem.isCollective(node) || timeline.exposedNs[node] == 0)
        continue;
      ASSERT_LT(next, reasons.size());
      const ExposureReason &reason = reasons[next++];
      SCOPED_TRACE(problem.describe(node) + ", " + toString(reason.cause));
      ASSERT_EQ(reason.collective, node);
      EXPECT_EQ(reason.exposedNs, timeline.exposedNs[node]);
      ++seen[reason.cause];
      check(reason);
    }
    EXPECT_EQ(next, reasons.size());
  }

private:
  void check(const ExposureReason &reason) {
    NodeId node = reason.collective;
    switch (reason.cause) {
    case ExposureCause::Blocking:
      EXPECT_EQ(problem.kind(node), NodeKind::Blocking);
      return;
    case ExposureCause::Unhindered:
    case ExposureCause::Memory:
      return checkMove(reason);
    case ExposureCause::WouldNotPay:
      EXPECT_GE(reason.spareNs, countSpareNs(node));
      return checkMove(reason);
    case ExposureCause::StreamBusy:
      EXPECT_EQ(timeline.beginNs[node] - clockBefore(node), reason.byNs);
      EXPECT_GT(reason.byNs, 0);
      ASSERT_NE(reason.other, noNode);
      ASSERT_NE(reason.other, node);
      EXPECT_TRUE(problem.isCollective(reason.other));
      EXPECT_EQ(timeline.endNs[reason.other], timeline.beginNs[node]);
      return;
    case ExposureCause::NothingLeft:
      EXPECT_EQ(countSpareNs(node), 0);
      return;
    case ExposureCause::Dependence: {
      EXPECT_TRUE(findReachable(problem, node, true)[reason.other]);
      NodeId other = reason.other;
      int64_t endNs = problem.kind(other) == NodeKind::Start
                          ? clockBefore(other)
                          : timeline.endNs[other];
      EXPECT_EQ(endNs + reason.byNs, timeline.beginNs[node]);
      EXPECT_GE(reason.spareNs, countSpareNs(node));
      return;
    }
    case ExposureCause::Needed:
      EXPECT_TRUE(findReachable(problem, node, false)[reason.other]);
      EXPECT_GE(reason.spareNs, countSpareNs(node));
      return;
    }
  }

  /// Checks the effect of the move when it is made.
  void checkMove(const ExposureReason &reason) {
    bool isEarlier = reason.move == ExposureMove::StartEarlier;
    NodeId self =
        isEarlier ? reason.collective : problem.waitOf(reason.collective);
    EXPECT_EQ((isEarlier ? reason.moving.back() : reason.moving.front()), self);
    std::vector<char> isMoving(problem.numNodes());
    for (NodeId node : reason.moving)
      isMoving[node] = true;
    Order moved;
    for (NodeId node : order) {
      if (isMoving[node])
        continue;
      if (node == reason.other && isEarlier)
        moved.insert(moved.end(), reason.moving.begin(), reason.moving.end());
      moved.push_back(node);
      if (node == reason.other && !isEarlier)
        moved.insert(moved.end(), reason.moving.begin(), reason.moving.end());
    }
    Status status = verify(problem, moved);
    EXPECT_TRUE(status) << status.error();
    // Other places are within the limit, so the peak of the moved order is the
    // memory that the move needs.
    int64_t limitBytes = std::max(options.limitBytes, peakBytes);
    int64_t neededBytes = simulateMemory(problem, moved)->peakBytes;
    if (reason.cause == ExposureCause::Memory) {
      EXPECT_GT(reason.bytesShort, 0);
      EXPECT_EQ(neededBytes, limitBytes + reason.bytesShort);
    } else if (reason.cause == ExposureCause::Unhindered) {
      EXPECT_LE(neededBytes, limitBytes);
    }
    int64_t gainNs =
        timeline.stepNs - simulate(problem, moved, options.contention)->stepNs;
    EXPECT_EQ(reason.gainNs, gainNs);
    EXPECT_EQ(reason.cause == ExposureCause::WouldNotPay, gainNs <= 0);
  }

  /// When the compute stream reaches an operation.
  int64_t clockBefore(NodeId node) const {
    for (int32_t place = positions[node] - 1; place >= 0; --place)
      if (problem.kind(order[place]) != NodeKind::Start)
        return timeline.endNs[order[place]];
    return 0;
  }

  /// Computation that is not beside the collective, and might be.
  int64_t countSpareNs(NodeId start) const {
    NodeId wait = problem.waitOf(start);
    std::vector<char> before = findReachable(problem, start, true);
    std::vector<char> behind = findReachable(problem, wait, false);
    int64_t sumNs = 0;
    for (NodeId node = 0; node < problem.numNodes(); ++node)
      if (problem.kind(node) == NodeKind::Compute && !before[node] &&
          !behind[node] &&
          (positions[node] < positions[start] ||
           positions[node] > positions[wait]))
        sumNs += problem.costNs(node);
    return sumNs;
  }

  const Problem &problem;
  const Order &order;
  const ExposureOptions &options;
  std::map<ExposureCause, int64_t> &seen;
  Positions positions;
  Timeline timeline;
  int64_t peakBytes;
};

void checkOrders(const Problem &problem, const ExposureOptions &options,
                 std::map<ExposureCause, int64_t> &seen) {
  TruthCheck(problem, problem.programOrder(), options, seen).run();
  IterativeReordering simple = need(overlapSimply(problem));
  TruthCheck(problem, simple.order, options, seen).run();
}

TEST(ExposureReasons, AreTrueOfRandomProblems) {
  std::map<ExposureCause, int64_t> seen;
  for (uint64_t seed : Seeds(1500)) {
    RandomProblemOptions options;
    options.expensivePercent = 30 + 20 * (seed % 3);
    options.unevenBuffers = seed % 2;
    options.impliedPercent = seed % 5 ? 0 : 20;
    options.waitsMakeBuffers = false;
    Problem problem = makeRandomProblem(seed, options);
    ExposureOptions exposure;
    exposure.limitBytes = seed % 4 * 20;
    if (seed % 3 == 0) {
      for (StreamId stream = 1; stream < problem.numStreams(); ++stream)
        exposure.contention.exclusive.emplace_back(0, stream);
      exposure.contention.slowdownPpm.assign(problem.numStreams(), 190'000);
    }
    checkOrders(problem, exposure, seen);
    if (HasFailure())
      return;
  }
  for (ExposureCause cause :
       {ExposureCause::Blocking, ExposureCause::Unhindered,
        ExposureCause::Memory, ExposureCause::StreamBusy,
        ExposureCause::WouldNotPay, ExposureCause::NothingLeft,
        ExposureCause::Dependence, ExposureCause::Needed})
    EXPECT_GT(seen[cause], 50) << toString(cause);
}

TEST(ExposureReasons, AreTrueOfRandomSteps) {
  std::map<ExposureCause, int64_t> seen;
  for (uint64_t seed : Seeds(300)) {
    checkOrders(makeRandomStep(seed, 6), {}, seen);
    if (HasFailure())
      return;
  }
  EXPECT_GT(seen[ExposureCause::NothingLeft], 15);
  EXPECT_GT(seen[ExposureCause::Memory], 15);
}

} // namespace
