//===- EstimatingPass.h - Passes that need estimates ------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The common base of passes with the options `profile` and `target`: it reads
// the profile once, and gives each run the costs of its operation.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_TRANSFORMS_ESTIMATINGPASS_H
#define COMMSCHED_LIB_TRANSFORMS_ESTIMATINGPASS_H

#include "CommSched/Analysis/Costs/CostAnalysis.h"
#include "CommSched/Analysis/OptionErrors.h"
#include "CommSched/Transforms/Passes.h"

#include <memory>

namespace mlir::commsched {

/// `Base` is what TableGen makes of a pass with both options.
template <typename Base> class EstimatingPass : public Base {
public:
  using Base::Base;

  LogicalResult initialize(MLIRContext *context) override {
    optionError = readProfileOption(*this, this->profile, table);
    return success();
  }

  void runOnOperation() final {
    if (failed(emitOptionError(this->getOperation(), optionError)))
      return this->signalPassFailure();
    CostAnalysis analysis(this->getOperation(), table.get(),
                          getPresetName(this->target));
    OperationCosts *costs = analysis.getCosts();
    if (!costs || failed(run(*costs)))
      this->signalPassFailure();
  }

protected:
  /// The pass proper.
  virtual LogicalResult run(OperationCosts &costs) = 0;

  /// Measured collectives, or null.
  const cost::MeasuredTable *getProfile() const { return table.get(); }

  /// For emitOptionError().
  std::optional<std::string> optionError;

private:
  /// Shared by the copies of the pass that run on several functions at once.
  std::shared_ptr<const cost::MeasuredTable> table;
};

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_TRANSFORMS_ESTIMATINGPASS_H
