//===- ParamUses.cpp - Uses of an unsharded parameter ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "ParamUses.h"
#include "CommSched/Analysis/Problem/Aliasing.h"
#include "CommSched/Analysis/Problem/CommunicationEffects.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::commsched;
using bufferization::ToTensorOp;

namespace {

/// The access of an operation to the storage of one of its operands.
enum class Access {
  Read,
  Write,
  /// The access is not known.
  Unknown,
  /// None, but a result may alias the operand in an unknown way.
  PassOn,
};

} // namespace

/// Returns the stated effects of `op` on the storage behind `value`.
static Access getEffect(MemoryEffectOpInterface op, Value value) {
  // Results aside, an operator touches only its operands.
  bool mayHide = isa<BaseMemRefType>(value.getType()) && !isa<ComputeOp>(op);
  SmallVector<MemoryEffects::EffectInstance> effects;
  op.getEffects(effects);
  for (const MemoryEffects::EffectInstance &effect : effects) {
    if (isa<MemoryEffects::Read, MemoryEffects::Allocate>(effect.getEffect()))
      continue;
    if (effect.getValue() == value)
      return Access::Write;
    if (mayHide && !effect.getValue() &&
        effect.getResource() == SideEffects::DefaultResource::get())
      return Access::Unknown;
  }
  return Access::Read;
}

static Access getAccess(Operation *op, Value value) {
  if (auto collective = dyn_cast<CollectiveOpInterface>(op))
    return llvm::is_contained(collective.getDestinations(), value)
               ? Access::Write
               : Access::Read;
  if (op->hasTrait<OpTrait::IsTerminator>())
    return Access::PassOn;
  if (hasUnknownMemoryEffects(op))
    return Access::Unknown;
  if (auto effects = dyn_cast<MemoryEffectOpInterface>(op))
    if (Access effect = getEffect(effects, value); effect != Access::Read)
      return effect;
  bool isPassedOn = llvm::any_of(op->getResults(), [](OpResult result) {
    return !getAliasedValue(result) && mayAliasUnknown(result);
  });
  return isPassedOn ? Access::PassOn : Access::Read;
}

ParamUses::ParamUses(BlockArgument param, const OperationNumbers &numbers)
    : param(param), numbers(numbers) {
  worklist.push_back({param});
  while (!worklist.empty()) {
    Alias alias = worklist.pop_back_val();
    // One that uses the value twice makes no more views for it.
    llvm::SmallSetVector<Operation *, 4> users(alias.value.user_begin(),
                                               alias.value.user_end());
    for (Operation *user : users)
      if (alias.value != param || !visitParam(user))
        visitUser(user, alias);
  }
  llvm::sort(events, [](const ParamEvent &lhs, const ParamEvent &rhs) {
    return lhs.number < rhs.number;
  });
}

void ParamUses::note(FirstUse &first, Operation *op, ParamObstacle obstacle) {
  FirstUse use{op, getNumber(op), obstacle};
  // An operation may be in the way in two manners.
  if (!first.op || std::tie(use.number, use.obstacle) <
                       std::tie(first.number, first.obstacle))
    first = use;
}

void ParamUses::addEvent(ParamEvent::Kind kind, Operation *op) {
  int32_t number = getNumber(op);
  events.push_back({kind, op, number, op, number});
}

/// Takes note of `op`, which uses the parameter itself; false if it is not one
/// of the operations that this is about.
bool ParamUses::visitParam(Operation *op) {
  if (isa<ToTensorOp>(op)) {
    worklist.push_back({op->getResult(0), static_cast<int32_t>(events.size())});
    addEvent(ParamEvent::Kind::Read, op);
    return true;
  }
  auto resize = dyn_cast<ResizeStorageOp>(op);
  if (!resize && !isa<FsdpCopyOp>(op))
    return false;
  if (op->getBlock() != param.getOwner())
    note(resizeObstacle, op, ParamObstacle::OtherBlock);
  else if (!resize)
    addEvent(ParamEvent::Kind::Fill, op);
  else
    addEvent(resize.getBytes() ? ParamEvent::Kind::Grow
                               : ParamEvent::Kind::Free,
             op);
  return true;
}

void ParamUses::visitUser(Operation *op, const Alias &alias) {
  bool isView = false;
  for (OpResult result : op->getResults())
    if (getAliasedValue(result) == alias.value) {
      isView = true;
      worklist.push_back({result, alias.read});
    }
  if (isa<BaseMemRefType>(alias.value.getType()))
    visitMemref(op, alias.value, isView);
  else
    visitTensor(op, alias);
}

void ParamUses::visitMemref(Operation *op, Value memref, bool isView) {
  if (isa<ResizeStorageOp, FsdpCopyOp>(op))
    return note(resizeObstacle, op, ParamObstacle::ResizedView);
  switch (getAccess(op, memref)) {
  case Access::Write:
  case Access::Unknown:
    return note(writer, op, ParamObstacle::None);
  case Access::PassOn:
    return note(readObstacle, op, ParamObstacle::PassedOn);
  case Access::Read:
    note(readObstacle, op,
         isView ? ParamObstacle::Viewed : ParamObstacle::MemrefRead);
  }
}

void ParamUses::visitTensor(Operation *op, const Alias &alias) {
  if (isa<FsdpCopyOp>(op)) {
    copiesOn.push_back(op);
    return note(readObstacle, op, ParamObstacle::CopiedOn);
  }
  switch (getAccess(op, alias.value)) {
  case Access::Write:
    return note(writer, op, ParamObstacle::None);
  case Access::Unknown:
  case Access::PassOn:
    return note(readObstacle, op, ParamObstacle::PassedOn);
  case Access::Read:
    extend(alias.read, op);
    if (auto collective = dyn_cast<CollectiveOpInterface>(op))
      if (Operation *wait = collective.getWait())
        extend(alias.read, wait);
  }
}

/// Keeps what the event `read` yields up to `user`.
void ParamUses::extend(int32_t read, Operation *user) {
  // Tensors of views keep the parameter anyway.
  if (read < 0)
    return;
  int32_t number = getNumber(user);
  ParamEvent &event = events[read];
  if (number > event.lastUse) {
    event.lastUser = user;
    event.lastUse = number;
  }
}
