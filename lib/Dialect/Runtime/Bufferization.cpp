//===- Bufferization.cpp - Bufferization of commsched_rt ------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two rules protect the data of a collective in flight. The wait reads the
// tensors that the start sends, so one-shot analysis finds a conflict with any
// write in place between the two. The destinations of the start become separate
// values that only the wait uses, so an operation that reads the old content
// makes the start write into another buffer.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "CommSched/Dialect/Runtime/CommSchedRtDialect.h"

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

/// The buffers of `values`; memrefs are their own.
static LogicalResult getBuffers(RewriterBase &rewriter, ValueRange values,
                                const BufferizationOptions &options,
                                BufferizationState &state,
                                SmallVectorImpl<Value> &buffers) {
  for (Value value : values) {
    if (!isa<TensorType>(value.getType())) {
      buffers.push_back(value);
      continue;
    }
    FailureOr<Value> buffer = getBuffer(rewriter, value, options, state);
    if (failed(buffer))
      return failure();
    buffers.push_back(*buffer);
  }
  return success();
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
  SmallVector<Value> inputs, outputs;
  if (failed(getBuffers(rewriter, getInputs(), options, state, inputs)) ||
      failed(getBuffers(rewriter, getOutputs(), options, state, outputs)))
    return failure();
  auto start = StartOp::create(
      rewriter, getLoc(), TypeRange(getRequest().getType()), getKindAttr(),
      getGroupAttr(), getNameAttr(), getSentAttr(), getReceivedAttr(), inputs,
      outputs, getInPlaceAttr(), getReductionAttr(), getPeerAttr(),
      getTagAttr(), getPairsAttr(), getInputSplitsAttr(), getOutputSplitsAttr(),
      getRuntimeNsAttr(), getInputValues(), getInputRows(), getOutputValues(),
      getOutputRows(), getRowAttr(), getImplementationAttr());
  start->setDiscardableAttrs((*this)->getDiscardableAttrDictionary());
  SmallVector<Value> replacements = {start.getRequest()};
  llvm::append_range(replacements, outputs);
  replaceOpWithBufferizedValues(rewriter, *this, replacements);
  return success();
}

bool ReadSplitsOp::bufferizesToMemoryRead(OpOperand &, const AnalysisState &) {
  return true;
}

bool ReadSplitsOp::bufferizesToMemoryWrite(OpOperand &, const AnalysisState &) {
  return false;
}

AliasingValueList ReadSplitsOp::getAliasingValues(OpOperand &,
                                                  const AnalysisState &) {
  return {};
}

LogicalResult ReadSplitsOp::bufferize(RewriterBase &rewriter,
                                      const BufferizationOptions &options,
                                      BufferizationState &state) {
  SmallVector<Value> buffers;
  if (failed(getBuffers(rewriter, getInput(), options, state, buffers)))
    return failure();
  rewriter.modifyOpInPlace(*this,
                           [&] { getInputMutable().assign(buffers.front()); });
  return success();
}

bool WaitOp::bufferizesToMemoryRead(OpOperand &operand, const AnalysisState &) {
  return true;
}

/// The start's writes have been seen there.
bool WaitOp::bufferizesToMemoryWrite(OpOperand &, const AnalysisState &) {
  return false;
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
  // The start's buffers: a buffer of the same tensor may be another cast.
  auto start = getRequest().getDefiningOp<StartOp>();
  SmallVector<Value> inputs(start.getInputs()), outputs(start.getOutputs());
  auto wait = WaitOp::create(rewriter, getLoc(), TypeRange(), getRequest(),
                             inputs, outputs);
  wait->setDiscardableAttrs((*this)->getDiscardableAttrDictionary());
  replaceOpWithBufferizedValues(rewriter, *this, outputs);
  return success();
}

//===----------------------------------------------------------------------===//
// Collectives in flight between functions or iterations
//===----------------------------------------------------------------------===//

bool HoldOp::bufferizesToMemoryRead(OpOperand &, const AnalysisState &) {
  return true;
}

