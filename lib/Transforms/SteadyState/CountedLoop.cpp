//===- CountedLoop.cpp - Loops with a condition that count ----------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CountedLoop.h"

#include "CommSched/Analysis/OperationTexts.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/Transforms/Transforms.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::commsched;

/// The number of the carried value that the condition compares, or none.
static std::optional<unsigned> findCounter(scf::WhileOp loop) {
  auto compared =
      loop.getConditionOp().getCondition().getDefiningOp<arith::CmpIOp>();
  if (!compared)
    return std::nullopt;
  for (Value side : compared->getOperands()) {
    auto argument = dyn_cast<BlockArgument>(side);
    if (argument && argument.getOwner() == loop.getBeforeBody())
      return argument.getArgNumber();
  }
  return std::nullopt;
}

/// Erases the operations behind `first`, or all, up to `end` that nothing uses.
static void eraseDead(Operation *first, Operation *end) {
  for (Operation *op = end->getPrevNode(); op != first;) {
    Operation *before = op->getPrevNode();
    if (isOpTriviallyDead(op))
      op->erase();
    op = before;
  }
}

CountedLoop mlir::commsched::dropPassedOn(scf::ForOp loop) {
  CountedLoop result;
  SmallVector<unsigned> kept;
  SmallVector<Value> inits, yielded;
  for (auto [index, value] : llvm::enumerate(loop.getYieldedValues())) {
    bool isPassedOn = value == loop.getRegionIterArg(index);
    if (isPassedOn) {
      loop.getRegionIterArg(index).replaceAllUsesWith(
          loop.getInitArgs()[index]);
      continue;
    }
    kept.push_back(index);
    inits.push_back(loop.getInitArgs()[index]);
    yielded.push_back(value);
  }
  OpBuilder builder(loop);
  result.loop = scf::ForOp::create(
      builder, loop.getLoc(), loop.getLowerBound(), loop.getUpperBound(),
      loop.getStep(), inits, [](OpBuilder &, Location, Value, ValueRange) {});
  Block *body = result.loop.getBody();
  body->getOperations().splice(body->end(), loop.getBody()->getOperations());
  loop.getInductionVar().replaceAllUsesWith(result.loop.getInductionVar());
  result.results.assign(loop.getInitArgs().begin(), loop.getInitArgs().end());
  for (auto [place, index] : llvm::enumerate(kept)) {
    loop.getRegionIterArg(index).replaceAllUsesWith(
        result.loop.getRegionIterArg(place));
    result.results[index] = result.loop.getResult(place);
  }
  // The values that are yielded may be arguments that were replaced.
  Operation *terminator = body->getTerminator();
  SmallVector<Value> values;
  for (unsigned index : kept)
    values.push_back(terminator->getOperand(index));
  terminator->setOperands(values);
  loop.erase();
  return result;
}

SmallVector<Operation *> mlir::commsched::listBounds(scf::ForOp loop) {
  llvm::SmallSetVector<Operation *, 3> bounds;
  for (Value bound :
       {loop.getLowerBound(), loop.getUpperBound(), loop.getStep()})
    if (Operation *op = bound.getDefiningOp())
      bounds.insert(op);
  return bounds.takeVector();
}

void mlir::commsched::eraseUnused(ArrayRef<Operation *> operations) {
  for (Operation *op : operations)
    if (isOpTriviallyDead(op))
      op->erase();
}

void mlir::commsched::eraseWithBounds(scf::ForOp loop) {
  SmallVector<Operation *> bounds = listBounds(loop);
  loop.erase();
  eraseUnused(bounds);
}

std::optional<CountedLoop>
mlir::commsched::copyAsCountedLoop(scf::WhileOp loop,
                                   LoopProblem::DeclineFunction decline) {
  scf::ConditionOp condition = loop.getConditionOp();
  std::optional<unsigned> counter = findCounter(loop);
  if (!counter) {
    Operation *decides = condition.getCondition().getDefiningOp();
    decline(condition.getLoc(),
            "it may end early: " +
                (decides ? describe(decides) : "a value from outside") +
                " decides, and not a comparison of a counter with a bound");
    return std::nullopt;
  }
  if (*counter < loop.getNumResults() &&
      !loop.getResult(*counter).use_empty()) {
    decline(loop.getLoc(), "its counter is used behind it");
    return std::nullopt;
  }
  IRRewriter rewriter(loop->getContext());
  rewriter.setInsertionPoint(loop);
  auto copy = cast<scf::WhileOp>(rewriter.clone(*loop));
  FailureOr<scf::ForOp> counted = scf::upliftWhileToForLoop(rewriter, copy);
  if (failed(counted)) {
    copy.erase();
    decline(condition.getLoc(),
            "it does not count from one bound to another by a step");
    return std::nullopt;
  }
  eraseDead(*counted, loop);
  std::optional<int64_t> step = getConstantIntValue(counted->getStep());
  if (!step || *step <= 0) {
    counted->erase();
    decline(condition.getLoc(), "its step is not a positive constant");
    return std::nullopt;
  }
  CountedLoop result = dropPassedOn(*counted);
  // The sum of the counter and the step.
  eraseDead(nullptr, result.loop.getBody()->getTerminator());
  result.results.insert(result.results.begin() + *counter, Value());
  return result;
}
