//===- ApplyLoopSchedule.cpp - Rewriting of a loop as scheduled -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "LoopScheduler.h"

#include "CommSched/Analysis/Costs/RegionRuns.h"
#include "CommSched/Analysis/Problem/Aliasing.h"
#include "CommSched/Dialect/CommSchedAttributes.h"
#include "CommSched/Interfaces/CommSchedInterfaces.h"
#include "CountedLoop.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/Transforms/Transforms.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace mlir::commsched;
using namespace mlir::commsched::schedule;

/// Appends `suffix` to the name of the operation, if it has one.
static void extendName(Operation *op, const Twine &suffix) {
  if (auto name = op->getAttrOfType<StringAttr>(nameAttrName))
    op->setAttr(nameAttrName,
                StringAttr::get(op->getContext(), name.getValue() + suffix));
}

/// Ends the names in a peeled operation with its part and its iteration, so
/// that names remain unique.
static void renamePeeled(Operation *peeled,
                         scf::PipeliningOption::PipelinerPart part,
                         unsigned iteration) {
  using Part = scf::PipeliningOption::PipelinerPart;
  if (part == Part::Kernel)
    return;
  StringRef text = part == Part::Prologue ? ".prologue." : ".epilogue.";
  peeled->walk([&](Operation *op) { extendName(op, text + Twine(iteration)); });
}

/// Whether a collective starts in one iteration and is waited for in the next.
static bool hasFlightsOverBoundary(const ScheduledLoop &scheduled) {
  const Problem &body = scheduled.problem.getProblem().body();
  const std::vector<int32_t> &stages = scheduled.schedule.order.stages;
  for (NodeId node = 0; node < body.numNodes(); ++node)
    if (NodeId wait = body.waitOf(node);
        wait != noNode && stages[wait] != stages[node])
      return true;
  return false;
}

namespace {

/// Collects the arithmetic on bounds and indices that is inserted.
struct ArithmeticListener : RewriterBase::Listener {
  void notifyOperationInserted(Operation *op,
                               OpBuilder::InsertPoint previous) override {
    if (isa<arith::ArithDialect>(op->getDialect()))
      places.try_emplace(op, places.size() + numErased);
  }
  void notifyOperationErased(Operation *op) override {
    numErased += places.erase(op);
  }

  /// Folds it.
  void simplify() {
    if (places.empty())
      return;
    SmallVector<Operation *> inserted =
        llvm::to_vector(llvm::make_first_range(places));
    llvm::sort(inserted, [&](Operation *a, Operation *b) {
      return places.lookup(a) < places.lookup(b);
    });
    (void)applyOpPatternsGreedily(
        inserted, FrozenRewritePatternSet(),
        GreedyRewriteConfig().setStrictness(
            GreedyRewriteStrictness::ExistingAndNewOps));
  }

private:
  /// In the order of insertion.
  DenseMap<Operation *, size_t> places;
  size_t numErased = 0;
};

} // namespace

namespace {

/// The operations of a loop in the order of its schedule, each with its stage.
///
/// What is fused into its users exists in each of them, and is in no buffer. So
/// each stage with users gets a copy of its own: one that were carried from a
/// stage to the next would be a buffer.
class StagedOperations {
public:
  using Schedule = std::vector<std::pair<Operation *, unsigned>>;

  StagedOperations(RewriterBase &rewriter, scf::ForOp loop,
                   const ScheduledLoop &scheduled);

  /// Linear in the operations and their copies.
  Schedule list() const;

private:
  /// Where an operation stands: before all operations of the schedule from
  /// `position` on.
  struct Place {
    unsigned stage;
    size_t position;
  };

  void copyIntoUsers(RewriterBase &rewriter, Operation *fused);

  /// By position. Null for what stands elsewhere.
  Schedule scheduled;
  llvm::DenseMap<Operation *, Place> places;
  /// What was copied or moved, by the position that it stands before; the last
  /// in the program first.
  std::vector<SmallVector<Operation *, 0>> copies;
};

} // namespace

