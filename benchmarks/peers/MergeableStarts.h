//===- MergeableStarts.h - Collectives that may share a bucket --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finds the collectives that may be merged, and the mode, for schedulers that
// do not read MLIR.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_BENCHMARKS_PEERS_MERGEABLESTARTS_H
#define COMMSCHED_BENCHMARKS_PEERS_MERGEABLESTARTS_H

#include "Bucketing/MergeCollectives.h"
#include "CommSched/Analysis/Problem/BlockProblem.h"

namespace mlir::commsched {

struct MergeableStart {
  /// Those with equal keys may share a bucket; -1: it is no start, or may not
  /// be merged.
  int32_t key = -1;
  /// Those of a bucket are merged like this: by copies where that is possible.
  BucketMode mode = BucketMode::Copy;
  /// The reason for which it may not be merged.
  std::string reason = "it is no start";
};

/// By node of `block`. Keys are numbered from 0 in program order. Linear in the
/// nodes.
std::vector<MergeableStart> findMergeableStarts(const BlockProblem &block);

} // namespace mlir::commsched

#endif // COMMSCHED_BENCHMARKS_PEERS_MERGEABLESTARTS_H
