//===- DumpProblem.cpp - Passes that write problems and programs ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "../PassSupport.h"
#include "CommSched/Analysis/Costs/Callees.h"
#include "CommSched/Analysis/Costs/CostAnalysis.h"
#include "CommSched/Report/ProgramJson.h"
#include "CommSched/Transforms/Passes.h"

namespace mlir::commsched {
#define GEN_PASS_DEF_DUMPPROBLEM
#define GEN_PASS_DEF_EXPORTJSON
#include "CommSched/Transforms/Passes.h.inc"
} // namespace mlir::commsched

using namespace mlir;
using namespace mlir::commsched;

namespace {

struct DumpProblem : mlir::commsched::impl::DumpProblemBase<DumpProblem> {
  using DumpProblemBase::DumpProblemBase;

  /// Accepts the name of the file alone as well.
  LogicalResult initializeOptions(
      StringRef options,
      function_ref<LogicalResult(const Twine &)> errorHandler) override {
    if (options.empty() || options.starts_with("file="))
      return Pass::initializeOptions(options, errorHandler);
    file = options.str();
    return success();
  }

  void runOnOperation() override;
};

struct ExportJson : mlir::commsched::impl::ExportJsonBase<ExportJson> {
  using ExportJsonBase::ExportJsonBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    markAllAnalysesPreserved();
    if (failed(writeOutputFile(
            module.getLoc(), file, "the program",
            [&](raw_ostream &os) { writeProgram(os, module); })))
      signalPassFailure();
  }
};

} // namespace

static FailureOr<NamedProblem> readProblem(func::FuncOp function,
                                           OperationCosts &costs) {
  FailureOr<BlockProblem> problem =
      priceBlock(function.getBody().front(), costs);
  if (failed(problem))
    return failure();
  if (areRemarksEnabled(function))
    remarkAssumptions(function.getSymName(), listAssumptions(*problem, costs));
  if (Operation *half = problem->getHalfOfPair())
    return half->emitError("cannot be dumped: ")
           << getObstacle(*problem)->reason;
  return nameProblem(function.getSymName(), *problem);
}

void DumpProblem::runOnOperation() {
  ModuleOp module = getOperation();
  std::vector<NamedProblem> problems;
  OperationCosts *costs = getAnalysis<CostAnalysis>().getCosts();
  if (!costs)
    return signalPassFailure();
  Callees callees(module, *costs);
  for (auto function : module.getOps<func::FuncOp>()) {
    if (function.isExternal())
      continue;
    if (!llvm::hasSingleElement(function.getBody())) {
      remark::missed(function.getLoc(),
                     makeRemark("FunctionNotDumped", function.getSymName()))
          << "the function has several blocks";
      continue;
    }
    FailureOr<NamedProblem> problem = readProblem(function, *costs);
    if (failed(problem))
      return signalPassFailure();
    problems.push_back(std::move(*problem));
  }
  if (failed(writeOutputFile(
          module.getLoc(), file, "the problem",
          [&](raw_ostream &os) { writeProblems(os, problems); })))
    return signalPassFailure();
  markAllAnalysesPreserved();
}
