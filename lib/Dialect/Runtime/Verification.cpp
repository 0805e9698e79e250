//===- Verification.cpp - Verifiers of commsched_rt -----------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Dialect/Runtime/CommSchedRtDialect.h"

using namespace mlir;
using namespace mlir::commsched;
using namespace mlir::commsched::rt;

/// `results` are what the tensors among `buffers` become.
static LogicalResult verifyResults(Operation *op, TypeRange results,
                                   TypeRange buffers, StringRef constraint) {
  SmallVector<Type> tensors;
  for (Type type : buffers)
    if (isa<TensorType>(type))
      tensors.push_back(type);
  if (llvm::equal(results, tensors))
    return success();
  return op->emitOpError("has results of types (")
         << results << ") for tensors of types (" << tensors << ") "
         << constraint;
}

static bool isAnyNegative(ArrayRef<int64_t> values) {
  return llvm::any_of(values, [](int64_t value) { return value < 0; });
}

LogicalResult StartOp::verify() {
  if (getKind() == CollectiveKind::Barrier)
    return emitOpError("has no collective 'barrier' to start (C1)");
  size_t tensors = getSent().size();
  if (getReceived().size() != tensors)
    return emitOpError("sends ") << tensors << " tensors, but receives "
                                 << getReceived().size() << " (C2)";
  if (isAnyNegative(getSent()) || isAnyNegative(getReceived()))
    return emitOpError("has a negative number of elements (C2)");
  auto isAllOrNone = [&](OperandRange buffers) {
    return buffers.empty() || buffers.size() == tensors;
  };
  if (!isAllOrNone(getInputs()) || !isAllOrNone(getOutputs()))
    return emitOpError("has ")
           << getInputs().size() << " ins and " << getOutputs().size()
           << " outs for " << tensors << " tensors (C3)";
  if (getInPlace() && (!getInputs().empty() || getOutputs().size() != tensors))
    return emitOpError("is in place, but has ")
           << getInputs().size() << " ins and " << getOutputs().size()
           << " outs (C3)";
  TypeRange outputs = getOutputs().getTypes();
  if (llvm::any_of(outputs, llvm::IsaPred<TensorType>) &&
      !llvm::all_of(outputs, llvm::IsaPred<TensorType>))
    return emitOpError("fills tensors and memrefs (C4)");
  if (failed(verifyResults(*this, getInFlight().getTypes(), outputs, "(C4)")))
    return failure();
  if (!getRequest().hasOneUse() || !isa<WaitOp>(*getRequest().user_begin()) ||
      (*getRequest().user_begin())->getBlock() != (*this)->getBlock())
    return emitOpError("needs one wait in its block (C5)");
  return success();
}

LogicalResult WaitOp::verify() {
  auto start = getRequest().getDefiningOp<StartOp>();
  if (!start)
    return emitOpError("waits for something that is not a start (C1)");
  if (failed(verifyResults(*this, getValues().getTypes(),
                           getOutputs().getTypes(), "(C2)")))
    return failure();
  bool isOnTensors = !start.getInFlight().empty();
  bool sameOutputs = isOnTensors
                         ? llvm::equal(getOutputs(), start.getInFlight())
                         : llvm::equal(getOutputs(), start.getOutputs());
  if (sameOutputs && llvm::equal(getInputs(), start.getInputs()))
    return success();
  InFlightDiagnostic error =
      emitOpError("has other ins or outs than its start (C3)");
  error.attachNote(start.getLoc()) << "started here";
  return error;
}

LogicalResult CopyOp::verify() {
  for (ArrayRef<int64_t> layout : {getSource(), getTarget()})
    if (layout.size() != 3 || isAnyNegative(layout))
      return emitOpError(
          "needs offset, row stride and repeat stride, not negative (C1)");
  if (isAnyNegative({int64_t(getRepeat()), int64_t(getRows()),
                     int64_t(getRowElements())}))
    return emitOpError("has a negative number of rows or elements (C2)");
  if (getSourceType().has_value() != getTargetType().has_value())
    return emitOpError("has one of two element types (C3)");
  return success();
}
