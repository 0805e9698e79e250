//===- TargetSpec.cpp - Target specification of a module ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/Analysis/Costs/TargetSpec.h"

#include "CommSched/Analysis/Costs/OperationCosts.h"
#include "CommSched/Dialect/CommSchedAttributes.h"
#include "CommSched/Dialect/CommSchedDialect.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Dialect/DLTI/DLTI.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace mlir::commsched;

using cost::Target;

static constexpr llvm::StringLiteral keyPrefix = "commsched.";
static constexpr llvm::StringLiteral presetKey = "commsched.preset";
/// Of modules that do not name one.
static constexpr llvm::StringLiteral defaultPreset = "h100";
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

/// The JSON value that `attribute` stands for: a dictionary, an array, a
/// string, a flag or a number. Null for any other attribute.
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
  if (auto flag = dyn_cast<BoolAttr>(attribute))
    return flag.getValue();
  if (auto number = dyn_cast<IntegerAttr>(attribute);
      number && number.getValue().isSignedIntN(64))
    return number.getValue().getSExtValue();
  if (std::optional<double> number = getNumber(attribute))
    return *number;
  return nullptr;
}

/// The attribute that stands for `value`; a unit attribute for null.
static Attribute fromJson(Builder &builder, const llvm::json::Value &value) {
  if (const llvm::json::Object *object = value.getAsObject()) {
    SmallVector<NamedAttribute> entries;
    for (const auto &[key, member] : *object)
      entries.emplace_back(builder.getStringAttr(StringRef(key)),
                           fromJson(builder, member));
    return builder.getDictionaryAttr(entries);
  }
  if (const llvm::json::Array *array = value.getAsArray())
    return builder.getArrayAttr(
        llvm::map_to_vector(*array, [&](const llvm::json::Value &entry) {
          return fromJson(builder, entry);
        }));
  if (std::optional<StringRef> text = value.getAsString())
    return builder.getStringAttr(*text);
  if (std::optional<bool> flag = value.getAsBoolean())
    return builder.getBoolAttr(*flag);
  if (std::optional<int64_t> number = value.getAsInteger())
    return builder.getI64IntegerAttr(*number);
  if (std::optional<double> number = value.getAsNumber())
    return builder.getF64FloatAttr(*number);
  return builder.getUnitAttr();
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

FailureOr<Target> mlir::commsched::getTarget(Operation *from) {
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

//===----------------------------------------------------------------------===//
// Facts of a module
//===----------------------------------------------------------------------===//

/// Emits that an option wins over what the module says.
static void remarkReplaced(ModuleOp module, StringRef what, const Twine &text) {
  remark::analysis(module.getLoc(),
                   remark::RemarkOpts::name(what).category("commsched"))
      << (text + ", as the option says").str();
}

/// The entries of `spec` with `value` under `key`.
static SmallVector<DataLayoutEntryInterface>
withEntry(ArrayRef<DataLayoutEntryInterface> entries, StringAttr key,
          Attribute value) {
  SmallVector<DataLayoutEntryInterface> result;
  llvm::copy_if(entries, std::back_inserter(result),
                [&](DataLayoutEntryInterface entry) {
                  return dyn_cast<StringAttr>(entry.getKey()) != key;
                });
  result.push_back(DataLayoutEntryAttr::get(key, value));
  return result;
}

/// Makes `value` that of `key` for the device. Returns what was there, or null.
static Attribute setDeviceKey(ModuleOp module, StringRef key, Attribute value) {
  Builder builder(module.getContext());
  StringAttr device = builder.getStringAttr(targetDeviceName);
  StringAttr name = builder.getStringAttr(key);
  ArrayRef<DataLayoutEntryInterface> devices, fields;
  Attribute known;
  if (TargetSystemSpecInterface system = findSystemSpec(module).second) {
    devices = cast<TargetSystemSpecAttr>(system).getEntries();
    if (auto spec = system.getDeviceSpecForDeviceID(device)) {
      fields = cast<TargetDeviceSpecAttr>(*spec).getEntries();
      if (DataLayoutEntryInterface entry = spec->getSpecForIdentifier(name))
        known = entry.getValue();
    }
  }
  auto spec = TargetDeviceSpecAttr::get(module.getContext(),
                                        withEntry(fields, name, value));
  module->setAttr(DLTIDialect::kTargetSystemDescAttrName,
                  TargetSystemSpecAttr::get(module.getContext(),
                                            withEntry(devices, device, spec)));
  return known;
}

LogicalResult mlir::commsched::setTarget(ModuleOp module, StringRef preset) {
  if (!cost::getTargetPreset(preset))
    return emitError(module.getLoc(), "there is no target '")
           << preset << "'; there are "
           << llvm::join(cost::targetPresetNames(), ", ")
           << ". Another machine is one of them with fields of its own, on the "
              "module: dlti.target_system_spec = "
              "#dlti.target_system_spec<\"GPU\" = #dlti.target_device_spec<"
              "\"commsched.preset\" = \"h100\", \"commsched.memory_gb_s\" = "
              "4000.0>>";
  Attribute value = StringAttr::get(module.getContext(), preset);
  Attribute known = setDeviceKey(module, presetKey, value);
  if (known && known != value) {
    std::string before;
    llvm::raw_string_ostream(before) << known;
    remarkReplaced(module, "TargetReplaced",
                   "the target '" + preset + "' replaces the module's " +
                       before);
  }
  return success();
}

void mlir::commsched::setTargetFields(
    ModuleOp module, ArrayRef<std::pair<StringRef, double>> fields) {
  Builder builder(module.getContext());
  for (auto [field, value] : fields)
    setDeviceKey(module, (keyPrefix + field).str(),
                 builder.getF64FloatAttr(value));
}

FailureOr<std::shared_ptr<const cost::MeasuredTable>>
mlir::commsched::getProfile(Operation *from) {
  using Table = std::shared_ptr<const cost::MeasuredTable>;
  Operation *owner = from;
  while (owner && !owner->hasAttr(profileAttrName))
    owner = owner->getParentOp();
  if (!owner)
    return Table();
  Attribute content = owner->getAttr(profileAttrName);
  auto read = [&]() -> std::shared_ptr<const void> {
    llvm::Expected<cost::MeasuredTable> table =
        cost::MeasuredTable::fromJson(toJson(content));
    if (table)
      return std::make_shared<const cost::MeasuredTable>(std::move(*table));
    emitError(owner->getLoc(), "attribute '")
        << profileAttrName
        << "' cannot be used: " << llvm::toString(table.takeError());
    return nullptr;
  };
  auto *dialect = from->getContext()->getOrLoadDialect<CommSchedDialect>();
  auto table = std::static_pointer_cast<const cost::MeasuredTable>(
      dialect->getOrRead(content, read));
  if (!table)
    return failure();
  return table;
}

LogicalResult mlir::commsched::setProfile(ModuleOp module, StringRef path,
                                          StringRef user) {
  llvm::Expected<llvm::json::Value> content = cost::MeasuredTable::read(path);
  if (!content)
    return emitError(module.getLoc(), "option 'profile' of ")
           << user
           << " cannot be used: " << llvm::toString(content.takeError());
  Builder builder(module.getContext());
  Attribute profile = fromJson(builder, *content);
  auto known = module->getAttrOfType<DictionaryAttr>(profileAttrName);
  if (known && known != profile) {
    auto file = known.getAs<StringAttr>("file");
    remarkReplaced(module, "ProfileReplaced",
                   "the profile '" + path + "' replaces the module's" +
                       (file ? " '" + file.getValue() + "'" : ""));
  }
  module->setAttr(profileAttrName, profile);
  FailureOr<std::shared_ptr<const cost::MeasuredTable>> table =
      getProfile(module);
  if (failed(table))
    return failure();
  const cost::MeasuredOperations *operations = (*table)->getOperations().get();
  if (!attachMeasuredTimes(module, operations))
    emitWarning(module.getLoc(), "the profile '")
        << path
        << "' is of another module: none of the operations that it names, such "
           "as "
        << operations->describeFirstName() << ", is in this one";
  return success();
}

void mlir::commsched::removeTarget(ModuleOp module) {
  StringRef name = DLTIDialect::kTargetSystemDescAttrName;
  auto system = module->getAttrOfType<TargetSystemSpecAttr>(name);
  if (!system)
    return;
  SmallVector<DataLayoutEntryInterface> devices;
  for (DataLayoutEntryInterface device : system.getEntries()) {
    auto spec = dyn_cast<TargetDeviceSpecAttr>(device.getValue());
    if (spec && dyn_cast<StringAttr>(device.getKey()) == targetDeviceName) {
      SmallVector<DataLayoutEntryInterface> others;
      llvm::copy_if(spec.getEntries(), std::back_inserter(others),
                    [](DataLayoutEntryInterface entry) {
                      auto key = dyn_cast<StringAttr>(entry.getKey());
                      return !key || !key.getValue().starts_with(keyPrefix);
                    });
      if (others.empty())
        continue;
      device = DataLayoutEntryAttr::get(
          cast<StringAttr>(device.getKey()),
          TargetDeviceSpecAttr::get(module.getContext(), others));
    }
    devices.push_back(device);
  }
  if (devices.empty())
    module->removeAttr(name);
  else
    module->setAttr(name,
                    TargetSystemSpecAttr::get(module.getContext(), devices));
}

void mlir::commsched::inheritCosts(ModuleOp module, ModuleOp from) {
  for (StringRef name : {StringRef(DLTIDialect::kTargetSystemDescAttrName),
                         StringRef(profileAttrName)}) {
    Attribute value = from->getAttr(name);
    if (!value || module->hasAttr(name))
      continue;
    std::string text;
    llvm::raw_string_ostream(text) << value;
    module->setAttr(name, parseAttribute(text, module.getContext()));
  }
}
