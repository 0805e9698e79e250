//===- Collect.cpp - The collectives of a StableHLO module ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Conversion.h"

#include "CommSched/Analysis/Problem/CommunicationEffects.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/Support/ScopedPrinter.h"

using namespace mlir;
using namespace mlir::commsched;
using namespace mlir::commsched::stablehlo;

/// An attribute of the name of a mark would be lost on the way back.
static LogicalResult verifyNoMarks(Operation *op) {
  for (StringRef mark :
       {propertiesMark, asyncMark, reducerMark, reducerShardingMark, namedMark})
    if (op->hasAttr(mark))
      return op->emitOpError("has the attribute '")
             << mark << "', which only starts of the dialect have";
  return success();
}

//===----------------------------------------------------------------------===//
// Asynchronous pairs
//===----------------------------------------------------------------------===//

static bool isNamed(Operation *op, StringRef name) {
  return op->getName().getStringRef() == name;
}

/// The `async_done` of `start`, in the same block. Errors at `start` or at the
/// operation that misuses its future.
static FailureOr<Operation *> getAsyncDone(Operation *start) {
  if (start->getNumResults() != 1)
    return start->emitOpError("has ")
           << start->getNumResults() << " results, but starts one future";
  if (start->use_empty())
    return start->emitOpError("has no 'stablehlo.async_done': its future is "
                              "not used");
  Value future = start->getResult(0);
  // Uses are listed from the last to the first.
  SmallVector<OpOperand *> uses = llvm::map_to_vector(
      future.getUses(), [](OpOperand &use) { return &use; });
  Operation *done = uses.back()->getOwner();
  auto noteStart = [&](InFlightDiagnostic diag) {
    diag.attachNote(start->getLoc()) << "the future comes from here";
    return diag;
  };
  if (!isNamed(done, asyncDoneName))
    return noteStart(done->emitOpError(
        "uses a future, but only 'stablehlo.async_done' may"));
  if (done->getBlock() != start->getBlock())
    return noteStart(done->emitOpError(
        "is in another block than the 'stablehlo.async_start' of its future"));
  if (uses.size() == 1)
    return done;
  Operation *second = uses[uses.size() - 2]->getOwner();
  InFlightDiagnostic diag =
      noteStart(second->emitOpError("uses a future that was used before"));
  diag.attachNote(done->getLoc()) << "the other use is here";
  return diag;
}

/// The operation in the region of `start` if it is a collective of which the
/// operands are those of `start` and the results what is returned; null
/// otherwise.
static Operation *getAsyncCollective(Operation *start) {
  if (start->getNumRegions() != 1 || !start->getRegion(0).hasOneBlock())
    return nullptr;
  Block &body = start->getRegion(0).front();
  if (!llvm::hasNItems(body, 2))
    return nullptr;
  Operation &collective = body.front(), &returned = body.back();
  if (!getCollectiveKind(&collective) || !isNamed(&returned, returnName) ||
      !returned.getDiscardableAttrDictionary().empty() ||
      !getInherentAttributes(&returned).empty())
    return nullptr;
  if (body.getNumArguments() != start->getNumOperands() ||
      body.getArgumentTypes() != TypeRange(start->getOperands()) ||
      !llvm::equal(collective.getOperands(), body.getArguments()) ||
      !llvm::equal(returned.getOperands(), collective.getResults()))
    return nullptr;
  return &collective;
}

/// Adds the pair that `start` begins to `found`; keeps it if it is not of one
/// collective.
static LogicalResult collectPair(Operation *start,
                                 SmallVectorImpl<Collective> &found,
                                 Context &context) {
  FailureOr<Operation *> done = getAsyncDone(start);
  if (failed(done))
    return failure();
  Operation *op = getAsyncCollective(start);
  if (!op)
    return success(keep(start,
                        "its region is not one collective of its arguments",
                        context) == Reading::Kept);
  if ((*done)->getResultTypes() != op->getResultTypes()) {
    InFlightDiagnostic diag = (*done)->emitOpError("delivers ")
                              << (*done)->getResultTypes()
                              << ", but its collective "
                              << op->getResultTypes();
    diag.attachNote(op->getLoc()) << "the collective is here";
    return diag;
  }
  Type future = start->getResult(0).getType();
  std::string expected = getFutureText(op->getResultTypes());
  if (llvm::to_string(future) != expected)
    return emitOpErrorWithNote(start, op->getLoc(), "the collective is here")
           << "returns a " << future << ", but its collective is a '"
           << expected << "'";
  found.emplace_back(op, start, *done);
  return success(succeeded(verifyNoMarks(op)) &&
                 succeeded(verifyNoMarks(*done)));
}

/// The future of `done` comes from an `async_start`.
static LogicalResult verifyAsyncDone(Operation *done) {
  if (done->getNumOperands() != 1)
    return done->emitOpError("has ")
           << done->getNumOperands() << " operands, but waits for one future";
  Value future = done->getOperand(0);
  Operation *start = future.getDefiningOp();
  if (start && isNamed(start, asyncStartName))
    return success();
  return emitOpErrorWithNote(done, future.getLoc(), "the value is defined here")
         << "waits for a value that no 'stablehlo.async_start' of its block "
            "returns";
}

