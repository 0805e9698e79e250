//===- TensorBuilder.cpp - StableHLO's operations on tensors --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Writing.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::commsched;
using namespace mlir::commsched::stablehlo;

static RankedTensorType getType(Value tensor) {
  return cast<RankedTensorType>(tensor.getType());
}

Value TensorBuilder::create(StringRef name, ValueRange operands, Type result,
                            ArrayRef<NamedAttribute> attributes) {
  Operation *op = createByName(builder, location, name, operands, result,
                               builder.getDictionaryAttr(attributes));
  return op->getResult(0);
}

//===----------------------------------------------------------------------===//
// Single operations
//===----------------------------------------------------------------------===//

Value TensorBuilder::reshape(Value tensor, ArrayRef<int64_t> shape) {
  RankedTensorType type = getType(tensor);
  if (type.getShape() == shape)
    return tensor;
  return apply("stablehlo.reshape", tensor,
               RankedTensorType::get(shape, type.getElementType()));
}

Value TensorBuilder::flatten(Value tensor) {
  return reshape(tensor, getType(tensor).getNumElements());
}

Value TensorBuilder::convert(Value tensor, Type element) {
  RankedTensorType type = getType(tensor);
  if (type.getElementType() == element)
    return tensor;
  return apply("stablehlo.convert", tensor, type.clone(element));
}

Value TensorBuilder::bitcastConvert(Value tensor, RankedTensorType type) {
  if (tensor.getType() == type)
    return tensor;
  return apply("stablehlo.bitcast_convert", tensor, type);
}

Value TensorBuilder::slice(Value tensor, ArrayRef<int64_t> offsets,
                           ArrayRef<int64_t> sizes, ArrayRef<int64_t> strides) {
  RankedTensorType type = getType(tensor);
  if (type.getShape() == sizes)
    return tensor;
  SmallVector<int64_t> limits;
  for (auto [offset, size, stride] : llvm::zip_equal(offsets, sizes, strides))
    limits.push_back(size == 0 ? offset : offset + (size - 1) * stride + 1);
  return create("stablehlo.slice", tensor,
                RankedTensorType::get(sizes, type.getElementType()),
                {get("limit_indices", builder.getDenseI64ArrayAttr(limits)),
                 get("start_indices", builder.getDenseI64ArrayAttr(offsets)),
                 get("strides", builder.getDenseI64ArrayAttr(strides))});
}

Value TensorBuilder::sliceLast(Value tensor, int64_t offset, int64_t size) {
  SmallVector<int64_t> sizes(getType(tensor).getShape());
  SmallVector<int64_t> offsets(sizes.size(), 0), strides(sizes.size(), 1);
  offsets.back() = offset;
  sizes.back() = size;
  return slice(tensor, offsets, sizes, strides);
}

Value TensorBuilder::concatenate(ValueRange tensors, int64_t dim) {
  if (tensors.size() == 1)
    return tensors.front();
  RankedTensorType first = getType(tensors.front());
  SmallVector<int64_t> shape(first.getShape());
  shape[dim] = 0;
  for (Value tensor : tensors)
    shape[dim] += getType(tensor).getDimSize(dim);
  return create("stablehlo.concatenate", tensors,
                RankedTensorType::get(shape, first.getElementType()),
                get("dimension", builder.getI64IntegerAttr(dim)));
}

Value TensorBuilder::transpose(Value tensor, ArrayRef<int64_t> permutation) {
  if (llvm::equal(permutation, llvm::seq<int64_t>(0, permutation.size())))
    return tensor;
  RankedTensorType type = getType(tensor);
  SmallVector<int64_t> shape;
  for (int64_t dim : permutation)
    shape.push_back(type.getDimSize(dim));
  return create("stablehlo.transpose", tensor,
                RankedTensorType::get(shape, type.getElementType()),
                get("permutation", builder.getDenseI64ArrayAttr(permutation)));
}

static DenseElementsAttr getZero(Type element) {
  auto type = RankedTensorType::get({}, element);
  if (auto complex = dyn_cast<ComplexType>(element)) {
    Attribute zero =
        Builder(element.getContext()).getZeroAttr(complex.getElementType());
    return DenseElementsAttr::get(
        type, ArrayAttr::get(element.getContext(), {zero, zero}));
  }
  return DenseElementsAttr::get(
      type, Builder(element.getContext()).getZeroAttr(element));
}

Value TensorBuilder::padWithZeros(Value tensor, int64_t count) {
  if (count == 0)
    return tensor;
  RankedTensorType type = getType(tensor);
  SmallVector<int64_t> shape(type.getShape()), high(type.getRank(), 0);
  SmallVector<int64_t> none(type.getRank(), 0);
  shape[0] += count;
  high[0] = count;
  Value zero = constant(getZero(type.getElementType()));
  return create("stablehlo.pad", {tensor, zero},
                RankedTensorType::get(shape, type.getElementType()),
                {get("edge_padding_high", builder.getDenseI64ArrayAttr(high)),
                 get("edge_padding_low", builder.getDenseI64ArrayAttr(none)),
                 get("interior_padding", builder.getDenseI64ArrayAttr(none))});
}

