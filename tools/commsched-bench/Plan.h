//===- Plan.h - Settings and plan of a benchmark ----------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The values of the command line, checked as far as that is possible without
// the number of ranks; the points that a run measures; and the program that
// describes them to the runtime. The plan depends on the settings and the
// number of ranks alone, so that all ranks have the same.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_TOOLS_BENCH_PLAN_H
#define COMMSCHED_TOOLS_BENCH_PLAN_H

#include "Operation.h"
#include "llvm/Support/Error.h"

#include <optional>
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

/// An implementation that program descriptions name.
struct GroupImplementation {
  std::string name;
  std::string method;
  int32_t channels = 0;
};

struct Settings {
  std::string backend;
  /// -1: what the launcher says.
  int32_t numRanks = -1;
  std::vector<Operation> operations;
  std::vector<GroupShape> groups;
  /// Of all groups; none: the backend's usual one.
  std::optional<GroupImplementation> implementation;
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
  /// The file of the table; empty: none.
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
/// An empty `method` is that of the name, and 0 channels are as many as NCCL
/// likes.
llvm::Expected<GroupImplementation> parseImplementation(llvm::StringRef name,
                                                        llvm::StringRef method,
                                                        int32_t channels);
llvm::Expected<std::vector<const Element *>>
parseElements(llvm::ArrayRef<std::string> names);
llvm::Expected<std::vector<commsched_reduction>>
parseReductions(llvm::ArrayRef<std::string> names);

/// The name in program descriptions: "sum", ...
llvm::StringRef stringifyReduction(commsched_reduction reduction);

/// A group as the runtime's program describes it.
struct PlanGroup {
  std::string name;
  int32_t size = 0;
  int32_t stride = 1;

  /// The ranks that form a group with `rank`, in order.
  std::vector<int32_t> getMembers(int32_t rank) const;
};

/// One line of the printed table.
struct Point {
  Operation operation = Operation::AllReduce;
  /// An index of `Plan::groups`.
  int32_t group = 0;
  const Element *element = nullptr;
  std::optional<commsched_reduction> reduction;
  /// Of one part, see `getPartCounts`.
  int64_t partElements = 0;
  /// Of the full buffer.
  int64_t bytes = 0;
  /// The site of the program; for send_recv that of the send, which that of the
  /// receive follows.
  int32_t site = 0;
};

struct Plan {
  std::vector<PlanGroup> groups;
  std::vector<Point> points;
  /// A barrier of all ranks.
  int32_t barrierSite = 0;
  /// The argument of commsched_load_program.
  std::string program;

  /// Fails when a group does not divide the ranks, when a size is less than one
  /// element a rank, and when a reduction has no exact inputs, or when nothing
  /// is left to measure.
  static llvm::Expected<Plan> create(const Settings &settings,
                                     int32_t numRanks);
};

} // namespace commsched::bench

#endif // COMMSCHED_TOOLS_BENCH_PLAN_H
