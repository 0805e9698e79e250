//===- ReorderInfo.cpp - Accounts of reordering passes --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "AttributeChecks.h"
#include "CommSched/Dialect/CommSchedAttributes.h"
#include "mlir/IR/Builders.h"
#include "llvm/Support/JSON.h"

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
  bool isOptional = false;
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
    {"pass", &ReorderInfo::pass},
    {"moves_info", &ReorderInfo::movesInfo, true},
    {"overlap_info", &ReorderInfo::overlapInfo, true}};

std::optional<ReorderInfo> mlir::commsched::getReorderInfo(Operation *op) {
  auto dict = dyn_cast_if_present<DictionaryAttr>(
      op->getDiscardableAttr(reorderInfoAttrName));
  if (!dict)
    return std::nullopt;
  ReorderInfo info;
  for (const ReorderNumber &number : reorderNumbers)
    info.*number.member = dict.getAs<IntegerAttr>(number.key).getInt();
  for (const ReorderText &text : reorderTexts)
    if (auto value = dict.getAs<StringAttr>(text.key))
      info.*text.member = value.str();
  return info;
}

void mlir::commsched::setReorderInfo(Operation *op, const ReorderInfo &info) {
  Builder builder(op->getContext());
  NamedAttrList entries;
  for (const ReorderNumber &number : reorderNumbers)
    entries.set(number.key, builder.getI64IntegerAttr(info.*number.member));
  for (const ReorderText &text : reorderTexts)
    if (!text.isOptional || !(info.*text.member).empty())
      entries.set(text.key, builder.getStringAttr(info.*text.member));
  op->setDiscardableAttr(reorderInfoAttrName,
                         entries.getDictionary(op->getContext()));
}

void mlir::commsched::printReorderInfo(const ReorderInfo &info,
                                       llvm::json::OStream &stream) {
  for (const ReorderNumber &number : reorderNumbers)
    stream.attribute(number.key, info.*number.member);
  for (const ReorderText &text : reorderTexts)
    if (!text.isOptional || !(info.*text.member).empty())
      stream.attribute(text.key, info.*text.member);
}

LogicalResult commsched::detail::verifyReorderInfo(Operation *op,
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
    if (!value && text.isOptional)
      continue;
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
