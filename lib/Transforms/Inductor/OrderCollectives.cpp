//===- OrderCollectives.cpp - Pass that fixes the order of collectives ----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "../PassSupport.h"
#include "CommSched/Analysis/Problem/BlockProblem.h"
#include "CommSched/Dialect/CommSchedAttributes.h"
#include "CommSched/Interfaces/CommSchedInterfaces.h"
#include "CommSched/Transforms/Passes.h"
#include "mlir/IR/Builders.h"

namespace mlir::commsched {
#define GEN_PASS_DEF_ORDERCOLLECTIVES
#include "CommSched/Transforms/Passes.h.inc"
} // namespace mlir::commsched

using namespace mlir;
using namespace mlir::commsched;

/// Checks that the numbers that collectives of a block already have ascend.
/// Returns whether all of them are numbered.
static FailureOr<bool> checkOrder(ArrayRef<CollectiveOpInterface> collectives) {
  bool complete = true;
  Operation *last = nullptr;
  for (Operation *op : collectives) {
    if (!getCollectiveOrder(op)) {
      complete = false;
      continue;
    }
    if (last && failed(verifyCollectiveOrder(last, op)))
      return failure();
    last = op;
  }
  return complete;
}

namespace {

struct OrderCollectives
    : RewritingPass<
          mlir::commsched::impl::OrderCollectivesBase<OrderCollectives>> {
  FailureOr<bool> rewrite() override {
    llvm::MapVector<Block *, SmallVector<CollectiveOpInterface>> blocks;
    getOperation().walk([&](CollectiveOpInterface collective) {
      // Ranks need not agree on the order of transfers to and from the host.
      if (!isHostTransfer(collective.getCollectiveKind()))
        blocks[collective->getBlock()].push_back(collective);
    });
    bool changed = false;
    for (auto &[block, collectives] : blocks) {
      FailureOr<bool> numbered = number(collectives);
      if (failed(numbered))
        return failure();
      changed |= *numbered;
    }
    return changed;
  }

private:
  FailureOr<bool> number(ArrayRef<CollectiveOpInterface> collectives) {
    FailureOr<bool> complete = checkOrder(collectives);
    if (failed(complete))
      return failure();
    if (*complete)
      return false;
    Builder builder(&getContext());
    StringAttr attrName = builder.getStringAttr(orderAttrName);
    for (auto [index, op] : llvm::enumerate(collectives)) {
      op->setDiscardableAttr(attrName, builder.getI64IntegerAttr(index));
      if (areRemarksEnabled(op))
        remark::passed(op->getLoc(), makeRemark("CollectiveOrdered",
                                                getOperation().getSymName()))
            << (describe(op) + ": collective " + Twine(index) + " of its block")
                   .str()
            << remark::metric("Order", index);
    }
    return true;
  }
};

} // namespace
