//===- Frontier.h - Step time against memory --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The frontiers that commsched-frontier and the pipelines write: schedules
// between which there is a choice, since more memory makes the step shorter.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_REPORT_FRONTIER_H
#define COMMSCHED_REPORT_FRONTIER_H

#include "CommSched/Support/Result.h"
#include "mlir/Support/LLVM.h"

#include <optional>
#include <string>
#include <vector>

namespace mlir::commsched {

/// One schedule of a step.
struct FrontierPoint {
  /// The budget that it was made for; none if there was no limit.
  std::optional<int64_t> budgetBytes;
  /// More than the budget if nothing that is known fits it.
  int64_t peakBytes = 0;
  int64_t stepNs = 0;
  int64_t lowerBoundNs = 0;
  int64_t exposedNs = 0;
  int64_t numCollectives = 0;
};

/// The points of one function, from the least memory to the most.
struct FunctionFrontier {
  std::string function;
  std::vector<FrontierPoint> points;
};

/// Reads the frontiers of a file: JSON if its path ends in `.json`, and else
/// CSV. Only functions, peaks, step times and lower bounds are read; a bound
/// that is missing is 0, since other schedulers have none. Error: the file
/// cannot be read, or a row has no such value; the text names the file and the
/// row.
Result<std::vector<FunctionFrontier>> readFrontiers(StringRef path);

} // namespace mlir::commsched

#endif // COMMSCHED_REPORT_FRONTIER_H
