//===- LoopPipeliner.h - Overlap of the iterations of loops -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Puts the loops of a function that hold collectives into the schedules that
// LoopScheduler finds.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_TRANSFORMS_STEADYSTATE_LOOPPIPELINER_H
#define COMMSCHED_LIB_TRANSFORMS_STEADYSTATE_LOOPPIPELINER_H

#include "CommSched/Analysis/Costs/CostAnalysis.h"
#include "LoopScheduler.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mlir::commsched {

struct LoopPipeliningOptions : LoopSchedulingOptions {
  LoopPipeliningOptions() { maxDepth = 3; }
  explicit LoopPipeliningOptions(const LoopSchedulingOptions &options)
      : LoopSchedulingOptions(options) {}

  /// Whether gathers of what no iteration changes leave a loop that is shorter
  /// without them.
  bool hoistsGathers = true;
  /// Whether gathers of an iteration are merged where that is shorter.
  bool mergesGathers = true;
  /// Of how many iterations loops are unrolled where that is shorter.
  int32_t unroll = 0;
  /// Of what the budget leaves to a loop, so many bytes are not used.
  int64_t withheldBytes = 0;
  /// Whether the function is a copy, of which no remark speaks.
  bool isTrial = false;
};

/// The loops of `function` whose bodies hold collectives, inner ones first.
SmallVector<Operation *> getLoopsWithCollectives(func::FuncOp function);

struct LoopChanges {
  /// Whether anything has changed.
  bool any = false;
  /// Whether gathers have left a loop.
  bool areHoisted = false;
};

/// Overlaps the iterations of these loops where that makes them shorter. Emits
/// remarks. A loop may take more than its schedule says, such as copies of what
/// it starts with.
FailureOr<LoopChanges> pipelineLoops(func::FuncOp function,
                                     const LoopPipeliningOptions &options,
                                     OperationCosts &costs);

/// The same where the function then takes no more than the budget, or than
/// before, as copies of it tell.
FailureOr<LoopChanges> pipelineLoopsWithin(func::FuncOp function,
                                           LoopPipeliningOptions options,
                                           OperationCosts &costs);

/// A copy of a loop, behind it, with gathers in front of the copy.
struct HoistedGathers {
  scf::ForOp loop;
  /// The operations between the loop and its copy.
  SmallVector<Operation *> moved;
  int64_t numGathers = 0;
  /// What they take, one after the other, in nanoseconds.
  int64_t timeNs = 0;
  /// What is live while the copy runs, and was not while the loop ran.
  int64_t bytes = 0;

  /// Erases the copy and what is in front of it.
  void erase();

  /// Emits the remark `GathersHoisted` on what the iterations take; before, if
  /// they were within the limit with their gathers.
  void remark(Location location, StringRef function,
              std::optional<int64_t> beforeNs, int64_t afterNs) const;
};

/// The operations of the body that access memory that operations of this or of
/// another iteration write, or that nothing that communicates may cross: they
/// stay in the loop. All, if the loop has no LoopProblem. Linear in the
/// operations of the loop.
FailureOr<DenseSet<Operation *>> findTied(scf::ForOp loop,
                                          OperationCosts &costs);

/// Copies the loop, and moves gathers of what no iteration changes, such as
/// those of parameters in a loop over micro-batches, in front of the copy, with
/// the operations that make what they send. None, and no copy, if there are no
/// such gathers. What findTied() returns stays. The loop must have an
/// iteration. Linear in its operations.
FailureOr<std::optional<HoistedGathers>>
copyWithoutInvariantGathers(scf::ForOp loop, OperationCosts &costs);

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_TRANSFORMS_STEADYSTATE_LOOPPIPELINER_H