bool HoldOp::bufferizesToMemoryWrite(OpOperand &, const AnalysisState &) {
  return false;
}

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
  auto start = getRequest().getDefiningOp<StartOp>();
  SmallVector<Value> inputs(start.getInputs()), outputs(start.getOutputs());
  rewriter.replaceOpWithNewOp<HoldOp>(*this, getHeld().getType(), getRequest(),
                                      inputs, outputs);
  return success();
}

bool ResumeOp::bufferizesToAllocation(Value) { return true; }

bool ResumeOp::bufferizesToMemoryRead(OpOperand &, const AnalysisState &) {
  return false;
}

bool ResumeOp::bufferizesToMemoryWrite(OpOperand &, const AnalysisState &) {
  return false;
}

AliasingValueList ResumeOp::getAliasingValues(OpOperand &,
                                              const AnalysisState &) {
  return {};
}

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

bool CopyOp::bufferizesToMemoryWrite(OpOperand &operand,
                                     const AnalysisState &) {
  return operand == getOutputMutable();
}

AliasingValueList CopyOp::getAliasingValues(OpOperand &operand,
                                            const AnalysisState &) {
  if (operand != getOutputMutable() || !getResult())
    return {};
  return {{getResult(), BufferRelation::Equivalent}};
}

LogicalResult CopyOp::bufferize(RewriterBase &rewriter,
                                const BufferizationOptions &options,
                                BufferizationState &state) {
  SmallVector<Value> buffers;
  if (failed(getBuffers(rewriter, {getInput(), getOutput()}, options, state,
                        buffers)))
    return failure();
  CopyOp::create(rewriter, getLoc(), TypeRange(), buffers[0], buffers[1],
                 getOffset(), getSourceAttr(), getTargetAttr(), getRepeatAttr(),
                 getRowsAttr(), getRowElementsAttr(), getSourceTypeAttr(),
                 getTargetTypeAttr(), getOverwritesAttr());
  if (getResult())
    replaceOpWithBufferizedValues(rewriter, *this, buffers[1]);
  else
    rewriter.eraseOp(*this);
  return success();
}

bool ZeroOp::bufferizesToMemoryRead(OpOperand &, const AnalysisState &) {
  return false;
}

bool ZeroOp::bufferizesToMemoryWrite(OpOperand &, const AnalysisState &) {
  return true;
}

AliasingValueList ZeroOp::getAliasingValues(OpOperand &,
                                            const AnalysisState &) {
  if (!getResult())
    return {};
  return {{getResult(), BufferRelation::Equivalent}};
}

LogicalResult ZeroOp::bufferize(RewriterBase &rewriter,
                                const BufferizationOptions &options,
                                BufferizationState &state) {
  SmallVector<Value> buffers;
  if (failed(getBuffers(rewriter, getOutput(), options, state, buffers)))
    return failure();
  ZeroOp::create(rewriter, getLoc(), TypeRange(), buffers.front());
  if (getResult())
    replaceOpWithBufferizedValues(rewriter, *this, buffers.front());
  else
    rewriter.eraseOp(*this);
  return success();
}

bool ComputeOp::bufferizesToMemoryRead(OpOperand &operand,
                                       const AnalysisState &) {
  return isOneOf(operand, getInputs());
}

bool ComputeOp::bufferizesToMemoryWrite(OpOperand &operand,
                                        const AnalysisState &) {
  return isOneOf(operand, getOutputs());
}

AliasingValueList ComputeOp::getAliasingValues(OpOperand &operand,
                                               const AnalysisState &) {
  return getTiedValue(operand, getOutputs(), getResults());
}

LogicalResult ComputeOp::bufferize(RewriterBase &rewriter,
                                   const BufferizationOptions &options,
                                   BufferizationState &state) {
  SmallVector<Value> inputs, outputs;
  if (failed(getBuffers(rewriter, getInputs(), options, state, inputs)) ||
      failed(getBuffers(rewriter, getOutputs(), options, state, outputs)))
    return failure();
  ComputeOp::create(rewriter, getLoc(), TypeRange(), getNameAttr(),
                    getRuntimeNsAttr(), inputs, outputs);
  replaceOpWithBufferizedValues(rewriter, *this, outputs);
  return success();
}
