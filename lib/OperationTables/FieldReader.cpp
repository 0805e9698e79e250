//===- FieldReader.cpp - Reads what tables say of operations --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "FieldReader.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::commsched;
using namespace mlir::commsched::detail;

bool FieldReader::fail(const Twine &message) {
  if (!error.empty())
    return false;
  error = fileName + ": ";
  if (!item.empty())
    error += item + ": ";
  if (!path.empty())
    error += "field '" + llvm::join(path, ".") + "': ";
  error += message.str();
  return false;
}

std::string FieldReader::describe(const Value &value) {
  std::string text = llvm::formatv("{0}", value).str();
  constexpr size_t longest = 40;
  return text.size() <= longest ? text : text.substr(0, longest) + "...";
}

bool FieldReader::readObject(const Value &value, ArrayRef<Field> fields) {
  return readMap(value, [&](StringRef key, const Value &element) {
    for (const Field &field : fields)
      if (field.name == key)
        return field.read(element);
    std::string known;
    for (const Field &field : fields)
      known += (known.empty() ? "'" : ", '") + field.name.str() + "'";
    return fail("unknown field; known are " + known);
  });
}

bool FieldReader::readArray(const Value &value, StringRef what,
                            function_ref<bool(const Value &)> read) {
  const llvm::json::Array *array = value.getAsArray();
  if (!array)
    return fail("expected an array of " + what + ", not " + describe(value));
  return llvm::all_of(*array, read);
}

bool FieldReader::readMap(const Value &value,
                          function_ref<bool(StringRef, const Value &)> read) {
  const llvm::json::Object *object = value.getAsObject();
  if (!object)
    return fail("expected an object, not " + describe(value));
  // Keys in the order of their text, so that one error is reported always.
  std::vector<StringRef> keys;
  for (const auto &[key, element] : *object)
    keys.push_back(key);
  llvm::sort(keys);
  for (StringRef key : keys) {
    path.push_back(key.str());
    if (!read(key, *object->get(key)))
      return false;
    path.pop_back();
  }
  return true;
}

bool FieldReader::read(const Value &value, bool &result) {
  std::optional<bool> boolean = value.getAsBoolean();
  if (!boolean)
    return fail("expected true or false, not " + describe(value));
  result = *boolean;
  return true;
}

bool FieldReader::read(const Value &value, int64_t &result, int64_t least) {
  std::optional<int64_t> number = value.getAsInteger();
  if (!number || *number < least)
    return fail("expected a whole number of at least " + Twine(least) +
                ", not " + describe(value));
  result = *number;
  return true;
}

bool FieldReader::read(const Value &value, std::string &result) {
  std::optional<StringRef> text = value.getAsString();
  if (!text || text->empty())
    return fail("expected a text that is not empty, not " + describe(value));
  result = text->str();
  return true;
}

bool FieldReader::readTraits(const Value &value, OperationTraits &traits) {
  using Trait = bool OperationTraits::*;
  std::pair<StringLiteral, Trait> names[] = {
      {"elementwise", &OperationTraits::isElementwise},
      {"isolated", &OperationTraits::isIsolated},
      {"recursive_effects", &OperationTraits::hasRecursiveEffects},
      {"return", &OperationTraits::isReturn},
      {"terminator", &OperationTraits::isTerminator}};
  auto readTrait = [&](const Value &element) {
    Trait trait = nullptr;
    if (!readName<Trait>(element, names, trait))
      return false;
    traits.*trait = true;
    return true;
  };
  if (!readArray(value, "traits", readTrait))
    return false;
  traits.isTerminator |= traits.isReturn;
  return true;
}

