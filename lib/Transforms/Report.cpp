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
#include "CommSched/Transforms/Passes.h"
#include "Remarks.h"
#include "ReportFormats.h"
#include "mlir/Support/FileUtilities.h"
#include "llvm/Support/ToolOutputFile.h"

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

/// Why the body of `function` cannot be simulated; nothing if it can.
static std::optional<std::string> getObstacle(const BlockProblem &block,
                                              OperationCosts &costs) {
  if (Operation *op = block.getUnpriced())
    return describe(op) + ": " + explainUnknownCost(costs, op);
  if (Value value = block.getUnsized()) {
    std::string text;
    llvm::raw_string_ostream(text)
        << "the size of a " << value.getType() << " is not known";
    return text;
  }
  return std::nullopt;
}

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
  if (std::optional<std::string> obstacle = getObstacle(*block, costs))
    return decline(*obstacle);
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
  std::string message;
  std::unique_ptr<llvm::ToolOutputFile> file = openOutputFile(output, &message);
  if (!file)
    return emitError(getOperation().getLoc(), "cannot write the report: ")
           << message;
  raw_ostream &os = file->os();
  if (format == ReportFormat::Trace)
    printTrace(reports, os);
  else
    for (const StepReport &report : reports)
      format == ReportFormat::Json ? printJson(report, os)
                                   : printTable(report, os);
  os.flush();
  if (std::error_code error = file->os().error()) {
    file->os().clear_error();
    return emitError(getOperation().getLoc(), "cannot write the report to '")
           << output << "': " << error.message();
  }
  file->keep();
  return success();
}
