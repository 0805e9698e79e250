//===- QuantizePair.h - Halves that share 8-bit floats ----------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rewrites the two halves of a partition so that the one saves in 8-bit
// floating-point types, with scales beside, what the other converts back.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_TRANSFORMS_JOINT_QUANTIZEPAIR_H
#define COMMSCHED_LIB_TRANSFORMS_JOINT_QUANTIZEPAIR_H

#include "ActivationCandidates.h"

namespace mlir::commsched {

/// Does what `plan`, made by the same `rules`, says. The results of the forward
/// that are no saved values stay. The pair stays linked: scales have the names
/// of their tensors and `.scale` behind, and what is quantized has the role
/// `saved_activation`. Nothing else may refer to the two functions.
void quantizePair(const PairQuantization &plan, const QuantizationRules &rules);

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_TRANSFORMS_JOINT_QUANTIZEPAIR_H