bool FieldReader::readWhere(const Value &value, OperationEntry &entry) {
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

bool FieldReader::readEffects(const Value &value, EffectEntry &effects) {
  using Kind = EffectEntry::Kind;
  if (!value.getAsObject()) {
    std::pair<StringLiteral, Kind> names[] = {
        {"none", Kind::None},
        {"communication", Kind::Communication},
        {"random", Kind::Random},
        {"host", Kind::Host},
        {"unknown", Kind::Unknown}};
    return readName<Kind>(value, names, effects.kind);
  }
  effects.kind = Kind::Memory;
  Field fields[] = {field("reads", effects.reads),
                    field("writes", effects.writes),
                    field("unless", effects.unlessAttr)};
  return readObject(value, fields);
}

bool FieldReader::readSource(const Value &value, ValueSource &source) {
  if (value.getAsString())
    return read(value, source.attribute);
  if (value.getAsInteger())
    return read(value, source.number.emplace(), /*least=*/1);
  Field fields[] = {field("attribute", source.attribute),
                    field("operand", source.operand)};
  if (!readObject(value, fields))
    return false;
  return source || fail("expected an attribute or an operand");
}

bool FieldReader::readSelection(const Value &value,
                                OperandSelection &selection) {
  selection = OperandSelection();
  Field fields[] = {field("first", selection.first),
                    field("count", selection.count)};
  return readObject(value, fields);
}

bool FieldReader::readKind(const Value &value, CollectiveEntry &collective) {
  std::optional<StringRef> text = value.getAsString();
  if (text == StringRef("body"))
    return true;
  collective.kind = symbolizeCollectiveKind(text.value_or(""));
  // A transfer has no group, which a table has to give.
  if (collective.kind && !isHostTransfer(*collective.kind))
    return true;
  std::string known = "'body'";
  for (CollectiveKind kind : allCollectiveKinds)
    if (!isHostTransfer(kind))
      known += (", '" + stringifyCollectiveKind(kind) + "'").str();
  return fail("expected one of " + known + ", not " + describe(value));
}

bool FieldReader::readReductionKind(const Value &value, ReductionKind &kind) {
  std::optional<ReductionKind> known =
      symbolizeReductionKind(value.getAsString().value_or(""));
  if (!known)
    return fail("expected one of 'sum', 'avg', 'prod', 'min', 'max', 'band', "
                "'bor', 'bxor', not " +
                describe(value));
  kind = *known;
  return true;
}

bool FieldReader::readReduction(const Value &value,
                                CollectiveEntry &collective) {
  if (!value.getAsObject())
    return readReductionKind(value, collective.reduction.emplace());
  Field fields[] = {field("region", collective.reductionRegion),
                    field("attribute", collective.reductionName.attribute),
                    field("operand", collective.reductionName.operand)};
  return readObject(value, fields);
}

bool FieldReader::checkCollective(const CollectiveEntry &collective) {
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

bool FieldReader::readCollective(const Value &value,
                                 CollectiveEntry &collective) {
  std::pair<StringLiteral, GroupForm> forms[] = {{"rows", GroupForm::Rows},
                                                 {"pairs", GroupForm::Pairs},
                                                 {"name", GroupForm::Name}};
  CollectiveEntry &to = collective;
  Field fields[] = {
      {"kind", [&](const Value &it) { return readKind(it, to); }},
      {"group", [&](const Value &it) { return readSource(it, to.group); }},
      field("group_form", forms, to.groupForm),
      field("group_modes", to.groupModes),
      {"group_size",
       [&](const Value &it) { return readSource(it, to.groupSize); }},
      {"reduction", [&](const Value &it) { return readReduction(it, to); }},
      field("future", to.future),
      {"sent", [&](const Value &it) { return readSelection(it, to.sent); }},
      {"destinations",
       [&](const Value &it) { return readSelection(it, to.destinations); }},
      field("variadic", to.isVariadic),
      field("future_type", to.futureType),
      field("wait", to.wait),
      field("may_differ", to.ignored)};
  if (!readObject(value, fields))
    return false;
  if (!value.getAsObject()->get("kind"))
    return fail("a collective needs the field 'kind'");
  return checkCollective(collective);
}

bool FieldReader::readAlias(const Value &value, OperationEntry &entry) {
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

bool FieldReader::readFlops(const Value &value, CostEntry &cost) {
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

bool FieldReader::readCost(const Value &value, CostEntry &cost) {
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
        field("rule", rules, cost.rule),
        field("attribute", cost.attribute),
        field("operand", cost.operand),
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

bool FieldReader::readClass(const Value &value, OperatorClass &result) {
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
  return readName<OperatorClass>(value, names, result);
}

bool FieldReader::readSplit(const Value &value, OperationEntry &entry) {
  std::optional<StringRef> text = value.getAsString();
  if (text == StringRef("elementwise")) {
    entry.splitsElementwise = true;
    return true;
  }
  if (text)
    entry.splits = {text->str()};
  else if (!read(value, entry.splits))
    return false;
  for (const std::string &text : entry.splits)
    if (Status status = checkSplitRuleSyntax(text); !status)
      return fail("the rule '" + text + "' " + status.error());
  return true;
}

bool FieldReader::readRegions(const Value &value, RegionEntry &regions) {
  std::pair<StringLiteral, RegionUse> names[] = {
      {"element", RegionUse::Element},
      {"once", RegionUse::Once},
      {"branch", RegionUse::Branch},
      {"loop", RegionUse::Loop}};
  if (value.getAsString())
    return readName<RegionUse>(value, names, regions.use);
  Field fields[] = {
      field("use", names, regions.use), field("compare", regions.compare),
      field("direction", regions.direction), field("add", regions.add)};
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
