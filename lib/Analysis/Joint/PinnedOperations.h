//===- PinnedOperations.h - What runs once, and where -----------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tells which operations of a block may be neither repeated nor dropped, since
// somebody sees whether they ran: in memory, or on another rank.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_ANALYSIS_JOINT_PINNEDOPERATIONS_H
#define COMMSCHED_LIB_ANALYSIS_JOINT_PINNEDOPERATIONS_H

#include "CommSched/Analysis/Problem/StorageAnalysis.h"

namespace mlir::commsched {

/// Operations are named by their index in the block.
struct PinnedOperations {
  /// By operation. It is pinned if it
  ///  * writes memory or a hidden random state, or has effects that nothing
  ///    tells,
  ///  * reads what another operation writes,
  ///  * makes what is written later,
  ///  * sends, receives, blocks, or communicates in a way that no interface
  ///    describes. Other collectives are not pinned: all ranks repeat them.
  std::vector<char> isPinned;
  /// Pairs that have to keep their order because of memory, each once, sorted.
  std::vector<std::pair<int32_t, int32_t>> memoryOrder;
};

/// Linear in the operations, operands and effects of the block.
PinnedOperations findPinnedOperations(Block &block,
                                      const StorageAnalysis &storages);

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_ANALYSIS_JOINT_PINNEDOPERATIONS_H