StagedOperations::StagedOperations(RewriterBase &rewriter, scf::ForOp loop,
                                   const ScheduledLoop &scheduled) {
  const CyclicOrder &order = scheduled.schedule.order;
  for (NodeId node : order.order) {
    Operation *op = scheduled.problem.getOperation(node);
    auto stage = static_cast<unsigned>(order.stages[node]);
    places[op] = {stage, this->scheduled.size()};
    this->scheduled.push_back({op, stage});
  }
  copies.resize(this->scheduled.size());
  for (Operation &op : llvm::make_early_inc_range(
           llvm::reverse(loop.getBody()->without_terminator())))
    if (isMemoryEffectFree(&op) &&
        (op.hasAttr(fusedAttrName) || matchPattern(&op, m_Constant())))
      copyIntoUsers(rewriter, &op);
}

void StagedOperations::copyIntoUsers(RewriterBase &rewriter, Operation *fused) {
  Block *body = fused->getBlock();
  auto findUser = [&](OpOperand &use) {
    return body->findAncestorOpInBlock(*use.getOwner());
  };
  const Place own = places.lookup(fused);
  // The stages are few.
  llvm::SmallMapVector<unsigned, SmallVector<OpOperand *>, 4> usesByStage;
  bool isUsedInOwn = false;
  for (OpOperand &use : fused->getUses()) {
    auto it = places.find(findUser(use));
    if (it != places.end() && it->second.stage != own.stage)
      usesByStage[it->second.stage].push_back(&use);
    else
      isUsedInOwn = true;
  }
  for (auto &[stage, uses] : usesByStage) {
    size_t position = scheduled.size();
    for (OpOperand *use : uses)
      position = std::min(position, places.lookup(findUser(*use)).position);
    Operation *copy = fused;
    if (isUsedInOwn) {
      rewriter.setInsertionPoint(fused);
      copy = rewriter.clone(*fused);
      extendName(copy, ".stage." + Twine(stage));
      for (OpOperand *use : uses)
        use->set(copy->getResult(cast<OpResult>(use->get()).getResultNumber()));
    } else {
      scheduled[own.position].first = nullptr;
      isUsedInOwn = true;
    }
    places[copy] = {stage, position};
    copies[position].push_back(copy);
  }
}

StagedOperations::Schedule StagedOperations::list() const {
  Schedule result;
  for (auto [position, entry] : llvm::enumerate(scheduled)) {
    for (Operation *copy : llvm::reverse(copies[position]))
      result.push_back({copy, places.lookup(copy).stage});
    if (entry.first)
      result.push_back(entry);
  }
  return result;
}

/// Calls MLIR's pipeliner for a loop with constant bounds.
static FailureOr<scf::ForOp> pipeline(RewriterBase &rewriter, scf::ForOp loop,
                                      const ScheduledLoop &scheduled) {
  StagedOperations operations(rewriter, loop, scheduled);
  scf::PipeliningOption options;
  options.annotateFn = renamePeeled;
  options.getScheduleFn = [&](scf::ForOp,
                              StagedOperations::Schedule &schedule) {
    schedule = operations.list();
  };
  bool isPipelined = hasFlightsOverBoundary(scheduled);
  DictionaryAttr attributes = loop->getDiscardableAttrDictionary();
  rewriter.setInsertionPoint(loop);
  FailureOr<scf::ForOp> kernel = scf::pipelineForLoop(rewriter, loop, options);
  // With its iterations one after the other the loop is what it was.
  if (succeeded(kernel) && scheduled.schedule.order.depth() == 1)
    (*kernel)->setDiscardableAttrs(attributes);
  if (succeeded(kernel) && isPipelined)
    (*kernel)->setAttr("commsched.pipelined", rewriter.getUnitAttr());
  return kernel;
}

FailureOr<scf::ForOp>
mlir::commsched::applySchedule(scf::ForOp loop,
                               const ScheduledLoop &scheduled) {
  ArithmeticListener listener;
  IRRewriter rewriter(loop->getContext(), &listener);
  FailureOr<scf::ForOp> kernel = pipeline(rewriter, loop, scheduled);
  if (failed(kernel))
    return kernel;
  listener.simplify();
  // What the next iteration took may now be used in its own stage alone.
  return dropUnused(*kernel);
}

