//===- StorageAnalysis.cpp - Which values share storage, and how long -----===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information. SPDX-License-Identifier:
// Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Analysis/StorageAnalysis.h"
#include "CommSched/Dialect/CommSchedAttributes.h"
#include "CommSched/Dialect/CommSchedDialect.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

using namespace mlir;
using namespace mlir::commsched;

StorageAnalysis::StorageAnalysis(Block &block) {
  addArguments(block);
  for (Operation &op : block.without_terminator()) {
    addUses(&op);
    if (isa<ResizeStorageOp>(op))
      resize(&op);
    else
      addResults(&op);
  }
  keepLiveOut(block);
}

int32_t StorageAnalysis::allocate(Value root, Operation *producer, Type type) {
  auto index = static_cast<int32_t>(storages.size());
  storages.push_back({root, producer, getStaticBytes(type), true, index});
  return index;
}

/// Whether the caller of the function lets `argument` be freed.
static bool isFreeable(BlockArgument argument) {
  auto function =
      dyn_cast<FunctionOpInterface>(argument.getOwner()->getParentOp());
  if (!function || !argument.getOwner()->isEntryBlock())
    return false;
  unsigned index = argument.getArgNumber();
  auto role = function.getArgAttrOfType<StringAttr>(index, roleAttrName);
  return function.getArgAttr(index, freeableAttrName) ||
         (role && role.getValue() == savedActivationRole);
}

void StorageAnalysis::addArguments(Block &block) {
  for (BlockArgument argument : block.getArguments()) {
    if (!isa<ShapedType>(argument.getType()))
      continue;
    int32_t storage = allocate(argument, nullptr, argument.getType());
    storages[storage].freed = isFreeable(argument);
    storageOf[argument] = storage;
    // A parameter that this block grows before it is used has no storage when
    // the block starts.
    for (Operation *user : argument.getUsers())
      if (isa<ResizeStorageOp>(user) && user->getBlock() == &block)
        storages[storage].bytes = 0;
  }
}

void StorageAnalysis::addUses(Operation *op) {
  SmallVector<int32_t, 4> &used = uses[op];
  auto addOperands = [&](Operation *nested) {
    for (Value operand : nested->getOperands())
      if (int32_t storage = getStorage(operand); storage != none)
        used.push_back(storage);
  };
  if (op->getNumRegions() == 0)
    addOperands(op);
  else
    op->walk(addOperands);
  if (auto wait = dyn_cast<WaitOpInterface>(op))
    if (Operation *start = wait.getStart())
      llvm::append_range(used, getUses(start));
  llvm::sort(used);
  used.erase(llvm::unique(used), used.end());
}

/// The value whose storage `result` is a view of or is written into, or null.
static Value getAliasedValue(OpResult result) {
  Operation *op = result.getOwner();
  if (auto alias = dyn_cast<AliasOpInterface>(op))
    return alias.getAliasedValue(result);
  if (auto view = dyn_cast<ViewLikeOpInterface>(op))
    return view.getViewDest() == result ? view.getViewSource() : Value();
  if (auto destination = dyn_cast<DestinationStyleOpInterface>(op)) {
    OpOperand *init = destination.getTiedOpOperand(result);
    // Bufferization writes in place only what nobody else reads.
    return init && init->get().hasOneUse() ? init->get() : Value();
  }
  return {};
}

int32_t StorageAnalysis::findAliased(OpResult result) {
  Value aliased = getAliasedValue(result);
  if (!aliased)
    return none;
  // A view of another result of the same operation: that one comes first.
  if (aliased.getDefiningOp() == result.getOwner() &&
      !storageOf.contains(aliased))
    storageOf[aliased] =
        allocate(aliased, result.getOwner(), aliased.getType());
  return getStorage(aliased);
}

void StorageAnalysis::addResults(Operation *op) {
  if (auto collective = dyn_cast<CollectiveOpInterface>(op)) {
    OperandRange into = collective.getDestinations();
    SmallVector<int32_t, 1> &results = delivered[op];
    Value future = collective.getInFlightFuture();
    for (auto [index, type] : llvm::enumerate(collective.getDeliveredTypes()))
      results.push_back(index < into.size() ? getStorage(into[index])
                        : future            ? allocate(future, op, type)
                                            : none);
    if (future)
      return;
  }
  ArrayRef<int32_t> awaited;
  if (auto wait = dyn_cast<WaitOpInterface>(op))
    if (Operation *start = wait.getStart())
      awaited = delivered[start];
  for (OpResult result : op->getResults()) {
    if (storageOf.contains(result) || !isa<ShapedType>(result.getType()))
      continue;
    int32_t storage = result.getResultNumber() < awaited.size()
                          ? awaited[result.getResultNumber()]
                          : findAliased(result);
    if (storage == none)
      storage = allocate(result, op, result.getType());
    storageOf[result] = storage;
  }
}

void StorageAnalysis::resize(Operation *op) {
  auto resizeOp = cast<ResizeStorageOp>(op);
  int32_t old = getStorage(resizeOp.getStorage());
  if (old == none || resizeOp.getBytes() == 0)
    return;
  int32_t grown =
      allocate(resizeOp.getStorage(), op, resizeOp.getStorage().getType());
  storages[grown].object = storages[old].object;
  storageOf[resizeOp.getStorage()] = grown;
}

void StorageAnalysis::keep(Value value) {
  if (int32_t storage = getStorage(value); storage != none)
    storages[storage].freed = false;
}

/// Whether an operation outside of `block`, and of the operations nested in it,
/// uses `value`.
static bool isUsedOutside(Value value, Block &block) {
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    return !block.findAncestorOpInBlock(*user);
  });
}

void StorageAnalysis::keepLiveOut(Block &block) {
  if (block.mightHaveTerminator())
    for (Value operand : block.getTerminator()->getOperands())
      keep(operand);
  if (llvm::hasSingleElement(*block.getParent()))
    return;
  for (BlockArgument argument : block.getArguments())
    if (isUsedOutside(argument, block))
      keep(argument);
  for (Operation &op : block)
    for (Value result : op.getResults())
      if (isUsedOutside(result, block))
        keep(result);
}
