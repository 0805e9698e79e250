//===- TableReader.cpp - Reads tables of operations -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "FieldReader.h"

#include "CommSched/OperationTables/OperationTable.h"
#include "CommSched/Support/Json.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace mlir;
using namespace mlir::commsched;

using Value = llvm::json::Value;

namespace mlir::commsched {

/// Reads the JSON of one table. Functions return false after an error.
class TableReader : detail::FieldReader {
public:
  explicit TableReader(StringRef fileName) : FieldReader(fileName) {}

  Result<std::shared_ptr<const OperationTable>> read(StringRef text);

private:
  using FieldReader::read;

  bool readTable(const Value &value);
  bool readOperations(const Value &value);
  /// {"class": ["operator", …]}.
  bool readOperators(const Value &value);
  bool readOperation(const Value &value);
  bool addEntry(const std::vector<std::string> &names, OperationEntry entry);

  /// Names without a condition, names with one, and both, to find doubles.
  llvm::StringSet<> unconditional, conditional;
  llvm::StringMap<std::string> conditionOf;
  std::shared_ptr<OperationTable> table = std::make_shared<OperationTable>();
};

} // namespace mlir::commsched

bool TableReader::addEntry(const std::vector<std::string> &names,
                           OperationEntry entry) {
  for (const std::string &name : names) {
    auto [dialect, rest] = StringRef(name).split('.');
    if (!llvm::is_contained(table->dialects, dialect) || rest.empty())
      return fail("'" + name + "' is in none of the table's dialects");
    std::string &condition =
        conditionOf.try_emplace(name, entry.whereAttr).first->second;
    if (entry.whereAttr.empty()) {
      if (!unconditional.insert(name).second)
        return fail("'" + name + "' is described twice");
    } else {
      if (condition.empty())
        condition = entry.whereAttr;
      if (condition != entry.whereAttr)
        return fail("'" + name + "' depends on '" + condition + "' and on '" +
                    entry.whereAttr +
                    "', and can depend on one attribute only");
      for (StringRef value : entry.whereValues)
        if (!conditional.insert((name + " " + value).str()).second)
          return fail("'" + name + "' is described twice where '" + condition +
                      "' is '" + value + "'");
    }
    entry.name = name;
    table->entries.push_back(entry);
  }
  return true;
}

bool TableReader::readOperation(const Value &value) {
  std::vector<std::string> names;
  OperationEntry entry;
  const llvm::json::Object *object = value.getAsObject();
  if (!object || !object->get("names"))
    return fail("expected an object with the field 'names'");
  if (const llvm::json::Array *array = object->getArray("names"))
    if (!array->empty() && array->front().getAsString())
      setItem("operation '" + *array->front().getAsString() + "'");
  Field fields[] = {
      field("names", names),
      {"where", [&](const Value &it) { return readWhere(it, entry); }},
      {"traits", [&](const Value &it) { return readTraits(it, entry.traits); }},
      field("constant", entry.traits.constantAttr),
      {"effects",
       [&](const Value &it) { return readEffects(it, entry.effects); }},
      {"collective",
       [&](const Value &it) {
         return readCollective(it, entry.collective.emplace());
       }},
      {"wait",
       [&](const Value &it) { return read(it, entry.waitedFuture.emplace()); }},
      {"alias", [&](const Value &it) { return readAlias(it, entry); }},
      field("alias_in_place", entry.aliasesInPlace),
      {"cost",
       [&](const Value &it) { return readCost(it, entry.cost.emplace()); }},
      {"class",
       [&](const Value &it) {
         return readClass(it, entry.operatorClass.emplace());
       }},
      {"split", [&](const Value &it) { return readSplit(it, entry); }},
      {"regions", [&](const Value &it) {
         return readRegions(it, entry.regions.emplace());
       }}};
  if (!readObject(value, fields))
    return false;
  if (names.empty())
    return fail("expected at least one name");
  if (entry.collective && entry.waitedFuture)
    return fail("an operation cannot be a collective and a wait");
  bool canSplit = entry.splitsElementwise || !entry.splits.empty();
  if (canSplit && (entry.collective || entry.waitedFuture ||
                   entry.effects.kind != EffectEntry::Kind::None))
    return fail("'split' needs \"effects\": \"none\", and neither "
                "'collective' nor 'wait'");
  bool hasTraits = entry.traits.isTerminator || entry.traits.isIsolated ||
                   !entry.traits.constantAttr.empty();
  if (hasTraits && !entry.whereAttr.empty())
    return fail("traits cannot depend on an attribute");
  return addEntry(names, std::move(entry));
}

