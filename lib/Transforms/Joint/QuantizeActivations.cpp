//===- QuantizeActivations.cpp - Pass that quantizes activations ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "../PassSupport.h"
#include "CommSched/Analysis/OptionErrors.h"
#include "CommSched/Dialect/CommSchedAttributes.h"
#include "CommSched/Dialect/CommSchedDialect.h"
#include "CommSched/Transforms/Passes.h"
#include "Quantization.h"
#include "SplitFunction.h"
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

//===----------------------------------------------------------------------===//
// Rewriting of the two halves
//===----------------------------------------------------------------------===//

/// The attributes of what carries the scales of what has `attrs`: a name, if
/// that has one, and the role.
static DictionaryAttr makeScaleAttrs(MLIRContext *context, DictionaryAttr attrs,
                                     StringAttr role) {
  NamedAttrList list;
  if (auto name = attrs ? attrs.getAs<StringAttr>(nameAttrName) : StringAttr())
    list.set(nameAttrName,
             StringAttr::get(context, name.getValue() + ".scale"));
  if (role)
    list.set(roleAttrName, role);
  return list.getDictionary(context);
}

static DictionaryAttr withRole(DictionaryAttr attrs, StringAttr role) {
  NamedAttrList list(attrs);
  list.set(roleAttrName, role);
  return list.getDictionary(role.getContext());
}

namespace {

/// Does in both halves of a partition what a plan says. The results of the
/// forward that are no saved values stay. Scales have the names of their
/// tensors and `.scale` behind, and what is quantized has the role
/// `saved_activation`.
class HalvesRewriter {
public:
  HalvesRewriter(const QuantizationPlan &plan, const QuantizationRules &rules)
      : plan(plan), rules(rules), context(rules.quantType.getContext()),
        forward(plan.halves.forward), backward(plan.halves.backward) {}

  void rewrite() {
    rewriteForward();
    rewriteArguments();
    for (unsigned i = 0, end = plan.activations.size(); i < end; ++i)
      dequantizeActivation(i);
  }

private:
  void rewriteForward();
  void rewriteArguments();
  void dequantizeActivation(unsigned number);
  /// Returns the name that the names of the conversions derive from.
  StringRef getName(const QuantizedActivation &activation) {
    auto name =
        backward.getArgAttrOfType<StringAttr>(activation.index, nameAttrName);
    return name ? name.getValue() : StringRef();
  }

  const QuantizationPlan &plan;
  const QuantizationRules &rules;
  MLIRContext *context;
  func::FuncOp forward;
  func::FuncOp backward;
};

} // namespace

void HalvesRewriter::rewriteForward() {
  Operation *terminator = forward.front().getTerminator();
  SmallVector<Type> results(forward.getResultTypes());
  SmallVector<Value> scales;
  SmallVector<DictionaryAttr> scaleAttrs;
  for (const QuantizedActivation &activation : plan.activations) {
    OpBuilder builder(activation.quantizeBefore);
    QuantizedTensor quantized =
        quantize(builder, activation.value.getLoc(), activation.value,
                 rules.quantType, rules.useScaling, getName(activation));
    unsigned result = plan.halves.numForwardOutputs + activation.index;
    terminator->setOperand(result, quantized.numbers);
    results[result] = quantized.numbers.getType();
    if (!quantized.scales)
      continue;
    scales.push_back(quantized.scales);
    scaleAttrs.push_back(makeScaleAttrs(
        context, forward.getResultAttrDict(result), StringAttr()));
  }
  forward.setFunctionType(
      FunctionType::get(context, forward.getArgumentTypes(), results));

  unsigned firstScale = plan.halves.numForwardOutputs + plan.firstScale;
  SmallVector<unsigned> places(scales.size(), firstScale);
  terminator->insertOperands(firstScale, scales);
  (void)forward.insertResults(places, ValueRange(scales).getTypes(),
                              scaleAttrs);
}