/// Returns whether `loop` has at least `count` iterations, as a value; no
/// operation overflows.
static Value makeCountCheck(OpBuilder &builder, scf::ForOp loop,
                            int64_t count) {
  Location loc = loop.getLoc();
  Value first = loop.getLowerBound(), end = loop.getUpperBound();
  auto makeConstant = [&](int64_t value) -> Value {
    return arith::ConstantOp::create(
        builder, loc, builder.getIntegerAttr(first.getType(), value));
  };
  Value hasFirst = arith::CmpIOp::create(builder, loc,
                                         arith::CmpIPredicate::slt, first, end);
  // Of a loop without iterations the difference is not used.
  Value difference = arith::SubIOp::create(builder, loc, end, first);
  Value last = arith::SubIOp::create(builder, loc, difference, makeConstant(1));
  Value others = arith::DivUIOp::create(builder, loc, last, loop.getStep());
  Value hasOthers = arith::CmpIOp::create(
      builder, loc, arith::CmpIPredicate::uge, others, makeConstant(count - 1));
  return arith::AndIOp::create(builder, loc, hasFirst, hasOthers);
}

namespace {

/// Constants in the place of the bounds and the step of a loop, so that MLIR's
/// pipeliner takes the number of iterations as sufficient. It computes with the
/// values of the bounds, not with what they are.
class AssumedBounds {
public:
  AssumedBounds(RewriterBase &rewriter, scf::ForOp loop, int64_t count)
      : bounds{loop.getLowerBound(), loop.getUpperBound(), loop.getStep()} {
    const int64_t numbers[] = {0, count, 1};
    rewriter.setInsertionPoint(loop);
    for (auto [bound, number] : llvm::zip_equal(bounds, numbers))
      assumed.push_back(arith::ConstantOp::create(
          rewriter, loop.getLoc(),
          rewriter.getIntegerAttr(bound.getType(), number)));
    loop.setLowerBound(assumed[0]);
    loop.setUpperBound(assumed[1]);
    loop.setStep(assumed[2]);
  }

  /// Puts the bounds back, wherever they are used now.
  void restore(RewriterBase &rewriter) {
    for (auto [constant, bound] : llvm::zip_equal(assumed, bounds))
      rewriter.replaceOp(constant, bound);
  }

private:
  std::array<Value, 3> bounds;
  SmallVector<arith::ConstantOp, 3> assumed;
};

} // namespace

/// Moves `loop` to the end of an empty block, which then yields its results.
static void moveInto(RewriterBase &rewriter, scf::ForOp loop, Block *block) {
  rewriter.moveOpBefore(loop, block, block->end());
  rewriter.setInsertionPointToEnd(block);
  scf::YieldOp::create(rewriter, loop.getLoc(), loop.getResults());
}

LogicalResult mlir::commsched::applyGuardedSchedule(
    scf::ForOp loop, const ScheduledLoop &scheduled, int64_t leastCount) {
  ArithmeticListener listener;
  IRRewriter rewriter(loop->getContext(), &listener);
  const TripCount trips = getTripCount(loop);
  const StringRef hintName = trips.source == TripCount::Source::Hint
                                 ? tripCountAttrName
                                 : assumedTripCountAttrName;
  auto setHint = [&](scf::ForOp hinted, int64_t count) {
    hinted->setAttr(hintName, rewriter.getI64IntegerAttr(count));
  };
  scf::IfOp guard;
  if (leastCount > 1) {
    rewriter.setInsertionPoint(loop);
    auto few = cast<scf::ForOp>(rewriter.clone(*loop));
    few.getBody()->walk([](Operation *op) { extendName(op, ".few"); });
    // It runs for fewer only, so that another run does not overlap it.
    setHint(few, leastCount - 1);
    Value hasEnough = makeCountCheck(rewriter, loop, leastCount);
    guard = scf::IfOp::create(rewriter, loop.getLoc(), loop.getResultTypes(),
                              hasEnough, /*addThenBlock=*/true,
                              /*addElseBlock=*/true);
    rewriter.replaceAllUsesWith(loop.getResults(), guard.getResults());
    moveInto(rewriter, loop, guard.thenBlock());
    moveInto(rewriter, few, guard.elseBlock());
  }
  AssumedBounds bounds(rewriter, loop, leastCount);
  FailureOr<scf::ForOp> kernel = pipeline(rewriter, loop, scheduled);
  bounds.restore(rewriter);
  if (failed(kernel) && guard) {
    rewriter.moveOpBefore(loop, guard);
    rewriter.replaceOp(guard, loop.getResults());
    // What the check computed is not used, and folds away.
  }
  listener.simplify();
  if (failed(kernel))
    return failure();
  if (guard)
    setHint(*kernel, trips.count - scheduled.schedule.order.depth() + 1);
  dropUnused(*kernel);
  return success();
}

