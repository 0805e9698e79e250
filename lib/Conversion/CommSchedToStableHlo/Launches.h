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

} // namespace mlir::commsched::stablehlo

#endif // COMMSCHED_LIB_CONVERSION_COMMSCHEDTOSTABLEHLO_LAUNCHES_H
