//===- StepAttributes.cpp - Attributes of steps that repeat ---------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Dialect/StepAttributes.h"

#include "CommSched/Dialect/CommSchedAttributes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/STLExtras.h"
#include <limits>

using namespace mlir;
using namespace mlir::commsched;

//===----------------------------------------------------------------------===//
// Accessors
//===----------------------------------------------------------------------===//

std::optional<unsigned>
mlir::commsched::getCarriedResult(FunctionOpInterface function,
                                  unsigned argument) {
  if (auto result =
          function.getArgAttrOfType<IntegerAttr>(argument, carriedAttrName))
    return static_cast<unsigned>(result.getInt());
  std::optional<StepSource> source = getStepSource(function, argument);
  bool isOwn = source && source->iterations == 1 &&
               source->function.getValue() == function.getName();
  return isOwn ? std::optional(source->result) : std::nullopt;
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
  list.erase(sourceAttrName);
  if (list.erase(carriedAttrName))
    list.set(freeableAttrName, UnitAttr::get(attrs.getContext()));
  return list.getDictionary(attrs.getContext());
}

static int64_t getInteger(DictionaryAttr dict, StringRef key,
                          int64_t otherwise) {
  auto attr = dict.getAs<IntegerAttr>(key);
  return attr ? attr.getInt() : otherwise;
}

std::optional<StepSource>
mlir::commsched::getStepSource(FunctionOpInterface function,
                               unsigned argument) {
  auto dict =
      function.getArgAttrOfType<DictionaryAttr>(argument, sourceAttrName);
  if (!dict)
    return std::nullopt;
  StepSource source;
  if (auto symbol = dict.getAs<FlatSymbolRefAttr>(sourceFunctionKey))
    source.function = symbol.getAttr();
  source.result = static_cast<unsigned>(getInteger(dict, sourceResultKey, 0));
  source.iterations =
      static_cast<unsigned>(getInteger(dict, sourceIterationsKey, 0));
  return source;
}

void mlir::commsched::setStepSource(FunctionOpInterface function,
                                    unsigned argument,
                                    const StepSource &source) {
  Builder builder(function.getContext());
  NamedAttrList entries;
  entries.set(sourceFunctionKey, FlatSymbolRefAttr::get(source.function));
  entries.set(sourceResultKey, builder.getI64IntegerAttr(source.result));
  if (source.iterations)
    entries.set(sourceIterationsKey,
                builder.getI64IntegerAttr(source.iterations));
  function.setArgAttr(argument, sourceAttrName,
                      entries.getDictionary(function.getContext()));
}

//===----------------------------------------------------------------------===//
// Verification of one operation
//===----------------------------------------------------------------------===//

/// Names the attribute in errors.
static std::string describe(unsigned argument,
                            StringRef attr = sourceAttrName) {
  return ("attribute '" + attr + "' of argument " + Twine(argument)).str();
}

/// Whether `attr` is an i64 between 0 and `most`.
static bool isInteger(Attribute attr, int64_t most) {
  auto number = dyn_cast<IntegerAttr>(attr);
  return number && number.getType().isSignlessInteger(64) &&
         number.getInt() >= 0 && number.getInt() <= most;
}

/// Starts an error about what `subject` names.
static InFlightDiagnostic emitAttrError(Operation *op, const Twine &subject) {
  return op->emitOpError() << subject << " ";
}

LogicalResult mlir::commsched::verifyCarried(Operation *op, unsigned argument,
                                             Attribute attr) {
  std::string subject = describe(argument, carriedAttrName);
  if (!isInteger(attr, std::numeric_limits<int32_t>::max()))
    return emitAttrError(op, subject)
           << "must be the number of a result as an i64, not " << attr;
  auto function = dyn_cast<FunctionOpInterface>(op);
  if (!function)
    return emitAttrError(op, subject) << "belongs on an argument of a function";
  // Once a function is lowered, its results are no longer its own.
  if (!isa<FunctionType>(function.getFunctionType()))
    return success();
  int64_t result = cast<IntegerAttr>(attr).getInt();
  if (result >= function.getNumResults())
    return emitAttrError(op, subject)
           << "names result " << result << ", but the function has "
           << function.getNumResults();
  Type taken = function.getArgumentTypes()[argument];
  Type returned = function.getResultTypes()[result];
  if (taken == returned)
    return success();
  return emitAttrError(op, subject)
         << "names result " << result << ", whose type is " << returned
         << ", not " << taken;
}

