//===- LoopScheduler.cpp - Schedules of loops -----------------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LoopScheduler.h"

#include "CommSched/Dialect/CommSchedAttributes.h"
#include "CommSched/Support/Unlimited.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/Transforms/Transforms.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;
using namespace mlir::commsched;
using namespace mlir::commsched::schedule;

/// The bytes that `budget` allows for a loop that takes `peakBytes` now, beside
/// `outerBytes` that are live around it.
static int64_t computeLimitBytes(const MemoryBudget &budget, int64_t peakBytes,
                                 int64_t outerBytes) {
  if (budget.bytes)
    return *budget.bytes - outerBytes;
  double bytes = static_cast<double>(peakBytes + outerBytes) * budget.fraction;
  return bytes < static_cast<double>(unlimited - peakBytes)
             ? peakBytes + static_cast<int64_t>(bytes)
             : unlimited;
}

FailureOr<std::optional<ScheduledLoop>>
mlir::commsched::scheduleLoop(scf::ForOp loop, int64_t outerBytes,
                              OperationCosts &costs,
                              const LoopSchedulingOptions &options,
                              LoopProblem::DeclineFunction decline) {
  using Outcome = std::optional<ScheduledLoop>;
  FailureOr<std::optional<LoopProblem>> problem =
      LoopProblem::create(loop, costs, decline);
  if (failed(problem))
    return failure();
  if (!*problem)
    return Outcome();
  ScheduledLoop result = {std::move(**problem), {}, {}, {}};
  const CyclicProblem &cyclic = result.problem.getProblem();
  CyclicOrder program = programOrder(cyclic);
  Result<PeriodTimeline> period = simulatePeriod(cyclic, program);
  Result<PeriodBound> bound = computePeriodBound(cyclic);
  if (!period || !bound)
    return emitError(loop.getLoc())
           << "cannot be scheduled: "
           << (!period ? period.error() : bound.error());
  int64_t peakBytes = computeRunPeak(cyclic, program);
  result.program = {std::move(program), period->periodNs, peakBytes};
  result.bound = std::move(*bound);
  result.limitBytes = computeLimitBytes(options.budget, peakBytes, outerBytes);
  CyclicSchedulerOptions with;
  with.maxDepth = options.maxDepth;
  with.step.slackPercent = options.slackPercent;
  with.step.limitBytes = result.limitBytes;
  Result<CyclicSchedule> schedule = scheduleCyclic(cyclic, with);
  if (!schedule)
    return emitError(loop.getLoc())
           << "cannot be scheduled: " << schedule.error();
  result.schedule = std::move(*schedule);
  return Outcome(std::move(result));
}

/// Ends the name of a peeled operation with its part and its iteration, so that
/// names remain unique.
static void renamePeeled(Operation *op,
                         scf::PipeliningOption::PipelinerPart part,
                         unsigned iteration) {
  using Part = scf::PipeliningOption::PipelinerPart;
  auto name = op->getAttrOfType<StringAttr>(nameAttrName);
  if (!name || part == Part::Kernel)
    return;
  StringRef text = part == Part::Prologue ? ".prologue." : ".epilogue.";
  op->setAttr(nameAttrName,
              StringAttr::get(op->getContext(),
                              name.getValue() + text + Twine(iteration)));
}

namespace {

/// Collects the arithmetic on bounds and indices that the pipeliner inserts.
struct ArithmeticListener : RewriterBase::Listener {
  void notifyOperationInserted(Operation *op,
                               OpBuilder::InsertPoint previous) override {
    if (isa<arith::ArithDialect>(op->getDialect()))
      inserted.push_back(op);
  }
  void notifyOperationErased(Operation *op) override {
    llvm::erase(inserted, op);
  }

  SmallVector<Operation *> inserted;
};

} // namespace

FailureOr<scf::ForOp>
mlir::commsched::applySchedule(scf::ForOp loop,
                               const ScheduledLoop &scheduled) {
  const CyclicOrder &order = scheduled.schedule.order;
  scf::PipeliningOption options;
  options.annotateFn = renamePeeled;
  options.getScheduleFn =
      [&](scf::ForOp, std::vector<std::pair<Operation *, unsigned>> &schedule) {
        for (NodeId node : order.order)
          schedule.push_back(
              {scheduled.problem.getOperation(node), order.stages[node]});
      };
  IRRewriter rewriter(loop->getContext());
  ArithmeticListener listener;
  rewriter.setListener(&listener);
  rewriter.setInsertionPoint(loop);
  FailureOr<scf::ForOp> kernel = scf::pipelineForLoop(rewriter, loop, options);
  if (succeeded(kernel) && !listener.inserted.empty())
    (void)applyOpPatternsGreedily(
        listener.inserted, FrozenRewritePatternSet(),
        GreedyRewriteConfig().setStrictness(
            GreedyRewriteStrictness::ExistingAndNewOps));
  return kernel;
}
