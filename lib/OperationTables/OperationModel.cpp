//===- OperationModel.cpp - What tables say about an operation ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "OperationModel.h"
#include "NamedDialect.h"

#include "CommSched/OperationTables/NamedDialects.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::commsched;
using namespace mlir::commsched::detail;

//===----------------------------------------------------------------------===//
// OperationModel
//===----------------------------------------------------------------------===//

void OperationModel::add(const Description &description) {
  const OperationEntry &entry = *description.entry;
  if (entry.whereAttr.empty()) {
    general = description;
    return;
  }
  auto attr = StringAttr::get(context, entry.whereAttr);
  if (whereAttr != attr)
    conditional.clear();
  whereAttr = attr;
  for (StringRef value : entry.whereValues)
    conditional[StringAttr::get(context, value)] = description;
}

const OperationTraits &OperationModel::getTraits() const {
  static const OperationTraits none;
  return general.entry ? general.entry->traits : none;
}

Description OperationModel::find(Operation *op) const {
  if (!whereAttr)
    return general;
  auto it = conditional.find(op->getAttr(whereAttr));
  return it == conditional.end() ? general : it->second;
}

LogicalResult OperationModel::verify(Operation *op) const {
  Description description = find(op);
  if (!description.entry)
    return success();
  if (description.entry->collective && !description.table->isLenient())
    if (Status status = checkCollective(op, description); !status)
      return op->emitOpError() << status.error();
  if (description.entry->waitedFuture &&
      *description.entry->waitedFuture >= op->getNumOperands())
    return op->emitOpError("waits for operand ")
           << *description.entry->waitedFuture << ", but has "
           << op->getNumOperands() << " operand(s)";
  if (isa<CollectiveOpInterface>(op) && failed(verifyCollective(op)))
    return failure();
  return isa<WaitOpInterface>(op) ? verifyWait(op) : success();
}

//===----------------------------------------------------------------------===//
// DialectModels
//===----------------------------------------------------------------------===//

void DialectModels::add(std::shared_ptr<const OperationTable> table) {
  Dialect *dialect = getDialect();
  if (isNamedDialect(dialect))
    static_cast<NamedDialect *>(dialect)->addLeniency(table->isLenient());
  MLIRContext *context = dialect->getContext();
  for (const OperationEntry &entry : table->getEntries()) {
    if (StringRef(entry.name).split('.').first != dialect->getNamespace())
      continue;
    std::unique_ptr<OperationModel> &model = models[entry.name];
    if (!model)
      model = std::make_unique<OperationModel>(context);
    model->add({&entry, table.get()});
  }
  for (const OperationEntry &entry : table->getEntries()) {
    auto it = models.find(entry.name);
    if (it == models.end())
      continue;
    const OperationModel &model = *it->second;
    if (isNamedDialect(dialect) &&
        !RegisteredOperationName::lookup(entry.name, context))
      NamedOperation::insert(*dialect, entry.name, model);
    if (auto name = RegisteredOperationName::lookup(entry.name, context))
      attachModels(*name, entry, model);
  }
  addTypes(table->getTensorTypes());
  tables.push_back(std::move(table));
}

void DialectModels::addTypes(ArrayRef<TensorTypeEntry> added) {
  if (added.empty())
    return;
  Dialect *dialect = getDialect();
  // A linked dialect knows its types better.
  if (!types && !dialect->getRegisteredInterface<TensorTypeDialectInterface>())
    types = &dialect->addInterface<TensorTypes>();
  if (types)
    types->add(added);
}

//===----------------------------------------------------------------------===//
// Effects
//===----------------------------------------------------------------------===//

using EffectInstances = SmallVectorImpl<MemoryEffects::EffectInstance>;

static bool isMutable(Type type, const OperationTable &table) {
  auto opaque = dyn_cast<OpaqueType>(type);
  StringRef dialect = opaque ? opaque.getDialectNamespace().getValue()
                             : type.getDialect().getNamespace();
  if (!llvm::is_contained(table.getDialects(), dialect))
    return false;
  std::string text = getTypeText(type);
  return llvm::is_contained(table.getMutableTypes(),
                            StringRef(text).split('<').first);
}

/// Whether `op` uses values that other operations may change.
static bool usesMutableValues(Operation *op, const OperationTable &table) {
  if (table.getMutableTypes().empty())
    return false;
  auto isMutableHere = [&](Type type) { return isMutable(type, table); };
  return llvm::any_of(op->getOperandTypes(), isMutableHere) ||
         llvm::any_of(op->getResultTypes(), isMutableHere);
}

