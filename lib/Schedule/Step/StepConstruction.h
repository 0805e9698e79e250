//===- StepConstruction.h - One-pass construction of orders --- -*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Builds an order by going through the computation with a clock: before each
// operation it decides which collectives are issued, which are waited for, and
// whether the memory allows it.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_SCHEDULE_STEP_STEPCONSTRUCTION_H
#define COMMSCHED_LIB_SCHEDULE_STEP_STEPCONSTRUCTION_H

#include "CommSched/Schedule/Contention.h"
#include "StepStructure.h"

#include <limits>

namespace mlir::commsched::schedule {

class IssuedOrder;

struct ConstructionOptions {
  /// Live bytes that are not to be exceeded.
  int64_t limitBytes = std::numeric_limits<int64_t>::max();
  /// How much earlier than it has to, in nanoseconds, a collective may be
  /// issued that makes more live.
  int64_t lookAheadNs = std::numeric_limits<int64_t>::max();
  /// By how many percent longer than they are collectives are taken to be, so
  /// that the order still holds where their costs were wrong.
  int32_t slackPercent = 0;
  /// Streams that never have collectives in flight together.
  std::vector<std::pair<StreamId, StreamId>> exclusive;
};

/// An order that was constructed.
struct ConstructedOrder {
  Order order;
  /// The step that it was constructed for, in nanoseconds: with slack, longer
  /// than what simulate() tells.
  int64_t stepNs = 0;
};

/// Constructs orders of one problem for different options.
class StepConstruction {
public:
  /// `computeOrder` has the operations of the compute order in the order in
  /// which they are to run, which dependences allow. `structure` has to live
  /// on. O((nodes + dependences + uses) log nodes).
  StepConstruction(const StepStructure &structure, Order computeOrder);

  /// The order that is built on: every collective is issued directly before it
  /// is needed and waited for at once. O(1).
  const Order &alapOrder() const { return alap; }

  /// The rules:
  ///  - a collective that makes more live (a gather) is issued in the order of
  ///    need, once its latest start, at which it is just over when it is needed
  ///    and when the next one has to start, is within the look-ahead, if the
  ///    memory allows it from there to where it is needed,
  ///  - one that makes less live (a reduce-scatter) goes into the gaps before
  ///    the latest start of the next gather, and is waited for at the first
  ///    moment at which that costs nothing, or at which the memory is needed,
  ///  - nothing is issued to a stream that is busy until the next operation of
  ///    the compute order.
  ///
  /// Always a legal order. The limit may be exceeded where the program leaves
  /// no choice, and where an estimate of memory was wrong.
  /// O((nodes + dependences + uses) log nodes).
  ConstructedOrder construct(const ConstructionOptions &options) const;

private:
  friend class StepConstructor;

  void findNeeds();
  void measureAlapOrder();
  std::vector<int64_t> findLatestStarts(const IssuedOrder &clocks) const;

  const StepStructure *structure;
  Order computeOrder;
  /// By operation: whether the compute order needs it.
  std::vector<char> isNeeded;
  /// By collective: the place of the first of the compute order that needs it;
  /// the size of the compute order if none does. And the other way round.
  std::vector<int32_t> needs;
  Csr<CollectiveId> neededRows;
  Order alap;
  /// By place, in the last-minute order, of the stretch that ends with the
  /// operation there: what is live before it, the most in it, and the
  /// computation before it; the latter also for the end.
  std::vector<int64_t> bytesBefore;
  std::vector<int64_t> peaks;
  std::vector<int64_t> computedNs;
};

} // namespace mlir::commsched::schedule

#endif // COMMSCHED_LIB_SCHEDULE_STEP_STEPCONSTRUCTION_H
