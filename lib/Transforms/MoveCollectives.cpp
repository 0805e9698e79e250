//===- MoveCollectives.cpp - Reordering of collectives in a limit ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "MoveCollectives.h"
#include "CommSched/Dialect/CommSchedAttributes.h"
#include "CommSched/Schedule/Inductor/PeakMemoryOrders.h"
#include "CommSched/Schedule/Model/MemoryTimeline.h"
#include "CommSched/Schedule/Model/Simulator.h"
#include "CommSched/Schedule/Reordering/SimpleOverlap.h"
#include "CommSched/Transforms/Passes.h"
#include "PassSupport.h"

namespace mlir::commsched {
#define GEN_PASS_DEF_SIMPLEOVERLAP
#include "CommSched/Transforms/Passes.h.inc"
} // namespace mlir::commsched

using namespace mlir;
using namespace mlir::commsched;
using namespace mlir::commsched::schedule;

//===----------------------------------------------------------------------===//
// Report of the moves
//===----------------------------------------------------------------------===//

/// How many operations the account of a collective lists of each kind: their
/// lists together would be quadratic in the operations otherwise.
static constexpr size_t maxListed = 32;

namespace {

/// Reports what a solver did with each collective: as remarks, and as the
/// attribute `commsched.reorder_info`, which commsched-report prints.
class MoveReport {
public:
  /// `pass` is the name of the pass, `limitBytes` the limit of live bytes.
  MoveReport(func::FuncOp function, const BlockProblem &block, StringRef pass,
             int64_t limitBytes, const schedule::IterativeReordering &result);

  /// One remark for each collective: `CollectiveMoved` or `CollectiveKept`.
  void remark() const;
  /// One remark for all of them: `CollectivesReordered`.
  void remarkTotals() const;
  /// Sets the attribute on each start or wait.
  void write() const;

private:
  ReorderInfo getInfo(const schedule::CollectiveMoves &moves) const;
  std::string getName(NodeId node) const {
    return describe(block.getOperation(node));
  }
  std::string listPassed(const schedule::CollectiveMoves &moves) const;
  std::string listOverlap(NodeId start, ExposureWalk walk) const;
  std::string describeLimit(const schedule::CollectiveMoves &moves) const;
  std::string describeDependence(const schedule::CollectiveMoves &moves) const;

  Operation *function;
  StringRef functionName;
  const BlockProblem &block;
  const schedule::Problem &problem;
  StringRef pass;
  int64_t limitBytes;
  const schedule::IterativeReordering &result;
  /// By ExposureWalk, then by node.
  std::vector<Exposure> before[2];
  std::vector<Exposure> after[2];
  /// The computation of the result in its order, and by node how much of it is
  /// before.
  std::vector<NodeId> computes;
  std::vector<int32_t> numComputesBefore;
  /// By collective of the result.
  std::vector<ReorderInfo> infos;
};

} // namespace

MoveReport::MoveReport(func::FuncOp function, const BlockProblem &block,
                       StringRef pass, int64_t limitBytes,
                       const IterativeReordering &result)
    : function(function), functionName(function.getSymName()), block(block),
      problem(block.getProblem()), pass(pass), limitBytes(limitBytes),
      result(result) {
  for (ExposureWalk walk : {ExposureWalk::FromStart, ExposureWalk::FromWait}) {
    before[static_cast<int>(walk)] =
        computeExposure(problem, problem.programOrder(), walk);
    after[static_cast<int>(walk)] =
        computeExposure(problem, result.order, walk);
  }
  numComputesBefore.resize(result.order.size());
  for (NodeId node : result.order) {
    numComputesBefore[node] = static_cast<int32_t>(computes.size());
    if (problem.kind(node) == NodeKind::Compute)
      computes.push_back(node);
  }
  for (const CollectiveMoves &moves : result.collectives)
    infos.push_back(getInfo(moves));
}

std::string MoveReport::listPassed(const CollectiveMoves &moves) const {
  if (moves.passed.empty())
    return "";
  std::string text;
  for (NodeId node : moves.passed)
    text += "+" + getName(node);
  int64_t more = moves.moves - static_cast<int64_t>(moves.passed.size());
  if (more > 0)
    text += " and " + std::to_string(more) + " more";
  return text;
}

