//===- Period.cpp - Time and memory of programs that repeat ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/Schedule/Cyclic/Period.h"

#include "../Model/ContendedRun.h"
#include "BufferUses.h"
#include "CommSched/Schedule/Model/MemoryTimeline.h"
#include "CommSched/Schedule/Model/Verify.h"

#include <algorithm>
#include <limits>

using namespace mlir::commsched;
using namespace mlir::commsched::schedule;

//===----------------------------------------------------------------------===//
// Time
//===----------------------------------------------------------------------===//

namespace {

/// Clocks as ContendedRun: what is not slowed down.
class UncontendedRun {
public:
  using Interval = Clocks::Interval;

  explicit UncontendedRun(const Problem &body) : body(body), clocks(body) {}

  Interval issue(NodeId node) { return clocks.issue(node); }
  int64_t nowNs() const { return clocks.nowNs(); }
  Interval intervalOf(NodeId collective) const {
    int64_t endNs = clocks.endNs(collective);
    return {endNs - body.costNs(collective), endNs, 0};
  }
  /// How long each stream holds up the compute stream at most, from now on.
  /// That decides it for each collective in flight, too: what its stream runs
  /// behind one that has not ended follows without a gap, in a fixed order.
  std::vector<int64_t> state() const {
    std::vector<int64_t> state;
    for (int64_t endNs : clocks.streamEndsNs())
      state.push_back(std::max<int64_t>(endNs - clocks.nowNs(), 0));
    return state;
  }

private:
  const Problem &body;
  Clocks clocks;
};

/// Runs one period after another. A collective in flight is waited for before
/// the next repetition starts it again (verify()), so that a `Run` needs one
/// place for each.
template <typename Run> class PeriodRunner {
public:
  PeriodRunner(const CyclicProblem &problem, const CyclicOrder &schedule,
               Run run)
      : body(problem.body()), schedule(schedule), run(std::move(run)),
        numRepetitions(std::numeric_limits<int32_t>::max()) {}

  /// Ends after so many repetitions.
  void limitTo(int32_t count) { numRepetitions = count; }

  /// Runs the next period.
  void runPeriod() {
    begin();
    for (NodeId node : schedule.order)
      if (exists(node))
        run.issue(node);
    ++period;
  }

  /// The same; fills `timeline`, whose arrays have their sizes. What was in
  /// flight at the beginning has the times of the period before.
  void runPeriod(Timeline &timeline) {
    begin();
    auto record = [&](NodeId node, Clocks::Interval interval, int64_t fromNs) {
      timeline.beginNs[node] = interval.beginNs - fromNs;
      timeline.endNs[node] = interval.endNs - fromNs;
      timeline.stepNs = std::max(timeline.stepNs, timeline.endNs[node]);
    };
    for (NodeId node : schedule.order) {
      Clocks::Interval interval = run.issue(node);
      if (body.kind(node) != NodeKind::Start) {
        record(node, interval, beginNs);
        timeline.exposedNs[node] = interval.exposedNs;
      }
      for (NodeId start : body.collectivesEndedBefore(node))
        record(start, run.intervalOf(start), beginNs);
      if (NodeId start = body.startOf(node); start != noNode) {
        bool isOfLast = schedule.stages[start] != schedule.stages[node];
        record(start, run.intervalOf(start), isOfLast ? lastBeginNs : beginNs);
      }
      timeline.addStall(body, node);
      if (body.kind(node) == NodeKind::Compute)
        timeline.slowdownNs +=
            interval.endNs - interval.beginNs - body.costNs(node);
    }
    ++period;
  }

  std::vector<int64_t> state() const { return run.state(); }
  int64_t nowNs() const { return run.nowNs(); }

private:
  void begin() { lastBeginNs = std::exchange(beginNs, run.nowNs()); }
  bool exists(NodeId node) const {
    int32_t repetition = period - schedule.stages[node];
    return repetition >= 0 && repetition < numRepetitions;
  }

  const Problem &body;
  const CyclicOrder &schedule;
  Run run;
  int32_t numRepetitions;
  int32_t period = 0;
  /// When the period and the one before it began.
  int64_t beginNs = 0;
  int64_t lastBeginNs = 0;
};

} // namespace

