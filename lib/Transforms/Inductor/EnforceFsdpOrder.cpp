//===- EnforceFsdpOrder.cpp - Pass that keeps FSDP groups together --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "../PassSupport.h"
#include "CommSched/Analysis/Problem/Aliasing.h"
#include "CommSched/Analysis/Problem/CommunicationEffects.h"
#include "CommSched/Analysis/Problem/StorageAnalysis.h"
#include "CommSched/Dialect/CommSchedDialect.h"
#include "CommSched/Interfaces/CommSchedInterfaces.h"
#include "CommSched/Schedule/Graphs/GroupedOrder.h"
#include "CommSched/Schedule/Model/Problem.h"
#include "CommSched/Transforms/Passes.h"

#include <queue>

namespace mlir::commsched {
#define GEN_PASS_DEF_ENFORCEFSDPORDER
#include "CommSched/Transforms/Passes.h.inc"
} // namespace mlir::commsched

using namespace mlir;
using namespace mlir::commsched;
using namespace mlir::commsched::schedule;

//===----------------------------------------------------------------------===//
// Groups of operations around collectives
//===----------------------------------------------------------------------===//

namespace {

/// A collective with a copy-in, and the operations that belong to it.
/// Operations are identified by their index in the block, which is their node
/// in its problem.
struct FsdpGroup {
  Operation *collective;
  /// AllGather or ReduceScatter.
  CollectiveKind kind;
  /// `all_gather_copy_in` or `chunk_cat`.
  schedule::NodeId copyIn;
  schedule::NodeId wait;
  /// The copy-in, the start, and views between them. For a gather also what
  /// makes the shards ready: operations without effects that have one tensor
  /// operand, constants aside, and that only copy-ins of gathers need.
  /// Ascending.
  SmallVector<schedule::NodeId> startMembers;
  /// The wait. For a gather also `split_with_sizes_copy` of what it gives,
  /// views between them, and `fsdp_copy` of what that gives; for a
  /// reduce-scatter all that follows from it alone by operations without
  /// effects that have one tensor operand. Ascending.
  SmallVector<schedule::NodeId> waitMembers;
};

/// Collects the groups of one block.
class Finder {
public:
  Finder(Block &block, const Problem &problem);

  /// The groups in the order of their collectives. An operation that would
  /// belong to several is the first one's. Neither expensive operations nor the
  /// copies of other collectives belong to any. O(n log n) in the operations,
  /// their operands and the dependences.
  SmallVector<FsdpGroup> run();

private:
  bool claim(NodeId node);
  void findPreparations();
  bool isNeededBefore(NodeId node, NodeId copyIn,
                      const DenseSet<NodeId> &members,
                      const DenseSet<NodeId> &refused) const;
  void collectStart(FsdpGroup &group);
  void collectWait(FsdpGroup &group);
  void dropDanglingViews(SmallVectorImpl<NodeId> &members);

  const Problem &problem;
  SmallVector<Operation *> operations;
  DenseMap<Operation *, NodeId> nodeOf;
  /// By node: whether a group has it, or has looked at it in vain.
  std::vector<bool> isTaken;
  /// By node: whether it only leads to copy-ins of gathers.
  std::vector<bool> isPreparation;
};

} // namespace

/// Whether `op` makes views or writes in place, and has no memory effects.
static bool isPureAlias(Operation *op) {
  return isMemoryEffectFree(op) && allResultsAlias(op);
}

/// Whether `op` makes something of one tensor and nothing else matters to it.
static bool isDerivation(Operation *op) {
  if (isa<SplitWithSizesCopyOp, ChunkCatOp>(op) ||
      getCommunicationEffect(op) != CommunicationEffect::None ||
      !isMemoryEffectFree(op))
    return false;
  if (auto cost = dyn_cast<CostOpInterface>(op); cost && cost.isExpensive())
    return false;
  Value source;
  for (Value operand : op->getOperands()) {
    Operation *producer = operand.getDefiningOp();
    bool isMadeOfNothing = producer && producer->getNumOperands() == 0 &&
                           isMemoryEffectFree(producer);
    if (!isa<ShapedType>(operand.getType()) || isMadeOfNothing)
      continue;
    if (source && source != operand)
      return false;
    source = operand;
  }
  return !op->hasTrait<OpTrait::ConstantLike>();
}

