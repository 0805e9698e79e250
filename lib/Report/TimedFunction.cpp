//===- TimedFunction.cpp - Operations that have times ---------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Report/TimedFunction.h"
#include "CommSched/Analysis/OperationTexts.h"
#include "CommSched/Interfaces/CommSchedInterfaces.h"

using namespace mlir;
using namespace mlir::commsched;

TimedFunction::TimedFunction(FunctionOpInterface function)
    : name(function.getName()), loc(function.getLoc()) {
  function.getFunctionBody().walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (!op->hasTrait<OpTrait::IsTerminator>())
      operations.push_back(op);
    // The regions of an operation that states its own cost are its definition,
    // not operations that are launched.
    return isa<CostOpInterface>(op) ? WalkResult::skip()
                                    : WalkResult::advance();
  });
}

SmallVector<TimedFunction>
mlir::commsched::getTimedFunctions(Operation *module) {
  SmallVector<TimedFunction> functions;
  for (auto function : module->getRegion(0).getOps<FunctionOpInterface>())
    if (!function.isExternal())
      functions.emplace_back(function);
  return functions;
}

FunctionTimes mlir::commsched::makeFunctionTimes(
    const TimedFunction &timed,
    function_ref<std::optional<int64_t>(Operation *)> getTimeNs) {
  FunctionTimes times;
  times.operations.reserve(timed.operations.size());
  times.timesNs.reserve(timed.operations.size());
  for (Operation *op : timed.operations) {
    times.operations.push_back(toFileText(describe(op)));
    times.timesNs.push_back(getTimeNs(op));
  }
  return times;
}