/// The number of periods after which no further one is run, for `effort`
/// operations.
static int32_t getMaxPeriods(NodeId numNodes, int64_t effort) {
  constexpr int32_t fewPeriods = 64;
  return static_cast<int32_t>(std::clamp<int64_t>(
      effort / (numNodes + 1), fewPeriods, CyclicProblem::maxRepetitions / 2));
}

static Timeline makeTimeline(const Problem &body) {
  Timeline timeline;
  timeline.beginNs.resize(body.numNodes());
  timeline.endNs.resize(body.numNodes());
  timeline.exposedNs.resize(body.numNodes());
  for (NodeId node = 0; node < body.numNodes(); ++node)
    (body.isCollective(node) ? timeline.commNs : timeline.computeNs) +=
        body.costNs(node);
  return timeline;
}

static int64_t divideCeil(int64_t value, int64_t by) {
  return value / by + (value % by > 0);
}

template <typename Run>
static PeriodTimeline findPeriod(const CyclicProblem &problem,
                                 const CyclicOrder &schedule, Run run,
                                 int32_t maxPeriods) {
  PeriodRunner<Run> runner(problem, schedule, std::move(run));
  std::vector<int64_t> state;
  int64_t halfNs = 0;
  bool isSteady = false;
  for (int32_t period = 0; period < maxPeriods && !isSteady; ++period) {
    if (period == maxPeriods / 2)
      halfNs = runner.nowNs();
    runner.runPeriod();
    std::vector<int64_t> next = runner.state();
    // The first periods lack collectives in flight.
    isSteady = period >= schedule.depth() && next == state;
    state = std::move(next);
  }
  int64_t beginNs = runner.nowNs();
  int64_t meanNs = divideCeil(beginNs - halfNs, maxPeriods - maxPeriods / 2);
  PeriodTimeline result;
  result.steady = makeTimeline(problem.body());
  runner.runPeriod(result.steady);
  result.periodNs = isSteady ? runner.nowNs() - beginNs : meanNs;
  result.steady.exposedCommNs = result.periodNs - result.steady.computeNs;
  return result;
}

static PeriodTimeline simulateUncontended(const CyclicProblem &problem,
                                          const CyclicOrder &schedule) {
  constexpr int64_t effort = 1 << 26;
  const Problem &body = problem.body();
  return findPeriod(problem, schedule, UncontendedRun(body),
                    getMaxPeriods(body.numNodes(), effort));
}

static Result<PeriodTimeline> simulateContended(const CyclicProblem &problem,
                                                const CyclicOrder &schedule,
                                                const Contention &contention) {
  constexpr int64_t effort = 1 << 22;
  const Problem &body = problem.body();
  int32_t maxPeriods = getMaxPeriods(body.numNodes(), effort);
  if (Status status = check(contention, body); !status)
    return status;
  if (Status status = checkContendedTimes(body, contention, maxPeriods + 1);
      !status)
    return status;
  return findPeriod(problem, schedule, ContendedRun(body, contention),
                    maxPeriods);
}

Result<PeriodTimeline> schedule::simulatePeriod(const CyclicProblem &problem,
                                                const CyclicOrder &schedule,
                                                const Contention &contention) {
  if (Status status = problem.check(); !status)
    return status;
  if (contention.isNone())
    return simulateUncontended(problem, schedule);
  return simulateContended(problem, schedule, contention);
}

template <typename Run>
static int64_t runAll(const CyclicProblem &problem, const CyclicOrder &schedule,
                      int32_t count, Run run) {
  PeriodRunner<Run> runner(problem, schedule, std::move(run));
  runner.limitTo(count);
  for (int32_t period = 0; period < count + schedule.depth() - 1; ++period)
    runner.runPeriod();
  // All collectives have been waited for.
  return runner.nowNs();
}

