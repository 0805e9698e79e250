//===- CollectiveModel.cpp - Collectives and waits of tables --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "OperationModel.h"

#include "CommSched/Dialect/CommSchedDialect.h"
#include "CommSched/Interfaces/CommSchedInterfaces.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/InterleavedRange.h"
#include "llvm/Support/ScopedPrinter.h"

using namespace mlir;
using namespace mlir::commsched;
using namespace mlir::commsched::detail;

/// The collective that `op`, which has an entry without a kind, makes
/// asynchronous; null if its body is something else.
static CollectiveOpInterface getBodyCollective(Operation *op) {
  if (op->getNumRegions() == 0 || op->getRegion(0).empty() ||
      op->getRegion(0).front().empty())
    return {};
  return dyn_cast<CollectiveOpInterface>(op->getRegion(0).front().front());
}

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

/// The ranks that share a node where nothing else is known.
static constexpr int64_t ranksOfNode = 8;

/// The matrix of integers in `attr` with its columns; none for other
/// attributes.
static DenseIntElementsAttr getMatrix(Attribute attr) {
  auto matrix = dyn_cast_if_present<DenseIntElementsAttr>(attr);
  return matrix && matrix.getType().getRank() == 2 ? matrix
                                                   : DenseIntElementsAttr();
}

/// The devices of the module around `op`; none if it does not say. A number
/// that is not there is one, if another is.
static std::optional<int64_t> getNumDevices(Operation *op,
                                            const OperationTable &table) {
  auto module = op->getParentOfType<ModuleOp>();
  if (!module || table.getDevices().empty())
    return std::nullopt;
  std::optional<int64_t> devices;
  for (const std::string &name : table.getDevices()) {
    auto count = module->getAttrOfType<IntegerAttr>(name);
    if (!count)
      continue;
    int64_t product;
    if (count.getInt() < 1 ||
        llvm::MulOverflow(devices.value_or(1), count.getInt(), product))
      return std::nullopt;
    devices = product;
  }
  return devices;
}

static ProcessGroup makeGroup(int64_t size) {
  return {size, std::min(size, ranksOfNode)};
}

/// The group of the largest row, the first of them: others are not slower.
static FailureOr<ProcessGroup> getGroupOfRow(DenseIntElementsAttr matrix) {
  // One number in all places lists no device, or one more than once.
  if (matrix.isSplat() && matrix.getNumElements() > 1)
    return failure();
  SmallVector<int64_t> largest, ranks;
  int64_t numColumns = matrix.getType().getDimSize(1);
  auto next = matrix.getValues<APInt>().begin();
  for (int64_t row = 0; row < matrix.getType().getDimSize(0); ++row) {
    ranks.clear();
    for (int64_t column = 0; column < numColumns; ++column)
      if (APInt rank = *next++; !rank.isNegative())
        ranks.push_back(rank.getSExtValue());
    if (ranks.size() > largest.size())
      largest = ranks;
    // Only padding makes a later row larger than the first.
    if (static_cast<int64_t>(largest.size()) == numColumns)
      break;
  }
  if (largest.empty())
    return failure();
  return ProcessGroup{static_cast<int64_t>(largest.size()),
                      countRanksOnOneNode(largest, ranksOfNode)};
}

static FailureOr<ProcessGroup> getGroupOfAll(Operation *op,
                                             DenseIntElementsAttr pairs,
                                             const OperationTable &table) {
  if (std::optional<int64_t> devices = getNumDevices(op, table))
    return makeGroup(*devices);
  int64_t largest = 0;
  if (pairs)
    for (const APInt &rank : pairs.getValues<APInt>())
      largest = std::max(largest, rank.getSExtValue());
  // Only costs depend on the size. A node is the smallest guess that
  // communicates.
  if (!pairs || pairs.getNumElements() == 0)
    return makeGroup(ranksOfNode);
  return makeGroup(largest + 1);
}

/// The name of a group: a text, a symbol, or a number.
static StringAttr getGroupName(Attribute value) {
  if (auto symbol = dyn_cast_if_present<SymbolRefAttr>(value))
    return symbol.getLeafReference();
  return dyn_cast_if_present<StringAttr>(value);
}

