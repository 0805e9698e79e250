//===- LoneFunction.cpp - A function by itself ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "LoneFunction.h"
#include "CommSched/Analysis/Costs/CostAnalysis.h"
#include "Sample.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"

using namespace mlir;
using namespace mlir::commsched;

SmallVector<FunctionOpInterface>
mlir::commsched::getBenchmarkedFunctions(ModuleOp module) {
  SymbolTable symbols(module);
  auto callsBody = [&](func::CallOp call) {
    auto callee = symbols.lookup<func::FuncOp>(call.getCallee());
    return callee && !callee.isExternal() ? WalkResult::interrupt()
                                          : WalkResult::advance();
  };
  SmallVector<FunctionOpInterface> functions;
  for (auto function : module.getOps<FunctionOpInterface>())
    if (!function.isExternal() && function.getFunctionBody().hasOneBlock() &&
        !function.walk(callsBody).wasInterrupted())
      functions.push_back(function);
  return functions;
}

LoneFunction::LoneFunction(FunctionOpInterface function) {
  auto source = function->getParentOfType<ModuleOp>();
  module = ModuleOp::create(source.getLoc());
  module->getOperation()->setAttrs(source->getAttrDictionary());
  for (Operation &op : *source.getBody()) {
    auto other = dyn_cast<FunctionOpInterface>(op);
    if (!other || other == function || other.isExternal())
      module->push_back(op.clone());
  }
}

LoneFunction LoneFunction::clone() { return LoneFunction(module->clone()); }

FunctionOpInterface LoneFunction::getFunction() {
  for (auto function : module->getOps<FunctionOpInterface>())
    if (!function.isExternal())
      return function;
  llvm_unreachable("the module was made for a function with a body");
}

Block &LoneFunction::getBlock() {
  return getFunction().getFunctionBody().front();
}

FailureOr<BlockProblem> LoneFunction::createProblem(StreamOrder order) {
  CostAnalysis analysis(*module);
  OperationCosts *costs = analysis.getCosts();
  if (!costs)
    return failure();
  FailureOr<BlockProblem> problem = BlockProblem::create(
      getBlock(), [&](Operation *op) { return costs->price(op); }, order);
  if (failed(problem))
    return failure();
  if (failed(refuseAssumptions(*problem, *costs)))
    return failure();
  return problem;
}

FailureOr<StepReport> LoneFunction::report() {
  CostAnalysis analysis(*module);
  OperationCosts *costs = analysis.getCosts();
  if (!costs)
    return failure();
  std::string reason;
  FailureOr<std::optional<StepReport>> report =
      simulateFunction(getFunction(), *costs, reason);
  if (failed(report))
    return failure();
  if (!*report)
    return emitError(getFunction().getLoc(), reason);
  return std::move(**report);
}

LogicalResult LoneFunction::runPasses(StringRef pipeline, int64_t &timeNs) {
  PassManager manager(module->getContext(), ModuleOp::getOperationName());
  manager.enableVerifier(false);
  if (failed(parsePassPipeline(pipeline, manager)))
    return failure();
  LogicalResult result = failure();
  timeNs = takeSample([&] { result = manager.run(*module); }).timeNs;
  return result;
}
