//===- CarriedFutures.cpp - Lowering of futures that cross boundaries -----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A future that crosses the boundary of a function or a loop becomes a request
// that is held: one number for the request and its buffers. The wait at the
// other end has to know what arrives in the buffers, which the start decides,
// so the starts of such waits are found first.
//===----------------------------------------------------------------------===//

#include "Lowering.h"

#include "CommSched/Dialect/SteadyState.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::commsched;

//===----------------------------------------------------------------------===//
// Starts
//===----------------------------------------------------------------------===//

/// Adds the operands `index` of the terminators of `function`.
static void addReturned(FunctionOpInterface function, unsigned index,
                        SmallVectorImpl<Value> &values) {
  if (!function || function.isExternal())
    return;
  for (Block &block : function.getFunctionBody())
    if (Operation *terminator = block.getTerminator();
        terminator->hasTrait<OpTrait::ReturnLike>() &&
        index < terminator->getNumOperands())
      values.push_back(terminator->getOperand(index));
}

/// Adds the values that `argument` of a function of the steady state may be:
/// the state that the prologue or the steady state returns at its place.
static void addState(FunctionOpInterface function, unsigned argument,
                     SmallVectorImpl<Value> &values) {
  std::optional<SteadyStateInfo> info = getSteadyState(function);
  if (!info)
    return;
  for (SteadyStateRole role :
       {SteadyStateRole::Prologue, SteadyStateRole::Steady})
    addReturned(findSteadyStateFunction(function, info->step, role), argument,
                values);
}

/// Adds the values that `value`, a result or an argument of a loop, may be.
static void addCarried(RegionBranchOpInterface loop, Value value,
                       SmallVectorImpl<Value> &values) {
  RegionBranchInverseSuccessorMapping mapping;
  loop.getSuccessorInputOperandMapping(mapping);
  for (OpOperand *operand : mapping.lookup(value))
    values.push_back(operand->get());
}

/// The starts whose future `value` may be, each once.
static SmallVector<Operation *> findStarts(Value value) {
  llvm::SetVector<Operation *> starts;
  llvm::SetVector<Value> open;
  open.insert(value);
  for (size_t next = 0; next < open.size(); ++next) {
    Value current = open[next];
    Operation *definition = current.getDefiningOp();
    if (isa_and_nonnull<CollectiveOpInterface>(definition)) {
      starts.insert(definition);
      continue;
    }
    SmallVector<Value> values;
    Operation *owner =
        definition ? definition : current.getParentBlock()->getParentOp();
    if (auto function = dyn_cast<FunctionOpInterface>(owner))
      addState(function, cast<BlockArgument>(current).getArgNumber(), values);
    else if (auto loop = dyn_cast<RegionBranchOpInterface>(owner))
      addCarried(loop, current, values);
    open.insert(values.begin(), values.end());
  }
  return starts.takeVector();
}

FailureOr<SmallVector<CarriedWait>>
mlir::commsched::findCarriedWaits(ModuleOp module) {
  SmallVector<CarriedWait> waits;
  WalkResult result = module.walk([&](WaitOp wait) -> WalkResult {
    if (!isHalfOfPair(wait))
      return WalkResult::advance();
    CarriedWait &carried =
        waits.emplace_back(CarriedWait{wait, findStarts(wait.getFuture())});
    if (carried.starts.empty())
      return wait.emitError("cannot be lowered to the runtime: nothing in the "
                            "module starts its collective");
    return WalkResult::advance();
  });
  if (result.wasInterrupted())
    return failure();
  return waits;
}

//===----------------------------------------------------------------------===//
// Waits
//===----------------------------------------------------------------------===//

static bool areEqual(const RowCopy &lhs, const RowCopy &rhs) {
  return std::tie(lhs.source, lhs.target, lhs.repeat, lhs.rows,
                  lhs.rowElements) == std::tie(rhs.source, rhs.target,
                                               rhs.repeat, rhs.rows,
                                               rhs.rowElements);
}

static bool areEqual(const CarriedLaunch &lhs, const CarriedLaunch &rhs) {
  auto areEqualCopies = [](const Unpacking &left, const Unpacking &right) {
    return llvm::equal(left.copies, right.copies,
                       [](auto &a, auto &b) { return areEqual(a, b); });
  };
  return lhs.received == rhs.received &&
         llvm::equal(lhs.unpackings, rhs.unpackings, areEqualCopies);
}

LogicalResult mlir::commsched::lowerCarriedWait(Lowering &lowering,
                                                const CarriedWait &carried) {
  WaitOp wait = carried.wait;
  const CarriedLaunch &launch = lowering.carried.at(carried.starts.front());
  for (Operation *start : llvm::drop_begin(carried.starts))
    if (!areEqual(launch, lowering.carried.at(start)))
      return wait.emitError("cannot be lowered to the runtime: the collectives "
                            "that it may wait for leave their results in "
                            "different layouts");
  IRRewriter &rewriter = lowering.rewriter;
  rewriter.setInsertionPoint(wait);
  auto resume = rt::ResumeOp::create(rewriter, wait.getLoc(), launch.received,
                                     wait.getFuture());
  lowering.replaceWait(wait, resume.getValues(), launch.unpackings);
  return success();
}

void mlir::commsched::convertFutureTypes(ModuleOp module) {
  AttrTypeReplacer replacer;
  Type held = rt::HeldType::get(module.getContext());
  replacer.addReplacement(
      [&](FutureType) -> std::optional<Type> { return held; });
  replacer.recursivelyReplaceElementsIn(module, /*replaceAttrs=*/true,
                                        /*replaceLocs=*/false,
                                        /*replaceTypes=*/true);
}
