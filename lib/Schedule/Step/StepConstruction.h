//===- StepConstruction.h - One-pass construction of orders -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Builds an order by going through the computation with a clock: before each
// operation it decides which collectives are issued, which are waited for, and
// whether the memory allows it.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_SCHEDULE_STEP_STEPCONSTRUCTION_H
#define COMMSCHED_LIB_SCHEDULE_STEP_STEPCONSTRUCTION_H

#include "CommSched/Schedule/Model/Objective.h"
#include "StepStructure.h"

namespace mlir::commsched::schedule {

class IssuedOrder;

struct ConstructionOptions : Objective {
  /// How long before its latest start, in nanoseconds, a collective that
  /// acquires memory may be issued.
  int64_t lookAheadNs = std::numeric_limits<int64_t>::max();
  /// The construction ends early where its step cannot be shorter than this,
  /// in nanoseconds.
  int64_t knownNs = std::numeric_limits<int64_t>::max();
  /// Whether a collective that is due waits for others until it fits beside
  /// what is live, also for those that only free what another one has made.
  /// The memory is overestimated: that takes time where it suffices.
  bool makesRoom = false;
};

/// An order that was constructed.
struct ConstructedOrder {
  Order order;
  /// The step that the construction computed, in nanoseconds. With slack it is
  /// longer than that of simulate(). If it is not below ConstructionOptions::
  /// knownNs, it may be a lower bound, and the order not complete.
  int64_t stepNs = 0;
  /// Whether the limit has kept a collective from being issued, or made one be
  /// waited for.
  bool isLimited = false;
};

/// Constructs orders of one problem for different options.
class StepConstruction {
public:
  /// `computeOrder` is a legal order of the operations for which
  /// StepStructure::isInComputeOrder() is true. `structure` has to live on.
  /// O((nodes + dependences + uses) log nodes).
  StepConstruction(const StepStructure &structure, Order computeOrder);

  /// The order that construct() starts from, which is as late as possible
  /// (ALAP): every collective is issued directly before its result is needed
  /// and waited for at once. O(1).
  const Order &alapOrder() const { return alap; }
  /// The peak of that order, which is about the least of all orders with this
  /// compute order. O(1).
  int64_t alapPeakBytes() const { return alapPeak; }

  /// Constructs an order in one pass over the compute order:
  ///  - A collective that acquires memory (such as an all-gather of weights) is
  ///    issued in the order of due positions, once its latest start is within
  ///    the look-ahead, if the memory allows it until its due position. The
  ///    latest start is that at which the collective ends in time for its due
  ///    position and for the latest start of the next one on its stream.
  ///  - A collective that releases memory (such as a reduce-scatter of
  ///    gradients) is issued when it ends before the latest start of the next
  ///    collective that acquires memory. It is waited for as soon as the wait
  ///    costs nothing, or when the memory is needed.
  ///  - Nothing is issued to a stream that is busy until the end of the next
  ///    operation of the compute order.
  ///
  /// The order is always legal. It may exceed the limit where no order is
  /// within the limit, and where an estimate of memory was too low.
  /// O((nodes + dependences + uses) log nodes).
  ConstructedOrder construct(const ConstructionOptions &options) const;

private:
  friend class StepConstructor;

  void computeDuePositions();
  void measureAlapOrder();
  std::vector<int64_t> computeLatestStarts(const IssuedOrder &clocks) const;

  const StepStructure *structure;
  Order computeOrder;
  /// By operation: whether an operation of the compute order depends on it.
  std::vector<char> isNeeded;
  /// By collective: its due position, which is that of the first operation in
  /// the compute order that depends on it; the size of the compute order if
  /// none does.
  std::vector<int32_t> duePositions;
  /// By position: the collectives that are due there.
  Csr<CollectiveId> dueCollectives;
  Order alap;
  int64_t alapPeak = 0;
  /// By position in the compute order, for the segment of the ALAP order that
  /// ends with the operation there: the live bytes before it, the peak in it,
  /// and the sum of all computation before it. The latter has one more entry,
  /// for the end.
  std::vector<int64_t> bytesBefore;
  std::vector<int64_t> peaks;
  std::vector<int64_t> computedNs;
};

} // namespace mlir::commsched::schedule

#endif // COMMSCHED_LIB_SCHEDULE_STEP_STEPCONSTRUCTION_H