static bool isKnown(Operation *op, const Description &description) {
  const OperationEntry *entry = description.entry;
  if (!entry)
    return false;
  if (entry->collective)
    return isa<CollectiveOpInterface>(op);
  if (entry->waitedFuture && isa<WaitOpInterface>(op))
    return true;
  if (entry->effects.kind == EffectEntry::Kind::Unknown)
    return entry->traits.hasRecursiveEffects;
  if (entry->effects.kind != EffectEntry::Kind::Memory &&
      usesMutableValues(op, *description.table))
    return false;
  if (entry->effects.unlessAttr.empty())
    return true;
  Attribute flag = op->getAttr(entry->effects.unlessAttr);
  auto boolean = dyn_cast_if_present<BoolAttr>(flag);
  return !flag || (boolean && !boolean.getValue());
}

static void addOperandEffects(Operation *op, ArrayRef<int64_t> operands,
                              MemoryEffects::Effect *effect,
                              EffectInstances &effects) {
  for (int64_t index : operands)
    if (index < op->getNumOperands())
      effects.emplace_back(effect, &op->getOpOperand(index));
}

/// Everything that an operation may do.
static void addUnknownEffects(EffectInstances &effects) {
  effects.emplace_back(MemoryEffects::Read::get());
  effects.emplace_back(MemoryEffects::Write::get());
  effects.emplace_back(MemoryEffects::Allocate::get());
  effects.emplace_back(MemoryEffects::Free::get());
  effects.emplace_back(MemoryEffects::Write::get(),
                       CommunicationResource::get());
}

static void addCollectiveEffects(Operation *op, EffectInstances &effects) {
  effects.emplace_back(MemoryEffects::Write::get(),
                       CommunicationResource::get());
  auto collective = dyn_cast<CollectiveOpInterface>(op);
  if (!collective || collective.getDestinations().empty())
    return;
  OperandRange into = collective.getDestinations();
  unsigned first = into.getBeginOperandIndex();
  for (unsigned index = first, end = first + into.size(); index < end; ++index)
    effects.emplace_back(MemoryEffects::Write::get(), &op->getOpOperand(index));
}

namespace {
// MLIR expects the interface's model first in memory.
struct EffectModel
    : MemoryEffectOpInterface::ExternalModel<EffectModel, Operation *>,
      ModelBase {
  void getEffects(Operation *op, EffectInstances &effects) const {
    Description description = model->find(op);
    const OperationEntry *entry = description.entry;
    if (!isKnown(op, description))
      return addUnknownEffects(effects);
    if (entry->collective || isa<WaitOpInterface>(op))
      return addCollectiveEffects(op, effects);
    using Kind = EffectEntry::Kind;
    switch (entry->effects.kind) {
    case Kind::Communication:
      effects.emplace_back(MemoryEffects::Write::get(),
                           CommunicationResource::get());
      return;
    case Kind::Random:
      effects.emplace_back(MemoryEffects::Write::get(),
                           RandomStateResource::get());
      return;
    case Kind::Host:
      effects.emplace_back(MemoryEffects::Write::get(), HostResource::get());
      return;
    case Kind::Memory:
      addOperandEffects(op, entry->effects.reads, MemoryEffects::Read::get(),
                        effects);
      addOperandEffects(op, entry->effects.writes, MemoryEffects::Write::get(),
                        effects);
      return;
    case Kind::None:
    case Kind::Unknown:
      return;
    }
  }
};

struct KnownEffectsModel
    : KnownEffectsOpInterface::ExternalModel<KnownEffectsModel, Operation *>,
      ModelBase {
  bool hasKnownEffects(Operation *op) const {
    return isKnown(op, model->find(op));
  }
};

//===----------------------------------------------------------------------===//
// Aliases and classes
//===----------------------------------------------------------------------===//

struct AliasModel : AliasOpInterface::ExternalModel<AliasModel, Operation *>,
                    ModelBase {
  bool hasAliases(Operation *op) const {
    const OperationEntry *entry = find(op);
    return entry && !entry->aliases.empty() &&
           !(entry->waitedFuture && isa<WaitOpInterface>(op));
  }

  Value getAliasedValue(Operation *op, OpResult result) const {
    OpOperand *operand = getOperand(op, result, /*inPlace=*/false);
    return operand ? operand->get() : Value();
  }

  OpOperand *getOverwrittenOperand(Operation *op, OpResult result) const {
    return getOperand(op, result, /*inPlace=*/true);
  }

private:
  /// The operand that the entry names for `result` if it is written in place
  /// or not.
  OpOperand *getOperand(Operation *op, OpResult result, bool inPlace) const {
    const OperationEntry *entry = find(op);
    if (!entry || entry->aliases.empty() || entry->aliasesInPlace != inPlace)
      return nullptr;
    size_t number = result.getResultNumber();
    int64_t index = entry->aliases[std::min(number, entry->aliases.size() - 1)];
    if (index == -2)
      index = static_cast<int64_t>(number);
    return index < 0 || index >= op->getNumOperands()
               ? nullptr
               : &op->getOpOperand(index);
  }
};

struct ClassModel
    : OperatorClassOpInterface::ExternalModel<ClassModel, Operation *>,
      ModelBase {
  bool hasOperatorClass(Operation *op) const {
    const OperationEntry *entry = find(op);
    return entry && entry->operatorClass;
  }
  OperatorClass getOperatorClass(Operation *op) const {
    return *find(op)->operatorClass;
  }
};

//===----------------------------------------------------------------------===//
// Chunks
//===----------------------------------------------------------------------===//

struct SplitModel : SplitOpInterface::ExternalModel<SplitModel, Operation *>,
                    ModelBase {
  bool hasSplitRule(Operation *op) const {
    Description description = model->find(op);
    return description.entry && isKnown(op, description) &&
           (description.entry->splitsElementwise ||
            !description.entry->splits.empty());
  }

  SplitRule getSplitRule(Operation *op) const {
    const OperationEntry *entry = find(op);
    if (entry->splitsElementwise)
      return getElementwiseRule(op->getOperandTypes(), op->getResultTypes());
    for (StringRef text : entry->splits)
      if (Result<SplitRule> rule =
              parseSplitRule(text, op->getOperandTypes(), op->getResultTypes()))
        return std::move(*rule);
    return {};
  }
};
} // namespace

