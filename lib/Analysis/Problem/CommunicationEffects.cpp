//===- CommunicationEffects.cpp - Communication effects of operations -----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/Analysis/Problem/CommunicationEffects.h"
#include "CommSched/Analysis/Problem/CalleeSummary.h"
#include "CommSched/Dialect/CommSchedAttributes.h"
#include "CommSched/Dialect/CommSchedDialect.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/MathExtras.h"
#include <limits>

using namespace mlir;
using namespace mlir::commsched;

/// Whether an effect on `resource` might be communication: only resources that
/// are known to be something else are not.
static bool mayCommunicate(SideEffects::Resource *resource) {
  return resource != SideEffects::DefaultResource::get() &&
         resource != SideEffects::AutomaticAllocationScopeResource::get() &&
         resource != RandomStateResource::get() &&
         resource != HostResource::get();
}

/// What the callee of `op` does, if that is known of the call `op`.
static std::optional<CalleeSummary::Effects> findCalleeEffects(Operation *op) {
  if (!isa<CallOpInterface>(op))
    return std::nullopt;
  if (op->getDiscardableAttr(pureAttrName))
    return CalleeSummary::Effects::None;
  std::optional<CalleeSummary> callee = CalleeSummary::find(op);
  if (!callee || callee->effects == CalleeSummary::Effects::Unknown)
    return std::nullopt;
  return callee->effects;
}

bool mlir::commsched::hasUnknownMemoryEffects(Operation *op) {
  if (findCalleeEffects(op))
    return false;
  if (auto known = dyn_cast<KnownEffectsOpInterface>(op))
    return !known.hasKnownEffects();
  // Views say all that they do by their interface.
  return !isa<MemoryEffectOpInterface, AliasOpInterface, ViewLikeOpInterface>(
             op) &&
         !op->hasTrait<OpTrait::HasRecursiveMemoryEffects>() &&
         !op->hasTrait<OpTrait::IsTerminator>();
}

SmallVector<MemoryEffects::EffectInstance>
mlir::commsched::getStatedEffects(Operation *op) {
  SmallVector<MemoryEffects::EffectInstance> effects;
  if (auto interface = dyn_cast<MemoryEffectOpInterface>(op))
    interface.getEffects(effects);
  return effects;
}

/// Whether `op` itself, apart from its regions, communicates or might.
static bool isUnknown(Operation *op) {
  if (hasUnknownMemoryEffects(op) ||
      findCalleeEffects(op) == CalleeSummary::Effects::Communication)
    return true;
  return llvm::any_of(getStatedEffects(op), [](const auto &effect) {
    return mayCommunicate(effect.getResource());
  });
}

CommunicationEffect mlir::commsched::getCommunicationEffect(Operation *op) {
  if (auto collective = dyn_cast<CollectiveOpInterface>(op))
    return collective.getInFlightFuture() ? CommunicationEffect::Start
                                          : CommunicationEffect::Blocking;
  if (isa<WaitOpInterface>(op))
    return CommunicationEffect::Wait;
  if (isUnknown(op))
    return CommunicationEffect::Unknown;
  for (Region &region : op->getRegions())
    for (Operation &nested : region.getOps())
      if (getCommunicationEffect(&nested) != CommunicationEffect::None)
        return CommunicationEffect::Unknown;
  return CommunicationEffect::None;
}

Operation *mlir::commsched::findCollective(Operation *op) {
  Operation *found = nullptr;
  op->walk([&](CollectiveOpInterface collective) {
    found = collective;
    return WalkResult::interrupt();
  });
  return found;
}

SmallVector<Attribute> mlir::commsched::findStreamsInside(Operation *op) {
  llvm::SetVector<Attribute> streams;
  op->walk([&](Operation *nested) {
    if (auto collective = dyn_cast<CollectiveOpInterface>(nested))
      streams.insert(getStreamKey(collective));
    else if (std::optional<CalleeSummary> callee = CalleeSummary::find(nested))
      streams.insert_range(callee->streams);
  });
  return streams.takeVector();
}

bool mlir::commsched::isPointToPoint(Operation *collective) {
  CollectiveKind kind =
      cast<CollectiveOpInterface>(collective).getCollectiveKind();
  return kind == CollectiveKind::Send || kind == CollectiveKind::Recv;
}

bool mlir::commsched::isCarriedByGloo(CollectiveOpInterface collective) {
  auto symbol = dyn_cast_if_present<SymbolRefAttr>(collective.getGroupKey());
  auto group =
      symbol ? SymbolTable::lookupNearestSymbolFrom<GroupOp>(collective, symbol)
             : GroupOp();
  auto backend =
      group ? group->getAttrOfType<StringAttr>(backendAttrName) : StringAttr();
  return backend && backend.getValue() == glooBackend;
}

int64_t mlir::commsched::getTransportBytes(CollectiveOpInterface collective) {
  if (!isCarriedByGloo(collective))
    return 0;
  int64_t sent = collective.getOperandBytes().value_or(0);
  int64_t delivered = collective.getResultBytes().value_or(0);
  switch (collective.getCollectiveKind()) {
  case CollectiveKind::AllGather:
    return llvm::AddOverflow(sent, delivered, sent)
               ? std::numeric_limits<int64_t>::max()
               : sent;
  case CollectiveKind::ReduceScatter:
    return sent;
  case CollectiveKind::AllReduce:
    return collective.getSentValues().size() > 1 ? sent : 0;
  default:
    return 0;
  }
}
