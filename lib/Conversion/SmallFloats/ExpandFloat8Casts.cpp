//===- ExpandFloat8Casts.cpp - Expansion of casts of 8-bit floats ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Expands conversions to and from f8E5M2 and f8E4M3FN into integer arithmetic
// on bit patterns. All constants come from APFloat, and the results are
// APFloat's.
//
// MLIR's `convert-arith-to-apfloat` does not replace this pass: in MLIR 22.1 it
// turns all floating-point arithmetic, that of f32 included, into calls of a
// library, and it creates invalid IR for casts of f64.
//===----------------------------------------------------------------------===//

#include "CommSched/Conversion/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"
#include "llvm/ADT/APFloat.h"

namespace mlir::commsched {
#define GEN_PASS_DEF_EXPANDFLOAT8CASTS
#include "CommSched/Conversion/Passes.h.inc"
} // namespace mlir::commsched

using namespace mlir;
using namespace mlir::commsched;
using llvm::APFloat;
using llvm::fltSemantics;

static bool isFloat8(Type type) {
  return isa<Float8E5M2Type, Float8E4M3FNType>(getElementTypeOrSelf(type));
}

static const fltSemantics &getSemantics(Type type) {
  return cast<FloatType>(getElementTypeOrSelf(type)).getFloatSemantics();
}

/// The bits of the mantissa that are stored.
static int getMantissaBits(const fltSemantics &semantics) {
  return static_cast<int>(APFloat::semanticsPrecision(semantics)) - 1;
}

/// The pattern of `value`, which `semantics` represents exactly.
static APInt getPattern(APFloat value, const fltSemantics &semantics) {
  bool losesInfo;
  value.convert(semantics, APFloat::rmNearestTiesToEven, &losesInfo);
  assert(!losesInfo);
  return value.bitcastToAPInt();
}

/// The pattern of 2^`exponent`.
static APInt getPowerOfTwo(const fltSemantics &semantics, int exponent) {
  return scalbn(APFloat::getOne(semantics), exponent,
                APFloat::rmNearestTiesToEven)
      .bitcastToAPInt();
}

namespace {

/// Builds operations on scalars or vectors of one shape.
class BitArithmetic {
public:
  BitArithmetic(OpBuilder &builder, Location loc, Type shape)
      : builder(loc, builder), shape(dyn_cast<VectorType>(shape)) {}

  Type getType(Type element) {
    return shape ? Type(shape.clone(element)) : element;
  }
  Value constant(const APInt &pattern) {
    Type element = builder.getIntegerType(pattern.getBitWidth());
    TypedAttr value = builder.getIntegerAttr(element, pattern);
    if (shape)
      value = DenseElementsAttr::get(shape.clone(element), {pattern});
    return arith::ConstantOp::create(builder, value);
  }
  template <typename OpT> Value apply(Value lhs, const APInt &rhs) {
    Value constantRhs = constant(rhs);
    return OpT::create(builder, lhs, constantRhs);
  }
  template <typename OpT> Value apply(Value lhs, Value rhs) {
    return OpT::create(builder, lhs, rhs);
  }
  template <typename OpT> Value cast(Type element, Value value) {
    return OpT::create(builder, getType(element), value);
  }
  Value compare(arith::CmpIPredicate predicate, Value lhs, const APInt &rhs) {
    Value constantRhs = constant(rhs);
    return arith::CmpIOp::create(builder, predicate, lhs, constantRhs);
  }
  Value select(Value condition, Value yes, Value no) {
    return arith::SelectOp::create(builder, condition, yes, no);
  }
  Value select(Value condition, const APInt &yes, Value no) {
    Value constantYes = constant(yes);
    return arith::SelectOp::create(builder, condition, constantYes, no);
  }

  ImplicitLocOpBuilder builder;

private:
  VectorType shape;
};

/// Rounds f32 or f64 to the nearest, ties to even.
class Float8Encoder {
public:
  Float8Encoder(BitArithmetic &math, FloatType source, FloatType target)
      : math(math), source(source), target(target), from(getSemantics(source)),
        to(getSemantics(target)), width(source.getWidth()) {}

  Value encode(Value value);

private:
  APInt number(uint64_t value) const { return APInt(width, value); }
  Value roundNormal(Value magnitude);
  Value roundSubnormal(Value magnitude);