/// Walks as the solver does: from the start on, or from the end of the window
/// back to the start.
std::string MoveReport::listOverlap(NodeId start, ExposureWalk walk) const {
  bool isFromWait = walk == ExposureWalk::FromWait;
  NodeId windowEnd = after[static_cast<int>(walk)][start].windowEnd;
  if (windowEnd == schedule::noNode)
    return "";
  int32_t first = numComputesBefore[start];
  int32_t end = numComputesBefore[windowEnd];
  std::string text;
  for (int32_t step = 0; step < end - first; ++step) {
    if (step == static_cast<int32_t>(maxListed)) {
      text += "+...";
      break;
    }
    NodeId node = computes[isFromWait ? end - 1 - step : first + step];
    text +=
        "+" + getName(node) + "[" + std::to_string(problem.costNs(node)) + "]";
  }
  return text + (isFromWait ? "->C[" : "->W[") +
         getName(isFromWait ? start : windowEnd) + "]";
}

std::string MoveReport::describeDependence(const CollectiveMoves &moves) const {
  std::string text =
      (Twine(schedule::toString(moves.dependence)) + " dependence with " +
       describe(block.getOperation(moves.obstacle)))
          .str();
  switch (problem.kind(moves.obstacle)) {
  case NodeKind::Start:
  case NodeKind::Blocking:
    return text + ", a collective";
  case NodeKind::Wait:
    return text + ", a wait";
  case NodeKind::Compute:
    return problem.isExpensive(moves.obstacle) ? text + ", which is expensive"
                                               : text;
  }
  llvm_unreachable("unknown kind of operation");
}

std::string MoveReport::describeLimit(const CollectiveMoves &moves) const {
  auto obstacle = [&] { return describe(block.getOperation(moves.obstacle)); };
  switch (moves.limit) {
  case MoveLimit::None:
    return "nothing";
  case MoveLimit::Dependence:
    return describeDependence(moves);
  case MoveLimit::GroupSize:
    return describeDependence(moves) + "; the group is full";
  case MoveLimit::Collective:
    return "the collective " + obstacle();
  case MoveLimit::Memory:
    return "memory: passing " + obstacle() + " takes " +
           std::to_string(moves.neededBytes) + " bytes of " +
           std::to_string(limitBytes);
  case MoveLimit::Hidden:
    return "estimates: computation hides it";
  case MoveLimit::Exposure:
    return "estimates: passing " + obstacle() + " exposes more than it hides";
  }
  llvm_unreachable("unknown limit");
}

ReorderInfo MoveReport::getInfo(const CollectiveMoves &moves) const {
  bool isWait = problem.kind(moves.node) == NodeKind::Wait;
  NodeId start = isWait ? problem.startOf(moves.node) : moves.node;
  ExposureWalk walk = isWait ? ExposureWalk::FromWait : ExposureWalk::FromStart;
  const Exposure &now = after[static_cast<int>(walk)][start];
  ReorderInfo info;
  info.commNs = now.commNs;
  info.computeNs = now.computeNs;
  info.exposedBeforeNs = before[static_cast<int>(walk)][start].exposedNs();
  info.exposedAfterNs = now.exposedNs();
  info.moves = moves.moves;
  info.grouped = moves.grouped;
  info.limitingFactor = describeLimit(moves);
  info.pass = pass.str();
  info.movesInfo = listPassed(moves);
  info.overlapInfo = listOverlap(start, walk);
  return info;
}

void MoveReport::remark() const {
  for (auto [moves, info] : llvm::zip_equal(result.collectives, infos)) {
    Operation *op = block.getOperation(moves.node);
    bool isWait = problem.kind(moves.node) == NodeKind::Wait;
    std::string text;
    llvm::raw_string_ostream os(text);
    Operation *start =
        isWait ? block.getOperation(problem.startOf(moves.node)) : op;
    os << describe(start) << ": its " << (isWait ? "wait" : "start");
    if (moves.moves == 0)
      os << " stays";
    else
      os << " moves " << (isWait ? "down" : "up") << " by " << moves.moves;
    if (moves.grouped > 0)
      os << ", with " << moves.grouped
         << (moves.grouped == 1 ? " other" : " others");
    os << ", limited by " << info.limitingFactor;
    auto emit = [&, &info = info](remark::detail::InFlightRemark remark) {
      remark << text << remark::metric("Moved", info.moves)
             << remark::metric("Grouped", info.grouped)
             << remark::metric("CommNs", info.commNs)
             << remark::metric("ComputeNs", info.computeNs)
             << remark::metric("ExposedBeforeNs", info.exposedBeforeNs)
             << remark::metric("ExposedAfterNs", info.exposedAfterNs)
             << remark::metric("LimitingFactor", info.limitingFactor);
    };
    StringRef name = functionName;
    if (moves.moves > 0)
      emit(remark::passed(op->getLoc(), makeRemark("CollectiveMoved", name)));
    else
      emit(remark::missed(op->getLoc(), makeRemark("CollectiveKept", name)));
  }
}

