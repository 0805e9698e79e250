//===- Schedule.cpp - C interface of the scheduler ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Objects.h"

#include "CommSched/Schedule/Bounds/LowerBounds.h"
#include "CommSched/Schedule/Model/MemoryBudget.h"
#include "CommSched/Schedule/Model/MemoryTimeline.h"
#include "CommSched/Schedule/Model/Simulator.h"
#include "CommSched/Schedule/Model/Verify.h"
#include "CommSched/Schedule/Step/StepScheduler.h"

#include <limits>
#include <memory>

using namespace mlir::commsched;
using namespace mlir::commsched::capi;
using namespace mlir::commsched::schedule;

static_assert(
    COMMSCHED_ORIGIN_PROGRAM == int(ScheduleOrigin::Program) &&
    COMMSCHED_ORIGIN_SIMPLE_OVERLAP == int(ScheduleOrigin::SimpleOverlap) &&
    COMMSCHED_ORIGIN_CONSTRUCTED == int(ScheduleOrigin::Constructed) &&
    COMMSCHED_ORIGIN_LEAST_MEMORY == int(ScheduleOrigin::LeastMemory));

struct CommSchedOptions {
  StepSchedulerOptions options;
  /// That of all streams, whose number only a problem tells.
  int64_t computeSlowdownPpm = 0;
};

struct CommSchedResult {
  Order order;
  Timeline timeline;
  int64_t peakBytes = 0;
  ScheduleOrigin origin = ScheduleOrigin::Program;
};

//===----------------------------------------------------------------------===//
// Options
//===----------------------------------------------------------------------===//

CommSchedStatus commschedParseBytes(const char *text, int64_t *bytes,
                                    char **error) {
  if (!text || !bytes)
    return isNull(error, "the text or the result is");
  return guard(error, [&] {
    std::optional<std::string> problem = parseByteCount(text, *bytes);
    return problem ? fail(error, COMMSCHED_INVALID_ARGUMENT, *problem)
                   : COMMSCHED_SUCCESS;
  });
}

CommSchedStatus commschedParseMemoryBudget(const char *text, int64_t peakBytes,
                                           int64_t *bytes, char **error) {
  if (!text || !bytes)
    return isNull(error, "the text or the result is");
  return guard(error, [&] {
    MemoryBudget budget;
    if (std::optional<std::string> problem = parseMemoryBudget(text, budget))
      return fail(error, COMMSCHED_INVALID_ARGUMENT, *problem);
    if (peakBytes < 0)
      return fail(error, COMMSCHED_INVALID_ARGUMENT,
                  "needs a peak that is not negative, but that is " +
                      std::to_string(peakBytes));
    *bytes = budget.getLimitBytes(peakBytes);
    return COMMSCHED_SUCCESS;
  });
}

CommSchedOptions *commschedOptionsCreate() {
  return new (std::nothrow) CommSchedOptions();
}

void commschedOptionsDestroy(CommSchedOptions *options) { delete options; }

int commschedOptionsSetMemoryLimit(CommSchedOptions *options, int64_t bytes) {
  return guardIndex(options, [&](CommSchedOptions &with) {
    with.options.limitBytes = bytes;
  });
}

int commschedOptionsSetSlackPercent(CommSchedOptions *options,
                                    int32_t percent) {
  return guardIndex(options, [&](CommSchedOptions &with) {
    with.options.slackPercent = percent;
  });
}

int commschedOptionsSetEffort(CommSchedOptions *options, int64_t nodes) {
  return guardIndex(
      options, [&](CommSchedOptions &with) { with.options.effort = nodes; });
}

int commschedOptionsAddExclusiveStreams(CommSchedOptions *options,
                                        int32_t stream, int32_t otherStream) {
  return guardIndex(options, [&](CommSchedOptions &with) {
    with.options.contention.exclusive.push_back({stream, otherStream});
  });
}

int commschedOptionsSetLinks(CommSchedOptions *options, size_t count,
                             const int32_t *links) {
  if (!links && count)
    return -1;
  return guardIndex(options, [&](CommSchedOptions &with) {
    with.options.contention.links.assign(links, links + count);
  });
}

int commschedOptionsSetComputeSlowdown(CommSchedOptions *options,
                                       int64_t partsPerMillion) {
  return guardIndex(options, [&](CommSchedOptions &with) {
    with.computeSlowdownPpm = partsPerMillion;
  });
}

