//===- CountedLoop.cpp - Loops with a condition that count ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CountedLoop.h"

#include "CommSched/Analysis/Costs/RegionRuns.h"
#include "CommSched/Analysis/OperationTexts.h"
#include "CommSched/Dialect/CommSchedDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/Transforms/Transforms.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/ScopedPrinter.h"

using namespace mlir;
using namespace mlir::commsched;

/// The number of the carried value that the condition compares, or none.
static std::optional<unsigned> findCounter(scf::WhileOp loop) {
  auto compared =
      loop.getConditionOp().getCondition().getDefiningOp<arith::CmpIOp>();
  if (!compared)
    return std::nullopt;
  for (Value side : compared->getOperands()) {
    auto argument = dyn_cast<BlockArgument>(side);
    if (argument && argument.getOwner() == loop.getBeforeBody())
      return argument.getArgNumber();
  }
  return std::nullopt;
}

/// Erases the operations behind `first`, or all, up to `end` that nothing uses.
static void eraseDead(Operation *first, Operation *end) {
  for (Operation *op = end->getPrevNode(); op != first;) {
    Operation *before = op->getPrevNode();
    if (isOpTriviallyDead(op))
      op->erase();
    op = before;
  }
}

CountedLoop mlir::commsched::dropPassedOn(scf::ForOp loop) {
  CountedLoop result;
  SmallVector<unsigned> kept;
  SmallVector<Value> inits, yielded;
  for (auto [index, value] : llvm::enumerate(loop.getYieldedValues())) {
    bool isPassedOn = value == loop.getRegionIterArg(index);
    if (isPassedOn) {
      loop.getRegionIterArg(index).replaceAllUsesWith(
          loop.getInitArgs()[index]);
      continue;
    }
    kept.push_back(index);
    inits.push_back(loop.getInitArgs()[index]);
    yielded.push_back(value);
  }
  OpBuilder builder(loop);
  result.loop = scf::ForOp::create(
      builder, loop.getLoc(), loop.getLowerBound(), loop.getUpperBound(),
      loop.getStep(), inits, [](OpBuilder &, Location, Value, ValueRange) {});
  result.loop->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
  Block *body = result.loop.getBody();
  body->getOperations().splice(body->end(), loop.getBody()->getOperations());
  loop.getInductionVar().replaceAllUsesWith(result.loop.getInductionVar());
  result.results.assign(loop.getInitArgs().begin(), loop.getInitArgs().end());
  for (auto [place, index] : llvm::enumerate(kept)) {
    loop.getRegionIterArg(index).replaceAllUsesWith(
        result.loop.getRegionIterArg(place));
    result.results[index] = result.loop.getResult(place);
  }
  // The values that are yielded may be arguments that were replaced.
  Operation *terminator = body->getTerminator();
  SmallVector<Value> values;
  for (unsigned index : kept)
    values.push_back(terminator->getOperand(index));
  terminator->setOperands(values);
  loop.replaceAllUsesWith(result.results);
  loop.erase();
  return result;
}

/// Whether an iteration does not use a carried value, or only to make the next
/// one, as a counter that nothing reads.
static bool isUnused(BlockArgument argument, Value next) {
  Operation *op = next.getDefiningOp();
  return argument.use_empty() ||
         (op && next.hasOneUse() && op->getNumResults() == 1 &&
          isMemoryEffectFree(op) &&
          llvm::all_of(argument.getUsers(),
                       [&](Operation *user) { return user == op; }));
}

/// Takes what the loop carries in several arguments from the first of them, and
/// passes the others on. Returns whether there are any.
static bool shareEqual(scf::ForOp loop) {
  llvm::SmallDenseMap<std::pair<Value, Value>, unsigned> firsts;
  bool isAnyShared = false;
  MutableArrayRef<OpOperand> yielded = *loop.getYieldedValuesMutable();
  for (OpOperand &value : yielded) {
    unsigned index = value.getOperandNumber();
    auto [first, isNew] =
        firsts.try_emplace({loop.getInitArgs()[index], value.get()}, index);
    if (isNew)
      continue;
    BlockArgument argument = loop.getRegionIterArg(index);
    argument.replaceAllUsesWith(loop.getRegionIterArg(first->second));
    loop.getResult(index).replaceAllUsesWith(loop.getResult(first->second));
    value.set(argument);
    isAnyShared = true;
  }
  return isAnyShared;
}

scf::ForOp mlir::commsched::dropUnused(scf::ForOp loop) {
  bool isAnyUnused = shareEqual(loop);
  for (auto [value, argument, result] :
       llvm::zip_equal(*loop.getYieldedValuesMutable(),
                       loop.getRegionIterArgs(), loop.getResults()))
    if (result.use_empty() && isUnused(argument, value.get())) {
      Operation *op =
          argument.use_empty() ? nullptr : value.get().getDefiningOp();
      value.set(argument);
      if (op)
        op->erase();
      isAnyUnused = true;
    }
  return isAnyUnused ? dropPassedOn(loop).loop : loop;
}

