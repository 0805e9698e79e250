//===- Report.cpp - Pass that simulates and reports -----------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Analysis/Cyclic/StepLoop.h"
#include "CommSched/Report/PairReport.h"
#include "CommSched/Report/ReportFormats.h"
#include "CommSched/Report/StepReport.h"
#include "EstimatingPass.h"
#include "MemoryBudget.h"
#include "PassSupport.h"

namespace mlir::commsched {
#define GEN_PASS_DEF_REPORT
#include "CommSched/Transforms/Passes.h.inc"
} // namespace mlir::commsched

using namespace mlir;
using namespace mlir::commsched;

namespace {

struct Report : EstimatingPass<mlir::commsched::impl::ReportBase<Report>> {
  using EstimatingPass::EstimatingPass;

  LogicalResult initialize(MLIRContext *context) override;
  LogicalResult run(OperationCosts &costs) override;

private:
  /// Appends the report on `function`.
  LogicalResult simulate(FunctionOpInterface function, OperationCosts &costs);
  /// Appends the report on the step of both halves, which have been simulated.
  LogicalResult simulate(FunctionPair pair, OperationCosts &costs);
  LogicalResult print();

  SimulationOptions simulation;
  /// The option `reserved-bytes`.
  int64_t otherBytes = 0;
  std::vector<StepReport> reports;
  /// By function: which of the reports is its.
  DenseMap<Operation *, size_t> reportOf;
};

} // namespace

LogicalResult Report::initialize(MLIRContext *context) {
  simulation.contention = {exclusiveGroups, linkSharing, computeSlowdown};
  simulation.allocator = getSegmentKind(allocator);
  if (failed(EstimatingPass::initialize(context)))
    return failure();
  if (Status status = check(simulation.contention); !status && !optionError)
    optionError = makeOptionError(*this, computeSlowdown, status.error());
  if (std::optional<std::string> error =
          parseByteCount(reservedBytes, otherBytes);
      error && !optionError)
    optionError = makeOptionError(*this, reservedBytes, *error);
  return success();
}

LogicalResult Report::simulate(FunctionOpInterface function,
                               OperationCosts &costs) {
  std::string reason;
  FailureOr<std::optional<StepReport>> report =
      simulateFunction(function, costs, reason, simulation);
  if (failed(report))
    return failure();
  auto step = dyn_cast<func::FuncOp>(*function);
  bool isSteadyState = step && StepLoop::isSteadyState(step);
  if (isSteadyState || (step && *report && StepLoop::repeats(step))) {
    FailureOr<std::optional<StepReport>> repeated =
        simulateRepetitions(step, isSteadyState ? std::nullopt : *report, costs,
                            reason, simulation);
    if (failed(repeated))
      return failure();
    if (isSteadyState || *repeated)
      report = std::move(repeated);
  }
  if (*report) {
    for (Attribute group : (*report)->unknownGroups)
      remark::analysis(function.getLoc(),
                       makeRemark("UnknownContention", function.getName()))
          << explainUnknownGroup(group);
    reportOf[function] = reports.size();
    reports.push_back(std::move(**report));
  } else {
    remark::missed(function.getLoc(),
                   makeRemark("FunctionNotSimulated", function.getName()))
        << ("@" + function.getName() + " is not simulated: " + reason).str();
  }
  return success();
}

LogicalResult Report::simulate(FunctionPair pair, OperationCosts &costs) {
  auto forward = reportOf.find(pair.forward);
  auto backward = reportOf.find(pair.backward);
  // A remark on the half has given the reason.
  if (forward == reportOf.end() || backward == reportOf.end())
    return success();
  std::string reason;
  FailureOr<std::optional<StepReport>> report =
      simulatePair(pair, reports[forward->second], reports[backward->second],
                   costs, reason, simulation);
  if (failed(report))
    return failure();
  if (*report)
    reports.push_back(std::move(**report));
  else
    remark::missed(pair.forward.getLoc(),
                   makeRemark("PairNotSimulated", pair.forward.getName()))
        << ("@" + pair.forward.getName() + " and @" + pair.backward.getName() +
            " are not simulated together: " + reason)
               .str();
  return success();
}

LogicalResult Report::run(OperationCosts &costs) {
  markAllAnalysesPreserved();
  reports.clear();
  reportOf.clear();
  // A pair comes behind the second of its halves.
  DenseMap<Operation *, FunctionPair> pairs;
  for (FunctionPair pair : getFunctionPairs(getOperation()))
    pairs[pair.forward->isBeforeInBlock(pair.backward) ? pair.backward
                                                       : pair.forward] = pair;
  for (auto function : getOperation().getOps<FunctionOpInterface>()) {
    if (!function.isExternal() && failed(simulate(function, costs)))
      return failure();
    if (auto it = pairs.find(function);
        it != pairs.end() && failed(simulate(it->second, costs)))
      return failure();
  }
  return print();
}

LogicalResult Report::print() {
  for (StepReport &report : reports)
    report.otherBytes = otherBytes;
  return writeOutputFile(
      getOperation().getLoc(), output, "the report", [&](raw_ostream &os) {
        if (format == ReportFormat::Trace)
          return printTrace(reports, os);
        for (const StepReport &report : reports)
          format == ReportFormat::Json ? printJson(report, os)
                                       : printTable(report, os);
      });
}
