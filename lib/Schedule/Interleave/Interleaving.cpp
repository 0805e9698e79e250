//===- Interleaving.cpp - Two programs in one order -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/Schedule/Interleave/Interleaving.h"

#include "../Model/RunState.h"
#include "CommSched/Schedule/Model/MemoryTimeline.h"
#include "CommSched/Schedule/Model/ProblemTransforms.h"
#include "CommSched/Schedule/Model/Verify.h"
#include "CommSched/Support/Unlimited.h"

#include <algorithm>
#include <limits>

using namespace mlir::commsched;
using namespace mlir::commsched::schedule;

/// The operations of both programs, in the order of the problem.
static std::array<Order, 2> splitOrder(const Order &order, NodeId numFirst) {
  std::array<Order, 2> orders;
  for (NodeId node : order)
    orders[node >= numFirst].push_back(node);
  return orders;
}

static Order concatenate(const std::array<Order, 2> &orders,
                         bool isSecondFirst) {
  Order order = orders[isSecondFirst];
  const Order &behind = orders[!isSecondFirst];
  order.insert(order.end(), behind.begin(), behind.end());
  return order;
}

//===----------------------------------------------------------------------===//
// The sequence
//===----------------------------------------------------------------------===//

/// Whether an operation of the second program depends on one of the first, or
/// uses what that makes.
static bool dependsOnFirst(const Problem &problem, NodeId numFirst) {
  for (NodeId node = numFirst; node < problem.numNodes(); ++node) {
    for (DependenceEnd end : problem.predecessors(node))
      if (end.node < numFirst)
        return true;
    for (BufferId id : problem.buffersUsedBy(node))
      if (NodeId producer = problem.buffer(id).producer;
          producer != noNode && producer < numFirst)
        return true;
  }
  return false;
}

Result<ProgramSequence> schedule::chooseSequence(const Problem &problem,
                                                 NodeId numFirst) {
  if (!problem.check())
    return problem.check();
  if (numFirst < 0 || numFirst > problem.numNodes())
    return Error{"the first program has " + std::to_string(numFirst) + " of " +
                 std::to_string(problem.numNodes()) + " operations"};
  if (Status status = verify(problem, problem.programOrder()); !status)
    return Error{"the program is not a legal order: " + status.error()};
  ProgramSequence sequence;
  sequence.order = problem.programOrder();
  Result<MemoryTimeline> memory = simulateMemory(problem, sequence.order);
  if (!memory)
    return Error{memory.error()};
  sequence.peakBytes = memory->peakBytes;
  if (dependsOnFirst(problem, numFirst))
    return sequence;
  Order reversed = concatenate(splitOrder(sequence.order, numFirst),
                               /*isSecondFirst=*/true);
  Result<MemoryTimeline> other = simulateMemory(problem, reversed);
  if (!other)
    return Error{other.error()};
  if (other->peakBytes < sequence.peakBytes)
    sequence = {std::move(reversed), other->peakBytes, /*isSecondFirst=*/true};
  return sequence;
}

//===----------------------------------------------------------------------===//
// Each program alone
//===----------------------------------------------------------------------===//

namespace {

/// One of the two programs as a problem of its own.
struct LoneProgram {
  Problem problem;
  /// Of the buffers that it uses or makes: what is live from the start.
  int64_t initialBytes = 0;
};

} // namespace

/// Returns the operations from `begin` to `end` as a problem. What the others
/// use, too, stays live to the end if `keepsShared`.
static LoneProgram extract(const Problem &problem, NodeId begin, NodeId end,
                           bool keepsShared) {
  auto isInside = [&](NodeId node) { return node >= begin && node < end; };
  LoneProgram lone;
  for (NodeId node = begin; node < end; ++node) {
    NodeId added =
        problem.kind(node) == NodeKind::Wait
            ? lone.problem.addWait(problem.startOf(node) - begin)
            : lone.problem.addNode(problem.kind(node), problem.costNs(node),
                                   problem.stream(node));
    if (problem.isExpensive(node))
      lone.problem.setExpensive(added);
  }
  for (NodeId node = begin; node < end; ++node)
    for (DependenceEnd next : problem.successors(node))
      if (isInside(next.node) && (problem.startOf(next.node) != node ||
                                  next.kind != DependenceKind::Data))
        lone.problem.addDependence(node - begin, next.node - begin, next.kind);
  for (BufferId id = 0; id < problem.numBuffers(); ++id) {
    const Buffer &buffer = problem.buffer(id);
    ArrayView<NodeId> users = problem.users(id);
    bool isMade = buffer.producer != noNode && isInside(buffer.producer);
    auto numInside = std::count_if(users.begin(), users.end(), isInside);
    if (!isMade && numInside == 0)
      continue;
    bool isShared = static_cast<size_t>(numInside) < users.size();
    BufferId added = lone.problem.addBuffer(
        buffer.bytes, isMade ? buffer.producer - begin : noNode,
        buffer.freed && !(keepsShared && isShared));
    if (!isMade)
      lone.initialBytes += buffer.bytes;
    for (NodeId user : users)
      if (isInside(user))
        lone.problem.addUse(added, user - begin);
  }
  lone.problem.finalize();
  return lone;
}

