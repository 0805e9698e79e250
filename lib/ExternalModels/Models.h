//===- Models.h - Shared parts of external models ---------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Attaching a model to many operations at once, counting arithmetic, and models
// that several dialects share.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_EXTERNALMODELS_MODELS_H
#define COMMSCHED_LIB_EXTERNALMODELS_MODELS_H

#include "CommSched/Interfaces/CommSchedInterfaces.h"
#include "mlir/IR/DialectRegistry.h"

namespace mlir::commsched::detail {

void registerArithModels(DialectRegistry &registry);
void registerBufferizationModels(DialectRegistry &registry);
void registerLinalgModels(DialectRegistry &registry);
void registerMathModels(DialectRegistry &registry);
void registerTensorModels(DialectRegistry &registry);
void registerTosaModels(DialectRegistry &registry);

/// True if `op` does arithmetic on the elements of its operands: it is
/// elementwise, but neither a constant nor a conversion between types.
bool isElementwiseArithmetic(Operation *op);

/// The arithmetic operations of one execution of `body`: those of the arith
/// and math dialects and others like them, without conversions, constants and
/// the arithmetic of indices.
int64_t countBodyArithmetic(Block &body);

/// Gives `Model` to every operation of the dialect that `accepts`, unless it
/// has an implementation of the interface already: an embedder's comes first.
/// All registered operations are searched because
/// `getRegisteredOperationsByDialect` misses operations in MLIR 22.1.
template <typename Model>
void attachWhere(MLIRContext *context, StringRef dialect,
                 llvm::function_ref<bool(RegisteredOperationName)> accepts) {
  for (RegisteredOperationName name : context->getRegisteredOperations())
    if (name.getDialectNamespace() == dialect && accepts(name) &&
        !name.hasInterface<typename Model::Interface>())
      name.attachInterface<Model>();
}

/// Gives `Model` to each of `Ops`, as `attachWhere` does.
template <typename Model, typename... Ops> void attachTo(MLIRContext *context) {
  auto attach = [&](StringRef opName) {
    std::optional<RegisteredOperationName> name =
        RegisteredOperationName::lookup(opName, context);
    if (name && !name->hasInterface<typename Model::Interface>())
      name->attachInterface<Model>();
  };
  (attach(Ops::getOperationName()), ...);
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

} // namespace mlir::commsched::detail

#endif // COMMSCHED_LIB_EXTERNALMODELS_MODELS_H
