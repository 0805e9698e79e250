//===- VerifyPartition.cpp - Pass that checks partitions ------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Analysis/Joint/HostCopies.h"
#include "CommSched/Dialect/CommSchedAttributes.h"
#include "CommSched/Dialect/CommSchedDialect.h"
#include "CommSched/Transforms/Passes.h"
#include "SplitFunction.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

namespace mlir::commsched {
#define GEN_PASS_DEF_VERIFYPARTITION
#include "CommSched/Transforms/Passes.h.inc"
} // namespace mlir::commsched

using namespace mlir;
using namespace mlir::commsched;

namespace {

struct VerifyPartition
    : mlir::commsched::impl::VerifyPartitionBase<VerifyPartition> {
  using VerifyPartitionBase::VerifyPartitionBase;

  void runOnOperation() override;
};

/// The attribute of one half that names the other.
struct Link {
  StringRef attrName;
  StringRef otherAttrName;
  /// "backward", if the attribute is the forward's.
  StringRef other;
  StringRef self;
};

} // namespace

static constexpr StringLiteral forwardText = "forward";
static constexpr StringLiteral backwardText = "backward";

//===----------------------------------------------------------------------===//
// That two functions are a pair
//===----------------------------------------------------------------------===//

static StringAttr getJoint(Operation *function) {
  return function->getAttrOfType<StringAttr>(jointAttrName);
}

/// The half that `function` names, if it names this one back. Emits an error
/// otherwise.
static FunctionOpInterface getOtherHalf(FunctionOpInterface function,
                                        const Link &link,
                                        SymbolTableCollection &symbols) {
  auto symbol = function->getAttrOfType<FlatSymbolRefAttr>(link.attrName);
  auto emitError = [&] {
    return function.emitOpError()
           << "names " << symbol << " as its " << link.other;
  };
  Operation *named = symbols.lookupNearestSymbolFrom(function, symbol);
  auto other = dyn_cast_if_present<FunctionOpInterface>(named);
  if (!other) {
    InFlightDiagnostic diag = emitError() << ", but there is no such function";
    if (named)
      diag.attachNote(named->getLoc()) << "the symbol is here";
    return {};
  }
  auto back = other->getAttrOfType<FlatSymbolRefAttr>(link.otherAttrName);
  if (!back || back.getAttr() != SymbolTable::getSymbolName(function)) {
    InFlightDiagnostic diag = emitError() << ", but that names ";
    if (back)
      diag << back << " as its " << link.self;
    else
      diag << "no " << link.self;
    diag.attachNote(other.getLoc()) << "it is here";
    return {};
  }
  return other;
}

/// Checks what `function` says of itself. Sets `backward` if it is the forward
/// of a pair.
static LogicalResult verifyLinks(FunctionOpInterface function,
                                 SymbolTableCollection &symbols,
                                 FunctionOpInterface &backward) {
  StringAttr joint = getJoint(function);
  bool isForward = function->hasAttr(backwardAttrName);
  bool isBackward = function->hasAttr(forwardAttrName);
  if (isForward && isBackward)
    return function.emitOpError()
           << "names " << function->getAttr(backwardAttrName)
           << " as its backward and " << function->getAttr(forwardAttrName)
           << " as its forward, but it can be only one of both itself";
  if (!isForward && !isBackward) {
    if (!joint)
      return success();
    return function.emitOpError() << "is half of the joint function " << joint
                                  << ", but names no other half";
  }
  Link link = {backwardAttrName, forwardAttrName, backwardText, forwardText};
  if (isBackward)
    link = {forwardAttrName, backwardAttrName, forwardText, backwardText};
  if (!joint)
    return function.emitOpError()
           << "names " << function->getAttr(link.attrName) << " as its "
           << link.other << ", but not the joint function that both were";
  FunctionOpInterface other = getOtherHalf(function, link, symbols);
  if (!other)
    return failure();
  if (!isForward)
    return success();
  backward = other;
  StringAttr otherJoint = getJoint(other);
  if (!otherJoint || otherJoint == joint)
    return success();
  InFlightDiagnostic diag = function.emitOpError()
                            << "is half of the joint function " << joint
                            << ", but its backward is half of " << otherJoint;
  diag.attachNote(other.getLoc()) << "the backward is here";
  return diag;
}

//===----------------------------------------------------------------------===//
// Values between the halves
//===----------------------------------------------------------------------===//

