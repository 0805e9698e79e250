//===- CommSchedAttributes.cpp - Discardable attributes of commsched ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/Dialect/CommSchedAttributes.h"
#include "AttributeChecks.h"
#include "CommSched/Dialect/CommSchedDialect.h"
#include "CommSched/Dialect/SteadyState.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace mlir::commsched;
using commsched::detail::verifyInteger;
using commsched::detail::verifyReorderInfo;

//===----------------------------------------------------------------------===//
// Readers
//===----------------------------------------------------------------------===//

static std::optional<int64_t> getInteger(Operation *op, StringRef name) {
  if (auto attr =
          dyn_cast_if_present<IntegerAttr>(op->getDiscardableAttr(name)))
    return attr.getInt();
  return std::nullopt;
}

StringRef mlir::commsched::getRole(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  if (!argument || !argument.getOwner()->isEntryBlock())
    return {};
  auto function =
      dyn_cast<FunctionOpInterface>(argument.getOwner()->getParentOp());
  if (!function)
    return {};
  return getRole(function, argument.getArgNumber());
}

StringRef mlir::commsched::getRole(FunctionOpInterface function,
                                   unsigned argument) {
  auto role = function.getArgAttrOfType<StringAttr>(argument, roleAttrName);
  if (!role)
    return {};
  auto name = function.getArgAttrOfType<StringAttr>(argument, nameAttrName);
  if (name && role.getValue() == rngStateRole)
    return getNamedRngState(name.getValue());
  return role.getValue();
}

bool mlir::commsched::isFreeable(FunctionOpInterface function,
                                 unsigned argument) {
  return function.getArgAttr(argument, freeableAttrName) ||
         function.getArgAttr(argument, carriedAttrName) ||
         getRole(function, argument) == savedActivationRole;
}

bool mlir::commsched::isRngState(StringRef role) {
  return role == rngStateRole || role == forwardRngStateRole ||
         role == backwardRngStateRole;
}

StringRef mlir::commsched::getNamedRngState(StringRef name) {
  auto isOf = [&](StringRef half) {
    return llvm::any_of(
        ArrayRef({"seed", "base_offset", "rng_state"}),
        [&](StringRef part) { return name.contains((half + part).str()); });
  };
  bool isForward = isOf("fwd_");
  if (isForward == isOf("bwd_"))
    return rngStateRole;
  return isForward ? forwardRngStateRole : backwardRngStateRole;
}

static bool isOnModuleOf(Operation *op, StringRef name) {
  auto module = op->getParentOfType<ModuleOp>();
  return module && module->hasAttr(name);
}

bool mlir::commsched::hasSeparateCopies(Operation *op) {
  return isOnModuleOf(op, separateCopiesAttrName);
}

bool mlir::commsched::hasPackedLaunches(Operation *op) {
  return isOnModuleOf(op, packedLaunchesAttrName);
}

int64_t mlir::commsched::getNumKernels(Operation *op) {
  return getInteger(op, kernelsAttrName).value_or(1);
}

std::optional<int64_t> mlir::commsched::getPinnedRuntimeNs(Operation *op) {
  return getInteger(op, runtimeNsAttrName);
}

StringRef mlir::commsched::getGraph(Operation *op) {
  auto function = dyn_cast<FunctionOpInterface>(op);
  if (!function)
    function = op->getParentOfType<FunctionOpInterface>();
  for (Operation *owner : {op, function.getOperation()})
    if (owner)
      if (auto graph = owner->getAttrOfType<StringAttr>(graphAttrName))
        return graph.getValue();
  return function ? function.getName() : StringRef();
}

Value mlir::commsched::getFusedOperand(Operation *op) {
  std::optional<int64_t> operand = getInteger(op, fusedAttrName);
  return operand ? op->getOperand(static_cast<unsigned>(*operand)) : Value();
}

std::optional<int64_t> mlir::commsched::getCollectiveOrder(Operation *op) {
  return getInteger(op, orderAttrName);
}

std::optional<int64_t> mlir::commsched::getBaselinePeakBytes(Operation *op) {
  return getInteger(op, baselinePeakBytesAttrName);
}

std::optional<int64_t> mlir::commsched::getOverBudgetBytes(Operation *op) {
  return getInteger(op, overBudgetBytesAttrName);
}

