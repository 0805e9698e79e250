//===- ElementTypes.h - Types, conversions and reductions -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The names that program descriptions use for element types, reductions, kinds
// of collectives and methods, and the sizes of the types. All backends use
// these functions, so that they agree.
//
// Conversions and element-wise reductions are those of buffers in host memory.
// A conversion is exact where the target type can represent the value;
// otherwise see `narrow` in Elements.h. The type and the operator of a
// reduction must pass `checkReduction`. Integers wrap around. The minimum and
// maximum of floating-point numbers are NaN if either operand is NaN, and order
// -0 below 0. Types of 8 and 16 bits are computed in float.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_RUNTIME_NUMERICS_ELEMENTTYPES_H
#define COMMSCHED_RUNTIME_NUMERICS_ELEMENTTYPES_H

#include "CommSched/Runtime/Backend.h"

#include <iterator>

namespace commsched::runtime {

/// The names of a type of numbers, in their order; other types have none.
template <class Number> inline constexpr std::nullptr_t names = nullptr;
template <>
inline constexpr const char *names<commsched_type>[] = {
    "i1",   "i8",   "i16",  "i32",          "i64",         "ui8",
    "ui16", "ui32", "ui64", "f8E4M3FN",     "f8E5M2",      "f16",
    "bf16", "f32",  "f64",  "complex<f32>", "complex<f64>"};
template <>
inline constexpr const char *names<commsched_kind>[] = {
    "all_gather", "reduce_scatter", "all_reduce", "all_to_all",
    "broadcast",  "permute",        "send",       "recv",
    "barrier",    "offload",        "reload"};
template <>
inline constexpr const char *names<commsched_reduction>[] = {
    "sum", "avg", "prod", "min", "max", "band", "bor", "bxor"};
template <>
inline constexpr const char *names<Method>[] = {"nccl", "copy-engine",
                                                "symmetric"};
static_assert(std::size(names<commsched_type>) == COMMSCHED_COMPLEX_F64 + 1 &&
                  std::size(names<commsched_kind>) == COMMSCHED_RELOAD + 1 &&
                  std::size(names<commsched_reduction>) == COMMSCHED_BXOR + 1,
              "a number without a name");

template <class Number> const char *getName(Number number) {
  assert(static_cast<size_t>(number) < std::size(names<Number>));
  return names<Number>[static_cast<size_t>(number)];
}

/// The number of a name; none for other texts.
template <class Number>
std::optional<Number> parseName(const std::string &name) {
  for (size_t i = 0; i < std::size(names<Number>); ++i)
    if (name == names<Number>[i])
      return static_cast<Number>(i);
  return std::nullopt;
}

/// Whether `type` is one of commsched_type: C callers pass any integer.
inline bool isType(int32_t type) {
  return type >= 0 && type <= COMMSCHED_COMPLEX_F64;
}

/// Bytes of one element; an i1 takes one.
int64_t getByteSize(commsched_type type);

/// i1 is an integer.
inline bool isInteger(commsched_type type) { return type <= COMMSCHED_UI64; }
inline bool isComplex(commsched_type type) {
  return type >= COMMSCHED_COMPLEX_F32;
}

/// Also understands "bytes<T>", which has no type but a size.
Status parseElementType(const std::string &name, ElementType &element);

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

#endif // COMMSCHED_RUNTIME_NUMERICS_ELEMENTTYPES_H
