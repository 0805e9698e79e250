//===- ActivationCandidates.h - Activations to quantize ---------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Chooses the saved values of a partition that are worth an 8-bit
// floating-point type, and the places of the conversions in both halves.
// Rewrites nothing.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_TRANSFORMS_JOINT_ACTIVATIONCANDIDATES_H
#define COMMSCHED_LIB_TRANSFORMS_JOINT_ACTIVATIONCANDIDATES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/SymbolTable.h"

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
  func::FuncOp forward;
  func::FuncOp backward;
  int64_t numForwardOutputs = 0;
  /// The index among the saved values of the first scale: behind all tensors,
  /// before the numbers at the end.
  unsigned firstScale = 0;
  /// In the order of the saved values.
  SmallVector<QuantizedActivation> activations;
};

/// Decides for the halves of a partition, of one block each, where the first
/// returns, behind its results, what the other takes first. With
/// `emitRemarks`, there is a remark with the reason for each tensor that is not
/// quantized.
QuantizationPlan planQuantization(func::FuncOp forward, func::FuncOp backward,
                                  const QuantizationRules &rules,
                                  bool emitRemarks);

/// Decides for the half `forward`, which has `commsched.backward`, and the half
/// that it names, with remarks.
///
/// Emits an error when a half has several blocks or none, or does not return,
/// there is no such backward, it does not name the forward in turn, or it does
/// not take what the forward saves. `symbols` is that of the module.
FailureOr<QuantizationPlan> planQuantization(func::FuncOp forward,
                                             const QuantizationRules &rules,
                                             SymbolTable &symbols);

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_TRANSFORMS_JOINT_ACTIVATIONCANDIDATES_H
