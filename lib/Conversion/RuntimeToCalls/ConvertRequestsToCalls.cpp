//===- ConvertRequestsToCalls.cpp - Conversion from commsched_rt to calls -===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two passes: `test-commsched-pack-request-buffers` gives every operand of the
// runtime a contiguous buffer, and `test-convert-requests-to-calls` replaces
// the operations of `commsched_rt` by calls.
//
//===----------------------------------------------------------------------===//

#include "../RuntimeTypes.h"
#include "HeldBuffers.h"
#include "ProgramDescription.h"
#include "RuntimeCalls.h"

#include "CommSched/Conversion/Passes.h"
#include "CommSched/Dialect/Runtime/CommSchedRtDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/MemRef/Utils/MemRefUtils.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/TypeSwitch.h"

namespace mlir::commsched {
#define GEN_PASS_DEF_PACKREQUESTBUFFERS
#define GEN_PASS_DEF_CONVERTREQUESTSTOCALLS
#include "CommSched/Conversion/Passes.h.inc"
} // namespace mlir::commsched

using namespace mlir;
using namespace mlir::commsched;

//===----------------------------------------------------------------------===//
// PackRequestBuffers
//===----------------------------------------------------------------------===//

/// True if the elements of a `type` lie one after the other. The first
/// dimension may be dynamic, and the offset may be.
static bool isContiguous(MemRefType type) {
  if (type.getLayout().isIdentity())
    return true;
  ArrayRef<int64_t> shape = type.getShape();
  if (!shape.empty() && ShapedType::isDynamicShape(shape.drop_front()))
    return false;
  // The number of rows does not matter to the layout.
  SmallVector<int64_t> fixed(shape);
  if (!fixed.empty() && ShapedType::isDynamic(fixed.front()))
    fixed.front() = 2;
  return memref::isStaticShapeAndContiguousRowMajor(MemRefType::get(
      fixed, type.getElementType(), type.getLayout(), type.getMemorySpace()));
}

static bool isPacked(Value buffer) {
  auto type = dyn_cast<MemRefType>(buffer.getType());
  return !type || isContiguous(type);
}

