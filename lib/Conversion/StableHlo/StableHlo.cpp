//===- StableHlo.cpp - StableHLO by name ----------------------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StableHlo.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Location.h"
#include "mlir/IR/Operation.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mlir::commsched;

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

DictionaryAttr
mlir::commsched::stablehlo::getInherentAttributes(Operation *op) {
  if (auto dictionary =
          dyn_cast_if_present<DictionaryAttr>(op->getPropertiesAsAttribute()))
    return dictionary;
  return DictionaryAttr::get(op->getContext());
}

Attribute mlir::commsched::stablehlo::getAttribute(Operation *op,
                                                   StringRef name) {
  if (auto dictionary =
          dyn_cast_if_present<DictionaryAttr>(op->getPropertiesAsAttribute()))
    if (Attribute attr = dictionary.get(name))
      return attr;
  return op->getDiscardableAttr(name);
}

/// Removes `key` and " = " and an integer from the front of `text`.
static bool consumeField(StringRef &text, StringRef key, int64_t &value) {
  text = text.ltrim();
  if (!text.consume_front(key))
    return false;
  text = text.ltrim();
  if (!text.consume_front("="))
    return false;
  text = text.ltrim();
  return !text.consumeInteger(10, value);
}

std::optional<stablehlo::ChannelHandle>
mlir::commsched::stablehlo::readChannelHandle(Attribute attr) {
  if (!attr)
    return std::nullopt;
  std::string printed;
  llvm::raw_string_ostream(printed) << attr;
  StringRef text = printed;
  ChannelHandle channel;
  if (!text.consume_front("#stablehlo.channel_handle<") ||
      !consumeField(text, "handle", channel.handle))
    return std::nullopt;
  text = text.ltrim();
  if (!text.consume_front(",") || !consumeField(text, "type", channel.type) ||
      text.trim() != ">")
    return std::nullopt;
  return channel;
}

LogicalResult mlir::commsched::stablehlo::readCount(ModuleOp module,
                                                    StringRef name,
                                                    int64_t &number,
                                                    bool &isKnown) {
  Attribute attr = module->getDiscardableAttr(name);
  if (!attr)
    return success();
  auto integer = dyn_cast<IntegerAttr>(attr);
  if (!integer || integer.getValue().getSignificantBits() > 32 ||
      integer.getValue().getSExtValue() < 1)
    return module.emitOpError("attribute '")
           << name << "' must be a number from 1 to 2147483647, not " << attr;
  number = integer.getValue().getSExtValue();
  isKnown = true;
  return success();
}

//===----------------------------------------------------------------------===//
// Reducers
//===----------------------------------------------------------------------===//

namespace {

struct NamedReduction {
  StringLiteral name;
  ReductionKind reduction;
};

} // namespace

static constexpr NamedReduction reductions[] = {
    {"stablehlo.add", ReductionKind::Sum},
    {"stablehlo.maximum", ReductionKind::Max},
    {"stablehlo.minimum", ReductionKind::Min},
    {"stablehlo.multiply", ReductionKind::Prod},
    {"stablehlo.and", ReductionKind::BitAnd},
    {"stablehlo.or", ReductionKind::BitOr}};

StringRef mlir::commsched::stablehlo::getReducerName(ReductionKind reduction) {
  for (const NamedReduction &named : reductions)
    if (named.reduction == reduction)
      return named.name;
  return {};
}

static bool hasAttributes(Operation *op) {
  return !op->getDiscardableAttrDictionary().empty() ||
         !stablehlo::getInherentAttributes(op).empty();
}

/// Whether `op` computes one scalar of type `scalar` from `operands` alone.
static bool isScalarOperation(Operation &op, ValueRange operands, Type scalar) {
  return op.getNumRegions() == 0 && op.getNumSuccessors() == 0 &&
         llvm::equal(op.getOperands(), operands) && op.getNumResults() == 1 &&
         op.getResult(0).getType() == scalar;
}

static std::optional<ReductionKind> getReduction(Operation &op) {
  if (hasAttributes(&op))
    return std::nullopt;
  StringRef name = op.getName().getStringRef();
  for (const NamedReduction &named : reductions)
    if (named.name == name)
      return named.reduction;
  return std::nullopt;
}

