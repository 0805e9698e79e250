//===- GroupMembers.h - The ranks of groups ---------------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which ranks are in one group together. A declaration of groups is a row of
// ranks for each group of its axis: listed, or every stride-th rank of a block
// of consecutive ones.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_ANALYSIS_COSTS_GROUPMEMBERS_H
#define COMMSCHED_LIB_ANALYSIS_COSTS_GROUPMEMBERS_H

#include "CommSched/Dialect/CommSchedDialect.h"

namespace mlir::commsched {

class GroupMembers {
public:
  explicit GroupMembers(GroupOp op);

  /// What tells the rows of one declaration apart.
  using Row = std::pair<int64_t, int64_t>;

  /// The row that has `rank`; none if no row has. O(1) for a stride; for listed
  /// ranks O(log ranks), and O(ranks * log ranks) the first time.
  std::optional<Row> getRow(int64_t rank);

  bool isListed() const { return ranks.has_value(); }
  /// Row by row, for groups whose ranks are listed.
  DenseIntElementsAttr getRanks() const { return *ranks; }

  int64_t getSize() const { return size; }
  int64_t getStride() const { return stride; }
  /// By how many ranks the first of a block and that of the next are apart.
  int64_t getBlock() const { return block; }

private:
  int64_t size;
  int64_t stride;
  int64_t block;
  std::optional<DenseIntElementsAttr> ranks;
  /// The listed ranks with their rows, ascending, once somebody asks.
  std::vector<std::pair<int64_t, int64_t>> rowOf;
};

/// Whether some two ranks are in one row of `a` and also in one row of `b`.
/// O(1) if both have strides, else O(ranks * log ranks).
bool shareTwoRanks(GroupMembers &a, GroupMembers &b);

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_ANALYSIS_COSTS_GROUPMEMBERS_H
