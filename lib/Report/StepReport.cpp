//===- StepReport.cpp - Reports on simulated steps ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/Report/StepReport.h"
#include "CommSched/Analysis/Bounds/LeastProblem.h"
#include "CommSched/Analysis/Costs/CostAnalysis.h"
#include "CommSched/Analysis/OperationTexts.h"
#include "CommSched/Analysis/Problem/BlockProblem.h"
#include "CommSched/Dialect/CommSchedAttributes.h"
#include "CommSched/Report/TextTable.h"
#include "CommSched/Schedule/Bounds/LowerBounds.h"
#include "CommSched/Schedule/Model/ProblemTransforms.h"
#include "ReportParts.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringExtras.h"

#include <cmath>
#include <utility>

using namespace mlir;
using namespace mlir::commsched;
using namespace mlir::commsched::schedule;
namespace json = llvm::json;

int64_t StepReport::countRuns(bool areTransfers) const {
  int64_t count = 0;
  for (const CollectiveReport &collective : collectives)
    if (collective.isTransfer == areTransfers)
      count = saturatingAdd(count, collective.iterations);
  return count;
}

int64_t StepReport::countHidden(bool areTransfers) const {
  int64_t count = 0;
  for (const CollectiveReport &collective : collectives)
    if (collective.isTransfer == areTransfers && collective.exposedNs == 0)
      count = saturatingAdd(count, collective.iterations);
  return count;
}

int64_t StepReport::getTotalBytes() const {
  return saturatingAdd(reserved ? reserved->reservedBytes : peakMemoryBytes,
                       otherBytes);
}

std::vector<const CollectiveReport *> StepReport::getMostExposed() const {
  std::vector<const CollectiveReport *> exposed;
  for (const CollectiveReport &collective : collectives)
    if (collective.exposedNs > 0)
      exposed.push_back(&collective);
  auto middle =
      exposed.begin() + std::min(exposed.size(), size_t(maxMostExposed));
  std::partial_sort(exposed.begin(), middle, exposed.end(),
                    [](const CollectiveReport *a, const CollectiveReport *b) {
                      // Of one vector, so that addresses are its order.
                      return a->exposedNs != b->exposedNs
                                 ? a->exposedNs > b->exposedNs
                                 : a < b;
                    });
  exposed.erase(middle, exposed.end());
  return exposed;
}

/// Fills in the bounds of `function`, with `block` as its only one. The plain
/// bound is that of the orders in which the collectives of a stream do not
/// change places.
static LogicalResult addBounds(StepReport &report, FunctionOpInterface function,
                               const BlockProblem &block,
                               OperationCosts &costs) {
  FailureOr<Problem> least =
      makeLeastProblem(function.getFunctionBody().front(), costs);
  FailureOr<int64_t> mergingBoundNs = computeMergingBoundNs(block, costs);
  if (failed(least) || failed(mergingBoundNs))
    return failure();
  auto explain = [&](StringRef problem) {
    return emitError(function.getLoc(), "cannot be simulated: ") << problem;
  };
  Result<TightLowerBound> tight = computeTightLowerBound(*least);
  if (!tight)
    return explain(tight.error());
  report.tightLowerBoundNs = tight->ns;
  // What holds with any merging holds without.
  report.mergingLowerBoundNs = std::min(*mergingBoundNs, tight->ns);
  addCollectiveOrder(*least, schedule::CollectiveOrderScope::Stream);
  least->finalize();
  Result<LowerBound> plain = computeLowerBound(*least);
  if (!plain)
    return explain(plain.error());
  report.lowerBoundNs = plain->ns();
  return success();
}

/// Simulates the body of `function` in program order. `block` is the problem of
/// its only block, with StreamOrder::Free.
static FailureOr<StepReport> reportStep(FunctionOpInterface function,
                                        const BlockProblem &block,
                                        OperationCosts &costs,
                                        const SimulationOptions &options) {
  const Problem &problem = block.getProblem();
  ScanningSymbolTables symbolTables;
  FailureOr<GroupContention> groups =
      computeContention(block, costs.getTarget(), symbolTables);
  if (failed(groups))
    return failure();
  FailureOr<SimulatedProgram> simulated = simulateProgram(
      function.getLoc(), problem, groups->contention, options.allocator);
  if (failed(simulated))
    return failure();
  StepReport report;
  if (options.withBounds && failed(addBounds(report, function, block, costs)))
    return failure();
  report.function = makePrintable(function.getName());
  report.numOps = problem.numNodes();
  report.overBudgetBytes = getOverBudgetBytes(function).value_or(0);
  report.evidence = CostEvidence(costs, block);
  report.unknownGroups = std::move(groups->unknownGroups);
  OperationReporter reporter(report, function, costs);
  if (failed(reporter.addBlock(block, simulated->timeline, groups->contention)))
    return failure();
  reporter.countCalls();
  ReportNames names(block);
  addSimulated(
      report, problem, *simulated,
      [&](BufferId id) -> NamedBuffer { return {names, id}; },
      options.withBuffers);
  addTimes(report);
  if (report.peakPosition >= 0)
    report.peakOperation = names.getOperationName(report.peakPosition);
  return report;
}

