//===- LeastProblem.h - Problems of least times -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a block takes at least, whatever the order of its operations and of
// those inside of them: with its collectives as they are, or merged and split
// in whatever way.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_ANALYSIS_BOUNDS_LEASTPROBLEM_H
#define COMMSCHED_ANALYSIS_BOUNDS_LEASTPROBLEM_H

#include "CommSched/Analysis/Costs/OperationCosts.h"
#include "CommSched/Analysis/Cyclic/LoopProblem.h"
#include "CommSched/Analysis/Problem/BlockProblem.h"
#include "CommSched/Schedule/Model/Problem.h"
#include "mlir/IR/Block.h"

namespace mlir::commsched {

/// The problem of `block`, with StreamOrder::Free and without buffers, in which
/// an operation takes as long as the blocks inside take at least: no order of a
/// block takes less, whether iterations of a loop overlap or not. Emits an
/// error as BlockProblem::create() does.
FailureOr<schedule::Problem> makeLeastProblem(Block &block,
                                              OperationCosts &costs);

/// The bound of the period of `loop`, in whose body an operation takes as long
/// as there. Emits an error likewise.
FailureOr<schedule::PeriodBound>
computeLeastPeriodBound(const LoopProblem &loop, OperationCosts &costs);

/// A lower bound in nanoseconds for every schedule of the operations of
/// `block`, created with StreamOrder::Free, and of those inside of them, with
/// any collectives merged (Mergeability.h) and any regions split
/// (SplitRegions, without sums) in up to 8 chunks, as estimateBucket() and
/// estimateChunkNs() price that:
///   - a collective that may be merged or split takes its bytes' share of the
///     time that one launch of it and of all that may be merged with it takes
///     (CollectiveCost::getShareableNs()), scaled to times that are pinned or
///     were measured. What depends on it, as far as ChainPlaces says, may not;
///   - a cast that a bucket may absorb takes its bytes' share of a copy-in;
///   - of a loop with collectives, whose iterations may overlap with what is
///     around it, only the work counts: that of the computation beside other
///     computation, that of the busiest stream by itself;
///   - copies into and out of new buckets and chunks take nothing;
///   - times that assume what is fused count as far as they hold whichever
///     copies are fused: of what is sent, only the bytes;
///   - unless `keepsLoops`, what a loop with collectives leaves out when it is
///     pipelined meets what is around it. So in its function any collectives
///     may travel together, and times that assume what is fused do not count;
///   - all others take what they do.
/// With `keepsWhole` and `keepsLoops` nothing is split either.
/// RelaxedProblem.h says why it holds. It does not hold where a rewrite drops
/// operations, as that of equal gathers does, or lets another implementation
/// carry them out. Emits an error as BlockProblem::create() does. Near linear
/// in the operations.
FailureOr<int64_t> computeMergingBoundNs(const BlockProblem &block,
                                         OperationCosts &costs,
                                         bool keepsLoops = false,
                                         bool keepsWhole = false);

/// The same for the period in which a block is repeated, whatever repetitions
/// overlap: the work on the busiest stream.
FailureOr<int64_t> computeMergingPeriodBoundNs(const BlockProblem &block,
                                               OperationCosts &costs);

} // namespace mlir::commsched

#endif // COMMSCHED_ANALYSIS_BOUNDS_LEASTPROBLEM_H
