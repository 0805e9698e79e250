//===- TargetSpec.cpp - Target specification of a module ------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Analysis/Costs/TargetSpec.h"

#include "mlir/Dialect/DLTI/DLTI.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace mlir::commsched;

using cost::Target;

static constexpr llvm::StringLiteral keyPrefix = "commsched.";
static constexpr llvm::StringLiteral presetKey = "commsched.preset";
static constexpr llvm::StringLiteral implementationsKey =
    "commsched.implementations";

/// The nearest operation around `from` that has a target system specification,
/// and that specification; nulls when there is none.
static std::pair<Operation *, TargetSystemSpecInterface>
findSystemSpec(Operation *from) {
  for (Operation *op = from; op; op = op->getParentOp())
    if (auto spec = op->getAttrOfType<TargetSystemSpecInterface>(
            DLTIDialect::kTargetSystemDescAttrName))
      return {op, spec};
  return {nullptr, nullptr};
}

/// The number that `value` holds; none for any other attribute.
static std::optional<double> getNumber(Attribute value) {
  if (auto number = dyn_cast<FloatAttr>(value))
    return number.getValueAsDouble();
  if (auto flag = dyn_cast<BoolAttr>(value))
    return flag.getValue() ? 1 : 0;
  if (auto number = dyn_cast<IntegerAttr>(value))
    return number.getValue().roundToDouble(
        /*isSigned=*/!number.getType().isUnsignedInteger());
  return std::nullopt;
}

static LogicalResult setPreset(Operation *owner, Attribute value,
                               Target &target) {
  auto name = dyn_cast<StringAttr>(value);
  if (!name)
    return emitError(owner->getLoc(), "target key '")
           << presetKey << "' must be a string, not " << value;
  std::optional<Target> preset = cost::getTargetPreset(name.getValue());
  if (!preset)
    return emitError(owner->getLoc(), "target key '")
           << presetKey << "' names the unknown preset '" << name.getValue()
           << "'; there are " << llvm::join(cost::targetPresetNames(), ", ");
  target = *preset;
  return success();
}

static LogicalResult setOverride(Operation *owner, StringRef key,
                                 Attribute value, Target &target) {
  StringRef field = key.drop_front(keyPrefix.size());
  if (!target.getField(field))
    return emitError(owner->getLoc(), "unknown target key '")
           << key << "' with the value " << value;
  std::optional<double> number = getNumber(value);
  if (!number)
    return emitError(owner->getLoc(), "target key '")
           << key << "' must be a number, not " << value;
  if (llvm::Error error = target.setField(field, *number))
    return emitError(owner->getLoc(), "target key '")
           << key << "' cannot be " << value << ": "
           << llvm::toString(std::move(error));
  return success();
}

/// The JSON value that `attribute` stands for: a dictionary, an array, a string
/// or a number. Null for any other attribute.
static llvm::json::Value toJson(Attribute attribute) {
  if (auto dictionary = dyn_cast<DictionaryAttr>(attribute)) {
    llvm::json::Object object;
    for (NamedAttribute entry : dictionary)
      object[entry.getName().getValue()] = toJson(entry.getValue());
    return object;
  }
  if (auto array = dyn_cast<ArrayAttr>(attribute)) {
    llvm::json::Array list;
    for (Attribute entry : array)
      list.push_back(toJson(entry));
    return list;
  }
  if (auto text = dyn_cast<StringAttr>(attribute))
    return text.getValue();
  if (auto number = dyn_cast<IntegerAttr>(attribute);
      number && number.getValue().isSignedIntN(64))
    return number.getValue().getSExtValue();
  if (std::optional<double> number = getNumber(attribute))
    return *number;
  return nullptr;
}

static LogicalResult setImplementations(Operation *owner, Attribute value,
                                        Target &target) {
  llvm::Expected<cost::Implementations> parsed =
      cost::Implementations::parse(toJson(value));
  if (!parsed)
    return emitError(owner->getLoc(), "target key '")
           << implementationsKey << "': " << llvm::toString(parsed.takeError());
  target.implementations = std::move(*parsed);
  return success();
}

FailureOr<Target> mlir::commsched::getTarget(Operation *from,
                                             StringRef defaultPreset) {
  Target target = *cost::getTargetPreset(defaultPreset);
  auto [owner, system] = findSystemSpec(from);
  if (!system)
    return target;
  std::optional<TargetDeviceSpecInterface> device =
      system.getDeviceSpecForDeviceID(
          StringAttr::get(from->getContext(), targetDeviceName));
  if (!device)
    return target;

  // The preset comes first, wherever it stands.
  auto presetEntry = device->getSpecForIdentifier(
      StringAttr::get(from->getContext(), presetKey));
  if (presetEntry && failed(setPreset(owner, presetEntry.getValue(), target)))
    return failure();
  for (DataLayoutEntryInterface entry : device->getEntries()) {
    auto key = dyn_cast<StringAttr>(entry.getKey());
    if (!key || !key.getValue().starts_with(keyPrefix) ||
        key.getValue() == presetKey)
      continue;
    if (key.getValue() == implementationsKey) {
      if (failed(setImplementations(owner, entry.getValue(), target)))
        return failure();
      continue;
    }
    if (failed(setOverride(owner, key.getValue(), entry.getValue(), target)))
      return failure();
  }
  return target;
}