/// The copy-in of what `collective` sends; null if it is no FSDP collective.
static Operation *findCopyIn(CollectiveOpInterface collective) {
  CollectiveKind kind = collective.getCollectiveKind();
  bool isGather = kind == CollectiveKind::AllGather;
  if ((!isGather && kind != CollectiveKind::ReduceScatter) ||
      !collective.getInFlightFuture() || collective.getSentValues().size() != 1)
    return nullptr;
  Value sent = collective.getSentValues().front();
  while (auto result = dyn_cast_if_present<OpResult>(sent)) {
    Operation *op = result.getOwner();
    if (isGather ? isa<AllGatherCopyInOp>(op) : isa<ChunkCatOp>(op))
      return op->getBlock() == collective->getBlock() ? op : nullptr;
    sent = getAliasedValue(result);
  }
  return nullptr;
}

Finder::Finder(Block &block, const Problem &problem) : problem(problem) {
  for (Operation &op : getScheduledOperations(block)) {
    nodeOf[&op] = static_cast<NodeId>(operations.size());
    operations.push_back(&op);
  }
  isTaken.resize(operations.size());
  findPreparations();
}

/// Takes `node` for a group, unless another has taken it.
bool Finder::claim(NodeId node) {
  if (isTaken[node])
    return false;
  isTaken[node] = true;
  return true;
}

void Finder::findPreparations() {
  auto isCopyInOrPreparation = [&](Operation *user) {
    NodeId node = nodeOf.lookup_or(user, noNode);
    return node != noNode &&
           (isa<AllGatherCopyInOp>(user) || isPreparation[node]);
  };
  isPreparation.resize(operations.size());
  // Users come after what they use.
  for (NodeId node = operations.size() - 1; node >= 0; --node) {
    Operation *op = operations[node];
    isPreparation[node] =
        isDerivation(op) && llvm::all_of(op->getUsers(), isCopyInOrPreparation);
  }
}

/// Whether another operation than `members` has to run between `node` and the
/// copy-in, such as one that writes in place what `node` reads. Preparations of
/// other gathers do not count, as they go to these.
bool Finder::isNeededBefore(NodeId node, NodeId copyIn,
                            const DenseSet<NodeId> &members,
                            const DenseSet<NodeId> &refused) const {
  ArrayView<DependenceEnd> successors = problem.successors(node);
  return llvm::any_of(successors, [&](DependenceEnd end) {
    bool goesElsewhere = isPreparation[end.node] && !refused.contains(end.node);
    return end.node < copyIn && !members.contains(end.node) && !goesElsewhere;
  });
}

void Finder::collectStart(FsdpGroup &group) {
  DenseSet<NodeId> members, refused;
  NodeId node = nodeOf.at(group.collective);
  Value sent =
      cast<CollectiveOpInterface>(group.collective).getSentValues().front();
  for (; node != group.copyIn; sent = getAliasedValue(cast<OpResult>(sent))) {
    members.insert(node);
    node = nodeOf.at(sent.getDefiningOp());
  }
  // Later operations first, so that it is known which users are members.
  std::priority_queue<NodeId> open;
  open.push(group.copyIn);
  while (!open.empty()) {
    node = open.top();
    open.pop();
    if (node != group.copyIn &&
        isNeededBefore(node, group.copyIn, members, refused)) {
      refused.insert(node);
      continue;
    }
    members.insert(node);
    for (Value operand : operations[node]->getOperands()) {
      NodeId producer = nodeOf.lookup_or(operand.getDefiningOp(), noNode);
      if (producer != noNode && isPreparation[producer] && claim(producer))
        open.push(producer);
    }
  }
  group.startMembers.assign(members.begin(), members.end());
  llvm::sort(group.startMembers);
  for (NodeId member : group.startMembers)
    isTaken[member] = true;
}

/// Gives the views back that lead to no other member.
void Finder::dropDanglingViews(SmallVectorImpl<NodeId> &members) {
  DenseSet<NodeId> kept;
  for (NodeId node : llvm::reverse(members)) {
    Operation *op = operations[node];
    bool leadsOn = llvm::any_of(op->getUsers(), [&](Operation *user) {
      return kept.contains(nodeOf.lookup_or(user, noNode));
    });
    isTaken[node] = !isPureAlias(op) || leadsOn;
    if (isTaken[node])
      kept.insert(node);
  }
  llvm::erase_if(members, [&](NodeId node) { return !kept.contains(node); });
}

void Finder::collectWait(FsdpGroup &group) {
  bool isGather = group.kind == CollectiveKind::AllGather;
  auto isMember = [&](Operation *user) {
    return isGather ? isa<SplitWithSizesCopyOp, FsdpCopyOp>(user) ||
                          isPureAlias(user)
                    : isDerivation(user);
  };
  isTaken[group.wait] = true;
  group.waitMembers.push_back(group.wait);
  for (size_t index = 0; index < group.waitMembers.size(); ++index) {
    Operation *source = operations[group.waitMembers[index]];
    for (Operation *user : source->getUsers())
      if (NodeId node = nodeOf.lookup_or(user, noNode);
          node != noNode && isMember(user) && claim(node))
        group.waitMembers.push_back(node);
  }
  llvm::sort(group.waitMembers);
  if (isGather)
    dropDanglingViews(group.waitMembers);
}

