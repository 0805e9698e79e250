//===- ScatterSums.h - Sums of what is reduced and scattered ----*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Finds the additions of what reduce-scatters deliver, and tells which sums of
// two or more could be reduced at once.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_TRANSFORMS_FSDP_SCATTERSUMS_H
#define COMMSCHED_LIB_TRANSFORMS_FSDP_SCATTERSUMS_H

#include "CommSched/Interfaces/CommSchedInterfaces.h"
#include "llvm/ADT/DenseMap.h"
#include <array>
#include <string>

namespace mlir::commsched {

/// A summand: what a reduce-scatter delivers, or a sum of such.
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

/// Why a sum of two summands is not reduced at once.
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
  ///   - are used by nobody else, and neither are their waits and the additions
  ///     but the last,
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

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_TRANSFORMS_FSDP_SCATTERSUMS_H
