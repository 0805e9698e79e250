//===- RuntimeCalls.cpp - Writing calls of the runtime --------------------===//
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

using namespace mlir;
using namespace mlir::commsched;

RuntimeCalls::RuntimeCalls(ModuleOp module)
    : module(module), builder(module.getContext()), loc(module.getLoc()),
      symbols(module), i32(builder.getI32Type()), i64(builder.getI64Type()),
      pointerType(LLVM::LLVMPointerType::get(module.getContext())) {}

void RuntimeCalls::setInsertionPoint(Operation *op) {
  builder.setInsertionPoint(op);
  loc = op->getLoc();
}

void RuntimeCalls::setInsertionPointAfter(Operation *op) {
  builder.setInsertionPointAfter(op);
  loc = op->getLoc();
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

Value RuntimeCalls::getConstant(Type type, int64_t value) {
  return arith::ConstantOp::create(builder, loc,
                                   builder.getIntegerAttr(type, value));
}

Value RuntimeCalls::getI32(int32_t value) { return getConstant(i32, value); }
Value RuntimeCalls::getI64(int64_t value) { return getConstant(i64, value); }

Value RuntimeCalls::getNull() {
  return LLVM::ZeroOp::create(builder, loc, pointerType);
}

Value RuntimeCalls::addBytes(Value pointer, Value bytes) {
  return LLVM::GEPOp::create(builder, loc, pointerType, builder.getI8Type(),
                             pointer, ArrayRef<LLVM::GEPArg>{bytes});
}

Value RuntimeCalls::getPointer(Value memref) {
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

Value RuntimeCalls::getPart(Value pointer, int32_t group, int64_t partBytes) {
  Value rank = call("commsched_group_rank", i64, getI32(group)).getResult(0);
  return addBytes(pointer,
                  arith::MulIOp::create(builder, loc, rank, getI64(partBytes)));
}

Value RuntimeCalls::getRank(int32_t group) {
  Value rank = call("commsched_group_rank", i64, getI32(group)).getResult(0);
  return arith::IndexCastOp::create(builder, loc, builder.getIndexType(), rank);
}

Value RuntimeCalls::getArray(ArrayRef<Value> pointers) {
  if (pointers.empty())
    return getNull();
  // In the entry block, so that a loop does not take more stack every time.
  Value array;
  {
    OpBuilder::InsertionGuard guard(builder);
    auto function = builder.getInsertionBlock()
                        ->getParentOp()
                        ->getParentOfType<func::FuncOp>();
    if (!function)
      function = cast<func::FuncOp>(builder.getInsertionBlock()->getParentOp());
    builder.setInsertionPointToStart(&function.front());
    array = LLVM::AllocaOp::create(
        builder, loc, pointerType,
        LLVM::LLVMArrayType::get(pointerType, pointers.size()), getI64(1));
  }
  for (auto [index, pointer] : llvm::enumerate(pointers)) {
    Value slot = LLVM::GEPOp::create(
        builder, loc, pointerType, pointerType, array,
        ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(index)});
    LLVM::StoreOp::create(builder, loc, pointer, slot);
  }
  return array;
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

func::CallOp RuntimeCalls::call(StringRef callee, TypeRange results,
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

Value RuntimeCalls::callStart(int32_t site, Value inputs, Value outputs) {
  return call("commsched_start", i64, {getI32(site), inputs, outputs})
      .getResult(0);
}

void RuntimeCalls::callWait(Value request) {
  call("commsched_wait", i32, request);
}

void RuntimeCalls::callBarrier(int32_t site) {
  call("commsched_barrier", i32, getI32(site));
}

void RuntimeCalls::callCompute(int32_t index, int64_t ns, Value inputs,
                               Value outputs) {
  call("commsched_compute", i32, {getI32(index), getI64(ns), inputs, outputs});
}

void RuntimeCalls::callAccount(int32_t index, int64_t ns) {
  Value indexValue = getI32(index);
  call("commsched_account", i32, {indexValue, getI64(ns)});
}

void RuntimeCalls::callPoll() { call("commsched_poll", {}, {}); }

void RuntimeCalls::callZero(Value pointer, int64_t bytes) {
  call("commsched_zero", i32, {pointer, getI64(bytes)});
}

void RuntimeCalls::callCopy(const CopyCall &copy) {
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

void RuntimeCalls::defineString(StringRef name, StringRef text) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(module.getBody());
  std::string terminated = text.str();
  terminated.push_back('\0');
  auto type = LLVM::LLVMArrayType::get(builder.getI8Type(), terminated.size());
  LLVM::GlobalOp::create(builder, module.getLoc(), type, /*isConstant=*/true,
                         LLVM::Linkage::External, name,
                         builder.getStringAttr(terminated));
}
