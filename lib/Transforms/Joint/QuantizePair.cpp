//===- QuantizePair.cpp - Halves that share 8-bit floats ------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "QuantizePair.h"

#include "CommSched/Dialect/CommSchedAttributes.h"
#include "Float8Tensors.h"

using namespace mlir;
using namespace mlir::commsched;

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

/// Rewrites both halves of a partition.
class PairRewriter {
public:
  PairRewriter(const PairQuantization &plan, const QuantizationRules &rules)
      : plan(plan), rules(rules), context(rules.quantType.getContext()),
        forward(plan.forward), backward(plan.backward) {}

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
  /// What operations on the activation are called after.
  StringRef getName(const QuantizedActivation &activation) {
    auto name =
        backward.getArgAttrOfType<StringAttr>(activation.index, nameAttrName);
    return name ? name.getValue() : StringRef();
  }

  const PairQuantization &plan;
  const QuantizationRules &rules;
  MLIRContext *context;
  func::FuncOp forward;
  func::FuncOp backward;
};

} // namespace

void PairRewriter::rewriteForward() {
  Operation *terminator = forward.front().getTerminator();
  SmallVector<Type> results(forward.getResultTypes());
  SmallVector<Value> scales;
  SmallVector<DictionaryAttr> scaleAttrs;
  for (const QuantizedActivation &activation : plan.activations) {
    OpBuilder builder(activation.quantizeBefore);
    QuantizedTensor quantized =
        quantize(builder, activation.value.getLoc(), activation.value,
                 rules.quantType, rules.useScaling, getName(activation));
    unsigned result = plan.numForwardOutputs + activation.index;
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

  unsigned firstScale = plan.numForwardOutputs + plan.firstScale;
  SmallVector<unsigned> places(scales.size(), firstScale);
  terminator->insertOperands(firstScale, scales);
  (void)forward.insertResults(places, ValueRange(scales).getTypes(),
                              scaleAttrs);
}

/// Gives the backward its new arguments. Their users are still the old ones.
void PairRewriter::rewriteArguments() {
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

void PairRewriter::dequantizeActivation(unsigned number) {
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

void mlir::commsched::quantizePair(const PairQuantization &plan,
                                   const QuantizationRules &rules) {
  PairRewriter(plan, rules).rewrite();
}