SmallVector<Operation *> mlir::commsched::listBounds(scf::ForOp loop) {
  llvm::SmallSetVector<Operation *, 3> bounds;
  for (Value bound :
       {loop.getLowerBound(), loop.getUpperBound(), loop.getStep()})
    if (Operation *op = bound.getDefiningOp())
      bounds.insert(op);
  return bounds.takeVector();
}

bool mlir::commsched::isStableHloWhile(Operation *op) {
  return op->getName().getStringRef() == stableHloWhileName;
}

bool mlir::commsched::isLoop(Operation *op) {
  return isa<LoopLikeOpInterface>(op) || isStableHloWhile(op);
}

void mlir::commsched::eraseUnused(ArrayRef<Operation *> operations) {
  for (Operation *op : operations)
    if (isOpTriviallyDead(op))
      op->erase();
}

void mlir::commsched::eraseWithBounds(scf::ForOp loop) {
  SmallVector<Operation *> bounds = listBounds(loop);
  loop.erase();
  eraseUnused(bounds);
}

std::optional<CountedLoop>
mlir::commsched::copyAsCountedLoop(scf::WhileOp loop,
                                   LoopProblem::DeclineFunction decline) {
  scf::ConditionOp condition = loop.getConditionOp();
  std::optional<unsigned> counter = findCounter(loop);
  if (!counter) {
    Operation *decides = condition.getCondition().getDefiningOp();
    decline(condition.getLoc(),
            "it may end early: " +
                (decides ? describe(decides) : "a value from outside") +
                " decides, and not a comparison of a counter with a bound");
    return std::nullopt;
  }
  if (*counter < loop.getNumResults() &&
      !loop.getResult(*counter).use_empty()) {
    decline(loop.getLoc(), "its counter is used behind it");
    return std::nullopt;
  }
  IRRewriter rewriter(loop->getContext());
  rewriter.setInsertionPoint(loop);
  auto copy = cast<scf::WhileOp>(rewriter.clone(*loop));
  FailureOr<scf::ForOp> counted = scf::upliftWhileToForLoop(rewriter, copy);
  if (failed(counted)) {
    copy.erase();
    decline(condition.getLoc(),
            "it does not count from one bound to another by a step");
    return std::nullopt;
  }
  eraseDead(*counted, loop);
  std::optional<int64_t> step = getConstantIntValue(counted->getStep());
  if (!step || *step <= 0) {
    counted->erase();
    decline(condition.getLoc(), "its step is not a positive constant");
    return std::nullopt;
  }
  CountedLoop result = dropPassedOn(*counted);
  // The sum of the counter and the step.
  eraseDead(nullptr, result.loop.getBody()->getTerminator());
  result.results.insert(result.results.begin() + *counter, Value());
  return result;
}

std::optional<std::string> mlir::commsched::findUnsupported(scf::ForOp loop) {
  if (loop.getUnsignedCmp())
    return "its bounds are compared without sign";
  bool areConstant = llvm::all_of(
      std::array{loop.getLowerBound(), loop.getUpperBound(), loop.getStep()},
      [](Value bound) { return getConstantIntValue(bound).has_value(); });
  if (areConstant && getTripCount(loop).source != TripCount::Source::Bounds)
    return "its counter stands still or wraps around before it ends";
  for (auto [index, value] : llvm::enumerate(loop.getYieldedValues())) {
    auto argument = dyn_cast<BlockArgument>(value);
    // scheduleLoop() declines arguments of another number.
    bool isSame = argument && argument == loop.getRegionIterArg(index);
    if (isSame || loop.isDefinedOutsideOfLoop(value))
      return ("it yields value " + Twine(index) +
              " without computing it; canonicalize it before")
          .str();
  }
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Loops of StableHLO
//===----------------------------------------------------------------------===//

/// The operation of that name and with so many operands that makes `value`.
static Operation *getProducer(Value value, StringRef name,
                              unsigned numOperands) {
  Operation *op = value.getDefiningOp();
  bool isIt = op && op->getName().getStringRef() == name &&
              op->getNumOperands() == numOperands && op->getNumResults() == 1 &&
              op->getNumRegions() == 0;
  return isIt ? op : nullptr;
}

static Attribute getAnyAttribute(Operation *op, StringRef name) {
  if (std::optional<Attribute> attr = op->getInherentAttr(name))
    return *attr;
  if (auto properties =
          dyn_cast_or_null<DictionaryAttr>(op->getPropertiesAsAttribute()))
    if (Attribute attr = properties.get(name))
      return attr;
  return op->getDiscardableAttr(name);
}

/// The constant scalar that `value` is, and its operation.
static std::optional<std::pair<Operation *, int64_t>>
readConstant(Value value) {
  Operation *op = getProducer(value, "stablehlo.constant", 0);
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!op || !type || type.getRank() != 0 || !type.getElementType().isInteger())
    return std::nullopt;
  std::optional<int64_t> number = getWholeNumber(getAnyAttribute(op, "value"));
  return number ? std::optional(std::pair(op, *number)) : std::nullopt;
}

