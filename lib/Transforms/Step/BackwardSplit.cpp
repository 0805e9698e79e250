//===- BackwardSplit.cpp - Halves of a backward ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "../PassSupport.h"
#include "CommSched/Analysis/OperationTexts.h"
#include "CommSched/Analysis/Problem/Aliasing.h"
#include "CommSched/Analysis/Problem/CommunicationEffects.h"
#include "JoinedFunction.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace mlir::commsched;
using schedule::NodeId;

namespace {

class BackwardSplitter {
public:
  BackwardSplitter(func::FuncOp function, BackwardSplit &split)
      : function(function), block(function.getBody().front()), split(split) {}

  LogicalResult findOperations();
  std::optional<BlockObstacle> checkWrites() const;
  void findHandedValues();

private:
  void addOperation(Operation *op);
  void need(Value value);

  func::FuncOp function;
  Block &block;
  BackwardSplit &split;
  SmallVector<Operation *> pending;
  /// What the half of the weights reads and does not compute.
  llvm::DenseSet<Value> needed;
};

} // namespace

//===----------------------------------------------------------------------===//
// The operations of the half of the inputs
//===----------------------------------------------------------------------===//

void BackwardSplitter::addOperation(Operation *op) {
  if (op && split.ofInputs.insert(op).second)
    pending.push_back(op);
}

