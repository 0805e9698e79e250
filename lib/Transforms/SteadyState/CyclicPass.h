//===- CyclicPass.h - Base of passes on programs that repeat ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The options of passes that schedule programs that repeat.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_TRANSFORMS_STEADYSTATE_CYCLICPASS_H
#define COMMSCHED_LIB_TRANSFORMS_STEADYSTATE_CYCLICPASS_H

#include "../MemoryBudget.h"
#include "CommSched/Analysis/Costs/CostAnalysis.h"
#include "CommSched/Analysis/OptionErrors.h"
#include "CommSched/Transforms/Passes.h"
#include "LoopScheduler.h"

namespace mlir::commsched {

/// `Base` is what TableGen makes of a pass with the cyclicOptions of
/// SteadyState.td.
template <typename Base> class CyclicPass : public Base {
public:
  using Base::Base;

  LogicalResult initialize(MLIRContext *context) override {
    options = {};
    options.maxDepth = this->maxDepth;
    std::optional<std::string> error = findBadOption();
    return reportOptionError(context, error ? error : readOwnOptions());
  }

protected:
  /// Reads the options that only one of the passes has. Returns an error
  /// message if one makes no sense.
  virtual std::optional<std::string> readOwnOptions() = 0;

  LoopSchedulingOptions options;

private:
  std::optional<std::string> findBadOption() {
    if (std::optional<std::string> error =
            parseMemoryBudget(this->memoryBudget, options.budget))
      return makeOptionError(*this, this->memoryBudget, *error);
    constexpr int32_t mostDepth = 8;
    if (this->maxDepth < 1 || this->maxDepth > mostDepth)
      return makeOptionError(*this, this->maxDepth,
                             "must be from 1 to " + Twine(mostDepth) +
                                 ", but is " + Twine(this->maxDepth));
    return std::nullopt;
  }
};

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_TRANSFORMS_STEADYSTATE_CYCLICPASS_H
