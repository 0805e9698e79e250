//===- Launches.cpp - Starts and waits as StableHLO -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Writing.h"

#include "mlir/AsmParser/AsmParser.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::commsched;
using namespace mlir::commsched::stablehlo;

//===----------------------------------------------------------------------===//
// Attributes and types
//===----------------------------------------------------------------------===//

static void addAttributes(Operation *op, ArrayRef<NamedAttribute> attributes) {
  for (NamedAttribute attr : attributes)
    op->setDiscardableAttr(attr.getName(), attr.getValue());
}

Type LaunchLowering::getFutureType(Operation *start, TypeRange types) {
  Type &future = futureTypes[TupleType::get(context, types)];
  if (future)
    return future;
  std::string text = getFutureText(types);
  future = parseType(text, context);
  if (!future)
    start->emitOpError("needs the type ") << text;
  return future;
}

//===----------------------------------------------------------------------===//
// One launch
//===----------------------------------------------------------------------===//

/// Writes one launch.
class LaunchLowering::Writer {
public:
  Writer(LaunchLowering &lowering, const Launch &launch);

  LogicalResult write();

private:
  LogicalResult readAttributes();
  /// The attributes of a collective with the dimensions of the start, or, if it
  /// is flat, of one that transfers along dimension 0.
  DictionaryAttr getProperties(bool isFlat) const;

  bool canBeVariadic();
  bool canBePacked() const;
  bool mustMoveRows();
  FailureOr<SmallVector<Value>> transferPacked();
  FailureOr<SmallVector<Value>> transferAll();
  FailureOr<SmallVector<Value>> transfer(ValueRange sent, TypeRange delivered,
                                         DictionaryAttr properties);
  Operation *createCollective(OpBuilder &builder, ValueRange sent,
                              TypeRange delivered, DictionaryAttr properties);
  Operation *createAsyncStart(ValueRange sent, TypeRange delivered,
                              DictionaryAttr properties);
  Operation *createAsyncDone(Value future, TypeRange delivered);
  void divideByGroupSize(SmallVectorImpl<Value> &values);
  void dropPromotions();

  LaunchLowering &lowering;
  CollectiveOpInterface start;
  Operation *wait;
  Location location;
  bool isBlocking;
  /// As StableHLO orders the operands.
  SmallVector<Value> sent;
  SmallVector<Type> delivered;
  /// Converts of operands that the original promotes itself.
  llvm::SmallSetVector<Operation *, 2> promotions;
  /// The inherent attributes: all of the original, or those of the group.
  DictionaryAttr original;
  NamedAttrList common;
  SmallVector<NamedAttribute> foreign;
  int64_t groupSize = 1;
  OpBuilder before, after;
};

static bool isEmpty(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.hasStaticShape() && tensor.getNumElements() == 0;
}

LaunchLowering::Writer::Writer(LaunchLowering &lowering, const Launch &launch)
    : lowering(lowering), start(launch.start), wait(launch.wait),
      location(unpackLocation(start.getLoc())), isBlocking(launch.isBlocking),
      sent(start.getSentValues()), delivered(start.getDeliveredTypes()),
      original(start->getAttrOfType<DictionaryAttr>(propertiesMark)),
      foreign(getForeignAttributes(start)), before(start),
      after(isBlocking ? start.getOperation() : wait) {
  auto ragged = dyn_cast<RaggedAllToAllOp>(start.getOperation());
  if (ragged)
    sent = {ragged.getInput(),         ragged.getInto(),
            ragged.getInputOffsets(),  ragged.getSendSizes(),
            ragged.getOutputOffsets(), ragged.getRecvSizes()};
  // StableHLO's asynchronous operations are not custom calls, and XLA folds a
  // collective without elements, which it then fails to start.
  if (ragged ||
      (llvm::any_of(delivered, isEmpty) && !start->hasAttr(asyncMark))) {
    isBlocking = true;
    after = OpBuilder(start);
  }
  if (original)
    dropPromotions();
}

/// The original is sent what was converted for the start.
void LaunchLowering::Writer::dropPromotions() {
  for (Value &value : sent) {
    Operation *op = value.getDefiningOp();
    if (!op || !op->hasAttr(promotionMark))
      continue;
    promotions.insert(op);
    value = op->getOperand(0);
  }
}

LogicalResult LaunchLowering::Writer::readAttributes() {
  GroupOp group = lowering.groups.lookup(
      start, start->getAttrOfType<FlatSymbolRefAttr>("group"));
  if (!group)
    return failure();
  groupSize = group.getSize();
  if (original) {
    if (failed(verifyDimensions(start, original, groupSize)))
      return failure();
    for (NamedAttribute attr : original)
      if (!isDimension(attr.getName()))
        common.append(attr);
    return success();
  }
  FailureOr<NamedAttrList> attributes = lowering.groups.getAttributes(start);
  if (failed(attributes))
    return failure();
  common = std::move(*attributes);
  return success();
}

