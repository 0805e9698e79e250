//===- ComputeCost.h - roofline cost of local operations --------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The time of an operation that does not communicate: the larger of its
// arithmetic and its memory traffic, plus the launch of one kernel.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_COSTMODEL_COMPUTECOST_H
#define COMMSCHED_COSTMODEL_COMPUTECOST_H

#include "CommSched/CostModel/Target.h"

#include <cstdint>

namespace mlir::commsched::cost {

/// Nanoseconds, rounded to nearest and halves up:
///   launch + max(flops / (peak * efficiency), bytes / (bandwidth *
///   efficiency))
/// `bytesMoved` counts what is read plus what is written. An operation with
/// neither flops nor bytes is free (a view), without a launch. Negative counts
/// are taken as 0; a result that does not fit saturates at INT64_MAX.
int64_t computeTimeNs(const Target &target, double flops, ElementKind kind,
                      int64_t bytesMoved);

} // namespace mlir::commsched::cost

#endif // COMMSCHED_COSTMODEL_COMPUTECOST_H
