//===- RuntimeCalls.cpp - Calls of the runtime ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "RuntimeCalls.h"
#include "../RuntimeTypes.h"

#include "mlir/Conversion/LLVMCommon/MemRefBuilder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace mlir::commsched;

RuntimeCallBuilder::RuntimeCallBuilder(ModuleOp module)
    : module(module), builder(module.getContext()), loc(module.getLoc()),
      symbols(module), typeConverter(module.getContext()),
      i32(builder.getI32Type()), i64(builder.getI64Type()),
      pointerType(LLVM::LLVMPointerType::get(module.getContext())) {}

void RuntimeCallBuilder::setInsertionPoint(Operation *op) {
  builder.setInsertionPoint(op);
  loc = op->getLoc();
}

void RuntimeCallBuilder::setInsertionPointAfter(Operation *op) {
  builder.setInsertionPointAfter(op);
  loc = op->getLoc();
}

Value RuntimeCallBuilder::createCall(StringRef callee, Type result,
                                     ArrayRef<Value> operands) {
  TypeRange results = result ? TypeRange(result) : TypeRange();
  if (!symbols.lookup(callee)) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(module.getBody());
    auto function = func::FuncOp::create(
        builder, module.getLoc(), callee,
        builder.getFunctionType(TypeRange(ValueRange(operands)), results));
    function.setPrivate();
    symbols.insert(function);
  }
  auto call = func::CallOp::create(builder, loc, callee, results, operands);
  return result ? call.getResult(0) : Value();
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

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

Value RuntimeCallBuilder::getValue(int32_t value) {
  return arith::ConstantOp::create(builder, loc,
                                   builder.getI32IntegerAttr(value));
}

Value RuntimeCallBuilder::getValue(int64_t value) {
  return arith::ConstantOp::create(builder, loc,
                                   builder.getI64IntegerAttr(value));
}

Value RuntimeCallBuilder::getNull() {
  return LLVM::ZeroOp::create(builder, loc, pointerType);
}

Value RuntimeCallBuilder::getInteger(OpFoldResult index) {
  if (std::optional<int64_t> constant = getConstantIntValue(index))
    return getValue(*constant);
  return arith::IndexCastOp::create(builder, loc, i64, cast<Value>(index));
}

Value RuntimeCallBuilder::getIndex(Value integer) {
  return arith::IndexCastOp::create(builder, loc, builder.getIndexType(),
                                    integer);
}

Value RuntimeCallBuilder::multiply(Value a, Value b) {
  return arith::MulIOp::create(builder, loc, a, b);
}

Value RuntimeCallBuilder::add(Value a, Value b) {
  return arith::AddIOp::create(builder, loc, a, b);
}

Value RuntimeCallBuilder::addBytes(Value pointer, Value bytes) {
  return LLVM::GEPOp::create(builder, loc, pointerType, builder.getI8Type(),
                             pointer, ArrayRef<LLVM::GEPArg>{bytes});
}

/// Of whichever memory: to the code behind the calls all of it is one.
static MemRefType getPlainType(MemRefType type) {
  return MemRefType::get(type.getShape(), type.getElementType(),
                         type.getLayout());
}

Value RuntimeCallBuilder::getPointer(Value memref) {
  MemRefType type = getPlainType(cast<MemRefType>(memref.getType()));
  Value descriptor = UnrealizedConversionCastOp::create(
                         builder, loc, typeConverter.convertType(type), memref)
                         .getResult(0);
  return MemRefDescriptor(descriptor)
      .bufferPtr(builder, loc, typeConverter, type);
}

SmallVector<Value> RuntimeCallBuilder::getPointers(ValueRange memrefs) {
  return llvm::map_to_vector(memrefs,
                             [&](Value memref) { return getPointer(memref); });
}

Value RuntimeCallBuilder::createMemRef(MemRefType type, Value pointer) {
  Value descriptor = MemRefDescriptor::fromStaticShape(
      builder, loc, typeConverter, getPlainType(type), pointer);
  return UnrealizedConversionCastOp::create(builder, loc, type, descriptor)
      .getResult(0);
}

