//===- Collective.h - kinds and sizes of collectives ------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The kinds of collective and the question that every cost model answers about
// one of them. Nothing here depends on MLIR; the names are those of the
// `commsched` dialect's operations.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_COSTMODEL_COLLECTIVE_H
#define COMMSCHED_COSTMODEL_COLLECTIVE_H

#include "llvm/ADT/StringRef.h"

#include <array>
#include <cstdint>
#include <optional>

namespace mlir::commsched::cost {

enum class CollectiveKind : uint8_t {
  AllGather,
  ReduceScatter,
  AllReduce,
  AllToAll,
  Broadcast,
  Permute,
  Send,
  Recv,
  Barrier
};

/// Every kind, in the order of the enumeration.
inline constexpr std::array<CollectiveKind, 9> allCollectiveKinds = {
    CollectiveKind::AllGather, CollectiveKind::ReduceScatter,
    CollectiveKind::AllReduce, CollectiveKind::AllToAll,
    CollectiveKind::Broadcast, CollectiveKind::Permute,
    CollectiveKind::Send,      CollectiveKind::Recv,
    CollectiveKind::Barrier};

/// The operation's name without its dialect: `all_gather`, `barrier`, ...
llvm::StringRef stringifyCollectiveKind(CollectiveKind kind);

/// The inverse of `stringifyCollectiveKind`; nothing for any other text.
std::optional<CollectiveKind> parseCollectiveKind(llvm::StringRef name);

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

  /// Nodes that the group spans: `ranks / ranksPerNode` rounded up, at least 1.
  int32_t nodes() const;
};

} // namespace mlir::commsched::cost

#endif // COMMSCHED_COSTMODEL_COLLECTIVE_H
