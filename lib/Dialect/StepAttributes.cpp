//===- StepAttributes.cpp - Attributes of steps that repeat ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/Dialect/CommSchedAttributes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::commsched;

//===----------------------------------------------------------------------===//
// Accessors
//===----------------------------------------------------------------------===//

std::optional<unsigned>
mlir::commsched::getCarriedResult(FunctionOpInterface function,
                                  unsigned argument) {
  auto result =
      function.getArgAttrOfType<IntegerAttr>(argument, carriedAttrName);
  return result ? std::optional(static_cast<unsigned>(result.getInt()))
                : std::nullopt;
}

void mlir::commsched::setCarriedResult(FunctionOpInterface function,
                                       unsigned argument, unsigned result) {
  function.setArgAttr(argument, carriedAttrName,
                      Builder(function.getContext()).getI64IntegerAttr(result));
}

DictionaryAttr mlir::commsched::dropCarried(DictionaryAttr attrs) {
  if (!attrs)
    return attrs;
  NamedAttrList list(attrs);
  if (list.erase(carriedAttrName))
    list.set(freeableAttrName, UnitAttr::get(attrs.getContext()));
  return list.getDictionary(attrs.getContext());
}

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

/// Starts an error about the attribute of an argument.
static InFlightDiagnostic emitCarriedError(Operation *op, unsigned argument) {
  return op->emitOpError() << "attribute '" << carriedAttrName
                           << "' of argument " << argument << " ";
}

LogicalResult mlir::commsched::verifyCarried(Operation *op, unsigned argument,
                                             Attribute attr) {
  auto number = dyn_cast<IntegerAttr>(attr);
  if (!number || !number.getType().isSignlessInteger(64) ||
      !llvm::isUInt<31>(number.getInt()))
    return emitCarriedError(op, argument)
           << "must be the number of a result as an i64, not " << attr;
  auto function = dyn_cast<FunctionOpInterface>(op);
  if (!function)
    return emitCarriedError(op, argument)
           << "belongs on an argument of a function";
  // Once a function is lowered, its results are no longer its own.
  if (!isa<FunctionType>(function.getFunctionType()))
    return success();
  int64_t result = number.getInt();
  if (result >= function.getNumResults())
    return emitCarriedError(op, argument)
           << "names result " << result << ", but the function has "
           << function.getNumResults();
  Type taken = function.getArgumentTypes()[argument];
  Type returned = function.getResultTypes()[result];
  if (taken == returned)
    return success();
  return emitCarriedError(op, argument)
         << "names result " << result << ", whose type is " << returned
         << ", not " << taken;
}

/// Checks that no two arguments take one result: each may overwrite what it
/// takes.
static LogicalResult verifyCarriedOnce(func::FuncOp function) {
  DenseMap<unsigned, unsigned> takenBy;
  for (unsigned argument : llvm::seq(function.getNumArguments())) {
    std::optional<unsigned> result = getCarriedResult(function, argument);
    if (!result)
      continue;
    auto [other, isFirst] = takenBy.try_emplace(*result, argument);
    if (!isFirst)
      return emitCarriedError(function, argument)
             << "names result " << *result << ", which argument "
             << other->second << " takes";
  }
  return success();
}

namespace {

/// The verifier of a symbol table runs this once for each function; the hooks
/// of the dialect, which see one argument, would look at all others for each.
struct StepVerifier
    : SymbolUserOpInterface::ExternalModel<StepVerifier, func::FuncOp> {
  LogicalResult verifySymbolUses(Operation *op, SymbolTableCollection &) const {
    return verifyCarriedOnce(cast<func::FuncOp>(op));
  }
};

} // namespace

void mlir::commsched::registerStepVerifier(MLIRContext &context) {
  func::FuncOp::attachInterface<StepVerifier>(context);
}
