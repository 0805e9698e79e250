//===- ElementArithmetic.h - Conversions and reductions ---------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Conversions and element-wise reductions of buffers in host memory.
//
// A conversion is exact where the target type can represent the value;
// otherwise see `narrow` in Elements.h.
//
// The type and the operator of a reduction must pass `checkReduction`. Integers
// wrap around. The minimum and maximum of floating-point numbers are NaN if
// either operand is NaN, and order -0 below 0. Types of 8 and 16 bits are
// computed in float.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_RUNTIME_NUMERICS_ELEMENTARITHMETIC_H
#define COMMSCHED_RUNTIME_NUMERICS_ELEMENTARITHMETIC_H

#include "CommSched/Runtime/Backend.h"

namespace commsched::runtime {

/// An error if elements of `source` cannot become elements of `target`, since
/// complex numbers cannot become real ones.
Status checkConversion(commsched_type target, commsched_type source);

/// Converts `count` elements. The ranges must not overlap, unless the types are
/// equal.
void convertElements(void *target, commsched_type targetType,
                     const void *source, commsched_type sourceType,
                     int64_t count);

/// Carries out the copy; errors as of `checkConversion`.
Status copyRows(const StridedCopy &copy);

/// An error that names both if elements cannot be reduced by `reduction`. i1
/// reduces by band, bor, bxor, min (and) and max (or); avg needs floating-point
/// or complex numbers, band, bor and bxor integers; complex numbers have no min
/// and max; elements without a type have no reduction.
Status checkReduction(const ElementType &element,
                      commsched_reduction reduction);

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

#endif // COMMSCHED_RUNTIME_NUMERICS_ELEMENTARITHMETIC_H
