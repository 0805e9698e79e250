//===- QuantizeActivations.cpp - The pass that saves 8-bit floats ---------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../Remarks.h"
#include "CommSched/Dialect/CommSchedAttributes.h"
#include "CommSched/Dialect/CommSchedDialect.h"
#include "CommSched/Support/OptionErrors.h"
#include "CommSched/Transforms/Passes.h"
#include "Float8Tensors.h"
#include "QuantizePair.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

#include <cmath>

namespace mlir::commsched {
#define GEN_PASS_DEF_QUANTIZEACTIVATIONS
#include "CommSched/Transforms/Passes.h.inc"
} // namespace mlir::commsched

using namespace mlir;
using namespace mlir::commsched;

static FloatType getType(MLIRContext *context, ActivationType type) {
  switch (type) {
  case ActivationType::BF16:
    return BFloat16Type::get(context);
  case ActivationType::F16:
    return Float16Type::get(context);
  case ActivationType::F32:
    return Float32Type::get(context);
  case ActivationType::F64:
    return Float64Type::get(context);
  }
  llvm_unreachable("unknown type");
}

static FloatType getType(MLIRContext *context, QuantType type) {
  switch (type) {
  case QuantType::F8E5M2:
    return Float8E5M2Type::get(context);
  case QuantType::F8E4M3FN:
    return Float8E4M3FNType::get(context);
  }
  llvm_unreachable("unknown type");
}

static void remarkQuantized(const PairQuantization &plan,
                            const QuantizationRules &rules) {
  std::string quantType;
  llvm::raw_string_ostream(quantType) << rules.quantType;
  for (const QuantizedActivation &activation : plan.activations) {
    auto type = cast<RankedTensorType>(activation.value.getType());
    int64_t before = getStaticBytes(type).value_or(0);
    int64_t after = getStaticBytes(type.clone(rules.quantType)).value_or(0);
    if (rules.useScaling)
      after += getStaticBytes(getScalesType(type)).value_or(0);
    func::FuncOp forward = plan.forward;
    remark::passed(activation.value.getLoc(),
                   makeRemark("ActivationQuantized", forward.getSymName()))
        << ("saved value " + Twine(activation.index) + " becomes " + quantType)
               .str()
        << remark::metric("BytesBefore", before)
        << remark::metric("BytesAfter", after);
  }
}

namespace {

struct QuantizeActivations
    : mlir::commsched::impl::QuantizeActivationsBase<QuantizeActivations> {
  using QuantizeActivationsBase::QuantizeActivationsBase;

  LogicalResult initialize(MLIRContext *context) override;
  void runOnOperation() override;

private:
  QuantizationRules rules;
  std::optional<std::string> optionError;
};

} // namespace

LogicalResult QuantizeActivations::initialize(MLIRContext *context) {
  rules.quantType = getType(context, quantType);
  rules.allowedTypes.clear();
  for (ActivationType type : allowedDtypes)
    rules.allowedTypes.push_back(getType(context, type));
  if (rules.allowedTypes.empty())
    rules.allowedTypes.push_back(BFloat16Type::get(context));

  optionError.reset();
  if (!std::isfinite(sizeInMb) || sizeInMb < 0)
    optionError = makeOptionError(*this, sizeInMb,
                                  "must be finite and not negative, but is " +
                                      std::to_string(sizeInMb));
  rules.smallestSizeMb = sizeInMb;
  rules.useScaling = useScaling;
  rules.excludePrimals = excludePrimals;
  rules.quantizeDynamicShape = quantizeDynamicShape;
  return success();
}

/// Emits an error if anything but the other half refers to `half`.
static LogicalResult checkUsers(func::FuncOp half, func::FuncOp other,
                                const SymbolUserMap &users) {
  for (Operation *user : users.getUsers(half)) {
    if (user == other)
      continue;
    InFlightDiagnostic diag =
        half.emitOpError() << "saves its activations in another type from now "
                           << "on, but something refers to it";
    diag.attachNote(user->getLoc()) << "here";
    return diag;
  }
  return success();
}

void QuantizeActivations::runOnOperation() {
  ModuleOp module = getOperation();
  if (failed(emitOptionError(module, optionError)))
    return signalPassFailure();
  SymbolTableCollection symbolTables;
  SymbolTable &symbols = symbolTables.getSymbolTable(module);
  SmallVector<PairQuantization> plans;
  for (auto function : module.getOps<func::FuncOp>()) {
    if (!function->hasAttr(backwardAttrName))
      continue;
    FailureOr<PairQuantization> plan =
        planQuantization(function, rules, symbols);
    if (failed(plan))
      return signalPassFailure();
    if (!plan->activations.empty())
      plans.push_back(std::move(*plan));
  }
  if (plans.empty())
    return markAllAnalysesPreserved();

  SymbolUserMap users(symbolTables, module);
  for (const PairQuantization &plan : plans)
    if (failed(checkUsers(plan.forward, plan.backward, users)) ||
        failed(checkUsers(plan.backward, plan.forward, users)))
      return signalPassFailure();
  for (const PairQuantization &plan : plans) {
    remarkQuantized(plan, rules);
    quantizePair(plan, rules);
  }
}