std::optional<int64_t> mlir::commsched::getBesideBytes(Operation *op) {
  return getInteger(op, besideBytesAttrName);
}

StringRef mlir::commsched::getBudgetRemedies(Operation *op) {
  auto text = dyn_cast_if_present<StringAttr>(
      op->getDiscardableAttr(budgetRemediesAttrName));
  return text ? text.getValue() : StringRef();
}

StringRef mlir::commsched::getStableName(Operation *op) {
  auto name =
      dyn_cast_if_present<StringAttr>(op->getDiscardableAttr(nameAttrName));
  return name ? name.getValue() : StringRef();
}

static SmallVector<StringRef, 2> getNames(Attribute element) {
  if (auto name = dyn_cast<StringAttr>(element))
    return {name.getValue()};
  return llvm::map_to_vector<2>(
      cast<ArrayAttr>(element).getAsRange<StringAttr>(),
      [](StringAttr name) { return name.getValue(); });
}

SmallVector<SmallVector<StringRef, 2>>
mlir::commsched::getOrigin(Operation *op) {
  auto origin =
      dyn_cast_if_present<ArrayAttr>(op->getDiscardableAttr(originAttrName));
  return origin ? llvm::map_to_vector(origin, getNames)
                : SmallVector<SmallVector<StringRef, 2>>();
}

void mlir::commsched::setOriginOfParts(
    Operation *op, ArrayRef<SmallVector<Operation *, 2>> members) {
  Builder builder(op->getContext());
  SmallVector<Attribute> elements;
  for (ArrayRef<Operation *> member : members) {
    SmallVector<StringRef> names;
    for (Operation *part : member) {
      // One name is where a frontend's operation is from.
      SmallVector<SmallVector<StringRef, 2>> origin = getOrigin(part);
      if (origin.size() == 1 && origin.front().size() > 1)
        llvm::append_range(names, origin.front());
      else if (StringRef name = getStableName(part); !name.empty())
        names.push_back(name);
    }
    if (names.size() == 1)
      elements.push_back(builder.getStringAttr(names.front()));
    else if (!names.empty())
      elements.push_back(builder.getStrArrayAttr(names));
  }
  if (!elements.empty())
    op->setDiscardableAttr(originAttrName, builder.getArrayAttr(elements));
}

void mlir::commsched::setOrigin(Operation *op, ArrayRef<Operation *> members) {
  setOriginOfParts(op, llvm::map_to_vector(members, [](Operation *member) {
                     return SmallVector<Operation *, 2>{member};
                   }));
}

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

static constexpr StringLiteral partitions[] = {
    "forward", "backward", "must_be_forward", "must_be_backward"};
static constexpr StringLiteral recomputePolicies[] = {
    "must_save", "prefer_save", "prefer_recompute", "must_recompute"};
static constexpr StringLiteral fsdpRoles[] = {
    "parameter_gather", "gradient_scatter", "gradient_reduce"};
static constexpr StringLiteral roles[] = {
    parameterRole,        inputRole,         savedActivationRole,
    tangentRole,          rngStateRole,      forwardRngStateRole,
    backwardRngStateRole, unshardedParamRole};

LogicalResult commsched::detail::verifyInteger(Operation *op, const Twine &what,
                                               Attribute attr,
                                               bool mayBeNegative) {
  auto value = dyn_cast<IntegerAttr>(attr);
  if (!value || !value.getType().isSignlessInteger(64))
    return op->emitOpError() << what << " must be an i64, not " << attr;
  if (!mayBeNegative && value.getValue().isNegative())
    return op->emitOpError()
           << what << " must not be negative, but is " << value.getInt();
  return success();
}

/// Begins an error: "attribute 'a'".
static InFlightDiagnostic emitErrorOn(Operation *op, NamedAttribute attr) {
  return op->emitOpError() << "attribute '" << attr.getName().getValue() << "'";
}

/// Checks an attribute that belongs on an `OwnerT`, which is called `owner`.
template <typename OwnerT, const StringLiteral &owner,
          LogicalResult (*verify)(Operation *, NamedAttribute)>
static LogicalResult verifyOn(Operation *op, NamedAttribute attr) {
  if (isa<OwnerT>(op))
    return verify(op, attr);
  return emitErrorOn(op, attr) << " belongs on " << owner;
}

