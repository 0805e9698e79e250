//===- StableHlo.cpp - StableHLO by name ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "StableHlo.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Location.h"
#include "mlir/IR/Operation.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/InterleavedRange.h"
#include "llvm/Support/Regex.h"
#include "llvm/Support/ScopedPrinter.h"
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

std::optional<stablehlo::ChannelHandle>
mlir::commsched::stablehlo::readChannelHandle(Attribute attr) {
  if (!attr)
    return std::nullopt;
  static const llvm::Regex pattern(
      "^#stablehlo\\.channel_handle<[[:space:]]*handle[[:space:]]*=[[:space:]]*"
      "(-?[0-9]+)[[:space:]]*,[[:space:]]*type[[:space:]]*=[[:space:]]*"
      "(-?[0-9]+)[[:space:]]*>$");
  std::string text = llvm::to_string(attr);
  SmallVector<StringRef> matches;
  ChannelHandle channel;
  if (!pattern.match(text, &matches) ||
      matches[1].getAsInteger(10, channel.handle) ||
      matches[2].getAsInteger(10, channel.type))
    return std::nullopt;
  return channel;
}

std::string mlir::commsched::stablehlo::getFutureText(TypeRange types) {
  return "!stablehlo.future<" + llvm::to_string(llvm::interleaved(types)) + ">";
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
    {"stablehlo.or", ReductionKind::BitOr},
    {"stablehlo.xor", ReductionKind::BitXor}};

/// The operation of StableHLO that computes `reduction` on two scalars, empty
/// for `avg`, which `readReducer` does not return.
static StringRef getReducerName(ReductionKind reduction) {
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

bool mlir::commsched::stablehlo::isPromotable(Type from, Type to) {
  if (auto complex = dyn_cast<ComplexType>(from)) {
    auto other = dyn_cast<ComplexType>(to);
    return other &&
           isPromotable(complex.getElementType(), other.getElementType());
  }
  if (auto integer = dyn_cast<IntegerType>(from)) {
    auto other = dyn_cast<IntegerType>(to);
    return other && integer.getSignedness() == other.getSignedness() &&
           integer.getWidth() <= other.getWidth();
  }
  auto number = dyn_cast<FloatType>(from), other = dyn_cast<FloatType>(to);
  return number && other &&
         llvm::APFloat::isRepresentableBy(number.getFloatSemantics(),
                                          other.getFloatSemantics());
}

/// Whether `reduction` of two elements in the type `wide`, rounded to
/// `element`, is that in `element`: twice the digits and two more are enough
/// for sums and products.
static bool isEqualIn(ReductionKind reduction, Type wide, Type element) {
  if (wide == element)
    return true;
  if (!stablehlo::isPromotable(element, wide) || isa<ComplexType>(element))
    return false;
  auto number = dyn_cast<FloatType>(element);
  bool rounds =
      reduction == ReductionKind::Sum || reduction == ReductionKind::Prod;
  return !number || !rounds ||
         2 * number.getFPMantissaWidth() + 2 <=
             cast<FloatType>(wide).getFPMantissaWidth();
}

/// The operation that computes `value`, if it changes the type or sharding
/// only; null otherwise.
static Operation *getCast(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op || op->getNumOperands() != 1 || op->getNumResults() != 1 ||
      op->getNumRegions() != 0)
    return nullptr;
  StringRef name = op->getName().getStringRef();
  bool isConvert = name == stablehlo::convertName &&
                   stablehlo::getInherentAttributes(op).empty();
  return isConvert || name == stablehlo::shardingConstraintName ? op : nullptr;
}

/// What `value` is before casts, which are counted in `numCasts`.
static Value skipCasts(Value value, int64_t &numCasts) {
  while (Operation *cast = getCast(value)) {
    ++numCasts;
    value = cast->getOperand(0);
  }
  return value;
}

