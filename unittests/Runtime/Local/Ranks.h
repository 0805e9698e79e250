//===- Ranks.h - Ranks as threads, for tests --------------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs a function on every rank of a job of the local backend and returns the
// status with which each rank left.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_UNITTESTS_RUNTIME_LOCAL_RANKS_H
#define COMMSCHED_UNITTESTS_RUNTIME_LOCAL_RANKS_H

#include "../SiteText.h"
#include "CommSched/Runtime/Runtime.h"

#include <functional>
#include <string>
#include <vector>

namespace commsched::runtime::testing {

using Errors = std::vector<std::string>;

struct Ranks {
  int32_t count = 2;
  /// Changes of the default options; the deadline is short.
  std::function<void(commsched_options &)> configure;
  /// Loaded by every rank, unless empty.
  std::string program;

  /// Runs `body(rank)` on each, if it has joined and loaded the program, and
  /// finalizes. The errors of the ranks; "" for none.
  Errors run(const std::function<void(int32_t)> &body) const;
};

/// A program with the groups "dp" of all `size` ranks and "solo" of one each,
/// and the sites of this text.
std::string makeProgram(int32_t size, const std::string &sites,
                        const std::string &operators = "");

/// Starts the site with one tensor.
int64_t start(int32_t site, const void *input, void *output);

} // namespace commsched::runtime::testing

#endif // COMMSCHED_UNITTESTS_RUNTIME_LOCAL_RANKS_H