//===----------------------------------------------------------------------===//
// Attaching
//===----------------------------------------------------------------------===//

const OperationModel *&mlir::commsched::detail::getAttachedModel() {
  static thread_local const OperationModel *model = nullptr;
  return model;
}

template <typename Model> static void attach(RegisteredOperationName name) {
  if (!name.hasInterface<typename Model::Interface>())
    name.attachInterface<Model>();
}

void mlir::commsched::detail::attachModels(RegisteredOperationName name,
                                           const OperationEntry &entry,
                                           const OperationModel &model) {
  getAttachedModel() = &model;
  bool depends = !entry.whereAttr.empty();
  bool isStated = entry.effects.kind != EffectEntry::Kind::Unknown ||
                  entry.collective || entry.waitedFuture;
  // A linked dialect knows its effects better.
  bool hasOwnEffects = !isNamedDialect(&name.getDialect()) &&
                       (name.hasInterface<MemoryEffectOpInterface>() ||
                        name.hasTrait<OpTrait::HasRecursiveMemoryEffects>());
  if (!hasOwnEffects && (isStated || depends)) {
    attach<EffectModel>(name);
    attach<KnownEffectsModel>(name);
  }
  if (!entry.aliases.empty())
    attach<AliasModel>(name);
  if (entry.operatorClass)
    attach<ClassModel>(name);
  if (entry.splitsElementwise || !entry.splits.empty())
    attach<SplitModel>(name);
  attachCollectiveModels(name, entry);
  attachCostModels(name, entry);
  getAttachedModel() = nullptr;
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

Attribute mlir::commsched::detail::getSourceValue(Operation *op,
                                                  const ValueSource &source) {
  if (!source.attribute.empty())
    return op->getAttr(source.attribute);
  Attribute value;
  if (source.operand >= 0 && source.operand < op->getNumOperands())
    matchPattern(op->getOperand(source.operand), m_Constant(&value));
  return value;
}

std::optional<int64_t>
mlir::commsched::detail::getSourceNumber(Operation *op,
                                         const ValueSource &source) {
  if (source.number)
    return source.number;
  Attribute value = getSourceValue(op, source);
  if (auto number = dyn_cast_if_present<IntegerAttr>(value))
    return number.getValue().trySExtValue();
  auto elements = dyn_cast_if_present<DenseIntElementsAttr>(value);
  if (elements && elements.getNumElements() == 1)
    return (*elements.getValues<APInt>().begin()).trySExtValue();
  return std::nullopt;
}

bool mlir::commsched::detail::hasOperands(Operation *op,
                                          const OperandSelection &selection) {
  int64_t numOperands = op->getNumOperands();
  return selection.first <= numOperands &&
         (selection.count < 0 ||
          selection.count <= numOperands - selection.first);
}

OperandRange
mlir::commsched::detail::getOperands(Operation *op,
                                     const OperandSelection &selection) {
  if (!hasOperands(op, selection))
    return op->getOperands().take_front(0);
  OperandRange rest = op->getOperands().drop_front(selection.first);
  return selection.count < 0 ? rest : rest.take_front(selection.count);
}
