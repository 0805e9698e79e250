//===- Period.cpp - Time and memory of programs that repeat ---------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Schedule/Cyclic/Period.h"

#include "../Model/RunState.h"
#include "BufferUses.h"
#include "CommSched/Schedule/Model/MemoryTimeline.h"

#include <algorithm>
#include <limits>

using namespace mlir::commsched;
using namespace mlir::commsched::schedule;

//===----------------------------------------------------------------------===//
// Time
//===----------------------------------------------------------------------===//

namespace {

/// Runs one period after another.
class PeriodRunner {
public:
  PeriodRunner(const CyclicProblem &problem, const CyclicOrder &schedule)
      : body(problem.body()), schedule(schedule), clocks(body),
        numRepetitions(std::numeric_limits<int32_t>::max()) {}

  /// Ends after so many repetitions.
  void limitTo(int32_t count) { numRepetitions = count; }

  /// Runs the next period. A collective in flight is waited for before the next
  /// repetition starts it again (verify()), so that one end for each is enough.
  void runPeriod() {
    beginNs = clocks.nowNs();
    for (NodeId node : schedule.order)
      if (exists(node))
        clocks.issue(node);
    ++period;
  }

  /// The same; fills `timeline`, whose arrays have their sizes.
  void runPeriod(Timeline &timeline) {
    beginNs = clocks.nowNs();
    for (NodeId node : schedule.order) {
      Clocks::Interval interval = clocks.issue(node);
      timeline.beginNs[node] = interval.beginNs - beginNs;
      timeline.endNs[node] = interval.endNs - beginNs;
      timeline.exposedNs[node] = interval.exposedNs;
      if (NodeId start = body.startOf(node); start != noNode)
        timeline.exposedNs[start] = interval.exposedNs;
    }
    ++period;
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

  /// When the last period began.
  int64_t lastBeginNs() const { return beginNs; }
  int64_t nowNs() const { return clocks.nowNs(); }
  int64_t stepNs() const { return clocks.stepNs(); }

private:
  bool exists(NodeId node) const {
    int32_t repetition = period - schedule.stages[node];
    // Of the collectives before the first period, the end is 0.
    return repetition >= 0 && repetition < numRepetitions;
  }

  const Problem &body;
  const CyclicOrder &schedule;
  Clocks clocks;
  int32_t numRepetitions;
  int32_t period = 0;
  int64_t beginNs = 0;
};

} // namespace

/// The number of periods after which no further one is run.
static int32_t getMaxPeriods(NodeId numNodes) {
  constexpr int32_t fewPeriods = 64;
  constexpr int64_t effort = 1 << 26;
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

static PeriodTimeline simulateUncontended(const CyclicProblem &problem,
                                          const CyclicOrder &schedule) {
  PeriodRunner runner(problem, schedule);
  std::vector<int64_t> state;
  int32_t maxPeriods = getMaxPeriods(problem.body().numNodes());
  int64_t halfNs = 0;
  PeriodTimeline result;
  result.steady = makeTimeline(problem.body());
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
  int64_t meanNs =
      divideCeil(runner.nowNs() - halfNs, maxPeriods - maxPeriods / 2);
  runner.runPeriod(result.steady);
  result.periodNs = isSteady ? runner.nowNs() - runner.lastBeginNs() : meanNs;
  result.steady.stepNs = runner.stepNs() - runner.lastBeginNs();
  result.steady.exposedCommNs = result.periodNs - result.steady.computeNs;
  return result;
}

/// The last of several unrolled repetitions that are not the last to end.
static Result<PeriodTimeline> simulateContended(const CyclicProblem &problem,
                                                const CyclicOrder &schedule,
                                                const Contention &contention) {
  constexpr int32_t numSteady = 6;
  int32_t depth = schedule.depth();
  int32_t count = numSteady + 2 * depth;
  Problem unrolled = unroll(problem, count);
  Result<Timeline> run =
      simulate(unrolled, unroll(schedule, count), contention);
  if (!run)
    return Error{run.error()};
  // Where the compute stream ends the periods that run all stages.
  NodeId numNodes = problem.body().numNodes();
  NodeId last = schedule.order.back();
  auto endOfPeriod = [&](int32_t period) {
    int32_t repetition = period - schedule.stages[last];
    NodeId node = repetition * numNodes + last;
    return problem.body().kind(last) == NodeKind::Start ? run->beginNs[node]
                                                        : run->endNs[node];
  };
  int32_t lastPeriod = count - 1;
  int64_t beginNs = endOfPeriod(lastPeriod - 1);
  PeriodTimeline result;
  result.steady = makeTimeline(problem.body());
  result.periodNs = divideCeil(
      endOfPeriod(lastPeriod) - endOfPeriod(lastPeriod - numSteady), numSteady);
  for (NodeId node = 0; node < numNodes; ++node) {
    NodeId copy = (lastPeriod - schedule.stages[node]) * numNodes + node;
    result.steady.beginNs[node] = run->beginNs[copy] - beginNs;
    result.steady.endNs[node] = run->endNs[copy] - beginNs;
    result.steady.exposedNs[node] = run->exposedNs[copy];
    result.steady.stepNs =
        std::max(result.steady.stepNs, result.steady.endNs[node]);
  }
  result.steady.exposedCommNs = result.periodNs - result.steady.computeNs;
  return result;
}

Result<PeriodTimeline> schedule::simulatePeriod(const CyclicProblem &problem,
                                                const CyclicOrder &schedule,
                                                const Contention &contention) {
  if (Status status = problem.check(); !status)
    return status;
  if (contention.isNone() || schedule.order.empty())
    return simulateUncontended(problem, schedule);
  if (Status status = check(contention, problem.body()); !status)
    return status;
  return simulateContended(problem, schedule, contention);
}

int64_t schedule::simulateRun(const CyclicProblem &problem,
                              const CyclicOrder &schedule, int32_t count) {
  PeriodRunner runner(problem, schedule);
  runner.limitTo(count);
  for (int32_t period = 0; period < count + schedule.depth() - 1; ++period)
    runner.runPeriod();
  return runner.stepNs();
}

int64_t schedule::computeRunNs(const CyclicProblem &problem,
                               const CyclicOrder &schedule, int64_t count) {
  if (count <= 0)
    return 0;
  int64_t simulated = std::min(count, maxSimulatedRepetitions);
  int64_t runNs =
      simulateRun(problem, schedule, static_cast<int32_t>(simulated));
  int64_t others = count - simulated;
  if (others == 0)
    return runNs;
  int64_t periodNs = simulateUncontended(problem, schedule).periodNs;
  constexpr int64_t most = std::numeric_limits<int64_t>::max();
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

int64_t schedule::computeRunPeak(const CyclicProblem &problem,
                                 const CyclicOrder &schedule) {
  int32_t farthest = 1;
  for (const CarriedUse &use : problem.carriedUses())
    farthest = std::max(farthest, use.distance);
  int32_t count = schedule.depth() + farthest + 1;
  Result<MemoryTimeline> memory =
      simulateMemory(unroll(problem, count), unroll(schedule, count));
  return memory ? memory->peakBytes : 0;
}
