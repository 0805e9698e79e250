//===- MinCut.h - Bans and the minimum cut ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Selects the values to save such that few bytes are saved and only cheap
// operations are recomputed: a minimum cut between the values that cannot be
// recomputed and the operands of the backward. After `solve_min_cut` of PyTorch
// 2.13 (torch/_functorch/partitioners.py); He and Yu, "Transcending
// Runtime-Memory Tradeoffs in Checkpointing by being Fusion Aware", MLSys 2023.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_PARTITION_MINCUT_H
#define COMMSCHED_PARTITION_MINCUT_H

#include "CommSched/Partition/Classification.h"

namespace mlir::commsched::partition {

/// Limits of recomputation. The names are those of the reference.
struct CutOptions {
  /// Not an operation that could be computed with one user of its operand, but
  /// not with another user far behind it.
  bool banRecomputeUsedFarApart = true;
  /// Not the end of a chain of more than a hundred operations, all of them
  /// fusible.
  bool banRecomputeLongFusibleChains = true;
  /// Not what the backward writes to memory in any case.
  bool banRecomputeMaterializedBackward = true;
  /// Only classes for which isRecomputable() holds.
  bool banRecomputeNotInAllowlist = true;
  /// Not what is less than a quarter of the size of its operands.
  bool banRecomputeReductions = true;
  /// Never save a view: save what it shows, and show it again.
  bool recomputeViews = true;
  /// Saving a parameter takes no memory, nor does any argument that stays.
  bool treatParametersAsFreeToSave = true;
  /// Not what is further from the backward than this many operations.
  int32_t maxDistFromBw = 1000;
  /// Whether gathers of parameters may be done again though no policy says so.
  bool repeatGathers = false;
};

/// Why an operation is not computed again.
enum class BanReason : uint8_t {
  None,
  // These hold whatever it costs.
  Argument,
  MustSave,
  KeptInForward,
  Random,
  Collective,
  // These can be traded for memory.
  PreferSave,
  NotInAllowlist,
  ComputeIntensive,
  MaterializedBackward,
  FarFromBackward,
  Reduction,
  UsedFarApart,
  LongFusibleChain,
};

/// The end of a sentence that begins with an operation: "communicates".
const char *toString(BanReason reason);

/// Whether no budget lifts the ban.
constexpr bool isHard(BanReason reason) {
  return reason != BanReason::None && reason < BanReason::PreferSave;
}

/// Whether the user wants the backward to compute `node` again: what cannot be
/// repeated is not, if that is only a preference.
bool isToBeRecomputed(const JointNode &node);

/// Returns by node the reason for which it may not be recomputed. Linear, but
/// for a heap.
std::vector<BanReason> findBans(const JointGraph &graph,
                                const Classification &classes,
                                const CutOptions &options);

/// The values to save, ascending: a minimum cut, where a value weighs its
/// bytes, times 1.1 for every operation between it and the backward (at most a
/// hundred of them), twice if it would otherwise not be written to memory.
/// Conflict: something can neither be saved nor computed again.
PartitionResult<std::vector<NodeId>>
solveMinCut(const JointGraph &graph, const Classification &classes,
            const CutOptions &options, const std::vector<BanReason> &bans);

} // namespace mlir::commsched::partition

#endif // COMMSCHED_PARTITION_MINCUT_H
