//===- ConvertRequestsToCalls.cpp - Conversion from commsched_rt to calls -===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Replaces the operations of `commsched_rt`, whose buffers are contiguous, by
// calls.
//===----------------------------------------------------------------------===//

#include "../RuntimeTypes.h"
#include "RuntimeCalls.h"

#include "CommSched/Analysis/Problem/CommunicationEffects.h"
#include "CommSched/Conversion/Passes.h"
#include "CommSched/Dialect/Runtime/CommSchedRtDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/TypeSwitch.h"

namespace mlir::commsched {
#define GEN_PASS_DEF_CONVERTREQUESTSTOCALLS
#include "CommSched/Conversion/Passes.h.inc"
} // namespace mlir::commsched

using namespace mlir;
using namespace mlir::commsched;

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
  LogicalResult convertAny(Operation *op);
  LogicalResult convert(rt::StartOp op);
  LogicalResult convert(rt::BarrierOp op);
  LogicalResult convert(rt::RankOp op);
  LogicalResult convert(rt::ReadSplitsOp op);
  LogicalResult convert(rt::WaitOp op);
  LogicalResult convert(rt::HoldOp op);
  LogicalResult convert(rt::ResumeOp op);
  LogicalResult convert(rt::CopyOp op);
  LogicalResult convert(rt::ZeroOp op);
  LogicalResult convert(rt::ComputeOp op);
  LogicalResult convert(rt::AccountOp op);
  LogicalResult convert(rt::AllocateOp op);
  LogicalResult convert(memref::AllocOp op);
  LogicalResult convert(memref::CopyOp op);
  LogicalResult convert(linalg::CopyOp op);
  /// The other operations belong to the program and run on the processor.
  LogicalResult visitOther(Operation *op);

  /// This rank's index in a group, an i64.
  FailureOr<Value> getRank(Operation *op, FlatSymbolRefAttr group);
  /// Memory for a memref of static shape and identity layout, of the device or
  /// of the host as its type says.
  Value allocate(MemRefType type, int64_t alignment);
  void convertTypes();

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

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

FailureOr<Value> Converter::getRank(Operation *op, FlatSymbolRefAttr group) {
  FailureOr<int32_t> index = program.getGroup(op, group);
  if (failed(index))
    return failure();
  return calls.call("commsched_group_rank", calls.i64, *index);
}

