//===- SplitProgram.cpp - A block with split regions ----------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SplitChoice.h"

#include "SplitRewrite.h"

using namespace mlir;
using namespace mlir::commsched;
using schedule::NodeId;
using schedule::SplitProblem;

/// What a region was replaced by, with what its nodes stand for.
struct SplitProgram::Part {
  const SplitRegion *region;
  SmallVector<int32_t, 2> copiedEntries;
  SplitOperations operations;
};

/// The region with the copies in place of the operations.
static SplitRegion copyRegion(const SplitRegion &region,
                              const IRMapping &copies) {
  SplitRegion copy = region;
  for (SplitMember &member : copy.members)
    member.op = copies.lookup(member.op);
  for (Operation *&start : copy.collectives)
    start = copies.lookup(start);
  for (SplitEntry &entry : copy.entries)
    entry.value = copies.lookupOrDefault(entry.value);
  for (SplitExit &exit : copy.exits)
    exit.value = copies.lookup(exit.value);
  return copy;
}

SplitProgram::SplitProgram(func::FuncOp function, Block &block,
                           const BlockProblem &problem,
                           const SplitChooser &chooser, SplitChoice choice,
                           OperationCosts &costs)
    : trial(function, block), choice(std::move(choice)) {
  for (Operation &op : block)
    copyOf[&op] = trial.getCopies().lookup(&op);
  for (const SplitRegionChoice &chosen : this->choice.regions)
    for (const SplitMember &member : chooser.getRegion(chosen.region).members)
      copyOf.erase(member.op);
  ChunkNames names(getBlock());
  std::vector<Part> parts;
  for (const SplitRegionChoice &chosen : this->choice.regions) {
    const SplitRegion &original = chooser.getRegion(chosen.region);
    parts.push_back({&original, SplitSpecs::getCopiedEntries(original),
                     splitRegion(copyRegion(original, trial.getCopies()),
                                 chosen.chunks, names, costs)});
  }
  order(problem, parts);
}

namespace {
/// Puts operations of a block into an order.
class OperationPlacer {
public:
  explicit OperationPlacer(Block &block) : block(block) {}

  /// Puts `op` behind all operations that were placed; in front of it, what
  /// computes its operands and has not been placed.
  void place(Operation *op);

private:
  Block &block;
  DenseSet<Operation *> placed;
};
} // namespace

void OperationPlacer::place(Operation *op) {
  SmallVector<Operation *> stack = {op};
  while (!stack.empty()) {
    Operation *next = stack.back();
    size_t depth = stack.size();
    if (!placed.contains(next))
      next->walk([&](Operation *user) {
        for (Value operand : user->getOperands())
          if (Operation *definition = operand.getDefiningOp())
            if (definition->getBlock() == &block && definition != next &&
                !placed.contains(definition))
              stack.push_back(definition);
      });
    if (stack.size() > depth)
      continue;
    stack.pop_back();
    if (placed.insert(next).second)
      next->moveBefore(&block, block.end());
  }
}

void SplitProgram::order(const BlockProblem &problem, ArrayRef<Part> parts) {
  OperationPlacer placer(getBlock());
  // Read before operations move.
  SmallVector<Operation *> all;
  for (Operation &op : getBlock())
    all.push_back(&op);
  for (NodeId node : choice.order) {
    const SplitProblem::Origin &origin = choice.program->originOf(node);
    switch (origin.role) {
    case SplitProblem::Role::Kept:
      placer.place(trial.getCopies().lookup(problem.getOperation(origin.node)));
      break;
    case SplitProblem::Role::Chunk: {
      const Part &part = parts[origin.spec];
      // Members are in the order of their nodes.
      auto member = llvm::partition_point(
          part.region->members,
          [&](const SplitMember &other) { return other.index < origin.node; });
      size_t number = member - part.region->members.begin();
      placer.place(part.operations.members[number][origin.chunk]);
      break;
    }
    case SplitProblem::Role::Whole:
      for (Operation *op : parts[origin.spec].operations.exits[origin.index])
        placer.place(op);
      break;
    case SplitProblem::Role::Storage:
      placer.place(parts[origin.spec].operations.storages[origin.index]);
      break;
    case SplitProblem::Role::Slice: {
      const Part &part = parts[origin.spec];
      int32_t entry = part.copiedEntries[origin.index];
      for (Operation *op : part.operations.entries[entry][origin.chunk])
        placer.place(op);
      break;
    }
    }
  }
  // Views that nothing reads, and the terminator.
  for (Operation *op : all)
    placer.place(op);
}
