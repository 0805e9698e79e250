//===- Models.h - Shared parts of external models ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attaching a model to many operations at once, counting arithmetic, models
// that several dialects share, and the parts of rules.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_EXTERNALMODELS_MODELS_H
#define COMMSCHED_LIB_EXTERNALMODELS_MODELS_H

#include "CommSched/Interfaces/CommSchedInterfaces.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/MLIRContext.h"

namespace mlir::commsched::detail {

/// Attach what the dialect's operations cost, their classes and their rules.
void attachLinalgModels(MLIRContext *context);
void attachTensorModels(MLIRContext *context);
void attachTosaModels(MLIRContext *context);

/// The arithmetic operations of one execution of `body`: those of the arith
/// and math dialects and others like them, without conversions, constants and
/// the arithmetic of indices.
int64_t countBodyArithmetic(Block &body);

/// Gives `Model` to the operation, unless it has an implementation of the
/// interface already: an embedder's comes first.
template <typename Model> void attach(RegisteredOperationName name) {
  if (!name.hasInterface<typename Model::Interface>())
    name.attachInterface<Model>();
}

/// Gives each of `Models` to every operation of the dialect that `accepts`. All
/// registered operations are searched because
/// `getRegisteredOperationsByDialect` misses operations in MLIR 22.1.
template <typename DialectT, typename... Models>
void attachWhere(MLIRContext *context,
                 llvm::function_ref<bool(RegisteredOperationName)> accepts) {
  for (RegisteredOperationName name : context->getRegisteredOperations())
    if (name.getDialectNamespace() == DialectT::getDialectNamespace() &&
        accepts(name))
      (attach<Models>(name), ...);
}

/// Gives `Model` to each of `Ops`.
template <typename Model, typename... Ops> void attachTo(MLIRContext *context) {
  auto attachNamed = [&](StringRef opName) {
    if (auto name = RegisteredOperationName::lookup(opName, context))
      attach<Model>(*name);
  };
  (attachNamed(Ops::getOperationName()), ...);
}

/// All results are views of the first operand, which makes the operation free
/// unless it has a cost of its own.
struct FirstOperandView
    : AliasOpInterface::ExternalModel<FirstOperandView, Operation *> {
  Value getAliasedValue(Operation *op, OpResult) const {
    return op->getOperand(0);
  }
};

/// The cost of operations that neither compute nor access tensor elements.
struct FreeCost : CostOpInterface::ExternalModel<FreeCost, Operation *> {
  std::optional<int64_t> getKnownRuntimeNs(Operation *) const { return 0; }
};

/// One operation for each element of the first result.
struct ElementwiseCost
    : CostOpInterface::ExternalModel<ElementwiseCost, Operation *> {
  std::optional<double> getFlopCount(Operation *op) const;
};

/// Slices and gathers, which read a part of the first operand.
struct SelectionCost
    : CostOpInterface::ExternalModel<SelectionCost, Operation *> {
  std::optional<int64_t> getMovedBytes(Operation *op) const {
    return getSelectionBytes(op);
  }
};

/// Writes the results, and reads nothing that has a size: fills and generators.
struct ResultsOnlyCost
    : CostOpInterface::ExternalModel<ResultsOnlyCost, Operation *> {
  std::optional<int64_t> getMovedBytes(Operation *op) const;
};

/// Copies the first operand into a destination that is written in place.
struct CopyIntoCost
    : CostOpInterface::ExternalModel<CopyIntoCost, Operation *> {
  std::optional<int64_t> getMovedBytes(Operation *op) const;
};

/// One class for every operation of a kind.
template <OperatorClass kind>
struct FixedClass
    : OperatorClassOpInterface::ExternalModel<FixedClass<kind>, Operation *> {
  OperatorClass getOperatorClass(Operation *) const { return kind; }
};

//===----------------------------------------------------------------------===//
// Rules
//
// The axes of kinds of operations that several dialects have. Only dimensions
// of static size get axes.
//===----------------------------------------------------------------------===//

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

#endif // COMMSCHED_LIB_EXTERNALMODELS_MODELS_H
