//===- Float8Tensors.h - Casts of tensors to 8-bit floats -------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Builds the arithmetic that brings a tensor into an 8-bit floating-point type
// and back, with operations that every processor runs: with a factor for each
// row, so that the numbers of the row use the range of the type, or without.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_TRANSFORMS_JOINT_FLOAT8TENSORS_H
#define COMMSCHED_LIB_TRANSFORMS_JOINT_FLOAT8TENSORS_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"

namespace mlir::commsched {

struct QuantizedTensor {
  /// Of the shape of the tensor.
  Value numbers;
  /// One for each row: of the same shape, but with a last dimension of 1. Null
  /// without scaling.
  Value scales;
};

/// The type of the factors: f32, or f64 for wider elements, whose range f32
/// lacks. They divide what they have multiplied, so their rounding is no error.
FloatType getScaleType(FloatType elementType);

/// `tensor` and one scale for each of its rows.
RankedTensorType getScalesType(RankedTensorType tensor);

/// Brings `tensor`, of 16 to 64-bit floats and of a rank of at least 1, into
/// `quantType`, which is f8E5M2 or f8E4M3FN. With scaling, for each row x
///
///   scale = largest / max(max |x|, 1e-12), computed in f64,
///   q = x · scale, computed in the scale's type, rounded to the nearest.
///
/// An infinity or NaN makes all of its row NaN on the way back. Without scaling
/// the numbers are rounded as they are: what is too large for the type becomes
/// infinite, or NaN where the type has no infinity.
///
/// The operations get names that begin with `name`, unless that is empty.
QuantizedTensor quantize(OpBuilder &builder, Location loc, Value tensor,
                         FloatType quantType, bool useScaling, StringRef name);

/// Brings `quantized` back into `type`: q / scale, computed in the scale's type
/// and rounded once.
Value dequantize(OpBuilder &builder, Location loc,
                 const QuantizedTensor &quantized, RankedTensorType type,
                 StringRef name);

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_TRANSFORMS_JOINT_FLOAT8TENSORS_H