SmallVector<FsdpGroup> Finder::run() {
  SmallVector<FsdpGroup> groups;
  for (Operation *op : operations) {
    auto collective = dyn_cast<CollectiveOpInterface>(op);
    Operation *copyIn = collective ? findCopyIn(collective) : nullptr;
    // Nothing hinders two collectives from sending one buffer.
    if (!copyIn || isTaken[nodeOf.at(copyIn)])
      continue;
    Operation *wait = collective.getWait();
    FsdpGroup group = {collective,
                       collective.getCollectiveKind(),
                       nodeOf.at(copyIn),
                       nodeOf.at(wait),
                       {},
                       {}};
    collectStart(group);
    collectWait(group);
    groups.push_back(std::move(group));
  }
  return groups;
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {

/// The constraints on the order of one block, with the groups they come from.
struct FsdpConstraints {
  SmallVector<FsdpGroup> groups;
  /// Groups 2i and 2i + 1 are the start and the wait members of group i.
  SoftConstraints soft;
  /// By precedence: the index of the group that starts later, and that of the
  /// one that is waited for first.
  SmallVector<std::pair<size_t, size_t>> precedences;
};

/// Emits the remarks on the groups of one block.
class GroupReporter {
public:
  GroupReporter(func::FuncOp function, const BlockProblem &problem,
                const FsdpConstraints &constraints, const GroupedOrder &result)
      : function(function), problem(problem), constraints(constraints),
        result(result) {}

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
  const FsdpConstraints &constraints;
  const GroupedOrder &result;
};

} // namespace

static FsdpConstraints makeConstraints(SmallVector<FsdpGroup> groups) {
  FsdpConstraints result;
  SoftConstraints &soft = result.soft;
  // The last group of each kind.
  DenseMap<int, size_t> last;
  for (auto [index, group] : llvm::enumerate(groups)) {
    soft.groups.push_back(
        {{group.startMembers.begin(), group.startMembers.end()}, group.copyIn});
    soft.groups.push_back(
        {{group.waitMembers.begin(), group.waitMembers.end()}, group.wait});
    auto [it, isFirst] = last.try_emplace(static_cast<int>(group.kind), index);
    if (isFirst)
      continue;
    // Should a group not stand together, its copy is what counts.
    const FsdpGroup &previous = groups[it->second];
    soft.precedences.push_back({previous.waitMembers.back(), group.copyIn});
    result.precedences.push_back({index, it->second});
    // A gather is waited for where it is needed, and a reduce-scatter starts
    // where there is something to reduce: the other ends give way.
    if (group.kind == CollectiveKind::ReduceScatter)
      soft.groups[2 * it->second + 1].anchor =
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
  const FsdpGroup &group = constraints.groups[index];
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
  if (result.isSatisfied[precedence])
    return;
  auto [later, earlier] = constraints.precedences[precedence];
  Operation *start = constraints.groups[later].collective;
  remark::missed(start->getLoc(),
                 makeRemark("FsdpOrderKept", function.getSymName()))
      << describe(start) + " does not start after the wait for " +
             describe(constraints.groups[earlier].collective) +
             ", which has to come behind it";
}

void GroupReporter::report() {
  for (size_t index = 0; index < constraints.groups.size(); ++index)
    reportGroup(index);
  for (size_t index = 0; index < constraints.precedences.size(); ++index)
    reportOrder(index);
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {

struct EnforceFsdpOrder
    : RewritingPass<
          mlir::commsched::impl::EnforceFsdpOrderBase<EnforceFsdpOrder>> {
  FailureOr<bool> rewrite() override {
    return rewriteBlocks(getBlocksWithCollectives(getOperation()),
                         [&](Block &block) { return enforce(block); });
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
  FailureOr<std::optional<BlockProblem>> read =
      readBlock(function, block, /*costs=*/nullptr);
  if (failed(read))
    return failure();
  if (!*read)
    return false;
  const BlockProblem &problem = **read;
  FsdpConstraints constraints =
      makeConstraints(Finder(block, problem.getProblem()).run());
  Result<GroupedOrder> result =
      sortInGroups(problem.getProblem(), constraints.soft);
  if (!result)
    return emitError(function.getLoc(), "no order was found: ")
           << result.error();
  if (areRemarksEnabled(function))
    GroupReporter(function, problem, constraints, *result).report();
  return problem.apply(result->order);
}