/// Whether a constant like that of `constant` can be `number`.
static bool fitsElement(Operation *constant, int64_t number) {
  Type type = getElementTypeOrSelf(constant->getResult(0));
  unsigned width = type.getIntOrFloatBitWidth();
  return type.isUnsignedInteger() ? number >= 0 && llvm::isUIntN(width, number)
                                  : llvm::isIntN(width, number);
}

std::optional<StableHloLoop>
StableHloLoop::read(Operation *loop, LoopProblem::DeclineFunction decline) {
  auto refuse = [&](Location where, const Twine &reason) {
    decline(where, reason.str());
    return std::nullopt;
  };
  bool isWhole = loop->getNumRegions() == 2 &&
                 llvm::all_of(loop->getRegions(), [](Region &region) {
                   return region.hasOneBlock() && !region.front().empty();
                 });
  if (!isWhole)
    return refuse(loop->getLoc(), "it is malformed");
  Block &condition = loop->getRegion(0).front();
  Operation &ends = condition.back();
  auto decides = [&](Value value) {
    Operation *op = value.getDefiningOp();
    return refuse(ends.getLoc(),
                  "it may end early: " +
                      (op ? describe(op) : std::string("a carried value")) +
                      " decides, and not a comparison of a counter with a "
                      "constant");
  };
  if (ends.getNumOperands() != 1)
    return refuse(loop->getLoc(), "it is malformed");
  StableHloLoop result;
  result.original = loop;
  result.compare = getProducer(ends.getOperand(0), "stablehlo.compare", 2);
  if (!result.compare)
    return decides(ends.getOperand(0));
  std::string direction =
      llvm::to_string(getAnyAttribute(result.compare, "comparison_direction"));
  auto isCompared = [&](StringRef by) {
    return StringRef(direction).contains(("comparison_direction " + by).str());
  };
  result.includesEnd = isCompared("LE");
  auto counter = dyn_cast<BlockArgument>(result.compare->getOperand(0));
  Value bound = result.compare->getOperand(1);
  auto end = readConstant(bound);
  if (!end && getElementTypeOrSelf(bound).isInteger() &&
      getProducer(bound, "stablehlo.constant", 0))
    return refuse(bound.getLoc(),
                  "it counts to a constant that is no integer below 2^63");
  if ((!isCompared("LT") && !result.includesEnd) || !counter ||
      counter.getOwner() != &condition || !end)
    return decides(ends.getOperand(0));
  unsigned number = counter.getArgNumber();
  Block &body = loop->getRegion(1).front();
  auto first = readConstant(loop->getOperand(number));
  result.add = getProducer(body.back().getOperand(number), "stablehlo.add", 2);
  if (!first || !result.add)
    return refuse(ends.getLoc(), "it does not count from one constant to "
                                 "another by a constant step");
  bool isSecond = result.add->getOperand(1) == body.getArgument(number);
  auto step = readConstant(result.add->getOperand(isSecond ? 0 : 1));
  if (result.add->getOperand(isSecond ? 1 : 0) != body.getArgument(number) ||
      !step || step->second <= 0)
    return refuse(ends.getLoc(), "its step is not a positive constant");
  std::tie(result.firstConstant, result.first) = *first;
  std::tie(result.stepConstant, result.step) = *step;
  int64_t length = 0, last = 0;
  bool overflows =
      llvm::SubOverflow(end->second, result.first, length) ||
      llvm::AddOverflow<int64_t>(length, result.includesEnd, length);
  length = std::max<int64_t>(length, 0);
  result.count = length / result.step + (length % result.step > 0);
  // A counter that wraps around goes on.
  overflows |= llvm::MulOverflow(result.count, result.step, last) ||
               llvm::AddOverflow(last, result.first, last) ||
               !fitsElement(end->first, last);
  if (overflows)
    return refuse(ends.getLoc(), "it has too many iterations");
  return result;
}

CountedLoop StableHloLoop::copy() const {
  OpBuilder builder(original);
  Location loc = original->getLoc();
  auto makeIndex = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(builder, loc, value);
  };
  auto loop = scf::ForOp::create(
      builder, loc, makeIndex(0), makeIndex(count), makeIndex(1),
      original->getOperands(), [](OpBuilder &, Location, Value, ValueRange) {});
  Block &body = original->getRegion(1).front();
  IRMapping mapping;
  mapping.map(body.getArguments(), loop.getRegionIterArgs());
  builder.setInsertionPointToEnd(loop.getBody());
  for (Operation &op : body.without_terminator())
    builder.clone(op, mapping);
  SmallVector<Value> yielded =
      llvm::map_to_vector(body.back().getOperands(), [&](Value value) {
        return mapping.lookupOrDefault(value);
      });
  scf::YieldOp::create(builder, body.back().getLoc(), yielded);
  return dropPassedOn(loop);
}