//===----------------------------------------------------------------------===//
// Barriers
//===----------------------------------------------------------------------===//

/// The closest operation around `op` of a dialect that is not there; null if
/// there is none. What its regions mean is not known.
static Operation *getUnknownParent(Operation *op) {
  for (Operation *parent = op->getParentOp(); parent;
       parent = parent->getParentOp())
    if (!parent->getDialect())
      return parent;
  return nullptr;
}

/// A custom call with side effects might communicate unless its effects are
/// known to be on something else.
static bool mightCommunicate(Operation *call) {
  auto hasSideEffect =
      dyn_cast_if_present<BoolAttr>(getAttribute(call, hasSideEffectName));
  if (!hasSideEffect || !hasSideEffect.getValue())
    return false;
  return !isa<MemoryEffectOpInterface>(call) ||
         getCommunicationEffect(call) != CommunicationEffect::None ||
         llvm::any_of(getStatedEffects(call), [](const auto &effect) {
           return effect.getResource() == SideEffects::DefaultResource::get();
         });
}

/// Why nothing that communicates moves across `op`, which is no collective that
/// is converted; empty if it is no barrier.
static std::string describeBarrier(Operation *op) {
  StringRef name = op->getName().getStringRef();
  if (name == customCallName) {
    auto target =
        dyn_cast_if_present<StringAttr>(getAttribute(op, callTargetName));
    if (!mightCommunicate(op))
      return "";
    std::string callee =
        target ? ("@" + target.getValue()).str() : std::string("what it calls");
    return "whether " + callee + " communicates is not known";
  }
  if (isa<CollectiveOpInterface>(op))
    return "commsched has no such collective";
  if (hasUnknownMemoryEffects(op))
    return "whether it communicates is not known";
  if (op->getNumRegions() == 0 &&
      getCommunicationEffect(op) == CommunicationEffect::Unknown)
    return "it communicates in the order of its token";
  return "";
}

/// Whether programs of StableHLO have operations of the dialect of `op`, or
/// nothing is known of it.
static bool isForeign(Operation *op) {
  StringRef dialect = op->getName().getDialectNamespace();
  return !op->getDialect() ||
         llvm::is_contained({"chlo", "mhlo", "sdy", "stablehlo", "vhlo"},
                            dialect);
}

//===----------------------------------------------------------------------===//
// The module
//===----------------------------------------------------------------------===//

namespace {

/// Finds candidates in the order of the text. Continues after errors.
struct Finder {
  explicit Finder(Context &context) : context(context) {}

  SmallVector<Collective> found;
  bool isValid = true;

  WalkResult visit(Operation *op);

private:
  void keepBarrier(Operation *op) {
    // Declarations do nothing.
    if (op->getParentOp() == context.module)
      return;
    if (std::string reason = describeBarrier(op); !reason.empty())
      isValid &= keep(op, reason, context) == Reading::Kept;
  }

  Context &context;
};

} // namespace

WalkResult Finder::visit(Operation *op) {
  // A group is declared in the symbol table of those that name it.
  if (op->hasTrait<OpTrait::SymbolTable>())
    return WalkResult::skip();
  if (!isForeign(op))
    return WalkResult::advance();
  bool isStart = isNamed(op, asyncStartName);
  if (isStart || getCollectiveKind(op)) {
    if (Operation *parent = getUnknownParent(op)) {
      isValid &=
          keep(op,
               "it is in a region of '" + parent->getName().getStringRef() +
                   "', an operation that is not known",
               context) == Reading::Kept;
    } else if (isStart) {
      isValid &= succeeded(collectPair(op, found, context));
    } else {
      isValid &= succeeded(verifyNoMarks(op));
      found.emplace_back(op);
    }
    return WalkResult::skip();
  }
  if (isNamed(op, asyncDoneName))
    isValid &= succeeded(verifyAsyncDone(op));
  else
    keepBarrier(op);
  return WalkResult::advance();
}

FailureOr<SmallVector<Collective>>
mlir::commsched::stablehlo::collectCollectives(Context &context) {
  Finder finder(context);
  for (Operation &op : *context.module.getBody())
    op.walk<WalkOrder::PreOrder>(
        [&](Operation *nested) { return finder.visit(nested); });

  // What the module does not say about its devices follows from all of them.
  DeviceEvidence evidence;
  auto eraseUnlessComplete = [&](SmallVectorImpl<Collective> &collectives,
                                 function_ref<Reading(Collective &)> read) {
    llvm::erase_if(collectives, [&](Collective &collective) {
      Reading reading = read(collective);
      finder.isValid &= reading != Reading::Failed;
      return reading != Reading::Complete;
    });
  };
  SmallVector<Collective> &found = finder.found;
  eraseUnlessComplete(found, [&](Collective &collective) {
    return readAlone(collective, evidence, context);
  });
  context.groups.infer(evidence);
  eraseUnlessComplete(found, [&](Collective &collective) {
    return readCollective(collective, context);
  });
  // The group of all devices may have grown too large meanwhile.
  eraseUnlessComplete(found, [&](Collective &collective) {
    const std::string &reason = collective.group->unsupported;
    return reason.empty() ? Reading::Complete
                          : keep(collective.op, reason, context);
  });
  if (!finder.isValid)
    return failure();
  return std::move(found);
}
