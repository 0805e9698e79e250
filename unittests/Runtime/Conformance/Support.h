//===- Support.h - Which backend reduces what -------------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The table that all backends are held to: a combination is either carried out
// with the same result everywhere, or refused when the program is loaded.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_UNITTESTS_CONFORMANCE_SUPPORT_H
#define COMMSCHED_UNITTESTS_CONFORMANCE_SUPPORT_H

#include "Cases.h"

namespace commsched::conformance {

/// Whether `backend` has `reduction` for elements of `format`.
bool canReduce(const std::string &backend, const ElementFormat &format,
               commsched_reduction reduction);

/// Whether `backend` can send elements of `format`.
bool canMove(const std::string &backend, const ElementFormat &format);

/// Prints the table in Markdown.
void printSupport();

} // namespace commsched::conformance

#endif // COMMSCHED_UNITTESTS_CONFORMANCE_SUPPORT_H
