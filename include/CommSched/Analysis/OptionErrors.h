//===- OptionErrors.h - Errors in the options of passes ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pass::initialize() checks the options of a pass: before the pass is cloned,
// and also where there is nothing for it to do.
//
//   LogicalResult initialize(MLIRContext *context) override {
//     return reportOptionError(context, findBadOption());
//   }
//
// An option that has a list of values is an enum of the pass's TableGen
// definition, which the option parser checks. What an option that nothing reads
// asks for is not dropped: findUnread() makes it an error.
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

/// An option that has a meaning only beside another one.
struct DependentOption {
  const llvm::cl::Option &option;
  /// Whether its value asks for something.
  bool isAsked;
  /// Whether the other one gives it a meaning.
  bool isRead;
  /// What is wrong otherwise, such as "needs 'budget-on=reserved'".
  StringRef problem;
};

/// Whether an option, of a number or an enum, has another value than its
/// default.
template <typename OptionT> bool isChanged(const OptionT &option) {
  return !option.getDefault().compare(option.getValue());
}

/// The error about the first of `options` that asks for something and is not
/// read, if there is one.
inline std::optional<std::string>
findUnread(const Pass &pass, ArrayRef<DependentOption> options) {
  for (const DependentOption &each : options)
    if (each.isAsked && !each.isRead)
      return makeOptionError(pass, each.option, each.problem);
  return std::nullopt;
}

/// Emits `error` and fails, or succeeds if there is no error.
inline LogicalResult
reportOptionError(MLIRContext *context,
                  const std::optional<std::string> &error) {
  if (!error)
    return success();
  return emitError(UnknownLoc::get(context), *error);
}

} // namespace mlir::commsched

#endif // COMMSCHED_ANALYSIS_OPTIONERRORS_H
