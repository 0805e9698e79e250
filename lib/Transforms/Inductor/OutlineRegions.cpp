//===- OutlineRegions.cpp - Outlining of sets of operations ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "../PassSupport.h"
#include "CommSched/Analysis/Costs/OperationCosts.h"
#include "CommSched/Analysis/Problem/Aliasing.h"
#include "CommSched/Analysis/Problem/CommunicationEffects.h"
#include "CommSched/Dialect/CommSchedAttributes.h"
#include "CommSched/Report/StepReport.h"
#include "Regions.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace mlir::commsched;

//===----------------------------------------------------------------------===//
// Outlining
//===----------------------------------------------------------------------===//

namespace {

/// Moves one set to a function.
class Outliner {
public:
  explicit Outliner(const RegionSet &set) : set(set) {}

  OutlinedRegion outline();

  /// The constants that were copied.
  ArrayRef<Operation *> getConstants() const { return constants.getArrayRef(); }

private:
  void addUsed(Value value);
  void findResults();
  void fillBody(Block *body);

  const RegionSet &set;
  /// The members.
  DenseSet<Operation *> computed;
  llvm::SetVector<Operation *> constants;
  llvm::SetVector<Value> inputs;
  SmallVector<Value> results;
};

} // namespace

void Outliner::addUsed(Value value) {
  Operation *op = value.getDefiningOp();
  if (op && computed.contains(op))
    return;
  if (op && isFreeToCopy(op))
    constants.insert(op);
  else
    inputs.insert(value);
}

/// Finds the values that operations outside of the function use.
void Outliner::findResults() {
  DenseSet<Operation *> moved;
  for (RegionMember member : set.members)
    if (!member.isCopied)
      moved.insert(member.op);
  Block *block = set.members.front().op->getBlock();
  for (RegionMember member : set.members) {
    if (member.isCopied)
      continue;
    for (Value result : member.op->getResults())
      if (llvm::any_of(result.getUsers(), [&](Operation *user) {
            return !moved.contains(block->findAncestorOpInBlock(*user));
          }))
        results.push_back(result);
  }
}

void Outliner::fillBody(Block *body) {
  OpBuilder builder = OpBuilder::atBlockEnd(body);
  IRMapping mapping;
  mapping.map(inputs.getArrayRef(), body->getArguments());
  for (Operation *op : constants)
    builder.clone(*op, mapping);
  for (RegionMember member : set.members)
    if (member.isCopied)
      builder.clone(*member.op, mapping);
    else
      member.op->moveBefore(body, body->end());
  // Not by the uses of each input, of which other sets may have many.
  body->walk([&](Operation *op) {
    op->removeDiscardableAttr(compileWithAttrName);
    for (OpOperand &operand : op->getOpOperands())
      if (Value mapped = mapping.lookupOrNull(operand.get()))
        operand.set(mapped);
  });
  func::ReturnOp::create(builder, body->getParentOp()->getLoc(), results);
}

OutlinedRegion Outliner::outline() {
  for (RegionMember member : set.members)
    computed.insert(member.op);
  for (RegionMember member : set.members)
    visitReads(member.op, [&](Value value) { addUsed(value); });
  findResults();
  bool isPinned = llvm::any_of(set.members, [](RegionMember member) {
    return getPinnedRuntimeNs(member.op).has_value();
  });

  Operation *first = llvm::find_if(set.members, [](RegionMember member) {
                       return !member.isCopied;
                     })->op;
  Location loc = first->getLoc();
  OpBuilder builder(first);
  auto type = builder.getFunctionType(TypeRange(inputs.getArrayRef()),
                                      TypeRange(ArrayRef<Value>(results)));
  auto function = func::FuncOp::create(loc, regionFunctionPrefix, type);
  function.setPrivate();
  auto call =
      func::CallOp::create(builder, loc, function, inputs.getArrayRef());
  fillBody(function.addEntryBlock());
  for (auto [result, replacement] : llvm::zip(results, call.getResults()))
    result.replaceUsesWithIf(replacement, [&](OpOperand &use) {
      return !function->isProperAncestor(use.getOwner());
    });
  return {function,           call,    set.region, loc, first->getName(),
          set.members.size(), isPinned};
}

