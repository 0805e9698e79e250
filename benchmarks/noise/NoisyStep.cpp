//===- NoisyStep.cpp - A scheduled step under noise -----------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NoisyStep.h"

#include "CommSched/Analysis/Costs/Assumptions.h"
#include "CommSched/Analysis/Costs/CostAnalysis.h"
#include "CommSched/Analysis/Problem/BlockProblem.h"
#include "CommSched/Dialect/CommSchedAttributes.h"
#include "CommSched/Schedule/Model/MemoryTimeline.h"
#include "CommSched/Schedule/Model/Simulator.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace mlir::commsched;
using schedule::NodeId;
using schedule::NodeKind;
using schedule::Problem;

static bool hasOneBlock(FunctionOpInterface function) {
  return !function.isExternal() && function.getFunctionBody().hasOneBlock();
}

void mlir::commsched::nameOperations(ModuleOp module) {
  OpBuilder builder(module.getContext());
  int64_t index = 0;
  for (auto function : module.getOps<FunctionOpInterface>())
    function.walk([&](Operation *op) {
      ++index;
      if (op == function || !getStableName(op).empty() ||
          op->hasTrait<OpTrait::IsTerminator>())
        return;
      std::string name =
          (op->getName().getStringRef() + "#" + Twine(index)).str();
      op->setDiscardableAttr(nameAttrName, builder.getStringAttr(name));
    });
}

static FailureOr<BlockProblem> createProblem(FunctionOpInterface function) {
  CostAnalysis analysis(function);
  OperationCosts *costs = analysis.getCosts();
  if (!costs)
    return failure();
  FailureOr<BlockProblem> problem =
      BlockProblem::create(function.getFunctionBody().front(),
                           [&](Operation *op) { return costs->price(op); });
  if (failed(problem))
    return failure();
  if (failed(refuseAssumptions(*problem, *costs)))
    return failure();
  return problem;
}

FailureOr<NamedCosts> NoisyStep::readCosts(ModuleOp module) {
  NamedCosts costs;
  for (auto function : module.getOps<FunctionOpInterface>()) {
    if (!hasOneBlock(function))
      continue;
    FailureOr<BlockProblem> block = createProblem(function);
    if (failed(block))
      return failure();
    const Problem &problem = block->getProblem();
    for (NodeId node = 0; node < problem.numNodes(); ++node)
      costs.try_emplace(getStableName(block->getOperation(node)),
                        problem.costNs(node));
  }
  return costs;
}

FailureOr<NoisyStep> NoisyStep::create(ModuleOp module,
                                       const NamedCosts &input) {
  NoisyStep step;
  llvm::StringMap<int64_t> numNameless;
  for (auto function : module.getOps<FunctionOpInterface>()) {
    if (!hasOneBlock(function))
      continue;
    FailureOr<BlockProblem> block = createProblem(function);
    if (failed(block))
      return failure();
    Function &read = step.functions.emplace_back();
    read.problem = block->getProblem();
    for (NodeId node = 0; node < read.problem.numNodes(); ++node) {
      Operation *op = block->getOperation(node);
      step.numCollectives += read.problem.isCollective(node);
      std::string name = getStableName(op).str();
      if (name.empty()) {
        StringRef kind = op->getName().getStringRef();
        name = (kind + "#new" + Twine(numNameless[kind]++)).str();
      }
      read.noise.push_back(findNoiseSource(name, input));
    }
    auto order = read.problem.programOrder();
    step.nominalNs += schedule::simulate(read.problem, order)->stepNs;
    step.peakBytes =
        std::max(step.peakBytes,
                 schedule::simulateMemory(read.problem, order)->peakBytes);
  }
  return step;
}

int64_t NoisyStep::simulate(uint32_t draw) const {
  int64_t stepNs = 0;
  for (const Function &function : functions) {
    const Problem &problem = function.problem;
    // The order stays, so no dependence but that of waits matters.
    Problem noisy;
    noisy.reserve(problem.numNodes(), problem.numNodes());
    for (NodeId node = 0; node < problem.numNodes(); ++node) {
      if (problem.kind(node) == NodeKind::Wait) {
        noisy.addWait(problem.startOf(node));
        continue;
      }
      int64_t costNs = function.noise[node].apply(problem.costNs(node), draw);
      noisy.addNode(problem.kind(node), costNs, problem.stream(node));
    }
    noisy.finalize();
    stepNs += schedule::simulate(noisy, noisy.programOrder())->stepNs;
  }
  return stepNs;
}
