//===- Elements.h - Element types of the benchmark --------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The element types that can be timed: names, sizes, and how a small integer is
// written in each of them.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_TOOLS_BENCH_ELEMENTS_H
#define COMMSCHED_TOOLS_BENCH_ELEMENTS_H

#include "CommSched/Runtime/Runtime.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>

namespace commsched::bench {

struct Element {
  llvm::StringRef name;
  commsched_type type;
  int64_t bytes;
  /// 2 for a complex type, whose parts are one after the other.
  int32_t components;
  /// All integers from 0 to this one are exact; at most 2^16.
  int64_t maxExact;
};

/// Every type, in the order of `commsched_type`.
llvm::ArrayRef<Element> getElements();

/// The type of that name; null if there is none.
const Element *findElement(llvm::StringRef name);

/// Writes the integer, at most `maxExact`, into all components' bytes of one
/// element: `real` and, for a complex type, `imaginary`.
void writeElement(const Element &element, int64_t real, int64_t imaginary,
                  char *target);

} // namespace commsched::bench

#endif // COMMSCHED_TOOLS_BENCH_ELEMENTS_H
