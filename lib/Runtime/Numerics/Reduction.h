//===- Reduction.h - Reductions on the processor ----------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Element-wise reductions of buffers. The pairs of type and reduction must pass
// `checkReduction`. Integers wrap around; min and max of floating-point numbers
// are NaN if either is, and tell -0 from 0. Types of 8 and 16 bits compute in
// float.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_RUNTIME_NUMERICS_REDUCTION_H
#define COMMSCHED_RUNTIME_NUMERICS_REDUCTION_H

#include "CommSched/Runtime/Backend.h"

namespace commsched::runtime {

/// target = target op source, each result rounded to the type. For avg it adds:
/// `divideElements` follows once all are added.
void accumulate(commsched_type type, commsched_reduction reduction,
                void *target, const void *source, int64_t count);

/// Divides floating-point or complex elements by `divisor`.
void divideElements(commsched_type type, void *data, int64_t count,
                    int64_t divisor);

/// Reduces `numSources` (at least 1) buffers in their order and rounds each
/// result once, at the end. `target` may be one of the sources.
void reduceInOrder(commsched_type type, commsched_reduction reduction,
                   const void *const *sources, int64_t numSources, void *target,
                   int64_t count);

} // namespace commsched::runtime

#endif // COMMSCHED_RUNTIME_NUMERICS_REDUCTION_H
