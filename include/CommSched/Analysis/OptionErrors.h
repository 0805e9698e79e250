//===- OptionErrors.h - Errors in the options of passes ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pass::initialize() checks the options of a pass before there is an operation
// to report an error at. A pass therefore keeps the first error as text,
//
//   LogicalResult initialize(MLIRContext *context) override {
//     optionError = findBadOption();
//     return success();
//   }
//
// and reports it at the operation that it runs on:
//
//   void runOnOperation() override {
//     if (failed(emitOptionError(getOperation(), optionError)))
//       return signalPassFailure();
//
// An option that has a list of values is an enum of the pass's TableGen
// definition, which the option parser checks.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_ANALYSIS_OPTIONERRORS_H
#define COMMSCHED_ANALYSIS_OPTIONERRORS_H

#include "mlir/IR/Operation.h"
#include "mlir/Pass/Pass.h"
#include "llvm/Support/CommandLine.h"

namespace mlir::commsched {

/// Returns "option 'x' of pass 'y' `problem`", where `problem` is a predicate
/// such as "must not be negative, but is -1".
inline std::string makeOptionError(const Pass &pass,
                                   const llvm::cl::Option &option,
                                   const Twine &problem) {
  return ("option '" + option.ArgStr + "' of pass '" + pass.getArgument() +
          "' " + problem)
      .str();
}

/// Emits `error` at `op` and fails, or succeeds if there is no error.
inline LogicalResult emitOptionError(Operation *op,
                                     const std::optional<std::string> &error) {
  if (!error)
    return success();
  return emitError(op->getLoc(), *error);
}

} // namespace mlir::commsched

#endif // COMMSCHED_ANALYSIS_OPTIONERRORS_H
