//===- SteadyState.cpp - Attributes of steps that repeat ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/Dialect/SteadyState.h"
#include "CommSched/Dialect/CommSchedDialect.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/LoopLikeInterface.h"

using namespace mlir;
using namespace mlir::commsched;

//===----------------------------------------------------------------------===//
// Readers
//===----------------------------------------------------------------------===//

static constexpr StringLiteral stepKey = "step";
static constexpr StringLiteral roleKey = "role";
static constexpr StringLiteral depthKey = "depth";

int64_t SteadyStateInfo::getNumArgumentRepetitions() const {
  if (role == SteadyStateRole::Prologue)
    return depth - 1;
  return role == SteadyStateRole::Steady ? 1 : 0;
}

int64_t SteadyStateInfo::getNumResultRepetitions() const {
  if (role == SteadyStateRole::Epilogue)
    return depth - 1;
  return role == SteadyStateRole::Steady ? 1 : 0;
}

static std::optional<SteadyStateInfo> parseSteadyState(Attribute attr) {
  auto dict = dyn_cast_if_present<DictionaryAttr>(attr);
  if (!dict || dict.size() != 3)
    return std::nullopt;
  auto step = dict.getAs<FlatSymbolRefAttr>(stepKey);
  auto roleText = dict.getAs<StringAttr>(roleKey);
  auto depth = dict.getAs<IntegerAttr>(depthKey);
  auto role =
      roleText ? symbolizeSteadyStateRole(roleText.getValue()) : std::nullopt;
  if (!step || !role || !depth || !depth.getType().isSignlessInteger(64) ||
      depth.getInt() < 2)
    return std::nullopt;
  return SteadyStateInfo{step, *role, depth.getInt()};
}

std::optional<SteadyStateInfo>
mlir::commsched::getSteadyState(Operation *function) {
  return parseSteadyState(function->getDiscardableAttr(steadyStateAttrName));
}

void mlir::commsched::setSteadyState(Operation *function,
                                     const SteadyStateInfo &info) {
  Builder builder(function->getContext());
  NamedAttrList entries;
  entries.set(stepKey, info.step);
  entries.set(roleKey,
              builder.getStringAttr(stringifySteadyStateRole(info.role)));
  entries.set(depthKey, builder.getI64IntegerAttr(info.depth));
  function->setDiscardableAttr(steadyStateAttrName,
                               entries.getDictionary(function->getContext()));
}

FunctionOpInterface mlir::commsched::findSteadyStateFunction(
    Operation *function, FlatSymbolRefAttr step, SteadyStateRole role) {
  Operation *table = function->getParentOp();
  if (!table || table->getNumRegions() != 1)
    return {};
  for (auto other : table->getRegion(0).getOps<FunctionOpInterface>()) {
    std::optional<SteadyStateInfo> info = getSteadyState(other);
    if (info && info->step == step && info->role == role)
      return other;
  }
  return {};
}

static std::optional<int64_t> getNumber(Attribute attr) {
  if (auto number = dyn_cast_if_present<IntegerAttr>(attr))
    return number.getInt();
  return std::nullopt;
}

std::optional<int64_t>
mlir::commsched::getStepArgument(FunctionOpInterface function,
                                 unsigned argument) {
  return getNumber(function.getArgAttr(argument, stepArgumentAttrName));
}

std::optional<int64_t>
mlir::commsched::getStepResult(FunctionOpInterface function, unsigned result) {
  return getNumber(function.getResultAttr(result, stepResultAttrName));
}

std::optional<int64_t>
mlir::commsched::getArgumentRepetition(FunctionOpInterface function,
                                       unsigned argument) {
  return getNumber(function.getArgAttr(argument, repetitionAttrName));
}

std::optional<int64_t>
mlir::commsched::getResultRepetition(FunctionOpInterface function,
                                     unsigned result) {
  return getNumber(function.getResultAttr(result, repetitionAttrName));
}

unsigned mlir::commsched::getNumStateArguments(FunctionOpInterface function) {
  unsigned count = 0, end = function.getNumArguments();
  while (count < end && !function.getArgAttr(count, stepArgumentAttrName))
    ++count;
  return count;
}

unsigned mlir::commsched::getNumStateResults(FunctionOpInterface function) {
  unsigned count = 0, end = function.getNumResults();
  while (count < end && !function.getResultAttr(count, stepResultAttrName))
    ++count;
  return count;
}

//===----------------------------------------------------------------------===//
// Verification of one function
//===----------------------------------------------------------------------===//

