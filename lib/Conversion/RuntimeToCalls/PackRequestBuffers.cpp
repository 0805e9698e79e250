//===- PackRequestBuffers.cpp - Contiguous buffers for the runtime --------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Conversion/Passes.h"
#include "CommSched/Dialect/Runtime/CommSchedRtDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/MemRef/Utils/MemRefUtils.h"
#include "llvm/ADT/TypeSwitch.h"

namespace mlir::commsched {
#define GEN_PASS_DEF_PACKREQUESTBUFFERS
#include "CommSched/Conversion/Passes.h.inc"
} // namespace mlir::commsched

using namespace mlir;
using namespace mlir::commsched;

static bool isPacked(Value buffer) {
  auto type = dyn_cast<MemRefType>(buffer.getType());
  return !type || memref::isStaticShapeAndContiguousRowMajor(type);
}

static Value createPacked(OpBuilder &builder, Location loc, Value buffer) {
  auto type = cast<MemRefType>(buffer.getType());
  return memref::AllocOp::create(
      builder, loc,
      MemRefType::get(type.getShape(), type.getElementType(),
                      MemRefLayoutAttrInterface(), type.getMemorySpace()));
}

/// Replaces `operand` of `first` by a packed buffer. It is filled before
/// `first` if `isRead`, and copied back after `last` if `isWritten`. Returns
/// the buffer that is now used, which is the old one if it was packed.
static Value pack(OpOperand &operand, Operation *first, Operation *last,
                  bool isRead, bool isWritten) {
  Value buffer = operand.get();
  if (isPacked(buffer))
    return buffer;
  OpBuilder builder(first);
  Value packed = createPacked(builder, first->getLoc(), buffer);
  if (isRead)
    memref::CopyOp::create(builder, first->getLoc(), buffer, packed);
  operand.set(packed);
  if (isWritten) {
    builder.setInsertionPointAfter(last);
    memref::CopyOp::create(builder, last->getLoc(), packed, buffer);
  }
  return packed;
}

/// The wait takes the buffers of its start.
static void packStart(rt::StartOp start) {
  auto wait = cast<rt::WaitOp>(*start.getRequest().user_begin());
  SmallVector<Value> inputs, outputs;
  for (OpOperand &operand : start.getInputsMutable())
    inputs.push_back(pack(operand, start, wait, /*isRead=*/true,
                          /*isWritten=*/false));
  for (OpOperand &operand : start.getOutputsMutable())
    outputs.push_back(pack(operand, start, wait, start.getInPlace(),
                           /*isWritten=*/true));
  wait.getInputsMutable().assign(inputs);
  wait.getOutputsMutable().assign(outputs);
}

namespace {

struct PackRequestBuffers
    : mlir::commsched::impl::PackRequestBuffersBase<PackRequestBuffers> {
  void runOnOperation() override {
    getOperation().walk([](Operation *op) {
      llvm::TypeSwitch<Operation *>(op)
          .Case([](rt::StartOp op) { packStart(op); })
          .Case([](rt::CopyOp op) {
            pack(op.getInputMutable(), op, op, true, false);
            pack(op.getOutputMutable(), op, op, !op.getOverwrites(), true);
          })
          .Case([](rt::ZeroOp op) {
            pack(op.getOutputMutable(), op, op, false, true);
          })
          .Case([](rt::ComputeOp op) {
            for (OpOperand &operand : op.getInputsMutable())
              pack(operand, op, op, true, false);
            for (OpOperand &operand : op.getOutputsMutable())
              pack(operand, op, op, true, true);
          });
    });
  }
};

} // namespace
