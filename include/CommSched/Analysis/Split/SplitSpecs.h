//===- SplitSpecs.h - Regions as scheduling problems ------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a region becomes in chunks, on the dense indices of the scheduling
// problem of its block, without changing the block.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_ANALYSIS_SPLIT_SPLITSPECS_H
#define COMMSCHED_ANALYSIS_SPLIT_SPLITSPECS_H

#include "CommSched/Analysis/Problem/BlockProblem.h"
#include "CommSched/Analysis/Split/SplitRegion.h"
#include "CommSched/Schedule/Splitting/SplitProblem.h"

namespace mlir::commsched {

class OperationCosts;

class SplitSpecs {
public:
  /// `block` and `costs` have to live on. O(operations + buffers).
  SplitSpecs(const BlockProblem &block, OperationCosts &costs);

  /// `region` of this block in `count` chunks, which findUndivided() has
  /// nothing against. Members are in the order of SplitRegion::members, Wholes
  /// in that of SplitRegion::exits. None if a time, a size or a storage is not
  /// known. Linear in the region and in what reads its exits.
  std::optional<schedule::SplitSpec> make(const SplitRegion &region,
                                          int64_t count);

  /// The entries that SplitSpec::slices stand for, in their order: those that
  /// are copied.
  static SmallVector<int32_t> getCopiedEntries(const SplitRegion &region);

private:
  std::optional<schedule::BufferId> findBuffer(Value value) const;
  std::optional<schedule::NodeId> findNode(Operation *op) const;
  bool addMembers(const SplitRegion &region, int64_t count,
                  schedule::SplitSpec &spec);
  void addBuffers(const SplitRegion &region, int64_t count,
                  schedule::SplitSpec &spec);
  bool addWholes(const SplitRegion &region, int64_t count,
                 schedule::SplitSpec &spec);
  bool addSlices(const SplitRegion &region, int64_t count,
                 schedule::SplitSpec &spec);

  const BlockProblem &block;
  OperationCosts &costs;
  DenseMap<Operation *, schedule::NodeId> nodes;
  DenseMap<Value, schedule::BufferId> buffers;
};

} // namespace mlir::commsched

#endif // COMMSCHED_ANALYSIS_SPLIT_SPLITSPECS_H
