//===- StableHloToCommSched.cpp - Conversion from StableHLO ---------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Conversion.h"

#include "CommSched/Conversion/Passes.h"

namespace mlir::commsched {
#define GEN_PASS_DEF_CONVERTSTABLEHLOTOCOMMSCHED
#include "CommSched/Conversion/Passes.h.inc"
} // namespace mlir::commsched

using namespace mlir;
using namespace mlir::commsched;

stablehlo::Context::Context(ModuleOp module, int64_t ranksPerNode,
                            bool isStrict)
    : module(module), groups(module, ranksPerNode), isStrict(isStrict) {}

namespace {

struct ConvertStableHloToCommSchedPass
    : commsched::impl::ConvertStableHloToCommSchedBase<
          ConvertStableHloToCommSchedPass> {
  using ConvertStableHloToCommSchedBase::ConvertStableHloToCommSchedBase;

  void runOnOperation() final {
    if (failed(convert(getOperation())))
      signalPassFailure();
  }

private:
  LogicalResult convert(ModuleOp module);
};

} // namespace

LogicalResult ConvertStableHloToCommSchedPass::convert(ModuleOp module) {
  if (ranksPerNode < 1)
    return module.emitError("the option 'ranks-per-node' is ")
           << ranksPerNode.getValue() << ", and a node has at least one rank";
  SymbolTable symbols(module);
  if (inlineLoops)
    stablehlo::inlineCallsInLoops(module, symbols);
  stablehlo::Context context(module, ranksPerNode, strict || !lenient);
  if (failed(context.groups.initialize(devices)))
    return failure();
  FailureOr<SmallVector<stablehlo::Collective>> collectives =
      stablehlo::collectCollectives(context);
  if (failed(collectives))
    return failure();

  stablehlo::outlineManualComputations(*collectives, symbols);
  stablehlo::replaceCollectives(*collectives, context, symbols);
  stablehlo::annotatePureCalls(module, symbols);
  stablehlo::annotateFreeableArguments(module, symbols);
  return stablehlo::remarkOnKept(context);
}
