//===- RuntimeCalls.cpp - Calls of the runtime ----------------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RuntimeCalls.h"
#include "../RuntimeTypes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace mlir::commsched;

RuntimeCallBuilder::RuntimeCallBuilder(ModuleOp module)
    : module(module), builder(module.getContext()), loc(module.getLoc()),
      symbols(module), i32(builder.getI32Type()), i64(builder.getI64Type()),
      pointerType(LLVM::LLVMPointerType::get(module.getContext())) {}

void RuntimeCallBuilder::setInsertionPoint(Operation *op) {
  builder.setInsertionPoint(op);
  loc = op->getLoc();
}

void RuntimeCallBuilder::setInsertionPointAfter(Operation *op) {
  builder.setInsertionPointAfter(op);
  loc = op->getLoc();
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

Value RuntimeCallBuilder::getConstant(Type type, int64_t value) {
  return arith::ConstantOp::create(builder, loc,
                                   builder.getIntegerAttr(type, value));
}

Value RuntimeCallBuilder::getI32(int32_t value) {
  return getConstant(i32, value);
}
Value RuntimeCallBuilder::getI64(int64_t value) {
  return getConstant(i64, value);
}

Value RuntimeCallBuilder::getNull() {
  return LLVM::ZeroOp::create(builder, loc, pointerType);
}

Value RuntimeCallBuilder::addBytes(Value pointer, Value bytes) {
  return LLVM::GEPOp::create(builder, loc, pointerType, builder.getI8Type(),
                             pointer, ArrayRef<LLVM::GEPArg>{bytes});
}

Value RuntimeCallBuilder::getPointer(Value memref) {
  auto type = cast<MemRefType>(memref.getType());
  Value address =
      memref::ExtractAlignedPointerAsIndexOp::create(builder, loc, memref);
  Value integer = arith::IndexCastUIOp::create(builder, loc, i64, address);
  Value pointer = LLVM::IntToPtrOp::create(builder, loc, pointerType, integer);
  if (type.getLayout().isIdentity())
    return pointer;
  auto metadata =
      memref::ExtractStridedMetadataOp::create(builder, loc, memref);
  Value offset =
      arith::IndexCastOp::create(builder, loc, i64, metadata.getOffset());
  Value bytes = arith::MulIOp::create(
      builder, loc, offset, getI64(*getElementBytes(type.getElementType())));
  return addBytes(pointer, bytes);
}

Value RuntimeCallBuilder::getPart(Value pointer, int32_t group,
                                  int64_t partBytes) {
  Value rank = call("commsched_group_rank", i64, getI32(group)).getResult(0);
  return addBytes(pointer,
                  arith::MulIOp::create(builder, loc, rank, getI64(partBytes)));
}

Value RuntimeCallBuilder::getRank(int32_t group) {
  Value rank = call("commsched_group_rank", i64, getI32(group)).getResult(0);
  return arith::IndexCastOp::create(builder, loc, builder.getIndexType(), rank);
}

Value RuntimeCallBuilder::createArray(Type elementType, int64_t size) {
  OpBuilder::InsertionGuard guard(builder);
  auto function = builder.getInsertionBlock()
                      ->getParentOp()
                      ->getParentOfType<func::FuncOp>();
  if (!function)
    function = cast<func::FuncOp>(builder.getInsertionBlock()->getParentOp());
  builder.setInsertionPointToStart(&function.front());
  return LLVM::AllocaOp::create(builder, loc, pointerType,
                                LLVM::LLVMArrayType::get(elementType, size),
                                getI64(1));
}

Value RuntimeCallBuilder::getSlot(Value array, Type elementType, size_t index) {
  return LLVM::GEPOp::create(
      builder, loc, pointerType, elementType, array,
      ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(index)});
}

Value RuntimeCallBuilder::getArray(ArrayRef<Value> pointers) {
  if (pointers.empty())
    return getNull();
  Value array = createArray(pointerType, pointers.size());
  for (auto [index, pointer] : llvm::enumerate(pointers)) {
    LLVM::StoreOp::create(builder, loc, pointer,
                          getSlot(array, pointerType, index));
  }
  return array;
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

func::CallOp RuntimeCallBuilder::call(StringRef callee, TypeRange results,
                                      ValueRange operands) {
  if (!symbols.lookup(callee)) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(module.getBody());
    auto function = func::FuncOp::create(
        builder, module.getLoc(), callee,
        builder.getFunctionType(operands.getTypes(), results));
    function.setPrivate();
    symbols.insert(function);
  }
  return func::CallOp::create(builder, loc, callee, results, operands);
}

