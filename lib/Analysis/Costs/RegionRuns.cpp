//===- RegionRuns.cpp - How operations run their regions ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/Analysis/Costs/RegionRuns.h"

#include "CommSched/Analysis/Costs/GroupContention.h"
#include "CommSched/Analysis/Costs/OperationCosts.h"
#include "CommSched/Analysis/Problem/BlockProblem.h"
#include "CommSched/Analysis/Problem/CalleeSummary.h"
#include "CommSched/Dialect/CommSchedAttributes.h"
#include "CommSched/Interfaces/CommSchedInterfaces.h"
#include "CommSched/Schedule/Cyclic/Period.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "llvm/ADT/APInt.h"
#include "llvm/Support/MathExtras.h"

#include <array>
#include <limits>

using namespace mlir;
using namespace mlir::commsched;
using schedule::Problem;

RegionUse mlir::commsched::getRegionUse(Operation *op) {
  if (auto regions = dyn_cast<RegionUseOpInterface>(op))
    return regions.getRegionUse();
  if (isa<LoopLikeOpInterface>(op))
    return RegionUse::Loop;
  return isa<RegionBranchOpInterface>(op) ? RegionUse::Once
                                          : RegionUse::Unknown;
}

constexpr int64_t mostIterations = std::numeric_limits<int64_t>::max();

static int64_t clampCount(const APInt &count) {
  return count.isIntN(63) ? static_cast<int64_t>(count.getZExtValue())
                          : mostIterations;
}

/// Iterations from one bound to another; none when they are not constants, or
/// when the counter wraps around or stands still before it reaches the end.
static std::optional<int64_t> countTrips(OpFoldResult low, OpFoldResult high,
                                         OpFoldResult step,
                                         bool isSigned = true) {
  unsigned width = 0;
  std::array<APInt, 3> numbers;
  for (auto [number, bound] :
       llvm::zip_equal(numbers, std::array{low, high, step})) {
    std::optional<std::pair<APInt, bool>> constant =
        getConstantAPIntValue(bound);
    if (!constant)
      return std::nullopt;
    number = constant->first;
    width = std::max(width, number.getBitWidth());
  }
  // Wide enough for the end of the last iteration.
  for (APInt &number : numbers)
    number = isSigned ? number.sext(width + 2) : number.zext(width + 2);
  const auto &[first, end, by] = numbers;
  if (first.sge(end))
    return 0;
  if (!by.isStrictlyPositive())
    return std::nullopt;
  APInt count = (end - first - 1).sdiv(by) + 1;
  APInt last = first + count * by;
  bool isReached = isSigned ? last.isSignedIntN(width) : last.isIntN(width);
  return isReached ? std::optional(clampCount(count)) : std::nullopt;
}

/// Iterations of a loop whose condition compares what its body adds to.
static std::optional<int64_t> getStaticCount(scf::WhileOp loop) {
  scf::ConditionOp condition = loop.getConditionOp();
  auto compare = condition.getCondition().getDefiningOp<arith::CmpIOp>();
  auto counter = compare ? dyn_cast<BlockArgument>(compare.getLhs()) : nullptr;
  if (!counter || counter.getOwner() != loop.getBeforeBody() ||
      compare.getPredicate() != arith::CmpIPredicate::slt)
    return std::nullopt;
  unsigned index = counter.getArgNumber();
  Value next = loop.getYieldOp()->getOperand(index);
  auto sum = next.getDefiningOp<arith::AddIOp>();
  auto added = sum ? dyn_cast<BlockArgument>(sum.getLhs()) : nullptr;
  if (!added || added.getOwner() != loop.getAfterBody() ||
      condition.getArgs()[added.getArgNumber()] != counter)
    return std::nullopt;
  return countTrips(loop.getInits()[index], compare.getRhs(), sum.getRhs());
}

/// Iterations of `loop`, over all its dimensions; none when they are not
/// static.
static std::optional<int64_t> getStaticCount(LoopLikeOpInterface loop) {
  if (auto counting = dyn_cast<scf::WhileOp>(loop.getOperation()))
    return getStaticCount(counting);
  auto counted = dyn_cast<scf::ForOp>(loop.getOperation());
  // MLIR knows the end of some loops from their begin, which is no constant.
  if (counted && !getConstantAPIntValue(counted.getLowerBound())) {
    std::optional<APInt> count = counted.getStaticTripCount();
    return count ? std::optional(clampCount(*count)) : std::nullopt;
  }
  const bool isSigned = !counted || !counted.getUnsignedCmp();
  std::optional<SmallVector<OpFoldResult>> lower = loop.getLoopLowerBounds();
  std::optional<SmallVector<OpFoldResult>> upper = loop.getLoopUpperBounds();
  std::optional<SmallVector<OpFoldResult>> steps = loop.getLoopSteps();
  if (!lower || !upper || !steps)
    return std::nullopt;
  int64_t iterations = 1;
  for (auto [low, high, step] : llvm::zip_equal(*lower, *upper, *steps)) {
    std::optional<int64_t> count = countTrips(low, high, step, isSigned);
    if (!count)
      return std::nullopt;
    if (llvm::MulOverflow(iterations, *count, iterations))
      iterations = mostIterations;
  }
  return iterations;
}

