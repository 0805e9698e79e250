//===- MemoryBudget.h - Memory budgets of schedules -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The budget of the memory-aware passes: bytes, or a fraction of the peak that
// the program had before the first of them. That peak is kept on the function
// as `commsched.baseline_peak_bytes`, so that the fractions of several passes
// do not add up.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_TRANSFORMS_MEMORYBUDGET_H
#define COMMSCHED_LIB_TRANSFORMS_MEMORYBUDGET_H

#include "CommSched/Analysis/OptionErrors.h"
#include "CommSched/Analysis/Problem/BlockProblem.h"
#include "CommSched/Schedule/Model/MemoryBudget.h"
#include "CommSched/Transforms/PassOptionEnums.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/SymbolTable.h"

namespace mlir::commsched {

/// Whether the option `allocator` asks for one. So does its default where it is
/// given alone: a textual pipeline with the values of all options gives both.
template <typename BudgetOnT, typename AllocatorT>
bool isAllocatorAsked(const BudgetOnT &budgetOn, const AllocatorT &allocator) {
  return allocator != AllocatorModel::None &&
         (isChanged(allocator) ||
          (allocator.hasValue() && !budgetOn.hasValue()));
}

/// Reads the reservedOptions of Options.td: none in `kind` for a budget of live
/// bytes. Returns an error message if they make no sense.
template <typename BudgetOnT, typename AllocatorT>
std::optional<std::string>
readAllocator(const Pass &pass, const BudgetOnT &budgetOn,
              const AllocatorT &allocator,
              std::optional<schedule::SegmentKind> &kind) {
  bool isReserved = budgetOn == BudgetOn::Reserved;
  kind = isReserved ? getSegmentKind(allocator) : std::nullopt;
  if (isReserved && !kind)
    return makeOptionError(pass, allocator,
                           "is 'none', but option 'budget-on' is 'reserved'");
  return findUnread(pass, {{allocator, isAllocatorAsked(budgetOn, allocator),
                            isReserved, "needs 'budget-on=reserved'"}});
}

/// Whether `block` is the only one of the body of `function`, which is what the
/// function's peak is taken over.
bool isBody(func::FuncOp function, Block &block);

/// How much memory a block may take.
class BlockLimit {
public:
  /// `peakBytes` is the peak of `block` now. Simulates the memory of the blocks
  /// around it.
  BlockLimit(func::FuncOp function, Block &block, int64_t peakBytes);

  /// The live bytes that `budget` allows; the largest int64_t if it is more
  /// than fits. The only block of the function's body has the function's
  /// baseline, or else its peak; of bytes, callers keep what they hold beside
  /// the function. A block inside of it may take what is left of that beside
  /// what is live around it; of a function with several blocks, each may take
  /// its own peak.
  int64_t get(const MemoryBudget &budget) const;

private:
  int64_t getOfBody(const MemoryBudget &budget) const;

  func::FuncOp function;
  /// The block of the function's body that has the block, and its peak.
  Block *outermost;
  int64_t peakBytes;
  /// What is live around the block up to there.
  int64_t aroundBytes = 0;
};

/// What is left of `limitBytes` beside `besideBytes`, which may be negative.
int64_t getLimitBeside(int64_t limitBytes, int64_t besideBytes);

/// The most bytes that callers of `function`, and theirs, hold beside what it
/// takes itself, in the order of each: what is live at a call of it, without
/// the peak of its body. Negative where all calls pass one storage as several
/// arguments, each of which the body counts. Calls have to say what their
/// callees take (Callees).
int64_t computeCallerBytes(func::FuncOp function, const SymbolUserMap &users);

/// Keeps the peak of `function` as its baseline before `block`, whose peak is
/// `peakBytes`, changes, unless a baseline is known or there are several
/// blocks.
void keepBaselineBytes(func::FuncOp function, Block &block, int64_t peakBytes);

/// "a budget of", and `limitBytes`; of a block in a region, what is left of it
/// by what is live around the block, which may be less than nothing.
std::string describeLimit(int64_t limitBytes);

/// That the schedule that needs least takes `leastBytes`, which is more than
/// `limitBytes`: by how much; of `problem`, also what arguments alone take.
std::string explainExcess(int64_t leastBytes, int64_t limitBytes);
std::string explainExcess(const schedule::Problem &problem, int64_t leastBytes,
                          int64_t limitBytes);

/// Emits the remark `BudgetExceeded`, which says so of a block of `function`.
void remarkBudgetExceeded(func::FuncOp function,
                          const schedule::Problem &problem, int64_t leastBytes,
                          int64_t limitBytes);

/// Warns that the option `memoryBudget` cannot be met in `function`, by
/// `excessBytes`, which are kept for reports; `reason` says why. With `strict`,
/// emits an error.
LogicalResult reportOverBudget(func::FuncOp function, StringRef memoryBudget,
                               int64_t excessBytes, StringRef reason,
                               bool strict);

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_TRANSFORMS_MEMORYBUDGET_H
