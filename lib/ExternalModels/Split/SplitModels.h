//===- SplitModels.h - Shared parts of the models of rules ------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The axes of kinds of operations that several dialects have. Only dimensions
// of static size get axes.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_EXTERNALMODELS_SPLIT_SPLITMODELS_H
#define COMMSCHED_LIB_EXTERNALMODELS_SPLIT_SPLITMODELS_H

#include "../Models.h"

#include "mlir/IR/BuiltinTypes.h"

namespace mlir::commsched::detail {

void registerArithSplitModels(DialectRegistry &registry);
void registerLinalgSplitModels(DialectRegistry &registry);
void registerMathSplitModels(DialectRegistry &registry);
void registerTensorSplitModels(DialectRegistry &registry);
void registerTosaSplitModels(DialectRegistry &registry);

/// The size of dimension `dim` of `value`; none if it is not known, or if
/// `value` is no tensor with that dimension.
std::optional<int64_t> getStaticSize(Value value, int64_t dim);

/// A dimension of an operand or result.
using DimOfValue = std::pair<unsigned, int64_t>;

/// Adds to `rule` the parallel axis of `op` that each of the given dimensions
/// consists of, unless they are not all of one static size.
void addParallelAxis(SplitRule &rule, Operation *op,
                     ArrayRef<DimOfValue> operands,
                     ArrayRef<DimOfValue> results);

/// Adds the sum over the given dimensions of operands of `op`, likewise, to
/// `axes`: those of a rule, or its whole sums.
void addSumAxis(SmallVectorImpl<SplitAxis> &axes, Operation *op,
                ArrayRef<DimOfValue> operands);

/// Adds to `rule` each dimension of operand 0, which has the rank of the
/// result, that `isUntouched` accepts.
void addUntouchedAxes(SplitRule &rule, Operation *op,
                      function_ref<bool(int64_t dim)> isUntouched);

/// The rule of `op`, which concatenates its operands along dimension `along`:
/// every other dimension.
SplitRule getConcatenationRule(Operation *op, int64_t along);

/// Adds to `rule` the axes of a reshape of operand 0 to the result, of which
/// the dimensions `from` of the operand, beginning at `firstFrom`, become the
/// dimensions `to` of the result, beginning at `firstTo`. Adds none if a size
/// is dynamic or zero.
void addReshapeAxes(SplitRule &rule, ArrayRef<int64_t> from, int64_t firstFrom,
                    ArrayRef<int64_t> to, int64_t firstTo);

/// Whether the first result of `op` is a tensor whose rank is known.
bool givesRankedTensor(Operation *op);

/// Operations with Elementwise trait or the like: each element of the results
/// depends on the elements of the operands at the same place.
struct ElementwiseSplit
    : SplitOpInterface::ExternalModel<ElementwiseSplit, Operation *> {
  bool hasSplitRule(Operation *op) const { return givesRankedTensor(op); }
  SplitRule getSplitRule(Operation *op) const {
    return getElementwiseRule(op->getOperandTypes(), op->getResultTypes());
  }
};

} // namespace mlir::commsched::detail

#endif // COMMSCHED_LIB_EXTERNALMODELS_SPLIT_SPLITMODELS_H