bool TableReader::readOperations(const Value &value) {
  size_t index = 0;
  return readArray(value, "operations", [&](const Value &element) {
    setItem("operation " + Twine(index++));
    return readOperation(element);
  });
}

bool TableReader::readOperators(const Value &value) {
  return readMap(value, [&](StringRef kind, const Value &names) {
    OperatorClass known;
    std::vector<std::string> list;
    if (!readClass(Value(kind), known) || !read(names, list))
      return false;
    for (const std::string &name : list)
      if (!table->operators.try_emplace(name, known).second)
        return fail("the operator '" + name + "' has two classes");
    return true;
  });
}

bool TableReader::readTable(const Value &value) {
  const llvm::json::Object *object = value.getAsObject();
  // The version decides what the other fields mean, and names need dialects.
  const Value *version = object ? object->get("version") : nullptr;
  if (!version || version->getAsInteger() != 1)
    return fail("expected an object with the field 'version': 1");
  const Value *dialects = object->get("dialects");
  if (!dialects || !read(*dialects, table->dialects))
    return fail("expected an array of namespaces in the field 'dialects'");
  const Value *operations = object->get("operations");
  if (!operations)
    return fail("expected an array in the field 'operations'");
  Field fields[] = {
      {"version", [](const Value &) { return true; }},
      {"dialects", [](const Value &) { return true; }},
      {"operations", [](const Value &) { return true; }},
      {"operators", [&](const Value &it) { return readOperators(it); }},
      field("lenient", table->lenient),
      field("devices", table->devices),
      field("mutable_types", table->mutableTypes),
      {"reductions",
       [&](const Value &it) {
         return readMap(it, [&](StringRef name, const Value &kind) {
           return readReductionKind(kind, table->reductions[name]);
         });
       }},
      {"types", [&](const Value &it) {
         return readMap(it, [&](StringRef name, const Value &form) {
           std::pair<StringLiteral, bool> forms[] = {{"builtin", false},
                                                     {"list", true}};
           TensorTypeEntry entry;
           entry.name = name.str();
           if (!readName<bool>(form, forms, entry.isList))
             return false;
           table->tensorTypes.push_back(entry);
           return true;
         });
       }}};
  return readObject(value, fields) && readOperations(*operations);
}

Result<std::shared_ptr<const OperationTable>>
TableReader::read(StringRef text) {
  llvm::Expected<Value> value = parseJson(text);
  if (!value) {
    fail(llvm::toString(value.takeError()));
    return Error{getError()};
  }
  if (!readTable(*value))
    return Error{getError()};
  return std::shared_ptr<const OperationTable>(std::move(table));
}

Result<std::shared_ptr<const OperationTable>>
OperationTable::parse(StringRef text, StringRef fileName) {
  return TableReader(fileName).read(text);
}

Result<std::shared_ptr<const OperationTable>>
OperationTable::read(StringRef path) {
  llvm::ErrorOr<std::unique_ptr<llvm::MemoryBuffer>> buffer =
      llvm::MemoryBuffer::getFile(path);
  if (!buffer)
    return Error{"cannot read '" + path.str() +
                 "': " + buffer.getError().message()};
  return parse((*buffer)->getBuffer(), path);
}

std::optional<ReductionKind>
OperationTable::getReduction(StringRef name) const {
  auto it = reductions.find(name);
  return it == reductions.end() ? std::nullopt : std::optional(it->second);
}
