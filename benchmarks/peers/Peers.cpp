//===- Peers.cpp - Schedulers of one function -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Peers.h"
#include "CommSched/Dialect/CommSchedAttributes.h"
#include "CommSched/Schedule/Bounds/LowerBounds.h"
#include "CommSched/Schedule/Model/MemoryTimeline.h"
#include "ExternalAnswer.h"
#include "LatencyHidingScheduler.h"
#include "MemoryBudget.h"
#include "Sample.h"
#include "mlir/IR/Verifier.h"

using namespace mlir;
using namespace mlir::commsched;
using schedule::Problem;
using schedule::testing::hideLatency;
using schedule::testing::LatencyHidingOptions;
using schedule::testing::LatencyHidingSchedule;

static double toMs(int64_t ns) { return static_cast<double>(ns) / 1e6; }

FailureOr<PeerRun> mlir::commsched::runPipeline(LoneFunction &function,
                                                StringRef pipeline) {
  int64_t timeNs;
  if (failed(function.runPasses(pipeline, timeNs)))
    return failure();
  return PeerRun{toMs(timeNs), ""};
}

//===----------------------------------------------------------------------===//
// Latency hiding
//===----------------------------------------------------------------------===//

static LogicalResult
orderByLatencies(LoneFunction &function, LatencyHidingOptions options,
                 const std::optional<MemoryBudget> &budget) {
  auto op = dyn_cast<func::FuncOp>(function.getFunction().getOperation());
  if (!op)
    return function.getFunction().emitError("is not a func.func");
  FailureOr<BlockProblem> block = function.createProblem(StreamOrder::Free);
  if (failed(block))
    return failure();
  const Problem &problem = block->getProblem();
  if (budget) {
    int64_t peakBytes =
        simulateMemory(problem, problem.programOrder())->peakBytes;
    options.limitBytes =
        BlockLimit(op, function.getBlock(), peakBytes).get(*budget);
  }
  Result<LatencyHidingSchedule> schedule = hideLatency(problem, options);
  if (!schedule)
    return op.emitError("no order was found: ") << schedule.error();
  block->apply(schedule->order);
  return success();
}

FailureOr<PeerRun> mlir::commsched::hideLatencies(LoneFunction &function,
                                                  StringRef limits) {
  auto [budget, inFlight] = limits.split(',');
  LatencyHidingOptions options;
  if (!inFlight.empty() && inFlight.getAsInteger(10, options.maxInFlight))
    return function.getModule().emitError("'")
           << inFlight << "' is no number of collectives in flight";
  std::optional<MemoryBudget> parsed;
  if (budget != "none") {
    parsed.emplace();
    if (std::optional<std::string> error = parseMemoryBudget(budget, *parsed))
      return function.getModule().emitError("the memory budget ") << *error;
  }
  LogicalResult result = failure();
  Sample sample =
      takeSample([&] { result = orderByLatencies(function, options, parsed); });
  if (failed(result))
    return failure();
  return PeerRun{toMs(sample.timeNs), ""};
}

FailureOr<PeerRun> mlir::commsched::applyExternal(LoneFunction &function,
                                                  StringRef path) {
  Result<ExternalAnswer> answer =
      readAnswer(path, function.getFunction().getName());
  if (!answer)
    return function.getModule().emitError(answer.error());
  if (failed(applyAnswer(*answer, function)))
    return failure();
  return PeerRun{answer->scheduleMs, answer->note};
}

//===----------------------------------------------------------------------===//
// Costs
//===----------------------------------------------------------------------===//

FailureOr<PeerCosts> mlir::commsched::measure(LoneFunction &function) {
  if (failed(verify(function.getModule())))
    return failure();
  FailureOr<StepReport> report = function.report();
  if (failed(report))
    return failure();
  for (Operation &op : function.getBlock())
    op.removeDiscardableAttr(orderAttrName);
  FailureOr<BlockProblem> block = function.createProblem(StreamOrder::Free);
  if (failed(block))
    return failure();
  auto bound = computeLowerBound(block->getProblem());
  auto tightBound = computeTightLowerBound(block->getProblem());
  if (!bound || !tightBound)
    return function.getModule().emitError("has no bound: ")
           << (!bound ? bound.error() : tightBound.error());
  return PeerCosts{std::move(*report), bound->ns(), tightBound->ns};
}
