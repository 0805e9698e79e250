//===- StepReport.cpp - What a schedule costs -----------------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Analysis/StepReport.h"
#include "CommSched/Dialect/CommSchedAttributes.h"
#include "CommSched/Dialect/CommSchedDialect.h"
#include "CommSched/Schedule/LowerBound.h"
#include "CommSched/Schedule/MemoryTimeline.h"
#include "CommSched/Schedule/Simulator.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MathExtras.h"
#include <limits>
#include <numeric>

using namespace mlir;
using namespace mlir::commsched;
using ::commsched::LowerBound;
using ::commsched::MemoryTimeline;
using ::commsched::NodeId;
using ::commsched::NodeKind;
using ::commsched::Order;
using ::commsched::Problem;
using ::commsched::Result;
using ::commsched::Timeline;

int64_t StepReport::countHidden() const {
  return llvm::count_if(collectives, [](const CollectiveReport &collective) {
    return collective.exposedNs == 0;
  });
}

/// A name as the report may show it: MLIR allows any bytes in a string.
static std::string makePrintable(StringRef name) {
  return llvm::json::isUTF8(name) ? name.str() : llvm::json::fixUTF8(name);
}

static std::string getGroupName(Attribute key) {
  if (auto symbol = dyn_cast<SymbolRefAttr>(key))
    return makePrintable(symbol.getLeafReference());
  if (auto name = dyn_cast<StringAttr>(key))
    return makePrintable(name.getValue());
  std::string text;
  llvm::raw_string_ostream(text) << key;
  return makePrintable(text);
}

/// The name of an operation that has no `commsched.name`.
static std::string getComputeName(Operation *op) {
  if (StringRef name = getStableName(op); !name.empty())
    return makePrintable(name);
  if (auto compute = dyn_cast<ComputeOp>(op))
    return makePrintable(compute.getCallee());
  return op->getName().getStringRef().str();
}

static CollectiveReport reportCollective(CollectiveOpInterface op, size_t index,
                                         const Problem &problem, NodeId node,
                                         const Timeline &timeline) {
  CollectiveReport report;
  report.kind = ::commsched::stringifyCollectiveKind(op.getCollectiveKind());
  StringRef name = getStableName(op);
  report.name = name.empty() ? (report.kind + "_" + Twine(index)).str()
                             : makePrintable(name);
  report.group = getGroupName(op.getGroupKey());
  report.bytes = std::max(op.getOperandBytes().value_or(0),
                          op.getResultBytes().value_or(0));
  report.startNs = timeline.beginNs[node];
  report.endNs = timeline.endNs[node];
  report.exposedNs = timeline.exposedNs[node];
  NodeId wait = problem.waitOf(node);
  report.waitNs = wait == ::commsched::noNode ? report.endNs - report.exposedNs
                                              : timeline.beginNs[wait];
  return report;
}

/// Fills in what the simulated `timeline` says about each operation.
static void addOperations(StepReport &report, const BlockProblem &block,
                          const Timeline &timeline) {
  const Problem &problem = block.getProblem();
  for (NodeId node = 0; node < problem.numNodes(); ++node) {
    Operation *op = block.getOperation(node);
    if (problem.isCollective(node)) {
      report.collectives.push_back(
          reportCollective(cast<CollectiveOpInterface>(op),
                           report.collectives.size(), problem, node, timeline));
      if (llvm::AddOverflow(report.commBytes, report.collectives.back().bytes,
                            report.commBytes))
        report.commBytes = std::numeric_limits<int64_t>::max();
    } else if (problem.kind(node) == NodeKind::Compute &&
               timeline.endNs[node] > timeline.beginNs[node]) {
      report.computations.push_back(
          {getComputeName(op), timeline.beginNs[node], timeline.endNs[node]});
    }
  }
}

/// Fills in the live bytes over time. An operation allocates when it issues.
static void addMemory(StepReport &report, const Problem &problem,
                      const Timeline &timeline, const MemoryTimeline &memory) {
  report.peakMemoryBytes = memory.peakBytes;
  report.memory.push_back({0, memory.initialBytes});
  int64_t now = 0;
  auto add = [&](int64_t timeNs, int64_t bytes) {
    if (report.memory.back().bytes == bytes)
      return;
    if (report.memory.back().timeNs == timeNs &&
        report.memory.back().bytes < bytes)
      report.memory.back().bytes = bytes;
    else
      report.memory.push_back({timeNs, bytes});
  };
  for (NodeId node = 0; node < problem.numNodes(); ++node) {
    add(now, memory.allocatedBytes[node]);
    // A start lets the compute stream go on at once.
    if (problem.kind(node) != NodeKind::Start)
      now = timeline.endNs[node];
    add(now, memory.remainingBytes[node]);
  }
}

FailureOr<StepReport> mlir::commsched::reportStep(FunctionOpInterface function,
                                                  const BlockProblem &block) {
  const Problem &problem = block.getProblem();
  Order order(problem.numNodes());
  std::iota(order.begin(), order.end(), NodeId(0));
  Result<Timeline> timeline = simulate(problem, order);
  Result<MemoryTimeline> memory = simulateMemory(problem, order);
  Result<LowerBound> bound = computeLowerBound(problem);
  if (!timeline || !memory || !bound)
    return emitError(function.getLoc(), "cannot be simulated: ")
           << (!timeline ? timeline.error()
               : !memory ? memory.error()
                         : bound.error());

  StepReport report;
  report.function = makePrintable(function.getName());
  report.numOps = problem.numNodes();
  report.stepTimeNs = timeline->stepNs;
  report.computeTimeNs = timeline->computeNs;
  report.commTimeNs = timeline->commNs;
  report.exposedCommNs = timeline->exposedCommNs;
  report.lowerBoundNs = bound->ns();
  addOperations(report, block, *timeline);
  addMemory(report, problem, *timeline, *memory);
  return report;
}
