//===- SplitSpecs.h - Regions as scheduling problems ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a region becomes in chunks, on the dense indices of the scheduling
// problem of its block, without changing the block.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_ANALYSIS_SPLIT_SPLITSPECS_H
#define COMMSCHED_ANALYSIS_SPLIT_SPLITSPECS_H

#include "CommSched/Analysis/Costs/OperationCosts.h"
#include "CommSched/Analysis/Problem/BlockProblem.h"
#include "CommSched/Analysis/Problem/StorageAnalysis.h"
#include "CommSched/Analysis/Split/SplitRegion.h"
#include "CommSched/Interfaces/SplitRule.h"
#include "CommSched/Schedule/Splitting/SplitProblem.h"
#include "mlir/IR/Value.h"

#include <map>

namespace mlir::commsched {

class SplitSpecs {
public:
  /// All of them have to live on, and the block has to stay as it is. Linear in
  /// the operations.
  SplitSpecs(Block &block, const BlockProblem &problem, OperationCosts &costs);

  /// `region` of the block in `chunks` chunks, which findUndivided() has
  /// nothing against. Members are in the order of SplitRegion::members, wholes
  /// in that of SplitRegion::exits, slices in that of getCopiedEntries(). None
  /// if a time, a size or a storage is not known. Linear in the region and in
  /// what reads its exits. Costs of chunks are kept for all regions of equal
  /// signature.
  std::optional<schedule::SplitSpec> make(const SplitRegion &region,
                                          int32_t chunks);

  /// The numbers of the entries of which chunks are copied, in order.
  static SmallVector<int32_t, 2> getCopiedEntries(const SplitRegion &region);

  /// The node of the operation of the block that is `op` or has it in a region;
  /// noNode for the terminator.
  schedule::NodeId getNode(Operation *op) const;

private:
  std::optional<int64_t> getChunkNs(const SplitRegion &region, size_t member,
                                    int32_t chunks);
  bool addMembers(const SplitRegion &region, schedule::SplitSpec &spec);
  bool addBuffers(const SplitRegion &region, schedule::SplitSpec &spec) const;
  bool addWholes(const SplitRegion &region, schedule::SplitSpec &spec) const;
  bool addSlices(const SplitRegion &region, schedule::SplitSpec &spec) const;

  Block &block;
  const BlockProblem &problem;
  OperationCosts &costs;
  StorageAnalysis storages;
  DenseMap<Operation *, schedule::NodeId> nodes;
  /// By signature, member and number of chunks.
  std::map<std::tuple<unsigned, size_t, int32_t>, std::optional<int64_t>>
      chunkCosts;
};

/// Whether all chunks of `value` are equal when it is divided as `split` says,
/// such as those of a tensor that is filled with one number: an axis of the
/// operation that gives it has no place in an operand, or only in such values.
bool hasEqualChunks(Value value, ValueSplit split);

} // namespace mlir::commsched

#endif // COMMSCHED_ANALYSIS_SPLIT_SPLITSPECS_H
