//===- Annotate.cpp - What callees and callers permit ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Conversion.h"

#include "CommSched/Analysis/Problem/CommunicationEffects.h"
#include "CommSched/Dialect/CommSchedAttributes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace mlir::commsched;
using namespace mlir::commsched::stablehlo;

//===----------------------------------------------------------------------===//
// Pure calls
//===----------------------------------------------------------------------===//

/// The function that `op` calls; null if it is not a call or the callee is not
/// a function with a body.
static func::FuncOp getCallee(Operation *op, SymbolTable &symbols) {
  auto call = dyn_cast<func::CallOp>(op);
  if (!call)
    return {};
  auto callee = symbols.lookup<func::FuncOp>(call.getCallee());
  return callee && !callee.isExternal() ? callee : func::FuncOp();
}

/// Whether `op`, apart from its regions and from what it calls, has no effects.
static bool isEffectFree(Operation *op) {
  if (hasUnknownMemoryEffects(op))
    return false;
  auto effects = dyn_cast<MemoryEffectOpInterface>(op);
  return !effects || effects.hasNoEffect();
}

namespace {

/// Functions of which neither an operation nor a callee has an effect.
class PureFunctions {
public:
  PureFunctions(ModuleOp module, SymbolTable &symbols) {
    for (auto function : module.getOps<func::FuncOp>())
      addFunction(function, symbols);
    // Callees come first. A function in a cycle of calls never becomes ready,
    // and neither does one that calls it.
    SmallVector<Operation *> ready;
    for (auto function : module.getOps<func::FuncOp>())
      if (numCallees.lookup(function) == 0)
        ready.push_back(function);
    while (!ready.empty()) {
      Operation *function = ready.pop_back_val();
      if (impure.contains(function))
        continue;
      pure.insert(function);
      for (Operation *caller : callers[function])
        if (--numCallees[caller] == 0)
          ready.push_back(caller);
    }
  }

  bool contains(Operation *function) const { return pure.contains(function); }

private:
  void addFunction(func::FuncOp function, SymbolTable &symbols) {
    if (function.isExternal())
      impure.insert(function);
    // What an impure function calls does not matter.
    function.getBody().walk([&](Operation *op) {
      if (func::FuncOp callee = getCallee(op, symbols)) {
        callers[callee].push_back(function);
        ++numCallees[function];
        return WalkResult::advance();
      }
      if (isEffectFree(op))
        return WalkResult::advance();
      impure.insert(function);
      return WalkResult::interrupt();
    });
  }

  llvm::DenseMap<Operation *, SmallVector<Operation *>> callers;
  /// Calls of functions that are not yet known to be pure.
  llvm::DenseMap<Operation *, int64_t> numCallees;
  llvm::DenseSet<Operation *> impure;
  llvm::DenseSet<Operation *> pure;
};

} // namespace

void mlir::commsched::stablehlo::annotatePureCalls(ModuleOp module,
                                                   SymbolTable &symbols) {
  PureFunctions pure(module, symbols);
  auto unit = UnitAttr::get(module.getContext());
  module.walk([&](func::CallOp call) {
    func::FuncOp callee = getCallee(call, symbols);
    if (callee && pure.contains(callee))
      call->setDiscardableAttr(pureAttrName, unit);
  });
}

//===----------------------------------------------------------------------===//
// Donated arguments
//===----------------------------------------------------------------------===//

/// Whether the caller of `function` gives the storage of an argument away.
static bool isDonated(func::FuncOp function, unsigned index) {
  if (function.getArgAttr(index, aliasingOutputName))
    return true;
  Attribute donor = function.getArgAttr(index, bufferDonorName);
  auto boolean = dyn_cast_if_present<BoolAttr>(donor);
  return donor && (!boolean || boolean.getValue());
}

/// The arguments of `main` whose storage the module gives to results.
static DenseSet<int64_t> getAliasedParameters(ModuleOp module) {
  DenseSet<int64_t> parameters;
  auto aliases = module->getAttrOfType<ArrayAttr>(inputOutputAliasName);
  for (Attribute element :
       aliases ? aliases.getValue() : ArrayRef<Attribute>()) {
    auto entry = dyn_cast<DictionaryAttr>(element);
    auto alias =
        entry ? entry.getAs<DictionaryAttr>("alias") : DictionaryAttr();
    auto number =
        alias ? alias.getAs<IntegerAttr>("parameter_number") : IntegerAttr();
    auto index = alias ? alias.getAs<DenseI64ArrayAttr>("parameter_index")
                       : DenseI64ArrayAttr();
    if (number && (!index || index.empty()))
      parameters.insert(number.getInt());
  }
  return parameters;
}

/// The argument of an outlined function that gets its value from the one use of
/// `argument`: the use is by a manual computation in the same block. Null if
/// there is none.
static BlockArgument getOutlinedArgument(BlockArgument argument,
                                         SymbolTable &symbols) {
  if (!argument.hasOneUse())
    return {};
  OpOperand &use = *argument.use_begin();
  Operation *computation = use.getOwner();
  if (computation->getName().getStringRef() != manualComputationName ||
      computation->getBlock() != argument.getOwner() ||
      computation->getNumRegions() != 1 ||
      !computation->getRegion(0).hasOneBlock() ||
      computation->getRegion(0).front().empty())
    return {};
  Block &body = computation->getRegion(0).front();
  auto call = dyn_cast<func::CallOp>(body.front());
  func::FuncOp callee = call ? getCallee(call, symbols) : func::FuncOp();
  if (!callee || !callee->hasAttr(perDeviceAttrName) ||
      use.getOperandNumber() >= body.getNumArguments())
    return {};
  return callee.getArgument(use.getOperandNumber());
}

void mlir::commsched::stablehlo::annotateFreeableArguments(
    ModuleOp module, SymbolTable &symbols) {
  // The attributes of all arguments are set at once: each change makes a list
  // of them anew.
  llvm::MapVector<func::FuncOp, SmallVector<unsigned>> freeable;
  DenseSet<int64_t> aliased = getAliasedParameters(module);
  for (auto function : module.getOps<func::FuncOp>()) {
    bool isEntry = function.getSymName() == entryFunctionName;
    for (unsigned index = 0; index < function.getNumArguments(); ++index) {
      if (!isDonated(function, index) && !(isEntry && aliased.contains(index)))
        continue;
      freeable[function].push_back(index);
      if (function.isExternal())
        continue;
      if (BlockArgument outlined =
              getOutlinedArgument(function.getArgument(index), symbols))
        freeable[cast<func::FuncOp>(outlined.getOwner()->getParentOp())]
            .push_back(outlined.getArgNumber());
    }
  }
  auto unit = UnitAttr::get(module.getContext());
  for (auto &[function, indices] : freeable) {
    SmallVector<DictionaryAttr> attributes;
    func::FuncOp(function).getAllArgAttrs(attributes);
    for (unsigned index : indices) {
      NamedAttrList list(attributes[index]);
      list.set(freeableAttrName, unit);
      attributes[index] = list.getDictionary(module.getContext());
    }
    func::FuncOp(function).setAllArgAttrs(attributes);
  }
}
