//===- MicroBatchLoop.cpp - Loops of micro-batches ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "../SteadyState/LoopPipeliner.h"
#include "CommSched/Analysis/Costs/RegionRuns.h"
#include "CommSched/Analysis/Problem/CommunicationEffects.h"
#include "CommSched/Analysis/Problem/StorageAnalysis.h"
#include "CommSched/Dialect/CommSchedAttributes.h"
#include "CommSched/Dialect/CommSchedDialect.h"
#include "CommSched/Interfaces/CommSchedInterfaces.h"
#include "InlinedCalls.h"
#include "MicroBatches.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/LoopInvariantCodeMotionUtils.h"

using namespace mlir;
using namespace mlir::commsched;

//===----------------------------------------------------------------------===//
// Loops of a step
//===----------------------------------------------------------------------===//

static bool callsParts(scf::ForOp loop, const SymbolTable &symbols) {
  return loop
      .walk([&](func::CallOp call) {
        return getPart(call, symbols) ? WalkResult::interrupt()
                                      : WalkResult::advance();
      })
      .wasInterrupted();
}

/// The iterations of a loop if it can be replaced by them.
static std::optional<int64_t> getUnrolledCount(scf::ForOp loop) {
  TripCount count = getTripCount(loop);
  bool isKnown = count.source == TripCount::Source::Bounds &&
                 getConstantIntValue(loop.getLowerBound()) &&
                 getConstantIntValue(loop.getStep());
  return isKnown ? std::optional(count.count) : std::nullopt;
}

static bool canUnroll(std::optional<int64_t> count) {
  return count && *count > 0 && *count <= mostMicroBatches;
}

bool mlir::commsched::hasKeptLoop(const AccumulatedStep &divided,
                                  const SymbolTable &symbols) {
  auto communicates = [&](func::CallOp call) {
    func::FuncOp part = getPart(call, symbols);
    return part && findCollective(part) ? WalkResult::interrupt()
                                        : WalkResult::advance();
  };
  return llvm::any_of(divided.repeated, [&](Operation *op) {
    auto loop = dyn_cast<scf::ForOp>(op);
    return loop && !canUnroll(getUnrolledCount(loop)) &&
           loop.walk(communicates).wasInterrupted();
  });
}

std::optional<int64_t>
mlir::commsched::countMicroBatches(const AccumulatedStep &divided,
                                   const SymbolTable &symbols,
                                   DeclineFunction decline) {
  int64_t most = 0;
  for (Operation *op : divided.repeated) {
    auto loop = dyn_cast<scf::ForOp>(op);
    if (!loop || !callsParts(loop, symbols))
      continue;
    std::optional<int64_t> count = getUnrolledCount(loop);
    if (!canUnroll(count)) {
      decline(loop.getLoc(), "the loop around its calls has " +
                                 (count ? Twine(*count) + " iterations"
                                        : Twine("no constant bounds")) +
                                 ", but must have from 1 to " +
                                 Twine(mostMicroBatches) + " iterations");
      return std::nullopt;
    }
    most = std::max(most, *count);
  }
  if (most > 0)
    return most;
  func::FuncOp step = divided.step;
  decline(step.getLoc(), "'micro-batches' is 0, and no loop (scf.for) of '@" +
                             step.getSymName() +
                             "' calls what runs for each micro-batch");
  return std::nullopt;
}

void mlir::commsched::unrollMicroBatches(Block &body,
                                         const SymbolTable &symbols) {
  for (scf::ForOp loop :
       llvm::make_early_inc_range(body.getOps<scf::ForOp>())) {
    if (!callsParts(loop, symbols))
      continue;
    OpBuilder builder(loop);
    int64_t low = *getConstantIntValue(loop.getLowerBound());
    int64_t step = *getConstantIntValue(loop.getStep());
    unrollFully(loop, *getUnrolledCount(loop), [&](int64_t iteration) -> Value {
      return arith::ConstantOp::create(
          builder, loop.getLoc(),
          builder.getIntegerAttr(loop.getInductionVar().getType(),
                                 low + step * iteration));
    });
  }
  for (auto add : llvm::make_early_inc_range(body.getOps<arith::AddFOp>())) {
    bool isZeroFirst = matchPattern(add.getLhs(), m_AnyZeroFloat());
    if (!isZeroFirst && !matchPattern(add.getRhs(), m_AnyZeroFloat()))
      continue;
    add.replaceAllUsesWith(isZeroFirst ? add.getRhs() : add.getLhs());
    add.erase();
  }
}

//===----------------------------------------------------------------------===//
// Loops that stay
//===----------------------------------------------------------------------===//

/// The loops of the body that communicate and in which no operation but starts
/// and waits does.
static SmallVector<scf::ForOp> findLoops(func::FuncOp function) {
  SmallVector<scf::ForOp> loops;
  for (auto loop : function.getBody().front().getOps<scf::ForOp>()) {
    bool isPlain = llvm::all_of(*loop.getBody(), [](Operation &op) {
      CommunicationEffect effect = getCommunicationEffect(&op);
      return effect != CommunicationEffect::Blocking &&
             effect != CommunicationEffect::Unknown;
    });
    if (isPlain && findCollective(loop))
      loops.push_back(loop);
  }
  return loops;
}