Value TensorBuilder::constant(DenseElementsAttr value) {
  return create("stablehlo.constant", {}, value.getType(), get("value", value));
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

Value TensorBuilder::splitIntoRows(Value tensor, int64_t dim, int64_t count) {
  RankedTensorType type = getType(tensor);
  int64_t rowSize = type.getNumElements() / count;
  if (dim == 0)
    return reshape(tensor, {count, rowSize});
  SmallVector<int64_t> shape(type.getShape()), permutation = {dim};
  shape[dim] /= count;
  shape.insert(shape.begin() + dim, count);
  for (int64_t index : llvm::seq<int64_t>(0, shape.size()))
    if (index != dim)
      permutation.push_back(index);
  return reshape(transpose(reshape(tensor, shape), permutation),
                 {count, rowSize});
}

Value TensorBuilder::joinRows(Value rows, int64_t dim,
                              ArrayRef<int64_t> shape) {
  if (dim == 0)
    return reshape(rows, shape);
  int64_t count = getType(rows).getDimSize(0);
  SmallVector<int64_t> parts(shape);
  parts[dim] /= count;
  parts.insert(parts.begin(), count);
  SmallVector<int64_t> permutation;
  for (int64_t index : llvm::seq<int64_t>(0, shape.size())) {
    if (index == dim)
      permutation.push_back(0);
    permutation.push_back(index + 1);
  }
  return reshape(transpose(reshape(rows, parts), permutation), shape);
}

//===----------------------------------------------------------------------===//
// Bytes
//===----------------------------------------------------------------------===//

int64_t mlir::commsched::stablehlo::getElementBytes(Type element) {
  if (auto complex = dyn_cast<ComplexType>(element))
    return 2 * getElementBytes(complex.getElementType());
  return llvm::divideCeil(element.getIntOrFloatBitWidth(), 8);
}

/// `shape` with the last dimension times `factor`.
static SmallVector<int64_t> scaleLast(ArrayRef<int64_t> shape, int64_t factor) {
  SmallVector<int64_t> scaled(shape);
  scaled.back() *= factor;
  return scaled;
}

Value TensorBuilder::toBytes(Value tensor) {
  RankedTensorType type = getType(tensor);
  Type element = type.getElementType();
  Type byte = builder.getI8Type();
  SmallVector<int64_t> shape(type.getShape());
  if (auto complex = dyn_cast<ComplexType>(element)) {
    RankedTensorType part = type.clone(complex.getElementType());
    shape.push_back(1);
    Value real = reshape(apply("stablehlo.real", tensor, part), shape);
    Value imag = reshape(apply("stablehlo.imag", tensor, part), shape);
    Value pairs = concatenate({real, imag}, type.getRank());
    return toBytes(reshape(pairs, scaleLast(type.getShape(), 2)));
  }
  unsigned width = element.getIntOrFloatBitWidth();
  if (width < 8) {
    // A byte for each: bits of floats keep their meaning as integers.
    if (isa<FloatType>(element))
      tensor =
          bitcastConvert(tensor, type.clone(builder.getIntegerType(width)));
    return convert(tensor, byte);
  }
  if (width > 8)
    shape.push_back(width / 8);
  Value bytes = bitcastConvert(tensor, RankedTensorType::get(shape, byte));
  return reshape(bytes, scaleLast(type.getShape(), width / 8));
}

Value TensorBuilder::fromBytes(Value bytes, Type element) {
  RankedTensorType type = getType(bytes);
  SmallVector<int64_t> shape(type.getShape());
  shape.back() /= getElementBytes(element);
  auto result = RankedTensorType::get(shape, element);
  if (auto complex = dyn_cast<ComplexType>(element)) {
    Value pairs = fromBytes(bytes, complex.getElementType());
    SmallVector<int64_t> split(shape);
    split.push_back(2);
    Value numbers = reshape(pairs, split);
    RankedTensorType part = result.clone(complex.getElementType());
    Value real = reshape(sliceLast(numbers, 0, 1), part.getShape());
    Value imag = reshape(sliceLast(numbers, 1, 1), part.getShape());
    return apply("stablehlo.complex", {real, imag}, result);
  }
  unsigned width = element.getIntOrFloatBitWidth();
  if (width < 8) {
    if (!isa<FloatType>(element))
      return convert(bytes, element);
    Value bits = convert(bytes, builder.getIntegerType(width));
    return bitcastConvert(bits, result);
  }
  if (width > 8)
    shape.push_back(width / 8);
  return bitcastConvert(reshape(bytes, shape), result);
}
