//===- Float8Tensors.cpp - Casts of tensors to 8-bit floats ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Quantization.h"

#include "CommSched/Dialect/CommSchedAttributes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/ADT/APFloat.h"

using namespace mlir;
using namespace mlir::commsched;
using llvm::APFloat;

/// A row without a larger number has the scale of this one: a row of zeros has
/// a finite scale. The value is PyTorch's.
static constexpr double smallestAmax = 1e-12;

static FloatType getFloatType(Value value) {
  return cast<FloatType>(getElementTypeOrSelf(value.getType()));
}

FloatType mlir::commsched::getScaleType(FloatType elementType) {
  if (elementType.getWidth() > 32)
    return elementType;
  return Float32Type::get(elementType.getContext());
}

RankedTensorType mlir::commsched::getScalesType(RankedTensorType tensor) {
  SmallVector<int64_t> shape(tensor.getShape());
  shape.back() = 1;
  return RankedTensorType::get(
      shape, getScaleType(cast<FloatType>(tensor.getElementType())));
}

namespace {

/// Builds loops over a tensor of some rank, each one operation.
class RowLoops {
public:
  RowLoops(OpBuilder &builder, Location loc, int64_t rank, StringRef name)
      : builder(loc, builder), rank(rank), name(name) {}

  Value computeAmax(Value tensor, FloatType scaleType);
  Value computeScales(Value amax, Value tensor, FloatType quantType);
  Value multiply(Value tensor, Value scales, FloatType quantType);
  Value divide(Value numbers, Value scales, RankedTensorType type);
  /// The tensor in another type, element by element.
  Value convert(Value tensor, Type elementType, StringRef what);

private:
  using Body = function_ref<Value(ImplicitLocOpBuilder &, ValueRange)>;

  AffineMap getElements() {
    return builder.getMultiDimIdentityMap(static_cast<unsigned>(rank));
  }
  /// Returns the map from elements to rows, in a tensor without the last
  /// dimension.
  AffineMap getRows() {
    return getElements().dropResult(static_cast<unsigned>(rank - 1));
  }
  /// Returns the same map for a tensor whose last dimension is 1.
  AffineMap getScalePlaces() {
    return getRows().insertResult(builder.getAffineConstantExpr(0),
                                  static_cast<unsigned>(rank - 1));
  }
  Value getEmpty(ArrayRef<OpFoldResult> sizes, Type elementType) {
    return tensor::EmptyOp::create(builder, sizes, elementType);
  }
  Value createLoop(StringRef what, ValueRange inputs, ArrayRef<AffineMap> maps,
                   Value destination, bool reducesRows, Body body);
  void setName(Operation *op, StringRef what);

  ImplicitLocOpBuilder builder;
  int64_t rank;
  StringRef name;
};

/// The number in another type of floats; rounded if that is narrower.
Value convertNumber(ImplicitLocOpBuilder &builder, Value value, Type type) {
  auto from = cast<FloatType>(getElementTypeOrSelf(value.getType()));
  auto to = cast<FloatType>(getElementTypeOrSelf(type));
  if (from.getWidth() < to.getWidth())
    return arith::ExtFOp::create(builder, type, value);
  if (from.getWidth() > to.getWidth())
    return arith::TruncFOp::create(builder, type, value);
  return value;
}

Value createNumber(ImplicitLocOpBuilder &builder, double value,
                   FloatType type) {
  return arith::ConstantOp::create(builder, builder.getFloatAttr(type, value));
}

double getLargest(FloatType type) {
  return APFloat::getLargest(type.getFloatSemantics()).convertToDouble();
}

} // namespace

void RowLoops::setName(Operation *op, StringRef what) {
  if (!name.empty())
    op->setDiscardableAttr(nameAttrName,
                           builder.getStringAttr(name + "." + what));
}

Value RowLoops::createLoop(StringRef what, ValueRange inputs,
                           ArrayRef<AffineMap> maps, Value destination,
                           bool reducesRows, Body body) {
  SmallVector<utils::IteratorType> iterators(rank,
                                             utils::IteratorType::parallel);
  if (reducesRows)
    iterators.back() = utils::IteratorType::reduction;
  auto loop = linalg::GenericOp::create(
      builder, destination.getType(), inputs, destination, maps, iterators,
      [&](OpBuilder &nested, Location loc, ValueRange numbers) {
        ImplicitLocOpBuilder inner(loc, nested);
        Value result = body(inner, numbers);
        linalg::YieldOp::create(inner, result);
      });
  setName(loop, what);
  return loop.getResult(0);
}

