//===- LeastProblem.cpp - Problems of least times -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/Analysis/Bounds/LeastProblem.h"

#include "CommSched/Analysis/Costs/RegionRuns.h"
#include "CommSched/Analysis/Cyclic/LoopProblem.h"
#include "CommSched/Dialect/CommSchedAttributes.h"
#include "CommSched/Interfaces/CommSchedInterfaces.h"
#include "CommSched/Schedule/Bounds/LowerBounds.h"
#include "CommSched/Schedule/Bounds/RelaxedProblem.h"
#include "CommSched/Schedule/Cyclic/Period.h"
#include "LeastCosts.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/LoopLikeInterface.h"

using namespace mlir;
using namespace mlir::commsched;
using schedule::NodeId;

namespace {

/// Whether the operations are those of the program, or of all programs that
/// merging makes of it, splitting as well, and pipelining of its loops.
enum class LeastOf : uint8_t { Program, Merged, Rewritten, Pipelined };

/// The least time of operations, whatever the order of what is inside.
class LeastTimes {
public:
  LeastTimes(OperationCosts &costs, LeastOf of) : costs(costs), of(of) {}

  /// None, after an error, if there is none.
  FailureOr<int64_t> get(Operation *op);

  /// Lowers what operations with communication inside take, of `costsNs`, by
  /// node, to their least times.
  LogicalResult lower(std::vector<int64_t> &costsNs,
                      function_ref<Operation *(NodeId)> getOperation);

  FailureOr<schedule::PeriodBound> getOfPeriod(const LoopProblem &loop);
  FailureOr<schedule::Problem> relaxBlock(Block &block);
  /// Where the operations take `costsNs`.
  schedule::Problem relaxBlock(const BlockProblem &problem,
                               std::vector<int64_t> costsNs);

  /// Whether the least time of `op` is not its price.
  bool mayOverlap(Operation *op) {
    return !isa<CollectiveOpInterface>(op) && costs.price(op).commNs > 0;
  }

  /// What the streams of the busiest loop take at least.
  int64_t getBusiestLoopNs() const { return busiestLoopNs; }

private:
  bool isLoop(Operation *op) const {
    return op->getNumRegions() != 0 && getRegionUse(op) == RegionUse::Loop &&
           !op->hasAttr(pipelinedAttrName);
  }
  Freedom getFreedom(Block &block);
  void addLoop(int64_t iterationNs, int64_t count) {
    busiestLoopNs =
        std::max(busiestLoopNs, saturatingMultiply(iterationNs, count));
  }
  FailureOr<int64_t> getOfLoop(Operation *loop, ArrayRef<Block *> blocks);
  FailureOr<int64_t> getOfPipelined(Operation *op);
  FailureOr<int64_t> getOfBlock(Block &block);

  /// By block of a callee, which may be called often.
  DenseMap<Block *, int64_t> calleeNs;
  DenseMap<Operation *, Freedom> freedomOf;
  OperationCosts &costs;
  LeastOf of;
  int64_t busiestLoopNs = 0;
};

} // namespace

/// Adds the dependences of an iteration on the one before, by the values that
/// `body` yields for its arguments. None is known where the block does not
/// yield one value for each.
static void addCarried(schedule::CyclicProblem &cyclic, Block &body) {
  Operation *terminator = body.getTerminator();
  auto loop = dyn_cast<LoopLikeOpInterface>(body.getParentOp());
  bool isPaired = body.getNumArguments() == terminator->getNumOperands();
  DenseMap<Operation *, NodeId> nodes;
  for (Operation &op : body.without_terminator())
    nodes[&op] = static_cast<NodeId>(nodes.size());
  for (BlockArgument argument : body.getArguments()) {
    OpOperand *yielded =
        loop       ? loop.getTiedLoopYieldedValue(argument)
        : isPaired ? &terminator->getOpOperand(argument.getArgNumber())
                   : nullptr;
    Operation *from = yielded ? yielded->get().getDefiningOp() : nullptr;
    if (!from || from->getBlock() != &body)
      continue;
    for (Operation *user : argument.getUsers())
      if (Operation *to = body.findAncestorOpInBlock(*user);
          to && nodes.contains(to))
        cyclic.addDependence(nodes.lookup(from), nodes.lookup(to),
                             schedule::DependenceKind::Data, 1);
  }
}

static int64_t getComputeNs(const schedule::Problem &problem) {
  Result<schedule::LowerBound> bound = computeLowerBound(problem);
  return bound ? bound->computeNs : 0;
}

/// The work on the busiest stream: what bounds the period of repetitions of
/// which only that is known.
static int64_t getBusiestNs(const schedule::Problem &problem) {
  Result<schedule::LowerBound> bound = computeLowerBound(problem);
  return bound ? std::max(bound->computeNs, bound->streamNs) : 0;
}

