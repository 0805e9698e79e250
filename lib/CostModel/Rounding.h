//===- Rounding.h - microseconds to whole nanoseconds -----------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The one place where a model's floating-point time becomes an integer, so
// that every model rounds and saturates alike.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_COSTMODEL_ROUNDING_H
#define COMMSCHED_LIB_COSTMODEL_ROUNDING_H

#include <cmath>
#include <cstdint>
#include <limits>

namespace mlir::commsched::cost {

/// The nearest whole nanosecond, halves up, within [0, INT64_MAX].
inline int64_t roundToNs(double nanoseconds) {
  // 2^63, the first double beyond the range.
  if (!(nanoseconds < 9223372036854775808.0))
    return std::numeric_limits<int64_t>::max();
  if (nanoseconds <= 0)
    return 0;
  return static_cast<int64_t>(std::floor(nanoseconds + 0.5));
}

} // namespace mlir::commsched::cost

#endif // COMMSCHED_LIB_COSTMODEL_ROUNDING_H
