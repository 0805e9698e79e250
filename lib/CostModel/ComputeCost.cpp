//===- ComputeCost.cpp - roofline cost of local operations ------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/CostModel/ComputeCost.h"

#include "Rounding.h"

#include <algorithm>

namespace mlir::commsched::cost {

int64_t computeTimeNs(const Target &target, double flops, ElementKind kind,
                      int64_t bytesMoved) {
  // Also what is not a number counts as none.
  if (!(flops > 0))
    flops = 0;
  if (flops == 0 && bytesMoved <= 0)
    return 0;
  double arithmeticNs =
      1e9 * flops / (target.peakFlops(kind) * target.computeEfficiency);
  // GB/s is bytes a nanosecond.
  double memoryNs = static_cast<double>(std::max<int64_t>(bytesMoved, 0)) /
                    (target.memoryGBs * target.memoryEfficiency);
  return roundToNs(target.kernelLaunchNs + std::max(arithmeticNs, memoryNs));
}

} // namespace mlir::commsched::cost
