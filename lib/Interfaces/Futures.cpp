//===- Futures.cpp - Rules of collectives in flight -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/Interfaces/CommSchedInterfaces.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/LoopLikeInterface.h"

using namespace mlir;
using namespace mlir::commsched;

//===----------------------------------------------------------------------===//
// Constructs of the steady state
//===----------------------------------------------------------------------===//

static bool isPipelinedLoop(Operation *op) {
  return isa_and_nonnull<LoopLikeOpInterface>(op) &&
         op->getDiscardableAttr(pipelinedAttrName);
}

bool mlir::commsched::isSteadyStateConstruct(Operation *op) {
  if (isa_and_nonnull<FunctionOpInterface>(op))
    return static_cast<bool>(op->getDiscardableAttr(steadyStateAttrName));
  return isPipelinedLoop(op);
}

bool mlir::commsched::isCarriedValue(Value value) {
  if (Operation *op = value.getDefiningOp())
    return isPipelinedLoop(op);
  Block *block = cast<BlockArgument>(value).getOwner();
  return block->isEntryBlock() && isSteadyStateConstruct(block->getParentOp());
}

//===----------------------------------------------------------------------===//
// Uses of a future
//===----------------------------------------------------------------------===//

/// What a future is called in errors.
static std::string describe(Value future) {
  std::string text;
  llvm::raw_string_ostream os(text);
  if (auto argument = dyn_cast<BlockArgument>(future)) {
    os << "argument " << argument.getArgNumber() << " of '"
       << argument.getOwner()->getParentOp()->getName() << "'";
    return text;
  }
  Operation *op = future.getDefiningOp();
  if (!isa<CollectiveOpInterface>(op))
    os << "result " << cast<OpResult>(future).getResultNumber() << " of ";
  os << "'" << op->getName() << "'";
  return text;
}

static void noteStart(InFlightDiagnostic &diag, Value future) {
  diag.attachNote(future.getLoc())
      << (isa_and_nonnull<CollectiveOpInterface>(future.getDefiningOp())
              ? "the collective starts here"
              : "the future comes from here");
}

/// Whether `use`, in the block of the future, hands it to the next iteration or
/// repetition, or to a loop whose iterations do.
static bool isHandover(OpOperand &use) {
  Operation *user = use.getOwner();
  if (user->hasTrait<OpTrait::IsTerminator>())
    return !isa<BranchOpInterface>(user) &&
           isSteadyStateConstruct(user->getParentOp());
  if (!isPipelinedLoop(user))
    return false;
  MutableArrayRef<OpOperand> inits =
      cast<LoopLikeOpInterface>(user).getInitsMutable();
  return llvm::any_of(inits, [&](OpOperand &init) { return &init == &use; });
}

/// Reports a use of `future` that is neither the wait of its block nor a
/// handover.
static LogicalResult reportEscape(Value future, Operation *user) {
  InFlightDiagnostic diag = user->emitOpError();
  std::string name = describe(future);
  if (isa<WaitOpInterface>(user))
    diag << "waits in another block for the future of " << name
         << ", which must be waited for in its own block (C3)";
  else if (user->hasTrait<OpTrait::IsTerminator>())
    diag << (user->hasTrait<OpTrait::ReturnLike>() ? "returns" : "passes on")
         << " the future of " << name
         << ", which must be waited for in its own block (C3)";
  else
    diag << "uses the future of " << name
         << ", which only a wait may consume (C3)";
  noteStart(diag, future);
  return diag;
}

/// Reports the second of several consumers, which are not sorted.
static LogicalResult reportSecond(Value future,
                                  MutableArrayRef<Operation *> consumers) {
  llvm::sort(consumers, [](Operation *lhs, Operation *rhs) {
    return lhs->isBeforeInBlock(rhs);
  });
  auto isWait = [](Operation *op) { return isa<WaitOpInterface>(op); };
  InFlightDiagnostic diag = consumers[1]->emitOpError();
  if (isWait(consumers[1]))
    diag << "waits a second time for the future of " << describe(future)
         << " (C2)";
  else
    diag << "hands over the future of " << describe(future)
         << " a second time (C2)";
  diag.attachNote(consumers[0]->getLoc())
      << (isWait(consumers[0]) ? "the first wait is here"
                               : "it is first handed over here");
  noteStart(diag, future);
  return diag;
}

/// Checks that `future`, a value of `block`, is consumed once; `reportUnused`
/// makes the error if nothing does.
static LogicalResult verifyUses(Value future, Block *block,
                                function_ref<LogicalResult()> reportUnused) {
  SmallVector<Operation *, 1> consumers;
  for (OpOperand &use : future.getUses()) {
    Operation *user = use.getOwner();
    if (user->getBlock() != block ||
        !(isa<WaitOpInterface>(user) || isHandover(use)))
      return reportEscape(future, user);
    consumers.push_back(user);
  }
  if (consumers.empty())
    return reportUnused();
  return consumers.size() == 1 ? success() : reportSecond(future, consumers);
}

LogicalResult mlir::commsched::verifyCarriedFuture(Value future) {
  Operation *definition = future.getDefiningOp();
  if (!definition)
    definition = future.getParentBlock()->getParentOp();
  return verifyUses(future, future.getParentBlock(), [&]() -> LogicalResult {
    InFlightDiagnostic diag = definition->emitOpError()
                              << "carries a collective in flight in "
                              << describe(future)
                              << " that is never waited for (C2)";
    noteStart(diag, future);
    return diag;
  });
}

//===----------------------------------------------------------------------===//
// Starts and waits
//===----------------------------------------------------------------------===//

LogicalResult mlir::commsched::detail::verifyCollective(Operation *op) {
  Value future = cast<CollectiveOpInterface>(op).getInFlightFuture();
  if (!future)
    return success();
  return verifyUses(future, op->getBlock(), [&]() -> LogicalResult {
    return op->emitOpError("starts a collective that is never waited for (C2)");
  });
}

LogicalResult mlir::commsched::detail::verifyWait(Operation *op) {
  Value future = cast<WaitOpInterface>(op).getAwaitedFuture();
  if (getStart(future))
    return success();
  if (isCarriedValue(future))
    return verifyCarriedFuture(future);
  InFlightDiagnostic diag =
      op->emitOpError("waits for a value that no collective of its block "
                      "started (C1)");
  if (Operation *definition = future.getDefiningOp())
    diag.attachNote(definition->getLoc()) << "the value is defined here";
  else
    diag.attachNote(future.getLoc())
        << "a future cannot be passed into a region or function, unless '"
        << steadyStateAttrName << "' or '" << pipelinedAttrName
        << "' is on it (C5)";
  return diag;
}

bool mlir::commsched::isHalfOfPair(Operation *op) {
  if (auto wait = dyn_cast<WaitOpInterface>(op)) {
    Operation *start = wait.getStart();
    return !start || start->getBlock() != op->getBlock();
  }
  auto collective = dyn_cast<CollectiveOpInterface>(op);
  if (!collective || !collective.getInFlightFuture())
    return false;
  Operation *wait = collective.getWait();
  return !wait || wait->getBlock() != op->getBlock();
}
