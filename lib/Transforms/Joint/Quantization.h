//===- Quantization.h - Activations in 8 bits -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Chooses the saved values of a partition that are worth an 8-bit
// floating-point type and the places of the conversions in both halves, and
// builds the conversions with operations that every processor runs: with a
// factor for each row, so that the numbers of the row use the range of the
// type, or without.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_TRANSFORMS_JOINT_QUANTIZATION_H
#define COMMSCHED_LIB_TRANSFORMS_JOINT_QUANTIZATION_H

#include "SplitFunction.h"
#include "mlir/IR/BuiltinTypes.h"

namespace mlir::commsched {

/// Which saved values are quantized, and to what.
struct QuantizationRules {
  /// Element types, wider than 8 bits.
  SmallVector<FloatType> allowedTypes;
  /// f8E5M2 or f8E4M3FN.
  FloatType quantType;
  bool useScaling = true;
  /// In units of 2^20 bytes.
  double smallestSizeMb = 0;
  bool excludePrimals = false;
  bool quantizeDynamicShape = false;
};

/// A saved value that is to be quantized.
struct QuantizedActivation {
  /// Its index among the saved values, which is that of the backward's argument
  /// for it.
  unsigned index = 0;
  Value value;
  /// The operation of the forward behind the last one that uses the storage of
  /// the value: from there on only the quantized tensor takes memory.
  Operation *quantizeBefore = nullptr;
  /// The first operation of the backward that uses the value; null if none
  /// does.
  Operation *dequantizeBefore = nullptr;
};

/// The conversions in the two halves of a partition.
struct QuantizationPlan {
  PartitionHalves halves;
  /// The index among the saved values of the first scale: behind all tensors,
  /// before the numbers at the end.
  unsigned firstScale = 0;
  /// In the order of the saved values.
  SmallVector<QuantizedActivation> activations;
};

/// Decides for the halves of a partition, of one block each. With
/// `emitRemarks`, there is a remark with the reason for each tensor that is not
/// quantized.
QuantizationPlan planQuantization(PartitionHalves halves,
                                  const QuantizationRules &rules,
                                  bool emitRemarks);

//===----------------------------------------------------------------------===//
// Casts of tensors
//===----------------------------------------------------------------------===//

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

#endif // COMMSCHED_LIB_TRANSFORMS_JOINT_QUANTIZATION_H
