//===- Conversion.h - Copies that convert elements --------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Copies of elements on the processor, from one type to another. Exact where
// the target can represent the value; otherwise see `narrow` in Elements.h.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_RUNTIME_NUMERICS_CONVERSION_H
#define COMMSCHED_RUNTIME_NUMERICS_CONVERSION_H

#include "CommSched/Runtime/Backend.h"

namespace commsched::runtime {

/// Why elements of `source` cannot become elements of `target`: a complex
/// number is no real one.
Error checkConversion(commsched_type target, commsched_type source);

/// Converts `count` elements. The ranges must not overlap, unless the types are
/// equal.
void convertElements(void *target, commsched_type targetType,
                     const void *source, commsched_type sourceType,
                     int64_t count);

/// Carries out the copy; errors as of `checkConversion`.
Error copyRows(const StridedCopy &copy);

} // namespace commsched::runtime

#endif // COMMSCHED_RUNTIME_NUMERICS_CONVERSION_H
