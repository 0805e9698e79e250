//===- CostAnalysis.cpp - Costs of operations as an analysis --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/Analysis/Costs/CostAnalysis.h"
#include "CommSched/Analysis/Costs/TargetSpec.h"
#include "CommSched/Analysis/OperationTexts.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;
using namespace mlir::commsched;

Operation *ScanningSymbolTables::lookupSymbolIn(Operation *symbolTableOp,
                                                StringAttr symbol) {
  auto [it, inserted] = found.try_emplace({symbolTableOp, symbol});
  if (inserted)
    it->second = SymbolTable::lookupSymbolIn(symbolTableOp, symbol);
  return it->second;
}

Operation *ScanningSymbolTables::lookupSymbolIn(Operation *symbolTableOp,
                                                SymbolRefAttr name) {
  if (auto flat = dyn_cast<FlatSymbolRefAttr>(name))
    return lookupSymbolIn(symbolTableOp, flat.getAttr());
  return SymbolTableCollection::lookupSymbolIn(symbolTableOp, name);
}

Operation *ScanningSymbolTables::lookupNearestSymbolFrom(Operation *from,
                                                         StringAttr symbol) {
  Operation *nearest = getNearestTable(from);
  return nearest ? lookupSymbolIn(nearest, symbol) : nullptr;
}

Operation *ScanningSymbolTables::lookupNearestSymbolFrom(Operation *from,
                                                         SymbolRefAttr name) {
  Operation *nearest = getNearestTable(from);
  return nearest ? lookupSymbolIn(nearest, name) : nullptr;
}

/// Checks that the target lists the implementations that collectives in `root`
/// name, and that these can carry them out.
static LogicalResult checkImplementations(Operation *root,
                                          OperationCosts &costs) {
  const cost::Implementations &known = costs.getTarget().implementations;
  WalkResult result = root->walk([&](CollectiveOpInterface collective) {
    StringAttr name = getImplementation(collective);
    if (!name)
      return WalkResult::advance();
    if (!known.find(name.getValue())) {
      collective.emitOpError("names the implementation '")
          << name.getValue() << "', but the target lists "
          << (known.isListed() ? known.listNames() : "no implementations");
      return WalkResult::interrupt();
    }
    std::optional<cost::CollectiveQuery> query = costs.getQuery(collective);
    std::optional<std::string> obstacle =
        query ? costs.getCollectiveCost().findObstacle(*query) : std::nullopt;
    if (!obstacle)
      return WalkResult::advance();
    collective.emitOpError("cannot be carried out by the implementation '")
        << name.getValue() << "', which " << *obstacle;
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

/// Checks what operations in `root` say of their own time.
static LogicalResult checkKnownTimes(Operation *root) {
  WalkResult result = root->walk([](CostOpInterface op) {
    int64_t knownNs = op.getKnownRuntimeNs().value_or(0);
    if (knownNs >= 0)
      return WalkResult::advance();
    op.emitOpError("says that it takes ")
        << knownNs << " ns, which must not be negative";
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

CostAnalysis::CostAnalysis(Operation *op) : symbolTables(op) {
  FailureOr<std::shared_ptr<const cost::MeasuredTable>> profile =
      getProfile(op);
  if (succeeded(profile))
    read(op, profile->get());
}

CostAnalysis::CostAnalysis(Operation *op, const cost::MeasuredTable &profile)
    : symbolTables(op) {
  read(op, &profile);
}

FailureOr<std::shared_ptr<CostAnalysis>> CostAnalysis::create(Operation *op) {
  auto analysis = std::make_shared<CostAnalysis>(op);
  if (!analysis->getCosts())
    return failure();
  return analysis;
}

void CostAnalysis::read(Operation *op, const cost::MeasuredTable *profile) {
  FailureOr<cost::Target> target = getTarget(op);
  if (failed(target))
    return;
  if (profile)
    profile->applyTo(*target);
  costs.emplace(*target, profile, symbolTables);
  if (failed(checkImplementations(op, *costs)) || failed(checkKnownTimes(op)))
    costs.reset();
}

//===----------------------------------------------------------------------===//
// Assumptions
//===----------------------------------------------------------------------===//

FailureOr<BlockProblem> mlir::commsched::priceBlock(Block &block,
                                                    OperationCosts &costs) {
  return BlockProblem::create(
      block, [&](Operation *op) { return costs.price(op); }, StreamOrder::Free,
      costs.getMemo() ? &costs.getMemo()->scratchBytes : nullptr);
}

Assumption mlir::commsched::assumeTime(Operation *op, OperationCosts &costs) {
  int64_t timeNs = costs.getRuntimeNs(op);
  std::string text = describe(op) + " is assumed to take " +
                     std::to_string(timeNs) +
                     " ns, the least by what is known of it: " +
                     explainUnknownCost(costs, op) +
                     "; commsched.runtime_ns on it gives its time";
  return {op->getLoc(), std::move(text), timeNs};
}

Assumption mlir::commsched::assumeSize(Value value) {
  return {value.getLoc(),
          "live bytes, and what fits a memory budget, are without a value: " +
              explainUnknownSize(value),
          std::nullopt};
}

std::vector<Assumption>
mlir::commsched::listAssumedTimes(const BlockProblem &block,
                                  OperationCosts &costs) {
  std::vector<Assumption> assumptions;
  for (Operation *op : block.getAssumed())
    assumptions.push_back(assumeTime(op, costs));
  return assumptions;
}

std::vector<Assumption>
mlir::commsched::listAssumedSizes(const BlockProblem &block) {
  std::vector<Assumption> assumptions;
  for (Value value : block.getUnsized())
    assumptions.push_back(assumeSize(value));
  return assumptions;
}

std::vector<Assumption>
mlir::commsched::listAssumptions(const BlockProblem &block,
                                 OperationCosts &costs) {
  std::vector<Assumption> assumptions = listAssumedTimes(block, costs);
  llvm::append_range(assumptions, listAssumedSizes(block));
  return assumptions;
}

LogicalResult mlir::commsched::refuseAssumptions(const BlockProblem &block,
                                                 OperationCosts &costs) {
  if (!block.getAssumed().empty()) {
    Operation *op = block.getAssumed().front();
    return emitError(op->getLoc(), "cannot be scheduled without its time: ")
           << describe(op) << ": " << explainUnknownCost(costs, op)
           << "; run commsched-estimate-runtime where sizes are static, or set "
              "commsched.runtime_ns on it";
  }
  if (!block.getUnsized().empty()) {
    Value value = block.getUnsized().front();
    return emitError(value.getLoc(), "cannot be scheduled without its size: ")
           << explainUnknownSize(value);
  }
  return success();
}
