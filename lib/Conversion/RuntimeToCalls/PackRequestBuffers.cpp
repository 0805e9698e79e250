//===- PackRequestBuffers.cpp - Buffers of requests -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Gives every operand of the runtime a contiguous buffer.
//
// The memory of a collective in flight must outlive the function or iteration
// that starts it, and nothing may write what is sent in the meantime. Here MLIR
// has not decided yet who frees what: an allocation that the runtime takes over
// becomes a `commsched_rt.allocate`, which deallocation leaves alone.
//===----------------------------------------------------------------------===//

#include "CommSched/Conversion/Passes.h"
#include "CommSched/Dialect/CommSchedAttributes.h"
#include "CommSched/Dialect/Runtime/CommSchedRtDialect.h"
#include "CommSched/Dialect/SteadyState.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/MemRef/Utils/MemRefUtils.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "llvm/ADT/TypeSwitch.h"

namespace mlir::commsched {
#define GEN_PASS_DEF_PACKREQUESTBUFFERS
#include "CommSched/Conversion/Passes.h.inc"
} // namespace mlir::commsched

using namespace mlir;
using namespace mlir::commsched;

//===----------------------------------------------------------------------===//
// Requests that are held
//===----------------------------------------------------------------------===//

/// Visits the operations that use `root` or what may be a part of it, until
/// `visit` returns false. Returns whether it never did.
static bool visitUsers(Value root, function_ref<bool(OpOperand &)> visit) {
  SmallVector<Value> open = {root};
  while (!open.empty()) {
    Value value = open.pop_back_val();
    for (OpOperand &use : value.getUses()) {
      if (!visit(use))
        return false;
      for (Value result : use.getOwner()->getResults())
        if (isa<BaseMemRefType>(result.getType()))
          open.push_back(result);
    }
  }
  return true;
}

static MemRefType getPackedType(MemRefType type) {
  return MemRefType::get(type.getShape(), type.getElementType(),
                         MemRefLayoutAttrInterface(), type.getMemorySpace());
}

/// The allocation that `hold` can take over as the memory of `buffer`: it is
/// made in the same block, so once for each request, and nothing uses it later.
static memref::AllocOp findOwned(Value buffer, rt::HoldOp hold) {
  auto alloc = memref::skipViewLikeOps(cast<MemrefValue>(buffer))
                   .getDefiningOp<memref::AllocOp>();
  Block *block = hold->getBlock();
  if (!alloc || alloc->getBlock() != block ||
      !alloc.getType().hasStaticShape() ||
      !alloc.getType().getLayout().isIdentity())
    return {};
  auto isEarlier = [&](OpOperand &use) {
    Operation *user = block->findAncestorOpInBlock(*use.getOwner());
    return user == hold || user->isBeforeInBlock(hold);
  };
  return visitUsers(alloc, isEarlier) ? alloc : memref::AllocOp();
}

/// Replaces `alloc` by an allocation that the runtime frees.
static Value takeOver(memref::AllocOp alloc) {
  OpBuilder builder(alloc);
  auto allocate =
      rt::AllocateOp::create(builder, alloc.getLoc(), alloc.getType());
  alloc.replaceAllUsesWith(allocate.getBuffer());
  alloc.erase();
  return allocate.getBuffer();
}

/// A new buffer before `start`, with the content of `buffer` if `isRead`.
static Value createBuffer(rt::StartOp start, Value buffer, bool isRead) {
  OpBuilder builder(start);
  auto allocate =
      rt::AllocateOp::create(builder, start.getLoc(),
                             getPackedType(cast<MemRefType>(buffer.getType())));
  if (isRead)
    memref::CopyOp::create(builder, start.getLoc(), buffer,
                           allocate.getBuffer());
  return allocate.getBuffer();
}

/// Whether the caller keeps `root` as it is until the last repetition: it is an
/// argument that is the same in all of them, and the function only reads it.
static bool livesLonger(Value root) {
  auto argument = dyn_cast<BlockArgument>(root);
  auto function =
      argument
          ? dyn_cast<FunctionOpInterface>(argument.getOwner()->getParentOp())
          : FunctionOpInterface();
  if (!function || !argument.getOwner()->isEntryBlock())
    return false;
  unsigned number = argument.getArgNumber();
  if (isFreeable(function, number))
    return false;
  if (getSteadyState(function) && (!getStepArgument(function, number) ||
                                   getArgumentRepetition(function, number)))
    return false;
  return visitUsers(root, [](OpOperand &use) {
    Operation *user = use.getOwner();
    if (user->hasTrait<OpTrait::IsTerminator>() || isa<rt::HoldOp>(user))
      return true;
    auto effects = dyn_cast<MemoryEffectOpInterface>(user);
    if (!effects)
      return isa<ViewLikeOpInterface>(user);
    return !effects.getEffectOnValue<MemoryEffects::Write>(use.get());
  });
}

/// Gives `start`, which `hold` keeps in flight, buffers that outlive the
/// function: the allocations of its operands where nothing else uses them
/// later, and copies in buffers of their own elsewhere. `hold` gets those that
/// the runtime frees.
static void holdBuffers(rt::StartOp start, rt::HoldOp hold) {
  SmallVector<Value> received, owned;
  for (OpOperand &operand : start.getOutputsMutable()) {
    Value buffer = operand.get();
    memref::AllocOp alloc = findOwned(buffer, hold);
    // The runtime gives whoever waits the buffer itself, not a part of it.
    bool isWhole = alloc && alloc.getResult() == buffer;
    received.push_back(isWhole
                           ? takeOver(alloc)
                           : createBuffer(start, buffer, start.getInPlace()));
    operand.set(received.back());
  }
  hold.getOutputsMutable().assign(received);
  hold.getInputsMutable().clear();
  for (OpOperand &operand : start.getInputsMutable()) {
    Value buffer = operand.get();
    bool isPacked = cast<MemRefType>(buffer.getType()).getLayout().isIdentity();
    if (isPacked &&
        livesLonger(memref::skipViewLikeOps(cast<MemrefValue>(buffer))))
      continue;
    if (memref::AllocOp alloc =
            isPacked ? findOwned(buffer, hold) : memref::AllocOp()) {
      owned.push_back(takeOver(alloc));
      continue;
    }
    operand.set(createBuffer(start, buffer, /*isRead=*/true));
    owned.push_back(operand.get());
  }
  hold.getInputsMutable().assign(owned);
}

//===----------------------------------------------------------------------===//
// Packed buffers
//===----------------------------------------------------------------------===//

/// True if the elements lie one after the other. The first dimension may be
/// dynamic, and the offset may be.
static bool isPacked(Value buffer) {
  auto type = dyn_cast<MemRefType>(buffer.getType());
  return !type || type.getNumContiguousTrailingDims() == type.getRank();
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
  auto type = cast<MemRefType>(buffer.getType());
  Value packed = memref::AllocOp::create(
      builder, first->getLoc(),
      memref::getMixedSizes(builder, first->getLoc(), buffer),
      type.getElementType(), type.getMemorySpace());
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
  Operation *last = *start.getRequest().user_begin();
  if (auto hold = dyn_cast<rt::HoldOp>(last))
    return holdBuffers(start, hold);
  auto wait = cast<rt::WaitOp>(last);
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
          .Case([](rt::ReadSplitsOp op) {
            pack(op.getInputMutable(), op, op, true, false);
          })
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
