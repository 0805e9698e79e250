//===- Report.cpp - Pass that simulates and reports -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/Analysis/Costs/Callees.h"
#include "CommSched/Analysis/Costs/CostAnalysis.h"
#include "CommSched/Analysis/Costs/TargetSpec.h"
#include "CommSched/Analysis/Cyclic/StepLoop.h"
#include "CommSched/Analysis/OptionErrors.h"
#include "CommSched/Dialect/CommSchedAttributes.h"
#include "CommSched/Report/ReportFormats.h"
#include "CommSched/Report/StepReport.h"
#include "CommSched/Transforms/Passes.h"
#include "Joint/SplitFunction.h"
#include "MemoryBudget.h"
#include "PassSupport.h"
#include "Step/InlinedCalls.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::commsched {
#define GEN_PASS_DEF_REPORT
#include "CommSched/Transforms/Passes.h.inc"
} // namespace mlir::commsched

using namespace mlir;
using namespace mlir::commsched;

namespace {

/// Simulates the functions of a module.
class ModuleSimulator {
public:
  ModuleSimulator(OperationCosts &costs, const SimulationOptions &options)
      : costs(costs), options(options) {}

  /// Remarks name the functions that cannot be simulated.
  FailureOr<std::vector<StepReport>> simulate(ModuleOp module);

private:
  /// Appends the report on `function`. What calls halves is simulated with the
  /// operations of what it calls, since they share storages.
  LogicalResult simulate(FunctionOpInterface function,
                         const SymbolTable &symbols, const Callees &callees);
  void findOfAllDevices(ModuleOp module);

  OperationCosts &costs;
  const SimulationOptions &options;
  /// Those that call halves of a partition.
  llvm::SmallPtrSet<Operation *, 4> steps;
  /// Those that call the program of one device, perhaps by others.
  llvm::SetVector<Operation *> ofAllDevices;
  std::vector<StepReport> reports;
};

struct Report : mlir::commsched::impl::ReportBase<Report> {
  using ReportBase::ReportBase;

  LogicalResult initialize(MLIRContext *context) override;
  void runOnOperation() override;

private:
  /// Reports on the module of the option `before`; on none without it.
  FailureOr<std::vector<StepReport>> simulateBefore();
  /// Prints the `reports` on the module.
  LogicalResult print(ArrayRef<StepReport> reports);
  LogicalResult printAsPage(ArrayRef<StepReport> reports);

  SimulationOptions simulation;
  /// The option `reserved-bytes`.
  int64_t otherBytes = 0;
};

} // namespace

LogicalResult Report::initialize(MLIRContext *context) {
  simulation.allocator = getSegmentKind(allocator);
  if (std::optional<std::string> error =
          parseByteCount(reservedBytes, otherBytes))
    return reportOptionError(context,
                             makeOptionError(*this, reservedBytes, *error));
  simulation.withBuffers = format == ReportFormat::Html;
  auto ofPage = [&](const Option<std::string> &option) -> DependentOption {
    return {option, !option.empty(), format == ReportFormat::Html,
            "requires format=html"};
  };
  return reportOptionError(
      context, findUnread(*this, {ofPage(before), ofPage(frontier)}));
}

LogicalResult ModuleSimulator::simulate(FunctionOpInterface function,
                                        const SymbolTable &symbols,
                                        const Callees &callees) {
  bool isOfAllDevices = ofAllDevices.contains(function);
  OwningOpRef<func::FuncOp> merged;
  if (steps.contains(function)) {
    merged = mergeCopy(cast<func::FuncOp>(*function), symbols, callees);
    function = *merged;
  }
  std::string reason;
  FailureOr<std::optional<StepReport>> report =
      simulateFunction(function, costs, reason, options);
  if (failed(report))
    return failure();
  auto step = dyn_cast<func::FuncOp>(*function);
  bool isSteadyState = step && StepLoop::isSteadyState(step);
  if (isSteadyState || (step && *report && StepLoop::repeats(step))) {
    FailureOr<std::optional<StepReport>> repeated = simulateRepetitions(
        step, isSteadyState ? std::nullopt : *report, costs, reason, options);
    if (failed(repeated))
      return failure();
    if (isSteadyState || *repeated)
      report = std::move(repeated);
  }
  if (*report) {
    remarkUnknownGroups(function.getLoc(), function.getName(),
                        (*report)->unknownGroups);
    remarkAssumptions(function.getName(), (*report)->assumptions);
    (*report)->evidence.isOfAllDevices = isOfAllDevices;
    reports.push_back(std::move(**report));
  } else {
    remark::missed(function.getLoc(),
                   makeRemark("FunctionNotSimulated", function.getName()))
        << ("@" + function.getName() + " is not simulated: " + reason).str();
  }
  return success();
}

