//===- Collect.cpp - The collectives of a StableHLO module ----------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Conversion.h"

#include "mlir/IR/Remarks.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace mlir::commsched;
using namespace mlir::commsched::stablehlo;

Reading mlir::commsched::stablehlo::keep(Operation *op, const Twine &reason) {
  // The text costs more than the conversion.
  if (!op->getContext()->getRemarkEngine())
    return Reading::Kept;
  auto function = op->getParentOfType<FunctionOpInterface>();
  StringRef functionName = function ? function.getName() : StringRef();
  remark::missed(op->getLoc(), remark::RemarkOpts::name("CollectiveKept")
                                   .category("commsched")
                                   .function(functionName))
      << (op->getName().getStringRef() + " stays as it is: " + reason).str();
  return Reading::Kept;
}

/// An attribute of the name of a mark would be lost on the way back.
static LogicalResult verifyNoMarks(Operation *op) {
  for (StringRef mark :
       {propertiesMark, asyncMark, reducerShardingMark, namedMark})
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

/// The text of the type of a future that delivers `types`.
static std::string getFutureText(TypeRange types) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << "!stablehlo.future<";
  llvm::interleaveComma(types, stream);
  stream << ">";
  return text;
}

static std::string getText(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

/// Adds the pair that `start` begins to `found` if it is of a collective.
static LogicalResult collectPair(Operation *start,
                                 SmallVectorImpl<Collective> &found) {
  FailureOr<Operation *> done = getAsyncDone(start);
  if (failed(done))
    return failure();
  Operation *op = getAsyncCollective(start);
  if (!op) {
    if (start
            ->walk([](Operation *nested) {
              return getCollectiveKind(nested) ? WalkResult::interrupt()
                                               : WalkResult::advance();
            })
            .wasInterrupted())
      keep(start, "its region is not one collective of its arguments");
    return success();
  }
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
  if (getText(future) != expected) {
    InFlightDiagnostic diag = start->emitOpError("returns a ")
                              << future << ", but its collective is a '"
                              << expected << "'";
    diag.attachNote(op->getLoc()) << "the collective is here";
    return diag;
  }
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
  InFlightDiagnostic diag = done->emitOpError(
      "waits for a value that no 'stablehlo.async_start' of its block returns");
  diag.attachNote(future.getLoc()) << "the value is defined here";
  return diag;
}

//===----------------------------------------------------------------------===//
// Custom calls
//===----------------------------------------------------------------------===//

/// Custom calls with side effects that send nothing to other devices.
static constexpr StringLiteral localTargets[] = {
    "annotate_device_placement",
    "xla_ffi_partitioned_python_cpu_callback",
    "xla_ffi_partitioned_python_gpu_callback",
    "xla_ffi_python_cpu_callback",
    "xla_ffi_python_gpu_callback",
    "xla_python_cpu_callback",
    "xla_python_gpu_callback"};

/// A custom call with side effects might communicate: nothing may be moved
/// across it, which only `lenient` permits.
static LogicalResult verifyCustomCall(Operation *op, bool isLenient) {
  auto hasSideEffect =
      dyn_cast_if_present<BoolAttr>(getAttribute(op, hasSideEffectName));
  if (!hasSideEffect || !hasSideEffect.getValue())
    return success();
  auto target =
      dyn_cast_if_present<StringAttr>(getAttribute(op, callTargetName));
  if (!target)
    return op->emitOpError("lacks the attribute 'call_target_name'");
  if (llvm::is_contained(localTargets, target.getValue()))
    return success();
  if (isLenient) {
    keep(op, "whether @" + target.getValue() +
                 " communicates is not known; it is a barrier");
    return success();
  }
  return op->emitOpError("has side effects, and whether its target @")
         << target.getValue()
         << " communicates is not known; with 'lenient' it becomes a barrier";
}

//===----------------------------------------------------------------------===//
// The module
//===----------------------------------------------------------------------===//

namespace {

/// Finds candidates in the order of the text. Continues after errors.
struct Finder {
  SmallVector<Collective> found;
  bool isLenient;
  bool isValid = true;

  WalkResult visit(Operation *op) {
    // A group is declared in the symbol table of those that name it.
    if (op->hasTrait<OpTrait::SymbolTable>())
      return WalkResult::skip();
    if (op->getName().getDialectNamespace() != "stablehlo")
      return WalkResult::advance();
    if (getCollectiveKind(op)) {
      isValid &= succeeded(verifyNoMarks(op));
      found.emplace_back(op);
      return WalkResult::skip();
    }
    if (isNamed(op, asyncStartName)) {
      isValid &= succeeded(collectPair(op, found));
      return WalkResult::skip();
    }
    if (isNamed(op, asyncDoneName))
      isValid &= succeeded(verifyAsyncDone(op));
    else if (isNamed(op, customCallName))
      isValid &= succeeded(verifyCustomCall(op, isLenient));
    return WalkResult::advance();
  }
};

} // namespace

FailureOr<SmallVector<Collective>>
mlir::commsched::stablehlo::collectCollectives(Context &context) {
  Finder finder;
  finder.isLenient = context.isLenient;
  for (Operation &op : *context.module.getBody())
    op.walk<WalkOrder::PreOrder>(
        [&](Operation *nested) { return finder.visit(nested); });

  SmallVector<Collective> complete;
  for (Collective &collective : finder.found) {
    switch (readCollective(collective, context)) {
    case Reading::Complete:
      complete.push_back(collective);
      break;
    case Reading::Kept:
      break;
    case Reading::Failed:
      finder.isValid = false;
      break;
    }
  }
  if (!finder.isValid)
    return failure();
  // The group of all devices may have grown too large meanwhile.
  llvm::erase_if(complete, [](const Collective &collective) {
    if (collective.group->unsupported.empty())
      return false;
    keep(collective.op, collective.group->unsupported);
    return true;
  });
  return complete;
}