static LogicalResult verifyString(Operation *op, NamedAttribute attr) {
  if (isa<StringAttr>(attr.getValue()))
    return success();
  return emitErrorOn(op, attr) << " must be a string, not " << attr.getValue();
}

static LogicalResult verifyOrigin(Operation *op, NamedAttribute attr) {
  auto isName = [](Attribute name) {
    auto string = dyn_cast<StringAttr>(name);
    return string && !string.empty();
  };
  auto isElement = [&](Attribute element) {
    auto names = dyn_cast<ArrayAttr>(element);
    return names ? names.size() > 1 && llvm::all_of(names, isName)
                 : isName(element);
  };
  auto elements = dyn_cast<ArrayAttr>(attr.getValue());
  if (elements && !elements.empty() && llvm::all_of(elements, isElement))
    return success();
  return emitErrorOn(op, attr)
         << " must be an array with, for each operation that this one stands "
            "for, its name or an array of at least two names, not "
         << attr.getValue();
}

template <bool mayBeNegative>
static LogicalResult verifyI64(Operation *op, NamedAttribute attr) {
  return verifyInteger(op, "attribute '" + attr.getName().getValue() + "'",
                       attr.getValue(), mayBeNegative);
}
static constexpr auto verifyNotNegative = verifyI64</*mayBeNegative=*/false>;

template <const auto &choices>
static LogicalResult verifyOneOf(Operation *op, NamedAttribute attr) {
  if (failed(verifyString(op, attr)))
    return failure();
  StringRef value = cast<StringAttr>(attr.getValue()).getValue();
  if (llvm::is_contained(choices, value))
    return success();
  InFlightDiagnostic diag = emitErrorOn(op, attr)
                            << " is \"" << value << "\", which is none of ";
  llvm::interleaveComma(choices, diag,
                        [&](StringRef c) { diag << "\"" << c << "\""; });
  return diag;
}

static LogicalResult verifyCompileWith(Operation *op, NamedAttribute attr) {
  auto dict = dyn_cast<DictionaryAttr>(attr.getValue());
  if (!dict)
    return emitErrorOn(op, attr)
           << " must be a dictionary, not " << attr.getValue();
  auto emitError = [&](NamedAttribute entry, StringRef of) {
    return op->emitOpError()
           << "key '" << entry.getName().getValue() << "' of " << of
           << "attribute '" << attr.getName().getValue() << "' must be a ";
  };
  for (NamedAttribute entry : dict) {
    if (entry.getName() == "settings") {
      auto settings = dyn_cast<DictionaryAttr>(entry.getValue());
      if (!settings)
        return emitError(entry, "") << "dictionary, not " << entry.getValue();
      for (NamedAttribute setting : settings)
        if (!isa<StringAttr>(setting.getValue()))
          return emitError(setting, "the settings of ")
                 << "string, not " << setting.getValue();
      continue;
    }
    if (entry.getName() != "pipeline" && entry.getName() != "region")
      return emitErrorOn(op, attr)
             << " has the unknown key '" << entry.getName().getValue()
             << "'; it takes 'pipeline', 'region' and 'settings'";
    if (!isa<StringAttr>(entry.getValue()))
      return emitError(entry, "") << "string, not " << entry.getValue();
  }
  return success();
}

static LogicalResult verifyUnit(Operation *op, NamedAttribute attr) {
  if (isa<UnitAttr>(attr.getValue()))
    return success();
  return emitErrorOn(op, attr)
         << " must be a unit attribute, not " << attr.getValue();
}