FailureOr<int64_t> LeastTimes::getOfLoop(Operation *loop,
                                         ArrayRef<Block *> blocks) {
  int64_t count = getTripCount(loop).count;
  int64_t leastNs = 0;
  for (Block *block : blocks) {
    FailureOr<schedule::Problem> relaxed = relaxBlock(*block);
    if (failed(relaxed))
      return failure();
    if (of != LeastOf::Program) {
      addLoop(getBusiestNs(*relaxed), count);
      leastNs = std::max(leastNs, getComputeNs(*relaxed));
      continue;
    }
    schedule::CyclicProblem cyclic(std::move(*relaxed));
    addCarried(cyclic, *block);
    Result<schedule::PeriodBound> bound = computePeriodBound(cyclic);
    if (!bound)
      return loop->emitError("has no lower bound: ") << bound.error();
    leastNs = std::max(leastNs, bound->ns);
  }
  leastNs = saturatingMultiply(leastNs, count);
  // What buckets absorb is in the price of the program as it is.
  return of == LeastOf::Program ? std::max(leastNs, costs.price(loop).computeNs)
                                : leastNs;
}

/// The least time of a loop whose waits are for collectives of the iteration
/// before.
FailureOr<int64_t> LeastTimes::getOfPipelined(Operation *op) {
  int64_t count = getTripCount(op).count;
  auto loop = dyn_cast<scf::ForOp>(op);
  if (!loop)
    return of == LeastOf::Program ? costs.price(op).computeNs : 0;
  if (of != LeastOf::Program) {
    FailureOr<schedule::Problem> relaxed = relaxBlock(*loop.getBody());
    if (failed(relaxed))
      return failure();
    return saturatingMultiply(getBusiestNs(*relaxed), count);
  }
  FailureOr<std::optional<LoopProblem>> problem =
      LoopProblem::create(loop, costs, [](Location, StringRef) {});
  if (failed(problem))
    return failure();
  if (!*problem)
    return costs.price(op).computeNs;
  FailureOr<schedule::PeriodBound> bound = getOfPeriod(**problem);
  if (failed(bound))
    return failure();
  return saturatingMultiply(bound->ns, count);
}

FailureOr<int64_t> LeastTimes::getOfBlock(Block &block) {
  FailureOr<schedule::Problem> relaxed = relaxBlock(block);
  if (failed(relaxed))
    return failure();
  Result<schedule::TightLowerBound> bound = computeTightLowerBound(*relaxed);
  if (!bound)
    return emitError(block.getParentOp()->getLoc(), "has no lower bound: ")
           << bound.error();
  return bound->ns;
}

FailureOr<int64_t> LeastTimes::get(Operation *op) {
  std::optional<SmallVector<Block *>> blocks;
  if (mayOverlap(op))
    blocks = costs.findRuns(op);
  if (!blocks)
    return costs.price(op).timeNs;
  if (op->hasAttr(pipelinedAttrName))
    return getOfPipelined(op);
  if (isLoop(op))
    return getOfLoop(op, *blocks);
  int64_t leastNs = 0;
  for (Block *block : *blocks) {
    auto known = calleeNs.find(block);
    FailureOr<int64_t> blockNs =
        known == calleeNs.end() ? getOfBlock(*block) : known->second;
    if (failed(blockNs))
      return failure();
    if (isa<CallOpInterface>(op))
      calleeNs[block] = *blockNs;
    leastNs = saturatingAdd(leastNs, *blockNs);
  }
  return leastNs;
}

/// By node: what it takes.
static std::vector<int64_t> getCosts(const schedule::Problem &problem) {
  std::vector<int64_t> costsNs(problem.numNodes());
  for (NodeId node = 0; node < problem.numNodes(); ++node)
    costsNs[node] = problem.costNs(node);
  return costsNs;
}

/// Of the function that `block` is in, or of its outermost operation.
Freedom LeastTimes::getFreedom(Block &block) {
  if (of != LeastOf::Pipelined)
    return {};
  Operation *root = block.getParentOp();
  while (!isa<FunctionOpInterface>(root) && root->getParentOp())
    root = root->getParentOp();
  auto [entry, isNew] = freedomOf.try_emplace(root);
  if (isNew)
    root->walk([&, &freedom = entry->second](Operation *op) {
      freedom.isPipelined |= isLoop(op) && mayOverlap(op);
      freedom.isFused |= op->hasAttr(assumedFusionAttrName);
    });
  return entry->second;
}

