//===- TableReader.cpp - Reads tables of operations -----------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "JsonReader.h"

#include "CommSched/OperationTables/OperationTable.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace mlir;
using namespace mlir::commsched;

using Value = llvm::json::Value;

namespace mlir::commsched {

/// Reads the JSON of one table. Functions return false after an error.
class TableReader : detail::JsonReader {
public:
  explicit TableReader(StringRef fileName) : JsonReader(fileName) {}

  Result<std::shared_ptr<const OperationTable>> read(StringRef text);

private:
  using JsonReader::read;

  bool readTable(const Value &value);
  bool readOperations(const Value &value);
  bool readOperation(const Value &value);
  bool addEntry(const std::vector<std::string> &names, OperationEntry entry);

  bool readTraits(const Value &value, OperationTraits &traits);
  bool readWhere(const Value &value, OperationEntry &entry);
  bool readEffects(const Value &value, EffectEntry &effects);
  bool readOperandList(const Value &value, std::vector<int64_t> &operands);
  bool readSource(const Value &value, ValueSource &source);
  bool readSelection(const Value &value, OperandSelection &selection);
  bool readCollective(const Value &value, CollectiveEntry &collective);
  bool readKind(const Value &value, CollectiveEntry &collective);
  bool readReduction(const Value &value, CollectiveEntry &collective);
  bool readReductionKind(const Value &value, ReductionKind &kind);
  bool checkCollective(const CollectiveEntry &collective);
  bool readAlias(const Value &value, OperationEntry &entry);
  bool readCost(const Value &value, CostEntry &cost);
  bool readFlops(const Value &value, CostEntry &cost);
  bool readClass(const Value &value, OperationEntry &entry);
  bool readRegions(const Value &value, RegionEntry &regions);

  /// Names without a condition, names with one, and both, to find doubles.
  llvm::StringSet<> unconditional, conditional;
  llvm::StringMap<std::string> conditionOf;
  std::shared_ptr<OperationTable> table = std::make_shared<OperationTable>();
};

} // namespace mlir::commsched

//===----------------------------------------------------------------------===//
// Fields of operations
//===----------------------------------------------------------------------===//

bool TableReader::readTraits(const Value &value, OperationTraits &traits) {
  const llvm::json::Array *array = value.getAsArray();
  if (!array)
    return fail("expected an array of traits, not " + describe(value));
  using Trait = bool OperationTraits::*;
  std::pair<StringLiteral, Trait> names[] = {
      {"elementwise", &OperationTraits::isElementwise},
      {"isolated", &OperationTraits::isIsolated},
      {"recursive_effects", &OperationTraits::hasRecursiveEffects},
      {"return", &OperationTraits::isReturn},
      {"terminator", &OperationTraits::isTerminator}};
  for (const Value &element : *array) {
    Trait trait;
    if (!readName<Trait>(element, names, trait))
      return false;
    traits.*trait = true;
  }
  traits.isTerminator |= traits.isReturn;
  return true;
}

bool TableReader::readWhere(const Value &value, OperationEntry &entry) {
  const llvm::json::Object *object = value.getAsObject();
  if (!object || object->size() != 1)
    return fail("expected an object with one attribute and its values");
  return readMap(value, [&](StringRef key, const Value &values) {
    entry.whereAttr = key.str();
    if (values.getAsString())
      return read(values, entry.whereValues.emplace_back());
    return read(values, entry.whereValues) &&
           (!entry.whereValues.empty() || fail("expected at least one value"));
  });
}

bool TableReader::readOperandList(const Value &value,
                                  std::vector<int64_t> &operands) {
  const llvm::json::Array *array = value.getAsArray();
  if (!array)
    return fail("expected an array of operand numbers, not " + describe(value));
  for (const Value &element : *array)
    if (!read(element, operands.emplace_back()))
      return false;
  return true;
}

