//===- Trial.cpp - Alternatives for blocks and functions ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Trial.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::commsched;

/// The values that operations of `block`, or its parent, use and that `block`
/// does not have.
static llvm::SetVector<Value> findOutside(Block &block) {
  llvm::SetVector<Value> outside;
  if (!isa<func::FuncOp>(block.getParentOp()))
    outside.insert_range(block.getParentOp()->getOperands());
  block.walk([&](Operation *op) {
    for (Value operand : op->getOperands())
      if (operand.getParentBlock() != &block &&
          !block.findAncestorOpInBlock(
              *operand.getParentBlock()->getParentOp()))
        outside.insert(operand);
  });
  return outside;
}

OwningOpRef<ModuleOp> mlir::commsched::createTrialModule(Operation *op) {
  OwningOpRef<ModuleOp> trials = ModuleOp::create(op->getLoc());
  auto module = dyn_cast<ModuleOp>(op);
  if (!module)
    module = op->getParentOfType<ModuleOp>();
  if (!module)
    return trials;
  (*trials)->setDiscardableAttrs(module->getDiscardableAttrDictionary());
  for (Operation &symbol : *module.getBody())
    if (isa<SymbolOpInterface>(symbol) && symbol.getNumRegions() == 0)
      trials->push_back(symbol.clone());
  return trials;
}

Trial::Trial(func::FuncOp function, Block &block)
    : block(block), module(createTrialModule(function)) {
  func::FuncOp copied = function.cloneWithoutRegions();
  module->push_back(copied);
  Block *around = nullptr;
  parent = copied;
  if (Operation *original = block.getParentOp(); original != function) {
    around = &copied.getBody().emplaceBlock();
    for (Value value : findOutside(block)) {
      Value standIn = around->addArgument(value.getType(), value.getLoc());
      copies.map(value, standIn);
      originals.push_back({standIn, value});
    }
    parent = original->cloneWithoutRegions(copies);
    around->push_back(parent);
  }
  Region &region = parent->getRegion(block.getParent()->getRegionNumber());
  copy = &region.emplaceBlock();
  for (BlockArgument argument : block.getArguments()) {
    Value standIn = copy->addArgument(argument.getType(), argument.getLoc());
    copies.map(argument, standIn);
    originals.push_back({standIn, argument});
  }
  OpBuilder builder = OpBuilder::atBlockEnd(copy);
  for (Operation &op : block)
    builder.clone(op, copies);
}

void Trial::adopt() {
  for (Operation &op : block)
    op.dropAllReferences();
  replaced.getOperations().splice(replaced.end(), block.getOperations());
  block.getOperations().splice(block.end(), copy->getOperations());
  parent->dropAllReferences();
  for (auto [standIn, original] : originals)
    standIn.replaceAllUsesWith(original);
}
