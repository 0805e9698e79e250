//===- ActivationCandidates.cpp - What to save in 8-bit floats ------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ActivationCandidates.h"

#include "../Remarks.h"
#include "ActivationOrigins.h"
#include "ActivationPlaces.h"
#include "CommSched/Dialect/CommSchedAttributes.h"
#include "CommSched/Interfaces/CommSchedInterfaces.h"
#include "Float8Tensors.h"
#include "llvm/Support/Format.h"

using namespace mlir;
using namespace mlir::commsched;

//===----------------------------------------------------------------------===//
// The halves
//===----------------------------------------------------------------------===//

static LogicalResult checkBody(func::FuncOp half) {
  if (!half.getBody().hasOneBlock())
    return half.emitOpError() << "is half of a partition, but its body has "
                              << half.getBody().getBlocks().size() << " blocks";
  Operation *terminator = half.front().getTerminator();
  if (isa<func::ReturnOp>(terminator))
    return success();
  InFlightDiagnostic diag = half.emitOpError()
                            << "is half of a partition, but does not return";
  diag.attachNote(terminator->getLoc()) << "it ends here";
  return diag;
}

/// The backward that `forward` names.
static FailureOr<func::FuncOp> findBackward(func::FuncOp forward,
                                            SymbolTable &symbols) {
  auto name = forward->getAttrOfType<FlatSymbolRefAttr>(backwardAttrName);
  auto backward = symbols.lookup<func::FuncOp>(name.getAttr());
  if (!backward)
    return forward.emitOpError()
           << "names '" << name << "' as its backward, but there is no such "
           << "function";
  auto link = backward->getAttrOfType<FlatSymbolRefAttr>(forwardAttrName);
  if (!link || link.getAttr() != forward.getSymNameAttr()) {
    InFlightDiagnostic diag = forward.emitOpError()
                              << "names '" << name
                              << "' as its backward, but that does not name it "
                              << "as its forward";
    diag.attachNote(backward.getLoc()) << "the backward is here";
    return diag;
  }
  return backward;
}

