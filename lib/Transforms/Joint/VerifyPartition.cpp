//===- VerifyPartition.cpp - Pass that checks partitions ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/Analysis/Joint/JointFunction.h"
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

} // namespace

//===----------------------------------------------------------------------===//
// Values between the halves
//===----------------------------------------------------------------------===//

namespace {

/// Checks the values that a forward hands to its backward.
class PairVerifier {
public:
  explicit PairVerifier(PartitionHalves halves)
      : forward(halves.forward), backward(halves.backward),
        numForwardOutputs(halves.numForwardOutputs) {}

  LogicalResult verify();

private:
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

  func::FuncOp forward;
  func::FuncOp backward;
  unsigned numForwardOutputs;
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

LogicalResult PairVerifier::verifySaved(unsigned index) {
  Type saved = forward.getResultTypes()[getResult(index)];
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
  const char *what = getOwnOfBackward(backward, index);
  return what ? verifyOnDevice(backward, index, what) : success();
}

/// Whether what the forward copies to the host keeps its value.
LogicalResult PairVerifier::verifyOffloads() {
  Region &body = forward.getFunctionBody();
  if (!body.hasOneBlock() || body.front().getOps<OffloadOp>().empty())
    return success();
  return verifyOffloadedUnchanged(body.front(), StorageAnalysis(body.front()));
}

LogicalResult PairVerifier::verify() {
  unsigned numSaved = forward.getNumResults() - numForwardOutputs;
  LogicalResult result = verifyOffloads();
  for (unsigned index : llvm::seq(backward.getNumArguments()))
    if (failed(index < numSaved ? verifySaved(index) : verifyOwn(index)))
      result = failure();
  return result;
}

LogicalResult mlir::commsched::verifyPartitions(ModuleOp module) {
  LogicalResult result = success();
  for (const CalledHalves &called : findCalledHalves(module))
    if (failed(PairVerifier(called.halves).verify()))
      result = failure();
  return result;
}

void VerifyPartition::runOnOperation() {
  markAllAnalysesPreserved();
  if (failed(verifyPartitions(getOperation())))
    signalPassFailure();
}
