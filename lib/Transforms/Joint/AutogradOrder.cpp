//===- AutogradOrder.cpp - The order of an autograd engine ----------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AutogradOrder.h"
#include "CommSched/Analysis/BlockProblem.h"
#include "CommSched/Analysis/CommunicationEffects.h"
#include "CommSched/Dialect/CommSchedAttributes.h"
#include "CommSched/Schedule/AutogradOrder.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace mlir::commsched;
using ::commsched::NodeId;

static bool usesTangent(Operation *op, func::FuncOp function) {
  return llvm::any_of(op->getOperands(), [&](Value operand) {
    auto argument = dyn_cast<BlockArgument>(operand);
    if (!argument || argument.getOwner() != &function.front())
      return false;
    auto role = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(),
                                                      roleAttrName);
    return role && role.getValue() == tangentRole;
  });
}

/// Whether what `op` does to memory has to be done whoever needs its results.
static bool writesMemory(Operation *op) {
  return getCommunicationEffect(op) == CommunicationEffect::None &&
         (hasUnknownMemoryEffects(op) || hasEffect<MemoryEffects::Write>(op));
}

FailureOr<int64_t> mlir::commsched::applyAutogradOrder(func::FuncOp function) {
  if (!llvm::hasSingleElement(function.getBody()))
    return 0;
  FailureOr<BlockProblem> block = BlockProblem::create(
      function.front(), [](Operation *) { return std::optional<int64_t>(0); },
      CollectiveOrder::Free);
  if (failed(block))
    return failure();
  const ::commsched::Problem &problem = block->getProblem();
  NodeId firstBackward = 0;
  std::vector<NodeId> keptInFront;
  for (; firstBackward < problem.numNodes(); ++firstBackward) {
    Operation *op = block->getOperation(firstBackward);
    if (usesTangent(op, function))
      break;
    if (writesMemory(op))
      keptInFront.push_back(firstBackward);
  }
  if (firstBackward == problem.numNodes())
    return 0;
  auto order =
      ::commsched::mimicAutogradOrder(problem, firstBackward, keptInFront);
  if (!order)
    return function.emitError("cannot be put into an autograd engine's order: ")
           << order.error();
  int64_t numMoved = 0;
  for (int32_t position = 0; position < problem.numNodes(); ++position)
    numMoved += (*order)[position] != position;
  block->apply(*order);
  return numMoved;
}