/// Checks that a call says what its callee takes in the form that
/// CalleeSummary reads.
static LogicalResult verifyCallee(Operation *op, NamedAttribute attr) {
  constexpr int64_t numPrices = 8;
  auto dict = dyn_cast<DictionaryAttr>(attr.getValue());
  auto price = dict ? dict.getAs<DenseI64ArrayAttr>(calleePriceKey)
                    : DenseI64ArrayAttr();
  Attribute effects = dict ? dict.get(calleeEffectsKey) : Attribute();
  Attribute bytes = dict ? dict.get(calleeBytesKey) : Attribute();
  Attribute aliases = dict ? dict.get(calleeAliasesKey) : Attribute();
  auto number = dyn_cast_if_present<IntegerAttr>(bytes);
  auto word = dyn_cast_if_present<StringAttr>(effects);
  auto operands = dyn_cast_if_present<DenseI64ArrayAttr>(aliases);
  auto isOperand = [&](int64_t index) {
    return index >= -1 && index < op->getNumOperands();
  };
  if (price && price.size() == numPrices &&
      llvm::all_of(price.asArrayRef(), [](int64_t n) { return n >= 0; }) &&
      (!bytes || (number && number.getType().isSignlessInteger(64))) &&
      (!effects || (word && (word == noEffects || word == onlyCommunicates))) &&
      (!aliases || (operands && operands.size() == op->getNumResults() &&
                    llvm::all_of(operands.asArrayRef(), isOperand))))
    return success();
  return emitErrorOn(op, attr)
         << " must be a dictionary of '" << calleePriceKey << "', " << numPrices
         << " i64, none negative, and perhaps '" << calleeEffectsKey << "', \""
         << noEffects << "\" or \"" << onlyCommunicates << "\", the i64 '"
         << calleeBytesKey << "' and '" << calleeAliasesKey
         << "', an operand or -1 for each result, not " << attr.getValue();
}

static LogicalResult verifyImplementation(Operation *op, NamedAttribute attr) {
  auto collective = dyn_cast<CollectiveOpInterface>(op);
  if (!collective || isHostTransfer(collective.getCollectiveKind()))
    return emitErrorOn(op, attr)
           << " belongs on a collective that starts communication";
  auto name = dyn_cast<StringAttr>(attr.getValue());
  if (name && !name.getValue().empty())
    return success();
  return emitErrorOn(op, attr)
         << " must be the name of an implementation, not " << attr.getValue();
}

static LogicalResult verifyNumForwardOutputs(Operation *op,
                                             NamedAttribute attr) {
  if (failed(verifyNotNegative(op, attr)))
    return failure();
  // Once a function is lowered, its results are no longer its own: they are
  // packed into one, or written through an argument.
  auto type =
      dyn_cast<FunctionType>(cast<FunctionOpInterface>(op).getFunctionType());
  int64_t count = cast<IntegerAttr>(attr.getValue()).getInt();
  int64_t numResults = type ? type.getNumResults() : count;
  if (count <= numResults)
    return success();
  return emitErrorOn(op, attr) << " is " << count << ", but the function has "
                               << numResults << " results";
}

static LogicalResult verifyStrings(Operation *op, NamedAttribute attr) {
  auto names = dyn_cast<ArrayAttr>(attr.getValue());
  if (names && llvm::all_of(names, llvm::IsaPred<StringAttr>))
    return success();
  return emitErrorOn(op, attr)
         << " must be an array of strings, not " << attr.getValue();
}

/// Checks the size hints for values of `types`, which is what `owner` calls
/// them. Of types that are not MLIR's own the values may have a size that is
/// not known here.
static LogicalResult verifySizeHints(Operation *op, NamedAttribute attr,
                                     TypeRange types, const Twine &owner) {
  StringRef name = attr.getName().getValue();
  auto hints = dyn_cast<DenseI64ArrayAttr>(attr.getValue());
  if (!hints)
    return op->emitOpError()
           << "attribute '" << name << "' of " << owner
           << " must be an array of i64, not " << attr.getValue();
  for (int64_t hint : hints.asArrayRef())
    if (hint < 0)
      return op->emitOpError() << "attribute '" << name << "' of " << owner
                               << " must not be negative, but has " << hint;
  if (llvm::any_of(types, [](Type type) {
        return !isa<BuiltinDialect>(type.getDialect());
      }))
    return success();
  // A lowered operation writes into memory, or makes single elements.
  if (llvm::none_of(types, llvm::IsaPred<ShapedType>))
    return success();
  int64_t count = countDynamicDims(types);
  if (count == hints.size())
    return success();
  return op->emitOpError() << "attribute '" << name << "' of " << owner
                           << " has " << hints.size() << " entries for "
                           << count << " dynamic dimensions";
}

/// Checks the size hints for the results of `op`, or for what it delivers.
static LogicalResult verifySizeHints(Operation *op, NamedAttribute attr) {
  auto collective = dyn_cast<CollectiveOpInterface>(op);
  if (!collective || !collective.getInFlightFuture())
    return verifySizeHints(op, attr, op->getResultTypes(), "the results");
  return verifySizeHints(op, attr, collective.getDeliveredTypes(),
                         "what is delivered");
}

