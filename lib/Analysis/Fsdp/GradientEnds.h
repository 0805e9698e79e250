//===- GradientEnds.h - Where gradients leave a function --------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Follows the values of a block to where they end up: in the function's
// results, through operations of one operand each, or in something else.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_ANALYSIS_FSDP_GRADIENTENDS_H
#define COMMSCHED_LIB_ANALYSIS_FSDP_GRADIENTENDS_H

#include "ParameterOrigins.h"

namespace mlir::commsched {

/// What a collective delivers: the results of its wait, or its own if it is
/// blocking.
ResultRange getDeliveredValues(CollectiveOpInterface collective);

/// Where a value ends up.
struct End {
  enum class Kind {
    /// Nobody uses it, or what is made of it.
    Unused,
    /// In the function's results, and nowhere else.
    Returned,
    /// In `user`, among others.
    Used,
  };
  Kind kind = Kind::Unused;
  /// Of several the first of the block.
  Operation *user = nullptr;
};

/// The ends of the values of one block. An all-reduce is on the way of each of
/// its operands to what it delivers for it.
class GradientEnds {
public:
  /// Visits every operation and use once. `origins` are those of the block and
  /// must outlive this.
  GradientEnds(Block &block, const ParameterOrigins &origins);

  End getEnd(Value value) const;

  /// The all-reduces of which all operands are on the way from one of
  /// `gradients`, values that end up in the function's results. Linear in the
  /// operations on the way.
  DenseSet<Operation *> findReductions(ArrayRef<Value> gradients) const;

private:
  End visit(Operation *op) const;
  End getEnd(OpOperand &use) const;

  Block &block;
  const ParameterOrigins &origins;
  /// Of all results of an operation together.
  DenseMap<Operation *, End> ends;
};

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_ANALYSIS_FSDP_GRADIENTENDS_H