/// The start that `wait` waits for, of that kind, with one operand and result,
/// in the same block and without a fixed place in the order of collectives;
/// null if it is another operation.
static CollectiveOpInterface getStart(Operation *wait, CollectiveKind kind) {
  auto awaits = dyn_cast_if_present<WaitOpInterface>(wait);
  auto start =
      awaits ? dyn_cast_if_present<CollectiveOpInterface>(awaits.getStart())
             : CollectiveOpInterface();
  bool isOne = start && start.getCollectiveKind() == kind &&
               start->getBlock() == wait->getBlock() &&
               start->getNumOperands() == 1 && wait->getNumResults() == 1 &&
               !start->hasAttr(orderAttrName);
  return isOne ? start : CollectiveOpInterface();
}

//===----------------------------------------------------------------------===//
// Gathers
//===----------------------------------------------------------------------===//

LogicalResult mlir::commsched::hoistGathers(func::FuncOp function,
                                            OperationCosts &costs,
                                            int64_t limitBytes) {
  Block &body = function.getBody().front();
  for (scf::ForOp loop : findLoops(function)) {
    FailureOr<DenseSet<Operation *>> tied = findTied(loop, costs);
    if (failed(tied))
      return failure();
    // The casts of parameters.
    if (tied->empty())
      moveLoopInvariantCode(loop);
    SmallVector<std::pair<int64_t, Operation *>> waits;
    for (Operation &op : *loop.getBody())
      if (auto start = getStart(&op, CollectiveKind::AllGather);
          start && loop.isDefinedOutsideOfLoop(start->getOperand(0)) &&
          !tied->contains(start) && !tied->contains(&op))
        waits.push_back({costs.price(start).timeNs, &op});
    llvm::stable_sort(
        waits, [](const auto &a, const auto &b) { return a.first > b.first; });
    for (auto [ns, wait] : waits) {
      Operation *start = getStart(wait, CollectiveKind::AllGather);
      Operation *behindStart = start->getNextNode();
      Operation *behindWait = wait->getNextNode();
      start->moveBefore(loop);
      wait->moveBefore(loop);
      if (simulateBlockMemory(body).peakBytes <= limitBytes)
        continue;
      wait->moveBefore(behindWait);
      start->moveBefore(behindStart == wait ? wait : behindStart);
    }
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

namespace {

/// A sum that a loop carries, of what it reduces in each iteration.
struct CarriedSum {
  unsigned index;
  arith::AddFOp add;
  CollectiveOpInterface start;
  Operation *wait;
};

} // namespace

static std::optional<CarriedSum> findCarriedSum(scf::ForOp loop,
                                                unsigned index) {
  Value carried = loop.getRegionIterArg(index);
  auto add = loop.getYieldedValues()[index].getDefiningOp<arith::AddFOp>();
  if (!add || add->getBlock() != loop.getBody() || !add->hasOneUse() ||
      !carried.hasOneUse() ||
      (add.getLhs() != carried && add.getRhs() != carried))
    return std::nullopt;
  Value summand = add.getLhs() == carried ? add.getRhs() : add.getLhs();
  Operation *wait = summand.getDefiningOp();
  CollectiveOpInterface start = getStart(wait, CollectiveKind::ReduceScatter);
  if (!start || !summand.hasOneUse() || wait->getBlock() != loop.getBody())
    return std::nullopt;
  std::optional<ReductionKind> reduction = start.getReductionKind();
  auto sent = dyn_cast<RankedTensorType>(start->getOperand(0).getType());
  bool isLinear =
      reduction == ReductionKind::Sum || reduction == ReductionKind::Avg;
  if (!isLinear || !sent || !sent.hasStaticShape() ||
      !isa<FloatType>(sent.getElementType()))
    return std::nullopt;
  return CarriedSum{index, add, start, wait};
}

void mlir::commsched::sinkReductions(func::FuncOp function) {
  for (scf::ForOp loop : findLoops(function)) {
    SmallVector<CarriedSum> sums;
    for (unsigned index : llvm::seq(loop.getNumRegionIterArgs()))
      if (std::optional<CarriedSum> sum = findCarriedSum(loop, index))
        sums.push_back(*sum);
    if (sums.empty())
      continue;
    OpBuilder builder(loop);
    SmallVector<Value> initial(loop.getInitArgs());
    for (CarriedSum &sum : sums) {
      Value sent = sum.start->getOperand(0);
      loop.getRegionIterArg(sum.index).setType(sent.getType());
      initial[sum.index] = arith::ConstantOp::create(
          builder, loop.getLoc(), builder.getZeroAttr(sent.getType()));
      OpBuilder inside(sum.add);
      auto whole = arith::AddFOp::create(
          inside, sum.add.getLoc(), loop.getRegionIterArg(sum.index), sent);
      sum.add.replaceAllUsesWith(whole.getResult());
      sum.add.erase();
    }
    auto summing =
        scf::ForOp::create(builder, loop.getLoc(), loop.getLowerBound(),
                           loop.getUpperBound(), loop.getStep(), initial,
                           [](OpBuilder &, Location, Value, ValueRange) {});
    summing->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
    summing.getRegion().takeBody(loop.getRegion());
    SmallVector<Value> results(summing.getResults());
    for (CarriedSum &sum : sums) {
      sum.start->setOperand(0, results[sum.index]);
      sum.start->moveBefore(loop);
      sum.wait->moveBefore(loop);
      results[sum.index] = sum.wait->getResult(0);
      Value first = loop.getInitArgs()[sum.index];
      if (!matchPattern(first, m_AnyZeroFloat()))
        results[sum.index] = arith::AddFOp::create(builder, loop.getLoc(),
                                                   first, results[sum.index]);
    }
    loop.replaceAllUsesWith(results);
    loop.erase();
  }
}
