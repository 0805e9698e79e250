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

#include <string>
#include <vector>

namespace mlir::commsched::run {

/// Groups that divide all ranks evenly: as a grid with rows of consecutive
/// ranks, `size` is the length of a row or of a column.
struct TimedGroup {
  enum class Kind { World, Rows, Columns };
  Kind kind = Kind::World;
  /// As written: "world", "rows:2", "columns:4".
  std::string name;
  int64_t size = 0;
};

/// What is measured.
struct CollectiveSweep {
  /// The names of operations, and "send_recv".
  std::vector<std::string> collectives;
  std::vector<TimedGroup> groups;
  std::string type = "f32";
  int64_t elementBytes = 4;
  /// Of the full buffer, in bytes.
  std::vector<int64_t> sizes;
  /// Of all groups, as program descriptions have it: empty for the backend's
  /// usual one.
  std::string implementation;
  std::string method;
  int64_t channels = 0;
  /// The command line, for the table.
  std::string command;
};

/// Checks the options as far as that is possible without ranks. Sizes grow by
/// the factor 4. `implementation` is NAME, NAME:METHOD or NAME:METHOD:CHANNELS,
/// or empty for none.
llvm::Expected<CollectiveSweep>
readCollectiveOptions(ArrayRef<std::string> collectives,
                      ArrayRef<std::string> groups, StringRef type,
                      StringRef minBytes, StringRef maxBytes,
                      StringRef implementation);

/// Measures on a rank that has joined, `repeats` calls of each; `begin` says
/// what is being measured. Rank 0 writes the table to the file `output`. An
/// error of any rank is one of all.
llvm::Error timeCollectives(const CollectiveSweep &sweep, int64_t repeats,
                            StringRef output,
                            function_ref<void(const Twine &)> begin);

} // namespace mlir::commsched::run

#endif // COMMSCHED_TOOLS_COMMSCHED_RUN_COLLECTIVETIMES_H
