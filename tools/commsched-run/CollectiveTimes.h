//===- CollectiveTimes.h - Times of single collectives ----------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Measures collectives of several sizes on several groups instead of running a
// program, and writes the times as a table that the option `profile` reads.
//
// All ranks meet before each call, and each rank measures the time from the
// start to the end of the wait. The time of a call is that of the slowest rank,
// and that of a row the median over calls.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_TOOLS_COMMSCHED_RUN_COLLECTIVETIMES_H
#define COMMSCHED_TOOLS_COMMSCHED_RUN_COLLECTIVETIMES_H

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"

#include <optional>
#include <string>
#include <vector>

namespace mlir::commsched::run {

struct Settings;

/// Groups that divide all ranks evenly: as a grid with rows of consecutive
/// ranks, `size` is the length of a row or of a column; 0 for one of all ranks.
struct TimedGroup {
  /// As written: "world", "rows:2", "columns:4".
  std::string name;
  int64_t size = 0;
  bool areColumns = false;
};

/// What is measured.
struct CollectiveSweep {
  /// The names of operations, and "send_recv".
  std::vector<std::string> collectives;
  std::vector<TimedGroup> groups;
  int64_t elementBytes = 4;
  /// Of the full buffer, in bytes.
  std::vector<int64_t> sizes;
  /// Of all groups, as program descriptions have it; none for the backend's
  /// usual one.
  std::optional<llvm::json::Object> implementation;
};

/// Checks the options as far as that is possible without ranks. Sizes grow by
/// the factor 4.
CollectiveSweep readCollectiveOptions(const Settings &settings);

/// Measures the sweep of `settings` on a rank that has joined; `begin` says
/// what is being measured. Rank 0 writes the table. An error of any rank is one
/// of all.
LogicalResult timeCollectives(const Settings &settings,
                              function_ref<void(const Twine &)> begin);

} // namespace mlir::commsched::run

#endif // COMMSCHED_TOOLS_COMMSCHED_RUN_COLLECTIVETIMES_H
