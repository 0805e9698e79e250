//===- Schedule.cpp - C interface of the scheduler ------------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "commsched-c/Schedule.h"

#include "CommSched/Schedule/Bounds/LowerBounds.h"
#include "CommSched/Schedule/Model/MemoryTimeline.h"
#include "CommSched/Schedule/Model/Simulator.h"
#include "CommSched/Schedule/Model/Verify.h"
#include "CommSched/Schedule/Step/StepScheduler.h"

#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <memory>
#include <new>
#include <stdexcept>

using namespace mlir::commsched;
using namespace mlir::commsched::schedule;

static_assert(COMMSCHED_COMPUTE == int(NodeKind::Compute) &&
              COMMSCHED_START == int(NodeKind::Start) &&
              COMMSCHED_WAIT == int(NodeKind::Wait) &&
              COMMSCHED_BLOCKING == int(NodeKind::Blocking));
static_assert(COMMSCHED_DATA == int(DependenceKind::Data) &&
              COMMSCHED_MEMORY == int(DependenceKind::Memory) &&
              COMMSCHED_ORDER == int(DependenceKind::Order) &&
              COMMSCHED_BARRIER == int(DependenceKind::Barrier));
static_assert(
    COMMSCHED_ORIGIN_PROGRAM == int(ScheduleOrigin::Program) &&
    COMMSCHED_ORIGIN_SIMPLE_OVERLAP == int(ScheduleOrigin::SimpleOverlap) &&
    COMMSCHED_ORIGIN_CONSTRUCTED == int(ScheduleOrigin::Constructed) &&
    COMMSCHED_ORIGIN_LEAST_MEMORY == int(ScheduleOrigin::LeastMemory));

/// What a Problem cannot hold, because its functions take enumerations and
/// existing nodes, is kept beside it until it is finalized.
struct CommSchedProblem {
  Problem problem;
  /// The first such mistake, or empty.
  std::string mistake;

  void note(std::string text) {
    if (mistake.empty())
      mistake = std::move(text);
  }
};

struct CommSchedOptions {
  StepSchedulerOptions options;
};

struct CommSchedResult {
  Order order;
  Timeline timeline;
  int64_t peakBytes = 0;
  ScheduleOrigin origin = ScheduleOrigin::Program;
};

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

static CommSchedStatus fail(char **error, CommSchedStatus status,
                            const char *text) {
  if (!error)
    return status;
  size_t size = std::strlen(text) + 1;
  *error = static_cast<char *>(std::malloc(size));
  if (*error)
    std::memcpy(*error, text, size);
  return status;
}

static CommSchedStatus fail(char **error, CommSchedStatus status,
                            const std::string &text) {
  return fail(error, status, text.c_str());
}

/// Calls `run`, and turns what the standard library throws into errors.
template <typename RunFn>
static CommSchedStatus guard(char **error, RunFn run) noexcept {
  if (error)
    *error = nullptr;
  try {
    return run();
  } catch (const std::bad_alloc &) {
    return fail(error, COMMSCHED_OUT_OF_MEMORY, "memory is exhausted");
  } catch (const std::length_error &) {
    return fail(error, COMMSCHED_OUT_OF_MEMORY, "memory is exhausted");
  } catch (const std::exception &exception) {
    return fail(error, COMMSCHED_INTERNAL_ERROR, exception.what());
  }
}

/// The same for functions that return an index or -1.
template <typename RunFn> static int32_t guardIndex(RunFn run) noexcept {
  try {
    return run();
  } catch (const std::exception &) {
    return -1;
  }
}

static CommSchedStatus isNull(char **error, const char *what) {
  return fail(error, COMMSCHED_INVALID_ARGUMENT, std::string(what) + " NULL");
}

const char *commschedGetVersion() { return COMMSCHED_VERSION; }

void commschedErrorDestroy(char *error) { std::free(error); }

//===----------------------------------------------------------------------===//
// Building problems
//===----------------------------------------------------------------------===//

/// How many nodes or buffers a problem can have: as many as an index can name.
static constexpr size_t maxCount = std::numeric_limits<int32_t>::max();

