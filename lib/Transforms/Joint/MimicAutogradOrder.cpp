//===- MimicAutogradOrder.cpp - Order of an autograd engine ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "../PassSupport.h"
#include "CommSched/Dialect/CommSchedAttributes.h"
#include "CommSched/Schedule/Inductor/AutogradOrder.h"
#include "CommSched/Schedule/Model/MemoryTimeline.h"
#include "CommSched/Transforms/Passes.h"
#include "SplitFunction.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace mlir::commsched {
#define GEN_PASS_DEF_MIMICAUTOGRADORDER
#include "CommSched/Transforms/Passes.h.inc"
} // namespace mlir::commsched

using namespace mlir;
using namespace mlir::commsched;
using namespace mlir::commsched::schedule;

/// The first operation of `block`, its terminator aside, that uses a tangent,
/// itself or in a region; null if there is none.
static Operation *findFirstBackward(Block &block) {
  Operation *first = nullptr;
  for (BlockArgument argument : block.getArguments()) {
    if (getRole(argument) != tangentRole)
      continue;
    for (Operation *user : argument.getUsers()) {
      Operation *op = block.findAncestorOpInBlock(*user);
      if (op != block.getTerminator() && (!first || op->isBeforeInBlock(first)))
        first = op;
    }
  }
  return first;
}

/// Whether `op` may write memory. What collectives write in place are buffers
/// that are made for them.
static bool writesMemory(Operation *op) {
  if (isa<CollectiveOpInterface, WaitOpInterface>(op))
    return false;
  std::optional<SmallVector<MemoryEffects::EffectInstance>> effects =
      getEffectsRecursively(op);
  return !effects ||
         llvm::any_of(*effects, [](const MemoryEffects::EffectInstance &it) {
           return isa<MemoryEffects::Write, MemoryEffects::Free>(
                      it.getEffect()) &&
                  it.getResource() != CommunicationResource::get() &&
                  it.getResource() != RandomStateResource::get();
         });
}

/// How many operations in front of `firstBackward` come behind it in `order`.
static int64_t countMoved(const Order &order, NodeId firstBackward) {
  return llvm::count_if(
      llvm::make_range(llvm::find(order, firstBackward), order.end()),
      [&](NodeId node) { return node < firstBackward; });
}

static void remarkMoves(func::FuncOp function, Operation *firstBackward,
                        const BlockProblem &block, const Order &order,
                        int64_t numMoved, NodeId numInFront) {
  const Problem &problem = block.getProblem();
  auto remark =
      remark::passed(firstBackward->getLoc(),
                     makeRemark("BlockReordered", function.getSymName()));
  remark << (Twine(numMoved) + " of " + Twine(numInFront) +
             " operations in front of the backward moved to where they are "
             "needed")
                .str()
         << remark::metric("Moved", numMoved);
  if (!block.getUnsized().empty())
    return;
  // Both accept every problem without error.
  auto before = simulateMemory(problem, problem.programOrder());
  auto after = simulateMemory(problem, order);
  remark << remark::metric("PeakBytesBefore", before->peakBytes)
         << remark::metric("PeakBytesAfter", after->peakBytes);
}

FailureOr<bool> mlir::commsched::applyAutogradOrder(func::FuncOp function,
                                                    bool emitRemarks) {
  auto keep = [&](Location location, const Twine &reason) {
    if (emitRemarks)
      remarkBlockKept(function, location, reason);
    return false;
  };
  if (function.isExternal())
    return false;
  if (!llvm::hasSingleElement(function.getBody()))
    return keep(function.getLoc(), "the body has several blocks");
  Block &body = function.getBody().front();
  Operation *firstBackward = findFirstBackward(body);
  if (!firstBackward)
    return keep(function.getLoc(), "no operation uses a tangent");
  if (function->hasAttr(numForwardOutputsAttrName))
    return keep(function.getLoc(), "the function holds a forward, too: '" +
                                       numForwardOutputsAttrName +
                                       "' counts its results");

  FailureOr<BlockProblem> block = BlockProblem::create(body, StreamOrder::Free);
  if (failed(block))
    return failure();
  if (Operation *half = block->getHalfOfPair())
    return keep(half->getLoc(), getObstacle(*block)->reason);
  NodeId numInFront = 0;
  std::vector<NodeId> keptInFront;
  for (; block->getOperation(numInFront) != firstBackward; ++numInFront)
    if (writesMemory(block->getOperation(numInFront)))
      keptInFront.push_back(numInFront);
  Result<Order> order =
      mimicAutogradOrder(block->getProblem(), numInFront, keptInFront);
  if (!order)
    return emitError(function.getLoc(), "no order was found: ")
           << order.error();
  int64_t numMoved = countMoved(*order, numInFront);
  if (numMoved == 0)
    return keep(firstBackward->getLoc(),
                "nothing in front of the backward can wait");
  if (emitRemarks && areRemarksEnabled(function))
    remarkMoves(function, firstBackward, *block, *order, numMoved, numInFront);
  return block->apply(*order);
}

namespace {

struct MimicAutogradOrder
    : RewritingPass<
          mlir::commsched::impl::MimicAutogradOrderBase<MimicAutogradOrder>> {
  FailureOr<bool> rewrite() override {
    return applyAutogradOrder(getOperation());
  }
};

} // namespace