/// Checks the number of an operand whose storage the results share.
static LogicalResult verifyFused(Operation *op, NamedAttribute attr) {
  if (isa<UnitAttr>(attr.getValue()) && op->getNumOperands() == 0)
    return success();
  if (failed(verifyNotNegative(op, attr)))
    return failure();
  // A lowered operation writes into memory, or makes single elements.
  if (llvm::none_of(op->getResultTypes(), llvm::IsaPred<ShapedType>))
    return success();
  int64_t operand = cast<IntegerAttr>(attr.getValue()).getInt();
  if (operand < op->getNumOperands() &&
      isa<RankedTensorType>(op->getOperand(operand).getType()))
    return success();
  return emitErrorOn(op, attr) << " must be the number of an operand that is a "
                                  "tensor, but is "
                               << operand;
}

/// Checks that role and name of an argument agree on whose random state it is.
static LogicalResult verifyRole(Operation *op, unsigned argument,
                                NamedAttribute attr) {
  if (failed(verifyOneOf<roles>(op, attr)))
    return failure();
  auto function = dyn_cast<FunctionOpInterface>(op);
  auto name =
      function ? function.getArgAttrOfType<StringAttr>(argument, nameAttrName)
               : StringAttr();
  StringRef role = cast<StringAttr>(attr.getValue()).getValue();
  if (!name || (role != forwardRngStateRole && role != backwardRngStateRole))
    return success();
  StringRef named = getNamedRngState(name.getValue());
  if (named == rngStateRole || named == role)
    return success();
  return op->emitOpError() << "argument " << argument << " has the role \""
                           << role << "\", but its name " << name
                           << " is that of a \"" << named
                           << "\": change one of them";
}

/// Checks what was measured of `op`.
static LogicalResult verifyMeasured(Operation *op, NamedAttribute attr) {
  auto times = dyn_cast<DictionaryAttr>(attr.getValue());
  if (!times)
    return verifyNotNegative(op, attr);
  for (NamedAttribute time : times)
    if (failed(verifyNotNegative(op, time)))
      return failure();
  return success();
}

static LogicalResult verifyProfile(Operation *op, NamedAttribute attr) {
  if (isa<ModuleOp>(op) && isa<DictionaryAttr>(attr.getValue()))
    return success();
  return emitErrorOn(op, attr) << " must be a dictionary on a module, which "
                                  "commsched-set-costs writes";
}

static LogicalResult verifyUnitOnModule(Operation *op, NamedAttribute attr) {
  if (isa<ModuleOp>(op) && isa<UnitAttr>(attr.getValue()))
    return success();
  return emitErrorOn(op, attr)
         << " must be a unit attribute on a module, not " << attr.getValue();
}

static LogicalResult verifyKernels(Operation *op, NamedAttribute attr) {
  if (failed(verifyNotNegative(op, attr)))
    return failure();
  if (cast<IntegerAttr>(attr.getValue()).getInt() > 0)
    return success();
  return emitErrorOn(op, attr) << " must be at least 1, but is 0";
}

static LogicalResult verifyNotOnOperation(Operation *op, NamedAttribute attr) {
  return emitErrorOn(op, attr)
         << " belongs on an argument, not on an operation";
}

template <LogicalResult (*verify)(Operation *, Attribute)>
static LogicalResult verifyValue(Operation *op, NamedAttribute attr) {
  return verify(op, attr.getValue());
}

static constexpr StringLiteral aCall = "a call";
static constexpr StringLiteral aFunction = "a function";
static constexpr StringLiteral aGroup = "a commsched.group";

template <LogicalResult (*verify)(Operation *, NamedAttribute)>
static constexpr auto verifyOnFunction =
    verifyOn<FunctionOpInterface, aFunction, verify>;

