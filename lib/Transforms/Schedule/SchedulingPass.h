//===- SchedulingPass.h - Passes that schedule blocks -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The common base of commsched-schedule and commsched-frontier: it checks the
// options that both have, and reads the blocks of a function.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_TRANSFORMS_SCHEDULE_SCHEDULINGPASS_H
#define COMMSCHED_LIB_TRANSFORMS_SCHEDULE_SCHEDULINGPASS_H

#include "BlockScheduler.h"
#include "CommSched/Analysis/OptionErrors.h"

namespace mlir::commsched {

/// `Base` is what TableGen makes of a pass with the schedulingOptions of
/// Schedule.td, or with only some of them: without a memory budget, or without
/// what it merges and splits, and then nothing is.
template <typename Base, bool hasBudget = true, bool hasRewriting = true>
class SchedulingPass : public Base {
public:
  using Base::Base;

  LogicalResult initialize(MLIRContext *context) override {
    return reportOptionError(context, readOptions());
  }

protected:
  /// Returns the first error in the options.
  std::optional<std::string> readOptions() {
    scheduling = {};
    readRewritingOptions();
    std::optional<std::string> error = findBadOption();
    return error ? error : readOwnOptions();
  }

  /// Reads the options that only one of the passes has. Returns an error
  /// message if one makes no sense.
  virtual std::optional<std::string> readOwnOptions() { return std::nullopt; }

  /// Reads the options of passes with an allocator. Returns an error message if
  /// they make no sense.
  std::optional<std::string> readAllocatorOptions() {
    return readAllocator(*this, this->budgetOn, this->allocator,
                         scheduling.budgetAllocator);
  }

  /// Reads what the budget limits, and takes off what is held beside the
  /// program. Returns an error message if that makes no sense.
  std::optional<std::string> readReservedOptions() {
    int64_t otherBytes = 0;
    if (std::optional<std::string> error =
            parseByteCount(this->reservedBytes, otherBytes))
      return makeOptionError(*this, this->reservedBytes, *error);
    std::optional<int64_t> &bytes = scheduling.budget.bytes;
    std::string needsBytes = "needs a memory budget in bytes, but option "
                             "'memory-budget' is '" +
                             this->memoryBudget.getValue() + "'";
    if (otherBytes > 0 && !bytes)
      return makeOptionError(*this, this->reservedBytes, needsBytes);
    if (bytes && otherBytes > *bytes)
      return makeOptionError(*this, this->reservedBytes,
                             "is " + Twine(otherBytes) +
                                 " bytes, more than the memory budget of " +
                                 Twine(*bytes));
    if (bytes)
      *bytes -= otherBytes;
    if (this->budgetOn == BudgetOn::Reserved && !bytes)
      return makeOptionError(*this, this->budgetOn,
                             "is 'reserved', which " + needsBytes);
    return readAllocatorOptions();
  }

  SchedulingOptions scheduling;

private:
  void readRewritingOptions() {
    if constexpr (hasRewriting) {
      scheduling.buckets = this->buckets;
      scheduling.merging.mode = this->mode;
      scheduling.merging.onlyGathersAndReductions =
          this->buckets == ScheduleBuckets::GathersAndReductions;
      scheduling.merging.isBitwise = this->bitwise;
      scheduling.splitting.split = this->split;
      scheduling.splitting.maxChunks = this->maxChunks;
      scheduling.splitting.isBitwise = this->bitwise;
    } else {
      scheduling.buckets = ScheduleBuckets::Off;
      scheduling.splitting.split = ScheduleSplit::Off;
    }
  }

  /// Returns an error message if the options on merging and splitting make no
  /// sense.
  std::optional<std::string> findBadRewriting() {
    if constexpr (hasRewriting) {
      if (this->bitwise && this->split == ScheduleSplit::Sums)
        return makeOptionError(*this, this->split,
                               "is 'sums', which adds in another order, but "
                               "option 'bitwise' keeps every element");
      constexpr int32_t leastChunks = 2, mostChunks = 8;
      if (this->maxChunks < leastChunks || this->maxChunks > mostChunks)
        return makeOptionError(*this, this->maxChunks,
                               "must be from " + Twine(leastChunks) + " to " +
                                   Twine(mostChunks) + ", but is " +
                                   Twine(this->maxChunks));
      return findUnread(*this, {{this->mode, isChanged(this->mode),
                                 this->buckets != ScheduleBuckets::Off,
                                 "means nothing with 'buckets=off'"},
                                {this->maxChunks, isChanged(this->maxChunks),
                                 this->split != ScheduleSplit::Off,
                                 "means nothing with 'split=off'"}});
    }
    return std::nullopt;
  }

  /// Reads the other options. Returns an error message if one makes no sense.
  std::optional<std::string> findBadOption() {
    if constexpr (hasBudget)
      if (std::optional<std::string> error =
              parseMemoryBudget(this->memoryBudget, scheduling.budget))
        return makeOptionError(*this, this->memoryBudget, *error);
    return findBadRewriting();
  }
};

/// Adds the passes that a function goes through before it is scheduled.
void addPreparation(OpPassManager &functions);

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_TRANSFORMS_SCHEDULE_SCHEDULINGPASS_H
