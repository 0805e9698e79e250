//===- AssumeFusion.cpp - Price what a later compiler fuses ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From the end of a block to its front, AssumedFusion decides which operations
// are fused. From the front to the end, this collects for each fused operation
// the values that a kernel has to read in place of its results, and prices the
// other operations by these.
//
// The copies of a bucket are priced as what the compiler is given of them: one
// concatenation, and a slice for each tensor. So a program that was scheduled
// takes as long as it does when it is put back and read again.
//===----------------------------------------------------------------------===//

#include "AssumedFusion.h"
#include "CommSched/Analysis/Costs/RegionRuns.h"
#include "CommSched/Analysis/Problem/Aliasing.h"
#include "CommSched/Analysis/Problem/OperatorClasses.h"
#include "CommSched/Dialect/CommSchedAttributes.h"
#include "CommSched/Dialect/CommSchedDialect.h"
#include "CommSched/Interfaces/CommSchedInterfaces.h"
#include "CommSched/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/MathExtras.h"

namespace mlir::commsched {
#define GEN_PASS_DEF_ASSUMEFUSION
#include "CommSched/Transforms/Passes.h.inc"
} // namespace mlir::commsched

using namespace mlir;
using namespace mlir::commsched;

namespace {

/// Writes what is fused, and what that takes, on the blocks of one module.
class FusionMarker {
public:
  explicit FusionMarker(OperationCosts &costs) : costs(costs), fusion(costs) {}

  void markBlock(Block &block);

  /// Writes on each call in `function` of what only computes what its callee
  /// takes. What communicates takes what it does once it is scheduled, and
  /// counts as communication. Returns what a function that only computes takes;
  /// none where that is not known.
  std::optional<int64_t> priceCalls(func::FuncOp function, int depth = 0);

private:
  /// Functions that call each other deeper than this are not priced.
  static constexpr int maxDepth = 64;

  /// As many values as one kernel reads at most: a larger one is split.
  static constexpr size_t maxInputs = 16;

  void price(Operation *op);
  std::optional<int64_t> getKernelNs(Operation *op, ArrayRef<Value> inputs);
  int64_t getBytes(Value value);
  std::optional<unsigned> getStorageOperand(Operation *op);
  int64_t getLargestInput(Value value);

  OperationCosts &costs;
  AssumedFusion fusion;
  /// Of fused operations: the values that are read in place of the results.
  DenseMap<Operation *, SmallVector<Value, 4>> inputsOf;
  DenseMap<Operation *, std::optional<int64_t>> functionNs;
};

struct AssumeFusion : mlir::commsched::impl::AssumeFusionBase<AssumeFusion> {
  using AssumeFusionBase::AssumeFusionBase;

  void runOnOperation() override;
};

} // namespace

//===----------------------------------------------------------------------===//
// What is written on operations
//===----------------------------------------------------------------------===//

static void pin(Operation *op, int64_t time) {
  Builder builder(op->getContext());
  op->setDiscardableAttr(runtimeNsAttrName, builder.getI64IntegerAttr(time));
  op->setDiscardableAttr(assumedFusionAttrName, builder.getUnitAttr());
}

/// Removes what an earlier run of the pass has written. Returns whether there
/// was anything.
static bool dropAssumptions(Operation *root) {
  bool found = false;
  root->walk([&](Operation *op) {
    if (!op->removeDiscardableAttr(assumedFusionAttrName))
      return;
    found = true;
    op->removeDiscardableAttr(runtimeNsAttrName);
    op->removeDiscardableAttr(fusedAttrName);
  });
  return found;
}

//===----------------------------------------------------------------------===//
// The copies of buckets
//===----------------------------------------------------------------------===//

/// What it writes: a copy-in does not touch the rest of the buffer.
static ResultRange getWrittenResults(Operation *op) {
  return isa<AllGatherCopyInOp>(op) ? op->getResults().take_front(1)
                                    : op->getResults();
}