/// Reads `block`, of which both arguments are a `scalar`, if the one operation
/// that it returns has other arguments, casts around it, or attributes.
static std::optional<stablehlo::Reducer>
readOtherReducer(Block &block, RankedTensorType scalar) {
  Operation &returned = block.back();
  if (returned.getName().getStringRef() != stablehlo::returnName ||
      returned.getNumOperands() != 1 ||
      returned.getOperand(0).getType() != scalar)
    return std::nullopt;
  int64_t numCasts = 0;
  Value result = skipCasts(returned.getOperand(0), numCasts);
  Operation *computed = result.getDefiningOp();
  if (!computed || computed->getBlock() != &block ||
      computed->getNumOperands() != 2 || computed->getNumResults() != 1 ||
      computed->getNumRegions() != 0 ||
      !stablehlo::getInherentAttributes(computed).empty())
    return std::nullopt;
  const auto *named =
      llvm::find_if(reductions, [&](const NamedReduction &each) {
        return each.name == computed->getName().getStringRef();
      });
  auto type = dyn_cast<RankedTensorType>(result.getType());
  if (named == std::end(reductions) || !type || type.getRank() != 0 ||
      llvm::any_of(computed->getOperandTypes(),
                   [&](Type each) { return each != type; }) ||
      !isEqualIn(named->reduction, type.getElementType(),
                 scalar.getElementType()))
    return std::nullopt;
  Value left = skipCasts(computed->getOperand(0), numCasts);
  Value right = skipCasts(computed->getOperand(1), numCasts);
  Value first = block.getArgument(0), second = block.getArgument(1);
  bool isOfBoth =
      (left == first && right == second) || (left == second && right == first);
  // Casts in between are to `type` and from it, and nothing else is computed.
  auto isKnown = [&](Type each) { return each == scalar || each == type; };
  for (Operation &op : block.without_terminator())
    if (!llvm::all_of(op.getResultTypes(), isKnown))
      return std::nullopt;
  if (!isOfBoth || !llvm::hasNItems(block, numCasts + 2))
    return std::nullopt;
  return stablehlo::Reducer{named->reduction};
}

/// Reads `block`, of which both arguments are a `scalar`, in the form that
/// `buildReducer` writes.
static std::optional<stablehlo::Reducer> readPlainReducer(Block &block,
                                                          Type scalar) {
  if (!(llvm::hasNItems(block, 2) || llvm::hasNItems(block, 3)))
    return std::nullopt;
  Operation &computed = block.front(), &returned = block.back();
  std::optional<ReductionKind> reduction = getReduction(computed);
  if (!reduction ||
      !isScalarOperation(computed, block.getArguments(), scalar) ||
      returned.getName().getStringRef() != stablehlo::returnName ||
      hasAttributes(&returned) || returned.getNumResults() != 0)
    return std::nullopt;
  stablehlo::Reducer reducer{*reduction};
  Operation &last = *returned.getPrevNode();
  if (&last != &computed) {
    if (last.getName().getStringRef() != stablehlo::shardingConstraintName ||
        !last.getDiscardableAttrDictionary().empty() ||
        !isScalarOperation(last, computed.getResults(), scalar))
      return std::nullopt;
    reducer.sharding = stablehlo::getInherentAttributes(&last);
  }
  if (!llvm::equal(returned.getOperands(), last.getResults()))
    return std::nullopt;
  return reducer;
}

/// The text of an operation with a copy of `body`.
static StringAttr printReducer(Region &body) {
  MLIRContext *context = body.getContext();
  OperationState state(UnknownLoc::get(context), stablehlo::allReduceName);
  IRMapping mapping;
  body.cloneInto(state.addRegion(), mapping);
  OwningOpRef<Operation *> op = Operation::create(state);
  std::string text;
  llvm::raw_string_ostream os(text);
  op->print(os, OpPrintingFlags().printGenericOpForm().useLocalScope());
  return StringAttr::get(context, text);
}

std::optional<stablehlo::Reducer>
mlir::commsched::stablehlo::readReducer(Region &body, Type element) {
  if (!body.hasOneBlock() || body.front().empty())
    return std::nullopt;
  Block &block = body.front();
  auto scalar = RankedTensorType::get({}, element);
  if (block.getNumArguments() != 2 ||
      !llvm::all_of(block.getArgumentTypes(),
                    [&](Type type) { return type == scalar; }))
    return std::nullopt;
  if (std::optional<Reducer> plain = readPlainReducer(block, scalar))
    return plain;
  std::optional<Reducer> other = readOtherReducer(block, scalar);
  if (other)
    other->text = printReducer(body);
  return other;
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

/// Moves the region of the operation `text` into `body`, unless it is no text
/// of an operation with one.
static bool parseReducer(StringAttr text, Location location, Region &body) {
  Block parsed;
  ParserConfig config(text.getContext(), /*verifyAfterParse=*/false);
  if (failed(parseSourceString(text.getValue(), &parsed, config)) ||
      !llvm::hasSingleElement(parsed) || parsed.front().getNumRegions() != 1)
    return false;
  body.takeBody(parsed.front().getRegion(0));
  for (BlockArgument argument : body.getArguments())
    argument.setLoc(location);
  body.walk([&](Operation *op) { op->setLoc(location); });
  return true;
}

void mlir::commsched::stablehlo::buildReducer(OpBuilder &builder,
                                              Location location, Region &body,
                                              const Reducer &reducer,
                                              Type element) {
  if (reducer.text && parseReducer(reducer.text, location, body))
    return;
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
