//===- InvariantGathers.cpp - Gathers that a loop repeats -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "../PassSupport.h"
#include "CommSched/Analysis/Cyclic/LoopProblem.h"
#include "CommSched/Analysis/Problem/CommunicationEffects.h"
#include "CommSched/Dialect/CommSchedAttributes.h"
#include "CommSched/Dialect/CommSchedDialect.h"
#include "LoopPipeliner.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Transforms/LoopInvariantCodeMotionUtils.h"

using namespace mlir;
using namespace mlir::commsched;
using schedule::DependenceKind;

void HoistedGathers::erase() {
  loop.erase();
  for (Operation *op : llvm::reverse(moved))
    op->erase();
}

void HoistedGathers::remark(Location location, StringRef function,
                            std::optional<int64_t> beforeNs,
                            int64_t afterNs) const {
  mlir::remark::passed(location, makeRemark("GathersHoisted", function))
      << ("gathers of what no iteration changes run once, in front of the "
          "loop: " +
          Twine(numGathers) + " in " + Twine(timeNs) + " ns, of which " +
          Twine(bytes) + " bytes stay; the iterations take " + Twine(afterNs) +
          " ns" +
          (beforeNs ? " instead of " + Twine(*beforeNs)
                    : Twine(", and did not fit with them")))
             .str()
      << mlir::remark::metric("Gathers", numGathers)
      << mlir::remark::metric("RunNsAfter", afterNs);
}

FailureOr<DenseSet<Operation *>>
mlir::commsched::findTied(scf::ForOp loop, OperationCosts &costs) {
  DenseSet<Operation *> tied;
  FailureOr<std::optional<LoopProblem>> problem =
      LoopProblem::create(loop, costs, [](Location, StringRef) {});
  if (failed(problem))
    return failure();
  if (!*problem) {
    tied.insert_range(llvm::make_pointer_range(*loop.getBody()));
    return tied;
  }
  auto add = [&](schedule::NodeId from, schedule::NodeId to,
                 DependenceKind kind) {
    if (kind != DependenceKind::Memory && kind != DependenceKind::Barrier)
      return;
    for (schedule::NodeId node : {from, to})
      tied.insert((*problem)->getOperation(node));
  };
  const schedule::CyclicProblem &cyclic = (*problem)->getProblem();
  for (schedule::NodeId node = 0; node < cyclic.body().numNodes(); ++node)
    for (schedule::DependenceEnd end : cyclic.body().predecessors(node))
      add(end.node, node, end.kind);
  for (const schedule::CarriedDependence &carried : cyclic.carriedDependences())
    add(carried.from, carried.to, carried.kind);
  return tied;
}

/// The only wait for the gather that `op` starts, next to it in its block, or
/// null.
static Operation *getWait(Operation *op) {
  auto start = dyn_cast<AllGatherOp>(op);
  if (!start || !start.getInto().empty() || start->hasAttr(orderAttrName) ||
      !start->hasOneUse())
    return nullptr;
  auto wait = dyn_cast<WaitOpInterface>(*start->user_begin());
  return wait && wait->getBlock() == op->getBlock() ? wait.getOperation()
                                                    : nullptr;
}

FailureOr<std::optional<HoistedGathers>>
mlir::commsched::copyWithoutInvariantGathers(scf::ForOp loop,
                                             OperationCosts &costs) {
  using Outcome = std::optional<HoistedGathers>;
  if (llvm::none_of(*loop.getBody(),
                    [](Operation &op) { return getWait(&op); }))
    return Outcome();
  FailureOr<DenseSet<Operation *>> tied = findTied(loop, costs);
  if (failed(tied))
    return failure();
  OpBuilder builder(loop->getContext());
  builder.setInsertionPointAfter(loop);
  HoistedGathers result;
  scf::ForOp copy = result.loop = cast<scf::ForOp>(builder.clone(*loop));
  DenseSet<Operation *> fixed;
  llvm::SetVector<Operation *> wanted;
  for (auto [op, cloned] : llvm::zip_equal(*loop.getBody(), *copy.getBody()))
    if (tied->contains(&op))
      fixed.insert(&cloned);
  BackwardSliceOptions slicing;
  slicing.filter = [&](Operation *op) {
    return op->getBlock() == copy.getBody();
  };
  for (Operation &op : *copy.getBody())
    if (Operation *wait = getWait(&op);
        wait && !fixed.contains(&op) && !fixed.contains(wait)) {
      (void)getBackwardSlice(wait, &wanted, slicing);
      wanted.insert(wait);
    }
  moveLoopInvariantCode(
      &copy.getRegion(),
      [&](Value value, Region *) { return copy.isDefinedOutsideOfLoop(value); },
      [&](Operation *op, Region *) {
        if (!wanted.contains(op) || fixed.contains(op))
          return false;
        if (Operation *wait = getWait(op))
          return !fixed.contains(wait);
        // The loop runs, so that nothing is speculated.
        return isa<WaitOpInterface>(op) ||
               (getCommunicationEffect(op) == CommunicationEffect::None &&
                isMemoryEffectFree(op));
      },
      [&](Operation *op, Region *) { op->moveBefore(copy); });
  auto isUsedInside = [&](Value value) {
    return llvm::any_of(value.getUsers(), [&](Operation *user) {
      return copy->isProperAncestor(user);
    });
  };
  for (Operation *op = loop->getNextNode(); op != copy;
       op = op->getNextNode()) {
    result.moved.push_back(op);
    result.numGathers += isa<AllGatherOp>(op);
    result.timeNs = saturatingAdd(result.timeNs, costs.price(op).timeNs);
    for (Value value : llvm::make_filter_range(op->getResults(), isUsedInside))
      result.bytes = saturatingAdd(result.bytes,
                                   getStaticBytes(value.getType()).value_or(0));
  }
  if (result.numGathers > 0)
    return Outcome(std::move(result));
  result.erase();
  return Outcome();
}
