//===- PipelineLoops.cpp - Pass that overlaps iterations of loops ---------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../PassSupport.h"
#include "CyclicPass.h"
#include "LoopPipeliner.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

namespace mlir::commsched {
#define GEN_PASS_DEF_PIPELINELOOPS
#include "CommSched/Transforms/Passes.h.inc"
} // namespace mlir::commsched

using namespace mlir;
using namespace mlir::commsched;

namespace {

struct PipelineLoops
    : RewritingPass<
          CyclicPass<mlir::commsched::impl::PipelineLoopsBase<PipelineLoops>>> {
  using RewritingPass::RewritingPass;

  LogicalResult initialize(MLIRContext *context) override;

protected:
  FailureOr<bool> rewrite() override;
};

} // namespace

LogicalResult PipelineLoops::initialize(MLIRContext *context) {
  constexpr int32_t most = 1024;
  if (failed(CyclicPass::initialize(context)))
    return failure();
  if (!optionError && (unroll < 0 || unroll > most))
    optionError = makeOptionError(*this, unroll,
                                  "must be from 0 to " + Twine(most) +
                                      ", but is " + Twine(unroll));
  return success();
}

FailureOr<bool> PipelineLoops::rewrite() {
  if (failed(emitOptionError(getOperation(), optionError)))
    return failure();
  OperationCosts *costs = getAnalysis<CostAnalysis>().getCosts();
  if (!costs)
    return failure();
  LoopPipeliningOptions pipelining(options);
  pipelining.mergesGathers = mergeGathers;
  pipelining.unroll = unroll;
  FailureOr<LoopChanges> changes =
      pipelineLoops(getOperation(), pipelining, *costs);
  return failed(changes) ? FailureOr<bool>(failure()) : changes->any;
}
