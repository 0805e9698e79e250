//===- Saturation.h - how large a message must be ---------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The size from which on a collective uses its links well. Merging collectives
// beyond it saves little and delays what waits for them.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_COSTMODEL_SATURATION_H
#define COMMSCHED_COSTMODEL_SATURATION_H

#include "CommSched/CostModel/CollectiveCost.h"

#include <cstdint>

namespace mlir::commsched::cost {

/// The full buffer, in bytes, from which on a collective of one tensor reaches
/// `fraction` of its bandwidth in the limit. Bandwidth is bytes over time; the
/// limit is that of 1 PiB, where no latency is left to see.
///
/// What is guaranteed: the size and every power of two above it (up to 1 PiB)
/// reach the fraction, and one byte less does not, unless the size is 1. Where
/// bandwidth only grows with the size, as it does wherever the time is a
/// latency plus bytes over bandwidth, or the least of several such, every other
/// larger size reaches it too, but for the rounding of times to nanoseconds. A
/// table bends bandwidth at its rows only, so with rows at powers of two the
/// same holds.
///
/// A `fraction` up to 0 is reached by 1 byte, and one above 1 never: the result
/// is then 1 PiB. It is 0 where size means nothing: for a group of one, which
/// does not communicate, and for a barrier. About a hundred evaluations of the
/// model.
int64_t getSaturationBytes(const CollectiveCost &cost, CollectiveKind kind,
                           int32_t ranks, int32_t ranksPerNode,
                           double fraction);

} // namespace mlir::commsched::cost

#endif // COMMSCHED_COSTMODEL_SATURATION_H
