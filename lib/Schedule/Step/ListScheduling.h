//===- ListScheduling.h - List scheduling by ranks --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Orders by list scheduling, in which ranks decide what runs first of what is
// ready. Memory is not considered, except that a window keeps operations near
// their places.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_SCHEDULE_STEP_LISTSCHEDULING_H
#define COMMSCHED_LIB_SCHEDULE_STEP_LISTSCHEDULING_H

#include "CommSched/Schedule/Model/Problem.h"

#include <limits>
#include <optional>

namespace mlir::commsched::schedule {

/// An order, and how long simulate() says that it takes.
struct RankedOrder {
  Order order;
  int64_t stepNs = 0;
};

/// How far list scheduling may change the order of a program.
struct ListWindow {
  /// A node may run when all but this many of the nodes before it have.
  int32_t length = std::numeric_limits<int32_t>::max();
  /// By node: whether it is issued in its place and not before.
  std::vector<bool> isFixed;
};

/// List scheduling: of what is ready, the compute stream and the communication
/// streams take the first by rank, then by index. Collectives are waited for
/// when they have ended, and earlier only if there is nothing to compute.
/// `problem` has no error; with a window its program is a legal order. O((nodes
/// + dependences) * log(nodes)).
RankedOrder scheduleByRank(const Problem &problem,
                           const std::vector<int64_t> &ranks,
                           const ListWindow &window = {});

/// Schedules a problem whose streams run the collectives in the order `starts`,
/// which has all starts once. Of the computations that are ready, the first is
/// the one that the earliest of `starts` depends on. std::nullopt if the order
/// contradicts the dependences. O((nodes + dependences) * log(nodes)).
std::optional<RankedOrder> scheduleByStarts(const Problem &problem,
                                            const Order &starts);

/// The index of each operation in the topological order: the program's, if that
/// is legal. O(nodes).
std::vector<int64_t> rankByProgram(const Problem &problem);

/// By operation the length of the longest chain of operations that follow it,
/// in nanoseconds; for a Start, that follow its end. O(nodes + dependences).
std::vector<int64_t> computeTails(const Problem &problem);

/// The tails with the costs of the operations themselves, negative, so that
/// what has most behind it comes first. A collective is followed, too, by what
/// comes behind it in the program and computes what the next one of its stream
/// sends: a chunk is sent before the next is computed. O((nodes + dependences)
/// * streams).
std::vector<int64_t> rankByTail(const Problem &problem);

} // namespace mlir::commsched::schedule

#endif // COMMSCHED_LIB_SCHEDULE_STEP_LISTSCHEDULING_H
