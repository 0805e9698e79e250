//===- TimedFunction.h - Operations that have times -------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The operations of a function that the file of a rank's times lists: those
// that commsched-estimate-runtime writes a time on, in program order.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_REPORT_TIMEDFUNCTION_H
#define COMMSCHED_REPORT_TIMEDFUNCTION_H

#include "CommSched/Report/RankTimes.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

namespace mlir::commsched {

struct TimedFunction {
  explicit TimedFunction(FunctionOpInterface function);

  StringRef name;
  Location loc;
  /// All but terminators, each before those of its regions. Whether one is free
  /// is not asked, for a pin may sit on any of them.
  SmallVector<Operation *> operations;
};

/// The functions that `module` defines, in its order.
SmallVector<TimedFunction> getTimedFunctions(Operation *module);

/// Lists the operations with the times that `getTimeNs` knows.
FunctionTimes
makeFunctionTimes(const TimedFunction &timed,
                  function_ref<std::optional<int64_t>(Operation *)> getTimeNs);

} // namespace mlir::commsched

#endif // COMMSCHED_REPORT_TIMEDFUNCTION_H