schedule::Problem LeastTimes::relaxBlock(const BlockProblem &block,
                                         std::vector<int64_t> costsNs) {
  const schedule::Problem &problem = block.getProblem();
  if (of == LeastOf::Program || problem.numNodes() == 0)
    return relax(problem, costsNs);
  Block &operations = *block.getOperation(0)->getBlock();
  std::vector<schedule::DivisibleRegion> regions;
  if (of != LeastOf::Merged)
    regions = findDivisibleRegions(operations);
  // Iterations of loops with collectives may overlap with what is around.
  std::vector<NodeId> loops;
  for (NodeId node = 0; node < problem.numNodes(); ++node)
    if (Operation *op = block.getOperation(node); isLoop(op) && mayOverlap(op))
      loops.push_back(node);
  return relax(problem,
               getLeastCosts(block, costs, std::move(costsNs), regions,
                             getFreedom(operations)),
               regions, loops);
}

FailureOr<schedule::Problem> LeastTimes::relaxBlock(Block &block) {
  bool hasFailed = false;
  FailureOr<BlockProblem> problem = BlockProblem::create(
      block,
      [&](Operation *op) {
        FailureOr<int64_t> leastNs = get(op);
        hasFailed |= failed(leastNs);
        return OperationPrice::modelled(succeeded(leastNs) ? *leastNs : 0);
      },
      StreamOrder::Free,
      costs.getMemo() ? &costs.getMemo()->scratchBytes : nullptr);
  if (failed(problem) || hasFailed)
    return failure();
  return relaxBlock(*problem, getCosts(problem->getProblem()));
}

FailureOr<schedule::Problem>
mlir::commsched::makeLeastProblem(Block &block, OperationCosts &costs) {
  return LeastTimes(costs, LeastOf::Program).relaxBlock(block);
}

LogicalResult
LeastTimes::lower(std::vector<int64_t> &costsNs,
                  function_ref<Operation *(NodeId)> getOperation) {
  for (auto [node, costNs] : llvm::enumerate(costsNs)) {
    Operation *op = getOperation(static_cast<NodeId>(node));
    if ((op->getNumRegions() == 0 && !isa<CallOpInterface>(op)) ||
        !mayOverlap(op))
      continue;
    FailureOr<int64_t> leastNs = get(op);
    if (failed(leastNs))
      return failure();
    costNs = *leastNs;
  }
  return success();
}

FailureOr<schedule::PeriodBound>
LeastTimes::getOfPeriod(const LoopProblem &loop) {
  const schedule::CyclicProblem &problem = loop.getProblem();
  std::vector<int64_t> costsNs = getCosts(problem.body());
  if (failed(
          lower(costsNs, [&](NodeId node) { return loop.getOperation(node); })))
    return failure();
  schedule::CyclicProblem least(relax(problem.body(), costsNs));
  for (const schedule::CarriedDependence &carried :
       problem.carriedDependences())
    least.addDependence(carried.from, carried.to, carried.kind,
                        carried.distance);
  Result<schedule::PeriodBound> bound = computePeriodBound(least);
  if (bound)
    return *bound;
  return loop.getOperation(0)->emitError("has no lower bound: ")
         << bound.error();
}

FailureOr<schedule::PeriodBound>
mlir::commsched::computeLeastPeriodBound(const LoopProblem &loop,
                                         OperationCosts &costs) {
  return LeastTimes(costs, LeastOf::Program).getOfPeriod(loop);
}

/// `block` as it is at least, merged and split.
static FailureOr<schedule::Problem> relaxRewritten(const BlockProblem &block,
                                                   LeastTimes &times) {
  std::vector<int64_t> costsNs = getCosts(block.getProblem());
  if (failed(times.lower(
          costsNs, [&](NodeId node) { return block.getOperation(node); })))
    return failure();
  return times.relaxBlock(block, std::move(costsNs));
}

FailureOr<int64_t>
mlir::commsched::computeMergingBoundNs(const BlockProblem &block,
                                       OperationCosts &costs, bool keepsLoops,
                                       bool keepsWhole) {
  LeastTimes times(costs, !keepsLoops  ? LeastOf::Pipelined
                          : keepsWhole ? LeastOf::Merged
                                       : LeastOf::Rewritten);
  FailureOr<schedule::Problem> relaxed = relaxRewritten(block, times);
  if (failed(relaxed))
    return failure();
  Result<schedule::TightLowerBound> bound = computeTightLowerBound(*relaxed);
  if (!bound)
    return emitError(block.getOperation(0)->getLoc(), "has no lower bound: ")
           << bound.error();
  return std::max(bound->ns, times.getBusiestLoopNs());
}

FailureOr<int64_t>
mlir::commsched::computeMergingPeriodBoundNs(const BlockProblem &block,
                                             OperationCosts &costs) {
  LeastTimes times(costs, LeastOf::Pipelined);
  FailureOr<schedule::Problem> relaxed = relaxRewritten(block, times);
  if (failed(relaxed))
    return failure();
  return std::max(getBusiestNs(*relaxed), times.getBusiestLoopNs());
}