void MoveReport::remarkTotals() const {
  int64_t improvementNs = 0;
  int64_t numMoves = 0;
  for (const ReorderInfo &info : infos) {
    improvementNs += info.exposedBeforeNs - info.exposedAfterNs;
    numMoves += info.moves;
  }
  remark::passed(function->getLoc(),
                 makeRemark("CollectivesReordered", functionName))
      << (pass + ": " + Twine(std::abs(improvementNs)) + " ns " +
          (improvementNs < 0 ? "more" : "less") + " exposed after " +
          Twine(numMoves) + (numMoves == 1 ? " move" : " moves") +
          "; the peak memory is " + Twine(result.newPeakBytes) +
          " bytes, and was " + Twine(result.oldPeakBytes))
             .str()
      << remark::metric("ImprovementNs", improvementNs)
      << remark::metric("Moves", numMoves)
      << remark::metric("PeakBytesBefore", result.oldPeakBytes)
      << remark::metric("PeakBytesAfter", result.newPeakBytes);
}

void MoveReport::write() const {
  for (auto [moves, info] : llvm::zip_equal(result.collectives, infos))
    setReorderInfo(block.getOperation(moves.node), info);
}

//===----------------------------------------------------------------------===//
// Application of a solver
//===----------------------------------------------------------------------===//

namespace {

/// Runs one pass on one function.
class CollectiveMover {
public:
  CollectiveMover(func::FuncOp function, const IterativePass &pass,
                  OperationCosts &costs)
      : function(function), pass(pass), costs(costs) {}

  FailureOr<bool> run(Block &block);

private:
  FailureOr<std::optional<BlockProblem>> read(Block &block);
  FailureOr<int64_t> getPeakBytes(const BlockProblem &problem);
  bool getsLonger(const BlockProblem &problem, const schedule::Order &order);
  FailureOr<bool> reduce(Block &block, const BlockProblem &problem,
                         int64_t peakBytes, int64_t limitBytes);

  func::FuncOp function;
  const IterativePass &pass;
  OperationCosts &costs;
};

} // namespace

FailureOr<std::optional<BlockProblem>> CollectiveMover::read(Block &block) {
  // Costs take longer to compute than everything else, so they are computed
  // only where the solver or a remark uses them.
  bool isPriced = pass.solver.needsCosts || pass.neverLonger ||
                  pass.writeInfo || pass.options.useRuntimeEstimations ||
                  areRemarksEnabled(function);
  return readBlock(function, block, isPriced ? &costs : nullptr,
                   pass.collectiveOrder);
}

/// The peak of the program as it stands.
FailureOr<int64_t> CollectiveMover::getPeakBytes(const BlockProblem &problem) {
  const Problem &program = problem.getProblem();
  Result<schedule::MemoryTimeline> memory =
      simulateMemory(program, program.programOrder());
  if (!memory)
    return emitError(function.getLoc(), "not reordered: ") << memory.error();
  return memory->peakBytes;
}

/// Puts a block that is over its limit into the order with the lowest known
/// peak. Emits a remark, and another one if that is still over the limit.
FailureOr<bool> CollectiveMover::reduce(Block &block,
                                        const BlockProblem &problem,
                                        int64_t peakBytes, int64_t limitBytes) {
  Result<PeakMemoryChoice> choice = choosePeakMemoryOrder(problem.getProblem());
  if (!choice)
    return emitError(function.getLoc(), "no order was found: ")
           << choice.error();
  int64_t least = choice->best.peakBytes;
  if (least > limitBytes)
    remarkBudgetExceeded(function, problem.getProblem(), least, limitBytes);
  // Nothing is gained by less memory that is still too much.
  if (least > limitBytes && pass.neverLonger &&
      getsLonger(problem, choice->order))
    return false;
  if (choice->order == problem.getProblem().programOrder())
    return false;
  keepBaselineBytes(function, block, peakBytes);
  problem.apply(choice->order);
  StringRef method = toString(choice->best.method);
  remark::passed(function.getLoc(),
                 makeRemark("BlockReordered", function.getSymName()))
      << (method + " lowers the peak memory from " + Twine(peakBytes) + " to " +
          Twine(least) + " bytes, for a budget of " + Twine(limitBytes))
             .str()
      << remark::metric("Method", method)
      << remark::metric("PeakBytesBefore", peakBytes)
      << remark::metric("PeakBytesAfter", least)
      << remark::metric("BudgetBytes", limitBytes);
  return true;
}