DictionaryAttr LaunchLowering::Writer::getProperties(bool isFlat) const {
  if (original && !isFlat)
    return original;
  NamedAttrList attributes = common;
  setDimensions(start, attributes, groupSize, isFlat);
  return attributes.getDictionary(start->getContext());
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

Operation *LaunchLowering::Writer::createCollective(OpBuilder &builder,
                                                    ValueRange sent,
                                                    TypeRange delivered,
                                                    DictionaryAttr properties) {
  std::optional<ReductionKind> reduction = start.getReductionKind();
  Operation *op =
      createByName(builder, location, getCollectiveName(start), sent, delivered,
                   properties, /*numRegions=*/reduction ? 1 : 0);
  if (!op)
    return nullptr;
  if (reduction) {
    // An average is a sum that is divided by the number of ranks afterwards.
    if (reduction == ReductionKind::Avg)
      reduction = ReductionKind::Sum;
    Type element = cast<ShapedType>(delivered.front()).getElementType();
    auto sharding = start->getAttrOfType<DictionaryAttr>(reducerShardingMark);
    auto text = start->getAttrOfType<StringAttr>(reducerMark);
    buildReducer(builder, location, op->getRegion(0),
                 {*reduction, sharding, text}, element);
  }
  addAttributes(op, foreign);
  if (!start->hasAttr(asyncMark))
    restoreLocations(op, start.getLoc());
  return op;
}

Operation *LaunchLowering::Writer::createAsyncStart(ValueRange sent,
                                                    TypeRange delivered,
                                                    DictionaryAttr properties) {
  Type future = lowering.getFutureType(start, delivered);
  if (!future)
    return nullptr;
  auto mark = start->getAttrOfType<DictionaryAttr>(asyncMark);
  auto own =
      mark ? mark.getAs<DictionaryAttr>(asyncPropertiesKey) : DictionaryAttr();
  Operation *op = createByName(before, location, asyncStartName, sent, future,
                               own, /*numRegions=*/1);
  if (!op)
    return nullptr;
  if (mark) {
    if (auto attributes = mark.getAs<DictionaryAttr>(asyncAttributesKey))
      addAttributes(op, attributes.getValue());
  } else if (Attribute hints =
                 start->getDiscardableAttr(frontendAttributesName)) {
    op->setDiscardableAttr(frontendAttributesName, hints);
  }
  OpBuilder::InsertionGuard guard(before);
  Block *body =
      before.createBlock(&op->getRegion(0), {}, sent.getTypes(),
                         SmallVector<Location>(sent.size(), location));
  Operation *collective =
      createCollective(before, body->getArguments(), delivered, properties);
  if (!collective)
    return nullptr;
  createByName(before, location, returnName, collective->getResults(),
               /*results=*/{}, /*properties=*/{});
  if (mark)
    restoreLocations(op, start.getLoc());
  return op;
}

Operation *LaunchLowering::Writer::createAsyncDone(Value future,
                                                   TypeRange delivered) {
  Operation *op =
      createByName(after, wait->getLoc(), asyncDoneName, future, delivered,
                   wait->getAttrOfType<DictionaryAttr>(waitPropertiesMark));
  if (!op)
    return nullptr;
  addAttributes(op, getForeignAttributes(wait));
  Attribute hints = start->getDiscardableAttr(frontendAttributesName);
  if (hints && !start->hasAttr(asyncMark))
    op->setDiscardableAttr(frontendAttributesName, hints);
  return op;
}

/// Transfers `sent` by one collective.
FailureOr<SmallVector<Value>>
LaunchLowering::Writer::transfer(ValueRange sent, TypeRange delivered,
                                 DictionaryAttr properties) {
  if (isBlocking) {
    Operation *op = createCollective(before, sent, delivered, properties);
    if (!op)
      return failure();
    return SmallVector<Value>(op->getResults());
  }
  Operation *begin = createAsyncStart(sent, delivered, properties);
  if (!begin)
    return failure();
  Operation *end = createAsyncDone(begin->getResult(0), delivered);
  if (!end)
    return failure();
  return SmallVector<Value>(end->getResults());
}

//===----------------------------------------------------------------------===//
// Several tensors
//===----------------------------------------------------------------------===//

static bool haveOneElementType(ArrayRef<Value> sent) {
  return llvm::all_equal(llvm::map_range(sent, [](Value value) {
    return cast<ShapedType>(value.getType()).getElementType();
  }));
}

/// Only two of the collectives take operands of different shapes. A variadic
/// original was read as it is; asynchronous ones are variadic only then.
bool LaunchLowering::Writer::canBeVariadic() {
  if (original && (isBlocking || start->hasAttr(asyncMark)))
    return true;
  return isBlocking && lowering.mayBeVariadic && haveOneElementType(sent) &&
         isa<AllGatherOp, AllReduceOp>(start.getOperation());
}

bool LaunchLowering::Writer::canBePacked() const {
  auto isPlain = [](Type type) {
    auto tensor = cast<RankedTensorType>(type);
    return tensor.hasStaticShape() && !tensor.getEncoding() &&
           tensor.getNumElements() != 0;
  };
  return haveOneElementType(sent) && llvm::all_of(delivered, isPlain) &&
         llvm::all_of(ValueRange(sent).getTypes(), isPlain);
}

/// XLA compiles no asynchronous all_to_all that concatenates along another
/// dimension than it splits: it would need more than one operation.
bool LaunchLowering::Writer::mustMoveRows() {
  auto exchange = dyn_cast<AllToAllOp>(start.getOperation());
  return exchange && !isBlocking && !start->hasAttr(asyncMark) &&
         exchange.getSplitDim() != exchange.getConcatDim();
}

/// Packs all values into one, in which what one rank sends or receives lies
/// together, and transfers it along dimension 0.
FailureOr<SmallVector<Value>> LaunchLowering::Writer::transferPacked() {
  auto gather = dyn_cast<AllGatherOp>(start.getOperation());
  auto scatter = dyn_cast<ReduceScatterOp>(start.getOperation());
  auto exchange = dyn_cast<AllToAllOp>(start.getOperation());
  bool sendsRows = scatter || exchange, receivesRows = gather || exchange;
  TensorBuilder pack(before, location);
  SmallVector<Value> parts;
  for (Value value : sent)
    parts.push_back(sendsRows
                        ? pack.splitIntoRows(value,
                                             scatter ? scatter.getDim()
                                                     : exchange.getSplitDim(),
                                             groupSize)
                        : pack.flatten(value));
  Value packed = pack.concatenate(parts, sendsRows ? 1 : 0);
  auto type = cast<RankedTensorType>(packed.getType());
  SmallVector<int64_t> shape(type.getShape());
  if (gather)
    shape[0] *= groupSize;
  if (scatter)
    shape[0] = 1;
  FailureOr<SmallVector<Value>> whole =
      transfer(packed, type.clone(shape), getProperties(/*isFlat=*/true));
  if (failed(whole))
    return failure();

  TensorBuilder unpack(after, wait->getLoc());
  int64_t rowSize = type.getShape().back();
  Value rows = receivesRows
                   ? unpack.reshape(whole->front(), {groupSize, rowSize})
                   : unpack.flatten(whole->front());
  SmallVector<Value> values;
  int64_t offset = 0;
  for (Type each : delivered) {
    auto target = cast<RankedTensorType>(each);
    int64_t size = target.getNumElements() / (receivesRows ? groupSize : 1);
    Value part = unpack.sliceLast(rows, offset, size);
    int64_t dim =
        gather ? gather.getDim() : (exchange ? exchange.getConcatDim() : 0);
    values.push_back(receivesRows
                         ? unpack.joinRows(part, dim, target.getShape())
                         : unpack.reshape(part, target.getShape()));
    offset += size;
  }
  return values;
}

static DenseElementsAttr getSplat(RankedTensorType type, int64_t value) {
  Type element = type.getElementType();
  auto complex = dyn_cast<ComplexType>(element);
  auto floating = cast<FloatType>(complex ? complex.getElementType() : element);
  Attribute number = FloatAttr::get(floating, value);
  if (!complex)
    return DenseElementsAttr::get(type, number);
  Attribute zero = FloatAttr::get(floating, 0);
  return DenseElementsAttr::get(
      type, Attribute(ArrayAttr::get(type.getContext(), {number, zero})));
}

void LaunchLowering::Writer::divideByGroupSize(SmallVectorImpl<Value> &values) {
  TensorBuilder builder(after, wait->getLoc());
  for (Value &value : values) {
    auto type = cast<RankedTensorType>(value.getType());
    Value size = builder.constant(getSplat(type, groupSize));
    value = builder.apply("stablehlo.divide", {value, size}, type);
  }
}

/// Transfers all values, packed only where they have to be.
FailureOr<SmallVector<Value>> LaunchLowering::Writer::transferAll() {
  bool isWhole = delivered.size() == 1 || canBeVariadic();
  if (isWhole && !(mustMoveRows() && canBePacked()))
    return transfer(sent, delivered, getProperties(/*isFlat=*/false));
  if (canBePacked())
    return transferPacked();
  SmallVector<Value> values;
  for (auto [value, type] : llvm::zip_equal(sent, delivered)) {
    FailureOr<SmallVector<Value>> results =
        transfer(value, type, getProperties(/*isFlat=*/false));
    if (failed(results))
      return failure();
    values.push_back(results->front());
  }
  return values;
}

LogicalResult LaunchLowering::Writer::write() {
  if (failed(readAttributes()))
    return failure();
  FailureOr<SmallVector<Value>> values = transferAll();
  if (failed(values))
    return failure();
  if (start.getReductionKind() == ReductionKind::Avg)
    divideByGroupSize(*values);
  wait->replaceAllUsesWith(*values);
  wait->erase();
  start->erase();
  for (Operation *op : promotions)
    if (op->use_empty())
      op->erase();
  return success();
}

LogicalResult LaunchLowering::lower(const Launch &launch) {
  return Writer(*this, launch).write();
}
