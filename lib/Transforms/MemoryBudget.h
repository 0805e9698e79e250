//===- MemoryBudget.h - Memory budgets of schedules -------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The budget of the memory-aware passes: bytes, or a fraction of the peak that
// the program had before the first of them. That peak is kept on the function
// as `commsched.baseline_peak_bytes`, so that the fractions of several passes
// do not add up.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_TRANSFORMS_MEMORYBUDGET_H
#define COMMSCHED_LIB_TRANSFORMS_MEMORYBUDGET_H

#include "CommSched/Analysis/Problem/BlockProblem.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::commsched {

/// The live bytes that a budget is a fraction of.
enum class MemoryModel {
  /// All live bytes.
  Exact,
  /// The bytes that PyTorch Inductor counts: without arguments that stay live,
  /// and without unused arguments.
  Reference,
};

struct MemoryBudget {
  /// Live bytes, if the budget is absolute.
  std::optional<int64_t> bytes;
  /// Else what may come on top of the baseline, as a fraction of it.
  double fraction = 0;
  MemoryModel model = MemoryModel::Exact;
};

/// Parses a number of bytes, such as "68719476736", "64GiB" or "640MB". The
/// units are B, the powers of 1000 KB, MB, GB and TB, and the powers of 1024
/// KiB, MiB, GiB and TiB. Returns a problem as the predicate of an error
/// message, such as "must not be negative, but is '-5'".
std::optional<std::string> parseByteCount(StringRef text, int64_t &bytes);

/// Parses a number of bytes, as parseByteCount() does, or a percentage over the
/// baseline, such as "5%". Returns a problem likewise.
std::optional<std::string> parseMemoryBudget(StringRef text,
                                             MemoryBudget &budget);

/// Returns `bytes` plus that fraction of `counted` bytes, rounded down; the
/// largest int64_t if it is more than fits.
int64_t addFraction(int64_t bytes, int64_t counted, double fraction);

/// Whether `block` is the only one of the body of `function`, which is what the
/// function's peak is taken over.
bool isBody(func::FuncOp function, Block &block);

/// The live bytes that `budget` allows for `block`, whose peak is `peakBytes`
/// now; the largest int64_t if it is more than fits. The only block of the
/// function's body has the function's baseline, or else its peak. A block
/// inside of it may take what is left of that beside what is live around it; of
/// a function with several blocks, each may take its own peak.
int64_t getLimitBytes(func::FuncOp function, Block &block,
                      const schedule::Problem &problem, int64_t peakBytes,
                      const MemoryBudget &budget);

/// Keeps the peak of `function` as its baseline before `block`, whose peak is
/// `peakBytes`, changes, unless a baseline is known or there are several
/// blocks.
void keepBaselineBytes(func::FuncOp function, Block &block, int64_t peakBytes);

/// That the schedule of `problem` that needs least takes `leastBytes`, which is
/// more than `limitBytes`: by how much, and what arguments alone take.
std::string explainExcess(const schedule::Problem &problem, int64_t leastBytes,
                          int64_t limitBytes);

/// Emits the remark `BudgetExceeded`, which says so of a block of `function`.
void remarkBudgetExceeded(func::FuncOp function,
                          const schedule::Problem &problem, int64_t leastBytes,
                          int64_t limitBytes);

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_TRANSFORMS_MEMORYBUDGET_H