bool TableReader::readEffects(const Value &value, EffectEntry &effects) {
  using Kind = EffectEntry::Kind;
  if (!value.getAsObject()) {
    std::pair<StringLiteral, Kind> names[] = {
        {"none", Kind::None},
        {"communication", Kind::Communication},
        {"random", Kind::Random},
        {"unknown", Kind::Unknown}};
    return readName<Kind>(value, names, effects.kind);
  }
  effects.kind = Kind::Memory;
  Field fields[] = {
      {"reads",
       [&](const Value &list) { return readOperandList(list, effects.reads); }},
      {"writes",
       [&](const Value &list) {
         return readOperandList(list, effects.writes);
       }},
      {"unless",
       [&](const Value &name) { return read(name, effects.unlessAttr); }}};
  return readObject(value, fields);
}

bool TableReader::readSource(const Value &value, ValueSource &source) {
  if (value.getAsString())
    return read(value, source.attribute);
  if (value.getAsInteger())
    return read(value, source.number.emplace(), /*least=*/1);
  Field fields[] = {
      {"attribute",
       [&](const Value &name) { return read(name, source.attribute); }},
      {"operand",
       [&](const Value &number) { return read(number, source.operand); }}};
  if (!readObject(value, fields))
    return false;
  return source || fail("expected an attribute or an operand");
}

bool TableReader::readSelection(const Value &value,
                                OperandSelection &selection) {
  selection = OperandSelection();
  Field fields[] = {
      {"first",
       [&](const Value &number) { return read(number, selection.first); }},
      {"count",
       [&](const Value &number) { return read(number, selection.count); }}};
  return readObject(value, fields);
}

bool TableReader::readKind(const Value &value, CollectiveEntry &collective) {
  std::optional<StringRef> text = value.getAsString();
  if (text == StringRef("body"))
    return true;
  collective.kind = symbolizeCollectiveKind(text.value_or(""));
  if (collective.kind)
    return true;
  std::string known = "'body'";
  for (CollectiveKind kind : allCollectiveKinds)
    known += (", '" + stringifyCollectiveKind(kind) + "'").str();
  return fail("expected one of " + known + ", not " + describe(value));
}

bool TableReader::readReductionKind(const Value &value, ReductionKind &kind) {
  std::optional<ReductionKind> known =
      symbolizeReductionKind(value.getAsString().value_or(""));
  if (!known)
    return fail("expected one of 'sum', 'avg', 'prod', 'min', 'max', 'band', "
                "'bor', 'bxor', not " +
                describe(value));
  kind = *known;
  return true;
}

bool TableReader::readReduction(const Value &value,
                                CollectiveEntry &collective) {
  if (!value.getAsObject())
    return readReductionKind(value, collective.reduction.emplace());
  Field fields[] = {{"region",
                     [&](const Value &number) {
                       return read(number, collective.reductionRegion);
                     }},
                    {"attribute",
                     [&](const Value &name) {
                       return read(name, collective.reductionName.attribute);
                     }},
                    {"operand", [&](const Value &number) {
                       return read(number, collective.reductionName.operand);
                     }}};
  return readObject(value, fields);
}

bool TableReader::checkCollective(const CollectiveEntry &collective) {
  bool isBody = !collective.kind;
  if (isBody && collective.future < 0)
    return fail("an operation that starts the collective of its body needs "
                "the field 'future'");
  if (!isBody && !collective.group)
    return fail("a collective needs the field 'group'");
  if (collective.isVariadic && collective.future >= 0 &&
      (collective.futureType.empty() || collective.wait.empty()))
    return fail("a variadic collective with a future needs the fields "
                "'future_type' and 'wait'");
  return true;
}