/// The attributes of operations, and how they are checked.
static constexpr std::pair<StringLiteral,
                           LogicalResult (*)(Operation *, NamedAttribute)>
    operationAttributes[] = {
        {nameAttrName, verifyString},
        {moduleAttrName, verifyString},
        {graphAttrName, verifyString},
        {graphNameAttrName, verifyString},
        {originAttrName, verifyOrigin},
        {measuredNsAttrName, verifyMeasured},
        {profileAttrName, verifyProfile},
        {runtimeNsAttrName, verifyNotNegative},
        {orderAttrName, verifyNotNegative},
        {recomputeRegionAttrName, verifyNotNegative},
        {tripCountAttrName, verifyNotNegative},
        {assumedTripCountAttrName, verifyNotNegative},
        {separateCopiesAttrName, verifyUnitOnModule},
        {packedLaunchesAttrName, verifyUnitOnModule},
        {kernelsAttrName, verifyKernels},
        {partitionAttrName, verifyOneOf<partitions>},
        {recomputeAttrName, verifyOneOf<recomputePolicies>},
        {fsdpAttrName, verifyOneOf<fsdpRoles>},
        {compileWithAttrName, verifyCompileWith},
        {fusedAttrName, verifyFused},
        {assumedFusionAttrName, verifyUnit},
        {chunkAttrName, verifyValue<verifyChunkAttribute>},
        {pureAttrName, verifyOn<CallOpInterface, aCall, verifyUnit>},
        {calleeAttrName, verifyOn<CallOpInterface, aCall, verifyCallee>},
        {backendAttrName, verifyOn<GroupOp, aGroup, verifyString>},
        {implementationAttrName, verifyImplementation},
        {sizeHintsAttrName, verifySizeHints},
        {reorderInfoAttrName, verifyReorderInfo},
        {baselinePeakBytesAttrName, verifyOnFunction<verifyNotNegative>},
        {overBudgetBytesAttrName, verifyOnFunction<verifyNotNegative>},
        {besideBytesAttrName,
         verifyOnFunction<verifyI64</*mayBeNegative=*/true>>},
        {perDeviceAttrName, verifyOnFunction<verifyUnit>},
        {budgetRemediesAttrName, verifyOnFunction<verifyString>},
        {numForwardOutputsAttrName, verifyOnFunction<verifyNumForwardOutputs>},
        {savedValuesAttrName, verifyOnFunction<verifyStrings>},
        {steadyStateAttrName, verifyValue<verifySteadyState>},
        {pipelinedAttrName, verifyValue<verifyPipelined>},
        {roleAttrName, verifyNotOnOperation},
        {freeableAttrName, verifyNotOnOperation},
        {carriedAttrName, verifyNotOnOperation}};

LogicalResult CommSchedDialect::verifyOperationAttribute(Operation *op,
                                                         NamedAttribute attr) {
  for (auto [name, verify] : operationAttributes)
    if (attr.getName() == name)
      return verify(op, attr);
  return op->emitOpError() << "unknown attribute '" << attr.getName().getValue()
                           << "'";
}

LogicalResult CommSchedDialect::verifyRegionArgAttribute(Operation *op,
                                                         unsigned region,
                                                         unsigned argument,
                                                         NamedAttribute attr) {
  StringRef name = attr.getName().getValue();
  if (name == nameAttrName)
    return verifyString(op, attr);
  if (name == roleAttrName)
    return verifyRole(op, argument, attr);
  if (name == freeableAttrName) {
    if (isa<UnitAttr>(attr.getValue()))
      return success();
    return emitErrorOn(op, attr)
           << " of argument " << argument << " must be a unit attribute, not "
           << attr.getValue();
  }
  if (name == sizeHintsAttrName) {
    auto function = dyn_cast<FunctionOpInterface>(op);
    TypeRange types;
    if (function)
      types = function.getArgumentTypes().slice(argument, 1);
    return verifySizeHints(op, attr, types, "argument " + Twine(argument));
  }
  if (name == stepArgumentAttrName || name == repetitionAttrName)
    return verifySteadyStateNumber(op, attr, "argument " + Twine(argument));
  if (name == carriedAttrName)
    return verifyCarried(op, argument, attr.getValue());
  return op->emitOpError() << "unknown attribute '" << attr.getName().getValue()
                           << "' on argument " << argument;
}

LogicalResult CommSchedDialect::verifyRegionResultAttribute(
    Operation *op, unsigned region, unsigned result, NamedAttribute attr) {
  StringRef name = attr.getName().getValue();
  if (name == nameAttrName)
    return verifyString(op, attr);
  if (name == stepResultAttrName || name == repetitionAttrName)
    return verifySteadyStateNumber(op, attr, "result " + Twine(result));
  return op->emitOpError() << "unknown attribute '" << name << "' on result "
                           << result;
}
