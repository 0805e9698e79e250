//===- Support.h - Reductions that backends support -------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The table of reductions that each backend supports: backends reduce with the
// same results, or reject the program when it is loaded. All backends send all
// types.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_UNITTESTS_CONFORMANCE_SUPPORT_H
#define COMMSCHED_UNITTESTS_CONFORMANCE_SUPPORT_H

#include "Cases.h"

namespace commsched::conformance {

/// Whether `backend` has `reduction` for elements of `format`.
bool canReduce(const std::string &backend, const ElementFormat &format,
               commsched_reduction reduction);

/// Prints the table in Markdown.
void printSupport();

} // namespace commsched::conformance

#endif // COMMSCHED_UNITTESTS_CONFORMANCE_SUPPORT_H