static NodeId addNode(CommSchedProblem &problem, int kind, int64_t costNs,
                      StreamId stream, NodeId start) {
  NodeId node = problem.problem.numNodes();
  if (static_cast<size_t>(node) >= maxCount)
    return -1;
  if (kind < COMMSCHED_COMPUTE || kind > COMMSCHED_BLOCKING) {
    problem.note("node " + std::to_string(node) + " has kind " +
                 std::to_string(kind) + ", but kinds are numbered from 0 to " +
                 std::to_string(COMMSCHED_BLOCKING));
    kind = COMMSCHED_COMPUTE;
  }
  if (kind != COMMSCHED_WAIT)
    return problem.problem.addNode(NodeKind(kind), costNs, stream);
  if (costNs != 0 || stream != noStream)
    problem.note("node " + std::to_string(node) + " (wait) has a cost of " +
                 std::to_string(costNs) + " ns and stream " +
                 std::to_string(stream) +
                 ", but a wait has cost 0 and no "
                 "stream");
  return problem.problem.addWait(start);
}

static void addDependence(CommSchedProblem &problem, NodeId from, NodeId to,
                          int kind) {
  if (kind < COMMSCHED_DATA || kind > COMMSCHED_BARRIER) {
    problem.note("the dependence of node " + std::to_string(to) + " on node " +
                 std::to_string(from) + " has kind " + std::to_string(kind) +
                 ", but kinds are numbered from 0 to " +
                 std::to_string(COMMSCHED_BARRIER));
    kind = COMMSCHED_DATA;
  }
  problem.problem.addDependence(from, to, DependenceKind(kind));
}

CommSchedProblem *commschedProblemCreate() {
  return new (std::nothrow) CommSchedProblem();
}

void commschedProblemDestroy(CommSchedProblem *problem) { delete problem; }

int32_t commschedProblemAddNode(CommSchedProblem *problem, int kind,
                                int64_t costNs, int32_t stream) {
  if (!problem)
    return -1;
  // A wait without a start is an error that finalize() reports.
  return guardIndex(
      [&] { return addNode(*problem, kind, costNs, stream, noNode); });
}

int32_t commschedProblemAddWait(CommSchedProblem *problem, int32_t start) {
  if (!problem)
    return -1;
  return guardIndex(
      [&] { return addNode(*problem, COMMSCHED_WAIT, 0, noStream, start); });
}

int32_t commschedProblemAddDependence(CommSchedProblem *problem, int32_t from,
                                      int32_t to, int kind) {
  if (!problem)
    return -1;
  return guardIndex([&] {
    addDependence(*problem, from, to, kind);
    return 0;
  });
}

int32_t commschedProblemAddBuffer(CommSchedProblem *problem, int64_t bytes,
                                  int32_t producer, int isFreed) {
  if (!problem ||
      static_cast<size_t>(problem->problem.numBuffers()) >= maxCount)
    return -1;
  return guardIndex([&] {
    return problem->problem.addBuffer(bytes, producer, isFreed != 0);
  });
}

int32_t commschedProblemAddUse(CommSchedProblem *problem, int32_t buffer,
                               int32_t node) {
  if (!problem)
    return -1;
  return guardIndex([&] {
    problem->problem.addUse(buffer, node);
    return 0;
  });
}

int32_t commschedProblemSetExpensive(CommSchedProblem *problem, int32_t node) {
  if (!problem)
    return -1;
  return guardIndex([&] {
    Problem &inner = problem->problem;
    if (node >= 0 && node < inner.numNodes())
      inner.setExpensive(node);
    else
      problem->note("node " + std::to_string(node) +
                    " is marked as expensive; the problem has " +
                    std::to_string(inner.numNodes()) + " nodes");
    return 0;
  });
}

/// Checks what the functions that add many have in common.
static CommSchedStatus checkBulk(const CommSchedProblem *problem, size_t count,
                                 std::initializer_list<const void *> arrays,
                                 char **error) {
  if (!problem)
    return isNull(error, "the problem is");
  if (count == 0)
    return COMMSCHED_SUCCESS;
  for (const void *array : arrays)
    if (!array)
      return isNull(error, "an array that is needed is");
  if (count > maxCount)
    return fail(error, COMMSCHED_INVALID_ARGUMENT,
                "there are " + std::to_string(count) +
                    " elements, more than an index can name");
  return COMMSCHED_SUCCESS;
}