  BitArithmetic &math;
  FloatType source, target;
  const fltSemantics &from, &to;
  unsigned width;
};

} // namespace

/// The pattern of a magnitude that is not below the smallest normal number; one
/// that is too large for the type has a pattern behind all finite ones.
Value Float8Encoder::roundNormal(Value magnitude) {
  int mantissaBits = getMantissaBits(from);
  int shift = mantissaBits - getMantissaBits(to);
  int rebase =
      APFloat::semanticsMinExponent(to) - APFloat::semanticsMinExponent(from);
  // A carry out of the mantissa adds to the exponent, as it should.
  Value kept = math.apply<arith::ShRUIOp>(magnitude, number(shift));
  Value odd = math.apply<arith::AndIOp>(kept, number(1));
  APInt offset = number((uint64_t(1) << (shift - 1)) - 1) -
                 number(static_cast<uint64_t>(rebase) << mantissaBits);
  Value rebased = math.apply<arith::AddIOp>(magnitude, offset);
  Value rounded = math.apply<arith::AddIOp>(rebased, odd);
  return math.apply<arith::ShRUIOp>(rounded, number(shift));
}

/// The pattern of a magnitude below the smallest normal number: how many times
/// the smallest positive number it is. Added to a number whose last place
/// weighs that much, it is rounded by the processor.
Value Float8Encoder::roundSubnormal(Value magnitude) {
  int lastPlace = APFloat::semanticsMinExponent(to) - getMantissaBits(to);
  APInt aligner = getPowerOfTwo(from, lastPlace + getMantissaBits(from));
  Value alignerFloat =
      math.cast<arith::BitcastOp>(source, math.constant(aligner));
  Value value = math.cast<arith::BitcastOp>(source, magnitude);
  Value sum = math.apply<arith::AddFOp>(value, alignerFloat);
  Value bits =
      math.cast<arith::BitcastOp>(math.builder.getIntegerType(width), sum);
  return math.apply<arith::SubIOp>(bits, aligner);
}

Value Float8Encoder::encode(Value value) {
  Value bits =
      math.cast<arith::BitcastOp>(math.builder.getIntegerType(width), value);
  Value signPlace = math.apply<arith::ShRUIOp>(bits, number(width - 8));
  Value sign = math.apply<arith::AndIOp>(signPlace, number(0x80));
  Value magnitude =
      math.apply<arith::AndIOp>(bits, APInt::getSignedMaxValue(width));

  Value normal = roundNormal(magnitude);
  Value subnormal = roundSubnormal(magnitude);
  APInt smallestNormal = getPattern(APFloat::getSmallestNormalized(to), from);
  Value isSubnormal =
      math.compare(arith::CmpIPredicate::ult, magnitude, smallestNormal);
  Value rounded = math.select(isSubnormal, subnormal, normal);

  // The pattern behind that of the largest number is infinity or NaN.
  APInt overflow = APFloat::getLargest(to).bitcastToAPInt() + 1;
  Value bounded = math.apply<arith::MinUIOp>(rounded, overflow.zext(width));
  Value isNan = math.compare(arith::CmpIPredicate::ugt, magnitude,
                             APFloat::getInf(from).bitcastToAPInt());
  Value result = math.select(
      isNan, APFloat::getNaN(to).bitcastToAPInt().zext(width), bounded);
  Value pattern = math.apply<arith::OrIOp>(result, sign);
  Value byte = math.cast<arith::TruncIOp>(math.builder.getI8Type(), pattern);
  return math.cast<arith::BitcastOp>(target, byte);
}

