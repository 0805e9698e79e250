//===- ElementTypes.h - Element types and their names -----------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The names that program descriptions use for element types, reductions, kinds
// of collectives and methods, and the sizes of the types. All backends use
// these functions, so that they agree.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_RUNTIME_NUMERICS_ELEMENTTYPES_H
#define COMMSCHED_RUNTIME_NUMERICS_ELEMENTTYPES_H

#include "CommSched/Runtime/Backend.h"

namespace commsched::runtime {

const char *getName(commsched_type type);
const char *getName(commsched_kind kind);
const char *getName(commsched_reduction reduction);
const char *getName(Method method);

std::optional<commsched_type> parseType(const std::string &name);
std::optional<commsched_kind> parseKind(const std::string &name);
std::optional<commsched_reduction> parseReduction(const std::string &name);
std::optional<Method> parseMethod(const std::string &name);

/// Whether `type` is one of commsched_type: C callers pass any integer.
bool isType(int32_t type);

/// Bytes of one element; an i1 takes one.
int64_t getByteSize(commsched_type type);

/// i1 is an integer.
bool isInteger(commsched_type type);
bool isComplex(commsched_type type);

/// Also understands "bytes<T>", which has no type but a size.
Status parseElementType(const std::string &name, ElementType &element);

} // namespace commsched::runtime

#endif // COMMSCHED_RUNTIME_NUMERICS_ELEMENTTYPES_H
