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
// Inductor (overlap_preserving_bucketer.py) guards hiding relations by implicit
// edges; here the simulation of the merged program is asked.
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
/// until in the placed program (BucketedProblem::place()) neither the step is
/// longer than in the original one, nor any collective more exposed than its
/// members were together.
///
/// `exposedFirst`, by key: whether collectives that are exposed in the original
/// program are looked at before those that are hidden, so that they find each
/// other; candidates of other keys are looked at in the order of the program.
///
/// Every round splits each bucket that is to blame in halves, so there are
/// O(log largest bucket) rounds of O((nodes + dependences) log nodes).
Result<Bucketing> formOverlapPreservingBuckets(
    const Problem &problem, const std::vector<BucketCandidate> &candidates,
    const BucketingOptions &options, const std::vector<bool> &exposedFirst,
    const BucketCostFunction &getCost);

} // namespace commsched

#endif // COMMSCHED_SCHEDULE_OVERLAPPRESERVINGBUCKETING_H
