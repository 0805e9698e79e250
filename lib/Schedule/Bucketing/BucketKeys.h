//===- BucketKeys.h - Sort keys of merged operations ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sort keys that give each operation of a merged program its place: operations
// move up with a merged start, move down with a merged wait, stay, or run at
// the end.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_SCHEDULE_BUCKETING_BUCKETKEYS_H
#define COMMSCHED_LIB_SCHEDULE_BUCKETING_BUCKETKEYS_H

#include "CommSched/Schedule/Bucketing/BucketedProblem.h"

namespace mlir::commsched::schedule {

/// By node of the merged program: whether it may move along with what it needs
/// or what needs it. Computations may that are neither expensive nor a barrier
/// to communication, and a copy-in; a copy-out stays with its wait.
std::vector<bool> findCheapNodes(const BucketedProblem &bucketed);

/// Whether `node` of the merged program is a merged wait or the copy-out of
/// one: what has no place, but runs when it is needed.
bool isLazy(const BucketedProblem &bucketed, NodeId node);

/// By node of the merged program: whether it is a tail, as
/// BucketedProblem::place() says. `isCheap` is of findCheapNodes(). O(nodes +
/// dependences).
std::vector<bool> findTails(const BucketedProblem &bucketed,
                            const std::vector<bool> &isCheap,
                            const BucketPlacement &placement);

/// By node of the merged program: the place in the original program that
/// BucketedProblem::place() wants for it, as the index of a node there.
/// `isCheap` is of findCheapNodes(). O(nodes + dependences + buckets *
/// log(buckets)).
std::vector<NodeId> computeBucketKeys(const BucketedProblem &bucketed,
                                      const std::vector<bool> &isCheap);

} // namespace mlir::commsched::schedule

#endif // COMMSCHED_LIB_SCHEDULE_BUCKETING_BUCKETKEYS_H