static int64_t getBytes(MemRefType type) {
  return type.getNumElements() * *getElementBytes(type.getElementType());
}

Value RuntimeCallBuilder::callAllocate(MemRefType type, int64_t alignment) {
  StringRef callee =
      isHostType(type) ? "commsched_allocate_host" : "commsched_allocate";
  Value bytes = getI64(getBytes(type));
  return createMemRef(
      type, call(callee, pointerType, {bytes, getI64(alignment)}).getResult(0));
}

Value RuntimeCallBuilder::callHold(Value request, ArrayRef<Value> sent,
                                   ArrayRef<Value> received) {
  Value numSent = getI32(static_cast<int32_t>(sent.size()));
  Value sentArray = getArray(sent);
  Value numReceived = getI32(static_cast<int32_t>(received.size()));
  Value receivedArray = getArray(received);
  return call("commsched_hold", i64,
              {request, numSent, sentArray, numReceived, receivedArray})
      .getResult(0);
}

SmallVector<Value> RuntimeCallBuilder::callResume(Value held, TypeRange types) {
  Value count = getI32(static_cast<int32_t>(types.size()));
  Value bytes = getNull(), pointers = getNull();
  if (!types.empty()) {
    bytes = createArray(i64, types.size());
    pointers = createArray(pointerType, types.size());
  }
  for (auto [index, type] : llvm::enumerate(types))
    LLVM::StoreOp::create(builder, loc,
                          getI64(getBytes(cast<MemRefType>(type))),
                          getSlot(bytes, i64, index));
  call("commsched_resume", i32, {held, count, bytes, pointers});
  SmallVector<Value> buffers;
  for (auto [index, type] : llvm::enumerate(types)) {
    Value pointer = LLVM::LoadOp::create(builder, loc, pointerType,
                                         getSlot(pointers, pointerType, index));
    buffers.push_back(createMemRef(cast<MemRefType>(type), pointer));
  }
  return buffers;
}

Value RuntimeCallBuilder::createMemRef(MemRefType type, Value pointer) {
  auto sizesType = LLVM::LLVMArrayType::get(i64, type.getRank());
  SmallVector<Type> members = {pointerType, pointerType, i64};
  if (type.getRank() > 0)
    members.append(2, sizesType);
  auto structType =
      LLVM::LLVMStructType::getLiteral(module.getContext(), members);
  Value descriptor = LLVM::PoisonOp::create(builder, loc, structType);
  auto insert = [&](Value value, ArrayRef<int64_t> position) {
    descriptor =
        LLVM::InsertValueOp::create(builder, loc, descriptor, value, position);
  };
  insert(pointer, {0});
  insert(pointer, {1});
  insert(getI64(0), {2});
  int64_t stride = 1;
  for (int64_t dim = type.getRank() - 1; dim >= 0; --dim) {
    insert(getI64(type.getDimSize(dim)), {3, dim});
    insert(getI64(stride), {4, dim});
    stride *= type.getDimSize(dim);
  }
  return UnrealizedConversionCastOp::create(builder, loc, type, descriptor)
      .getResult(0);
}

Value RuntimeCallBuilder::callStart(int32_t site, Value inputs, Value outputs) {
  return call("commsched_start", i64, {getI32(site), inputs, outputs})
      .getResult(0);
}

Value RuntimeCallBuilder::callStart(int32_t site, Value inputs, Value outputs,
                                    Rows input, Rows output) {
  Value siteValue = getI32(site);
  for (Rows *rows : {&input, &output})
    if (!rows->splits)
      *rows = {getI64(0), getNull()};
  return call("commsched_start_uneven", i64,
              {siteValue, inputs, outputs, input.rows, input.splits,
               output.rows, output.splits})
      .getResult(0);
}

