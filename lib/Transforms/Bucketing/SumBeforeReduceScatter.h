//===- SumBeforeReduceScatter.h - Sums before reduce-scatters ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A parameter that is used twice has two gradients, which are often reduced one
// by one and added afterwards. Sums and means are linear, so that
//
//   add(wait(reduce_scatter(a)), wait(reduce_scatter(b)))
//     = wait(reduce_scatter(add(a, b)))
//
// with half of the communication; longer sums save more. PyTorch Inductor has
// this rewrite in dedup_fsdp_reduce_scatter (torch/_inductor/fx_passes, 2026).
//
// The addition then runs on unsharded tensors, which are larger than a shard by
// the size of the group. It takes longer and needs memory for its result. The
// terms of each element are summed in another order, so that floating-point
// results may differ by rounding.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_TRANSFORMS_BUCKETING_SUMBEFOREREDUCESCATTER_H
#define COMMSCHED_LIB_TRANSFORMS_BUCKETING_SUMBEFOREREDUCESCATTER_H

#include "CommSched/Interfaces/CommSchedInterfaces.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/DenseMap.h"
#include <array>
#include <string>

namespace mlir::commsched {

/// A summand: the result of a reduce-scatter, or a sum of such results.
struct ScatterTerm {
  /// The reduce-scatter and its wait; null for a sum.
  Operation *start = nullptr;
  Operation *wait = nullptr;
  /// The addition; null for a reduce-scatter.
  Operation *sum = nullptr;
};

/// The addition of two summands.
struct ScatterSum {
  Operation *add = nullptr;
  /// By operand of the addition.
  std::array<ScatterTerm, 2> terms;
  /// The last of all reduce-scatters in it to start; all are like this one.
  Operation *place = nullptr;
};

/// The reason for which a sum of two summands cannot be reduced at once.
struct ScatterSumObstacle {
  Operation *add;
  std::array<ScatterTerm, 2> terms;
  /// The rest of a sentence.
  std::string reason;
};

class ScatterSums {
public:
  /// Looks at the additions of two tensors of one type in `op`: `arith.addf`,
  /// `arith.addi`, `linalg.add` and the operator `aten.add`. A sum can be
  /// reduced at once if its reduce-scatters, in any dialect,
  ///   - are of one block, with their waits and the additions,
  ///   - are equal but for their operands, which are of one type,
  ///   - reduce by sum or avg, one tensor each, not in place,
  ///   - have no other users, nor do their waits and all additions but the
  ///     last,
  ///   - have nothing between them that no collective may cross,
  /// and nothing writes the operand of one before that of the next summand
  /// starts. (An operand that needs what another one delivers makes that one
  /// used twice.)
  ///
  /// Linear in the operations in `op`, times how deep they are nested, and in
  /// the uses of what is sent.
  explicit ScatterSums(Operation *op);

  /// The sums as large as possible, by their last addition, in program order.
  ArrayRef<Operation *> getLargest() const { return largest; }

  /// A sum that can be reduced at once, by its last addition; null if there is
  /// none.
  const ScatterSum *lookup(Operation *add) const {
    auto it = sums.find(add);
    return it == sums.end() ? nullptr : &it->second;
  }

  ArrayRef<ScatterSumObstacle> getObstacles() const { return obstacles; }

private:
  void visit(Operation *add);
  std::optional<ScatterTerm> findTerm(Value value, Operation *add) const;
  Operation *getPlace(const ScatterTerm &term) const;
  std::optional<std::string>
  findObstacle(const std::array<ScatterTerm, 2> &terms) const;

  DenseMap<Operation *, ScatterSum> sums;
  SmallVector<Operation *> largest;
  SmallVector<ScatterSumObstacle> obstacles;
  /// By start: how many operations that no collective may cross stand before it
  /// in its block.
  DenseMap<Operation *, int64_t> numBarriers;
};

/// Reduces the largest sums of `function` at once. An addition comes where the
/// later of its summands started, the start where the last one was, the wait
/// where the last addition was. New operations have fused locations, and the
/// names and other attributes that bucketing would give them; the start keeps
/// the last one's `commsched.order`; no cost stays pinned. Emits a remark for
/// each sum: what it became, or why it stays. Returns whether anything changed.
bool sumBeforeReduceScatter(func::FuncOp function);

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_TRANSFORMS_BUCKETING_SUMBEFOREREDUCESCATTER_H
