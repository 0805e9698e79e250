//===- MoveAccount.h - What became of moved collectives ---------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tells of each collective that a solver moved, or did not: as a remark, and as
// the attribute `commsched.reorder_info` that the report prints as a table.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_TRANSFORMS_MOVEACCOUNT_H
#define COMMSCHED_LIB_TRANSFORMS_MOVEACCOUNT_H

#include "CommSched/Analysis/Problem/BlockProblem.h"
#include "CommSched/Dialect/CommSchedAttributes.h"
#include "CommSched/Schedule/Inductor/IterativeReordering.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::commsched {

class MoveAccount {
public:
  /// `pass` is the pass's flag, `limitBytes` what its moves were limited to.
  MoveAccount(func::FuncOp function, const BlockProblem &block, StringRef pass,
              int64_t limitBytes, const schedule::IterativeReordering &result);

  /// One remark for each collective: `CollectiveMoved` or `CollectiveKept`.
  void remark() const;
  /// Sets the attribute on each start or wait.
  void write() const;

private:
  ReorderInfo getInfo(const schedule::CollectiveMoves &moves) const;
  std::string describeLimit(const schedule::CollectiveMoves &moves) const;
  std::string describeDependence(const schedule::CollectiveMoves &moves) const;

  StringRef functionName;
  const BlockProblem &block;
  const schedule::Problem &problem;
  StringRef pass;
  int64_t limitBytes;
  const schedule::IterativeReordering &result;
  std::vector<schedule::Exposure> before;
  std::vector<schedule::Exposure> after;
};

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_TRANSFORMS_MOVEACCOUNT_H