std::optional<stablehlo::Reducer>
mlir::commsched::stablehlo::readReducer(Region &body, Type element) {
  if (!body.hasOneBlock())
    return std::nullopt;
  Block &block = body.front();
  Type scalar = RankedTensorType::get({}, element);
  if (block.getNumArguments() != 2 ||
      !llvm::all_of(block.getArgumentTypes(),
                    [&](Type type) { return type == scalar; }) ||
      !(llvm::hasNItems(block, 2) || llvm::hasNItems(block, 3)))
    return std::nullopt;
  Operation &computed = block.front(), &returned = block.back();
  std::optional<ReductionKind> reduction = getReduction(computed);
  if (!reduction ||
      !isScalarOperation(computed, block.getArguments(), scalar) ||
      returned.getName().getStringRef() != returnName ||
      hasAttributes(&returned) || returned.getNumResults() != 0)
    return std::nullopt;
  stablehlo::Reducer reducer{*reduction, DictionaryAttr()};
  Operation &last = *returned.getPrevNode();
  if (&last != &computed) {
    if (last.getName().getStringRef() != shardingConstraintName ||
        !last.getDiscardableAttrDictionary().empty() ||
        !isScalarOperation(last, computed.getResults(), scalar))
      return std::nullopt;
    reducer.sharding = stablehlo::getInherentAttributes(&last);
  }
  if (!llvm::equal(returned.getOperands(), last.getResults()))
    return std::nullopt;
  return reducer;
}

//===----------------------------------------------------------------------===//
// Locations
//===----------------------------------------------------------------------===//

/// Visits everything in the regions of `op` that has a location.
static void forEachInside(Operation *op,
                          function_ref<void(BlockArgument)> visitArgument,
                          function_ref<void(Operation *)> visitOperation) {
  op->walk<WalkOrder::PreOrder>([&](Operation *inner) {
    if (inner != op)
      visitOperation(inner);
    for (Region &region : inner->getRegions())
      for (BlockArgument argument : region.getArguments())
        visitArgument(argument);
  });
}

Location mlir::commsched::stablehlo::packLocations(Operation *op) {
  SmallVector<Attribute> inside;
  forEachInside(
      op, [&](BlockArgument argument) { inside.push_back(argument.getLoc()); },
      [&](Operation *inner) { inside.push_back(inner->getLoc()); });
  Location own = op->getLoc();
  if (llvm::all_of(inside, [&](Attribute each) { return each == own; }))
    return own;
  return FusedLoc::get(own, ArrayAttr::get(op->getContext(), inside),
                       op->getContext());
}

/// What `packLocations` added; null if it added nothing.
static ArrayAttr getPackedLocations(Location location) {
  auto fused = dyn_cast<FusedLoc>(location);
  auto inside =
      fused ? dyn_cast_if_present<ArrayAttr>(fused.getMetadata()) : ArrayAttr();
  if (inside && fused.getLocations().size() == 1 &&
      llvm::all_of(inside, llvm::IsaPred<LocationAttr>))
    return inside;
  return {};
}

Location mlir::commsched::stablehlo::unpackLocation(Location location) {
  auto fused = dyn_cast<FusedLoc>(location);
  if (!fused)
    return location;
  if (getPackedLocations(location))
    return fused.getLocations().front();
  if (fused.getMetadata())
    return location;
  SmallVector<Location> parts =
      llvm::map_to_vector(fused.getLocations(), unpackLocation);
  return FusedLoc::get(location.getContext(), parts);
}

void mlir::commsched::stablehlo::restoreLocations(Operation *op,
                                                  Location packed) {
  op->setLoc(unpackLocation(packed));
  ArrayAttr inside = getPackedLocations(packed);
  size_t count = 0;
  forEachInside(
      op, [&](BlockArgument) { ++count; }, [&](Operation *) { ++count; });
  if (!inside || inside.size() != count)
    return;
  auto next = inside.getAsRange<LocationAttr>().begin();
  forEachInside(
      op, [&](BlockArgument argument) { argument.setLoc(*next++); },
      [&](Operation *inner) { inner->setLoc(*next++); });
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

Operation *mlir::commsched::stablehlo::createByName(
    OpBuilder &builder, Location location, StringRef name, ValueRange operands,
    TypeRange results, DictionaryAttr properties, unsigned numRegions) {
  OperationState state(location, name, operands, results);
  for (unsigned index = 0; index < numRegions; ++index)
    state.addRegion();
  Operation *op = builder.create(state);
  if (!properties || properties.empty())
    return op;
  auto emitError = [&] { return mlir::emitError(location); };
  if (succeeded(op->setPropertiesFromAttribute(properties, emitError)))
    return op;
  op->erase();
  return nullptr;
}

void mlir::commsched::stablehlo::buildReducer(OpBuilder &builder,
                                              Location location, Region &body,
                                              const Reducer &reducer,
                                              Type element) {
  OpBuilder::InsertionGuard guard(builder);
  Type scalar = RankedTensorType::get({}, element);
  Block *block = builder.createBlock(&body, body.end(), {scalar, scalar},
                                     SmallVector<Location>(2, location));
  Operation *computed =
      createByName(builder, location, getReducerName(reducer.reduction),
                   block->getArguments(), scalar, /*properties=*/{});
  // A constraint says nothing about the value, and may be left out.
  if (Operation *constraint =
          reducer.sharding
              ? createByName(builder, location, shardingConstraintName,
                             computed->getResults(), scalar, reducer.sharding)
              : nullptr)
    computed = constraint;
  createByName(builder, location, returnName, computed->getResults(),
               /*results=*/{}, /*properties=*/{});
}
