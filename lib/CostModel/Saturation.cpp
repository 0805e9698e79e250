//===- Saturation.cpp - how large a message must be -------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/CostModel/Saturation.h"

namespace mlir::commsched::cost {

int64_t getSaturationBytes(const CollectiveCost &cost, CollectiveKind kind,
                           int32_t ranks, int32_t ranksPerNode,
                           double fraction) {
  if (ranks <= 1 || kind == CollectiveKind::Barrier)
    return 0;
  constexpr int64_t limitBytes = int64_t(1) << 50;
  auto timeOf = [&](int64_t bytes) {
    return static_cast<double>(
        cost.timeNs({kind, bytes, ranks, ranksPerNode, /*tensors=*/1}));
  };
  double wanted = fraction * limitBytes;
  double limitTime = timeOf(limitBytes);
  // bytes / time >= fraction * limitBytes / limitTime, without the quotients.
  auto reaches = [&](int64_t bytes) {
    return static_cast<double>(bytes) * limitTime >= wanted * timeOf(bytes);
  };

  int64_t above = limitBytes;
  while (above > 1 && reaches(above / 2))
    above /= 2;
  // Here `above` reaches the fraction and, unless it is 1, its half does not.
  int64_t below = above / 2;
  while (above - below > 1) {
    int64_t middle = below + (above - below) / 2;
    (reaches(middle) ? above : below) = middle;
  }
  return above;
}

} // namespace mlir::commsched::cost
