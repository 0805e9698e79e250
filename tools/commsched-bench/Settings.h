//===- Settings.h - What is to be measured ----------------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The command line's values, checked as far as they can be without knowing how
// many ranks there are, and the functions that read them from text.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_TOOLS_BENCH_SETTINGS_H
#define COMMSCHED_TOOLS_BENCH_SETTINGS_H

#include "Elements.h"
#include "Operation.h"

#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace commsched::bench {

/// Groups that divide all ranks evenly: as a grid with rows of consecutive
/// ranks, `size` is the length of a row or of a column.
struct GroupShape {
  enum class Kind { World, Rows, Columns };
  Kind kind = Kind::World;
  /// As written: "world", "rows:2", "columns:4".
  std::string name;
  int32_t size = 0;
};

struct Settings {
  std::string backend;
  /// -1: what the launcher says.
  int32_t numRanks = -1;
  std::vector<Operation> operations;
  std::vector<GroupShape> groups;
  std::vector<const Element *> elements;
  std::vector<commsched_reduction> reductions;
  /// Of the full buffer.
  std::vector<int64_t> sizes;
  /// Untimed calls before each measurement.
  int32_t warmup = 0;
  /// Isolated calls that are timed, and as many batches.
  int32_t repeats = 0;
  /// Calls that a batch issues before it waits.
  int32_t launches = 0;
  bool compareDirect = false;
  /// Where the table goes; empty: nowhere.
  std::string output;
  /// The command line, for the table.
  std::string command;
};

/// "1024", "64K", "4M" or "2G" as bytes, with powers of 1024. Errors name
/// `option`.
llvm::Expected<int64_t> parseBytes(llvm::StringRef text,
                                   llvm::StringRef option);

/// `minimum`, multiplied with `factor` as long as `maximum` is not exceeded.
llvm::Expected<std::vector<int64_t>> makeSizes(int64_t minimum, int64_t maximum,
                                               int64_t factor);

// Lists of names; an unknown or repeated one is an error.
llvm::Expected<std::vector<Operation>>
parseOperations(llvm::ArrayRef<std::string> names);
llvm::Expected<std::vector<GroupShape>>
parseGroups(llvm::ArrayRef<std::string> names);
llvm::Expected<std::vector<const Element *>>
parseElements(llvm::ArrayRef<std::string> names);
llvm::Expected<std::vector<commsched_reduction>>
parseReductions(llvm::ArrayRef<std::string> names);

/// The name in program descriptions: "sum", ...
llvm::StringRef stringifyReduction(commsched_reduction reduction);

} // namespace commsched::bench

#endif // COMMSCHED_TOOLS_BENCH_SETTINGS_H
