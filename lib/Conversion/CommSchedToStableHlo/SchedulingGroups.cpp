//===- SchedulingGroups.cpp - Scheduling groups of XLA --------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SchedulingGroups.h"
#include "../StableHlo/StableHlo.h"

#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace mlir::commsched;
using namespace mlir::commsched::stablehlo;

static constexpr StringLiteral groupIdName = "_scheduling_group_id";

static DictionaryAttr getFrontendAttributes(Operation *op) {
  return dyn_cast_if_present<DictionaryAttr>(
      op->getDiscardableAttr(frontendAttributesName));
}

static bool isAnnotated(Operation *op) {
  DictionaryAttr attributes = getFrontendAttributes(op);
  return attributes && attributes.contains(groupIdName);
}

static void annotate(Operation *op, int64_t id) {
  NamedAttrList attributes(getFrontendAttributes(op));
  attributes.set(groupIdName,
                 StringAttr::get(op->getContext(), std::to_string(id)));
  op->setDiscardableAttr(frontendAttributesName,
                         attributes.getDictionary(op->getContext()));
}

static bool isStart(Operation *op) {
  return op->getName().getStringRef() == asyncStartName &&
         op->getResult(0).hasOneUse();
}

static void annotateBlock(Block &block, int64_t &id) {
  bool hasStart = false;
  for (Operation &op : block) {
    if (isAnnotated(&op))
      return;
    hasStart |= isStart(&op);
  }
  if (!hasStart)
    return;
  // The starts whose done has not come, in order, and the end of the group.
  SmallVector<Operation *> open;
  size_t firstOpen = 0;
  DenseSet<Operation *> done;
  Operation *end = nullptr;
  for (Operation &op : block) {
    if (isStart(&op))
      open.push_back(&op);
    while (firstOpen < open.size() && done.contains(open[firstOpen]))
      ++firstOpen;
    if (!end && firstOpen < open.size()) {
      end = *open[firstOpen]->getUsers().begin();
      ++id;
    }
    if (!end || isStart(&op))
      continue;
    if (op.getName().getStringRef() == asyncDoneName) {
      Operation *start = op.getOperand(0).getDefiningOp();
      done.insert(start);
      annotate(start, id);
      annotate(&op, id);
    } else if (op.getNumOperands() != 0 &&
               !op.hasTrait<OpTrait::IsTerminator>()) {
      annotate(&op, id);
    }
    if (&op == end)
      end = nullptr;
  }
}

void mlir::commsched::stablehlo::annotateSchedulingGroups(ModuleOp module) {
  int64_t id = 0;
  for (auto function : module.getOps<FunctionOpInterface>())
    if (cast<SymbolOpInterface>(*function).isPublic())
      function.walk([&](Block *block) { annotateBlock(*block, id); });
}
