//===- ReplaceCollectives.cpp - Starts and waits for collectives ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Conversion.h"

#include "CommSched/Dialect/CommSchedAttributes.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace mlir::commsched;
using namespace mlir::commsched::stablehlo;

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

namespace {

/// Gives each start a name that no other of the module has: that of its
/// location, or else its kind and a number.
class StartNames {
public:
  StartNames(MLIRContext *context, ArrayRef<Collective> collectives)
      : context(context) {
    for (const Collective &collective : collectives)
      used.insert(getStableName(collective.op));
  }

  StringAttr getName(const Collective &collective) {
    if (auto named = dyn_cast<NameLoc>(collective.getStart()->getLoc()))
      return makeUnique(named.getName().getValue(), /*isNumbered=*/false);
    StringRef name = collective.isRagged
                         ? "ragged_all_to_all"
                         : stringifyCollectiveKind(collective.kind);
    return makeUnique(name, /*isNumbered=*/true);
  }

private:
  /// `name`, and the next number if it occurred before or `isNumbered`.
  StringAttr makeUnique(StringRef name, bool isNumbered) {
    while (true) {
      int64_t count = counts[name]++;
      std::string unique = name.str();
      if (count > 0 || isNumbered)
        unique += "." + std::to_string(count);
      if (used.insert(unique).second)
        return StringAttr::get(context, unique);
    }
  }

  MLIRContext *context;
  llvm::StringMap<int64_t> counts;
  llvm::StringSet<> used;
};

} // namespace

//===----------------------------------------------------------------------===//
// Starts and waits
//===----------------------------------------------------------------------===//

/// What `collective` sends: its operands, converted to the element types of the
/// results if it promotes them.
static SmallVector<Value> createSent(OpBuilder &builder,
                                     const Collective &collective) {
  Operation *op = collective.getStart();
  SmallVector<Value> sent = llvm::to_vector(op->getOperands());
  if (!collective.isPromoted)
    return sent;
  for (auto [value, delivered] :
       llvm::zip_equal(sent, collective.op->getResultTypes())) {
    auto type = cast<RankedTensorType>(value.getType());
    Type element = cast<RankedTensorType>(delivered).getElementType();
    if (type.getElementType() == element)
      continue;
    Operation *convert = createByName(builder, op->getLoc(), convertName, value,
                                      type.clone(element), /*properties=*/{});
    convert->setDiscardableAttr(promotionMark, builder.getUnitAttr());
    value = convert->getResult(0);
  }
  return sent;
}

/// Creates the start of `collective`.
static Operation *createStart(OpBuilder &builder, const Collective &collective,
                              FlatSymbolRefAttr group) {
  Operation *op = collective.getStart();
  Location location = packLocations(op);
  SmallVector<Value> sent = createSent(builder, collective);
  Type future = FutureType::get(
      builder.getContext(), llvm::to_vector(collective.op->getResultTypes()));
  if (collective.isRagged)
    return RaggedAllToAllOp::create(builder, location, future, sent[0], group,
                                    sent[2], sent[3], sent[4], sent[5],
                                    sent[1]);
  ValueRange into;
  IntegerAttr dim = builder.getI64IntegerAttr(collective.dim);
  auto reduction = ReductionKindAttr::get(builder.getContext(),
                                          collective.reducer.reduction);
  switch (collective.kind) {
  case CollectiveKind::AllGather:
    return AllGatherOp::create(builder, location, future, sent, group, dim,
                               into);
  case CollectiveKind::ReduceScatter:
    return ReduceScatterOp::create(builder, location, future, sent, group,
                                   reduction, dim, into);
  case CollectiveKind::AllReduce:
    return AllReduceOp::create(builder, location, future, sent, group,
                               reduction, into);
  case CollectiveKind::AllToAll:
    return AllToAllOp::create(builder, location, future, sent, group, dim,
                              builder.getI64IntegerAttr(collective.concatDim),
                              /*input_splits=*/DenseI64ArrayAttr(),
                              /*output_splits=*/DenseI64ArrayAttr(), into,
                              /*input_sizes=*/Value(),
                              /*output_sizes=*/Value());
  case CollectiveKind::Broadcast:
    return BroadcastOp::create(builder, location, future, sent, group,
                               /*root=*/builder.getI64IntegerAttr(0), into);
  default:
    return PermuteOp::create(builder, location, future, sent, group,
                             collective.pairs, into);
  }
}

/// What is annotated on the `async_start`, for the way back.
static DictionaryAttr getAsyncMark(Operation *start) {
  NamedAttrList mark;
  if (DictionaryAttr properties = getInherentAttributes(start);
      !properties.empty())
    mark.set(asyncPropertiesKey, properties);
  if (DictionaryAttr attributes = start->getDiscardableAttrDictionary();
      !attributes.empty())
    mark.set(asyncAttributesKey, attributes);
  return mark.getDictionary(start->getContext());
}

static void replace(const Collective &collective, FlatSymbolRefAttr group,
                    StartNames &names) {
  Operation *op = collective.op;
  Operation *original = collective.getStart();
  OpBuilder builder(original);
  Operation *start = createStart(builder, collective, group);
  start->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  start->setDiscardableAttr(propertiesMark, getInherentAttributes(op));
  if (collective.reducer.sharding)
    start->setDiscardableAttr(reducerShardingMark, collective.reducer.sharding);
  if (collective.reducer.text)
    start->setDiscardableAttr(reducerMark, collective.reducer.text);
  if (collective.asyncStart)
    start->setDiscardableAttr(asyncMark, getAsyncMark(original));
  if (getStableName(start).empty()) {
    start->setDiscardableAttr(nameAttrName, names.getName(collective));
    start->setDiscardableAttr(namedMark, builder.getUnitAttr());
  }

  Operation *ended = collective.asyncDone ? collective.asyncDone : op;
  builder.setInsertionPoint(ended);
  WaitOp wait = WaitOp::create(builder, ended->getLoc(), start->getResult(0));
  if (collective.asyncDone) {
    wait->setDiscardableAttrs(ended->getDiscardableAttrDictionary());
    DictionaryAttr properties = getInherentAttributes(ended);
    if (!properties.empty())
      wait->setDiscardableAttr(waitPropertiesMark, properties);
  }
  ended->replaceAllUsesWith(wait);
  ended->erase();
  if (collective.asyncStart)
    collective.asyncStart->erase();
}

void mlir::commsched::stablehlo::replaceCollectives(
    MutableArrayRef<Collective> collectives, Context &context,
    SymbolTable &symbols) {
  StartNames names(context.module.getContext(), collectives);
  for (const Collective &collective : collectives)
    replace(collective, context.groups.getSymbol(*collective.group, symbols),
            names);
}