bool TableReader::readCollective(const Value &value,
                                 CollectiveEntry &collective) {
  std::pair<StringLiteral, GroupForm> forms[] = {{"rows", GroupForm::Rows},
                                                 {"pairs", GroupForm::Pairs},
                                                 {"name", GroupForm::Name}};
  CollectiveEntry &to = collective;
  Field fields[] = {
      {"kind", [&](const Value &it) { return readKind(it, to); }},
      {"group", [&](const Value &it) { return readSource(it, to.group); }},
      {"group_form",
       [&](const Value &it) {
         return readName<GroupForm>(it, forms, to.groupForm);
       }},
      {"group_modes", [&](const Value &it) { return read(it, to.groupModes); }},
      {"group_size",
       [&](const Value &it) { return readSource(it, to.groupSize); }},
      {"reduction", [&](const Value &it) { return readReduction(it, to); }},
      {"future", [&](const Value &it) { return read(it, to.future); }},
      {"sent", [&](const Value &it) { return readSelection(it, to.sent); }},
      {"destinations",
       [&](const Value &it) { return readSelection(it, to.destinations); }},
      {"variadic", [&](const Value &it) { return read(it, to.isVariadic); }},
      {"future_type", [&](const Value &it) { return read(it, to.futureType); }},
      {"wait", [&](const Value &it) { return read(it, to.wait); }},
      {"may_differ", [&](const Value &it) { return read(it, to.ignored); }}};
  if (!readObject(value, fields))
    return false;
  if (!value.getAsObject()->get("kind"))
    return fail("a collective needs the field 'kind'");
  return checkCollective(collective);
}

bool TableReader::readAlias(const Value &value, OperationEntry &entry) {
  if (value.getAsString() == StringRef("all")) {
    entry.aliases = {-2};
    return true;
  }
  const llvm::json::Array *array = value.getAsArray();
  if (!array || array->empty())
    return fail("expected 'all', or for each result the number of an operand "
                "or null, not " +
                describe(value));
  for (const Value &element : *array) {
    entry.aliases.push_back(-1);
    if (!element.getAsNull() && !read(element, entry.aliases.back()))
      return false;
  }
  // Results beyond the list have storage of their own.
  entry.aliases.push_back(-1);
  return true;
}

bool TableReader::readFlops(const Value &value, CostEntry &cost) {
  if (value.getAsString() == StringRef("body")) {
    cost.flops = -1;
    return true;
  }
  std::optional<double> number = value.getAsNumber();
  if (!number || *number < 0)
    return fail("expected 'body' or a number that is not negative, not " +
                describe(value));
  cost.flops = *number;
  return true;
}

bool TableReader::readCost(const Value &value, CostEntry &cost) {
  std::pair<StringLiteral, CostRule> rules[] = {
      {"free", CostRule::Free},
      {"bytes", CostRule::Bytes},
      {"results", CostRule::Results},
      {"selection", CostRule::Selection},
      {"update", CostRule::Update},
      {"elementwise", CostRule::Elementwise},
      {"reduction", CostRule::Reduction},
      {"window", CostRule::Window},
      {"contraction", CostRule::Contraction},
      {"matrix_product", CostRule::MatrixProduct},
      {"convolution", CostRule::Convolution},
      {"attention", CostRule::Attention},
      {"sort", CostRule::Sort},
      {"fft", CostRule::Fft},
      {"cholesky", CostRule::Cholesky},
      {"triangular_solve", CostRule::TriangularSolve}};
  if (value.getAsString()) {
    if (!readName<CostRule>(value, rules, cost.rule))
      return false;
  } else {
    Field fields[] = {
        {"rule",
         [&](const Value &it) {
           return readName<CostRule>(it, rules, cost.rule);
         }},
        {"attribute",
         [&](const Value &it) { return read(it, cost.attribute); }},
        {"operand", [&](const Value &it) { return read(it, cost.operand); }},
        {"flops", [&](const Value &it) { return readFlops(it, cost); }}};
    if (!readObject(value, fields))
      return false;
    if (!value.getAsObject()->get("rule"))
      return fail("a cost needs the field 'rule'");
  }
  bool needsAttribute = cost.rule == CostRule::Contraction ||
                        cost.rule == CostRule::Window ||
                        cost.rule == CostRule::Fft;
  if (needsAttribute && cost.attribute.empty())
    return fail("the rule needs the field 'attribute'");
  return true;
}