LogicalResult mlir::commsched::verifySteadyStateNumber(Operation *op,
                                                       NamedAttribute attr,
                                                       const Twine &what) {
  StringRef name = attr.getName().getValue();
  auto value = dyn_cast<IntegerAttr>(attr.getValue());
  if (!value || !value.getType().isSignlessInteger(64) ||
      value.getValue().isNegative())
    return op->emitOpError()
           << "attribute '" << name << "' of " << what
           << " must be an i64 that is not negative, not " << attr.getValue();
  if (op->getDiscardableAttr(steadyStateAttrName))
    return success();
  return op->emitOpError() << "attribute '" << name << "' of " << what
                           << " needs '" << steadyStateAttrName
                           << "' on the function";
}

/// Says which of the entries of the dictionary is wrong.
static LogicalResult reportEntries(Operation *op, Attribute attr) {
  InFlightDiagnostic diag = op->emitOpError()
                            << "attribute '" << steadyStateAttrName << "' ";
  auto dict = dyn_cast<DictionaryAttr>(attr);
  if (!dict)
    return diag << "must be a dictionary, not " << attr;
  for (NamedAttribute entry : dict)
    if (!llvm::is_contained(ArrayRef<StringRef>{stepKey, roleKey, depthKey},
                            entry.getName()))
      return diag << "has the unknown key '" << entry.getName().getValue()
                  << "'; it takes 'step', 'role' and 'depth'";
  for (StringRef key : {stepKey, roleKey, depthKey})
    if (!dict.get(key))
      return diag << "lacks the key '" << key << "'";
  if (!dict.getAs<FlatSymbolRefAttr>(stepKey))
    return diag << "has the step " << dict.get(stepKey)
                << ", which is no symbol";
  auto role = dict.getAs<StringAttr>(roleKey);
  if (!role || !symbolizeSteadyStateRole(role.getValue()))
    return diag << "has the role " << dict.get(roleKey)
                << ", which is none of \"prologue\", \"steady\", \"epilogue\"";
  return diag << "has the depth " << dict.get(depthKey)
              << ", which is no i64 of at least 2";
}

namespace {

/// Verifies one function of a steady state against the step and the prologue.
class SteadyStateVerifier {
public:
  SteadyStateVerifier(FunctionOpInterface function, SteadyStateInfo info)
      : function(function), info(info) {}

  LogicalResult verify();

private:
  LogicalResult verifyState(FunctionOpInterface prologue);
  LogicalResult verifyArguments(unsigned numState);
  LogicalResult verifyResults(unsigned numState);
  LogicalResult verifyNumber(const Twine &what, StringRef kind,
                             std::optional<int64_t> number,
                             ArrayRef<Type> stepTypes, Type type);
  LogicalResult verifyRepetition(const Twine &what,
                                 std::optional<int64_t> repetition,
                                 int64_t count);

  FunctionOpInterface function;
  SteadyStateInfo info;
  FunctionOpInterface step;
};

} // namespace

/// Once functions are lowered, their results are no longer their own.
static bool isLowered(FunctionOpInterface function) {
  return !isa<FunctionType>(function.getFunctionType());
}

LogicalResult SteadyStateVerifier::verifyState(FunctionOpInterface prologue) {
  ArrayRef<Type> state = prologue.getResultTypes();
  auto compare = [&](ArrayRef<Type> types, StringRef what) -> LogicalResult {
    for (auto [index, type] : llvm::enumerate(state)) {
      if (index < types.size() && types[index] == type)
        continue;
      InFlightDiagnostic diag = function->emitOpError();
      if (index < types.size())
        diag << "has type " << types[index] << " for " << what << " " << index;
      else
        diag << "has " << types.size() << " " << what
             << (types.size() == 1 ? "" : "s");
      diag << ", but the state of the prologue '@" << prologue.getName()
           << "' has ";
      if (index < types.size())
        diag << type;
      else
        diag << state.size() << " values";
      diag << " (C5)";
      diag.attachNote(prologue.getLoc()) << "the prologue is here";
      return diag;
    }
    return success();
  };
  if (failed(compare(function.getArgumentTypes(), "argument")))
    return failure();
  return info.role == SteadyStateRole::Steady
             ? compare(function.getResultTypes(), "result")
             : success();
}

LogicalResult SteadyStateVerifier::verifyNumber(const Twine &what,
                                                StringRef kind,
                                                std::optional<int64_t> number,
                                                ArrayRef<Type> stepTypes,
                                                Type type) {
  if (!number)
    return function->emitOpError()
           << what << " is behind the state, but lacks '" << kind << "'";
  if (*number < static_cast<int64_t>(stepTypes.size()) &&
      stepTypes[*number] == type)
    return success();
  InFlightDiagnostic diag = function->emitOpError()
                            << what << " has '" << kind << "' " << *number;
  if (*number < static_cast<int64_t>(stepTypes.size()))
    diag << " and type " << type << ", but that of the step '@"
         << step.getName() << "' has type " << stepTypes[*number];
  else
    diag << ", but the step '@" << step.getName() << "' has "
         << stepTypes.size();
  diag.attachNote(step.getLoc()) << "the step is here";
  return diag;
}

