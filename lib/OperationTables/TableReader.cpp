//===- TableReader.cpp - Reads tables of operations -----------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/OperationTables/OperationTable.h"

#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace mlir::commsched;

namespace mlir::commsched {

/// Reads the JSON of one table. Functions return false after an error.
class TableReader {
public:
  TableReader(StringRef fileName) : fileName(fileName) {}

  Result<std::shared_ptr<const OperationTable>> read(StringRef text);

private:
  bool fail(const Twine &message);
  bool readTable(const llvm::json::Object &object);
  bool readStrings(const llvm::json::Value &value,
                   std::vector<std::string> &strings);
  bool readOperation(const llvm::json::Value &value);
  bool readField(StringRef field, const llvm::json::Value &value,
                 OperationEntry &entry);
  bool readTraits(const llvm::json::Value &value, OperationTraits &traits);
  bool readEffects(const llvm::json::Value &value, OperationEntry &entry);

  std::string fileName;
  /// Where the reader is: an operation and a field.
  std::string operation, field;
  std::string error;
  std::shared_ptr<OperationTable> table = std::make_shared<OperationTable>();
};

} // namespace mlir::commsched

bool TableReader::fail(const Twine &message) {
  error = fileName + ": ";
  if (!operation.empty())
    error += operation + ": ";
  if (!field.empty())
    error += "field '" + field + "': ";
  error += message.str();
  return false;
}

bool TableReader::readStrings(const llvm::json::Value &value,
                              std::vector<std::string> &strings) {
  const llvm::json::Array *array = value.getAsArray();
  if (!array)
    return fail("expected an array of strings");
  for (const llvm::json::Value &element : *array) {
    std::optional<StringRef> string = element.getAsString();
    if (!string || string->empty())
      return fail("expected an array of non-empty strings");
    strings.push_back(string->str());
  }
  return true;
}

bool TableReader::readTraits(const llvm::json::Value &value,
                             OperationTraits &traits) {
  std::vector<std::string> names;
  if (!readStrings(value, names))
    return false;
  for (StringRef name : names) {
    bool *trait = llvm::StringSwitch<bool *>(name)
                      .Case("terminator", &traits.isTerminator)
                      .Case("return", &traits.isReturn)
                      .Case("elementwise", &traits.isElementwise)
                      .Case("isolated", &traits.isIsolated)
                      .Case("recursive_effects", &traits.hasRecursiveEffects)
                      .Default(nullptr);
    if (!trait)
      return fail("unknown trait '" + name +
                  "'; known are terminator, return, elementwise, isolated and "
                  "recursive_effects");
    *trait = true;
  }
  if (traits.isReturn)
    traits.isTerminator = true;
  return true;
}

bool TableReader::readEffects(const llvm::json::Value &value,
                              OperationEntry &entry) {
  std::optional<StringRef> name = value.getAsString();
  auto effect =
      llvm::StringSwitch<std::optional<OperationEffect>>(name.value_or(""))
          .Case("none", OperationEffect::None)
          .Case("communication", OperationEffect::Communication)
          .Case("random", OperationEffect::Random)
          .Case("unknown", OperationEffect::Unknown)
          .Default(std::nullopt);
  if (!effect)
    return fail("expected one of none, communication, random and unknown");
  entry.effect = *effect;
  return true;
}

bool TableReader::readField(StringRef name, const llvm::json::Value &value,
                            OperationEntry &entry) {
  if (name == "names")
    return true;
  if (name == "traits")
    return readTraits(value, entry.traits);
  if (name == "effects")
    return readEffects(value, entry);
  if (name == "constant") {
    entry.traits.constantAttr = value.getAsString().value_or("").str();
    return !entry.traits.constantAttr.empty() ||
           fail("expected the name of an attribute");
  }
  return fail("unknown field");
}

bool TableReader::readOperation(const llvm::json::Value &value) {
  const llvm::json::Object *object = value.getAsObject();
  const llvm::json::Value *names = object ? object->get("names") : nullptr;
  if (!names)
    return fail("expected an object with a field 'names'");
  field = "names";
  std::vector<std::string> fullNames;
  if (!readStrings(*names, fullNames))
    return false;
  if (fullNames.empty())
    return fail("expected at least one name");
  operation = "operation '" + fullNames.front() + "'";

  OperationEntry entry;
  for (const auto &[key, fieldValue] : *object) {
    field = key.str();
    if (!readField(field, fieldValue, entry))
      return false;
  }
  field = "names";
  for (StringRef name : fullNames) {
    if (!llvm::is_contained(table->dialects, name.split('.').first) ||
        name.split('.').second.empty())
      return fail("'" + name + "' is not in one of the table's dialects");
    entry.name = name.str();
    table->entries.push_back(entry);
  }
  return true;
}

bool TableReader::readTable(const llvm::json::Object &object) {
  for (const auto &[key, value] : object) {
    StringRef name = key;
    if (name != "version" && name != "dialects" && name != "operations") {
      field = name.str();
      return fail("unknown field");
    }
  }
  field = "version";
  if (object.getInteger("version") != 1)
    return fail("expected 1");
  field = "dialects";
  const llvm::json::Value *dialects = object.get("dialects");
  if (!dialects || !readStrings(*dialects, table->dialects))
    return dialects ? false : fail("expected an array of namespaces");
  field = "operations";
  const llvm::json::Array *operations = object.getArray("operations");
  if (!operations)
    return fail("expected an array");
  for (const auto &[index, value] : llvm::enumerate(*operations)) {
    operation = ("operations[" + Twine(index) + "]").str();
    field.clear();
    if (!readOperation(value))
      return false;
  }
  return true;
}

Result<std::shared_ptr<const OperationTable>>
TableReader::read(StringRef text) {
  llvm::Expected<llvm::json::Value> value = llvm::json::parse(text);
  if (!value)
    return Error{fileName + ": " + llvm::toString(value.takeError())};
  const llvm::json::Object *object = value->getAsObject();
  if (!object)
    return Error{fileName + ": expected an object"};
  if (!readTable(*object))
    return Error{error};
  return std::shared_ptr<const OperationTable>(std::move(table));
}

Result<std::shared_ptr<const OperationTable>>
OperationTable::parse(StringRef text, StringRef fileName) {
  return TableReader(fileName).read(text);
}