void ModuleSimulator::findOfAllDevices(ModuleOp module) {
  SymbolTableCollection symbolTables;
  SymbolUserMap users(symbolTables, module);
  auto addCallers = [&](Operation *function) {
    for (Operation *user : users.getUsers(function))
      if (auto caller = user->getParentOfType<FunctionOpInterface>();
          caller && !caller->hasAttr(perDeviceAttrName))
        ofAllDevices.insert(caller);
  };
  for (auto function : module.getOps<FunctionOpInterface>())
    if (function->hasAttr(perDeviceAttrName))
      addCallers(function);
  for (size_t index = 0; index < ofAllDevices.size(); ++index)
    addCallers(ofAllDevices[index]);
}

FailureOr<std::vector<StepReport>> ModuleSimulator::simulate(ModuleOp module) {
  Callees callees(module, costs);
  if (areRemarksEnabled(module))
    for (size_t level = 0; level < callees.getNumLevels(); ++level)
      remarkUnknownCallees(callees, level);
  findOfAllDevices(module);
  SymbolTable symbols(module);
  for (const CalledHalves &called : findCalledHalves(module))
    for (auto [forward, backward] : called.calls)
      steps.insert(forward->getParentOfType<func::FuncOp>());
  for (auto function : module.getOps<FunctionOpInterface>())
    if (!function.isExternal() && failed(simulate(function, symbols, callees)))
      return failure();
  return std::move(reports);
}

/// "line 3, column 5: ", or nothing for other locations.
static std::string describePlace(Location location) {
  auto place = dyn_cast<FileLineColLoc>(location);
  if (!place)
    return {};
  return "line " + std::to_string(place.getLine()) + ", column " +
         std::to_string(place.getColumn()) + ": ";
}

FailureOr<std::vector<StepReport>> Report::simulateBefore() {
  if (before.empty())
    return std::vector<StepReport>();
  // The module may need dialects that this one does not, and those cannot be
  // loaded while a pass runs.
  MLIRContext other(getContext().getDialectRegistry(),
                    MLIRContext::Threading::DISABLED);
  // As for this module: a step that repeats is simulated as a loop.
  other.loadDialect<arith::ArithDialect, scf::SCFDialect>();
  other.allowUnregisteredDialects(getContext().allowsUnregisteredDialects());
  std::string problem;
  ScopedDiagnosticHandler handler(&other, [&](Diagnostic &diagnostic) {
    if (problem.empty() &&
        diagnostic.getSeverity() == DiagnosticSeverity::Error)
      problem = describePlace(diagnostic.getLocation()) + diagnostic.str();
  });
  auto report = [&]() -> FailureOr<std::vector<StepReport>> {
    OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(before, &other);
    if (!module)
      return failure();
    inheritCosts(*module, getOperation());
    FailureOr<std::shared_ptr<CostAnalysis>> analysis =
        CostAnalysis::create(*module);
    if (failed(analysis))
      return failure();
    return ModuleSimulator(*(*analysis)->getCosts(), simulation)
        .simulate(*module);
  };
  FailureOr<std::vector<StepReport>> reports = report();
  if (failed(reports))
    return emitError(getOperation().getLoc(),
                     "cannot simulate the module before, of '")
           << before << "': " << problem;
  // Attributes end with their context.
  for (StepReport &step : *reports)
    step.unknownGroups.clear();
  return reports;
}

void Report::runOnOperation() {
  markAllAnalysesPreserved();
  OperationCosts *costs = getAnalysis<CostAnalysis>().getCosts();
  if (!costs)
    return signalPassFailure();
  FailureOr<std::vector<StepReport>> reports =
      ModuleSimulator(*costs, simulation).simulate(getOperation());
  if (failed(reports))
    return signalPassFailure();
  for (StepReport &report : *reports)
    report.otherBytes = otherBytes;
  if (failed(format == ReportFormat::Html ? printAsPage(*reports)
                                          : print(*reports)))
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

LogicalResult Report::printAsPage(ArrayRef<StepReport> reports) {
  FailureOr<std::vector<StepReport>> reportsBefore = simulateBefore();
  if (failed(reportsBefore))
    return failure();
  for (StepReport &report : *reportsBefore)
    report.otherBytes = otherBytes;
  std::vector<FunctionFrontier> frontiers;
  if (!frontier.empty()) {
    Result<std::vector<FunctionFrontier>> read = readFrontiers(frontier);
    if (!read)
      return emitError(getOperation().getLoc(), "cannot read the frontier: ")
             << read.error();
    frontiers = std::move(*read);
  }
  return writeOutputFile(getOperation().getLoc(), output, "the page",
                         [&](raw_ostream &os) {
                           printPage(reports, *reportsBefore, frontiers, os);
                         });
}
