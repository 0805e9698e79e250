//===- Support.cpp - Reductions that backends support ---------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Support.h"

#include <cstdio>

using namespace commsched::conformance;

/// Whether a reduction is defined for a type: truth values do not add up, only
/// fractions have an average, complex numbers no order, and only integers bits.
static bool isDefined(const ElementFormat &format,
                      commsched_reduction reduction) {
  if (format.elementClass == ElementClass::Opaque)
    return false;
  switch (reduction) {
  case COMMSCHED_SUM:
  case COMMSCHED_PROD:
    return format.elementClass != ElementClass::Bool;
  case COMMSCHED_AVG:
    return format.isFractional();
  case COMMSCHED_MIN:
  case COMMSCHED_MAX:
    return format.elementClass != ElementClass::Complex;
  case COMMSCHED_BAND:
  case COMMSCHED_BOR:
  case COMMSCHED_BXOR:
    return format.isInteger();
  }
  return false;
}

bool commsched::conformance::canReduce(const std::string &backend,
                                       const ElementFormat &format,
                                       commsched_reduction reduction) {
  if (!isDefined(format, reduction))
    return false;
  if (backend != "nccl")
    return true;
  // NCCL has no types of truth values or 16-bit integers, and no bitwise
  // reductions; parts of complex numbers can be summed alone.
  switch (format.elementClass) {
  case ElementClass::Signed:
  case ElementClass::Unsigned:
    return format.bytes != 2 && reduction < COMMSCHED_BAND;
  case ElementClass::Complex:
    return reduction == COMMSCHED_SUM || reduction == COMMSCHED_AVG;
  case ElementClass::Float:
    return true;
  default:
    return false;
  }
}

/// The backends that have it, for a cell of the table.
static std::string listBackends(const ElementFormat &format,
                                commsched_reduction reduction) {
  std::string names;
  int count = 0;
  for (const char *backend : {"local", "mpi", "nccl"})
    if (canReduce(backend, format, reduction))
      names += (count++ ? ", " : "") + std::string(backend);
  return count == 3 ? "all" : names;
}

void commsched::conformance::printSupport() {
  std::string header = "| type |";
  std::string line = "|---|";
  for (int i = 0; i < numReductions; ++i) {
    header +=
        std::string(" ") + getName(static_cast<commsched_reduction>(i)) + " |";
    line += "---|";
  }
  std::printf("%s\n%s\n", header.c_str(), line.c_str());
  for (const ElementFormat &format : getElementFormats()) {
    if (format.elementClass == ElementClass::Opaque)
      continue;
    std::string row = std::string("| `") + format.name + "` |";
    for (int i = 0; i < numReductions; ++i)
      row += " " + listBackends(format, static_cast<commsched_reduction>(i)) +
             " |";
    std::printf("%s\n", row.c_str());
  }
}
