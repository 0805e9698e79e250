//===- ReorderInfo.cpp - What a pass did to a collective --------------------
//===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ReorderInfo.h"
#include "CommSched/Dialect/CommSchedAttributes.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace mlir::commsched;

namespace {

/// A key of `commsched.reorder_info` with a number.
struct ReorderNumber {
  StringLiteral key;
  int64_t ReorderInfo::*member;
  bool mayBeNegative;
};

/// A key of `commsched.reorder_info` with a text.
struct ReorderText {
  StringLiteral key;
  std::string ReorderInfo::*member;
};

} // namespace

static constexpr ReorderNumber reorderNumbers[] = {
    {"comm_ns", &ReorderInfo::commNs, false},
    {"compute_ns", &ReorderInfo::computeNs, false},
    {"exposed_before_ns", &ReorderInfo::exposedBeforeNs, true},
    {"exposed_after_ns", &ReorderInfo::exposedAfterNs, true},
    {"moves", &ReorderInfo::moves, false},
    {"grouped", &ReorderInfo::grouped, false}};
static constexpr ReorderText reorderTexts[] = {
    {"limiting_factor", &ReorderInfo::limitingFactor},
    {"pass", &ReorderInfo::pass}};

std::optional<ReorderInfo> mlir::commsched::getReorderInfo(Operation *op) {
  auto dict = dyn_cast_if_present<DictionaryAttr>(
      op->getDiscardableAttr(reorderInfoAttrName));
  if (!dict)
    return std::nullopt;
  ReorderInfo info;
  for (const ReorderNumber &number : reorderNumbers)
    info.*number.member = dict.getAs<IntegerAttr>(number.key).getInt();
  for (const ReorderText &text : reorderTexts)
    info.*text.member = dict.getAs<StringAttr>(text.key).str();
  return info;
}

void mlir::commsched::setReorderInfo(Operation *op, const ReorderInfo &info) {
  Builder builder(op->getContext());
  NamedAttrList entries;
  for (const ReorderNumber &number : reorderNumbers)
    entries.set(number.key, builder.getI64IntegerAttr(info.*number.member));
  for (const ReorderText &text : reorderTexts)
    entries.set(text.key, builder.getStringAttr(info.*text.member));
  op->setDiscardableAttr(reorderInfoAttrName,
                         entries.getDictionary(op->getContext()));
}

LogicalResult mlir::commsched::verifyInteger(Operation *op, const Twine &what,
                                             Attribute attr,
                                             bool mayBeNegative) {
  auto value = dyn_cast<IntegerAttr>(attr);
  if (!value || !value.getType().isSignlessInteger(64))
    return op->emitOpError() << what << " must be an i64, not " << attr;
  if (!mayBeNegative && value.getValue().isNegative())
    return op->emitOpError()
           << what << " must not be negative, but is " << value.getInt();
  return success();
}

/// Checks the keys. On which operations they are is not looked at: whether one
/// is a collective depends on the external models that the tool registers.
LogicalResult mlir::commsched::verifyReorderInfo(Operation *op,
                                                 NamedAttribute attr) {
  auto dict = dyn_cast<DictionaryAttr>(attr.getValue());
  if (!dict)
    return op->emitOpError()
           << "attribute '" << attr.getName().getValue()
           << "' must be a dictionary, not " << attr.getValue();
  auto lacks = [&](StringRef key) {
    return op->emitOpError() << "attribute '" << attr.getName().getValue()
                             << "' lacks the key '" << key << "'";
  };
  auto describe = [&](StringRef key) {
    return ("key '" + key + "' of attribute '" + attr.getName().getValue() +
            "'")
        .str();
  };
  for (const ReorderNumber &number : reorderNumbers) {
    Attribute value = dict.get(number.key);
    if (!value)
      return lacks(number.key);
    if (failed(verifyInteger(op, describe(number.key), value,
                             number.mayBeNegative)))
      return failure();
  }
  for (const ReorderText &text : reorderTexts) {
    Attribute value = dict.get(text.key);
    if (!value)
      return lacks(text.key);
    if (!isa<StringAttr>(value))
      return op->emitOpError()
             << describe(text.key) << " must be a string, not " << value;
  }
  auto isKnown = [](StringRef key) {
    auto hasKey = [&](const auto &known) { return known.key == key; };
    return llvm::any_of(reorderNumbers, hasKey) ||
           llvm::any_of(reorderTexts, hasKey);
  };
  for (NamedAttribute entry : dict)
    if (!isKnown(entry.getName()))
      return op->emitOpError()
             << "attribute '" << attr.getName().getValue()
             << "' has the unknown key '" << entry.getName().getValue() << "'";
  return success();
}
