//===- CostAnalysis.cpp - Costs of operations as an analysis --------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Analysis/Costs/CostAnalysis.h"
#include "CommSched/Analysis/Costs/TargetSpec.h"
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

CostAnalysis::CostAnalysis(Operation *op)
    : CostAnalysis(op, /*profile=*/nullptr) {}

CostAnalysis::CostAnalysis(Operation *op, const cost::MeasuredTable *profile,
                           StringRef defaultPreset)
    : symbolTables(op) {
  FailureOr<cost::Target> target = getTarget(op, defaultPreset);
  if (failed(target))
    return;
  if (profile)
    profile->applyTo(*target);
  costs.emplace(*target, profile, symbolTables);
  if (isa<ModuleOp>(op))
    costs->priceCallees();
  if (failed(checkImplementations(op, *costs)))
    costs.reset();
}

llvm::Expected<std::shared_ptr<const cost::MeasuredTable>>
mlir::commsched::loadProfile(StringRef path, StringRef user) {
  if (path.empty())
    return nullptr;
  llvm::Expected<cost::MeasuredTable> loaded = cost::MeasuredTable::load(path);
  if (!loaded)
    return llvm::createStringError(
        "option 'profile' of " + user +
        " cannot be used: " + llvm::toString(loaded.takeError()));
  return std::make_shared<const cost::MeasuredTable>(std::move(*loaded));
}

std::optional<std::string> mlir::commsched::readProfileOption(
    const Pass &pass, StringRef path,
    std::shared_ptr<const cost::MeasuredTable> &profile) {
  llvm::Expected<std::shared_ptr<const cost::MeasuredTable>> loaded =
      loadProfile(path, ("pass '" + pass.getArgument() + "'").str());
  if (!loaded)
    return llvm::toString(loaded.takeError());
  profile = std::move(*loaded);
  return std::nullopt;
}
