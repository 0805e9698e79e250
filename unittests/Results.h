//===- Results.h - Values that a test cannot do without ---------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_UNITTESTS_RESULTS_H
#define COMMSCHED_UNITTESTS_RESULTS_H

#include "CommSched/Support/Result.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <utility>

namespace mlir::commsched::testing {

/// What `result` holds. If it holds an error, the test fails and the program
/// ends, for nothing behind it would mean anything.
template <typename T> T need(Result<T> result) {
  if (!result) {
    ADD_FAILURE() << result.error();
    std::exit(EXIT_FAILURE);
  }
  return std::move(*result);
}

} // namespace mlir::commsched::testing

#endif // COMMSCHED_UNITTESTS_RESULTS_H
