//===- IterativePasses.cpp - Applies the iterative solvers ----------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "IterativePasses.h"
#include "BlockScheduling.h"
#include "CommSched/Analysis/Costs/CostAnalysis.h"
#include "CommSched/Schedule/Inductor/PeakMemoryOrders.h"
#include "CommSched/Schedule/Model/MemoryTimeline.h"
#include "CommSched/Schedule/Model/Simulator.h"
#include "MoveAccount.h"
#include "Remarks.h"

using namespace mlir;
using namespace mlir::commsched;
using schedule::IterativeReordering;
using schedule::IterativeReorderingOptions;
using schedule::PeakMemoryChoice;
using schedule::Problem;

namespace {

/// Runs one pass on one function.
class Runner {
public:
  Runner(func::FuncOp function, const IterativePass &pass,
         OperationCosts &costs)
      : function(function), pass(pass), costs(costs) {}

  FailureOr<bool> run(Block &block);

private:
  FailureOr<BlockProblem> createProblem(Block &block);
  bool declines(const BlockProblem &problem);
  bool getsLonger(const BlockProblem &problem, const schedule::Order &order);
  FailureOr<bool> reduce(Block &block, const BlockProblem &problem,
                         int64_t peakBytes, int64_t limitBytes);

  func::FuncOp function;
  const IterativePass &pass;
  OperationCosts &costs;
};

} // namespace

static int64_t getPeakBytes(const Problem &problem) {
  return simulateMemory(problem, problem.programOrder())->peakBytes;
}

FailureOr<BlockProblem> Runner::createProblem(Block &block) {
  // Costs take longer to tell than all the rest: only for who looks at them.
  bool isPriced = pass.usesCosts || pass.neverLonger || pass.writeInfo ||
                  pass.options.useRuntimeEstimations ||
                  areRemarksEnabled(function);
  return BlockProblem::create(
      block,
      [&](Operation *op) {
        return isPriced ? costs.getRuntimeNs(op) : std::optional<int64_t>(0);
      },
      pass.collectiveOrder);
}

/// Whether something is not known that the pass needs; then says so.
bool Runner::declines(const BlockProblem &problem) {
  if (std::optional<std::string> reason = getUnsizedReason(problem)) {
    remarkBlockKept(function, problem.getUnsized().getLoc(), *reason);
    return true;
  }
  if (!pass.options.useRuntimeEstimations && !pass.neverLonger)
    return false;
  if (std::optional<std::string> reason = getUnpricedReason(problem, costs)) {
    remarkBlockKept(function, problem.getUnpriced()->getLoc(), *reason);
    return true;
  }
  return false;
}

/// Puts a block that is over its limit into the order with the lowest peak that
/// is known. Says so, and if that is still too much.
FailureOr<bool> Runner::reduce(Block &block, const BlockProblem &problem,
                               int64_t peakBytes, int64_t limitBytes) {
  Result<PeakMemoryChoice> choice = choosePeakMemoryOrder(problem.getProblem());
  if (!choice) {
    emitError(function.getLoc(), "no order was found: ") << choice.error();
    return failure();
  }
  int64_t least = choice->best.peakBytes;
  if (least > limitBytes)
    remarkBudgetExceeded(function, problem.getProblem(), least, limitBytes);
  // Nothing is gained by less memory that is still too much.
  if (least > limitBytes && pass.neverLonger &&
      getsLonger(problem, choice->order))
    return false;
  if (!problem.apply(choice->order))
    return false;
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
  keepBaselineBytes(function, block, peakBytes);
  return true;
}

/// Whether the program would take longer in `order`; then says so.
bool Runner::getsLonger(const BlockProblem &problem,
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

FailureOr<bool> Runner::run(Block &block) {
  FailureOr<BlockProblem> problem = createProblem(block);
  if (failed(problem))
    return failure();
  if (declines(*problem))
    return false;
  int64_t peakBytes = getPeakBytes(problem->getProblem());
  int64_t limitBytes =
      pass.budget ? getLimitBytes(function, block, problem->getProblem(),
                                  peakBytes, *pass.budget)
                  : peakBytes;
  bool reduced = false;
  if (peakBytes > limitBytes) {
    FailureOr<bool> moved = reduce(block, *problem, peakBytes, limitBytes);
    if (failed(moved))
      return failure();
    reduced = *moved;
    problem = createProblem(block);
    if (failed(problem))
      return failure();
    if (getPeakBytes(problem->getProblem()) > limitBytes)
      return reduced;
  }
  IterativeReorderingOptions options = pass.options;
  options.limitBytes = limitBytes;
  Result<IterativeReordering> result =
      pass.solver(problem->getProblem(), options);
  if (!result) {
    emitError(function.getLoc(), "not reordered: ") << result.error();
    return failure();
  }
  if (pass.neverLonger && getsLonger(*problem, result->order))
    return reduced;
  if (pass.writeInfo || areRemarksEnabled(function)) {
    MoveAccount account(function, *problem, pass.name, limitBytes, *result);
    account.remark();
    if (pass.writeInfo)
      account.write();
  }
  bool moved = problem->apply(result->order);
  if (moved)
    keepBaselineBytes(function, block, peakBytes);
  return reduced || moved || pass.writeInfo;
}

FailureOr<bool> mlir::commsched::runIterativePass(func::FuncOp function,
                                                  const IterativePass &pass) {
  CostAnalysis analysis(function);
  OperationCosts *costs = analysis.getCosts();
  if (!costs)
    return failure();
  Runner runner(function, pass, *costs);
  bool changed = false;
  for (Block *block : getBlocksWithCollectives(function)) {
    FailureOr<bool> blockChanged = runner.run(*block);
    if (failed(blockChanged))
      return failure();
    changed |= *blockChanged;
  }
  return changed;
}