namespace {

/// Checks the values that a forward hands to its backward.
class PairVerifier {
public:
  PairVerifier(FunctionOpInterface forward, FunctionOpInterface backward)
      : forward(forward), backward(backward) {}

  LogicalResult verify();

private:
  LogicalResult verifyForwardArguments();
  LogicalResult verifyOffloads();
  LogicalResult verifySaved(unsigned index);
  LogicalResult verifySavedName(unsigned index);
  LogicalResult verifySavedRole(unsigned index);
  LogicalResult verifySavedOnHost(unsigned index);
  LogicalResult verifyOwn(unsigned index);

  /// The forward's result that is the argument `index` of the backward.
  unsigned getResult(unsigned index) { return numForwardOutputs + index; }
  /// Returns the result of the forward at this index; null if it is unknown.
  Value getReturned(unsigned result);

  /// What the argument of a function is if only a backward can have it, and not
  /// from its forward; null for any other.
  static const char *getOwnOfBackward(FunctionOpInterface function,
                                      unsigned argument) {
    StringRef role = getRole(function, argument);
    return role == tangentRole            ? "tangent"
           : role == backwardRngStateRole ? "random state of the backward"
                                          : nullptr;
  }

  /// An error at the forward that begins with a result and argument.
  InFlightDiagnostic emitSavedError(unsigned index) {
    return forward.emitOpError()
           << "saves result #" << getResult(index) << " for argument #" << index
           << " of '@" << backward.getName() << "', ";
  }
  LogicalResult noteBackward(InFlightDiagnostic &&diag) {
    diag.attachNote(backward.getLoc()) << "the backward is here";
    return diag;
  }

  FunctionOpInterface forward;
  FunctionOpInterface backward;
  unsigned numForwardOutputs = 0;
};

} // namespace

static void printRole(InFlightDiagnostic &diag, StringRef role) {
  if (role.empty())
    diag << "no role";
  else
    diag << "the role \"" << role << "\"";
}

Value PairVerifier::getReturned(unsigned result) {
  if (forward.isExternal() || !forward.getFunctionBody().hasOneBlock())
    return {};
  // A function may also end without returning anything.
  Operation *end = forward.getFunctionBody().front().getTerminator();
  return result < end->getNumOperands() ? end->getOperand(result) : Value();
}

LogicalResult PairVerifier::verifyForwardArguments() {
  for (unsigned argument : llvm::seq(forward.getNumArguments()))
    if (const char *what = getOwnOfBackward(forward, argument))
      return noteBackward(forward.emitOpError()
                          << "has a " << what << " as argument #" << argument
                          << ", which only its backward '@"
                          << backward.getName() << "' can have");
  return success();
}

LogicalResult PairVerifier::verifySaved(unsigned index) {
  Type saved = forward.getResultTypes()[getResult(index)];
  Type taken = backward.getArgumentTypes()[index];
  if (saved != taken)
    return noteBackward(emitSavedError(index)
                        << "but they are " << saved << " and " << taken);
  if (isa<FutureType>(saved))
    return noteBackward(emitSavedError(index)
                        << "but that is a collective in flight, " << saved);
  if (failed(verifySavedName(index)))
    return failure();
  if (isHostType(saved) && failed(verifySavedOnHost(index)))
    return failure();
  return verifySavedRole(index);
}

/// What was copied to the host comes back.
LogicalResult PairVerifier::verifySavedOnHost(unsigned index) {
  if (backward.isExternal() || !backward.getArgument(index).use_empty())
    return success();
  InFlightDiagnostic diag = emitSavedError(index)
                            << "which is in the memory of the host, but '@"
                            << backward.getName() << "' never reloads it";
  Value returned = getReturned(getResult(index));
  if (auto wait = returned ? returned.getDefiningOp<WaitOp>() : WaitOp())
    if (Operation *start = cast<WaitOpInterface>(*wait).getStart())
      diag.attachNote(start->getLoc())
          << "this '" << start->getName() << "' copies it to the host";
  return noteBackward(std::move(diag));
}

LogicalResult PairVerifier::verifySavedName(unsigned index) {
  auto saved =
      forward.getResultAttrOfType<StringAttr>(getResult(index), nameAttrName);
  auto taken = backward.getArgAttrOfType<StringAttr>(index, nameAttrName);
  if (!saved || !taken || saved == taken)
    return success();
  return noteBackward(emitSavedError(index)
                      << "but they are called " << saved << " and " << taken);
}