LogicalResult BackwardSplitter::findOperations() {
  // All ranks split alike, so that the order of collectives may change alike.
  FailureOr<BlockProblem> problem =
      BlockProblem::create(block, StreamOrder::Free);
  if (failed(problem))
    return failure();
  llvm::DenseMap<Operation *, NodeId> nodes;
  for (auto [node, op] : llvm::enumerate(getScheduledOperations(block)))
    nodes[&op] = static_cast<NodeId>(node);
  for (OpOperand &operand : block.getTerminator()->getOpOperands())
    if (split.isInputGradient[operand.getOperandNumber()])
      addOperation(operand.get().getDefiningOp());
  while (!pending.empty()) {
    Operation *op = pending.pop_back_val();
    for (schedule::DependenceEnd end :
         problem->getProblem().predecessors(nodes.lookup(op)))
      addOperation(problem->getOperation(end.node));
    // What is in flight does not cross the boundary.
    for (Value result : op->getResults())
      if (isa<FutureType>(result.getType()))
        for (Operation *user : result.getUsers())
          addOperation(block.findAncestorOpInBlock(*user));
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Memory that both halves use
//===----------------------------------------------------------------------===//

/// The operand that `op`, which has no region, may write in place and for which
/// `isShared` holds; null if there is none.
static Value findSharedWrite(Operation *op,
                             function_ref<bool(Value)> isShared) {
  if (auto destinations = dyn_cast<DestinationStyleOpInterface>(op))
    for (OpOperand &operand : destinations.getDpsInitsMutable())
      if (isShared(operand.get()))
        return operand.get();
  if (isa<MemoryEffectOpInterface>(op)) {
    for (const MemoryEffects::EffectInstance &effect : getStatedEffects(op))
      if (isa<MemoryEffects::Write, MemoryEffects::Free>(effect.getEffect()) &&
          effect.getValue() && isShared(effect.getValue()))
        return effect.getValue();
    return {};
  }
  if (isMemoryEffectFree(op) || op->hasTrait<OpTrait::IsTerminator>() ||
      op->hasTrait<OpTrait::HasRecursiveMemoryEffects>())
    return {};
  for (Value operand : op->getOperands())
    if (isShared(operand))
      return operand;
  return {};
}

/// A value that is handed over is one of the caller's in between, for which
/// nothing says that it is the memory of another one.
std::optional<BlockObstacle> BackwardSplitter::checkWrites() const {
  StorageAnalysis storages(block);
  auto getObject = [&](Value value) -> std::optional<int32_t> {
    int32_t storage = storages.getStorage(value);
    if (storage == StorageAnalysis::none)
      return std::nullopt;
    return storages.getStorages()[storage].object;
  };
  llvm::DenseSet<int32_t> shared;
  auto share = [&](Value value) {
    if (std::optional<int32_t> object = getObject(value))
      shared.insert(*object);
  };
  for (Operation *op : split.ofInputs) {
    visitReads(op, share);
    llvm::for_each(op->getResults(), share);
  }
  for (Operation &op : getScheduledOperations(block)) {
    if (split.ofInputs.contains(&op))
      continue;
    std::optional<BlockObstacle> obstacle;
    op.walk([&](Operation *inner) {
      Value written = findSharedWrite(inner, [&](Value value) {
        std::optional<int32_t> object = getObject(value);
        return object && shared.contains(*object);
      });
      if (!written)
        return WalkResult::advance();
      obstacle = {inner->getLoc(),
                  "'" + describe(inner) + "'" +
                      " computes gradients of weights and may write memory "
                      "that gradients of inputs are computed from"};
      return WalkResult::interrupt();
    });
    if (obstacle)
      return obstacle;
  }
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// What is handed over
//===----------------------------------------------------------------------===//

static bool isScalar(Value value) {
  return value.getType().isIntOrIndexOrFloat();
}

/// Whether computing `op` twice costs no time.
static bool isForFree(Operation *op) {
  if (op->getNumRegions() > 0 || op->getNumResults() == 0)
    return false;
  if (op->hasTrait<OpTrait::ConstantLike>() || isa<tensor::EmptyOp>(op))
    return true;
  if (!isMemoryEffectFree(op))
    return false;
  return isFreeView(op) || (llvm::all_of(op->getOperands(), isScalar) &&
                            llvm::all_of(op->getResults(), isScalar));
}

void BackwardSplitter::need(Value value) {
  if (value.getParentBlock() != &block || !needed.insert(value).second)
    return;
  Operation *op = value.getDefiningOp();
  if (!op || !split.ofInputs.contains(op) || !isForFree(op))
    return;
  needed.erase(value);
  if (split.repeated.insert(op).second)
    for (Value operand : op->getOperands())
      need(operand);
}

void BackwardSplitter::findHandedValues() {
  for (Operation &op : getScheduledOperations(block))
    if (!split.ofInputs.contains(&op))
      visitReads(&op, [&](Value value) { need(value); });
  llvm::DenseSet<Value> ofInputs;
  for (Operation *op : split.ofInputs)
    visitReads(op, [&](Value value) { ofInputs.insert(value); });
  for (OpOperand &operand : block.getTerminator()->getOpOperands())
    if (split.isInputGradient[operand.getOperandNumber()])
      ofInputs.insert(operand.get());
    else
      need(operand.get());
  unsigned numArguments = block.getNumArguments();
  split.inputArguments.resize(numArguments);
  split.weightArguments.resize(numArguments);
  for (BlockArgument argument : block.getArguments()) {
    unsigned index = argument.getArgNumber();
    bool isNeeded = needed.contains(argument);
    // An argument that nothing reads stays one of the first half.
    split.inputArguments[index] = ofInputs.contains(argument) || !isNeeded;
    if (!isNeeded)
      continue;
    // Both halves may take what is not theirs to free from the caller.
    if (!split.inputArguments[index] || !isFreeable(argument))
      split.weightArguments.set(index);
    else
      split.handed.push_back(argument);
  }
  for (Operation &op : getScheduledOperations(block))
    if (split.ofInputs.contains(&op))
      for (Value result : op.getResults())
        if (needed.contains(result))
          split.handed.push_back(result);
}

FailureOr<std::optional<BlockObstacle>>
mlir::commsched::splitBackward(func::FuncOp function,
                               const llvm::BitVector &isInputGradient,
                               BackwardSplit &split) {
  split.isInputGradient = isInputGradient;
  BackwardSplitter splitter(function, split);
  if (failed(splitter.findOperations()))
    return failure();
  size_t numOperations =
      llvm::range_size(getScheduledOperations(function.getBody().front()));
  if (split.ofInputs.size() == numOperations)
    return std::optional(
        BlockObstacle{function.getLoc(),
                      "all of its operations compute gradients of inputs"});
  if (std::optional<BlockObstacle> obstacle = splitter.checkWrites())
    return obstacle;
  splitter.findHandedValues();
  return std::optional<BlockObstacle>();
}
