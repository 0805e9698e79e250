//===- UnhinderedMoves.cpp - Moves of single exposed collectives ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/Schedule/Exposure/ExposureReasons.h"
#include "SmallSteps.h"

#include <algorithm>
#include <limits>

using namespace mlir::commsched;
using namespace mlir::commsched::schedule;

/// Makes the move of `reason` in `order`.
static void makeMove(const Problem &problem, const ExposureReason &reason,
                     Order &order) {
  std::vector<char> isMoving(problem.numNodes());
  for (NodeId node : reason.moving)
    isMoving[node] = true;
  Order moved;
  moved.reserve(order.size());
  auto append = [&] {
    moved.insert(moved.end(), reason.moving.begin(), reason.moving.end());
  };
  for (NodeId node : order) {
    if (isMoving[node])
      continue;
    bool isOther = node == reason.other;
    if (isOther && reason.move == ExposureMove::StartEarlier)
      append();
    moved.push_back(node);
    if (isOther && reason.move == ExposureMove::WaitLater)
      append();
  }
  order = std::move(moved);
}

/// The moves that make the step of `order` shorter, the largest gain first.
static Result<std::vector<ExposureReason>>
listMoves(const Problem &problem, const Order &order,
          const ExposureOptions &options) {
  Result<std::vector<ExposureReason>> reasons =
      explainExposure(problem, order, options);
  if (!reasons)
    return reasons;
  auto end = std::remove_if(
      reasons->begin(), reasons->end(), [](const ExposureReason &reason) {
        return reason.cause != ExposureCause::Unhindered || !reason.gainNs;
      });
  reasons->erase(end, reasons->end());
  std::stable_sort(reasons->begin(), reasons->end(),
                   [](const ExposureReason &a, const ExposureReason &b) {
                     return *a.gainNs > *b.gainNs;
                   });
  return reasons;
}

Result<StepSchedule>
schedule::makeUnhinderedMoves(const Problem &problem, StepSchedule schedule,
                              const StepSchedulerOptions &options) {
  constexpr int32_t maxRounds = 32;
  ExposureOptions exposure{options};
  exposure.effort = options.effort;
  exposure.limitBytes = std::max(options.limitBytes, schedule.peakBytes);
  auto makeIfShorter = [&](ArrayView<ExposureReason> moves) {
    Order order = schedule.order;
    for (const ExposureReason &move : moves)
      makeMove(problem, move, order);
    Result<StepSchedule> moved =
        measureStep(problem, std::move(order), options.contention,
                    ScheduleOrigin::Constructed);
    if (!moved || moved->peakBytes > exposure.limitBytes ||
        moved->stepNs >= schedule.stepNs)
      return false;
    schedule = std::move(*moved);
    return true;
  };
  // Rounds that gain less are a long way to little.
  constexpr int64_t leastPart = 131072;
  int64_t beforeNs = std::numeric_limits<int64_t>::max();
  for (int32_t round = 0;
       round < maxRounds && beforeNs - schedule.stepNs > beforeNs / leastPart;
       ++round) {
    beforeNs = schedule.stepNs;
    Result<std::vector<ExposureReason>> moves =
        listMoves(problem, schedule.order, exposure);
    if (!moves)
      return Error{moves.error()};
    // Most often none is in the way of another. Else, behind another move, one
    // may be illegal, or not pay.
    if (makeIfShorter({moves->data(), moves->size()}))
      continue;
    for (const ExposureReason &move : *moves)
      makeIfShorter({&move, 1});
  }
  return schedule;
}
