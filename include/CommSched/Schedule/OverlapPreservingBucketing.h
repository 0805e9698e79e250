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

namespace commsched {

/// What merging these starts would cost.
using BucketCostFunction =
    std::function<BucketCost(const std::vector<NodeId> &starts)>;

/// Forms buckets as formBuckets() does, and splits those that cost overlap
/// until in the merged program, as BucketedProblem::place() puts it,
///  - the step takes no longer than in the original program, and
///  - no collective is uncovered for longer than its members were together:
///    runs without computation beside it, since the compute stream waits for it
///    or for another one. Unlike the stall of its wait, this does not depend on
///    which of two collectives is waited for first.
/// Both hold of the result. Halves of one are alone, for LosesOverlap.
///
/// `exposedFirst`, by key: whether collectives that are uncovered in the
/// original program are looked at before those that are not, so that they find
/// each other; otherwise candidates are looked at in the order of the program.
///
/// Error: that of formBuckets() or BucketedProblem::create(); the program is
/// not a legal order; `exposedFirst` does not have the keys of the caps.
///
/// Every round splits each bucket that is to blame in halves. After O(log
/// largest bucket) rounds, which is seldom needed, all buckets are. A round is
/// O((nodes + dependences) log nodes).
Result<Bucketing> formOverlapPreservingBuckets(
    const Problem &problem, const std::vector<BucketCandidate> &candidates,
    const BucketingOptions &options, const std::vector<bool> &exposedFirst,
    const BucketCostFunction &getCost);

} // namespace commsched

#endif // COMMSCHED_SCHEDULE_OVERLAPPRESERVINGBUCKETING_H