/// The limit without bytes that are held beside a program.
static int64_t takeOff(int64_t limitBytes, int64_t otherBytes) {
  return limitBytes == unlimited ? unlimited : limitBytes - otherBytes;
}

/// Schedules both programs, one after the other. Returns their orders.
static Result<std::array<Order, 2>>
scheduleAlone(const Problem &problem, NodeId numFirst,
              const ProgramSequence &sequence,
              const StepSchedulerOptions &options) {
  std::array<Order, 2> orders;
  LiveBytes live(problem);
  for (bool isBehind : {false, true}) {
    bool isSecond = sequence.isSecondFirst != isBehind;
    NodeId begin = isSecond ? numFirst : 0;
    NodeId end = isSecond ? problem.numNodes() : numFirst;
    LoneProgram lone = extract(problem, begin, end, /*keepsShared=*/!isBehind);
    StepSchedulerOptions with = options;
    with.limitBytes =
        takeOff(options.limitBytes, live.bytes() - lone.initialBytes);
    Result<StepSchedule> schedule = scheduleStepOnce(lone.problem, with);
    if (!schedule)
      return Error{schedule.error()};
    for (NodeId node : schedule->order) {
      orders[isSecond].push_back(node + begin);
      live.issue(node + begin);
    }
  }
  return orders;
}

//===----------------------------------------------------------------------===//
// Merging
//===----------------------------------------------------------------------===//

/// Returns the best of the merged orders, if it is better than `best`: with
/// weights far apart, then with nearer ones on both sides of the best. The
/// first program often has to lag behind a little, so that computation of it is
/// left at the end, beside the last reductions of the second.
static Result<StepSchedule> mergeBest(const Problem &problem,
                                      const std::array<Order, 2> &orders,
                                      const StepSchedulerOptions &options,
                                      StepSchedule best) {
  double bestWeight = 1;
  auto tryWeight = [&](double weight) -> Status {
    Result<StepSchedule> merged = measureStep(
        problem, mergeOrders(problem, orders, options.limitBytes, weight),
        options.contention, ScheduleOrigin::Constructed);
    if (!merged)
      return Error{merged.error()};
    if (!isBetter(merged->rank(options.limitBytes),
                  best.rank(options.limitBytes)))
      return Status::success();
    best = std::move(*merged);
    bestWeight = weight;
    return Status::success();
  };
  Status status = Status::success();
  constexpr double always = std::numeric_limits<double>::infinity();
  for (double weight :
       {1.0, 0.9, 0.8, 0.7, 0.5, 0.25, 1.25, 2.0, 4.0, 0.0, always})
    if (status)
      status = tryWeight(weight);
  for (double distance : {0.3, 0.1, 0.03, 0.01}) {
    double center = bestWeight;
    for (double weight : {center * (1 - distance), center * (1 + distance)})
      if (status)
        status = tryWeight(weight);
  }
  if (!status)
    return status;
  return best;
}

Result<Interleaving> schedule::interleave(const Problem &problem,
                                          NodeId numFirst,
                                          const ProgramSequence &sequence,
                                          const StepSchedulerOptions &options) {
  if (!problem.check())
    return problem.check();
  Result<std::array<Order, 2>> orders =
      scheduleAlone(problem, numFirst, sequence, options);
  if (!orders)
    return Error{orders.error()};
  Interleaving result;
  Result<StepSchedule> alone =
      measureStep(problem, concatenate(*orders, sequence.isSecondFirst),
                  options.contention, ScheduleOrigin::Constructed);
  if (!alone)
    return Error{alone.error()};
  result.sequence = std::move(*alone);
  Result<StepSchedule> merged =
      mergeBest(problem, *orders, options, result.sequence);
  if (!merged)
    return Error{merged.error()};
  // A program that is alone may keep what it could free: up to the limit there
  // is no other use for the memory.
  std::array<Order, 2> early;
  for (size_t index : {0, 1})
    early[index] = freeEarly(problem, (*orders)[index]);
  if (options.limitBytes != unlimited && early != *orders)
    merged = mergeBest(problem, early, options, std::move(*merged));
  if (!merged)
    return Error{merged.error()};
  result.merged = std::move(*merged);
  return result;
}
