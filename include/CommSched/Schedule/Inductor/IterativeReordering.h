//===- IterativeReordering.h - Iterative reordering -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory-aware reordering that moves single starts and waits past their
// neighbours, together with dependent cheap operations, while live memory stays
// within a limit. The rules are those of
// reorder_communication_preserving_peak_memory and sink_waits_iterative in
// PyTorch Inductor's comms.py (2.13), which swaps neighbours one by one; here a
// search finds the next operation that stops the group. What differs, and why,
// is in docs/reference/inductor.md.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_SCHEDULE_INDUCTOR_ITERATIVEREORDERING_H
#define COMMSCHED_SCHEDULE_INDUCTOR_ITERATIVEREORDERING_H

#include "CommSched/Schedule/Model/Problem.h"

#include <limits>
#include <optional>

namespace mlir::commsched::schedule {

/// Options of both solvers. Names in parentheses are the reference's, the first
/// for reorderComms() and the second for sinkWaitsIteratively().
struct IterativeReorderingOptions {
  /// Bytes of live memory that no step may exceed, arguments included; not
  /// negative.
  int64_t limitBytes = std::numeric_limits<int64_t>::max();
  /// Stop when a collective is hidden, and weigh what others lose
  /// (reorder_iterative_use_runtime_estimations,
  /// sink_iterative_use_runtime_estimations).
  bool useRuntimeEstimations = false;
  /// With estimations, a collective is hidden once computation lasts this much
  /// longer, as a fraction of its time, than it does
  /// (reorder_iterative_extra_comm_comp_overlap,
  /// sink_iterative_extra_comm_comp_overlap).
  double extraOverlap = 0.5;
  /// Factors of the costs of collectives and of other operations in these
  /// decisions (reorder_sink_runtime_estimations_comm_mult,
  /// reorder_sink_runtime_estimations_non_comm_mult). Products are rounded to
  /// the nearest nanosecond, halves to even.
  double commMultiplier = 2.0;
  double computeMultiplier = 1.0;
  /// reorderComms(): let a start pass other collectives that it does not depend
  /// on (reorder_iterative_unsafe_collectives_reorder). Beware: starts that all
  /// find room at the top then come out in reverse, so that on one stream those
  /// that are needed first come last. sinkWaitsIteratively(): let a group with
  /// a blocking collective pass other collectives
  /// (sink_waits_iterative_unsafe_collectives_reorder).
  bool reorderCollectives = true;
  /// reorderComms(): take collectives along that a member depends on
  /// (reorder_iterative_group_with_collectives). sinkWaitsIteratively(): let
  /// waits pass starts (sink_waits_iterative_swap_with_collectives).
  bool withCollectives = false;
  /// How many operations a collective takes along at most. The reference has no
  /// bound, and takes time quadratic in the operations where long chains of
  /// cheap ones lead to many collectives.
  int64_t maxGroupSize = 256;
  /// Move only so many collectives
  /// (reorder_iterative_debug_limit_to_reorder,
  /// sink_waits_iterative_debug_limit_to_sink).
  std::optional<int64_t> maxCollectives;
  /// Compare the live memory of all operations with a simulation from scratch
  /// after each move, and fail where they differ
  /// (reorder_iterative_debug_memory_recompute).
  bool recomputeMemory = false;
  /// How many of the operations that a collective passed are listed.
  size_t maxPassedListed = 0;
};

/// The reason for which an operation stopped.
enum class MoveLimit {
  /// There was nothing left to pass.
  None,
  /// A member of the group depends on the operation in the way, or the other
  /// way round, and the group does not take it along.
  Dependence,
  /// The group would take it along, but has as many members as it may.
  GroupSize,
  /// A collective is in the way that may not be passed.
  Collective,
  /// Passing the operation in the way takes more memory than the limit.
  Memory,
  /// Estimations: computation beside the collective lasts long enough.
  Hidden,
  /// Estimations: others would be exposed more than this one gains.
  Exposure,
};

/// The moves of one start or wait.
struct CollectiveMoves {
  NodeId node = noNode;
  /// How many operations it passed, and how many it took along.
  int64_t moves = 0;
  int64_t grouped = 0;
  MoveLimit limit = MoveLimit::None;
  /// The operation in the way; noNode if none was.
  NodeId obstacle = noNode;
  /// Dependence, GroupSize: its kind.
  DependenceKind dependence = DependenceKind::Data;
  /// Memory: the live bytes that passing the obstacle would have taken.
  int64_t neededBytes = 0;
  /// The first operations that it passed, in the order in which it passed them.
  std::vector<NodeId> passed;
};

/// An order, and how it came about.
struct IterativeReordering {
  Order order;
  /// Live bytes of the program's order and of `order` at their peaks.
  int64_t oldPeakBytes = 0;
  int64_t newPeakBytes = 0;
  /// One entry for each collective that was looked at, in the order in which
  /// they were.
  std::vector<CollectiveMoves> collectives;
};

/// Moves starts up, the first of the program first, each together with cheap
/// operations that it depends on.
///
/// Starts from the program's order, which has to be legal. The answer is legal,
/// and its peak is within the limit or not above that of the program's order.
/// O((nodes + dependences + uses) log n) on average for collectives that take
/// little along, at most maxGroupSize times that; with estimations plus O(log
/// n) for each pair of collectives of which one passes the other.
Result<IterativeReordering>
reorderComms(const Problem &problem, const IterativeReorderingOptions &options);

/// Moves waits down, the last of the program first, each together with cheap
/// operations that need its result, up to the next start. Otherwise as
/// reorderComms().
Result<IterativeReordering>
sinkWaitsIteratively(const Problem &problem,
                     const IterativeReorderingOptions &options);

/// Where the walk begins that finds the window of a collective: the computation
/// in it is taken to hide the collective.
enum class ExposureWalk {
  /// At the start (`_coll_exposed_communication_time` of Inductor's comms.py).
  /// The window ends at the first of
  ///   - its wait,
  ///   - a blocking collective, which computation does not run beside,
  ///   - the wait of a later collective of its stream: a stream works in order,
  ///     so that the collective is over by then. Inductor means to do so for
  ///     any stream, but compares the wait with the wrong collective.
  FromStart,
  /// At the wait, backwards (`_wait_exposed_communication_time`). The window
  /// ends at the first of
  ///   - its wait,
  ///   - a blocking collective,
  ///   - the start of a collective, of any stream, that is waited for before
  ///     the wait: what follows is taken to hide that one.
  FromWait,
};

/// The exposed time of a collective as seen from its own window, without a
/// simulation of the step: its time less that of the computation that runs
/// while it is in flight. This is what `ReorderInfo` of Inductor's comms.py
/// reports. Times are nanoseconds.
struct Exposure {
  int64_t commNs = 0;
  /// Computation between the start and the end of its window.
  int64_t computeNs = 0;
  /// The operation at which the window ends; noNode if it has none.
  NodeId windowEnd = noNode;
  /// Negative: computation is left over.
  int64_t exposedNs() const { return commNs - computeNs; }
};

/// By node: the exposure of each collective; zeros for other operations. A
/// blocking collective has no computation beside it. `order` is legal. O(nodes)
/// from starts, O(nodes * log nodes) from waits.
std::vector<Exposure> computeExposure(const Problem &problem,
                                      const Order &order, ExposureWalk walk);

} // namespace mlir::commsched::schedule

#endif // COMMSCHED_SCHEDULE_INDUCTOR_ITERATIVEREORDERING_H