LogicalResult PairVerifier::verifySavedRole(unsigned index) {
  StringRef role = getRole(backward, index);
  if (const char *what = getOwnOfBackward(backward, index))
    return noteBackward(emitSavedError(index)
                        << "which is a " << what
                        << ": nobody but the caller has one");
  Value returned = getReturned(getResult(index));
  if (!returned)
    return success();
  if (auto argument = dyn_cast<BlockArgument>(returned)) {
    StringRef own = getRole(forward, argument.getArgNumber());
    if (own == role)
      return success();
    InFlightDiagnostic diag = emitSavedError(index) << "which has ";
    printRole(diag, role);
    diag << ", but it hands its argument #" << argument.getArgNumber()
         << " through, which has ";
    printRole(diag, own);
    return noteBackward(std::move(diag));
  }
  if (role == savedActivationRole)
    return success();
  InFlightDiagnostic diag = emitSavedError(index) << "which has ";
  printRole(diag, role);
  diag << ", but what it computes is a \"" << savedActivationRole << "\"";
  return noteBackward(std::move(diag));
}

/// Emits an error if an argument of a backward, which is a `what`, is on the
/// host, where only a forward could have copied it.
static LogicalResult verifyOnDevice(FunctionOpInterface backward,
                                    unsigned index, const char *what) {
  Type type = backward.getArgumentTypes()[index];
  if (!isHostType(type))
    return success();
  InFlightDiagnostic diag =
      backward.emitOpError()
      << "has a " << what << " as argument #" << index << " that is a " << type
      << " in the memory of the host, but no forward offloads it";
  if (!backward.isExternal())
    for (Operation *user : backward.getArgument(index).getUsers())
      diag.attachNote(user->getLoc())
          << "this '" << user->getName() << "' uses it";
  return diag;
}

LogicalResult PairVerifier::verifyOwn(unsigned index) {
  if (const char *what = getOwnOfBackward(backward, index))
    return verifyOnDevice(backward, index, what);
  InFlightDiagnostic diag = forward.emitOpError()
                            << "saves "
                            << forward.getNumResults() - numForwardOutputs
                            << " value(s) for '@" << backward.getName()
                            << "', whose other arguments have to be tangents "
                               "or its random states, but "
                               "its argument #"
                            << index << " has ";
  printRole(diag, getRole(backward, index));
  return noteBackward(std::move(diag));
}

/// Whether what the forward copies to the host keeps its value.
LogicalResult PairVerifier::verifyOffloads() {
  Region &body = forward.getFunctionBody();
  if (!body.hasOneBlock() || body.front().getOps<OffloadOp>().empty())
    return success();
  return verifyOffloadedUnchanged(body.front(), StorageAnalysis(body.front()));
}

LogicalResult PairVerifier::verify() {
  auto count = forward->getAttrOfType<IntegerAttr>(numForwardOutputsAttrName);
  if (!count)
    return noteBackward(forward.emitOpError()
                        << "does not say by '" << numForwardOutputsAttrName
                        << "' which of its results are saved for '@"
                        << backward.getName() << "'");
  numForwardOutputs = count.getInt();
  unsigned numSaved = forward.getNumResults() - numForwardOutputs;
  if (numSaved > backward.getNumArguments())
    return noteBackward(forward.emitOpError()
                        << "saves " << numSaved << " value(s) for '@"
                        << backward.getName() << "', which takes "
                        << backward.getNumArguments() << " argument(s)");
  LogicalResult result = verifyForwardArguments();
  if (failed(verifyOffloads()))
    result = failure();
  for (unsigned index : llvm::seq(backward.getNumArguments()))
    if (failed(index < numSaved ? verifySaved(index) : verifyOwn(index)))
      result = failure();
  return result;
}

LogicalResult mlir::commsched::verifyPartitions(ModuleOp module) {
  SymbolTableCollection symbols;
  bool isValid = true;
  module.walk([&](FunctionOpInterface function) {
    FunctionOpInterface backward;
    if (failed(verifyLinks(function, symbols, backward)) ||
        (backward && failed(PairVerifier(function, backward).verify())))
      isValid = false;
  });
  return success(isValid);
}

void VerifyPartition::runOnOperation() {
  markAllAnalysesPreserved();
  if (failed(verifyPartitions(getOperation())))
    signalPassFailure();
}
