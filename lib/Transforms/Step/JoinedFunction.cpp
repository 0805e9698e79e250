//===- JoinedFunction.cpp - Several functions in one ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "JoinedFunction.h"
#include "CommSched/Dialect/CommSchedAttributes.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace mlir::commsched;

LogicalResult mlir::commsched::checkNewSymbol(ModuleOp module, StringRef name,
                                              ArrayRef<func::FuncOp> replaced,
                                              const Pass &pass,
                                              const llvm::cl::Option &option) {
  Operation *found = SymbolTable::lookupSymbolIn(module, name);
  if (!found || llvm::is_contained(replaced, found))
    return success();
  InFlightDiagnostic diag = emitError(
      module.getLoc(),
      makeOptionError(pass, option,
                      "is '@" + name + "', but the module has that symbol"));
  diag.attachNote(found->getLoc()) << "it is here";
  return diag;
}

FailureOr<func::FuncOp>
mlir::commsched::findNamedFunction(ModuleOp module, StringRef name,
                                   const Pass &pass,
                                   const llvm::cl::Option &option) {
  name.consume_front("@");
  Operation *found = SymbolTable::lookupSymbolIn(module, name);
  auto function = dyn_cast_if_present<func::FuncOp>(found);
  if (function && !function.isExternal())
    return function;
  InFlightDiagnostic diag = emitError(
      module.getLoc(),
      makeOptionError(pass, option,
                      "names '@" + name + "', " +
                          (function ? "which has no body"
                                    : "but there is no such function")));
  if (found)
    diag.attachNote(found->getLoc()) << "the symbol is here";
  return diag;
}

func::FuncOp mlir::commsched::createFunction(Location location, StringRef name,
                                             ArrayRef<FunctionPort> arguments,
                                             ArrayRef<FunctionPort> results,
                                             IRMapping &mapping) {
  auto getType = [](const FunctionPort &port) { return port.value.getType(); };
  auto getAttrs = [](const FunctionPort &port) { return port.attrs; };
  auto function = func::FuncOp::create(
      location, name,
      FunctionType::get(location.getContext(),
                        llvm::map_to_vector(arguments, getType),
                        llvm::map_to_vector(results, getType)));
  function.setAllArgAttrs(llvm::map_to_vector(arguments, getAttrs));
  function.setAllResultAttrs(llvm::map_to_vector(results, getAttrs));
  Block &body = function.getBody().emplaceBlock();
  for (const FunctionPort &port : arguments)
    mapping.map(port.value,
                body.addArgument(port.value.getType(), port.value.getLoc()));
  return function;
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

NamedAttrList mlir::commsched::dropWholeAttributes(NamedAttrList attrs) {
  for (StringRef dropped : {numForwardOutputsAttrName, savedValuesAttrName,
                            baselinePeakBytesAttrName, overBudgetBytesAttrName,
                            besideBytesAttrName, runtimeNsAttrName})
    attrs.erase(dropped);
  return attrs;
}

/// The attributes that all parts have with the same value, but those that say
/// something of a whole body.
static DictionaryAttr getCommonAttributes(ArrayRef<func::FuncOp> parts) {
  NamedAttrList common;
  func::FuncOp first = parts.front();
  for (NamedAttribute attr : first->getDiscardableAttrs())
    if (llvm::all_of(parts, [&](func::FuncOp part) {
          return part->getDiscardableAttr(attr.getName()) == attr.getValue();
        }))
      common.push_back(attr);
  return dropWholeAttributes(common).getDictionary(first.getContext());
}

//===----------------------------------------------------------------------===//
// The function
//===----------------------------------------------------------------------===//

/// Creates the function without operations.
static func::FuncOp createEmpty(const FunctionJoin &join, StringRef name) {
  func::FuncOp first = join.parts.front();
  SmallVector<FunctionPort> arguments, results;
  for (JoinedPort port : join.arguments) {
    func::FuncOp part = join.parts[port.part];
    arguments.push_back({part.getArgument(port.index),
                         dropCarried(part.getArgAttrDict(port.index))});
  }
  for (JoinedPort port : join.results) {
    func::FuncOp part = join.parts[port.part];
    Operation *end = part.getBody().front().getTerminator();
    results.push_back(
        {end->getOperand(port.index), part.getResultAttrDict(port.index)});
  }
  SmallVector<Location> locations;
  for (func::FuncOp part : join.parts)
    locations.push_back(part.getLoc());
  IRMapping mapping;
  func::FuncOp function =
      createFunction(FusedLoc::get(first.getContext(), locations), name,
                     arguments, results, mapping);
  function->setDiscardableAttrs(getCommonAttributes(join.parts));
  function.setVisibility(first.getVisibility());
  return function;
}

func::FuncOp mlir::commsched::joinFunctions(const FunctionJoin &join,
                                            StringRef name) {
  func::FuncOp function = createEmpty(join, name);
  Block *body = &function.getBody().front();
  OpBuilder builder = OpBuilder::atBlockEnd(body);
  SmallVector<func::CallOp> calls;
  for (auto [callee, operands] : llvm::zip_equal(join.parts, join.operands)) {
    func::FuncOp part = callee;
    calls.push_back(func::CallOp::create(
        builder, part.getLoc(), part,
        llvm::map_to_vector(operands, [&](JoinedOperand operand) -> Value {
          if (operand.argument)
            return body->getArgument(*operand.argument);
          return calls[operand.result.part].getResult(operand.result.index);
        })));
  }
  func::ReturnOp::create(
      builder, function.getLoc(),
      llvm::map_to_vector(join.results, [&](JoinedPort port) -> Value {
        return calls[port.part].getResult(port.index);
      }));
  BodyInliner inliner(function);
  for (auto [call, part, prefix] :
       llvm::zip_equal(calls, join.parts, join.prefixes))
    inliner.inlineCall(call, part, prefix);
  renumberCollectives(function);
  return function;
}