TripCount mlir::commsched::getTripCount(Operation *loop) {
  std::optional<int64_t> known;
  if (auto regions = dyn_cast<RegionUseOpInterface>(loop))
    known = regions.getTripCount();
  else
    known = getStaticCount(cast<LoopLikeOpInterface>(loop));
  if (known)
    return {*known, TripCount::Source::Bounds};
  if (auto hint = loop->getAttrOfType<IntegerAttr>(tripCountAttrName))
    return {hint.getInt(), TripCount::Source::Hint};
  if (auto part = loop->getAttrOfType<IntegerAttr>(assumedTripCountAttrName))
    return {part.getInt(), TripCount::Source::Assumed};
  return {};
}

SmallVector<Region *> mlir::commsched::getAlternatives(Operation *op) {
  SmallVector<Region *> alternatives;
  if (auto regions = dyn_cast<RegionUseOpInterface>(op);
      regions && regions.getRegionUse() == RegionUse::Branch)
    for (Region &region : op->getRegions())
      alternatives.push_back(&region);
  auto branch = dyn_cast<RegionBranchOpInterface>(op);
  if (!branch)
    return alternatives;
  SmallVector<RegionSuccessor> successors;
  branch.getSuccessorRegions(RegionBranchPoint::parent(), successors);
  for (const RegionSuccessor &successor : successors)
    if (!successor.isParent() &&
        !llvm::is_contained(alternatives, successor.getSuccessor()))
      alternatives.push_back(successor.getSuccessor());
  return alternatives;
}

Region *mlir::commsched::getCalledBody(Operation *op,
                                       SymbolTableCollection &symbolTables) {
  auto call = dyn_cast<CallOpInterface>(op);
  if (!call || isa<CostOpInterface, CollectiveOpInterface>(op))
    return nullptr;
  auto callable = dyn_cast_if_present<CallableOpInterface>(
      call.resolveCallableInTable(&symbolTables));
  Region *body = callable ? callable.getCallableRegion() : nullptr;
  return body && !body->empty() ? body : nullptr;
}

//===----------------------------------------------------------------------===//
// Prices
//===----------------------------------------------------------------------===//

/// Makes `price` that of so many times what it is.
static void repeat(OperationPrice &price, int64_t iterations) {
  for (int64_t *ns :
       {&price.timeNs, &price.measuredNs, &price.computeNs, &price.commNs})
    *ns = saturatingMultiply(*ns, iterations);
}

schedule::Contention
OperationCosts::getContention(const BlockNodes &nodes) const {
  SmallVector<ContentionStream> streams =
      llvm::map_to_vector(nodes.getStreamCollectives(), [](Operation *op) {
        return ContentionStream(cast<CollectiveOpInterface>(op));
      });
  // Whoever reads the block itself emits the error.
  if (target.exclusiveGroups != 0 && streams.size() > maxExclusiveStreams)
    return {};
  return computeContention(streams, target, symbolTables)->contention;
}

OperationPrice OperationCosts::priceBlock(Block &block) {
  OperationPrice total;
  Problem problem;
  BlockNodes nodes(problem);
  for (Operation &op : block) {
    OperationPrice cost = price(&op);
    total.add(cost);
    nodes.add(&op, getEffectInBlock(&op), cost.timeNs);
  }
  // Sums that do not fit 64 bits are not simulated.
  if (!problem.finalize())
    return total;
  if (Result<schedule::Timeline> timeline =
          simulate(problem, problem.programOrder(), getContention(nodes)))
    total.timeNs = timeline->stepNs;
  return total;
}

/// The collective that an iteration of a loop with `commsched.pipelined` starts
/// and the next one waits for by `wait`; null if there is none.
static Operation *findCarriedStart(Operation *wait) {
  auto argument =
      dyn_cast<BlockArgument>(cast<WaitOpInterface>(wait).getAwaitedFuture());
  auto loop = dyn_cast<LoopLikeOpInterface>(wait->getParentOp());
  if (!argument || !loop)
    return nullptr;
  OpOperand *yielded = loop.getTiedLoopYieldedValue(argument);
  return yielded ? yielded->get().getDefiningOp() : nullptr;
}

