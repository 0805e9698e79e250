//===- Bufferization.cpp - Bufferization of commsched_rt ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Two rules protect the data of a collective in flight. The wait reads the
// tensors that the start sends, so one-shot analysis finds a conflict with any
// write in place between the two. The destinations of the start become separate
// values that only the wait uses, so an operation that reads the old content
// makes the start write into another buffer.
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "CommSched/Dialect/Runtime/CommSchedRtDialect.h"
#include "CommSched/Interfaces/SplitRule.h"

using namespace mlir;
using namespace mlir::bufferization;
using namespace mlir::commsched::rt;

/// True if `operand` is one of `range`.
static bool isOneOf(OpOperand &operand, OperandRange range) {
  if (range.empty())
    return false;
  unsigned begin = range.getBeginOperandIndex();
  unsigned index = operand.getOperandNumber();
  return index >= begin && index < begin + range.size();
}

/// The one of `values` that lives in the buffer of `operand`, if that is one of
/// `outputs`.
static AliasingValueList getTiedValue(OpOperand &operand, OperandRange outputs,
                                      ValueRange values) {
  if (!isOneOf(operand, outputs))
    return {};
  unsigned index = operand.getOperandNumber() - outputs.getBeginOperandIndex();
  return {{values[index], BufferRelation::Equivalent}};
}

/// Replaces `op` by the same operation on `operands`, which keeps the results
/// with the types `kept`. The others, if any, are in the buffers at the places
/// of `outputs`.
static LogicalResult replaceWithOperands(RewriterBase &rewriter, Operation *op,
                                         ValueRange operands,
                                         OperandRange outputs, TypeRange kept) {
  Operation *created = commsched::createWithTypes(rewriter, op, operands, kept);
  SmallVector<Value> replacements(created->getResults());
  if (!outputs.empty())
    llvm::append_range(replacements,
                       operands.slice(outputs.getBeginOperandIndex(),
                                      op->getNumResults() - kept.size()));
  replaceOpWithBufferizedValues(rewriter, op, replacements);
  return success();
}

/// Replaces `op`, as above, by one on the buffers of its operands; memrefs are
/// their own.
static LogicalResult replaceWithBuffers(RewriterBase &rewriter, Operation *op,
                                        const BufferizationOptions &options,
                                        BufferizationState &state,
                                        OperandRange outputs,
                                        TypeRange kept = {}) {
  SmallVector<Value> buffers;
  for (Value value : op->getOperands()) {
    if (!isa<TensorType>(value.getType())) {
      buffers.push_back(value);
      continue;
    }
    FailureOr<Value> buffer = getBuffer(rewriter, value, options, state);
    if (failed(buffer))
      return failure();
    buffers.push_back(*buffer);
  }
  return replaceWithOperands(rewriter, op, buffers, outputs, kept);
}

/// Replaces the wait or the hold `op`, as above, by one on the start's buffers:
/// a buffer of the same tensor may be another cast.
template <typename OpT>
static LogicalResult replaceWithBuffersOfStart(RewriterBase &rewriter, OpT op,
                                               OperandRange outputs,
                                               TypeRange kept = {}) {
  auto start = op.getRequest().template getDefiningOp<StartOp>();
  SmallVector<Value> operands = {op.getRequest()};
  llvm::append_range(operands, start.getInputs());
  llvm::append_range(operands, start.getOutputs());
  return replaceWithOperands(rewriter, op, operands, outputs, kept);
}

//===----------------------------------------------------------------------===//
// Starts and waits
//===----------------------------------------------------------------------===//

/// With `in_place`, the data to send is in the destination.
bool StartOp::bufferizesToMemoryRead(OpOperand &operand,
                                     const AnalysisState &) {
  return isOneOf(operand, getInputs()) || getInPlace();
}

bool StartOp::bufferizesToMemoryWrite(OpOperand &operand,
                                      const AnalysisState &) {
  return isOneOf(operand, getOutputs());
}

AliasingValueList StartOp::getAliasingValues(OpOperand &operand,
                                             const AnalysisState &) {
  return getTiedValue(operand, getOutputs(), getInFlight());
}

LogicalResult StartOp::bufferize(RewriterBase &rewriter,
                                 const BufferizationOptions &options,
                                 BufferizationState &state) {
  return replaceWithBuffers(rewriter, *this, options, state, getOutputs(),
                            getRequest().getType());
}

