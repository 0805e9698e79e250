//===- SplitExits.cpp - How chunks become whole ---------------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SplitExits.h"

#include "CommSched/Analysis/Problem/Aliasing.h"
#include "CommSched/Dialect/CommSchedDialect.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace mlir::commsched;

namespace {

class ExitFinder {
public:
  explicit ExitFinder(SplitRegion &region);

  void find();

private:
  const SplitMember *findMember(Operation *op) const {
    auto it = members.find(op);
    return it == members.end() ? nullptr : &region.members[it->second];
  }
  bool isSentInPieces(Value value, ValueSplit split) const;
  Value getViewed(const SplitMember &member) const;
  SplitExitKind getKind(Value value);
  void add(Value value);

  SplitRegion &region;
  llvm::DenseMap<Operation *, size_t> members;
  llvm::DenseMap<Value, SplitExitKind> kinds;
  llvm::DenseSet<Value> exits;
};

} // namespace

ExitFinder::ExitFinder(SplitRegion &region) : region(region) {
  for (auto [number, member] : llvm::enumerate(region.members))
    members[member.op] = number;
}

/// How `member` divides its only result; none for partial sums, and if it has
/// several results.
static std::optional<ValueSplit> getOnlySplit(const SplitMember &member) {
  return member.op->getNumResults() == 1 ? member.getResultSplit(0)
                                         : std::nullopt;
}

/// Whether a collective sends chunks of `value`, or views of them, which are
/// not contiguous as parts of the whole.
bool ExitFinder::isSentInPieces(Value value, ValueSplit split) const {
  ArrayRef<int64_t> shape = cast<ShapedType>(value.getType()).getShape();
  if (split.outer == 1 && llvm::all_of(shape.take_front(split.dim),
                                       [](int64_t size) { return size == 1; }))
    return false;
  SmallVector<Value> worklist = {value};
  while (!worklist.empty()) {
    for (Operation *user : worklist.pop_back_val().getUsers()) {
      if (!findMember(user))
        continue;
      if (isa<CollectiveOpInterface>(user))
        return true;
      if (isFreeView(user))
        llvm::append_range(worklist, user->getResults());
    }
  }
  return false;
}

/// The value that the member's only result is a view of, whose chunks give the
/// view's chunks; null if it is not such a view.
Value ExitFinder::getViewed(const SplitMember &member) const {
  auto op = dyn_cast<ComputeOp>(member.op);
  if (!op || !op.getAlias() || !isFreeView(op) || op.getMovedBytes() != 0 ||
      !getOnlySplit(member))
    return {};
  auto alias = static_cast<unsigned>(*op.getAlias());
  for (OpOperand &operand : op->getOpOperands()) {
    std::optional<ValueSplit> split =
        member.getOperandSplit(operand.getOperandNumber());
    if (operand.getOperandNumber() != alias) {
      if (split || findMember(operand.get().getDefiningOp()))
        return {};
      continue;
    }
    const SplitMember *giver = findMember(operand.get().getDefiningOp());
    if (!split || !giver || getOnlySplit(*giver) != split)
      return {};
  }
  return op.getInputs()[alias];
}

/// How the result of a member can be given whole.
SplitExitKind ExitFinder::getKind(Value value) {
  if (auto it = kinds.find(value); it != kinds.end())
    return it->second;
  SplitExitKind kind = SplitExitKind::Joined;
  const SplitMember &member = *findMember(value.getDefiningOp());
  auto op = dyn_cast<ComputeOp>(member.op);
  auto type = dyn_cast<RankedTensorType>(value.getType());
  std::optional<ValueSplit> split = getOnlySplit(member);
  if (Value viewed = getViewed(member)) {
    if (getKind(viewed) != SplitExitKind::Joined)
      kind = SplitExitKind::Viewed;
  } else if (op && !op.getAlias() && split && type && type.hasStaticShape() &&
             op.getMovedBytes().value_or(0) > 0 &&
             !isSentInPieces(value, *split)) {
    kind = SplitExitKind::Written;
  }
  kinds[value] = kind;
  return kind;
}

/// Adds what the exit `value` is a view of.
void ExitFinder::add(Value value) {
  while (exits.insert(value).second && getKind(value) == SplitExitKind::Viewed)
    value = getViewed(*findMember(value.getDefiningOp()));
}

void ExitFinder::find() {
  for (const SplitExit &exit : region.exits)
    add(exit.value);
  region.exits.clear();
  for (const SplitMember &member : region.members)
    for (OpResult result : member.op->getResults())
      if (exits.contains(result))
        region.exits.push_back({result,
                                member.getResultSplit(result.getResultNumber()),
                                getKind(result)});
}

void mlir::commsched::findUncopiedExits(SplitRegion &region) {
  ExitFinder(region).find();
}
