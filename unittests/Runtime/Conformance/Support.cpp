//===- Support.cpp - Which backend reduces what ---------------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Support.h"

#include <cstdio>

using namespace commsched::conformance;

/// What has a meaning: truth values do not add up, only fractions have an
/// average, complex numbers no order, and only integers bits.
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
  (void)backend;
  return isDefined(format, reduction);
}

bool commsched::conformance::canMove(const std::string &backend,
                                     const ElementFormat &format) {
  (void)backend;
  (void)format;
  return true;
}

/// The backends for which `hasIt` holds, for a cell of the table.
template <typename HasIt> static std::string listBackends(HasIt hasIt) {
  std::string names;
  int count = 0;
  for (const char *backend : {"local", "mpi", "nccl"}) {
    if (!hasIt(backend))
      continue;
    names += (count++ ? ", " : "") + std::string(backend);
  }
  return count == 3 ? "all" : count == 0 ? "" : names;
}

void commsched::conformance::printSupport() {
  std::string header = "| type | sent |";
  std::string line = "|---|---|";
  for (int i = 0; i < numReductions; ++i) {
    header +=
        std::string(" ") + getName(static_cast<commsched_reduction>(i)) + " |";
    line += "---|";
  }
  std::printf("%s\n%s\n", header.c_str(), line.c_str());
  for (const ElementFormat &format : getElementFormats()) {
    // The sizes stand for any.
    std::string row =
        std::string("| `") +
        (format.elementClass == ElementClass::Opaque ? "bytes<T>"
                                                     : format.name) +
        "` | " + listBackends([&](const char *backend) {
          return canMove(backend, format);
        }) +
        " |";
    for (int i = 0; i < numReductions; ++i)
      row += " " + listBackends([&](const char *backend) {
               return canReduce(backend, format,
                                static_cast<commsched_reduction>(i));
             }) +
             " |";
    std::printf("%s\n", row.c_str());
    if (format.elementClass == ElementClass::Opaque)
      break;
  }
}
