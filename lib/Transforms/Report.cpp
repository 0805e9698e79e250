//===- Report.cpp - The pass that simulates and prints --------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Analysis/OperationCosts.h"
#include "CommSched/Analysis/StepReport.h"
#include "CommSched/Analysis/TargetSpec.h"
#include "CommSched/Report/ReportFormats.h"
#include "CommSched/Transforms/Passes.h"
#include "OutputFile.h"
#include "Remarks.h"

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
  std::string reason;
  FailureOr<std::optional<StepReport>> report =
      simulateFunction(function, costs, reason);
  if (failed(report))
    return failure();
  if (*report)
    reports.push_back(std::move(**report));
  else
    remark::missed(function.getLoc(),
                   makeRemark("FunctionNotSimulated", function.getName()))
        << ("@" + function.getName() + " is not simulated: " + reason).str();
  return success();
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