//===----------------------------------------------------------------------===//
// Arrays
//===----------------------------------------------------------------------===//

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
                                getValue(int64_t(1)));
}

Value RuntimeCallBuilder::getSlot(Value array, Type elementType, size_t index) {
  return LLVM::GEPOp::create(
      builder, loc, pointerType, elementType, array,
      ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(index)});
}

void RuntimeCallBuilder::store(Value value, Value array, size_t index) {
  LLVM::StoreOp::create(builder, loc, value,
                        getSlot(array, value.getType(), index));
}

Value RuntimeCallBuilder::load(Type type, Value array, size_t index) {
  return LLVM::LoadOp::create(builder, loc, type, getSlot(array, type, index));
}

Value RuntimeCallBuilder::getArray(ArrayRef<Value> pointers) {
  if (pointers.empty())
    return getNull();
  Value array = createArray(pointerType, pointers.size());
  for (auto [index, pointer] : llvm::enumerate(pointers))
    store(pointer, array, index);
  return array;
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

void RuntimeCallBuilder::copy(Side target, Side source, ArrayRef<Value> sizes,
                              Value rowElements) {
  if (sizes.size() > 1) {
    // The order of arguments would be the compiler's choice.
    Value zero = getValue(int64_t(0)), one = getValue(int64_t(1));
    auto loop = scf::ForOp::create(builder, loc, zero, sizes.front(), one);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    for (Side *side : {&target, &source}) {
      side->pointer = addBytes(side->pointer, multiply(loop.getInductionVar(),
                                                       side->strides.front()));
      side->strides.erase(side->strides.begin());
    }
    copy(target, source, sizes.drop_front(), rowElements);
    return;
  }
  auto getRowStride = [&](const Side &side) {
    return sizes.empty() ? getValue(int64_t(0)) : side.strides.front();
  };
  Value targetStride = getRowStride(target),
        sourceStride = getRowStride(source);
  Value rows = sizes.empty() ? getValue(int64_t(1)) : sizes.front();
  call("commsched_copy", i32, target.pointer, target.type, targetStride,
       source.pointer, source.type, sourceStride, rows, rowElements);
}

bool RuntimeCallBuilder::copy(Value targetBuffer, Value sourceBuffer) {
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
  unsigned rank = targetType.getRank();
  unsigned outer = rank - std::min(targetType.getNumContiguousTrailingDims(),
                                   sourceType.getNumContiguousTrailingDims());
  auto getBytes = [&](OpFoldResult elements) -> Value {
    if (std::optional<int64_t> constant = getConstantIntValue(elements))
      return getValue(*constant * *elementBytes);
    Value number = getInteger(elements);
    return multiply(number, getValue(*elementBytes));
  };
  SmallVector<OpFoldResult> sizes;
  auto getSide = [&](Value buffer) {
    Side side{getPointer(buffer)};
    auto metadata =
        memref::ExtractStridedMetadataOp::create(builder, loc, buffer);
    sizes = metadata.getConstifiedMixedSizes();
    SmallVector<OpFoldResult> strides = metadata.getConstifiedMixedStrides();
    for (OpFoldResult stride : ArrayRef(strides).take_front(outer))
      side.strides.push_back(getBytes(stride));
    return side;
  };
  Side source = getSide(sourceBuffer), target = getSide(targetBuffer);
  int64_t rowBytes = *elementBytes;
  Value dynamicSize;
  for (OpFoldResult size : ArrayRef(sizes).drop_front(outer)) {
    if (std::optional<int64_t> constant = getConstantIntValue(size))
      rowBytes *= *constant;
    else
      dynamicSize = getInteger(size);
  }
  Value rowElements = getValue(rowBytes);
  if (dynamicSize)
    rowElements = multiply(rowElements, dynamicSize);
  SmallVector<Value> outerSizes;
  for (OpFoldResult size : ArrayRef(sizes).take_front(outer))
    outerSizes.push_back(getInteger(size));
  copy(target, source, outerSizes, rowElements);
  return true;
}
