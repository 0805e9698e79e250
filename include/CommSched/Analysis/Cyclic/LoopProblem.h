//===- LoopProblem.h - Cyclic problem of a loop -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The bridge between loops and the scheduler of programs that repeat: turns the
// body of a loop into a cyclic problem.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_ANALYSIS_CYCLIC_LOOPPROBLEM_H
#define COMMSCHED_ANALYSIS_CYCLIC_LOOPPROBLEM_H

#include "CommSched/Analysis/Costs/CostAnalysis.h"
#include "CommSched/Analysis/Costs/GroupContention.h"
#include "CommSched/Analysis/Costs/OperationCosts.h"
#include "CommSched/Analysis/Problem/BlockProblem.h"
#include "CommSched/Schedule/Cyclic/Period.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mlir::commsched {

/// The operations of the body of a loop, without its terminator, as nodes 0, 1,
/// ... in program order; waits for collectives that the iteration before has
/// started come last. The dependences and buffers within an iteration and from
/// one iteration to the next are those that BlockProblem finds in copies of the
/// body, each of which takes what the one before yields.
///
/// A value that an iteration yields to the next is counted once for each
/// iteration that makes one; so the initial value of the loop counts until the
/// last operation that needs it. A value that is written in place by all
/// iterations counts once. Values from outside of the loop are not counted.
class LoopProblem {
public:
  /// Why a loop has no problem: the location and text for a remark.
  using DeclineFunction = function_ref<void(Location, StringRef)>;

  /// Builds and checks the problem. None, after a call of `decline`, if
  /// arguments of the body are yielded as each other in a circle, or a future
  /// is yielded as another argument.
  /// Emits an error as BlockProblem::create() does. Inserts the copies behind
  /// the loop and erases them again. Linear in the operations, operands and
  /// effects of the body.
  static FailureOr<std::optional<LoopProblem>>
  create(scf::ForOp loop, OperationCosts &costs, DeclineFunction decline);

  const schedule::CyclicProblem &getProblem() const { return problem; }

  /// The order of the program. Waits for collectives of the iteration before
  /// are one stage behind: they belong to that iteration.
  const schedule::CyclicOrder &getProgramOrder() const { return programOrder; }

  /// The operation of a node.
  Operation *getOperation(schedule::NodeId node) const {
    return operations[node];
  }

  /// The value of the body that a buffer was allocated for, as
  /// BlockProblem::getBufferRoot(). Null likewise.
  Value getBufferRoot(schedule::BufferId buffer) const {
    return bufferRoots[buffer];
  }

  /// The group key of each stream, in the order of first appearance.
  ArrayRef<Attribute> getStreams() const { return streams; }

  /// The times and sizes that an iteration takes as known; empty unless remarks
  /// are enabled.
  ArrayRef<Assumption> getAssumptions() const { return assumptions; }

private:
  explicit LoopProblem(schedule::CyclicProblem problem)
      : problem(std::move(problem)) {}

  schedule::CyclicProblem problem;
  schedule::CyclicOrder programOrder;
  SmallVector<Operation *> operations;
  SmallVector<Value> bufferRoots;
  SmallVector<Attribute> streams;
  std::vector<Assumption> assumptions;
};

/// The contention that `target` says there is between the streams of the loop.
/// Emits an error as computeContention() of a block does.
FailureOr<GroupContention> computeContention(const LoopProblem &problem,
                                             const cost::Target &target);

/// What limits the period, in words: the computation, the collectives of a
/// group, or the circle of dependences, by the names of its operations.
std::string describeBound(const LoopProblem &problem,
                          const schedule::PeriodBound &bound);

} // namespace mlir::commsched

#endif // COMMSCHED_ANALYSIS_CYCLIC_LOOPPROBLEM_H
