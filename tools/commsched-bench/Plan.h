//===- Plan.h - The measurements of a run -----------------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a run measures, point for point, and the program that tells the runtime
// about it. The plan depends on the settings and the number of ranks alone, so
// that all ranks have the same.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_TOOLS_BENCH_PLAN_H
#define COMMSCHED_TOOLS_BENCH_PLAN_H

#include "Settings.h"

#include <optional>

namespace commsched::bench {

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
  /// What commsched_load_program takes.
  std::string program;

  /// Fails when a group does not divide the ranks, when a size is less than one
  /// element a rank, and when a reduction has no exact inputs, or when nothing
  /// is left to measure.
  static llvm::Expected<Plan> create(const Settings &settings,
                                     int32_t numRanks);
};

} // namespace commsched::bench

#endif // COMMSCHED_TOOLS_BENCH_PLAN_H