RuntimeCallBuilder::Rows RuntimeCallBuilder::callReadSplits(int32_t site,
                                                            bool isOutput,
                                                            Value pointer,
                                                            int32_t numSplits) {
  Value splits = createArray(i64, numSplits);
  Value siteValue = getI32(site), side = getI32(isOutput);
  Value rows = call("commsched_read_splits", i64,
                    {siteValue, side, pointer, splits, getI32(numSplits)})
                   .getResult(0);
  Value index =
      arith::IndexCastOp::create(builder, loc, builder.getIndexType(), rows);
  return {index, splits};
}

Value RuntimeCallBuilder::getInteger(Value index) {
  return arith::IndexCastOp::create(builder, loc, i64, index);
}

void RuntimeCallBuilder::callWait(Value request) {
  call("commsched_wait", i32, request);
}

void RuntimeCallBuilder::callBarrier(int32_t site) {
  call("commsched_barrier", i32, getI32(site));
}

void RuntimeCallBuilder::callCompute(int32_t index, int64_t ns, Value inputs,
                                     Value outputs) {
  call("commsched_compute", i32, {getI32(index), getI64(ns), inputs, outputs});
}

void RuntimeCallBuilder::callAccount(int32_t index, int64_t ns) {
  Value indexValue = getI32(index);
  call("commsched_account", i32, {indexValue, getI64(ns)});
}

void RuntimeCallBuilder::callPoll() { call("commsched_poll", {}, {}); }

void RuntimeCallBuilder::callZero(Value pointer, int64_t bytes) {
  call("commsched_zero", i32, {pointer, getI64(bytes)});
}

void RuntimeCallBuilder::callCopy(const CopyCall &copy) {
  auto getEntry = [](ArrayRef<int64_t> layout, unsigned index) {
    return layout.empty() ? 0 : layout[index];
  };
  Value target = copy.target, source = copy.source;
  Value targetOffset = getI64(getEntry(copy.targetLayout, 0));
  if (copy.offset)
    targetOffset = arith::AddIOp::create(
        builder, loc, targetOffset,
        arith::IndexCastOp::create(builder, loc, i64, copy.offset));
  target = addBytes(target, targetOffset);
  source = addBytes(source, getI64(getEntry(copy.sourceLayout, 0)));
  Value targetType = getI32(copy.targetType);
  Value sourceType = getI32(copy.sourceType);
  Value targetStride = getI64(getEntry(copy.targetLayout, 1));
  Value sourceStride = getI64(getEntry(copy.sourceLayout, 1));
  Value rows = getI64(copy.rows), rowElements = getI64(copy.rowElements);
  auto emit = [&](Value target, Value source) {
    call("commsched_copy", i32,
         {target, targetType, targetStride, source, sourceType, sourceStride,
          rows, rowElements});
  };
  if (copy.repeat == 1)
    return emit(target, source);

  Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
  Value one = arith::ConstantIndexOp::create(builder, loc, 1);
  Value end = arith::ConstantIndexOp::create(builder, loc, copy.repeat);
  Value targetRepeat = getI64(getEntry(copy.targetLayout, 2));
  Value sourceRepeat = getI64(getEntry(copy.sourceLayout, 2));
  auto loop = scf::ForOp::create(builder, loc, zero, end, one);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  Value index =
      arith::IndexCastOp::create(builder, loc, i64, loop.getInductionVar());
  auto advance = [&](Value pointer, Value stride) {
    return addBytes(pointer,
                    arith::MulIOp::create(builder, loc, index, stride));
  };
  // The order of arguments would be the compiler's choice.
  Value nextTarget = advance(target, targetRepeat);
  Value nextSource = advance(source, sourceRepeat);
  emit(nextTarget, nextSource);
}

RuntimeCallBuilder::Layout RuntimeCallBuilder::getLayout(Value memref,
                                                         int64_t elementBytes) {
  Layout layout;
  layout.pointer = getPointer(memref);
  auto metadata =
      memref::ExtractStridedMetadataOp::create(builder, loc, memref);
  auto getBytes = [&](OpFoldResult stride) -> Value {
    if (std::optional<int64_t> constant = getConstantIntValue(stride))
      return getI64(*constant * elementBytes);
    return arith::MulIOp::create(builder, loc, getInteger(cast<Value>(stride)),
                                 getI64(elementBytes));
  };
  for (OpFoldResult size : metadata.getConstifiedMixedSizes()) {
    std::optional<int64_t> constant = getConstantIntValue(size);
    layout.sizes.push_back(constant ? getI64(*constant)
                                    : getInteger(cast<Value>(size)));
  }
  for (OpFoldResult stride : metadata.getConstifiedMixedStrides())
    layout.strides.push_back(getBytes(stride));
  return layout;
}