LogicalResult SteadyStateVerifier::verifyRepetition(
    const Twine &what, std::optional<int64_t> repetition, int64_t count) {
  if (!repetition || *repetition < count)
    return success();
  return function->emitOpError()
         << what << " is of repetition " << *repetition << ", but the "
         << stringifySteadyStateRole(info.role) << " of depth " << info.depth
         << " has " << count;
}

LogicalResult SteadyStateVerifier::verifyArguments(unsigned numState) {
  ArrayRef<Type> types = function.getArgumentTypes();
  for (unsigned index = 0; index < types.size(); ++index) {
    std::string what = "argument " + std::to_string(index);
    if (index < numState) {
      if (getStepArgument(function, index))
        return function->emitOpError()
               << what << " is state, but has '" << stepArgumentAttrName << "'";
      continue;
    }
    if (failed(verifyNumber(what, stepArgumentAttrName,
                            getStepArgument(function, index),
                            step.getArgumentTypes(), types[index])) ||
        failed(verifyRepetition(what, getArgumentRepetition(function, index),
                                info.getNumArgumentRepetitions())))
      return failure();
  }
  return success();
}

LogicalResult SteadyStateVerifier::verifyResults(unsigned numState) {
  ArrayRef<Type> types = function.getResultTypes();
  for (unsigned index = numState; index < types.size(); ++index) {
    std::string what = "result " + std::to_string(index);
    if (failed(verifyNumber(what, stepResultAttrName,
                            getStepResult(function, index),
                            step.getResultTypes(), types[index])) ||
        failed(verifyRepetition(what, getResultRepetition(function, index),
                                info.getNumResultRepetitions())))
      return failure();
  }
  return success();
}

LogicalResult SteadyStateVerifier::verify() {
  Operation *table = function->getParentOp();
  step = dyn_cast_if_present<FunctionOpInterface>(
      table && table->hasTrait<OpTrait::SymbolTable>()
          ? SymbolTable::lookupSymbolIn(table, info.step)
          : nullptr);
  if (!step)
    return function->emitOpError()
           << "attribute '" << steadyStateAttrName << "' names the step "
           << info.step << ", which is no function of the module";
  FunctionOpInterface prologue =
      findSteadyStateFunction(function, info.step, SteadyStateRole::Prologue);
  if (!prologue)
    return function->emitOpError()
           << "is the " << stringifySteadyStateRole(info.role) << " of "
           << info.step << ", which has no prologue";
  if (isLowered(function) || isLowered(step) || isLowered(prologue))
    return success();
  SteadyStateInfo first = *getSteadyState(prologue);
  if (first.depth != info.depth)
    return emitOpErrorWithNote(function, prologue.getLoc(),
                               "the prologue is here")
           << "has depth " << info.depth << ", but its prologue has "
           << first.depth;
  bool isPrologue = info.role == SteadyStateRole::Prologue;
  if (isPrologue && prologue != function)
    return emitOpErrorWithNote(function, prologue.getLoc(),
                               "the first one is here")
           << "is a second prologue of " << info.step;
  if (!isPrologue && failed(verifyState(prologue)))
    return failure();
  unsigned numState = prologue.getNumResults();
  bool returnsState = info.role != SteadyStateRole::Epilogue;
  if (failed(verifyArguments(isPrologue ? 0 : numState)) ||
      failed(verifyResults(returnsState ? numState : 0)))
    return failure();
  return success();
}

/// Checks the futures among `values`.
static LogicalResult verifyFutures(ValueRange values) {
  for (Value value : values)
    if (isa<FutureType>(value.getType()) && failed(verifyCarriedFuture(value)))
      return failure();
  return success();
}

LogicalResult mlir::commsched::verifySteadyState(Operation *op,
                                                 Attribute attr) {
  auto function = dyn_cast<FunctionOpInterface>(op);
  if (!function)
    return op->emitOpError()
           << "attribute '" << steadyStateAttrName << "' belongs on a function";
  std::optional<SteadyStateInfo> info = parseSteadyState(attr);
  if (!info)
    return reportEntries(op, attr);
  if (failed(SteadyStateVerifier(function, *info).verify()))
    return failure();
  return function.isExternal() ? success()
                               : verifyFutures(function.getArguments());
}

LogicalResult mlir::commsched::verifyPipelined(Operation *op, Attribute attr) {
  if (!isa<LoopLikeOpInterface>(op))
    return op->emitOpError()
           << "attribute '" << pipelinedAttrName << "' belongs on a loop";
  if (!isa<UnitAttr>(attr))
    return op->emitOpError() << "attribute '" << pipelinedAttrName
                             << "' must be a unit attribute, not " << attr;
  for (Region &region : op->getRegions())
    if (!region.empty() && failed(verifyFutures(region.getArguments())))
      return failure();
  return verifyFutures(op->getResults());
}
