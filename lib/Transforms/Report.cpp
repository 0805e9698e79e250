//===- Report.cpp - The pass that simulates and prints --------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BlockScheduling.h"
#include "CommSched/Analysis/OperationCosts.h"
#include "CommSched/Analysis/StepReport.h"
#include "CommSched/Analysis/TargetSpec.h"
#include "CommSched/Transforms/Passes.h"
#include "OutputFile.h"
#include "Remarks.h"
#include "ReportFormats.h"

namespace mlir::commsched {
#define GEN_PASS_DEF_REPORT
#include "CommSched/Transforms/Passes.h.inc"
} // namespace mlir::commsched

using namespace mlir;
using namespace mlir::commsched;

namespace {

struct Report : mlir::commsched::impl::ReportBase<Report> {
  using ReportBase::ReportBase;

  void runOnOperation() override;

private:
  LogicalResult simulate(FunctionOpInterface function, OperationCosts &costs,
                         std::vector<StepReport> &reports);
  LogicalResult print(ArrayRef<StepReport> reports);
};

} // namespace

LogicalResult Report::simulate(FunctionOpInterface function,
                               OperationCosts &costs,
                               std::vector<StepReport> &reports) {
  auto decline = [&](const std::string &reason) {
    remark::missed(function.getLoc(),
                   makeRemark("FunctionNotSimulated", function.getName()))
        << ("@" + function.getName() + " is not simulated: " + reason).str();
    return success();
  };
  Region &body = function.getFunctionBody();
  if (!llvm::hasSingleElement(body))
    return decline("its body has several blocks");
  auto getCost = [&](Operation *op) { return costs.getRuntimeNs(op); };
  FailureOr<BlockProblem> block = BlockProblem::create(body.front(), getCost);
  if (failed(block))
    return failure();
  if (std::optional<std::string> reason = getUnpricedReason(*block, costs))
    return decline(*reason);
  if (std::optional<std::string> reason = getUnsizedReason(*block))
    return decline(*reason);
  FailureOr<StepReport> report = reportStep(function, *block);
  if (succeeded(report))
    reports.push_back(std::move(*report));
  return report;
}

void Report::runOnOperation() {
  markAllAnalysesPreserved();
  FailureOr<::commsched::Target> target = getTarget(getOperation());
  if (failed(target))
    return signalPassFailure();
  SymbolTableCollection symbolTables;
  OperationCosts costs(*target, /*profile=*/nullptr, symbolTables);
  std::vector<StepReport> reports;
  for (auto function : getOperation().getOps<FunctionOpInterface>())
    if (!function.isExternal() && failed(simulate(function, costs, reports)))
      return signalPassFailure();
  if (failed(print(reports)))
    signalPassFailure();
}

LogicalResult Report::print(ArrayRef<StepReport> reports) {
  return writeOutputFile(
      getOperation().getLoc(), output, "the report", [&](raw_ostream &os) {
        if (format == ReportFormat::Trace)
          return printTrace(reports, os);
        for (const StepReport &report : reports)
          format == ReportFormat::Json ? printJson(report, os)
                                       : printTable(report, os);
      });
}
