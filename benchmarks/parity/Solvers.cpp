//===- Solvers.cpp - CommSched's solvers without their passes -------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Solvers.h"
#include "CommSched/Schedule/Inductor/ListScheduler.h"
#include "CommSched/Schedule/Inductor/PeakMemoryOrders.h"
#include "CommSched/Schedule/Model/MemoryTimeline.h"
#include "CommSched/Schedule/Model/ProblemTransforms.h"
#include "MoveCollectives.h"

using namespace mlir;
using namespace mlir::commsched;
using schedule::BufferId;
using schedule::Dependence;
using schedule::DependenceKind;
using schedule::IterativeReordering;
using schedule::IterativeReorderingOptions;
using schedule::ListScheduler;
using schedule::ListSchedulerOptions;
using schedule::MemoryTimeline;
using schedule::NodeId;
using schedule::noNode;
using schedule::Order;
using schedule::Problem;

static void addUsesAsDependences(Problem &problem) {
  std::vector<Dependence> missing;
  for (BufferId id = 0; id < problem.numBuffers(); ++id) {
    NodeId producer = problem.buffer(id).producer;
    if (producer == noNode)
      continue;
    for (NodeId user : problem.users(id))
      if (user != producer)
        missing.push_back({producer, user, DependenceKind::Data});
  }
  for (const Dependence &dependence : missing)
    problem.addDependence(dependence.from, dependence.to, dependence.kind);
}

Problem mlir::commsched::completeFor(Solver solver, Problem problem) {
  switch (solver) {
  case Solver::ReorderComms:
  case Solver::SinkWaitsIteratively:
    return problem;
  case Solver::LeastPeakMemoryFirst:
  case Solver::BreadthFirst:
  case Solver::DepthFirst:
    addUsesAsDependences(problem);
    break;
  case Solver::RaiseComms:
  case Solver::SinkWaits:
  case Solver::ReorderForOverlap:
    break;
  }
  addCollectiveOrder(problem, schedule::CollectiveOrderScope::Global);
  problem.finalize();
  return problem;
}

static Result<Order> solveWithin(IterativeSolver::Function *solver,
                                 const Problem &problem,
                                 func::FuncOp function) {
  Result<MemoryTimeline> before =
      simulateMemory(problem, problem.programOrder());
  if (!before)
    return Error{before.error()};
  MemoryBudget budget;
  budget.fraction = 0.2;
  budget.model = MemoryModel::Reference;
  IterativeReorderingOptions options;
  options.limitBytes = getLimitBytes(function, function.front(), problem,
                                     before->peakBytes, budget);
  options.maxGroupSize = std::numeric_limits<int32_t>::max();
  Result<IterativeReordering> result = solver(problem, options);
  if (!result)
    return Error{result.error()};
  return std::move(result->order);
}

Result<Order> mlir::commsched::solve(Solver solver, const Problem &problem,
                                     func::FuncOp function) {
  ListSchedulerOptions list;
  switch (solver) {
  case Solver::RaiseComms:
    list.raiseComms = true;
    return ListScheduler(list).run(problem);
  case Solver::SinkWaits:
    list.sinkWaits = true;
    return ListScheduler(list).run(problem);
  case Solver::ReorderForOverlap:
    list.raiseComms = list.sinkWaits = list.reorderForOverlap = true;
    return ListScheduler(list).run(problem);
  case Solver::ReorderComms:
    return solveWithin(schedule::reorderComms, problem, function);
  case Solver::SinkWaitsIteratively:
    return solveWithin(schedule::sinkWaitsIteratively, problem, function);
  case Solver::LeastPeakMemoryFirst:
    return schedule::sortLeastPeakMemoryFirst(problem);
  case Solver::BreadthFirst:
    return schedule::sortBreadthFirst(problem);
  case Solver::DepthFirst:
    return schedule::sortDepthFirst(problem);
  }
  llvm_unreachable("not a solver");
}
