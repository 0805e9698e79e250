//===- TransferOps.cpp - Transfers between the device and its host --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "StartOps.h"

#include "mlir/Interfaces/CallInterfaces.h"

using namespace mlir;
using namespace mlir::commsched;

//===----------------------------------------------------------------------===//
// Attributes and types
//===----------------------------------------------------------------------===//

LogicalResult StreamAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                 StringRef name) {
  if (name == OffloadOp::getStreamName() || name == ReloadOp::getStreamName())
    return success();
  return emitError() << "a stream is \"" << OffloadOp::getStreamName()
                     << "\" or \"" << ReloadOp::getStreamName() << "\", not \""
                     << name << "\" (C1)";
}

bool mlir::commsched::isHostType(Type type) {
  if (auto tensor = dyn_cast<RankedTensorType>(type))
    return isa_and_present<HostAttr>(tensor.getEncoding());
  if (auto memref = dyn_cast<BaseMemRefType>(type))
    return isa_and_present<HostAttr>(memref.getMemorySpace());
  return false;
}

RankedTensorType mlir::commsched::getHostType(RankedTensorType type) {
  return type.cloneWithEncoding(HostAttr::get(type.getContext()));
}

RankedTensorType mlir::commsched::getDeviceType(RankedTensorType type) {
  return type.dropEncoding();
}

//===----------------------------------------------------------------------===//
// Uses of host tensors
//===----------------------------------------------------------------------===//

LogicalResult mlir::commsched::detail::verifyHostUses(Value value,
                                                      StringRef constraint) {
  if (!isHostType(value.getType()))
    return success();
  for (OpOperand &use : value.getUses()) {
    Operation *user = use.getOwner();
    if (isa<ReloadOp, CallOpInterface>(user) ||
        user->hasTrait<OpTrait::IsTerminator>())
      continue;
    InFlightDiagnostic diag =
        user->emitOpError("operand ")
        << use.getOperandNumber() << " is a " << value.getType()
        << " in the memory of the host, which only '"
        << ReloadOp::getOperationName() << "', calls and terminators may use ("
        << constraint << ")";
    if (Operation *definition = value.getDefiningOp())
      diag.attachNote(value.getLoc())
          << "the value is a result of this '" << definition->getName() << "'";
    else
      diag.attachNote(value.getLoc()) << "the value is an argument";
    return diag;
  }
  return success();
}

//===----------------------------------------------------------------------===//
// OffloadOp and ReloadOp
//===----------------------------------------------------------------------===//

/// The delivered types are those that `getDelivered` gives for the operands
/// (C3).
static LogicalResult
verifyDelivered(Operation *op, TypeRange inputs, ArrayRef<Type> delivered,
                RankedTensorType (&getDelivered)(RankedTensorType)) {
  for (auto [index, input, output] : llvm::enumerate(inputs, delivered)) {
    RankedTensorType expected = getDelivered(cast<RankedTensorType>(input));
    if (output != expected)
      return op->emitOpError("operand ")
             << index << " is a " << input << ", so a " << expected
             << " must be delivered, not a " << output << " (C3)";
  }
  return success();
}

LogicalResult OffloadOp::verify() {
  TypeRange inputs = getInputs().getTypes();
  if (failed(detail::verifyArity(*this, inputs, getFutureTypes(), "C1")))
    return failure();
  for (auto [index, type] : llvm::enumerate(inputs))
    if (Attribute encoding = cast<RankedTensorType>(type).getEncoding())
      return emitOpError("operand ")
             << index << " is a " << type << ", but a tensor with the encoding "
             << encoding << " cannot be offloaded (C2)";
  return verifyDelivered(*this, inputs, getFutureTypes(), getHostType);
}

LogicalResult ReloadOp::verify() {
  TypeRange inputs = getInputs().getTypes();
  if (failed(detail::verifyArity(*this, inputs, getFutureTypes(), "C1")))
    return failure();
  for (auto [index, value] : llvm::enumerate(getInputs())) {
    if (!isHostType(value.getType()))
      return emitOpError("operand ")
             << index << " is a " << value.getType()
             << ", but only tensors with the encoding "
             << HostAttr::get(getContext()) << " can be reloaded (C2)";
    // A wait checks its own results.
    if (isa<BlockArgument>(value) &&
        failed(detail::verifyHostUses(value, "C2")))
      return failure();
  }
  return verifyDelivered(*this, inputs, getFutureTypes(), getDeviceType);
}