//===----------------------------------------------------------------------===//
// What kernels read
//===----------------------------------------------------------------------===//

/// Whether a kernel into which `op` is fused reads only a part of its operand.
static bool readsPart(Operation *op) {
  if (op->getNumOperands() == 0 || op->getNumResults() != 1 ||
      getFusionClass(op) != OperatorClass::DataMovement)
    return false;
  std::optional<int64_t> whole =
      getStaticBytes(getSizedType(op->getOperand(0)));
  std::optional<int64_t> part = getStaticBytes(getSizedType(op->getResult(0)));
  return whole && part && *part < *whole;
}

std::optional<int64_t> FusionMarker::getKernelNs(Operation *op,
                                                 ArrayRef<Value> inputs) {
  int64_t bytes = 0;
  auto add = [&](Value value) {
    std::optional<int64_t> size = getStaticBytes(getSizedType(value));
    return size && !llvm::AddOverflow(bytes, *size, bytes);
  };
  if (!llvm::all_of(inputs, add) || !llvm::all_of(getWrittenResults(op), add))
    return std::nullopt;
  double flops = 0;
  cost::ElementKind kind = cost::ElementKind::F32;
  if (auto own = dyn_cast<CostOpInterface>(op)) {
    flops = own.getFlopCount().value_or(0);
    kind = getElementKind(own.getComputeType());
  }
  return cost::computeTimeNs(costs.getTarget(), flops, kind, bytes);
}

/// The bytes that `value` keeps alive: of a part those of the whole.
int64_t FusionMarker::getBytes(Value value) {
  Operation *op = value.getDefiningOp();
  if (inputsOf.contains(op) && readsPart(op))
    value = op->getOperand(0);
  return getStaticBytes(getSizedType(value)).value_or(0);
}

int64_t FusionMarker::getLargestInput(Value value) {
  auto found = inputsOf.find(value.getDefiningOp());
  if (found == inputsOf.end())
    return getBytes(value);
  int64_t largest = 0;
  for (Value input : found->second)
    largest = std::max(largest, getBytes(input));
  return largest;
}

/// The operand that stands for what a fused operation keeps alive: the one that
/// is computed from the largest value.
std::optional<unsigned> FusionMarker::getStorageOperand(Operation *op) {
  std::optional<unsigned> best;
  int64_t largest = -1;
  for (auto [index, operand] : llvm::enumerate(getReadOperands(op))) {
    int64_t size = getLargestInput(operand);
    if (isa<RankedTensorType>(operand.getType()) && size > largest) {
      largest = size;
      best = index;
    }
  }
  return best;
}

/// Marks `op` as fused, or writes on it what it takes with all that is fused
/// into it.
void FusionMarker::price(Operation *op) {
  llvm::SmallSetVector<Value, 8> inputs;
  bool readsFused = false;
  for (Value operand : getReadOperands(op)) {
    auto found = inputsOf.find(operand.getDefiningOp());
    if (found == inputsOf.end()) {
      inputs.insert(operand);
      continue;
    }
    readsFused = true;
    inputs.insert(found->second.begin(), found->second.end());
  }
  Builder builder(op->getContext());
  auto keepOperand = [&](unsigned operand) {
    op->setDiscardableAttr(fusedAttrName, builder.getI64IntegerAttr(operand));
  };
  if (fusion.isAbsorbed(op)) {
    keepOperand(0);
    return pin(op, 0);
  }
  if (fusion.isFused(op) && op->getNumOperands() == 0) {
    inputsOf[op] = {};
    op->setDiscardableAttr(fusedAttrName, builder.getUnitAttr());
    return pin(op, 0);
  }
  if (fusion.isFused(op) && inputs.size() <= maxInputs) {
    if (std::optional<unsigned> operand = getStorageOperand(op)) {
      // Of a part, its bytes are read, not those of the whole.
      if (!readsFused && readsPart(op))
        inputsOf[op] = {op->getResult(0)};
      else
        inputsOf[op] = SmallVector<Value, 4>(inputs.begin(), inputs.end());
      if (getAliasedValue(op->getResult(0)) && !isa<linalg::TransposeOp>(op))
        return; // A view says itself whose storage it shares, and is free.
      keepOperand(*operand);
      return pin(op, 0);
    }
  }
  if (getPinnedRuntimeNs(op))
    return;
  if (isa<SplitWithSizesCopyOp, tensor::ExtractSliceOp>(op)) {
    if (std::optional<int64_t> time = fusion.getSlicesNs(op))
      pin(op, *time);
    return;
  }
  if (!readsFused)
    return;
  std::optional<int64_t> alone = costs.estimateNs(op);
  std::optional<int64_t> together = getKernelNs(op, inputs.getArrayRef());
  if (alone && together)
    pin(op, std::min(*alone, *together));
}