/// The value as f32, which represents all of both types.
static Value decodeFloat8(BitArithmetic &math, Value value) {
  const fltSemantics &from = getSemantics(value.getType());
  const fltSemantics &to = APFloat::IEEEsingle();
  auto number = [](uint64_t value) { return APInt(32, value); };
  IntegerType i32 = math.builder.getI32Type();
  FloatType f32 = math.builder.getF32Type();
  int shift = getMantissaBits(to) - getMantissaBits(from);
  int rebase =
      APFloat::semanticsMinExponent(from) - APFloat::semanticsMinExponent(to);
  int lastPlace = APFloat::semanticsMinExponent(from) - getMantissaBits(from);

  Value byte = math.cast<arith::BitcastOp>(math.builder.getI8Type(), value);
  Value bits = math.cast<arith::ExtUIOp>(i32, byte);
  Value signBit = math.apply<arith::AndIOp>(bits, number(0x80));
  Value sign = math.apply<arith::ShLIOp>(signBit, number(24));
  Value magnitude = math.apply<arith::AndIOp>(bits, number(0x7f));

  Value shifted = math.apply<arith::ShLIOp>(magnitude, number(shift));
  Value normal = math.apply<arith::AddIOp>(
      shifted, number(static_cast<uint64_t>(rebase) << getMantissaBits(to)));

  Value count = math.cast<arith::UIToFPOp>(f32, magnitude);
  Value weight = math.cast<arith::BitcastOp>(
      f32, math.constant(getPowerOfTwo(to, lastPlace)));
  Value product = math.apply<arith::MulFOp>(count, weight);
  Value subnormal = math.cast<arith::BitcastOp>(i32, product);
  Value isSubnormal = math.compare(
      arith::CmpIPredicate::ult, magnitude,
      APFloat::getSmallestNormalized(from).bitcastToAPInt().zext(32));
  Value finite = math.select(isSubnormal, subnormal, normal);

  // Infinity has the mantissa of infinity, NaN that of NaN.
  APInt largest = APFloat::getLargest(from).bitcastToAPInt().zext(32);
  Value special = APFloat::semanticsHasInf(from)
                      ? math.apply<arith::OrIOp>(
                            shifted, APFloat::getInf(to).bitcastToAPInt())
                      : math.constant(APFloat::getNaN(to).bitcastToAPInt());
  Value isSpecial = math.compare(arith::CmpIPredicate::ugt, magnitude, largest);
  Value unsignedBits = math.select(isSpecial, special, finite);
  Value pattern = math.apply<arith::OrIOp>(unsignedBits, sign);
  return math.cast<arith::BitcastOp>(f32, pattern);
}

namespace {

struct ExpandTruncF : OpRewritePattern<arith::TruncFOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::TruncFOp op,
                                PatternRewriter &rewriter) const override {
    if (!isFloat8(op.getType()))
      return failure();
    std::optional<arith::RoundingMode> rounding = op.getRoundingmode();
    if (rounding && *rounding != arith::RoundingMode::to_nearest_even)
      return rewriter.notifyMatchFailure(op, "another rounding mode");
    auto source = cast<FloatType>(getElementTypeOrSelf(op.getIn().getType()));
    if (source.getWidth() > 64)
      return rewriter.notifyMatchFailure(op, "wider than 64 bits");
    BitArithmetic math(rewriter, op.getLoc(), op.getType());
    Value value = op.getIn();
    if (source.getWidth() < 32) {
      source = rewriter.getF32Type();
      value = math.cast<arith::ExtFOp>(source, value);
    }
    auto target = cast<FloatType>(getElementTypeOrSelf(op.getType()));
    rewriter.replaceOp(op, Float8Encoder(math, source, target).encode(value));
    return success();
  }
};

struct ExpandExtF : OpRewritePattern<arith::ExtFOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::ExtFOp op,
                                PatternRewriter &rewriter) const override {
    if (!isFloat8(op.getIn().getType()))
      return failure();
    BitArithmetic math(rewriter, op.getLoc(), op.getType());
    Value value = decodeFloat8(math, op.getIn());
    auto target = cast<FloatType>(getElementTypeOrSelf(op.getType()));
    // Both 16-bit types represent all that the 8-bit ones do.
    if (target.getWidth() < 32)
      value = math.cast<arith::TruncFOp>(target, value);
    else if (target.getWidth() > 32)
      value = math.cast<arith::ExtFOp>(target, value);
    rewriter.replaceOp(op, value);
    return success();
  }
};

struct ExpandFloat8Casts
    : mlir::commsched::impl::ExpandFloat8CastsBase<ExpandFloat8Casts> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<ExpandTruncF, ExpandExtF>(&getContext());
    walkAndApplyPatterns(getOperation(), std::move(patterns));
  }
};

} // namespace