static Value createPacked(OpBuilder &builder, Location loc, Value buffer) {
  auto type = cast<MemRefType>(buffer.getType());
  SmallVector<Value> sizes;
  for (auto [dim, size] : llvm::enumerate(type.getShape()))
    if (ShapedType::isDynamic(size))
      sizes.push_back(memref::DimOp::create(builder, loc, buffer, dim));
  return memref::AllocOp::create(
      builder, loc,
      MemRefType::get(type.getShape(), type.getElementType(),
                      MemRefLayoutAttrInterface(), type.getMemorySpace()),
      sizes);
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

//===----------------------------------------------------------------------===//
// ConvertRequestsToCalls
//===----------------------------------------------------------------------===//

/// The text of the description; hosts look it up by this name.
static constexpr llvm::StringLiteral programName = "commsched_program";

namespace {

/// Converts one module. Operations are visited in program order.
class Converter {
public:
  explicit Converter(ModuleOp module)
      : module(module), program(module), calls(module) {}

  LogicalResult convert();

private:
  LogicalResult convert(Operation *op);
  LogicalResult convertStart(rt::StartOp op);
  LogicalResult convertBarrier(rt::BarrierOp op);
  LogicalResult convertRank(rt::RankOp op);
  void convertReadSplits(rt::ReadSplitsOp op);
  void convertWait(rt::WaitOp op);
  void convertHold(rt::HoldOp op);
  LogicalResult convertResume(rt::ResumeOp op);
  void convertCopy(rt::CopyOp op);
  void convertZero(rt::ZeroOp op);
  void convertCompute(rt::ComputeOp op);
  void convertAccount(rt::AccountOp op);
  void convertCopy(Operation *op, Value source, Value target);
  LogicalResult convertAlloc(memref::AllocOp op);
  LogicalResult convertAllocate(rt::AllocateOp op);
  void convertTypes();
  void visitOther(Operation *op);

  ModuleOp module;
  ProgramDescription program;
  RuntimeCallBuilder calls;
  /// Requests whose wait has not been reached.
  int64_t inFlight = 0;
  /// What replaces the requests and the splits.
  llvm::DenseMap<Value, Value> handles;
  /// The indices of starts and barriers in the description.
  llvm::DenseMap<Operation *, int32_t> siteIndices;
};

} // namespace

static bool isStaticIdentity(Type type) {
  auto memref = dyn_cast<MemRefType>(type);
  return memref && memref.hasStaticShape() && memref.getLayout().isIdentity();
}

/// True if `op` reads or writes a buffer.
static bool touchesBuffers(Operation *op) {
  auto effects = dyn_cast<MemoryEffectOpInterface>(op);
  if (!effects)
    return false;
  SmallVector<MemoryEffects::EffectInstance> instances;
  effects.getEffects(instances);
  return llvm::any_of(instances, [](const MemoryEffects::EffectInstance &it) {
    return isa<MemoryEffects::Read, MemoryEffects::Write>(it.getEffect()) &&
           it.getValue() && isa<BaseMemRefType>(it.getValue().getType());
  });
}

LogicalResult Converter::convertStart(rt::StartOp op) {
  FailureOr<int32_t> site = program.addSite(op);
  if (failed(site))
    return failure();
  SmallVector<Value> outputs, inputs;
  for (Value output : op.getOutputs())
    outputs.push_back(calls.getPointer(output));
  for (Value input : op.getInputs())
    inputs.push_back(calls.getPointer(input));
  if (op.getInPlace())
    for (auto [index, output] : llvm::enumerate(outputs)) {
      Value input = output;
      if (op.getKind() == CollectiveKind::AllGather) {
        FailureOr<int32_t> group = program.getGroup(op, op.getGroupAttr());
        if (failed(group))
          return failure();
        auto type = cast<MemRefType>(op.getOutputs()[index].getType());
        input = calls.getPart(output, *group,
                              op.getSent()[index] *
                                  *getElementBytes(type.getElementType()));
      }
      inputs.push_back(input);
    }
  // A kind that sends or receives nothing has null pointers there.
  size_t numTensors = op.getSent().size();
  if (inputs.empty())
    inputs.resize(numTensors, calls.getNull());
  if (outputs.empty())
    outputs.resize(numTensors, calls.getNull());
  Value inputArray = calls.getArray(inputs);
  Value outputArray = calls.getArray(outputs);
  auto getRows = [&](Value values, Value rows) {
    return values ? RuntimeCallBuilder::Rows{calls.getInteger(rows),
                                             handles.lookup(values)}
                  : RuntimeCallBuilder::Rows();
  };
  if (op.hasSplitValues()) {
    auto sentRows = getRows(op.getInputValues(), op.getInputRows());
    auto receivedRows = getRows(op.getOutputValues(), op.getOutputRows());
    handles[op.getRequest()] =
        calls.callStart(*site, inputArray, outputArray, sentRows, receivedRows);
  } else {
    handles[op.getRequest()] = calls.callStart(*site, inputArray, outputArray);
  }
  ++inFlight;
  return success();
}

/// The start that takes the splits follows: its site is known already.
void Converter::convertReadSplits(rt::ReadSplitsOp op) {
  auto type = cast<MemRefType>(op.getInput().getType());
  RuntimeCallBuilder::Rows read =
      calls.callReadSplits(siteIndices.lookup(*op.getSplits().user_begin()),
                           op.getOutput(), calls.getPointer(op.getInput()),
                           static_cast<int32_t>(type.getNumElements()));
  handles[op.getSplits()] = read.splits;
  op.getRows().replaceAllUsesWith(read.rows);
}

void Converter::convertWait(rt::WaitOp op) {
  calls.callWait(handles.lookup(op.getRequest()));
  --inFlight;
}

void Converter::convertHold(rt::HoldOp op) {
  auto getPointers = [&](OperandRange buffers) {
    return llvm::map_to_vector(
        buffers, [&](Value buffer) { return calls.getPointer(buffer); });
  };
  SmallVector<Value> sent = getPointers(op.getInputs());
  SmallVector<Value> received = getPointers(op.getOutputs());
  op.getHeld().replaceAllUsesWith(
      calls.callHold(handles.lookup(op.getRequest()), sent, received));
}

LogicalResult Converter::convertResume(rt::ResumeOp op) {
  for (Type type : op.getValues().getTypes())
    if (!isStaticIdentity(type))
      return op.emitError("cannot be lowered to the runtime: ")
             << type << " has no static shape";
  op.getValues().replaceAllUsesWith(
      calls.callResume(op.getHeld(), op.getValues().getTypes()));
  return success();
}

LogicalResult Converter::convertBarrier(rt::BarrierOp op) {
  FailureOr<int32_t> site = program.addSite(op);
  if (failed(site))
    return failure();
  calls.callBarrier(*site);
  return success();
}

LogicalResult Converter::convertRank(rt::RankOp op) {
  FailureOr<int32_t> group = program.getGroup(op, op.getGroupAttr());
  if (failed(group))
    return failure();
  op.getResult().replaceAllUsesWith(calls.getRank(*group));
  return success();
}

void Converter::convertCopy(rt::CopyOp op) {
  auto getNumber = [](std::optional<Type> type) {
    return type ? getRuntimeType(*type).value_or(-1) : -1;
  };
  CopyCall copy;
  copy.target = calls.getPointer(op.getOutput());
  copy.source = calls.getPointer(op.getInput());
  copy.offset = op.getOffset();
  copy.targetType = getNumber(op.getTargetType());
  copy.sourceType = getNumber(op.getSourceType());
  copy.targetLayout = op.getTarget();
  copy.sourceLayout = op.getSource();
  copy.repeat = op.getRepeat();
  copy.rows = op.getRows();
  copy.rowElements = op.getRowElements();
  calls.callCopy(copy);
}

void Converter::convertZero(rt::ZeroOp op) {
  auto type = cast<MemRefType>(op.getOutput().getType());
  calls.callZero(calls.getPointer(op.getOutput()),
                 type.getNumElements() *
                     *getElementBytes(type.getElementType()));
}

void Converter::convertCompute(rt::ComputeOp op) {
  int32_t index = program.addOperator(op);
  auto getPointers = [&](OperandRange buffers) {
    SmallVector<Value> pointers;
    for (Value buffer : buffers)
      pointers.push_back(calls.getPointer(buffer));
    return calls.getArray(pointers);
  };
  Value inputs = getPointers(op.getInputs());
  Value outputs = getPointers(op.getOutputs());
  calls.callCompute(index, op.getRuntimeNs(), inputs, outputs);
}

void Converter::convertAccount(rt::AccountOp op) {
  int32_t index = program.addOperator(op);
  calls.callAccount(index, op.getRuntimeNs());
}

/// Copies that the runtime can do; the others are done by loops.
void Converter::convertCopy(Operation *op, Value source, Value target) {
  if (calls.callCopy(target, source)) {
    op->erase();
    return;
  }
  if (isa<linalg::CopyOp>(op))
    return visitOther(op);
  program.addHostCode(op);
  OpBuilder builder(op);
  linalg::CopyOp::create(builder, op->getLoc(), source, target);
  op->erase();
}

/// Memory of the host comes from the runtime, and goes back to it as all
/// memory does.
LogicalResult Converter::convertAlloc(memref::AllocOp op) {
  MemRefType type = op.getType();
  if (!isHostType(type))
    return success();
  if (!type.hasStaticShape() || !type.getLayout().isIdentity())
    return op.emitError("cannot be lowered to the runtime: ")
           << type << " in the memory of the host has no static shape";
  op.replaceAllUsesWith(
      calls.callAllocate(type, op.getAlignment().value_or(0)));
  op.erase();
  return success();
}

LogicalResult Converter::convertAllocate(rt::AllocateOp op) {
  Type type = op.getBuffer().getType();
  if (!isStaticIdentity(type))
    return op.emitError("cannot be lowered to the runtime: ")
           << type << " has no static shape";
  op.getBuffer().replaceAllUsesWith(
      calls.callAllocate(cast<MemRefType>(type), /*alignment=*/0));
  return success();
}

/// To the code behind the calls, all memory is the processor's, and a request
/// that is held is a number.
void Converter::convertTypes() {
  AttrTypeReplacer replacer;
  replacer.addReplacement([](rt::HeldType type) -> std::optional<Type> {
    return IntegerType::get(type.getContext(), 64);
  });
  replacer.addReplacement([](MemRefType memref) -> std::optional<Type> {
    if (!isHostType(memref))
      return std::nullopt;
    return MemRefType::get(memref.getShape(), memref.getElementType(),
                           memref.getLayout());
  });
  replacer.recursivelyReplaceElementsIn(module, /*replaceAttrs=*/true,
                                        /*replaceLocs=*/false,
                                        /*replaceTypes=*/true);
}

/// The other operations belong to the program and run on the processor.
void Converter::visitOther(Operation *op) {
  if (!touchesBuffers(op))
    return;
  program.addHostCode(op);
  if (inFlight > 0 && isa<linalg::LinalgOp>(op)) {
    calls.setInsertionPointAfter(op);
    calls.callPoll();
  }
}

LogicalResult Converter::convert(Operation *op) {
  calls.setInsertionPoint(op);
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](rt::StartOp op) { return convertStart(op); })
      .Case([&](rt::BarrierOp op) { return convertBarrier(op); })
      .Case([&](rt::RankOp op) { return convertRank(op); })
      .Case([&](rt::WaitOp op) { return convertWait(op), success(); })
      .Case(
          [&](rt::ReadSplitsOp op) { return convertReadSplits(op), success(); })
      .Case([&](rt::CopyOp op) { return convertCopy(op), success(); })
      .Case([&](rt::ZeroOp op) { return convertZero(op), success(); })
      .Case([&](rt::ComputeOp op) { return convertCompute(op), success(); })
      .Case([&](rt::AccountOp op) { return convertAccount(op), success(); })
      .Case([&](rt::HoldOp op) { return convertHold(op), success(); })
      .Case([&](rt::ResumeOp op) { return convertResume(op); })
      .Case([&](rt::AllocateOp op) { return convertAllocate(op); })
      .Case([&](memref::AllocOp op) { return convertAlloc(op); })
      .Case([&](memref::CopyOp op) {
        return convertCopy(op, op.getSource(), op.getTarget()), success();
      })
      .Case([&](linalg::CopyOp op) {
        return convertCopy(op, op.getInputs()[0], op.getOutputs()[0]),
               success();
      })
      .Default([&](Operation *op) { return visitOther(op), success(); });
}

