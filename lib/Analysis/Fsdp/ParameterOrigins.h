//===- ParameterOrigins.h - Values made from parameters ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Follows the parameters of a function through a block: which values are one of
// them, cast, padded or viewed, and which are only constants. Local
// computations that only move data carry a parameter on.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_ANALYSIS_FSDP_PARAMETERORIGINS_H
#define COMMSCHED_LIB_ANALYSIS_FSDP_PARAMETERORIGINS_H

#include "CommSched/Analysis/Fsdp/FsdpAnalysis.h"
#include "mlir/IR/Operation.h"

namespace mlir::commsched {

/// The origin from which a value is computed.
struct Origin {
  enum class Kind {
    /// Nothing that the program gets from outside or computes from that.
    Constant,
    /// One parameter.
    Parameter,
    /// Several tensors that are made of one parameter each, and constants,
    /// packed by a copy-in.
    Bucket,
    /// Something else.
    Other
  };
  Kind kind = Kind::Constant;
  /// Of Kind::Parameter: the parameter.
  Value parameter;
  /// Of Kind::Bucket: the copy-in.
  Operation *copyIn = nullptr;
  /// Of Kind::Other: why it is that.
  FsdpObstacle obstacle;
};

/// The origins of the values that a block can use.
class ParameterOrigins {
public:
  /// Visits every operation once.
  explicit ParameterOrigins(Block &block);

  Origin getOrigin(Value value) const;

  bool isConstant(Value value) const {
    return getOrigin(value).kind == Origin::Kind::Constant;
  }

  /// Adds the parameters that `value`, which must be of Kind::Parameter or
  /// Kind::Bucket, is made of.
  void appendParameters(Value value, SmallVectorImpl<Value> &parameters) const;

private:
  Origin getOuterOrigin(Value value) const;
  Origin visit(Operation *op) const;
  Origin visitCopyIn(Operation *op) const;

  /// That of the function around the block, or the block itself; null if there
  /// is no function.
  Block *entry = nullptr;
  /// Of the function's arguments, null for those without; empty if none has
  /// one.
  SmallVector<StringAttr> roles;
  /// Of the results of the block's operations.
  DenseMap<Value, Origin> origins;
};

/// The inputs of `op` that are no numbers: operands, and values that its
/// regions capture.
SmallVector<Value> getTensorInputs(Operation *op);

/// Whether the results of `op` depend on its inputs only: it neither
/// communicates nor draws random numbers nor has unknown effects, and its
/// regions, if any, compute only numbers. Linear in the operations nested in
/// `op`.
bool isLocalComputation(Operation *op);

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_ANALYSIS_FSDP_PARAMETERORIGINS_H
