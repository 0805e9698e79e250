//===- MarkedRegions.cpp - What is to be compiled by itself ---------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MarkedRegions.h"

#include "../Remarks.h"
#include "CommSched/Dialect/CommSchedAttributes.h"
#include "mlir/IR/RegionKindInterface.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace mlir::commsched;

/// Whether `op` allocates memory that goes when the function around it returns.
static bool allocatesOnStack(Operation *op) {
  WalkResult walked = op->walk<WalkOrder::PreOrder>([](Operation *nested) {
    if (nested->hasTrait<OpTrait::AutomaticAllocationScope>())
      return WalkResult::skip();
    auto interface = dyn_cast<MemoryEffectOpInterface>(nested);
    if (!interface)
      return WalkResult::advance();
    SmallVector<MemoryEffects::EffectInstance> effects;
    interface.getEffectsOnResource(
        SideEffects::AutomaticAllocationScopeResource::get(), effects);
    return effects.empty() ? WalkResult::advance() : WalkResult::interrupt();
  });
  return walked.wasInterrupted();
}

/// Why `op` cannot become part of another function; empty if it can.
static StringRef findObstacle(Operation *op) {
  auto function = op->getParentOfType<func::FuncOp>();
  if (!function)
    return "it is in no function";
  if (SymbolTable::getNearestSymbolTable(op->getParentOp()) !=
      function->getParentOp())
    return "it does not see the symbols that its function sees";
  if (op->hasTrait<OpTrait::IsTerminator>())
    return "it ends its block";
  if (isa<SymbolOpInterface>(op))
    return "it defines a symbol";
  if (!mayHaveSSADominance(*op->getParentRegion()))
    return "its region has no order of execution";
  if (allocatesOnStack(op))
    return "what it allocates goes when its function returns";
  return {};
}

static void remarkLeft(Operation *op, StringRef reason) {
  if (!areRemarksEnabled(op))
    return;
  auto function = op->getParentOfType<func::FuncOp>();
  remark::missed(op->getLoc(),
                 makeRemark("MarkedOperationLeft",
                            function ? function.getSymName() : StringRef()))
      << (describe(op) + " is not outlined: " + reason).str();
}

//===----------------------------------------------------------------------===//
// Marks
//===----------------------------------------------------------------------===//

namespace {

class MarkCollector {
public:
  LogicalResult visit(Operation *op, bool isInsideMarked);
  Marks take() { return std::move(marks); }

private:
  FailureOr<int32_t> findRegion(Operation *op, DictionaryAttr mark);

  Marks marks;
  /// By name.
  llvm::StringMap<int32_t> regionOf;
};

} // namespace

FailureOr<int32_t> MarkCollector::findRegion(Operation *op,
                                             DictionaryAttr mark) {
  auto pipeline = mark.getAs<StringAttr>("pipeline");
  auto name = mark.getAs<StringAttr>("region");
  MarkedRegion region = {name ? name.getValue() : StringRef(),
                         pipeline.getValue(), op};
  auto [it, isNew] = regionOf.try_emplace(
      region.name, static_cast<int32_t>(marks.regions.size()));
  if (isNew) {
    marks.regions.push_back(region);
    return it->second;
  }
  const MarkedRegion &known = marks.regions[it->second];
  if (known.pipeline == region.pipeline)
    return it->second;
  InFlightDiagnostic diag = op->emitOpError("compiles ");
  if (region.name.empty())
    diag << "the region without a name";
  else
    diag << "the region '" << region.name << "'";
  diag << " with '" << region.pipeline << "', but '" << known.first->getName()
       << "' compiles it with '" << known.pipeline << "'";
  diag.attachNote(known.first->getLoc()) << "the other operation is here";
  return diag;
}

LogicalResult MarkCollector::visit(Operation *op, bool isInsideMarked) {
  if (auto function = dyn_cast<func::FuncOp>(op))
    if (function.isDeclaration() ||
        function.getSymName().starts_with(regionFunctionPrefix))
      return success();
  if (auto mark = op->getAttrOfType<DictionaryAttr>(compileWithAttrName)) {
    FailureOr<int32_t> region = findRegion(op, mark);
    if (failed(region))
      return failure();
    StringRef obstacle = isInsideMarked ? StringRef() : findObstacle(op);
    if (!obstacle.empty()) {
      remarkLeft(op, obstacle);
    } else if (!isInsideMarked) {
      marks.blocks[op->getBlock()].push_back({op, *region});
      isInsideMarked = true;
    }
  }
  for (Region &region : op->getRegions())
    for (Operation &nested : region.getOps())
      if (failed(visit(&nested, isInsideMarked)))
        return failure();
  return success();
}

FailureOr<Marks> mlir::commsched::collectMarks(ModuleOp module) {
  MarkCollector collector;
  if (failed(collector.visit(module, /*isInsideMarked=*/false)))
    return failure();
  return collector.take();
}