/// Checks `contention` alone, and for `problem`, which is checked, and adds
/// that all streams slow computation down.
static Status complete(Contention &contention, int64_t computeSlowdownPpm,
                       const Problem &problem) {
  auto numStreams = static_cast<size_t>(problem.numStreams());
  size_t numLinks = contention.links.size();
  if (numLinks > numStreams)
    return Error{"there are links for " + std::to_string(numLinks) +
                 " streams, but the problem has " + std::to_string(numStreams)};
  if (computeSlowdownPpm < 0 || computeSlowdownPpm > Contention::maxSlowdownPpm)
    return Error{"computation slows down by " +
                 std::to_string(computeSlowdownPpm) +
                 " millionths, not by 0 to " +
                 std::to_string(Contention::maxSlowdownPpm)};
  if (computeSlowdownPpm > 0)
    contention.slowdownPpm.assign(numStreams, computeSlowdownPpm);
  return schedule::check(contention, problem);
}

/// Checks what `options` say by themselves and of `problem`, which is checked,
/// and makes them those of the scheduler.
static CommSchedStatus resolve(const CommSchedOptions &given,
                               const Problem &problem,
                               StepSchedulerOptions &options, char **error) {
  auto isNegative = [&](const char *what, int64_t value) {
    return fail(error, COMMSCHED_INVALID_ARGUMENT,
                std::string(what) + " must not be negative, but is " +
                    std::to_string(value));
  };
  options = given.options;
  if (options.limitBytes < 0)
    return isNegative("the memory limit", options.limitBytes);
  if (options.slackPercent < 0)
    return isNegative("the slack", options.slackPercent);
  if (options.effort < 0)
    return isNegative("the effort", options.effort);
  if (Status status =
          complete(options.contention, given.computeSlowdownPpm, problem);
      !status)
    return fail(error, COMMSCHED_INVALID_ARGUMENT, status.error());
  return COMMSCHED_SUCCESS;
}

/// The largest slack, up to that of `options`, with which the sum of all costs
/// fits 64 bits.
static int32_t getSlackPercent(const StepSchedulerOptions &options,
                               const Problem &problem) {
  int64_t totalNs = 0;
  for (NodeId node = 0; node < problem.numNodes(); ++node)
    totalNs += problem.costNs(node);
  int64_t room =
      (std::numeric_limits<int64_t>::max() - totalNs) / (totalNs / 100 + 1);
  return static_cast<int32_t>(std::min<int64_t>(options.slackPercent, room));
}

//===----------------------------------------------------------------------===//
// Scheduling and simulation
//===----------------------------------------------------------------------===//

/// Verifies and simulates `order`. An illegal order is an error of the status
/// `illegal`.
static CommSchedStatus makeResult(const Problem &problem,
                                  const Contention &contention, Order order,
                                  CommSchedStatus illegal,
                                  std::unique_ptr<CommSchedResult> &made,
                                  char **error) {
  if (Status status = verify(problem, order); !status)
    return fail(error, illegal, status.error());
  Result<Timeline> timeline = simulate(problem, order, contention);
  if (!timeline)
    return fail(error, COMMSCHED_INVALID_PROBLEM, timeline.error());
  Result<MemoryTimeline> memory = simulateMemory(problem, order);
  if (!memory)
    return fail(error, COMMSCHED_INTERNAL_ERROR, memory.error());
  made = std::make_unique<CommSchedResult>();
  made->order = std::move(order);
  made->timeline = std::move(*timeline);
  made->peakBytes = memory->peakBytes;
  return COMMSCHED_SUCCESS;
}

/// Checks what scheduling and simulation have in common, and calls `run` with
/// the problem and the options.
template <typename RunFn>
static CommSchedStatus
makeChecked(const CommSchedProblem *problem, const CommSchedOptions *options,
            CommSchedResult **result, char **error, RunFn run) {
  return guard(error, [&] {
    if (!result)
      return isNull(error, "the place for the result is");
    CommSchedStatus status = check(problem, error);
    if (status != COMMSCHED_SUCCESS)
      return status;
    StepSchedulerOptions with;
    status = resolve(options ? *options : CommSchedOptions(), problem->problem,
                     with, error);
    if (status != COMMSCHED_SUCCESS)
      return status;
    std::unique_ptr<CommSchedResult> made;
    status = run(problem->problem, with, made);
    if (status == COMMSCHED_SUCCESS)
      *result = made.release();
    return status;
  });
}