/// Returns whether the program would take longer in `order`, after a remark.
bool CollectiveMover::getsLonger(const BlockProblem &problem,
                                 const schedule::Order &order) {
  const Problem &program = problem.getProblem();
  int64_t before = simulate(program, program.programOrder())->stepNs;
  int64_t after = simulate(program, order)->stepNs;
  if (after <= before)
    return false;
  remarkBlockKept(function, function.getLoc(),
                  "the step would take " + Twine(after) + " ns instead of " +
                      Twine(before))
      << remark::metric("StepNs", before);
  return true;
}

FailureOr<bool> CollectiveMover::run(Block &block) {
  FailureOr<std::optional<BlockProblem>> problem = read(block);
  if (failed(problem))
    return failure();
  if (!*problem)
    return false;
  if (areRemarksEnabled(function))
    remarkAssumptions(function.getSymName(), listAssumptions(**problem, costs));
  FailureOr<int64_t> peakBytes = getPeakBytes(**problem);
  if (failed(peakBytes))
    return failure();
  int64_t limitBytes =
      pass.budget ? BlockLimit(function, block, *peakBytes).get(*pass.budget)
                  : *peakBytes;
  bool reduced = false;
  if (*peakBytes > limitBytes) {
    FailureOr<bool> moved = reduce(block, **problem, *peakBytes, limitBytes);
    if (failed(moved))
      return failure();
    reduced = *moved;
    problem = read(block);
    if (failed(problem))
      return failure();
    FailureOr<int64_t> reducedBytes = getPeakBytes(**problem);
    if (failed(reducedBytes))
      return failure();
    if (*reducedBytes > limitBytes)
      return reduced;
  }
  IterativeReorderingOptions options = pass.options;
  options.limitBytes = limitBytes;
  if (pass.writeInfo)
    options.maxPassedListed = maxListed;
  Result<IterativeReordering> result =
      pass.solver.run((*problem)->getProblem(), options);
  if (!result)
    return emitError(function.getLoc(), "not reordered: ") << result.error();
  if (pass.neverLonger && getsLonger(**problem, result->order))
    return reduced;
  if (pass.writeInfo || areRemarksEnabled(function)) {
    MoveReport report(function, **problem, pass.name, limitBytes, *result);
    report.remark();
    if (pass.writeInfo) {
      report.remarkTotals();
      report.write();
    }
  }
  bool moved = result->order != (*problem)->getProblem().programOrder();
  if (moved) {
    keepBaselineBytes(function, block, *peakBytes);
    (*problem)->apply(result->order);
  }
  return reduced || moved || pass.writeInfo;
}

FailureOr<bool> mlir::commsched::runIterativePass(func::FuncOp function,
                                                  const IterativePass &pass,
                                                  CostAnalysis &analysis) {
  OperationCosts *costs = analysis.getCosts();
  if (!costs)
    return failure();
  CollectiveMover mover(function, pass, *costs);
  return rewriteBlocks(getBlocksWithCollectives(function),
                       [&](Block &block) { return mover.run(block); });
}

//===----------------------------------------------------------------------===//
// Overlap without cost estimates
//===----------------------------------------------------------------------===//

namespace {

struct SimpleOverlap
    : RewritingPass<mlir::commsched::impl::SimpleOverlapBase<SimpleOverlap>> {
  FailureOr<bool> rewrite() override {
    IterativePass pass;
    pass.name = getArgument();
    // The solver checks that the step gets no longer.
    pass.solver.needsCosts = true;
    pass.solver.run = [](const schedule::Problem &problem,
                         const schedule::IterativeReorderingOptions &) {
      return schedule::overlapSimply(problem);
    };
    markAnalysesPreserved<CostAnalysis>();
    return runIterativePass(getOperation(), pass, getAnalysis<CostAnalysis>());
  }
};

} // namespace