//===----------------------------------------------------------------------===//
// Unrolling
//===----------------------------------------------------------------------===//

FailureOr<std::optional<StepSchedule>> mlir::commsched::scheduleUnrolled(
    scf::ForOp loop, const ScheduledLoop &scheduled, int64_t count) {
  using Outcome = std::optional<StepSchedule>;
  if (!getConstantIntValue(loop.getLowerBound()) ||
      !getConstantIntValue(loop.getStep()))
    return Outcome();
  StepSchedulerOptions options;
  options.limitBytes = scheduled.limitBytes;
  options.contention = scheduled.contention.contention;
  Result<StepSchedule> step = scheduleStep(
      unroll(scheduled.problem.getProblem(), static_cast<int32_t>(count)),
      options);
  if (!step)
    return emitError(loop.getLoc()) << "cannot be scheduled: " << step.error();
  return Outcome(std::move(*step));
}

namespace {

/// Clones iterations of a loop in front of it, in any legal order.
class IterationCloner {
public:
  explicit IterationCloner(scf::ForOp loop)
      : loop(loop), builder(loop),
        low(*getConstantIntValue(loop.getLowerBound())),
        step(*getConstantIntValue(loop.getStep())) {}

  void clone(Operation *op, size_t iteration) {
    while (iterations.size() <= iteration)
      beginIteration();
    IRMapping &values = iterations[iteration];
    auto mapArgument = [&](Value value) {
      auto argument = dyn_cast<BlockArgument>(value);
      if (argument && argument.getOwner() == loop.getBody() &&
          !values.contains(argument))
        values.map(argument,
                   lookUpCarried(argument.getArgNumber() - 1, iteration));
    };
    visitReads(op, mapArgument);
    Operation *cloned = builder.clone(*op, values);
    cloned->walk([&](Operation *inner) {
      if (auto name = inner->getAttrOfType<StringAttr>(nameAttrName))
        inner->setAttr(nameAttrName,
                       builder.getStringAttr(name.getValue() + ".iteration." +
                                             Twine(iteration)));
    });
  }

  /// The value that an iteration takes as its argument of that number.
  Value lookUpCarried(unsigned number, size_t iteration) {
    if (iteration == 0)
      return loop.getInitArgs()[number];
    return iterations[iteration - 1].lookup(loop.getYieldedValues()[number]);
  }

private:
  void beginIteration() {
    if (loop.getInductionVar().use_empty()) {
      iterations.emplace_back();
      return;
    }
    int64_t value = low + step * static_cast<int64_t>(iterations.size());
    iterations.emplace_back().map(
        loop.getInductionVar(),
        arith::ConstantOp::create(
            builder, loop.getLoc(),
            builder.getIntegerAttr(loop.getInductionVar().getType(), value)));
  }

  scf::ForOp loop;
  OpBuilder builder;
  int64_t low;
  int64_t step;
  std::vector<IRMapping> iterations;
};

} // namespace

void mlir::commsched::unrollLoop(scf::ForOp loop,
                                 const ScheduledLoop &scheduled,
                                 ArrayRef<NodeId> order) {
  NodeId numNodes = scheduled.problem.getProblem().body().numNodes();
  IterationCloner cloner(loop);
  for (NodeId node : order)
    cloner.clone(scheduled.problem.getOperation(node % numNodes),
                 node / numNodes);
  for (OpResult result : loop.getResults())
    result.replaceAllUsesWith(cloner.lookUpCarried(result.getResultNumber(),
                                                   order.size() / numNodes));
  loop.erase();
}