CommSchedStatus commschedSchedule(const CommSchedProblem *problem,
                                  const CommSchedOptions *options,
                                  CommSchedResult **result, char **error) {
  auto run = [&](const Problem &problem, StepSchedulerOptions &with,
                 std::unique_ptr<CommSchedResult> &made) {
    with.slackPercent = getSlackPercent(with, problem);
    Result<StepSchedule> schedule = scheduleStep(problem, with);
    if (!schedule)
      return fail(error, COMMSCHED_INVALID_PROBLEM, schedule.error());
    CommSchedStatus status =
        makeResult(problem, with.contention, std::move(schedule->order),
                   COMMSCHED_INTERNAL_ERROR, made, error);
    if (status != COMMSCHED_SUCCESS)
      return status;
    if (made->timeline.stepNs != schedule->stepNs ||
        made->peakBytes != schedule->peakBytes)
      return fail(error, COMMSCHED_INTERNAL_ERROR,
                  "the schedule takes " + std::to_string(schedule->stepNs) +
                      " ns and " + std::to_string(schedule->peakBytes) +
                      " bytes, but its simulation " +
                      std::to_string(made->timeline.stepNs) + " ns and " +
                      std::to_string(made->peakBytes) + " bytes");
    made->origin = schedule->origin;
    return COMMSCHED_SUCCESS;
  };
  return makeChecked(problem, options, result, error, run);
}

CommSchedStatus commschedSimulate(const CommSchedProblem *problem,
                                  const CommSchedOptions *options,
                                  const int32_t *order, size_t count,
                                  CommSchedResult **result, char **error) {
  auto run = [&](const Problem &problem, StepSchedulerOptions &with,
                 std::unique_ptr<CommSchedResult> &made) {
    if (!order && count)
      return isNull(error, "the order is");
    Order given = order ? Order(order, order + count) : problem.programOrder();
    return makeResult(problem, with.contention, std::move(given),
                      COMMSCHED_INVALID_ORDER, made, error);
  };
  return makeChecked(problem, options, result, error, run);
}

/// Writes what `compute` returns for the problem, and `getNs` for that.
template <typename ComputeFn, typename NsFn>
static CommSchedStatus computeBound(const CommSchedProblem *problem,
                                    int64_t *boundNs, char **error,
                                    ComputeFn compute, NsFn getNs) {
  return guard(error, [&] {
    if (!boundNs)
      return isNull(error, "the place for the bound is");
    CommSchedStatus status = check(problem, error);
    if (status != COMMSCHED_SUCCESS)
      return status;
    auto bound = compute(problem->problem);
    if (!bound)
      return fail(error, COMMSCHED_INVALID_PROBLEM, bound.error());
    *boundNs = getNs(*bound);
    return COMMSCHED_SUCCESS;
  });
}

CommSchedStatus commschedComputeLowerBound(const CommSchedProblem *problem,
                                           int64_t *boundNs, char **error) {
  return computeBound(problem, boundNs, error, computeLowerBound,
                      [](const LowerBound &bound) { return bound.ns(); });
}

CommSchedStatus commschedComputeTightLowerBound(const CommSchedProblem *problem,
                                                int64_t *boundNs,
                                                char **error) {
  return computeBound(problem, boundNs, error, computeTightLowerBound,
                      [](const TightLowerBound &bound) { return bound.ns; });
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

void commschedResultDestroy(CommSchedResult *result) { delete result; }

int32_t commschedResultGetNumNodes(const CommSchedResult *result) {
  return result ? static_cast<int32_t>(result->order.size()) : 0;
}

const int32_t *commschedResultGetOrder(const CommSchedResult *result) {
  return result ? result->order.data() : nullptr;
}

int64_t commschedResultGetStepNs(const CommSchedResult *result) {
  return result ? result->timeline.stepNs : 0;
}

int64_t commschedResultGetComputeNs(const CommSchedResult *result) {
  return result ? result->timeline.computeNs : 0;
}

int64_t commschedResultGetCommNs(const CommSchedResult *result) {
  return result ? result->timeline.commNs : 0;
}

int64_t commschedResultGetExposedCommNs(const CommSchedResult *result) {
  return result ? result->timeline.exposedCommNs : 0;
}

int64_t commschedResultGetPeakBytes(const CommSchedResult *result) {
  return result ? result->peakBytes : 0;
}

CommSchedOrigin commschedResultGetOrigin(const CommSchedResult *result) {
  return result ? CommSchedOrigin(result->origin) : COMMSCHED_ORIGIN_PROGRAM;
}

const int64_t *commschedResultGetBeginNs(const CommSchedResult *result) {
  return result ? result->timeline.beginNs.data() : nullptr;
}

const int64_t *commschedResultGetEndNs(const CommSchedResult *result) {
  return result ? result->timeline.endNs.data() : nullptr;
}

const int64_t *commschedResultGetExposedNs(const CommSchedResult *result) {
  return result ? result->timeline.exposedNs.data() : nullptr;
}
