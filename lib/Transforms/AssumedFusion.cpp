//===- AssumedFusion.cpp - What a later compiler fuses --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "AssumedFusion.h"

#include "CommSched/Analysis/Costs/RegionRuns.h"
#include "CommSched/Analysis/Problem/Aliasing.h"
#include "CommSched/Dialect/CommSchedAttributes.h"
#include "CommSched/Dialect/CommSchedDialect.h"
#include "CommSched/Interfaces/CommSchedInterfaces.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::commsched;

bool mlir::commsched::isAssumed(Operation *op) {
  return op->getDiscardableAttr(assumedFusionAttrName) != nullptr;
}

OperandRange mlir::commsched::getReadOperands(Operation *op) {
  if (auto transpose = dyn_cast<linalg::TransposeOp>(op))
    return transpose->getOperands().take_front(1);
  return op->getOperands();
}

/// Whether `op` has a time that was not assumed.
static bool isPinned(Operation *op) {
  return getPinnedRuntimeNs(op) && !isAssumed(op);
}

FusionRole AssumedFusion::getRole(Operation *op) {
  if (auto call = dyn_cast<CallOpInterface>(op))
    return getCallRole(call);
  // It writes into its destination, whatever is fused.
  if (isa<DestinationStyleOpInterface>(op) && !isa<linalg::TransposeOp>(op))
    return {};
  switch (getFusionClass(op)) {
  case OperatorClass::Pointwise:
  case OperatorClass::DataMovement:
    return {true, true};
  case OperatorClass::View:
    return {true, false};
  case OperatorClass::Reduction:
  case OperatorClass::Concatenation:
    return {false, true};
  default:
    return {};
  }
}

/// A call is fused as what its callee does: JAX makes a function of a `where`.
FusionRole AssumedFusion::getCallRole(CallOpInterface call) {
  auto symbol = dyn_cast<SymbolRefAttr>(call.getCallableForCallee());
  if (!symbol || !call->getDiscardableAttr(pureAttrName))
    return {};
  StringAttr name = symbol.getRootReference();
  auto [entry, isNew] = pointwiseCallees.try_emplace(name, false);
  if (!isNew)
    return {entry->second, entry->second};
  func::FuncOp callee = lookup(call, name);
  if (!callee || !llvm::hasSingleElement(callee.getBody()))
    return {};
  // A recursive call finds the entry above, and is no producer.
  bool isPointwise =
      llvm::all_of(callee.front().without_terminator(), [&](Operation &op) {
        return getOperatorClass(&op) == OperatorClass::Constant ||
               getRole(&op).isProducer;
      });
  pointwiseCallees[name] = isPointwise;
  return {isPointwise, isPointwise};
}

/// Whether `user` computes the result of `op` on the way. The role of every
/// user is known, and for views and transpositions what becomes of them.
bool AssumedFusion::readsOnTheWay(Operation *user, Operation *op) {
  return user->getBlock() == op->getBlock() && !absorbed.contains(user) &&
         (getRole(user).isConsumer || fused.contains(user));
}

bool AssumedFusion::isProducer(Operation *op) {
  return op->getNumResults() == 1 && !op->use_empty() && !isPinned(op) &&
         getRole(op).isProducer;
}

bool AssumedFusion::mayJoinCopyIn(Operation *op) {
  return isProducer(op) && op->hasOneUse();
}

bool AssumedFusion::mayBeFused(Operation *op) {
  if (!isProducer(op))
    return false;
  return llvm::all_of(op->getUsers(),
                      [&](Operation *user) { return readsOnTheWay(user, op); });
}

bool AssumedFusion::mayBeAbsorbed(Operation *op) {
  if (getReadOperands(op).size() != 1 || op->getNumResults() != 1 ||
      op->use_empty() || isPinned(op) || !op->hasAttr("permutation") ||
      getFusionClass(op) != OperatorClass::DataMovement)
    return false;
  return llvm::all_of(op->getUsers(), [&](Operation *user) {
    if (readsOnTheWay(user, op))
      return true;
    // A loop reads what its body captures as it reads its operands.
    Operation *reader = op->getBlock()->findAncestorOpInBlock(*user);
    return reader && (!getCarriedValues(reader).empty() ||
                      (reader == user && getOperatorClass(user) ==
                                             OperatorClass::ComputeIntensive));
  });
}

void AssumedFusion::decide(Block &block) {
  for (Operation &op : llvm::reverse(block))
    if (mayBeFused(&op))
      fused.insert(&op);
    else if (mayBeAbsorbed(&op))
      absorbed.insert(&op);
}

std::optional<int64_t> AssumedFusion::getSlicesNs(Operation *op) {
  int64_t total = 0;
  for (Value result : op->getResults()) {
    if (!result.use_empty() && llvm::all_of(result.getUsers(), [&](auto *user) {
          return readsOnTheWay(user, op);
        }))
      continue;
    std::optional<int64_t> bytes = getStaticBytes(getSizedType(result));
    if (!bytes || llvm::MulOverflow<int64_t>(*bytes, 2, *bytes))
      return std::nullopt;
    int64_t time = cost::computeTimeNs(costs.getTarget(), /*flops=*/0,
                                       cost::ElementKind::F32, *bytes);
    if (llvm::AddOverflow(total, time, total))
      return std::nullopt;
  }
  return total;
}