AliasingValueList ReadSplitsOp::getAliasingValues(OpOperand &,
                                                  const AnalysisState &) {
  return {};
}

LogicalResult ReadSplitsOp::bufferize(RewriterBase &rewriter,
                                      const BufferizationOptions &options,
                                      BufferizationState &state) {
  return replaceWithBuffers(rewriter, *this, options, state,
                            (*this)->getOperands(), getResultTypes());
}

/// The runtime writes where the start said, not into a copy.
bool WaitOp::mustBufferizeInPlace(OpOperand &operand, const AnalysisState &) {
  return isOneOf(operand, getOutputs());
}

AliasingValueList WaitOp::getAliasingValues(OpOperand &operand,
                                            const AnalysisState &) {
  return getTiedValue(operand, getOutputs(), getValues());
}

LogicalResult WaitOp::bufferize(RewriterBase &rewriter,
                                const BufferizationOptions &,
                                BufferizationState &) {
  return replaceWithBuffersOfStart(rewriter, *this, getOutputs());
}

//===----------------------------------------------------------------------===//
// Collectives in flight between functions or iterations
//===----------------------------------------------------------------------===//

bool HoldOp::mustBufferizeInPlace(OpOperand &operand, const AnalysisState &) {
  return isOneOf(operand, getOutputs());
}

AliasingValueList HoldOp::getAliasingValues(OpOperand &,
                                            const AnalysisState &) {
  return {};
}

LogicalResult HoldOp::bufferize(RewriterBase &rewriter,
                                const BufferizationOptions &,
                                BufferizationState &) {
  return replaceWithBuffersOfStart(rewriter, *this, getOutputs(),
                                   getHeld().getType());
}

bool ResumeOp::bufferizesToAllocation(Value) { return true; }

FailureOr<BufferLikeType>
ResumeOp::getBufferType(Value value, const BufferizationOptions &options,
                        const BufferizationState &, SmallVector<Value> &) {
  auto type = cast<TensorType>(value.getType());
  std::optional<Attribute> space = options.defaultMemorySpaceFn(type);
  if (!space)
    return emitOpError("has a value without a memory space");
  return cast<BufferLikeType>(
      getMemRefTypeWithStaticIdentityLayout(type, *space));
}

LogicalResult ResumeOp::bufferize(RewriterBase &rewriter,
                                  const BufferizationOptions &options,
                                  BufferizationState &state) {
  SmallVector<Type> types;
  for (Value value : getValues()) {
    SmallVector<Value> stack;
    FailureOr<BufferLikeType> type =
        getBufferType(value, options, state, stack);
    if (failed(type))
      return failure();
    types.push_back(cast<Type>(*type));
  }
  auto resume = ResumeOp::create(rewriter, getLoc(), types, getHeld());
  replaceOpWithBufferizedValues(rewriter, *this, resume.getValues());
  return success();
}

//===----------------------------------------------------------------------===//
// Operations with a destination
//===----------------------------------------------------------------------===//

/// Where a copy does not write, the destination's content stays.
bool CopyOp::bufferizesToMemoryRead(OpOperand &operand, const AnalysisState &) {
  return operand == getInputMutable() || !getOverwrites();
}

LogicalResult CopyOp::bufferize(RewriterBase &rewriter,
                                const BufferizationOptions &options,
                                BufferizationState &state) {
  return replaceWithBuffers(rewriter, *this, options, state, getDpsInits());
}

bool ZeroOp::bufferizesToMemoryRead(OpOperand &, const AnalysisState &) {
  return false;
}

LogicalResult ZeroOp::bufferize(RewriterBase &rewriter,
                                const BufferizationOptions &options,
                                BufferizationState &state) {
  return replaceWithBuffers(rewriter, *this, options, state, getDpsInits());
}

bool ComputeOp::bufferizesToMemoryRead(OpOperand &operand,
                                       const AnalysisState &) {
  return isDpsInput(&operand);
}

LogicalResult ComputeOp::bufferize(RewriterBase &rewriter,
                                   const BufferizationOptions &options,
                                   BufferizationState &state) {
  return replaceWithBuffers(rewriter, *this, options, state, getDpsInits());
}
