//===- Segments.h - Segments of the forward ---------------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Cuts the forward into segments that the backward may compute again one at a
// time, as activation checkpointing does (Chen et al., "Training Deep Nets with
// Sublinear Memory Cost", 2016). A minimum cut does not see that what is
// computed again is live as well: with a high price of memory it saves nothing
// and computes the whole forward again at once.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_PARTITION_SEGMENTS_H
#define COMMSCHED_PARTITION_SEGMENTS_H

#include "CommSched/Partition/Classification.h"

#include <cstdint>
#include <vector>

namespace mlir::commsched::partition {

/// The bytes of all values that the forward computes, gathered parameters
/// aside, each storage once. Linear.
int64_t computeForwardBytes(const JointGraph &graph,
                            const Classification &classes);

/// By node, whether it is an input of a segment: an operation of the forward,
/// or its result, that a later segment reads or sees through views. Segments
/// compute up to `segmentBytes`, at the least a single operation, and end in
/// their second half where the fewest bytes cross. Gathered parameters are no
/// inputs. Linear.
std::vector<char> findSegmentInputs(const JointGraph &graph,
                                    const Classification &classes,
                                    int64_t segmentBytes);

} // namespace mlir::commsched::partition

#endif // COMMSCHED_PARTITION_SEGMENTS_H
