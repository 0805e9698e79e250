//===- Collective.h - Kinds and sizes of collectives ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The kinds of collective and the question that every cost model answers about
// one of them. Nothing here depends on MLIR; the names are those of the
// `commsched` dialect's operations.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_COSTMODEL_COLLECTIVE_H
#define COMMSCHED_COSTMODEL_COLLECTIVE_H

#include "CommSched/Support/CollectiveKind.h"

#include <cstdint>
#include <optional>

namespace mlir::commsched::cost {

/// One launch, as the cost models see it.
struct CollectiveQuery {
  CollectiveKind kind = CollectiveKind::AllReduce;
  /// The full buffer in bytes: the larger of one rank's input and output,
  /// summed over the tensors of a coalesced launch. An all_gather counts its
  /// result, a reduce_scatter its operand.
  int64_t bytes = 0;
  /// Members of the group.
  int32_t ranks = 1;
  /// How many of them share a node. A group of fewer ranks fits in one node.
  int32_t ranksPerNode = 8;
  /// Tensors of a coalesced launch, `bytes` together; below 1 counts as 1.
  int32_t tensors = 1;
  /// What carries it out: an index of the target's Implementations.
  int32_t implementation = 0;

  /// Nodes that the group spans: `ranks / ranksPerNode` rounded up, at least 1.
  int32_t nodes() const;
};

} // namespace mlir::commsched::cost

#endif // COMMSCHED_COSTMODEL_COLLECTIVE_H
