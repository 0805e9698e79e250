//===- SplitSpecs.cpp - Regions as scheduling problems --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/Analysis/Split/SplitSpecs.h"

#include "CommSched/Analysis/Costs/ChunkCosts.h"
#include "CommSched/Interfaces/CommSchedInterfaces.h"

using namespace mlir;
using namespace mlir::commsched;
using namespace mlir::commsched::schedule;

SplitSpecs::SplitSpecs(Block &block, const BlockProblem &problem,
                       OperationCosts &costs)
    : block(block), problem(problem), costs(costs), storages(block) {
  NodeId numNodes = problem.getProblem().numNodes();
  for (NodeId node = 0; node < numNodes; ++node)
    nodes[problem.getOperation(node)] = node;
}

NodeId SplitSpecs::getNode(Operation *op) const {
  Operation *ancestor = block.findAncestorOpInBlock(*op);
  return ancestor ? nodes.lookup_or(ancestor, noNode) : noNode;
}

std::optional<int64_t> SplitSpecs::getChunkNs(const SplitRegion &region,
                                              size_t member, int32_t chunks) {
  auto [it, isNew] =
      chunkCosts.try_emplace({region.signature, member, chunks}, std::nullopt);
  if (isNew) {
    const SplitMember &split = region.members[member];
    it->second = split.isWait()
                     ? std::optional<int64_t>(0)
                     : estimateChunkNs(costs, split.op, split.axis, chunks);
  }
  return it->second;
}

bool SplitSpecs::addMembers(const SplitRegion &region, SplitSpec &spec) {
  for (auto [index, member] : llvm::enumerate(region.members)) {
    std::optional<int64_t> costNs = getChunkNs(region, index, spec.chunks);
    if (!costNs)
      return false;
    spec.members.push_back({member.index, *costNs});
  }
  return true;
}

bool SplitSpecs::addBuffers(const SplitRegion &region, SplitSpec &spec) const {
  const schedule::Problem &known = problem.getProblem();
  for (const SplitMember &member : region.members)
    for (BufferId buffer : known.buffersMadeBy(member.index)) {
      auto root = dyn_cast_if_present<OpResult>(problem.getBufferRoot(buffer));
      if (!root)
        return false;
      // What a collective delivers is a result of its wait, and divided alike.
      std::optional<ValueSplit> split = commsched::getResultSplit(
          member.axis, root.getResultNumber(), member.blocks);
      int64_t bytes = known.buffer(buffer).bytes;
      spec.buffers.push_back({buffer, split ? bytes / spec.chunks : bytes});
    }
  return true;
}

/// Adds what puts values together that are needed whole.
bool SplitSpecs::addWholes(const SplitRegion &region, SplitSpec &spec) const {
  DenseMap<Operation *, const SplitMember *> members;
  for (const SplitMember &member : region.members)
    members[member.op] = &member;
  for (const SplitExit &exit : region.exits) {
    int32_t storage = storages.getStorage(exit.value);
    Type type = getSizedType(exit.value);
    std::optional<int64_t> bytes = getStaticBytes(type);
    bool isWritten = exit.kind != SplitExitKind::Joined;
    std::optional<int64_t> costNs =
        isWritten    ? std::optional<int64_t>(0)
        : exit.split ? estimateCopyNs(costs, type)
                     : estimateSumNs(costs, type, spec.chunks);
    if (storage == StorageAnalysis::none || !bytes || !costNs)
      return false;
    SplitSpec::Whole whole{
        getNode(exit.value.getDefiningOp()),        storage, *costNs,  *bytes,
        problem.getProblem().buffer(storage).freed, {},      isWritten};
    for (OpOperand &use : exit.value.getUses()) {
      const SplitMember *member = members.lookup(use.getOwner());
      if (member && exit.split &&
          member->getOperandSplit(use.getOperandNumber()) == exit.split)
        continue;
      NodeId user = getNode(use.getOwner());
      if (user != noNode)
        whole.users.push_back(user);
    }
    llvm::sort(whole.users);
    whole.users.erase(llvm::unique(whole.users), whole.users.end());
    spec.wholes.push_back(std::move(whole));
  }
  return true;
}

SmallVector<int32_t, 2>
SplitSpecs::getCopiedEntries(const SplitRegion &region) {
  SmallVector<int32_t, 2> copied;
  for (auto [number, entry] : llvm::enumerate(region.entries))
    if (entry.isCopied)
      copied.push_back(static_cast<int32_t>(number));
  return copied;
}

/// Adds the copies of parts of what comes from outside.
bool SplitSpecs::addSlices(const SplitRegion &region, SplitSpec &spec) const {
  for (int32_t number : getCopiedEntries(region)) {
    const SplitEntry &entry = region.entries[number];
    int32_t storage = storages.getStorage(entry.value);
    Type type =
        getChunkType(getSizedType(entry.value), entry.split.dim, spec.chunks);
    std::optional<int64_t> bytes = getStaticBytes(type);
    std::optional<int64_t> costNs = estimateCopyNs(costs, type);
    if (storage == StorageAnalysis::none || !bytes || !costNs)
      return false;
    Operation *producer = entry.value.getDefiningOp();
    SplitSpec::Slice slice{
        producer ? getNode(producer) : noNode, storage, *costNs, *bytes, {}};
    for (const SplitEntry::Use &use : entry.uses)
      slice.users.push_back(region.members[use.member].index);
    llvm::sort(slice.users);
    slice.users.erase(llvm::unique(slice.users), slice.users.end());
    spec.slices.push_back(std::move(slice));
  }
  return true;
}

std::optional<SplitSpec> SplitSpecs::make(const SplitRegion &region,
                                          int32_t chunks) {
  SplitSpec spec;
  spec.chunks = chunks;
  if (!addMembers(region, spec) || !addBuffers(region, spec) ||
      !addWholes(region, spec) || !addSlices(region, spec))
    return std::nullopt;
  return spec;
}

//===----------------------------------------------------------------------===//
// Equal chunks
//===----------------------------------------------------------------------===//

/// At most `depth` operations in a row: a fill, and what it fills.
static bool findEqualChunks(Value value, ValueSplit split, unsigned depth) {
  auto result = dyn_cast<OpResult>(value);
  if (!result || depth == 0)
    return false;
  auto op = dyn_cast<SplitOpInterface>(result.getOwner());
  // The result of a collective's rule is what its wait gives.
  if (!op || isa<CollectiveOpInterface>(op.getOperation()))
    return false;
  SplitRule rule = op.getSplitRule();
  std::optional<AxisSplit> found =
      findAxisOfResult(rule, result.getResultNumber(), split);
  if (!found)
    return false;
  const SplitAxis &axis = rule.axes[found->axis];
  return llvm::all_of(axis.operands, [&](const AxisPlace &place) {
    return findEqualChunks(op->getOperand(place.value),
                           *getOperandSplit(axis, place.value, found->blocks),
                           depth - 1);
  });
}

bool mlir::commsched::hasEqualChunks(Value value, ValueSplit split) {
  return findEqualChunks(value, split, /*depth=*/3);
}