OperationPrice OperationCosts::pricePipelined(Block &block,
                                              int64_t iterations) {
  OperationPrice total;
  Problem problem;
  BlockNodes nodes(problem);
  SmallVector<Operation *> lateWaits;
  for (Operation &op : block.without_terminator()) {
    OperationPrice cost = price(&op);
    total.add(cost);
    CommunicationEffect effect = getCommunicationEffect(&op);
    if (effect == CommunicationEffect::Wait && isHalfOfPair(&op))
      lateWaits.push_back(&op);
    else
      nodes.add(&op, effect, cost.timeNs);
  }
  for (Operation *wait : lateWaits)
    nodes.addLateWait(wait, findCarriedStart(wait));
  int64_t blockingNs = saturatingMultiply(total.timeNs, iterations);
  repeat(total, iterations);
  total.timeNs = blockingNs;
  if (!problem.finalize())
    return total;
  schedule::CyclicOrder order;
  order.stages.resize(problem.numNodes());
  for (Operation *wait : lateWaits)
    order.stages[nodes.lookup(wait)] = 1;
  for (Operation &op : block.without_terminator())
    order.order.push_back(nodes.lookup(&op));
  schedule::CyclicProblem cyclic(std::move(problem));
  if (cyclic.check())
    total.timeNs =
        schedule::computeRunNs(cyclic, order, iterations, getContention(nodes));
  return total;
}

OperationPrice OperationCosts::priceRegion(Region &region) {
  OperationPrice total;
  for (Block &block : region)
    total.add(priceBlock(block));
  return total;
}

OperationPrice OperationCosts::priceOnce(Operation *op,
                                         SmallVectorImpl<Block *> *blocks) {
  SmallVector<Region *> alternatives = getAlternatives(op);
  OperationPrice dearest, once;
  Region *chosen = nullptr;
  for (Region &region : op->getRegions()) {
    OperationPrice cost = priceRegion(region);
    if (!llvm::is_contained(alternatives, &region)) {
      once.add(cost);
    } else if (!chosen || cost.timeNs > dearest.timeNs) {
      dearest = cost;
      chosen = &region;
    }
  }
  once.add(dearest);
  if (blocks)
    for (Region &region : op->getRegions())
      if (&region == chosen || !llvm::is_contained(alternatives, &region))
        llvm::append_range(*blocks, llvm::make_pointer_range(region));
  return once;
}

/// The body of a loop with `commsched.pipelined`, or null.
static Block *getPipelinedBody(Operation *op) {
  bool isOne = op->hasAttr(pipelinedAttrName) && op->getNumRegions() == 1 &&
               op->getRegion(0).hasOneBlock();
  return isOne ? &op->getRegion(0).front() : nullptr;
}

OperationPrice OperationCosts::priceLoop(Operation *op) {
  TripCount trips = getTripCount(op);
  OperationPrice price;
  if (Block *body = getPipelinedBody(op)) {
    price = pricePipelined(*body, trips.count);
  } else {
    price = priceOnce(op, /*blocks=*/nullptr);
    repeat(price, trips.count);
  }
  // What is known of one iteration says little about all of them.
  if (trips.source == TripCount::Source::Assumed) {
    price.numAssumed = price.numOps;
    price.measuredNs = price.numMeasured = price.numPinned = 0;
  }
  return price;
}

OperationPrice OperationCosts::priceRegions(Operation *op) {
  RegionUse use = getRegionUse(op);
  if (use == RegionUse::Loop)
    return priceLoop(op);
  OperationPrice price = priceOnce(op, /*blocks=*/nullptr);
  if (use == RegionUse::Once || use == RegionUse::Branch)
    return price;
  // The region may be a combiner that runs once an element, as a reduction's.
  OperationPrice whole = estimateBytes(op);
  return whole.timeNs > price.timeNs ? whole : price;
}

std::optional<SmallVector<Block *>> OperationCosts::findRuns(Operation *op) {
  if (findKnownNs(op) || isa<CostOpInterface, CollectiveOpInterface>(op))
    return std::nullopt;
  SmallVector<Block *> blocks;
  RegionUse use = getRegionUse(op);
  if (op->getNumRegions() == 0) {
    std::optional<CalleeSummary> known = CalleeSummary::find(op);
    Region *callee =
        known && known->innerBytes ? getCalledBody(op, symbolTables) : nullptr;
    if (!callee)
      return std::nullopt;
    llvm::append_range(blocks, llvm::make_pointer_range(*callee));
  } else if (use == RegionUse::Unknown || use == RegionUse::Element) {
    return std::nullopt;
  } else {
    priceOnce(op, &blocks);
  }
  return blocks;
}
