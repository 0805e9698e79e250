//===- BufferMerger.h - What merged operations allocate ---------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The memory half of a BucketedProblem: gives the merged program, whose nodes
// are there already, the buffers of the original one and those of its buckets.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_SCHEDULE_BUCKETING_BUFFERMERGER_H
#define COMMSCHED_LIB_SCHEDULE_BUCKETING_BUFFERMERGER_H

#include "CommSched/Schedule/Bucketing/BucketedProblem.h"

namespace mlir::commsched::schedule {

class BufferMerger {
public:
  /// Adds to `merged`, the program of `program`, which has its nodes but is not
  /// finalized. By node of the original problem: `bucketOfMember` is the bucket
  /// of a start or a wait, `absorberOf` the one that absorbs it, or -1.
  BufferMerger(const BucketedProblem &program,
               const std::vector<BucketCost> &costs,
               const std::vector<int32_t> &bucketOfMember,
               const std::vector<int32_t> &absorberOf, Problem &merged)
      : program(program), original(program.getOriginal()), costs(costs),
        bucketOfMember(bucketOfMember), absorberOf(absorberOf), merged(merged) {
  }

  /// Adds all buffers and uses. Error: somebody other than the bucket needs
  /// what it absorbs.
  Status merge();

private:
  using Layout = BucketMemory::Layout;

  Layout layoutOf(int32_t bucket) const { return costs[bucket].memory.layout; }
  int32_t findCopied(NodeId node) const;
  Status checkAbsorbed(BufferId id, int32_t bucket) const;
  void addViewed();
  void addPacked();
  BufferId add(BufferId id);
  NodeId findUser(NodeId user) const;

  const BucketedProblem &program;
  const Problem &original;
  const std::vector<BucketCost> &costs;
  const std::vector<int32_t> &bucketOfMember;
  const std::vector<int32_t> &absorberOf;
  Problem &merged;
  /// By bucket: what its members' results are views of; -1 if they are none.
  std::vector<BufferId> viewed;
};

} // namespace mlir::commsched::schedule

#endif // COMMSCHED_LIB_SCHEDULE_BUCKETING_BUFFERMERGER_H