/// Whether the regions of `op` are programs of their own: those of a loop, of a
/// branch, or one that runs once. Those of other operations compute elements.
static bool hasPrograms(Operation *op) {
  if (op->getNumRegions() == 0 || isa<CollectiveOpInterface>(op))
    return false;
  RegionUse use = getRegionUse(op);
  return use != RegionUse::Element && use != RegionUse::Unknown;
}

void FusionMarker::markBlock(Block &block) {
  fusion.decide(block);
  for (Operation &op : block) {
    if (hasPrograms(&op))
      for (Region &region : op.getRegions())
        for (Block &nested : region)
          markBlock(nested);
    price(&op);
  }
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

std::optional<int64_t> FusionMarker::priceCalls(func::FuncOp function,
                                                int depth) {
  // A function that calls itself finds that nothing is known.
  auto [entry, isNew] = functionNs.try_emplace(function, std::nullopt);
  if (!isNew || depth > maxDepth || function.isExternal())
    return entry->second;
  std::optional<int64_t> total = 0;
  function.walk([&](func::CallOp call) {
    if (!call->hasAttr(pureAttrName))
      return total.reset();
    func::FuncOp callee = fusion.lookup(call, call.getCalleeAttr().getAttr());
    if (!callee || getPinnedRuntimeNs(call))
      return;
    if (std::optional<int64_t> time = priceCalls(callee, depth + 1))
      pin(call, *time);
    else if (!callee.isExternal())
      total.reset();
  });
  if (!total)
    return std::nullopt;
  for (Operation &op : function.getOps()) {
    OperationPrice price = costs.price(&op);
    // A pin would hide that a part of it is assumed.
    if (!price.isKnown() || llvm::AddOverflow(*total, price.timeNs, *total))
      return std::nullopt;
  }
  functionNs[function] = total;
  return total;
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

/// Assumes for the blocks of `functions`, which are of one module.
static void assumeFusion(ArrayRef<func::FuncOp> functions,
                         OperationCosts &costs) {
  FusionMarker marker(costs);
  for (func::FuncOp function : functions)
    for (Block &block : function.getBody())
      marker.markBlock(block);
  for (func::FuncOp function : functions)
    marker.priceCalls(function);
}

bool mlir::commsched::renewAssumedFusion(func::FuncOp function,
                                         OperationCosts &costs) {
  if (!dropAssumptions(function))
    return false;
  assumeFusion(function, costs);
  return true;
}

void AssumeFusion::runOnOperation() {
  if (renew && !dropAssumptions(getOperation()))
    return markAllAnalysesPreserved();
  OperationCosts *costs = getAnalysis<CostAnalysis>().getCosts();
  if (!costs)
    return signalPassFailure();
  SmallVector<func::FuncOp> functions;
  if (auto module = dyn_cast<ModuleOp>(getOperation()))
    llvm::append_range(functions, module.getOps<func::FuncOp>());
  else if (auto function = dyn_cast<func::FuncOp>(getOperation()))
    functions.push_back(function);
  assumeFusion(functions, *costs);
}
