//===- EnforceFsdpOrder.cpp - The pass that orders groups of FSDP ---------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../BlockScheduling.h"
#include "../Remarks.h"
#include "CommSched/Dialect/CommSchedDialect.h"
#include "CommSched/Schedule/Graphs/GroupedOrder.h"
#include "CommSched/Transforms/Passes.h"
#include "FsdpGroups.h"

namespace mlir::commsched {
#define GEN_PASS_DEF_ENFORCEFSDPORDER
#include "CommSched/Transforms/Passes.h.inc"
} // namespace mlir::commsched

using namespace mlir;
using namespace mlir::commsched;
using cost::CollectiveKind;
using schedule::GroupConflict;
using schedule::GroupedOrder;
using schedule::OrderWishes;

namespace {

/// The wishes of one block, and whose they are.
struct FsdpWishes {
  SmallVector<FsdpGroup> groups;
  /// Groups 2i and 2i + 1 are the start and the wait members of group i.
  OrderWishes wishes;
  /// By precedence: the index of the group that starts later, and that of the
  /// one that is waited for first.
  SmallVector<std::pair<size_t, size_t>> precedences;
};

/// Tells what became of the groups of one block.
class GroupReporter {
public:
  GroupReporter(func::FuncOp function, const BlockProblem &problem,
                const FsdpWishes &wishes, const GroupedOrder &result)
      : function(function), problem(problem), wishes(wishes), result(result) {}

  void report();

private:
  void reportGroup(size_t index);
  void reportSplit(const FsdpGroup &group, const GroupConflict &conflict);
  void reportOrder(size_t precedence);
  std::string name(schedule::NodeId node) const {
    return describe(problem.getOperation(node));
  }

  func::FuncOp function;
  const BlockProblem &problem;
  const FsdpWishes &wishes;
  const GroupedOrder &result;
};

} // namespace

static FsdpWishes makeWishes(SmallVector<FsdpGroup> groups) {
  FsdpWishes result;
  OrderWishes &wishes = result.wishes;
  // The last group of each kind.
  DenseMap<int, size_t> last;
  for (auto [index, group] : llvm::enumerate(groups)) {
    wishes.groups.push_back(
        {{group.startMembers.begin(), group.startMembers.end()}, group.copyIn});
    wishes.groups.push_back(
        {{group.waitMembers.begin(), group.waitMembers.end()}, group.wait});
    auto [it, isFirst] = last.try_emplace(static_cast<int>(group.kind), index);
    if (isFirst)
      continue;
    // Should a group not stand together, its copy is what counts.
    const FsdpGroup &previous = groups[it->second];
    wishes.precedences.push_back({previous.waitMembers.back(), group.copyIn});
    result.precedences.push_back({index, it->second});
    // A gather is waited for where it is needed, and a reduce-scatter starts
    // where there is something to reduce: the other ends give way.
    if (group.kind == CollectiveKind::ReduceScatter)
      wishes.groups[2 * it->second + 1].anchor =
          std::min(previous.wait, group.copyIn);
    it->second = index;
  }
  result.groups = std::move(groups);
  return result;
}

//===----------------------------------------------------------------------===//
// Remarks
//===----------------------------------------------------------------------===//

void GroupReporter::reportSplit(const FsdpGroup &group,
                                const GroupConflict &conflict) {
  remark::missed(group.collective->getLoc(),
                 makeRemark("FsdpGroupSplit", function.getSymName()))
      << describe(group.collective) + ": " + name(conflict.first) + " and " +
             name(conflict.last) + " are not put together, as " +
             name(conflict.obstacle) + " has to run between them";
}

void GroupReporter::reportGroup(size_t index) {
  const FsdpGroup &group = wishes.groups[index];
  const std::optional<GroupConflict> &start = result.conflicts[2 * index];
  const std::optional<GroupConflict> &wait = result.conflicts[2 * index + 1];
  if (start)
    reportSplit(group, *start);
  if (wait)
    reportSplit(group, *wait);
  if (start || wait)
    return;
  size_t numStart = group.startMembers.size(),
         numWait = group.waitMembers.size();
  remark::passed(group.collective->getLoc(),
                 makeRemark("FsdpGroupFormed", function.getSymName()))
      << (describe(group.collective) + ": its start stands together with " +
          Twine(numStart - 1) + " operation(s), its wait with " +
          Twine(numWait - 1))
             .str()
      << remark::metric("StartMembers", numStart)
      << remark::metric("WaitMembers", numWait);
}

void GroupReporter::reportOrder(size_t precedence) {
  if (result.isGranted[precedence])
    return;
  auto [later, earlier] = wishes.precedences[precedence];
  Operation *start = wishes.groups[later].collective;
  remark::missed(start->getLoc(),
                 makeRemark("FsdpOrderKept", function.getSymName()))
      << describe(start) + " does not start after the wait for " +
             describe(wishes.groups[earlier].collective) +
             ", which has to come behind it";
}

void GroupReporter::report() {
  for (size_t index = 0; index < wishes.groups.size(); ++index)
    reportGroup(index);
  for (size_t index = 0; index < wishes.precedences.size(); ++index)
    reportOrder(index);
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {

struct EnforceFsdpOrder
    : mlir::commsched::impl::EnforceFsdpOrderBase<EnforceFsdpOrder> {
  void runOnOperation() override {
    bool moved = false;
    for (Block *block : getBlocksWithCollectives(getOperation())) {
      FailureOr<bool> blockMoved = enforce(*block);
      if (failed(blockMoved))
        return signalPassFailure();
      moved |= *blockMoved;
    }
    if (!moved)
      markAllAnalysesPreserved();
  }

private:
  FailureOr<bool> enforce(Block &block);
};

} // namespace

FailureOr<bool> EnforceFsdpOrder::enforce(Block &block) {
  func::FuncOp function = getOperation();
  bool hasCopyIn = llvm::any_of(block, [](Operation &op) {
    return isa<AllGatherCopyInOp, ChunkCatOp>(op);
  });
  if (!hasCopyIn)
    return false;
  // What operations cost is of no interest here.
  auto getCost = [](Operation *) { return std::optional<int64_t>(0); };
  FailureOr<BlockProblem> problem = BlockProblem::create(block, getCost);
  if (failed(problem))
    return failure();
  FsdpWishes wishes = makeWishes(findFsdpGroups(block, problem->getProblem()));
  Result<GroupedOrder> result =
      sortInGroups(problem->getProblem(), wishes.wishes);
  if (!result) {
    emitError(function.getLoc(), "no order was found: ") << result.error();
    return failure();
  }
  if (areRemarksEnabled(function))
    GroupReporter(function, *problem, wishes, *result).report();
  return problem->apply(result->order);
}
