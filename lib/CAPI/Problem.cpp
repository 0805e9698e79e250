//===- Problem.cpp - C interface of problems ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Objects.h"

#include <initializer_list>
#include <limits>

using namespace mlir::commsched;
using namespace mlir::commsched::capi;
using namespace mlir::commsched::schedule;

static_assert(COMMSCHED_COMPUTE == int(NodeKind::Compute) &&
              COMMSCHED_START == int(NodeKind::Start) &&
              COMMSCHED_WAIT == int(NodeKind::Wait) &&
              COMMSCHED_BLOCKING == int(NodeKind::Blocking));
static_assert(COMMSCHED_DATA == int(DependenceKind::Data) &&
              COMMSCHED_MEMORY == int(DependenceKind::Memory) &&
              COMMSCHED_ORDER == int(DependenceKind::Order) &&
              COMMSCHED_BARRIER == int(DependenceKind::Barrier) &&
              COMMSCHED_STREAM == int(DependenceKind::Stream));

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
  if (kind < COMMSCHED_DATA || kind > COMMSCHED_STREAM) {
    problem.note("the dependence of node " + std::to_string(to) + " on node " +
                 std::to_string(from) + " has kind " + std::to_string(kind) +
                 ", but kinds are numbered from 0 to " +
                 std::to_string(COMMSCHED_STREAM));
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
  // A wait without a start is an error that finalize() reports.
  return guardIndex(problem, [&](CommSchedProblem &to) {
    return addNode(to, kind, costNs, stream, noNode);
  });
}

int32_t commschedProblemAddWait(CommSchedProblem *problem, int32_t start) {
  return guardIndex(problem, [&](CommSchedProblem &to) {
    return addNode(to, COMMSCHED_WAIT, 0, noStream, start);
  });
}

int32_t commschedProblemAddDependence(CommSchedProblem *problem, int32_t from,
                                      int32_t to, int kind) {
  return guardIndex(problem, [&](CommSchedProblem &inner) {
    addDependence(inner, from, to, kind);
  });
}

int32_t commschedProblemAddBuffer(CommSchedProblem *problem, int64_t bytes,
                                  int32_t producer, int isFreed) {
  return guardIndex(problem, [&](CommSchedProblem &to) {
    if (static_cast<size_t>(to.problem.numBuffers()) >= maxCount)
      return -1;
    return to.problem.addBuffer(bytes, producer, isFreed != 0);
  });
}

int32_t commschedProblemAddUse(CommSchedProblem *problem, int32_t buffer,
                               int32_t node) {
  return guardIndex(
      problem, [&](CommSchedProblem &to) { to.problem.addUse(buffer, node); });
}

int32_t commschedProblemSetExpensive(CommSchedProblem *problem, int32_t node) {
  return guardIndex(problem, [&](CommSchedProblem &of) {
    if (node >= 0 && node < of.problem.numNodes())
      of.problem.setExpensive(node);
    else
      of.note("node " + std::to_string(node) +
              " is marked as expensive; the problem has " +
              std::to_string(of.problem.numNodes()) + " nodes");
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