LogicalResult Converter::convert() {
  WalkResult tensors = module.walk([](Operation *op) {
    if (!isa_and_nonnull<rt::CommSchedRtDialect>(op->getDialect()))
      return WalkResult::advance();
    for (Type type : op->getOperandTypes())
      if (isa<TensorType>(type))
        return op->emitError("works on tensors: run one-shot-bufferize before"),
               WalkResult::interrupt();
    return WalkResult::advance();
  });
  if (tensors.wasInterrupted())
    return failure();

  SmallVector<Operation *> operations;
  module.walk<WalkOrder::PreOrder>([&](Operation *op) {
    operations.push_back(op);
    // Their bodies work on elements, and go with a copy that is a call.
    return isa<linalg::LinalgOp>(op) ? WalkResult::skip()
                                     : WalkResult::advance();
  });
  for (Operation *op : operations)
    if (isa<rt::StartOp, rt::BarrierOp>(op))
      siteIndices.try_emplace(op, static_cast<int32_t>(siteIndices.size()));
  SmallVector<Operation *> converted;
  for (Operation *op : operations) {
    if (isa_and_nonnull<rt::CommSchedRtDialect>(op->getDialect()))
      converted.push_back(op);
    if (failed(convert(op)))
      return failure();
  }
  for (Operation *op : llvm::reverse(converted))
    op->erase();
  convertTypes();
  calls.defineString(programName, program.getText());
  for (auto group : llvm::make_early_inc_range(module.getOps<GroupOp>()))
    group.erase();
  return success();
}

namespace {

struct ConvertRequestsToCalls
    : mlir::commsched::impl::ConvertRequestsToCallsBase<
          ConvertRequestsToCalls> {
  void runOnOperation() override {
    if (failed(Converter(getOperation()).convert()))
      signalPassFailure();
  }
};

} // namespace