int64_t schedule::simulateRun(const CyclicProblem &problem,
                              const CyclicOrder &schedule, int32_t count,
                              const Contention &contention) {
  const Problem &body = problem.body();
  return contention.isNone()
             ? runAll(problem, schedule, count, UncontendedRun(body))
             : runAll(problem, schedule, count, ContendedRun(body, contention));
}

int64_t schedule::computeRunNs(const CyclicProblem &problem,
                               const CyclicOrder &schedule, int64_t count,
                               const Contention &contention) {
  constexpr int64_t most = std::numeric_limits<int64_t>::max();
  if (count <= 0)
    return 0;
  int64_t simulated = std::min(count, maxSimulatedRepetitions);
  if (!contention.isNone() &&
      !checkContendedTimes(problem.body(), contention, simulated))
    return most;
  int64_t runNs = simulateRun(problem, schedule,
                              static_cast<int32_t>(simulated), contention);
  int64_t others = count - simulated;
  if (others == 0)
    return runNs;
  Result<PeriodTimeline> period = simulatePeriod(problem, schedule, contention);
  if (!period)
    return most;
  int64_t periodNs = period->periodNs;
  return periodNs > (most - runNs) / others ? most : runNs + periodNs * others;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

std::vector<int64_t>
schedule::simulatePeriodMemory(const CyclicProblem &problem,
                               const CyclicOrder &schedule) {
  // The first period in which all stages run has the memory of all later ones.
  int32_t count = schedule.depth();
  Result<MemoryTimeline> memory =
      simulateMemory(unroll(problem, count), unroll(schedule, count));
  if (!memory)
    return std::vector<int64_t>(schedule.order.size());
  auto begin = memory->allocatedBytes.begin();
  for (int32_t stage : schedule.stages)
    begin += count - 1 - stage;
  return {begin, begin + schedule.order.size()};
}

std::vector<BufferId> schedule::findLiveInPeriod(const CyclicProblem &problem,
                                                 const CyclicOrder &schedule,
                                                 int32_t position) {
  const Problem &body = problem.body();
  Positions positions = positionsOf(schedule.order);
  BufferUses uses(problem);
  std::vector<BufferId> live;
  for (BufferId id = 0; id < body.numBuffers(); ++id) {
    NodeId producer = body.buffer(id).producer;
    if (producer == noNode) {
      live.push_back(id);
      continue;
    }
    // In periods after the one that makes it, and positions in these.
    std::pair<int32_t, int32_t> last = {0, positions[producer]};
    for (const BufferUse &use : uses[id])
      last = std::max(last, {use.distance + schedule.stages[use.node] -
                                 schedule.stages[producer],
                             positions[use.node]});
    for (int32_t age = position < positions[producer];
         std::pair(age, position) <= last; ++age)
      live.push_back(id);
  }
  return live;
}

/// So many repetitions have all that any number of them has at a time.
static int32_t countRepetitions(const CyclicProblem &problem,
                                const CyclicOrder &schedule) {
  int32_t farthest = 1;
  for (const CarriedUse &use : problem.carriedUses())
    farthest = std::max(farthest, use.distance);
  return schedule.depth() + farthest + 1;
}

int64_t schedule::computeRunPeak(const CyclicProblem &problem,
                                 const CyclicOrder &schedule) {
  int32_t count = countRepetitions(problem, schedule);
  Result<MemoryTimeline> memory =
      simulateMemory(unroll(problem, count), unroll(schedule, count));
  return memory ? memory->peakBytes : 0;
}

Result<ReservedMemory>
schedule::replayRun(const CyclicProblem &problem, const CyclicOrder &schedule,
                    const std::vector<int64_t> &otherBytes,
                    const Contention &contention, SegmentKind kind) {
  int32_t count = countRepetitions(problem, schedule);
  Problem run = unroll(problem, count);
  for (int64_t bytes : otherBytes)
    run.addBuffer(bytes, noNode, /*freed=*/false);
  run.finalize();
  Order order = unroll(schedule, count);
  Result<Timeline> timeline = simulate(run, order, contention);
  if (!timeline)
    return Error{timeline.error()};
  return replayAllocations(run, order, *timeline, kind);
}
