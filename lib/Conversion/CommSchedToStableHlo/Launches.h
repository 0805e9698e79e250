//===- Launches.h - Starts and waits as StableHLO ---------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_CONVERSION_COMMSCHEDTOSTABLEHLO_LAUNCHES_H
#define COMMSCHED_LIB_CONVERSION_COMMSCHEDTOSTABLEHLO_LAUNCHES_H

#include "Groups.h"
#include "TensorBuilder.h"

namespace mlir::commsched::stablehlo {

/// A start and its wait.
struct Launch {
  CollectiveOpInterface start;
  Operation *wait = nullptr;
  /// Whether it becomes a blocking operation at the place of the start.
  bool isBlocking = false;
};

/// Writes launches as collectives of StableHLO.
class LaunchLowering {
public:
  /// `mayBeVariadic`: whether new collectives may have several operands.
  LaunchLowering(MLIRContext *context, Groups &groups, bool mayBeVariadic)
      : context(context), groups(groups), mayBeVariadic(mayBeVariadic) {}

  /// Replaces and erases the start and the wait. Failure, with an error, if
  /// StableHLO has no form for them; the program is then incomplete.
  LogicalResult lower(const Launch &launch);

private:
  class Writer;

  /// `!stablehlo.future<type>`; null, with an error, if it cannot be parsed.
  Type getFutureType(Operation *start, Type type);

  MLIRContext *context;
  Groups &groups;
  bool mayBeVariadic;
  DenseMap<Type, Type> futureTypes;
};

/// The name of StableHLO's collective of the kind of `start`; empty if there
/// is none.
StringRef getCollectiveName(Operation *start);

/// Why StableHLO has no form for `op`, an operation of this project; none if it
/// has.
std::optional<std::string> getUnsupportedReason(Operation *op);

/// The discardable attributes of `op` but for those of CommSched and the marks
/// of the conversion from StableHLO.
SmallVector<NamedAttribute> getForeignAttributes(Operation *op);

/// Whether `name` is an attribute of CommSched or a mark of the conversion from
/// StableHLO.
bool isOwnAttribute(StringRef name);

} // namespace mlir::commsched::stablehlo

#endif // COMMSCHED_LIB_CONVERSION_COMMSCHEDTOSTABLEHLO_LAUNCHES_H