Value StableHloLoop::makeConstant(OpBuilder &builder, Operation *like,
                                  int64_t number) const {
  Operation *constant = builder.clone(*like);
  auto type = cast<ShapedType>(constant->getResult(0).getType());
  auto value = DenseElementsAttr::get(type, APInt(type.getElementTypeBitWidth(),
                                                  number, /*isSigned=*/true,
                                                  /*implicitTrunc=*/true));
  if (constant->getDiscardableAttr("value"))
    constant->setDiscardableAttr("value", value);
  else if (auto properties = dyn_cast_or_null<DictionaryAttr>(
               constant->getPropertiesAsAttribute())) {
    NamedAttrList attributes(properties);
    attributes.set("value", value);
    (void)constant->setPropertiesFromAttribute(
        attributes.getDictionary(constant->getContext()),
        /*emitError=*/nullptr);
  }
  return constant->getResult(0);
}

/// Adds an argument to the block of the region for each value.
static Block *makeBlock(OpBuilder &builder, Region &region, Location loc,
                        ValueRange like) {
  return builder.createBlock(&region, {}, like.getTypes(),
                             SmallVector<Location>(like.size(), loc));
}

/// Ends the block as `like` ends another.
static void makeReturn(OpBuilder &builder, Operation *like, ValueRange values) {
  OperationState state(like->getLoc(), like->getName());
  state.addOperands(values);
  builder.create(state);
}

/// Lets gathers whose copy-in was an iteration before deliver into storage of
/// their own: StableHLO has no buffer that they could be written into, and the
/// loop need not carry it.
static void releaseCarriedBuffers(scf::ForOp loop) {
  auto release = [](Value buffer) {
    for (Operation *user : llvm::make_early_inc_range(buffer.getUsers()))
      if (auto gather = dyn_cast<AllGatherOp>(user))
        if (llvm::is_contained(gather.getInto(), buffer))
          gather.getIntoMutable().clear();
  };
  for (auto [value, argument, result] :
       llvm::zip_equal(loop.getYieldedValues(), loop.getRegionIterArgs(),
                       loop.getResults())) {
    auto copyIn = value.getDefiningOp<AllGatherCopyInOp>();
    if (!copyIn || value != copyIn.getBuffer())
      continue;
    release(argument);
    release(result);
  }
}

void StableHloLoop::write(scf::ForOp loop) const {
  releaseCarriedBuffers(loop);
  loop = dropUnused(loop);
  OpBuilder builder(loop);
  Location loc = loop.getLoc();
  int64_t periods = loop.getStaticTripCount()->getSExtValue();
  SmallVector<Value> inits = {makeConstant(builder, firstConstant, first)};
  llvm::append_range(inits, loop.getInitArgs());
  OperationState state(loc, stableHloWhileName);
  state.addOperands(inits);
  state.addTypes(TypeRange(ValueRange(inits)));
  state.addRegion();
  state.addRegion();
  Operation *written = builder.create(state);

  Block *condition = makeBlock(builder, written->getRegion(0), loc, inits);
  IRMapping mapping;
  mapping.map(compare->getOperand(0), condition->getArgument(0));
  mapping.map(compare->getOperand(1),
              makeConstant(builder, compare->getOperand(1).getDefiningOp(),
                           first + (periods - includesEnd) * step));
  makeReturn(builder, compare->getBlock()->getTerminator(),
             builder.clone(*compare, mapping)->getResults());

  Block *body = makeBlock(builder, written->getRegion(1), loc, inits);
  for (auto [from, to] : llvm::zip_equal(loop.getRegionIterArgs(),
                                         body->getArguments().drop_front()))
    from.replaceAllUsesWith(to);
  Operation *yield = loop.getBody()->getTerminator();
  SmallVector<Value> yielded = {Value()};
  llvm::append_range(yielded, yield->getOperands());
  yield->erase();
  body->getOperations().splice(body->end(), loop.getBody()->getOperations());
  Value stepBy = makeConstant(builder, stepConstant, step);
  OperationState sum(add->getLoc(), add->getName());
  sum.addOperands({body->getArgument(0), stepBy});
  sum.addTypes(add->getResultTypes());
  yielded.front() = builder.create(sum)->getResult(0);
  makeReturn(builder, &original->getRegion(1).front().back(), yielded);

  loop.replaceAllUsesWith(written->getResults().drop_front());
  eraseWithBounds(loop);
}