/// Gives the backward its new arguments. Their users are still the old ones.
void HalvesRewriter::rewriteArguments() {
  auto role = StringAttr::get(context, savedActivationRole);
  SmallVector<DictionaryAttr> attrs, scaleAttrs;
  backward.getAllArgAttrs(attrs);
  SmallVector<Type> scaleTypes;
  SmallVector<Location> locations;
  for (const QuantizedActivation &activation : plan.activations) {
    BlockArgument argument = backward.getArgument(activation.index);
    auto type = cast<RankedTensorType>(argument.getType());
    scaleTypes.push_back(getScalesType(type));
    scaleAttrs.push_back(
        makeScaleAttrs(context, attrs[activation.index], role));
    locations.push_back(argument.getLoc());
    attrs[activation.index] = withRole(attrs[activation.index], role);
    argument.setType(type.clone(rules.quantType));
  }
  backward.setAllArgAttrs(attrs);
  backward.setFunctionType(FunctionType::get(
      context, backward.front().getArgumentTypes(), backward.getResultTypes()));
  if (!rules.useScaling)
    return;
  SmallVector<unsigned> places(scaleTypes.size(), plan.firstScale);
  (void)backward.insertArguments(places, scaleTypes, scaleAttrs, locations);
}

void HalvesRewriter::dequantizeActivation(unsigned number) {
  const QuantizedActivation &activation = plan.activations[number];
  if (!activation.dequantizeBefore)
    return;
  QuantizedTensor quantized;
  quantized.numbers = backward.getArgument(activation.index);
  if (rules.useScaling)
    quantized.scales = backward.getArgument(plan.firstScale + number);
  auto uses = llvm::map_to_vector(quantized.numbers.getUses(),
                                  [](OpOperand &use) { return &use; });
  OpBuilder builder(activation.dequantizeBefore);
  Value value = dequantize(builder, quantized.numbers.getLoc(), quantized,
                           cast<RankedTensorType>(activation.value.getType()),
                           getName(activation));
  for (OpOperand *use : uses)
    use->set(value);
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

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

static void remarkQuantized(const QuantizationPlan &plan,
                            const QuantizationRules &rules) {
  std::string quantType;
  llvm::raw_string_ostream(quantType) << rules.quantType;
  for (const QuantizedActivation &activation : plan.activations) {
    auto type = cast<RankedTensorType>(activation.value.getType());
    int64_t before = getStaticBytes(type).value_or(0);
    int64_t after = getStaticBytes(type.clone(rules.quantType)).value_or(0);
    if (rules.useScaling)
      after += getStaticBytes(getScalesType(type)).value_or(0);
    func::FuncOp forward = plan.halves.forward;
    remark::passed(activation.value.getLoc(),
                   makeRemark("ActivationQuantized", forward.getSymName()))
        << ("saved value " + Twine(activation.index) + " becomes " + quantType)
               .str()
        << remark::metric("BytesBefore", before)
        << remark::metric("BytesAfter", after);
  }
}

/// Leaves the first of the values, up to `eighths` of their bytes: their memory
/// is taken for longer than that of the others.
static void keepFirst(QuantizationPlan &plan, int32_t eighths) {
  auto getBytes = [](const QuantizedActivation &activation) {
    return getStaticBytes(activation.value.getType()).value_or(0);
  };
  int64_t totalBytes = 0, bytes = 0;
  for (const QuantizedActivation &activation : plan.activations)
    totalBytes += getBytes(activation);
  size_t numKept = 0;
  while (numKept < plan.activations.size() && bytes < totalBytes / 8 * eighths)
    bytes += getBytes(plan.activations[numKept++]);
  if (eighths < 8)
    plan.activations.truncate(numKept);
}

int64_t mlir::commsched::quantizeSavedValues(PartitionHalves halves,
                                             int32_t eighths,
                                             bool emitRemarks) {
  MLIRContext *context = halves.forward.getContext();
  QuantizationRules rules;
  rules.allowedTypes = {BFloat16Type::get(context)};
  rules.quantType = Float8E5M2Type::get(context);
  // Of smaller values the launches of the casts would count.
  rules.smallestSizeMb = 1;
  // Inputs take their memory in any case.
  rules.excludePrimals = true;
  QuantizationPlan plan = planQuantization(halves, rules, emitRemarks);
  keepFirst(plan, eighths);
  if (emitRemarks)
    remarkQuantized(plan, rules);
  HalvesRewriter(plan, rules).rewrite();
  return static_cast<int64_t>(plan.activations.size());
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
  rules.quantType = getType(context, quantType);
  rules.allowedTypes.clear();
  for (ActivationType type : allowedDtypes)
    rules.allowedTypes.push_back(getType(context, type));
  if (rules.allowedTypes.empty())
    rules.allowedTypes.push_back(BFloat16Type::get(context));
  if (!std::isfinite(sizeInMb) || sizeInMb < 0)
    return reportOptionError(
        context, makeOptionError(*this, sizeInMb,
                                 "must be finite and not negative, but is " +
                                     std::to_string(sizeInMb)));
  rules.smallestSizeMb = sizeInMb;
  rules.useScaling = useScaling;
  rules.excludePrimals = excludePrimals;
  rules.quantizeDynamicShape = quantizeDynamicShape;
  return success();
}

static LogicalResult checkBody(func::FuncOp half) {
  if (!half.getBody().hasOneBlock())
    return half.emitOpError() << "is half of a partition, but its body has "
                              << half.getBody().getBlocks().size() << " blocks";
  Operation *terminator = half.front().getTerminator();
  if (isa<func::ReturnOp>(terminator))
    return success();
  return emitOpErrorWithNote(half, terminator->getLoc(), "it ends here")
         << "is half of a partition, but does not return";
}

/// Emits an error if anything but `called` refers to `half`, or uses what it
/// saves but the calls of the other half.
static LogicalResult checkUsers(const CalledHalves &called,
                                const SymbolUserMap &users) {
  auto emitRefused = [](func::FuncOp half, Operation *user) {
    return emitOpErrorWithNote(half, user->getLoc(), "here")
           << "saves its activations in another type from now "
           << "on, but something else refers to it";
  };
  llvm::SmallPtrSet<Operation *, 4> calls;
  for (auto [forward, backward] : called.calls) {
    calls.insert(forward);
    calls.insert(backward);
    for (Value saved :
         forward.getResults().drop_front(called.halves.numForwardOutputs))
      for (Operation *user : saved.getUsers())
        if (user != backward)
          return emitRefused(called.halves.forward, user);
  }
  for (func::FuncOp half : {called.halves.forward, called.halves.backward})
    for (Operation *user : users.getUsers(half))
      if (!calls.contains(user))
        return emitRefused(half, user);
  return success();
}

/// Calls halves as they are now.
static void renewCalls(const CalledHalves &called) {
  const auto &[forwardHalf, backwardHalf, numOutputs] = called.halves;
  for (auto [forward, backward] : called.calls) {
    OpBuilder builder(forward);
    auto saving = func::CallOp::create(builder, forward.getLoc(), forwardHalf,
                                       forward.getOperands());
    saving->setDiscardableAttrs(forward->getDiscardableAttrDictionary());
    SmallVector<Value> operands(saving.getResults().drop_front(numOutputs));
    llvm::append_range(operands, backward.getOperands().drop_front(
                                     forward.getNumResults() - numOutputs));
    builder.setInsertionPoint(backward);
    auto taking = func::CallOp::create(builder, backward.getLoc(), backwardHalf,
                                       operands);
    taking->setDiscardableAttrs(backward->getDiscardableAttrDictionary());
    backward.replaceAllUsesWith(taking);
    backward.erase();
    for (unsigned index : llvm::seq(numOutputs))
      forward.getResult(index).replaceAllUsesWith(saving.getResult(index));
    forward.erase();
  }
}

void QuantizeActivations::runOnOperation() {
  ModuleOp module = getOperation();
  std::vector<CalledHalves> found = findCalledHalves(module);
  SmallVector<std::pair<const CalledHalves *, QuantizationPlan>> plans;
  for (const CalledHalves &called : found) {
    if (failed(checkBody(called.halves.forward)) ||
        failed(checkBody(called.halves.backward)))
      return signalPassFailure();
    QuantizationPlan plan =
        planQuantization(called.halves, rules, /*emitRemarks=*/true);
    if (!plan.activations.empty())
      plans.push_back({&called, std::move(plan)});
  }
  if (plans.empty())
    return markAllAnalysesPreserved();

  SymbolTableCollection symbolTables;
  SymbolUserMap users(symbolTables, module);
  for (const auto &[called, plan] : plans)
    if (failed(checkUsers(*called, users)))
      return signalPassFailure();
  for (const auto &[called, plan] : plans) {
    remarkQuantized(plan, rules);
    HalvesRewriter(plan, rules).rewrite();
    renewCalls(*called);
  }
}
