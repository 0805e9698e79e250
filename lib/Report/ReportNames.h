//===- ReportNames.h - What the report calls things -------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Names of groups, operations and buffers as the report shows them. An
// operation or argument is called by its `commsched.name`, and else by what
// tells it apart best.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_REPORT_REPORTNAMES_H
#define COMMSCHED_LIB_REPORT_REPORTNAMES_H

#include "CommSched/Analysis/Problem/BlockProblem.h"

namespace mlir::commsched {

/// The group's symbol without `@`, or the group key as text.
std::string getGroupName(Attribute key);

/// The names in one block.
class ReportNames {
public:
  /// O(operations). `block` outlives this.
  explicit ReportNames(const BlockProblem &block);

  /// The name of a collective is otherwise its kind and its index among the
  /// collectives of the block, that of a `commsched.compute` its operator, that
  /// of any other operation the name that MLIR knows it by. O(log operations).
  std::string getOperationName(schedule::NodeId node) const;

  /// The name of the argument, which is otherwise `%arg` and its number, or of
  /// the operation that the buffer's value comes from, for what a collective
  /// delivers the collective. `#` and a number follow for results after the
  /// first. O(log operations).
  std::string getBufferName(schedule::BufferId buffer) const;

private:
  const BlockProblem &block;
  /// Ascending.
  std::vector<schedule::NodeId> collectives;
};

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_REPORT_REPORTNAMES_H