/// Adds the functions to the symbol tables of their callers, numbered and in
/// program order of the calls, to which `regions` are sorted.
static void addFunctions(ModuleOp module,
                         SmallVectorImpl<OutlinedRegion> &regions) {
  DenseMap<Operation *, size_t> indexOf;
  for (auto [index, region] : llvm::enumerate(regions))
    indexOf[region.call] = index;
  SmallVector<OutlinedRegion> sorted;
  module.walk<WalkOrder::PreOrder>([&](func::CallOp call) {
    if (auto it = indexOf.find(call); it != indexOf.end())
      sorted.push_back(regions[it->second]);
  });
  regions = std::move(sorted);

  DenseMap<Operation *, std::unique_ptr<SymbolTable>> tables;
  /// By caller: where its next function goes.
  DenseMap<Operation *, Operation *> lastOf;
  size_t number = 0;
  for (OutlinedRegion &region : regions) {
    auto caller = region.call->getParentOfType<func::FuncOp>();
    std::unique_ptr<SymbolTable> &table = tables[caller->getParentOp()];
    if (!table)
      table = std::make_unique<SymbolTable>(caller->getParentOp());
    std::string name;
    do
      name = (regionFunctionPrefix + Twine(number++)).str();
    while (table->lookup(name));
    region.function.setSymName(name);
    region.call.setCallee(name);
    Operation *&last = lastOf.try_emplace(caller, caller).first->second;
    table->insert(region.function, std::next(Block::iterator(last)));
    last = region.function;
  }
}

SmallVector<OutlinedRegion>
mlir::commsched::outlineRegions(ModuleOp module, ArrayRef<MarkedBlock> blocks) {
  SmallVector<OutlinedRegion> regions;
  llvm::SetVector<Operation *> constants;
  for (const MarkedBlock &block : blocks) {
    for (Operation *op : block.passedOn)
      op->removeDiscardableAttr(compileWithAttrName);
    if (block.sets.empty())
      continue;
    block.problem.apply(block.order);
    for (const RegionSet &set : block.sets) {
      Outliner outliner(set);
      regions.push_back(outliner.outline());
      constants.insert_range(outliner.getConstants());
    }
  }
  for (Operation *constant : constants)
    if (constant->use_empty())
      constant->erase();
  addFunctions(module, regions);
  return regions;
}

//===----------------------------------------------------------------------===//
// Facts on the calls
//===----------------------------------------------------------------------===//

/// Returns the value that `result` is a view of; null if it has contents of its
/// own. The result of a destination-style operation is no view.
static Value getViewed(OpResult result) {
  return isa<DestinationStyleOpInterface>(result.getOwner())
             ? Value()
             : getAliasedValue(result);
}

/// Whether all that `function` does is to compute results in storage of their
/// own, one for each. A pipeline may have made its body anything.
static bool onlyComputes(func::FuncOp function) {
  if (!function.getBody().hasOneBlock())
    return false;
  Block &body = function.getBody().front();
  // The storage of each value; null for storage of the caller or unknown
  // storage.
  DenseMap<Value, Value> rootOf;
  for (Value argument : body.getArguments())
    rootOf[argument] = Value();
  for (Operation &op : body.without_terminator()) {
    if (!isMemoryEffectFree(&op) ||
        getCommunicationEffect(&op) != CommunicationEffect::None)
      return false;
    for (OpResult result : op.getResults()) {
      if (mayAliasUnknown(result))
        rootOf[result] = Value();
      else if (Value viewed = getViewed(result))
        rootOf[result] = rootOf.lookup_or(viewed, viewed);
    }
  }
  DenseSet<Value> returned;
  return llvm::all_of(body.getTerminator()->getOperands(), [&](Value value) {
    if (!isa<ShapedType>(value.getType()))
      return true;
    Value root = rootOf.lookup_or(value, value);
    return root && returned.insert(root).second;
  });
}

LogicalResult mlir::commsched::describeCall(OutlinedRegion outlined,
                                            OperationCosts &costs) {
  Builder builder(outlined.call.getContext());
  if (onlyComputes(outlined.function))
    outlined.call->setDiscardableAttr(pureAttrName, builder.getUnitAttr());
  if (!outlined.isPinned)
    return success();
  std::string reason;
  FailureOr<std::optional<StepReport>> report =
      simulateFunction(outlined.function, costs, reason,
                       {/*allocator=*/std::nullopt, /*withBounds=*/false});
  if (failed(report))
    return failure();
  if (*report)
    outlined.call->setDiscardableAttr(
        runtimeNsAttrName, builder.getI64IntegerAttr((*report)->stepTimeNs));
  return success();
}