FailureOr<std::optional<StepReport>>
mlir::commsched::simulateFunction(FunctionOpInterface function,
                                  OperationCosts &costs, std::string &reason,
                                  const SimulationOptions &options) {
  using Outcome = std::optional<StepReport>;
  auto decline = [&](std::string text) {
    reason = std::move(text);
    return Outcome();
  };
  Region &body = function.getFunctionBody();
  if (!llvm::hasSingleElement(body))
    return decline("its body has several blocks");
  OperationCosts::RegionMemo memo;
  costs.setMemo(&memo);
  llvm::scope_exit forget([&] { costs.setMemo(nullptr); });
  FailureOr<BlockProblem> block = priceBlock(body.front(), costs);
  if (failed(block))
    return failure();
  if (std::optional<BlockObstacle> obstacle = getObstacle(*block))
    return decline(std::move(obstacle->reason));
  FailureOr<StepReport> report = reportStep(function, *block, costs, options);
  if (failed(report))
    return failure();
  if (function->getContext()->getRemarkEngine())
    report->assumptions = listAssumptions(*block, costs);
  return Outcome(std::move(*report));
}

//===----------------------------------------------------------------------===//
// What times rest on
//===----------------------------------------------------------------------===//

CostEvidence::CostEvidence(const OperationCosts &costs,
                           const BlockProblem &block)
    : CostEvidence(costs) {
  price = block.getPrice();
  numUnsized = block.getUnsized().size();
}

CostEvidence::CostEvidence(const OperationCosts &costs) {
  const cost::Target &used = costs.getTarget();
  target = used.name;
  if (std::optional<cost::Target> preset = cost::getTargetPreset(target))
    for (const cost::TargetField &field : cost::targetFields())
      if (used.*field.member != (*preset).*field.member)
        changes.emplace_back(field.key, used.*field.member);
  if (const std::optional<std::string> &path = costs.getProfilePath())
    profile = makePrintable(*path);
}

StringRef CostEvidence::getSource() const {
  if (isPinned())
    return "pinned";
  return profile ? "profile" : "model";
}

double CostEvidence::getMeasuredPercent() const {
  if (price.timeNs == 0)
    return 0;
  double share =
      static_cast<double>(price.measuredNs) / static_cast<double>(price.timeNs);
  return std::round(1000 * share) / 10;
}

/// "h100", or "h100 with memory_gb_s=4000"; of many changes only their number.
static std::string describeTarget(const CostEvidence &evidence) {
  constexpr size_t mostNamed = 2;
  std::string text = evidence.target;
  if (evidence.changes.empty())
    return text;
  text += " with ";
  if (evidence.changes.size() > mostNamed)
    return text + std::to_string(evidence.changes.size()) + " fields changed";
  llvm::raw_string_ostream os(text);
  llvm::interleaveComma(evidence.changes, os, [&](const auto &change) {
    os << change.first << "=" << llvm::format("%g", change.second);
  });
  return text;
}

std::string CostEvidence::describeCosts() const {
  if (isPinned())
    return "costs pinned in the program (commsched.runtime_ns)";
  std::string text = "target " + describeTarget(*this) + "; costs: ";
  text += profile ? "profile " + *profile : "model";
  std::string all = " of " + std::to_string(price.numOps) + " operations";
  std::string counts;
  auto count = [&](int64_t number, const std::string &what) {
    counts += (counts.empty() ? " (" : "; ") + std::to_string(number) +
              std::exchange(all, "") + " " + what;
  };
  if (profile)
    count(price.numMeasured, "measured, " +
                                 formatShare(price.measuredNs, price.timeNs) +
                                 " of the time");
  if (price.numPinned > 0)
    count(price.numPinned, "pinned");
  if (price.numAssumed > 0)
    count(price.numAssumed, "assumed");
  return counts.empty() ? text : text + counts + ")";
}

std::string CostEvidence::describe() const {
  std::string text = "simulated: " + describeCosts();
  if (numUnsized > 0)
    text += "; memory: without " + std::to_string(numUnsized) +
            (numUnsized == 1 ? " value" : " values") + " of unknown size";
  if (isOfAllDevices)
    text += "; it calls the program of one device, but its own sizes are those "
            "of all devices";
  return text;
}

void CostEvidence::add(const CostEvidence &other) {
  price.add(other.price);
  numUnsized += other.numUnsized;
}

void CostEvidence::print(json::OStream &stream) const {
  stream.attribute("target", target);
  if (!changes.empty())
    stream.attributeObject("target_changes", [&] {
      for (const auto &[key, value] : changes)
        stream.attribute(key, value);
    });
  stream.attributeObject("costs", [&] {
    stream.attribute("source", getSource());
    if (profile)
      stream.attribute("profile", *profile);
    stream.attribute("ops", price.numOps);
    stream.attribute("measured_ops", price.numMeasured);
    stream.attribute("pinned_ops", price.numPinned);
    stream.attribute("assumed_ops", price.numAssumed);
    stream.attribute("measured_percent", getMeasuredPercent());
  });
  stream.attribute("unsized_values", numUnsized);
  stream.attribute("evidence", describe());
}