LogicalResult mlir::commsched::verifyStepSource(Operation *op,
                                                unsigned argument,
                                                Attribute attr) {
  std::string subject = describe(argument);
  auto dict = dyn_cast<DictionaryAttr>(attr);
  if (!dict)
    return emitAttrError(op, subject) << "must be a dictionary, not " << attr;
  for (NamedAttribute entry : dict)
    if (!llvm::is_contained(
            {sourceFunctionKey, sourceResultKey, sourceIterationsKey},
            entry.getName().getValue()))
      return emitAttrError(op, subject)
             << "has the unknown key '" << entry.getName().getValue() << "'";
  for (StringRef key : {sourceFunctionKey, sourceResultKey})
    if (!dict.contains(key))
      return emitAttrError(op, subject) << "lacks the key '" << key << "'";
  if (Attribute function = dict.get(sourceFunctionKey);
      !isa<FlatSymbolRefAttr>(function))
    return emitAttrError(op, "key 'function' of " + subject)
           << "must be a symbol, not " << function;
  if (Attribute result = dict.get(sourceResultKey);
      !isInteger(result, std::numeric_limits<int32_t>::max()))
    return emitAttrError(op, "key 'result' of " + subject)
           << "must be the number of a result as an i64, not " << result;
  if (Attribute iterations = dict.get(sourceIterationsKey);
      iterations && !isInteger(iterations, /*most=*/1))
    return emitAttrError(op, "key 'iterations' of " + subject)
           << "must be 0 or 1 as an i64, not " << iterations;
  return success();
}

//===----------------------------------------------------------------------===//
// Verification against other functions
//===----------------------------------------------------------------------===//

/// Checks that `function` has the result that feeds `argument`, whose type is
/// `type`.
static LogicalResult verifyResult(Operation *op, unsigned argument, Type type,
                                  FunctionOpInterface function,
                                  unsigned result) {
  // Once a function is lowered, its results are no longer its own.
  if (!isa<FunctionType>(function.getFunctionType()))
    return success();
  bool exists = result < function.getNumResults();
  if (exists && function.getResultTypes()[result] == type)
    return success();
  InFlightDiagnostic diag = emitAttrError(op, describe(argument))
                            << "names result " << result << " of '@"
                            << function.getName() << "', ";
  if (exists)
    diag << "whose type is " << function.getResultTypes()[result] << ", not "
         << type;
  else
    diag << "which has " << function.getNumResults() << " results";
  diag.attachNote(function.getLoc()) << "the function is here";
  return diag;
}

static LogicalResult verifySource(func::FuncOp function, unsigned argument,
                                  const StepSource &source,
                                  SymbolTableCollection &symbolTables) {
  Operation *symbol =
      symbolTables.lookupNearestSymbolFrom(function, source.function);
  auto from = dyn_cast_if_present<FunctionOpInterface>(symbol);
  if (!from) {
    InFlightDiagnostic diag = emitAttrError(function, describe(argument))
                              << "names '@" << source.function.getValue()
                              << "', which is no function of the module";
    if (symbol)
      diag.attachNote(symbol->getLoc()) << "the symbol is this operation";
    return diag;
  }
  if (failed(verifyResult(function, argument,
                          function.getArgumentTypes()[argument], from,
                          source.result)))
    return failure();
  if (source.iterations || from->isBeforeInBlock(function))
    return success();
  InFlightDiagnostic diag =
      emitAttrError(function, describe(argument))
      << "names '@" << from.getName()
      << "' with 'iterations' = 0, but that function does not stand before '@"
      << function.getName() << "'";
  diag.attachNote(from.getLoc()) << "the function is here";
  return diag;
}

/// Checks that no two arguments take one result: each may overwrite what it
/// takes.
static LogicalResult verifyCarriedOnce(func::FuncOp function) {
  DenseMap<unsigned, unsigned> takenBy;
  for (unsigned argument : llvm::seq(function.getNumArguments())) {
    if (!function.getArgAttr(argument, carriedAttrName))
      continue;
    unsigned result = *getCarriedResult(function, argument);
    auto [other, isFirst] = takenBy.try_emplace(result, argument);
    if (!isFirst)
      return emitAttrError(function, describe(argument, carriedAttrName))
             << "names result " << result << ", which argument "
             << other->second << " takes";
  }
  return success();
}

namespace {

/// The verifier of a symbol table runs this on its functions. The hooks of the
/// dialect must not look at other functions, which passes may be changing at
/// the same time.
struct StepVerifier
    : SymbolUserOpInterface::ExternalModel<StepVerifier, func::FuncOp> {
  LogicalResult verifySymbolUses(Operation *op,
                                 SymbolTableCollection &symbolTables) const {
    auto function = cast<func::FuncOp>(op);
    if (failed(verifyCarriedOnce(function)))
      return failure();
    for (unsigned i = 0, e = function.getNumArguments(); i != e; ++i)
      if (std::optional<StepSource> source = getStepSource(function, i))
        if (failed(verifySource(function, i, *source, symbolTables)))
          return failure();
    return success();
  }
};

} // namespace

void mlir::commsched::registerStepVerifier(MLIRContext &context) {
  func::FuncOp::attachInterface<StepVerifier>(context);
}