/// Checks that `backward` begins with arguments for what is saved.
static LogicalResult checkSavedTypes(func::FuncOp forward,
                                     func::FuncOp backward,
                                     TypeRange savedTypes) {
  size_t numArguments = backward.getNumArguments();
  if (savedTypes.size() > numArguments) {
    InFlightDiagnostic diag = forward.emitOpError()
                              << "saves " << savedTypes.size()
                              << " values, but its backward takes "
                              << numArguments << " arguments";
    diag.attachNote(backward.getLoc()) << "the backward is here";
    return diag;
  }
  for (auto [index, type] : llvm::enumerate(savedTypes)) {
    Type argumentType = backward.getArgumentTypes()[index];
    if (argumentType == type)
      continue;
    InFlightDiagnostic diag = forward.emitOpError()
                              << "saves a " << type << " as value " << index
                              << ", but its backward takes a " << argumentType;
    diag.attachNote(backward.getArgument(index).getLoc())
        << "the argument is here";
    return diag;
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Which values
//===----------------------------------------------------------------------===//

namespace {

class CandidateFilter {
public:
  CandidateFilter(func::FuncOp forward, const QuantizationRules &rules)
      : forward(forward), rules(rules), origins(forward.front()) {}

  /// Why `value` is saved as it is; empty if it is to be quantized.
  std::string explainKept(Value value);

private:
  std::string explainOrigin(Value value);
  std::string explainType(RankedTensorType type) const;
  std::string explainSize(RankedTensorType type) const;

  func::FuncOp forward;
  const QuantizationRules &rules;
  ActivationOrigins origins;
};

} // namespace

std::string CandidateFilter::explainOrigin(Value value) {
  auto [argument, isView] = origins.getOrigin(value);
  if (!argument || argument.getOwner() != &forward.front())
    return {};
  unsigned index = argument.getArgNumber();
  auto role = forward.getArgAttrOfType<StringAttr>(index, roleAttrName);
  std::string text = ("argument " + Twine(index)).str();
  if (value != argument)
    text = (isView ? "a view of " : "a copy of ") + text;
  if (!role)
    return "it is " + text + ", which has no role";
  if (role != inputRole)
    return "it is " + text + ", whose role is \"" + role.str() + "\"";
  if (isView && rules.excludePrimals)
    return "it is " + text + ", and primals are excluded";
  return {};
}

std::string CandidateFilter::explainType(RankedTensorType type) const {
  std::string text;
  llvm::raw_string_ostream os(text);
  if (!llvm::is_contained(rules.allowedTypes, type.getElementType()))
    os << "its element type " << type.getElementType() << " is not allowed";
  else if (type.getEncoding())
    os << "its type has the encoding " << type.getEncoding();
  else if (type.getRank() == 0)
    os << "it is a single number";
  return text;
}

std::string CandidateFilter::explainSize(RankedTensorType type) const {
  if (llvm::is_contained(type.getShape(), 0))
    return "it has no elements";
  // What each row saves, if rows have a known length.
  if (rules.useScaling && !type.isDynamicDim(type.getRank() - 1)) {
    auto elementType = cast<FloatType>(type.getElementType());
    int64_t length = type.getShape().back();
    int64_t scaleBytes = getScaleType(elementType).getWidth() / 8;
    int64_t elementBytes = elementType.getWidth() / 8;
    if (length + scaleBytes >= elementBytes * length)
      return ("with a scale, a row of " + Twine(length) +
              " elements takes no less memory")
          .str();
  }
  std::optional<int64_t> bytes = getStaticBytes(type);
  if (!bytes)
    return rules.quantizeDynamicShape ? "" : "its size is not known";
  if (static_cast<double>(*bytes) >= rules.smallestSizeMb * (1 << 20))
    return {};
  std::string text;
  llvm::raw_string_ostream(text)
      << "its " << *bytes << " bytes are less than "
      << llvm::format("%g", rules.smallestSizeMb) << " MiB";
  return text;
}

std::string CandidateFilter::explainKept(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  std::string reason = explainType(type);
  if (reason.empty())
    reason = explainOrigin(value);
  if (reason.empty())
    reason = explainSize(type);
  return reason;
}

static void remarkKept(func::FuncOp forward, unsigned index, Value value,
                       StringRef reason) {
  remark::missed(value.getLoc(),
                 makeRemark("ActivationKept", forward.getSymName()))
      << ("saved value " + Twine(index) + " stays as it is: " + reason).str();
}

//===----------------------------------------------------------------------===//
// The plan
//===----------------------------------------------------------------------===//

FailureOr<PairQuantization>
mlir::commsched::planQuantization(func::FuncOp forward,
                                  const QuantizationRules &rules,
                                  SymbolTable &symbols) {
  FailureOr<func::FuncOp> backward = findBackward(forward, symbols);
  if (failed(backward) || failed(checkBody(forward)) ||
      failed(checkBody(*backward)))
    return failure();
  auto count = forward->getAttrOfType<IntegerAttr>(numForwardOutputsAttrName);
  if (!count)
    return forward.emitOpError() << "has a backward, but no attribute '"
                                 << numForwardOutputsAttrName << "'";

  PairQuantization plan;
  plan.forward = forward;
  plan.backward = *backward;
  plan.numForwardOutputs = count.getInt();
  OperandRange saved =
      forward.front().getTerminator()->getOperands().drop_front(
          plan.numForwardOutputs);
  if (failed(checkSavedTypes(forward, *backward, saved.getTypes())))
    return failure();

  CandidateFilter filter(forward, rules);
  LastUses lastUses(forward.front());
  for (auto [index, value] : llvm::enumerate(saved)) {
    if (isa<ShapedType>(value.getType()))
      plan.firstScale = static_cast<unsigned>(index + 1);
    if (!isa<RankedTensorType>(value.getType()))
      continue;
    std::string reason = filter.explainKept(value);
    if (!reason.empty()) {
      remarkKept(forward, index, value, reason);
      continue;
    }
    plan.activations.push_back(
        {static_cast<unsigned>(index), value, lastUses.getNext(value),
         findFirstUser(plan.backward.getArgument(index))});
  }
  return plan;
}
