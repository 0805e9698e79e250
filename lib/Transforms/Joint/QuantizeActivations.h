//===- QuantizeActivations.h - Saved values in 8 bits -----------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Converts values that a forward saves to an 8-bit floating-point type, and
// back in the backward.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_TRANSFORMS_JOINT_QUANTIZEACTIVATIONS_H
#define COMMSCHED_LIB_TRANSFORMS_JOINT_QUANTIZEACTIVATIONS_H

#include "SplitFunction.h"

namespace mlir::commsched {

/// Rewrites both halves of a partition, of one block each, such that saved
/// tensors of bf16 and of at least 1 MiB, inputs aside, are saved as f8E5M2
/// with a scale for each row, as commsched-quantize-activations does: the first
/// of them, up to `eighths` of their bytes. Returns how many there are. The
/// dialects `arith`, `linalg`, `math` and `tensor` must be loaded. Linear.
int64_t quantizeSavedValues(PartitionHalves halves, int32_t eighths,
                            bool emitRemarks);

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_TRANSFORMS_JOINT_QUANTIZEACTIVATIONS_H
