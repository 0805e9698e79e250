//===- CalleeSummary.h - What a call takes ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `commsched.callee` on a call: what its callee takes, does and holds. A pass
// on a function may not read other functions, which other threads may change,
// so that Callees writes this on the calls before.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_ANALYSIS_PROBLEM_CALLEESUMMARY_H
#define COMMSCHED_ANALYSIS_PROBLEM_CALLEESUMMARY_H

#include "CommSched/Analysis/Problem/OperationPrice.h"
#include "mlir/IR/Operation.h"

#include <optional>

namespace mlir::commsched {

struct CalleeSummary {
  enum class Effects {
    /// It computes results.
    None,
    /// It communicates besides.
    Communication,
    Unknown
  };

  OperationPrice price;
  Effects effects = Effects::Unknown;
  /// Those of its collectives, as findStreamsInside().
  ArrayRef<Attribute> streams;
  /// The peak of its live bytes, without those of the operands and results of
  /// the call. Negative if operands are freed before all results are there.
  /// None of a function that is being called already.
  std::optional<int64_t> innerBytes;
  /// By result: the operand that it is or is a view of; -1 for one with storage
  /// of its own. Empty if all have that.
  ArrayRef<int64_t> aliases;

  /// That on `call`; none if there is none.
  static std::optional<CalleeSummary> find(Operation *call);
  /// The attribute for find().
  DictionaryAttr get(MLIRContext *context) const;
};

} // namespace mlir::commsched

#endif // COMMSCHED_ANALYSIS_PROBLEM_CALLEESUMMARY_H
