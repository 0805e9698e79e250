//===- OverlapPreservingBucketing.h - Buckets that cost no overlap *- C++ -*-=//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Buckets that leave overlap as it is: merging starts some collectives earlier
// and others later, and what hid them may not hide them any more. PyTorch
// Inductor (overlap_preserving_bucketer.py) guards the relation of collectives
// and what hides them by edges; here the merged program is simulated.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_SCHEDULE_OVERLAPPRESERVINGBUCKETING_H
#define COMMSCHED_SCHEDULE_OVERLAPPRESERVINGBUCKETING_H

#include "CommSched/Schedule/BucketedProblem.h"

#include <functional>

namespace mlir::commsched::schedule {

/// What merging these starts would cost.
using BucketCostFunction =
    std::function<BucketCost(const std::vector<NodeId> &starts)>;

/// Forms buckets as formBuckets() does, and splits in halves, round after
/// round, those to which it is due that the merged program, as
/// BucketedProblem::place() puts it, runs worse than the original one:
///  - a collective is uncovered for longer than its members were together, that
///    is, runs while the compute stream waits for it or for another one. Unlike
///    the stall of its wait, this does not depend on which of two collectives
///    is waited for first,
///  - the step takes longer.
/// Of all rounds, and of no buckets at all, the result is what gives the
/// shortest step; of several the one in which collectives are uncovered for
/// the least time in sum, then the one with fewer splits. So no step gets
/// longer, and buckets that no one loses by stay as they were formed. To demand
/// that no collective loses would be too much where communication is what takes
/// time: the same wait then only falls to another one, and buckets that make
/// the step shorter would be given up.
///
/// Members of buckets that were split down to one are alone, for LosesOverlap.
///
/// `exposedFirst`, by key: whether collectives that are uncovered in the
/// original program are looked at before those that are not, so that they find
/// each other; otherwise candidates are looked at in the order of the program.
///
/// Error: that of formBuckets() or BucketedProblem::create(); the program is
/// not a legal order; `exposedFirst` does not have the keys of the caps.
///
/// O(log largest bucket) rounds of O((nodes + dependences) log nodes).
/// `getCost` is asked once for each bucket that is tried.
Result<Bucketing> formOverlapPreservingBuckets(
    const Problem &problem, const std::vector<BucketCandidate> &candidates,
    const BucketingOptions &options, const std::vector<bool> &exposedFirst,
    const BucketCostFunction &getCost);

} // namespace mlir::commsched::schedule

#endif // COMMSCHED_SCHEDULE_OVERLAPPRESERVINGBUCKETING_H
