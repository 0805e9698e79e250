//===- SharedArguments.h - Arguments that two functions share ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finds the arguments of two functions that one argument of the interleaved
// function stands for, such as a parameter that the forward gathers and the
// backward gathers again.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_TRANSFORMS_INTERLEAVE_SHAREDARGUMENTS_H
#define COMMSCHED_LIB_TRANSFORMS_INTERLEAVE_SHAREDARGUMENTS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::commsched {

/// An argument of the first function, and one of the second that is the same.
struct SharedArgument {
  unsigned first = 0;
  unsigned second = 0;
};

/// Which arguments are shared.
struct SharingRule {
  enum class Kind {
    /// Parameters that are known to be the same.
    Parameters,
    None,
    /// Those of a list.
    List,
  };
  Kind kind = Kind::Parameters;
  SmallVector<SharedArgument> list;
};

/// Parses `parameters`, `none` or pairs of indices such as `0:0,1:2`. Returns a
/// problem as the predicate of an error message.
std::optional<std::string> parseSharingRule(StringRef text, SharingRule &rule);

/// Returns the arguments of `second` that are shared, each at most once, in
/// ascending order. Parameters are known to be the same if
///   - both functions are the same, and so is the index,
///   - the second takes what the first returns, by the partition that both are
///     halves of, and the first returns its argument, or
///   - both arguments have the same `commsched.name`, which no other parameter
///     of their function has,
/// and their types are equal. Emits an error for a list with an index that is
/// out of range, types that differ, roles that differ, or an argument of the
/// second that occurs twice. Linear in the arguments.
FailureOr<SmallVector<SharedArgument>>
findSharedArguments(func::FuncOp first, func::FuncOp second,
                    const SharingRule &rule);

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_TRANSFORMS_INTERLEAVE_SHAREDARGUMENTS_H
