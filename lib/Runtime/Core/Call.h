//===- Call.h - From C calls to the rank of a thread ------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What every function of the C interface does first: find the rank of the
// calling thread, return at once after an error, and let no exception out.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_RUNTIME_CORE_CALL_H
#define COMMSCHED_RUNTIME_CORE_CALL_H

#include "Core/Rank.h"

#include <exception>

namespace commsched::runtime {

/// The rank of the calling thread; null and an error of the thread, which
/// commsched_last_error gives, if it is none.
Rank *getCurrentRank(const char *function);

/// Runs `body(rank)`, which returns an Error. Whether it went well; errors
/// stick. With `evenIfFailed` an error of the past is no reason not to.
template <class Body>
bool callRank(const char *function, Body &&body, bool evenIfFailed = false) {
  Rank *rank = getCurrentRank(function);
  if (!rank || (rank->hasFailed() && !evenIfFailed))
    return false;
  Error error;
  try {
    error = body(*rank);
  } catch (const std::exception &exception) {
    error = std::string(function) + ": " + exception.what();
  }
  if (error)
    rank->fail(*error);
  return !error;
}

} // namespace commsched::runtime

#endif // COMMSCHED_RUNTIME_CORE_CALL_H