bool TableReader::readClass(const Value &value, OperationEntry &entry) {
  std::pair<StringLiteral, OperatorClass> names[] = {
      {"pointwise", OperatorClass::Pointwise},
      {"reduction", OperatorClass::Reduction},
      {"data_movement", OperatorClass::DataMovement},
      {"concatenation", OperatorClass::Concatenation},
      {"view", OperatorClass::View},
      {"constant", OperatorClass::Constant},
      {"random", OperatorClass::Random},
      {"compute_intensive", OperatorClass::ComputeIntensive},
      {"collective", OperatorClass::Collective},
      {"other", OperatorClass::Other}};
  return readName<OperatorClass>(value, names, entry.operatorClass.emplace());
}

bool TableReader::readRegions(const Value &value, RegionEntry &regions) {
  std::pair<StringLiteral, RegionUse> names[] = {
      {"element", RegionUse::Element},
      {"once", RegionUse::Once},
      {"branch", RegionUse::Branch},
      {"loop", RegionUse::Loop}};
  if (value.getAsString())
    return readName<RegionUse>(value, names, regions.use);
  Field fields[] = {
      {"use",
       [&](const Value &it) {
         return readName<RegionUse>(it, names, regions.use);
       }},
      {"compare", [&](const Value &it) { return read(it, regions.compare); }},
      {"direction",
       [&](const Value &it) { return read(it, regions.direction); }},
      {"add", [&](const Value &it) { return read(it, regions.add); }}};
  if (!readObject(value, fields))
    return false;
  bool isCounted = !regions.compare.empty();
  if (isCounted != !regions.add.empty() ||
      isCounted != !regions.direction.empty() ||
      (isCounted && regions.use != RegionUse::Loop))
    return fail("trip counts need the fields 'compare', 'direction' and 'add' "
                "of a loop");
  return true;
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

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
      {"names", [&](const Value &it) { return read(it, names); }},
      {"where", [&](const Value &it) { return readWhere(it, entry); }},
      {"traits", [&](const Value &it) { return readTraits(it, entry.traits); }},
      {"constant",
       [&](const Value &it) { return read(it, entry.traits.constantAttr); }},
      {"effects",
       [&](const Value &it) { return readEffects(it, entry.effects); }},
      {"collective",
       [&](const Value &it) {
         return readCollective(it, entry.collective.emplace());
       }},
      {"wait",
       [&](const Value &it) { return read(it, entry.waitedFuture.emplace()); }},
      {"alias", [&](const Value &it) { return readAlias(it, entry); }},
      {"alias_in_place",
       [&](const Value &it) { return read(it, entry.aliasesInPlace); }},
      {"cost",
       [&](const Value &it) { return readCost(it, entry.cost.emplace()); }},
      {"class", [&](const Value &it) { return readClass(it, entry); }},
      {"regions", [&](const Value &it) {
         return readRegions(it, entry.regions.emplace());
       }}};
  if (!readObject(value, fields))
    return false;
  if (names.empty())
    return fail("expected at least one name");
  if (entry.collective && entry.waitedFuture)
    return fail("an operation cannot be a collective and a wait");
  bool hasTraits = entry.traits.isTerminator || entry.traits.isIsolated ||
                   !entry.traits.constantAttr.empty();
  if (hasTraits && !entry.whereAttr.empty())
    return fail("traits cannot depend on an attribute");
  return addEntry(names, std::move(entry));
}

bool TableReader::readOperations(const Value &value) {
  const llvm::json::Array *array = value.getAsArray();
  if (!array)
    return fail("expected an array of operations, not " + describe(value));
  for (const auto &[index, element] : llvm::enumerate(*array)) {
    setItem("operation " + Twine(index));
    if (!readOperation(element))
      return false;
  }
  return true;
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
      {"lenient", [&](const Value &it) { return read(it, table->lenient); }},
      {"devices", [&](const Value &it) { return read(it, table->devices); }},
      {"mutable_types",
       [&](const Value &it) { return read(it, table->mutableTypes); }},
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
  llvm::Expected<Value> value = llvm::json::parse(text);
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
