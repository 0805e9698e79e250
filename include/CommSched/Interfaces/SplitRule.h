//===- SplitRule.h - How an operation divides into chunks -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The axes of an operation along which it can be computed in chunks, and where
// each axis is found in the dimensions of operands and results.
//
// A dimension may consist of several axes, the outer ones first: an index of
// the dimension is (outer axes..., axis, inner axes...), and `outer` is the
// product of the sizes of the outer ones. To split an axis in n chunks is to
// view a dimension as [outer, n, rest]: chunk c is [:, c, :], whose dimension
// is n times as small. A gather of tensor<1024x64> over 8 ranks along dimension
// 0 has an axis of size 1024 at (dimension 0, outer 1) of its operand and at
// (dimension 0, outer 8) of its result.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_INTERFACES_SPLITRULE_H
#define COMMSCHED_INTERFACES_SPLITRULE_H

#include "CommSched/Support/Result.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/TypeRange.h"
#include "mlir/IR/ValueRange.h"
#include "llvm/ADT/SmallVector.h"
#include <optional>
#include <string>

namespace mlir::commsched {

/// Where an axis is found in an operand or a result.
struct AxisPlace {
  /// The index of the operand or of the result.
  unsigned value;
  int64_t dim;
  /// The product of the sizes of the axes outside of it in the dimension.
  int64_t outer;
};

enum class SplitAxisKind {
  /// Each chunk of the results depends on one chunk of the operands.
  Parallel,
  /// No result has the axis. The chunks give partial sums, and the results are
  /// the sum over the chunks.
  Sum,
};

/// A loop of an operation, any set of whose iterations can be computed alone.
struct SplitAxis {
  /// The number of iterations.
  int64_t size;
  SplitAxisKind kind;
  /// At most one place in each operand, in their order. An operand without a
  /// place is needed whole by every chunk.
  SmallVector<AxisPlace, 3> operands;
  /// A parallel axis has one place in each result, a sum none.
  SmallVector<AxisPlace, 3> results;
};

/// All that can be split. A dimension, or a part of it, that no axis covers
/// cannot be split. The results of a collective with a future are the delivered
/// values.
struct SplitRule {
  SmallVector<SplitAxis, 4> axes;
  /// Sums that cannot be split, as they add onto a value that is not known to
  /// be zero. They say what the operation multiplies, by which it is priced.
  SmallVector<SplitAxis, 1> wholeSums;
};

/// How a value is divided into chunks: dimension `dim` is viewed as
/// [outer, number of chunks, rest].
struct ValueSplit {
  int64_t dim;
  int64_t outer;

  bool operator==(const ValueSplit &other) const {
    return dim == other.dim && outer == other.outer;
  }
  bool operator!=(const ValueSplit &other) const { return !(*this == other); }
};

/// How an axis is divided into chunks: it is viewed as
/// [blocks, number of chunks, rest], so that each chunk has a part of every
/// block.
struct AxisSplit {
  /// The index of the axis in the rule.
  unsigned axis;
  int64_t blocks;
};

/// The axis that is divided when an operand, or result, is divided as `split`
/// says; none if no axis of `rule` can be divided like that.
std::optional<AxisSplit> findAxisOfOperand(const SplitRule &rule,
                                           unsigned operand, ValueSplit split);
std::optional<AxisSplit> findAxisOfResult(const SplitRule &rule,
                                          unsigned result, ValueSplit split);

/// How an operand, or result, is divided when `axis` is divided in `blocks`;
/// none if every chunk needs the operand whole, or gives a partial sum of the
/// result.
std::optional<ValueSplit> getOperandSplit(const SplitAxis &axis,
                                          unsigned operand, int64_t blocks = 1);
std::optional<ValueSplit> getResultSplit(const SplitAxis &axis, unsigned result,
                                         int64_t blocks = 1);

/// The length that the number of chunks has to divide: that of one of `blocks`.
inline int64_t getSplitLength(const SplitAxis &axis, int64_t blocks = 1) {
  return axis.size / blocks;
}

/// The type of one of `count` chunks, which divides dimension `dim` of the
/// tensor `whole`.
Type getChunkType(Type whole, int64_t dim, int64_t count);

/// The types that the results of the operation's rule have: the delivered ones
/// of a collective with a future, otherwise those of the results.
SmallVector<Type> getSplitResultTypes(Operation *op);

/// The types of the results of one of `count` chunks of `op`, whose axis is
/// `axis`.
SmallVector<Type> getChunkResultTypes(Operation *op, const SplitAxis &axis,
                                      int64_t count);

/// Creates an operation like `op`, with its attributes and regions, and other
/// operands and types. The results of a collective with a future are the
/// delivered types.
Operation *createWithTypes(OpBuilder &builder, Operation *op,
                           ValueRange operands, TypeRange results);

/// The rule of an operation each of whose results depends, element by element,
/// on the operands: every dimension is an axis. Scalars, tensors without
/// dimensions, and tensors of size 1 in a dimension are needed whole. Without
/// axes if the ranks, or the sizes, differ otherwise.
SplitRule getElementwiseRule(TypeRange operands, TypeRange results);

//===----------------------------------------------------------------------===//
// Text
//
// The notation of einops: operands `->` results, values separated by commas,
// dimensions by blanks. A dimension is the name of an axis, parts in
// parentheses, outermost first, or `_`, which cannot be split. A part is the
// name of an axis, a number, which is a part of that size that cannot be split,
// or `_`, whose size follows. A value without dimensions is needed whole. An
// axis of the operands only is a sum.
//
//   m k, k n -> m n        b (n s) d -> n b s d        s c -> (8 s) c
//===----------------------------------------------------------------------===//

/// Reads a rule. Sizes follow from the types; each tensor has as many
/// dimensions in the text as in its type, or none. An error starts with a verb
/// whose subject is the text.
Result<SplitRule> parseSplitRule(StringRef text, TypeRange operands,
                                 TypeRange results);

/// Reads `text` without types: whether there are an arrow and dimensions.
Status checkSplitRuleSyntax(StringRef text);

} // namespace mlir::commsched

#endif // COMMSCHED_INTERFACES_SPLITRULE_H