Value RowLoops::computeAmax(Value tensor, FloatType scaleType) {
  SmallVector<OpFoldResult> sizes =
      tensor::getMixedSizes(builder, builder.getLoc(), tensor);
  Value empty = getEmpty(ArrayRef(sizes).drop_back(), scaleType);
  Value zero = createNumber(builder, 0, scaleType);
  auto zeros = linalg::FillOp::create(builder, zero, empty);
  // An infinity or NaN must not be lost: maximumf hands NaN on.
  return createLoop(
      "amax", tensor, {getElements(), getRows()}, zeros.getResult(0),
      /*reducesRows=*/true,
      [&](ImplicitLocOpBuilder &inner, ValueRange numbers) {
        Value x = convertNumber(inner, numbers[0], scaleType);
        Value size = math::AbsFOp::create(inner, x);
        return arith::MaximumFOp::create(inner, numbers[1], size).getResult();
      });
}

Value RowLoops::computeScales(Value amax, Value tensor, FloatType quantType) {
  SmallVector<OpFoldResult> sizes =
      tensor::getMixedSizes(builder, builder.getLoc(), tensor);
  sizes.back() = builder.getIndexAttr(1);
  FloatType scaleType = getFloatType(amax);
  return createLoop(
      "scale", amax, {getRows(), getElements()}, getEmpty(sizes, scaleType),
      /*reducesRows=*/false,
      [&](ImplicitLocOpBuilder &inner, ValueRange numbers) {
        FloatType f64 = inner.getF64Type();
        Value wide = convertNumber(inner, numbers[0], f64);
        Value floor = createNumber(inner, smallestAmax, f64);
        Value bounded = arith::MaximumFOp::create(inner, wide, floor);
        Value largest = createNumber(inner, getLargest(quantType), f64);
        Value scale = arith::DivFOp::create(inner, largest, bounded);
        return convertNumber(inner, scale, scaleType);
      });
}

Value RowLoops::multiply(Value tensor, Value scales, FloatType quantType) {
  SmallVector<OpFoldResult> sizes =
      tensor::getMixedSizes(builder, builder.getLoc(), tensor);
  FloatType scaleType = getFloatType(scales);
  return createLoop("quantize", {tensor, scales},
                    {getElements(), getScalePlaces(), getElements()},
                    getEmpty(sizes, quantType), /*reducesRows=*/false,
                    [&](ImplicitLocOpBuilder &inner, ValueRange numbers) {
                      Value x = convertNumber(inner, numbers[0], scaleType);
                      // Above the largest number only by what was rounded,
                      // which is rounded off again: there is nothing to bound.
                      Value product =
                          arith::MulFOp::create(inner, x, numbers[1]);
                      return convertNumber(inner, product, quantType);
                    });
}

Value RowLoops::divide(Value numbers, Value scales, RankedTensorType type) {
  SmallVector<OpFoldResult> sizes =
      tensor::getMixedSizes(builder, builder.getLoc(), numbers);
  Type elementType = type.getElementType();
  return createLoop("dequantize", {numbers, scales},
                    {getElements(), getScalePlaces(), getElements()},
                    getEmpty(sizes, elementType), /*reducesRows=*/false,
                    [&](ImplicitLocOpBuilder &inner, ValueRange values) {
                      Value q =
                          convertNumber(inner, values[0], values[1].getType());
                      Value quotient =
                          arith::DivFOp::create(inner, q, values[1]);
                      return convertNumber(inner, quotient, elementType);
                    });
}

Value RowLoops::convert(Value tensor, Type elementType, StringRef what) {
  auto type = cast<RankedTensorType>(tensor.getType());
  Value converted = convertNumber(builder, tensor, type.clone(elementType));
  setName(converted.getDefiningOp(), what);
  return converted;
}

QuantizedTensor mlir::commsched::quantize(OpBuilder &builder, Location loc,
                                          Value tensor, FloatType quantType,
                                          bool useScaling, StringRef name) {
  RowLoops loops(builder, loc,
                 cast<RankedTensorType>(tensor.getType()).getRank(), name);
  QuantizedTensor result;
  if (!useScaling) {
    result.numbers = loops.convert(tensor, quantType, "quantize");
    return result;
  }
  Value amax = loops.computeAmax(tensor, getScaleType(getFloatType(tensor)));
  result.scales = loops.computeScales(amax, tensor, quantType);
  result.numbers = loops.multiply(tensor, result.scales, quantType);
  return result;
}

Value mlir::commsched::dequantize(OpBuilder &builder, Location loc,
                                  const QuantizedTensor &quantized,
                                  RankedTensorType type, StringRef name) {
  RowLoops loops(builder, loc, type.getRank(), name);
  if (!quantized.scales)
    return loops.convert(quantized.numbers, type.getElementType(),
                         "dequantize");
  return loops.divide(quantized.numbers, quantized.scales, type);
}