LogicalResult Converter::convert(rt::StartOp op) {
  FailureOr<int32_t> site = program.addSite(op);
  if (failed(site))
    return failure();
  SmallVector<Value> outputs = calls.getPointers(op.getOutputs());
  SmallVector<Value> inputs = calls.getPointers(op.getInputs());
  if (op.getInPlace())
    for (auto [index, output] : llvm::enumerate(outputs)) {
      Value input = output;
      if (op.getKind() == CollectiveKind::AllGather) {
        FailureOr<Value> rank = getRank(op, op.getGroupAttr());
        if (failed(rank))
          return failure();
        auto type = cast<MemRefType>(op.getOutputs()[index].getType());
        int64_t partBytes =
            op.getSent()[index] * *getElementBytes(type.getElementType());
        input = calls.addBytes(
            output, calls.multiply(*rank, calls.getValue(partBytes)));
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
  ++inFlight;
  if (!op.hasSplitValues()) {
    handles[op.getRequest()] = calls.call("commsched_start", calls.i64, *site,
                                          inputArray, outputArray);
    return success();
  }
  auto getRows = [&](Value splits, Value rows) {
    return splits ? std::pair{calls.getInteger(rows), handles.lookup(splits)}
                  : std::pair{calls.getValue(int64_t(0)), calls.getNull()};
  };
  auto sent = getRows(op.getInputValues(), op.getInputRows());
  auto received = getRows(op.getOutputValues(), op.getOutputRows());
  handles[op.getRequest()] = calls.call(
      "commsched_start_uneven", calls.i64, *site, inputArray, outputArray,
      sent.first, sent.second, received.first, received.second);
  return success();
}

/// The start that takes the splits follows: its site is known already.
LogicalResult Converter::convert(rt::ReadSplitsOp op) {
  auto numSplits = static_cast<int32_t>(
      cast<MemRefType>(op.getInput().getType()).getNumElements());
  Value pointer = calls.getPointer(op.getInput());
  Value splits = calls.createArray(calls.i64, numSplits);
  Value rows = calls.call("commsched_read_splits", calls.i64,
                          siteIndices.lookup(*op.getSplits().user_begin()),
                          int32_t(op.getOutput()), pointer, splits, numSplits);
  handles[op.getSplits()] = splits;
  op.getRows().replaceAllUsesWith(calls.getIndex(rows));
  return success();
}

LogicalResult Converter::convert(rt::WaitOp op) {
  calls.call("commsched_wait", calls.i32, handles.lookup(op.getRequest()));
  --inFlight;
  return success();
}

LogicalResult Converter::convert(rt::HoldOp op) {
  SmallVector<Value> sent = calls.getPointers(op.getInputs());
  SmallVector<Value> received = calls.getPointers(op.getOutputs());
  Value sentArray = calls.getArray(sent);
  Value receivedArray = calls.getArray(received);
  op.getHeld().replaceAllUsesWith(
      calls.call("commsched_hold", calls.i64, handles.lookup(op.getRequest()),
                 int32_t(sent.size()), sentArray, int32_t(received.size()),
                 receivedArray));
  return success();
}

LogicalResult Converter::convert(rt::BarrierOp op) {
  FailureOr<int32_t> site = program.addSite(op);
  if (failed(site))
    return failure();
  calls.call("commsched_barrier", calls.i32, *site);
  return success();
}

LogicalResult Converter::convert(rt::RankOp op) {
  FailureOr<Value> rank = getRank(op, op.getGroupAttr());
  if (failed(rank))
    return failure();
  op.getResult().replaceAllUsesWith(calls.getIndex(*rank));
  return success();
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

static int64_t getBytes(Type type) {
  auto memref = cast<MemRefType>(type);
  return memref.getNumElements() * *getElementBytes(memref.getElementType());
}

/// An error unless `type` has a static shape and the identity layout.
static LogicalResult checkStatic(Operation *op, Type type,
                                 const char *where = "") {
  auto memref = dyn_cast<MemRefType>(type);
  if (memref && memref.hasStaticShape() && memref.getLayout().isIdentity())
    return success();
  return op->emitError("cannot be lowered to the runtime: ")
         << type << where << " has no static shape";
}

Value Converter::allocate(MemRefType type, int64_t alignment) {
  StringRef callee =
      isHostType(type) ? "commsched_allocate_host" : "commsched_allocate";
  return calls.createMemRef(
      type, calls.call(callee, calls.pointerType, getBytes(type), alignment));
}

/// Memory of the host comes from the runtime, and goes back to it as all
/// memory does.
LogicalResult Converter::convert(memref::AllocOp op) {
  MemRefType type = op.getType();
  if (!isHostType(type))
    return success();
  if (failed(checkStatic(op, type, " in the memory of the host")))
    return failure();
  op.replaceAllUsesWith(
      allocate(type, static_cast<int64_t>(op.getAlignment().value_or(0))));
  op.erase();
  return success();
}

LogicalResult Converter::convert(rt::AllocateOp op) {
  Type type = op.getBuffer().getType();
  if (failed(checkStatic(op, type)))
    return failure();
  op.getBuffer().replaceAllUsesWith(
      allocate(cast<MemRefType>(type), /*alignment=*/0));
  return success();
}

LogicalResult Converter::convert(rt::ResumeOp op) {
  auto count = static_cast<int32_t>(op.getValues().size());
  for (Type type : op.getValues().getTypes())
    if (failed(checkStatic(op, type)))
      return failure();
  auto createArray = [&](Type type) {
    return count ? calls.createArray(type, count) : calls.getNull();
  };
  Value bytes = createArray(calls.i64);
  Value pointers = createArray(calls.pointerType);
  for (auto [index, type] : llvm::enumerate(op.getValues().getTypes()))
    calls.store(calls.getValue(getBytes(type)), bytes, index);
  calls.call("commsched_resume", calls.i32, op.getHeld(), count, bytes,
             pointers);
  for (auto [index, value] : llvm::enumerate(op.getValues()))
    value.replaceAllUsesWith(
        calls.createMemRef(cast<MemRefType>(value.getType()),
                           calls.load(calls.pointerType, pointers, index)));
  return success();
}

LogicalResult Converter::convert(rt::ZeroOp op) {
  Value pointer = calls.getPointer(op.getOutput());
  calls.call("commsched_zero", calls.i32, pointer,
             getBytes(op.getOutput().getType()));
  return success();
}

LogicalResult Converter::convert(rt::CopyOp op) {
  // Offset, row stride and repeat stride.
  auto getEntry = [&](ArrayRef<int64_t> layout, unsigned index) {
    return calls.getValue(layout.empty() ? int64_t(0) : layout[index]);
  };
  bool repeats = op.getRepeat() != 1;
  auto getSide = [&](Value buffer, std::optional<Type> type,
                     ArrayRef<int64_t> layout, Value moreBytes) {
    RuntimeCallBuilder::Side side{calls.getPointer(buffer)};
    Value offset = getEntry(layout, 0);
    if (moreBytes)
      offset = calls.add(offset, calls.getInteger(moreBytes));
    side.pointer = calls.addBytes(side.pointer, offset);
    side.type = type ? getRuntimeType(*type).value_or(-1) : -1;
    if (repeats)
      side.strides.push_back(getEntry(layout, 2));
    side.strides.push_back(getEntry(layout, 1));
    return side;
  };
  auto target = getSide(op.getOutput(), op.getTargetType(), op.getTarget(),
                        op.getOffset());
  auto source =
      getSide(op.getInput(), op.getSourceType(), op.getSource(), Value());
  SmallVector<Value> sizes;
  if (repeats)
    sizes.push_back(calls.getValue(int64_t(op.getRepeat())));
  sizes.push_back(calls.getValue(int64_t(op.getRows())));
  calls.copy(target, source, sizes,
             calls.getValue(int64_t(op.getRowElements())));
  return success();
}

LogicalResult Converter::convert(linalg::CopyOp op) {
  if (!calls.copy(op.getOutputs()[0], op.getInputs()[0]))
    return visitOther(op);
  op.erase();
  return success();
}

/// Copies that the runtime cannot do are done by loops.
LogicalResult Converter::convert(memref::CopyOp op) {
  if (!calls.copy(op.getTarget(), op.getSource())) {
    program.addHostCode(op);
    OpBuilder builder(op);
    linalg::CopyOp::create(builder, op.getLoc(), op.getSource(),
                           op.getTarget());
  }
  op.erase();
  return success();
}

//===----------------------------------------------------------------------===//
// Operators and code on the processor
//===----------------------------------------------------------------------===//

LogicalResult Converter::convert(rt::ComputeOp op) {
  int32_t index = program.addOperator(op);
  Value inputs = calls.getArray(calls.getPointers(op.getInputs()));
  Value outputs = calls.getArray(calls.getPointers(op.getOutputs()));
  calls.call("commsched_compute", calls.i32, index, int64_t(op.getRuntimeNs()),
             inputs, outputs);
  return success();
}

LogicalResult Converter::convert(rt::AccountOp op) {
  int32_t index = program.addOperator(op);
  calls.call("commsched_account", calls.i32, index, int64_t(op.getRuntimeNs()));
  return success();
}

/// True if `op` reads or writes a buffer.
static bool touchesBuffers(Operation *op) {
  return llvm::any_of(getStatedEffects(op), [](const auto &it) {
    return isa<MemoryEffects::Read, MemoryEffects::Write>(it.getEffect()) &&
           it.getValue() && isa<BaseMemRefType>(it.getValue().getType());
  });
}

LogicalResult Converter::visitOther(Operation *op) {
  if (!touchesBuffers(op))
    return success();
  program.addHostCode(op);
  if (inFlight > 0 && isa<linalg::LinalgOp>(op)) {
    calls.setInsertionPointAfter(op);
    calls.call("commsched_poll", Type());
  }
  return success();
}

//===----------------------------------------------------------------------===//
// The module
//===----------------------------------------------------------------------===//

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

LogicalResult Converter::convertAny(Operation *op) {
  calls.setInsertionPoint(op);
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case<rt::StartOp, rt::BarrierOp, rt::RankOp, rt::WaitOp,
            rt::ReadSplitsOp, rt::CopyOp, rt::ZeroOp, rt::ComputeOp,
            rt::AccountOp, rt::HoldOp, rt::ResumeOp, rt::AllocateOp,
            memref::AllocOp, memref::CopyOp, linalg::CopyOp>(
          [&](auto typed) { return convert(typed); })
      .Default([&](Operation *other) { return visitOther(other); });
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
    if (failed(convertAny(op)))
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
