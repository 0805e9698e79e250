//===- SumBeforeReduceScatter.h - One reduction of a sum --------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A parameter that is used twice has two gradients, which are often reduced one
// by one and added afterwards. Sums and means are linear, so that
//
//   add(wait(reduce_scatter(a)), wait(reduce_scatter(b)))
//     = wait(reduce_scatter(add(a, b)))
//
// with half of the communication. PyTorch Inductor does so in
// dedup_fsdp_reduce_scatter (torch/_inductor/fx_passes, 2026).
//
// The price: the addition runs on whole tensors, each group's size times as
// large as a shard, so that it takes longer and needs memory for its result;
// and the terms of each element are summed up in another order, so that
// floating-point results may differ by rounding.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_TRANSFORMS_FSDP_SUMBEFOREREDUCESCATTER_H
#define COMMSCHED_LIB_TRANSFORMS_FSDP_SUMBEFOREREDUCESCATTER_H

#include "CommSched/Interfaces/CommSchedInterfaces.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/DenseMap.h"

namespace mlir::commsched {

/// How many operations that no collective may cross stand before each
/// collective in its block: two collectives with equal numbers have none
/// between them.
class CommunicationEpochs {
public:
  /// Linear in the operations in `op`, times how deep they are nested.
  explicit CommunicationEpochs(Operation *op);

  int64_t getEpoch(Operation *collective) const {
    return epochs.lookup(collective);
  }

  /// Lets `collective`, which is new, have the number of one that it replaces.
  void replace(Operation *replaced, Operation *collective) {
    epochs[collective] = epochs.lookup(replaced);
  }

private:
  DenseMap<Operation *, int64_t> epochs;
};

/// Adds the pattern that reduces a sum at once. It matches additions of two
/// tensors of one type, `arith.addf`, `arith.addi`, `linalg.add` and the
/// operator `aten.add`, of what two reduce-scatters deliver. These, in any
/// dialect,
///   - are of one block, with their waits and the addition,
///   - are equal but for their operands, which are of one type,
///   - reduce by sum or avg, one tensor each, not in place,
///   - are used by nobody else, and neither are their waits,
///   - have nothing between them that no collective may cross,
/// and nothing writes the operand of the earlier one before the later one. (An
/// operand that needs what the other one delivers makes that one used twice.)
///
/// Addition and reduce-scatter come where the later one was, the wait where the
/// addition was. New operations have fused locations, and the names and other
/// attributes that bucketing would give them; the start keeps the later one's
/// `commsched.order`; no cost stays pinned. `epochs` outlives the pattern,
/// which keeps it up to date.
void populateSumBeforeReduceScatterPatterns(RewritePatternSet &patterns,
                                            CommunicationEpochs &epochs);

/// Applies the pattern to all additions of `function`, sums of many included.
/// Emits a remark for each addition of two reduce-scatters: what it became, or
/// why it stays. Returns whether anything changed.
bool sumBeforeReduceScatter(func::FuncOp function);

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_TRANSFORMS_FSDP_SUMBEFOREREDUCESCATTER_H