/// That `count` more nodes or buffers do not fit beside `present`.
static CommSchedStatus checkRoom(size_t present, size_t count, char **error) {
  if (count <= maxCount - present)
    return COMMSCHED_SUCCESS;
  return fail(error, COMMSCHED_INVALID_ARGUMENT,
              std::to_string(count) + " elements after " +
                  std::to_string(present) + " are more than an index can name");
}

CommSchedStatus commschedProblemAddNodes(CommSchedProblem *problem,
                                         size_t count, const uint8_t *kinds,
                                         const int64_t *costsNs,
                                         const int32_t *streams,
                                         const int32_t *starts, char **error) {
  return guard(error, [&] {
    CommSchedStatus status =
        checkBulk(problem, count, {kinds, costsNs, streams}, error);
    if (status == COMMSCHED_SUCCESS)
      status = checkRoom(problem->problem.numNodes(), count, error);
    if (status != COMMSCHED_SUCCESS)
      return status;
    if (!starts && count && std::memchr(kinds, COMMSCHED_WAIT, count))
      return isNull(error, "there are waits, but the array of starts is");
    for (size_t i = 0; i < count; ++i)
      addNode(*problem, kinds[i], costsNs[i], streams[i],
              starts ? starts[i] : noNode);
    return COMMSCHED_SUCCESS;
  });
}

CommSchedStatus
commschedProblemAddDependences(CommSchedProblem *problem, size_t count,
                               const int32_t *from, const int32_t *to,
                               const uint8_t *kinds, char **error) {
  return guard(error, [&] {
    CommSchedStatus status = checkBulk(problem, count, {from, to}, error);
    if (status != COMMSCHED_SUCCESS)
      return status;
    for (size_t i = 0; i < count; ++i)
      addDependence(*problem, from[i], to[i],
                    kinds ? kinds[i] : int(COMMSCHED_DATA));
    return COMMSCHED_SUCCESS;
  });
}

CommSchedStatus commschedProblemAddBuffers(CommSchedProblem *problem,
                                           size_t count, const int64_t *bytes,
                                           const int32_t *producers,
                                           const uint8_t *isFreed,
                                           char **error) {
  return guard(error, [&] {
    CommSchedStatus status =
        checkBulk(problem, count, {bytes, producers}, error);
    if (status == COMMSCHED_SUCCESS)
      status = checkRoom(problem->problem.numBuffers(), count, error);
    if (status != COMMSCHED_SUCCESS)
      return status;
    for (size_t i = 0; i < count; ++i)
      problem->problem.addBuffer(bytes[i], producers[i],
                                 !isFreed || isFreed[i]);
    return COMMSCHED_SUCCESS;
  });
}

CommSchedStatus commschedProblemAddUses(CommSchedProblem *problem, size_t count,
                                        const int32_t *buffers,
                                        const int32_t *nodes, char **error) {
  return guard(error, [&] {
    CommSchedStatus status = checkBulk(problem, count, {buffers, nodes}, error);
    if (status != COMMSCHED_SUCCESS)
      return status;
    for (size_t i = 0; i < count; ++i)
      problem->problem.addUse(buffers[i], nodes[i]);
    return COMMSCHED_SUCCESS;
  });
}

//===----------------------------------------------------------------------===//
// Reading problems
//===----------------------------------------------------------------------===//

/// That `problem` is there and was finalized without an error.
static CommSchedStatus check(const CommSchedProblem *problem, char **error) {
  if (!problem)
    return isNull(error, "the problem is");
  if (!problem->mistake.empty())
    return fail(error, COMMSCHED_INVALID_PROBLEM, problem->mistake);
  if (const Status &status = problem->problem.check(); !status)
    return fail(error, COMMSCHED_INVALID_PROBLEM, status.error());
  return COMMSCHED_SUCCESS;
}

CommSchedStatus commschedProblemFinalize(CommSchedProblem *problem,
                                         char **error) {
  return guard(error, [&] {
    if (problem && problem->mistake.empty())
      (void)problem->problem.finalize();
    return check(problem, error);
  });
}

int32_t commschedProblemGetNumNodes(const CommSchedProblem *problem) {
  return problem ? problem->problem.numNodes() : 0;
}

int32_t commschedProblemGetNumBuffers(const CommSchedProblem *problem) {
  return problem ? problem->problem.numBuffers() : 0;
}