static FailureOr<ProcessGroup> getGroup(Operation *op,
                                        const Description &description,
                                        SymbolTableCollection &symbolTables) {
  const CollectiveEntry &entry = *description.entry->collective;
  if (entry.groupSize) {
    std::optional<int64_t> size = getSourceNumber(op, entry.groupSize);
    if (!size || *size < 1)
      return failure();
    return makeGroup(*size);
  }
  Attribute value = getSourceValue(op, entry.group);
  if (entry.groupForm == GroupForm::Name) {
    StringAttr name = getGroupName(value);
    auto group = name ? symbolTables.lookupNearestSymbolFrom<GroupOp>(op, name)
                      : GroupOp();
    if (group)
      return group.getProcessGroup();
    // As where the members are not known.
    return makeGroup(
        getNumDevices(op, *description.table).value_or(ranksOfNode));
  }
  DenseIntElementsAttr matrix = getMatrix(value);
  if (entry.groupForm == GroupForm::Pairs || !matrix ||
      matrix.getNumElements() == 0)
    return getGroupOfAll(op, matrix, *description.table);
  return getGroupOfRow(matrix);
}

/// Whether `attr` makes another group: a channel of number 0 is none.
static bool isMode(Attribute attr) {
  if (auto boolean = dyn_cast_if_present<BoolAttr>(attr))
    return boolean.getValue();
  if (!attr || isa<UnitAttr>(attr))
    return attr != nullptr;
  return !StringRef(llvm::to_string(attr)).contains("handle = 0");
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

/// The reduction of a region with one operation and a terminator.
static std::optional<ReductionKind>
getRegionReduction(Region &region, const OperationTable &table) {
  if (!llvm::hasSingleElement(region))
    return std::nullopt;
  Block &block = region.front();
  if (block.getNumArguments() != 2 || block.empty() ||
      !llvm::hasSingleElement(block.without_terminator()))
    return std::nullopt;
  Operation &op = block.front();
  bool combines = op.getNumOperands() == 2 && op.getNumResults() == 1 &&
                  llvm::is_contained(op.getOperands(), block.getArgument(0)) &&
                  llvm::is_contained(op.getOperands(), block.getArgument(1)) &&
                  block.back().getOperands() == op.getResults();
  return combines ? table.getReduction(op.getName().getStringRef())
                  : std::nullopt;
}

static std::optional<ReductionKind>
getReduction(Operation *op, const Description &description) {
  const CollectiveEntry &entry = *description.entry->collective;
  if (entry.reduction)
    return entry.reduction;
  if (entry.reductionRegion >= 0 && entry.reductionRegion < op->getNumRegions())
    return getRegionReduction(op->getRegion(entry.reductionRegion),
                              *description.table);
  auto name =
      dyn_cast_if_present<StringAttr>(getSourceValue(op, entry.reductionName));
  if (!name)
    return std::nullopt;
  if (std::optional<ReductionKind> known =
          description.table->getReduction(name.getValue()))
    return known;
  return symbolizeReductionKind(name.getValue());
}

static bool reduces(CollectiveKind kind) {
  return kind == CollectiveKind::AllReduce ||
         kind == CollectiveKind::ReduceScatter;
}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

static std::string describeOperands(const OperandSelection &selection) {
  std::string text = "operands from " + std::to_string(selection.first);
  return selection.count < 0 ? text + " on"
                             : std::to_string(selection.count) + " " + text;
}

static std::string describe(const ValueSource &source) {
  return source.attribute.empty() ? "operand " + std::to_string(source.operand)
                                  : "the attribute '" + source.attribute + "'";
}

Status
mlir::commsched::detail::checkCollective(Operation *op,
                                         const Description &description) {
  const CollectiveEntry &entry = *description.entry->collective;
  if (entry.future >= op->getNumResults())
    return Error{"should have its future as result " +
                 std::to_string(entry.future) + " and has " +
                 std::to_string(op->getNumResults()) + " result(s)"};
  for (const OperandSelection &selection : {entry.sent, entry.destinations})
    if (!hasOperands(op, selection))
      return Error{"should have " + describeOperands(selection) + " and has " +
                   std::to_string(op->getNumOperands())};
  if (!entry.kind)
    return getBodyCollective(op)
               ? Status::success()
               : Error{"should start a collective, which is not the first "
                       "operation of its region"};
  // Casts ask this often: texts are for errors only.
  Attribute group = getSourceValue(op, entry.group);
  if (!group)
    return Error{"should have a constant group in " + describe(entry.group)};
  if (entry.groupForm != GroupForm::Name && !getMatrix(group))
    return Error{"should have a matrix of ranks in " + describe(entry.group)};
  return Status::success();
}

//===----------------------------------------------------------------------===//
// Merging
//===----------------------------------------------------------------------===//

/// Whether `op` has attributes that a merged collective would lose.
static bool hasForeignAttributes(Operation *op) {
  return llvm::any_of(op->getDiscardableAttrs(), [](NamedAttribute attr) {
    return !attr.getName().strref().starts_with("commsched.");
  });
}

/// The attributes of `op` in which merged collectives have to be equal.
static DictionaryAttr getFixedAttributes(Operation *op,
                                         const CollectiveEntry &entry) {
  NamedAttrList attrs(
      dyn_cast_if_present<DictionaryAttr>(op->getPropertiesAsAttribute()));
  for (StringRef name : entry.ignored)
    attrs.erase(name);
  return attrs.getDictionary(op->getContext());
}

/// The type of a future that delivers `delivered`; null if the table's text
/// for it is no type.
static Type makeFutureType(StringRef futureType, TypeRange delivered,
                           MLIRContext *context) {
  auto [prefix, suffix] = futureType.split("$results");
  if (prefix.size() == futureType.size())
    return parseType(futureType, context);
  return parseType(
      llvm::formatv("{0}{1}{2}", prefix, llvm::interleaved(delivered), suffix)
          .str(),
      context);
}

/// Creates an operation like `collective` on other operands in `builder`'s
/// place, with the same properties and regions.
static Operation *cloneWithOperands(OpBuilder &builder, Location location,
                                    Operation *op, ValueRange operands,
                                    TypeRange results) {
  OperationState state(location, op->getName());
  state.addOperands(operands);
  state.addTypes(results);
  state.propertiesAttr = op->getPropertiesAsAttribute();
  for (Region &region : op->getRegions()) {
    IRMapping mapping;
    region.cloneInto(state.addRegion(), mapping);
  }
  return builder.create(state);
}

/// Creates an operation like `op`, whose region holds one collective, on other
/// operands.
static Operation *createWithBody(OpBuilder &builder, Location location,
                                 Operation *op, ValueRange sent,
                                 TypeRange delivered, Type future) {
  Operation *terminator = op->getRegion(0).front().getTerminator();
  OperationState state(location, op->getName());
  state.addOperands(sent);
  state.addTypes(future);
  state.propertiesAttr = op->getPropertiesAsAttribute();
  Region *region = state.addRegion();
  Block &body = region->emplaceBlock();
  body.addArguments(sent.getTypes(),
                    SmallVector<Location>(sent.size(), location));
  OpBuilder inside(op->getContext());
  inside.setInsertionPointToEnd(&body);
  Operation *collective = cloneWithOperands(
      inside, location, getBodyCollective(op), body.getArguments(), delivered);
  cloneWithOperands(inside, location, terminator, collective->getResults(),
                    TypeRange());
  return builder.create(state);
}

//===----------------------------------------------------------------------===//
// Models
//===----------------------------------------------------------------------===//

namespace {
struct CollectiveModel
    : CollectiveOpInterface::ExternalModel<CollectiveModel,
                                           CollectiveOpInterface>,
      ModelBase {
  const CollectiveEntry &get(Operation *op) const {
    return *find(op)->collective;
  }

  bool isCollective(Operation *op) const {
    Description description = model->find(op);
    return description.entry && description.entry->collective &&
           static_cast<bool>(checkCollective(op, description));
  }

  CollectiveKind getCollectiveKind(Operation *op) const {
    const CollectiveEntry &entry = get(op);
    return entry.kind ? *entry.kind : getBodyCollective(op).getCollectiveKind();
  }

  Attribute getGroupKey(Operation *op) const {
    const CollectiveEntry &entry = get(op);
    if (!entry.kind)
      return getBodyCollective(op).getGroupKey();
    Attribute group = getSourceValue(op, entry.group);
    SmallVector<Attribute> parts = {group};
    for (StringRef mode : entry.groupModes)
      if (isMode(op->getAttr(mode)))
        parts.push_back(StringAttr::get(op->getContext(), mode));
    return parts.size() == 1 ? group : ArrayAttr::get(op->getContext(), parts);
  }

  FailureOr<ProcessGroup>
  getProcessGroup(Operation *op, SymbolTableCollection &symbolTables) const {
    if (!get(op).kind)
      return getBodyCollective(op).getProcessGroup(symbolTables);
    return getGroup(op, model->find(op), symbolTables);
  }

  Value getInFlightFuture(Operation *op) const {
    int64_t future = get(op).future;
    return future < 0 ? Value() : Value(op->getResult(future));
  }

  OperandRange getSentValues(Operation *op) const {
    return getOperands(op, get(op).sent);
  }

  OperandRange getDestinations(Operation *op) const {
    return getOperands(op, get(op).destinations);
  }

  SmallVector<Type> getDeliveredTypes(Operation *op) const {
    const CollectiveEntry &entry = get(op);
    if (entry.future < 0)
      return llvm::to_vector(op->getResultTypes());
    Value future = op->getResult(entry.future);
    // Asynchronous tensors have their type from the start on.
    if (getTensorType(future.getType()))
      return {future.getType()};
    if (Operation *wait = mlir::commsched::detail::getWait(future))
      return llvm::to_vector(wait->getResultTypes());
    return parseDelivered(future.getType(), entry.futureType)
        .value_or(SmallVector<Type>());
  }

  // A list of tensors has the bytes of what it was made of.
  std::optional<int64_t> getOperandBytes(Operation *op) const {
    SmallVector<Type> types;
    for (Value value : getSentValues(op)) {
      Operation *list = value.getDefiningOp();
      if (list && !getTensorType(value.getType()))
        llvm::append_range(types, list->getOperandTypes());
      else
        types.push_back(value.getType());
    }
    return getStaticBytes(TypeRange(types));
  }

  std::optional<ReductionKind> getReductionKind(Operation *op) const {
    return get(op).kind ? getReduction(op, model->find(op))
                        : getBodyCollective(op).getReductionKind();
  }

  Attribute getBucketKey(Operation *op) const {
    const CollectiveEntry &entry = get(op);
    auto collective = cast<CollectiveOpInterface>(op);
    // What an unknown reduction does may depend on what it is applied to.
    if (hasForeignAttributes(op) ||
        (reduces(getCollectiveKind(op)) && !collective.getReductionKind()))
      return {};
    SmallVector<Attribute> key = {getDefaultBucketKey(op),
                                  getFixedAttributes(op, entry)};
    if (!entry.kind) {
      key.push_back(getBodyCollective(op).getBucketKey());
      if (!key.back())
        return {};
    }
    return ArrayAttr::get(op->getContext(), key);
  }

  bool isMergeable(Operation *op) const {
    const CollectiveEntry &entry = get(op);
    if (!entry.isVariadic || (entry.kind && entry.future < 0))
      return entry.isVariadic;
    if (entry.kind)
      return true;
    CollectiveOpInterface body = getBodyCollective(op);
    // The body is copied as these two operations.
    Block &block = op->getRegion(0).front();
    return body.isMergeable() &&
           llvm::hasSingleElement(block.without_terminator()) &&
           body->getOperands() == ValueRange(block.getArguments()) &&
           block.back().getOperands() == ValueRange(body->getResults());
  }

  Operation *createMergedStart(Operation *op, OpBuilder &builder,
                               Location location, ValueRange sent,
                               TypeRange delivered) const {
    const CollectiveEntry &entry = get(op);
    if (entry.future < 0)
      return cloneWithOperands(builder, location, op, sent, delivered);
    Type future = makeFutureType(entry.futureType, delivered, op->getContext());
    if (!entry.kind)
      return createWithBody(builder, location, op, sent, delivered, future);
    return cloneWithOperands(builder, location, op, sent, future);
  }

  Operation *createWait(Operation *op, OpBuilder &builder,
                        Location location) const {
    const CollectiveEntry &entry = get(op);
    Value future = op->getResult(entry.future);
    OperationState state(location, entry.wait);
    state.addOperands(future);
    state.addTypes(parseDelivered(future.getType(), entry.futureType)
                       .value_or(SmallVector<Type>()));
    return builder.create(state);
  }
};

struct WaitModel : WaitOpInterface::ExternalModel<WaitModel, Operation *>,
                   ModelBase {
  // What is not a collective may be asynchronous, too. An operation whose
  // effects are stated waits only for collectives.
  bool isWait(Operation *op) const {
    const OperationEntry *entry = find(op);
    if (!entry || !entry->waitedFuture ||
        *entry->waitedFuture >= op->getNumOperands())
      return false;
    Operation *start = op->getOperand(*entry->waitedFuture).getDefiningOp();
    if (!start)
      return entry->effects.kind == EffectEntry::Kind::Unknown;
    return isa<CollectiveOpInterface>(start);
  }
  Value getAwaitedFuture(Operation *op) const {
    return op->getOperand(*find(op)->waitedFuture);
  }
};
} // namespace

void mlir::commsched::detail::attachCollectiveModels(
    RegisteredOperationName name, const OperationEntry &entry) {
  if (entry.collective && !name.hasInterface<CollectiveOpInterface>())
    name.attachInterface<CollectiveModel>();
  if (entry.waitedFuture && !name.hasInterface<WaitOpInterface>())
    name.attachInterface<WaitModel>();
}