/// The innermost dimensions of a `type` whose elements lie one after the other.
/// Only the first of them may be dynamic.
static unsigned countContiguousDims(MemRefType type) {
  auto [strides, offset] = type.getStridesAndOffset();
  int64_t expected = 1;
  unsigned count = 0;
  for (int64_t dim = type.getRank() - 1; dim >= 0; --dim) {
    if (strides[dim] != expected)
      break;
    ++count;
    if (type.isDynamicDim(dim))
      break;
    expected *= type.getDimSize(dim);
  }
  return count;
}

void RuntimeCallBuilder::callRowCopies(const Layout &target,
                                       const Layout &source, unsigned dim,
                                       unsigned outer, Value rows,
                                       Value rowBytes) {
  if (dim < outer) {
    Type index = builder.getIndexType();
    Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
    Value one = arith::ConstantIndexOp::create(builder, loc, 1);
    Value end =
        arith::IndexCastOp::create(builder, loc, index, target.sizes[dim]);
    auto loop = scf::ForOp::create(builder, loc, zero, end, one);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    Value position = getInteger(loop.getInductionVar());
    auto advance = [&](Layout layout) {
      Value bytes =
          arith::MulIOp::create(builder, loc, position, layout.strides[dim]);
      layout.pointer = addBytes(layout.pointer, bytes);
      return layout;
    };
    Layout nextTarget = advance(target), nextSource = advance(source);
    callRowCopies(nextTarget, nextSource, dim + 1, outer, rows, rowBytes);
    return;
  }
  bool hasRows = dim < target.strides.size() && rows;
  Value bytesType = getI32(-1);
  Value targetStride = hasRows ? target.strides[dim] : getI64(0);
  Value sourceStride = hasRows ? source.strides[dim] : getI64(0);
  Value numRows = hasRows ? rows : getI64(1);
  call("commsched_copy", i32,
       {target.pointer, bytesType, targetStride, source.pointer, bytesType,
        sourceStride, numRows, rowBytes});
}

bool RuntimeCallBuilder::callCopy(Value targetBuffer, Value sourceBuffer) {
  auto targetType = dyn_cast<MemRefType>(targetBuffer.getType());
  auto sourceType = dyn_cast<MemRefType>(sourceBuffer.getType());
  if (!targetType || !sourceType || !targetType.isStrided() ||
      !sourceType.isStrided() ||
      targetType.getElementType() != sourceType.getElementType())
    return false;
  FailureOr<int64_t> elementBytes =
      getElementBytes(targetType.getElementType());
  if (failed(elementBytes))
    return false;
  Layout target = getLayout(targetBuffer, *elementBytes);
  Layout source = getLayout(sourceBuffer, *elementBytes);
  unsigned rank = targetType.getRank();
  unsigned outer = rank - std::min(countContiguousDims(targetType),
                                   countContiguousDims(sourceType));
  int64_t staticBytes = *elementBytes;
  Value dynamicSize;
  for (unsigned dim = outer; dim < rank; ++dim) {
    if (targetType.isDynamicDim(dim))
      dynamicSize = target.sizes[dim];
    else
      staticBytes *= targetType.getDimSize(dim);
  }
  Value rowBytes = getI64(staticBytes);
  if (dynamicSize)
    rowBytes = arith::MulIOp::create(builder, loc, rowBytes, dynamicSize);
  // The innermost of the other dimensions are the rows of a call.
  Value rows = outer > 0 ? target.sizes[outer - 1] : Value();
  callRowCopies(target, source, /*dim=*/0, outer > 0 ? outer - 1 : 0, rows,
                rowBytes);
  return true;
}

void RuntimeCallBuilder::defineString(StringRef name, StringRef text) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(module.getBody());
  std::string terminated = text.str();
  terminated.push_back('\0');
  auto type = LLVM::LLVMArrayType::get(builder.getI8Type(), terminated.size());
  LLVM::GlobalOp::create(builder, module.getLoc(), type, /*isConstant=*/true,
                         LLVM::Linkage::External, name,
                         builder.getStringAttr(terminated));
}
