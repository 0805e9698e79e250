//===- UnrolledLoop.cpp - Schedules of unrolled loops ---------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "UnrolledLoop.h"

#include "CommSched/Dialect/CommSchedAttributes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace mlir::commsched;
using namespace mlir::commsched::schedule;

FailureOr<std::optional<StepSchedule>> mlir::commsched::scheduleUnrolled(
    scf::ForOp loop, const ScheduledLoop &scheduled, int64_t count) {
  using Outcome = std::optional<StepSchedule>;
  if (!getConstantIntValue(loop.getLowerBound()) ||
      !getConstantIntValue(loop.getStep()))
    return Outcome();
  StepSchedulerOptions options;
  options.limitBytes = scheduled.limitBytes;
  Result<StepSchedule> step = scheduleStep(
      unroll(scheduled.problem.getProblem(), static_cast<int32_t>(count)),
      options);
  if (!step)
    return emitError(loop.getLoc()) << "cannot be scheduled: " << step.error();
  return Outcome(std::move(*step));
}

namespace {

/// Clones iterations of a loop in front of it, in any legal order.
class IterationCloner {
public:
  explicit IterationCloner(scf::ForOp loop)
      : loop(loop), builder(loop),
        low(*getConstantIntValue(loop.getLowerBound())),
        step(*getConstantIntValue(loop.getStep())) {}

  void clone(Operation *op, size_t iteration) {
    while (iterations.size() <= iteration)
      beginIteration();
    IRMapping &values = iterations[iteration];
    auto mapArgument = [&](Value value) {
      auto argument = dyn_cast<BlockArgument>(value);
      if (argument && argument.getOwner() == loop.getBody() &&
          !values.contains(argument))
        values.map(argument,
                   lookUpCarried(argument.getArgNumber() - 1, iteration));
    };
    for (Value operand : op->getOperands())
      mapArgument(operand);
    visitUsedValuesDefinedAbove(op->getRegions(), [&](OpOperand *operand) {
      mapArgument(operand->get());
    });
    Operation *cloned = builder.clone(*op, values);
    cloned->walk([&](Operation *inner) {
      if (auto name = inner->getAttrOfType<StringAttr>(nameAttrName))
        inner->setAttr(nameAttrName,
                       builder.getStringAttr(name.getValue() + ".iteration." +
                                             Twine(iteration)));
    });
  }

  /// The value that an iteration takes as its argument of that number.
  Value lookUpCarried(unsigned number, size_t iteration) {
    if (iteration == 0)
      return loop.getInitArgs()[number];
    return iterations[iteration - 1].lookup(loop.getYieldedValues()[number]);
  }

private:
  void beginIteration() {
    if (loop.getInductionVar().use_empty()) {
      iterations.emplace_back();
      return;
    }
    int64_t value = low + step * static_cast<int64_t>(iterations.size());
    iterations.emplace_back().map(
        loop.getInductionVar(),
        arith::ConstantOp::create(
            builder, loop.getLoc(),
            builder.getIntegerAttr(loop.getInductionVar().getType(), value)));
  }

  scf::ForOp loop;
  OpBuilder builder;
  int64_t low;
  int64_t step;
  std::vector<IRMapping> iterations;
};

} // namespace

void mlir::commsched::unrollLoop(scf::ForOp loop,
                                 const ScheduledLoop &scheduled,
                                 ArrayRef<NodeId> order) {
  NodeId numNodes = scheduled.problem.getProblem().body().numNodes();
  IterationCloner cloner(loop);
  for (NodeId node : order)
    cloner.clone(scheduled.problem.getOperation(node % numNodes),
                 node / numNodes);
  for (OpResult result : loop.getResults())
    result.replaceAllUsesWith(cloner.lookUpCarried(result.getResultNumber(),
                                                   order.size() / numNodes));
  loop.erase();
}
