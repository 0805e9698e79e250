//===- SplitSpecs.cpp - Regions as scheduling problems --------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Analysis/Split/SplitSpecs.h"

#include "CommSched/Analysis/Costs/ChunkCosts.h"
#include "CommSched/Analysis/Costs/OperationCosts.h"
#include "RegionGraph.h"

using namespace mlir;
using namespace mlir::commsched;
using schedule::BufferId;
using schedule::NodeId;
using schedule::SplitSpec;

SplitSpecs::SplitSpecs(const BlockProblem &block, OperationCosts &costs)
    : block(block), costs(costs) {
  const schedule::Problem &problem = block.getProblem();
  for (NodeId node = 0; node < problem.numNodes(); ++node)
    nodes[block.getOperation(node)] = node;
  // A storage that is grown again is several buffers: the last one counts.
  for (BufferId buffer = 0; buffer < problem.numBuffers(); ++buffer)
    buffers[block.getBufferRoot(buffer)] = buffer;
}

std::optional<BufferId> SplitSpecs::findBuffer(Value value) const {
  auto it = buffers.find(getViewedValue(value));
  return it == buffers.end() ? std::nullopt : std::optional(it->second);
}

std::optional<NodeId> SplitSpecs::findNode(Operation *op) const {
  // Operations in regions belong to the one of the block that holds them.
  while (op) {
    if (auto it = nodes.find(op); it != nodes.end())
      return it->second;
    op = op->getParentOp();
  }
  return std::nullopt;
}

bool SplitSpecs::addMembers(const SplitRegion &region, int64_t count,
                            SplitSpec &spec) {
  for (const SplitMember &member : region.members) {
    std::optional<int64_t> costNs =
        member.isWait() ? 0
                        : estimateChunkNs(costs, member.op, member.axis, count);
    if (!costNs)
      return false;
    spec.members.push_back({nodes.lookup(member.op), *costNs});
  }
  return true;
}

void SplitSpecs::addBuffers(const SplitRegion &region, int64_t count,
                            SplitSpec &spec) {
  const schedule::Problem &problem = block.getProblem();
  for (const SplitMember &member : region.members)
    for (BufferId buffer : problem.buffersMadeBy(nodes.lookup(member.op))) {
      int64_t bytes = problem.buffer(buffer).bytes;
      // Each chunk of a sum is as large as the sum.
      spec.buffers.push_back({buffer, member.isSum() ? bytes : bytes / count});
    }
}

bool SplitSpecs::addWholes(const SplitRegion &region, int64_t count,
                           SplitSpec &spec) {
  DenseMap<Operation *, const SplitMember *> members;
  for (const SplitMember &member : region.members)
    members[member.op] = &member;
  for (const SplitExit &exit : region.exits) {
    Type type = getSizedType(exit.value);
    std::optional<BufferId> source = findBuffer(exit.value);
    std::optional<int64_t> bytes = getStaticBytes(type);
    bool isWritten = exit.kind != SplitExitKind::Joined;
    std::optional<int64_t> costNs = isWritten ? std::optional<int64_t>(0)
                                    : exit.split
                                        ? estimateConcatNs(costs, type)
                                        : estimateSumNs(costs, type, count);
    if (!source || !bytes || !costNs)
      return false;
    SplitSpec::Whole whole;
    whole.producer = nodes.lookup(exit.value.getDefiningOp());
    whole.source = *source;
    whole.costNs = *costNs;
    whole.bytes = *bytes;
    whole.isWritten = isWritten;
    whole.freed = block.getProblem().buffer(*source).freed;
    for (OpOperand &use : exit.value.getUses()) {
      const SplitMember *member = members.lookup(use.getOwner());
      if (member && exit.split &&
          member->getOperandSplit(use.getOperandNumber()) == exit.split)
        continue;
      if (std::optional<NodeId> user = findNode(use.getOwner()))
        whole.users.push_back(*user);
    }
    llvm::sort(whole.users);
    whole.users.erase(llvm::unique(whole.users), whole.users.end());
    spec.wholes.push_back(std::move(whole));
  }
  return true;
}

SmallVector<int32_t> SplitSpecs::getCopiedEntries(const SplitRegion &region) {
  SmallVector<int32_t> copied;
  for (auto [number, entry] : llvm::enumerate(region.entries))
    if (entry.isCopied)
      copied.push_back(static_cast<int32_t>(number));
  return copied;
}

bool SplitSpecs::addSlices(const SplitRegion &region, int64_t count,
                           SplitSpec &spec) {
  for (int32_t number : getCopiedEntries(region)) {
    const SplitEntry &entry = region.entries[number];
    Type type = getChunkType(getSizedType(entry.value), entry.split.dim, count);
    std::optional<BufferId> source = findBuffer(entry.value);
    std::optional<int64_t> bytes = getStaticBytes(type);
    std::optional<int64_t> costNs = estimateCopyNs(costs, type);
    if (!source || !bytes || !costNs)
      return false;
    SplitSpec::Slice slice;
    Operation *op = entry.value.getDefiningOp();
    slice.producer =
        op ? findNode(op).value_or(schedule::noNode) : schedule::noNode;
    slice.source = *source;
    slice.costNs = *costNs;
    slice.bytes = *bytes;
    for (const SplitEntry::Use &use : entry.uses)
      slice.users.push_back(nodes.lookup(region.members[use.member].op));
    slice.users.erase(llvm::unique(slice.users), slice.users.end());
    spec.slices.push_back(std::move(slice));
  }
  return true;
}

std::optional<SplitSpec> SplitSpecs::make(const SplitRegion &region,
                                          int64_t count) {
  SplitSpec spec;
  spec.chunks = static_cast<int32_t>(count);
  addBuffers(region, count, spec);
  if (!addMembers(region, count, spec) || !addWholes(region, count, spec) ||
      !addSlices(region, count, spec))
    return std::nullopt;
  return spec;
}
