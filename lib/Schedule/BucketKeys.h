//===- BucketKeys.h - Where a merged program wants its nodes ----*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where in the program each operation is to run once collectives are merged, by
// what may come up with a merged start and what has to stay.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_SCHEDULE_BUCKETKEYS_H
#define COMMSCHED_LIB_SCHEDULE_BUCKETKEYS_H

#include "CommSched/Schedule/BucketedProblem.h"

namespace commsched {

/// By node of the merged program: whether it may come up with a start that
/// needs it. Computations do that are neither expensive nor a barrier to
/// communication; a copy-in does, and a copy-out does not.
std::vector<bool> findCheapNodes(const BucketedProblem &bucketed);

/// By node of the merged program: a place in the original one, as the index of
/// a node there. A node that is not merged has its own; what a merged start
/// needs has that of the start if it can come up. `isCheap` is of
/// findCheapNodes(). O(nodes + dependences + buckets * log(buckets)).
std::vector<NodeId> computeBucketKeys(const BucketedProblem &bucketed,
                                      const std::vector<bool> &isCheap);

} // namespace commsched

#endif // COMMSCHED_LIB_SCHEDULE_BUCKETKEYS_H