int32_t commschedProblemGetPartner(const CommSchedProblem *problem,
                                   int32_t node) {
  if (!problem || !problem->mistake.empty() || !problem->problem.check() ||
      node < 0 || node >= problem->problem.numNodes())
    return noNode;
  const Problem &inner = problem->problem;
  return inner.kind(node) == NodeKind::Wait ? inner.startOf(node)
                                            : inner.waitOf(node);
}

//===----------------------------------------------------------------------===//
// Options
//===----------------------------------------------------------------------===//

CommSchedOptions *commschedOptionsCreate() {
  return new (std::nothrow) CommSchedOptions();
}

void commschedOptionsDestroy(CommSchedOptions *options) { delete options; }

/// Calls `set` with the options, unless they are NULL.
template <typename SetFn>
static int setOption(CommSchedOptions *options, SetFn set) {
  if (!options)
    return -1;
  return guardIndex([&] {
    set(options->options);
    return 0;
  });
}

int commschedOptionsSetMemoryLimit(CommSchedOptions *options, int64_t bytes) {
  return setOption(
      options, [&](StepSchedulerOptions &with) { with.limitBytes = bytes; });
}

int commschedOptionsSetSlackPercent(CommSchedOptions *options,
                                    int32_t percent) {
  return setOption(options, [&](StepSchedulerOptions &with) {
    with.slackPercent = percent;
  });
}

int commschedOptionsSetEffort(CommSchedOptions *options, int64_t nodes) {
  return setOption(options,
                   [&](StepSchedulerOptions &with) { with.effort = nodes; });
}

int commschedOptionsAddExclusiveStreams(CommSchedOptions *options,
                                        int32_t stream, int32_t otherStream) {
  return setOption(options, [&](StepSchedulerOptions &with) {
    with.contention.exclusive.push_back({stream, otherStream});
  });
}

int commschedOptionsSetLinks(CommSchedOptions *options, size_t count,
                             const int32_t *links) {
  if (!links && count)
    return -1;
  return setOption(options, [&](StepSchedulerOptions &with) {
    with.contention.links.assign(links, links + count);
  });
}

int commschedOptionsSetComputeSlowdown(CommSchedOptions *options,
                                       int64_t partsPerMillion) {
  return setOption(options, [&](StepSchedulerOptions &with) {
    with.contention.computeSlowdownPpm = partsPerMillion;
  });
}

/// Checks what `options` say by themselves and of `problem`, which is checked.
static CommSchedStatus check(const StepSchedulerOptions &options,
                             const Problem &problem, char **error) {
  auto isNegative = [&](const char *what, int64_t value) {
    return fail(error, COMMSCHED_INVALID_ARGUMENT,
                std::string(what) + " must not be negative, but is " +
                    std::to_string(value));
  };
  if (options.limitBytes < 0)
    return isNegative("the memory limit", options.limitBytes);
  if (options.slackPercent < 0)
    return isNegative("the slack", options.slackPercent);
  if (options.effort < 0)
    return isNegative("the effort", options.effort);
  if (Status status = schedule::check(options.contention, problem); !status)
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
    StepSchedulerOptions with =
        options ? options->options : StepSchedulerOptions();
    status = check(with, problem->problem, error);
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

CommSchedStatus commschedComputeLowerBound(const CommSchedProblem *problem,
                                           int64_t *boundNs, char **error) {
  return guard(error, [&] {
    if (!boundNs)
      return isNull(error, "the place for the bound is");
    CommSchedStatus status = check(problem, error);
    if (status != COMMSCHED_SUCCESS)
      return status;
    Result<LowerBound> bound = computeLowerBound(problem->problem);
    if (!bound)
      return fail(error, COMMSCHED_INVALID_PROBLEM, bound.error());
    *boundNs = bound->ns();
    return COMMSCHED_SUCCESS;
  });
}

CommSchedStatus commschedComputeTightLowerBound(const CommSchedProblem *problem,
                                                int64_t *boundNs,
                                                char **error) {
  return guard(error, [&] {
    if (!boundNs)
      return isNull(error, "the place for the bound is");
    CommSchedStatus status = check(problem, error);
    if (status != COMMSCHED_SUCCESS)
      return status;
    Result<TightLowerBound> bound = computeTightLowerBound(problem->problem);
    if (!bound)
      return fail(error, COMMSCHED_INVALID_PROBLEM, bound.error());
    *boundNs = bound->ns;
    return COMMSCHED_SUCCESS;
  });
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
