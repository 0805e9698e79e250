//===- PipelineLoops.cpp - Pass that overlaps iterations of loops ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "../MemoryBudget.h"
#include "../PassSupport.h"
#include "../Trial.h"
#include "CommSched/Support/Unlimited.h"
#include "CyclicPass.h"
#include "LoopPipeliner.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

namespace mlir::commsched {
#define GEN_PASS_DEF_PIPELINELOOPS
#include "CommSched/Transforms/Passes.h.inc"
} // namespace mlir::commsched

using namespace mlir;
using namespace mlir::commsched;

/// The bytes to withhold from the loops, so that the function takes no more
/// than `mostBytes`. None if it takes more in all trials, after a remark.
static FailureOr<std::optional<int64_t>>
findWithheldBytes(func::FuncOp function, LoopPipeliningOptions options,
                  int64_t mostBytes, OperationCosts &costs) {
  OwningOpRef<ModuleOp> trials = createTrialModule(function);
  options.isTrial = true;
  int64_t excessBytes = 0;
  // Less by the excess, then by twice that, and so on: a loop may leave a part
  // of its limit unused.
  constexpr int32_t maxTrials = 8;
  for (int32_t trial = 0; trial < maxTrials; ++trial) {
    func::FuncOp copy = function.clone();
    trials->push_back(copy);
    if (failed(pipelineLoops(copy, options, costs)))
      return failure();
    excessBytes = simulateBlockMemory(copy.front()).peakBytes - mostBytes;
    if (excessBytes <= 0)
      return std::optional(options.withheldBytes);
    options.withheldBytes += std::min(excessBytes, unlimited >> maxTrials)
                             << trial;
  }
  if (areRemarksEnabled(function))
    remark::missed(function.getLoc(),
                   makeRemark("LoopKept", function.getSymName()))
        << ("its loops keep their iterations apart: the function would take " +
            Twine(excessBytes) + " bytes more than the " + Twine(mostBytes) +
            " that it may take")
               .str();
  return std::optional<int64_t>();
}

FailureOr<LoopChanges>
mlir::commsched::pipelineLoopsWithin(func::FuncOp function,
                                     LoopPipeliningOptions options,
                                     OperationCosts &costs) {
  if (!function.getBody().hasOneBlock() ||
      getLoopsWithCollectives(function).empty())
    return pipelineLoops(function, options, costs);
  Block &body = function.front();
  int64_t peakBytes = simulateBlockMemory(body).peakBytes;
  int64_t mostBytes = std::max(
      peakBytes, BlockLimit(function, body, peakBytes).get(options.budget));
  if (mostBytes != unlimited) {
    FailureOr<std::optional<int64_t>> withheld =
        findWithheldBytes(function, options, mostBytes, costs);
    if (failed(withheld))
      return failure();
    if (!*withheld)
      return LoopChanges();
    options.withheldBytes = **withheld;
  }
  return pipelineLoops(function, options, costs);
}

namespace {

struct PipelineLoops
    : RewritingPass<
          CyclicPass<mlir::commsched::impl::PipelineLoopsBase<PipelineLoops>>> {
  using RewritingPass::RewritingPass;

protected:
  std::optional<std::string> readOwnOptions() override;
  FailureOr<bool> rewrite() override;
};

} // namespace

std::optional<std::string> PipelineLoops::readOwnOptions() {
  constexpr int32_t most = 1024;
  if (unroll >= 0 && unroll <= most)
    return std::nullopt;
  return makeOptionError(*this, unroll,
                         "must be from 0 to " + Twine(most) + ", but is " +
                             Twine(unroll));
}

FailureOr<bool> PipelineLoops::rewrite() {
  OperationCosts *costs = getAnalysis<CostAnalysis>().getCosts();
  if (!costs)
    return failure();
  LoopPipeliningOptions pipelining(options);
  pipelining.mergesGathers = mergeGathers;
  pipelining.unroll = unroll;
  FailureOr<LoopChanges> changes =
      pipelineLoopsWithin(getOperation(), std::move(pipelining), *costs);
  return failed(changes) ? FailureOr<bool>(failure()) : changes->any;
}
