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

/// The floating-point type of that name; null if there is none among `types`.
static FloatType findType(ArrayRef<FloatType> types, StringRef name) {
  for (FloatType type : types) {
    std::string text;
    llvm::raw_string_ostream(text) << type;
    if (text == name)
      return type;
  }
  return {};
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
};

} // namespace

LogicalResult QuantizeActivations::initialize(MLIRContext *context) {
  Builder builder(context);
  auto fail = [&] { return emitError(UnknownLoc::get(context)); };
  FloatType quantTypes[] = {Float8E5M2Type::get(context),
                            Float8E4M3FNType::get(context)};
  rules.quantType = findType(quantTypes, quantType);
  if (!rules.quantType)
    return fail() << "option 'quant-type' must be f8E5M2 or f8E4M3FN, not '"
                  << quantType << "'";

  FloatType wideTypes[] = {builder.getBF16Type(), builder.getF16Type(),
                           builder.getF32Type(), builder.getF64Type()};
  rules.allowedTypes.clear();
  for (const std::string &name : allowedDtypes) {
    rules.allowedTypes.push_back(findType(wideTypes, name));
    if (!rules.allowedTypes.back())
      return fail() << "option 'allowed-dtypes' must be of bf16, f16, f32, "
                    << "f64, but has '" << name << "'";
  }
  if (rules.allowedTypes.empty())
    rules.allowedTypes.push_back(builder.getBF16Type());

  if (!std::isfinite(sizeInMb) || sizeInMb < 0)
    return fail() << "option 'size-in-mb' must be finite and not negative, "
                  << "but is " << sizeInMb;
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
