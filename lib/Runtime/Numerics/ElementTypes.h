//===- ElementTypes.h - Element types and their names -----------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The names that program descriptions use for element types, reductions and
// kinds of collectives, the sizes of the types, and the reductions that each
// type has. All backends use these functions, so that they agree.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_RUNTIME_NUMERICS_ELEMENTTYPES_H
#define COMMSCHED_RUNTIME_NUMERICS_ELEMENTTYPES_H

#include "CommSched/Runtime/Backend.h"

namespace commsched::runtime {

const char *getName(commsched_type type);
const char *getName(commsched_kind kind);
const char *getName(commsched_reduction reduction);

std::optional<commsched_type> parseType(const std::string &name);
std::optional<commsched_kind> parseKind(const std::string &name);
std::optional<commsched_reduction> parseReduction(const std::string &name);

/// Whether `type` is one of commsched_type: C callers pass any integer.
bool isType(int32_t type);

/// Bytes of one element; an i1 takes one.
int64_t getByteSize(commsched_type type);

/// i1 is an integer.
bool isInteger(commsched_type type);
bool isComplex(commsched_type type);

/// Also understands "bytes<T>", which has no type but a size.
Status parseElementType(const std::string &name, ElementType &element);

/// An error that names both if elements cannot be reduced by `reduction`. i1
/// reduces by band, bor, bxor, min (and) and max (or); avg needs floating-point
/// or complex numbers, band, bor and bxor integers; complex numbers have no min
/// and max; elements without a type have no reduction.
Status checkReduction(const ElementType &element,
                      commsched_reduction reduction);

} // namespace commsched::runtime

#endif // COMMSCHED_RUNTIME_NUMERICS_ELEMENTTYPES_H
