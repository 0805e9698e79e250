//===- HostCopies.cpp - Checks of values saved on the host ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "../Problem/Dependences.h"
#include "CommSched/Analysis/Joint/JointFunction.h"
#include "CommSched/Dialect/CommSchedAttributes.h"
#include "CommSched/Dialect/CommSchedDialect.h"

using namespace mlir;
using namespace mlir::commsched;

LogicalResult
mlir::commsched::verifyOffloadedUnchanged(Block &block,
                                          const StorageAnalysis &storages) {
  if (block.getOps<OffloadOp>().empty())
    return success();
  ArrayRef<Storage> all = storages.getStorages();
  // By object: the first offload of it.
  SmallVector<OpOperand *> copied(all.size(), nullptr);
  MemoryAccesses accesses(storages);
  for (auto [index, op] : llvm::enumerate(getScheduledOperations(block))) {
    OpOperand *changed = nullptr;
    accesses.visit(
        &op, static_cast<int32_t>(index), [&](const MemoryAccess &access) {
          if (access.isWrite && access.object != StorageAnalysis::none &&
              copied[access.object])
            changed = copied[access.object];
        });
    if (changed)
      return emitOpErrorWithNote(changed->getOwner(), op.getLoc(),
                                 "this '" + op.getName().getStringRef() +
                                     "' writes it")
             << "copies operand " << changed->getOperandNumber()
             << " to the host, but its storage is written later, so the copy "
                "differs from the value";
    if (!isa<OffloadOp>(op))
      continue;
    for (OpOperand &operand : op.getOpOperands()) {
      int32_t storage = storages.getStorage(operand.get());
      if (storage == StorageAnalysis::none || all[storage].isMemory)
        continue;
      OpOperand *&first = copied[all[storage].object];
      first = first ? first : &operand;
    }
  }
  return success();
}

LogicalResult mlir::commsched::verifyOffloadedPolicies(Block &block) {
  for (auto offload : block.getOps<OffloadOp>())
    for (OpOperand &operand : offload->getOpOperands()) {
      Operation *definition = operand.get().getDefiningOp();
      auto policy =
          definition ? definition->getAttrOfType<StringAttr>(recomputeAttrName)
                     : StringAttr();
      if (!policy || policy.getValue() != "must_recompute")
        continue;
      return emitOpErrorWithNote(
                 offload, definition->getLoc(),
                 "this '" + definition->getName().getStringRef() +
                     "' is tagged \"" + policy.getValue() + "\"")
             << "saves operand " << operand.getOperandNumber()
             << " on the host, but it has to be computed again";
    }
  return success();
}
