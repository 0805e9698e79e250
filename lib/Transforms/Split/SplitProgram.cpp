//===- SplitProgram.cpp - A block with split regions ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "SplitChoice.h"

#include "CommSched/Analysis/Problem/BlockProblem.h"
#include "CommSched/Dialect/CommSchedAttributes.h"
#include "CommSched/Interfaces/CommSchedInterfaces.h"
#include "SplitRewrite.h"
#include "llvm/ADT/IntEqClasses.h"

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
  for (const SplitChoice::Region &chosen : this->choice.regions)
    for (const SplitMember &member : chooser.getRegion(chosen.region).members)
      copyOf.erase(member.op);
  ChunkNames names(getBlock());
  std::vector<Part> parts;
  for (const SplitChoice::Region &chosen : this->choice.regions) {
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

//===----------------------------------------------------------------------===//
// Order of chunks in a block
//===----------------------------------------------------------------------===//

namespace {

class ChunkOrder {
public:
  explicit ChunkOrder(const BlockProblem &block)
      : block(block), count(block.getProblem().numNodes()) {}

  schedule::Order find();

private:
  void findDepths();
  void placeChunks();
  void placeOthers();
  schedule::Order emit() const;
  bool isChunk(NodeId node) const { return depths[node] >= 0; }

  const BlockProblem &block;
  NodeId count;
  DenseMap<Operation *, NodeId> nodeOf;
  /// By node: the chunk; and the largest number of waits on a path through
  /// chunks to it, -1 if it is no chunk.
  std::vector<int64_t> indices;
  std::vector<int64_t> depths;
  /// By node: where it should be.
  std::vector<NodeId> places;
  llvm::IntEqClasses regions;
};

} // namespace

/// Finds out which operations are chunks, of which region, and how deep in it.
void ChunkOrder::findDepths() {
  indices.assign(count, 0);
  depths.assign(count, -1);
  regions.grow(count);
  llvm::DenseMap<StringAttr, NodeId> firstOf;
  for (NodeId node = 0; node < count; ++node) {
    Operation *op = block.getOperation(node);
    nodeOf[op] = node;
    std::optional<ChunkInfo> info = getChunkInfo(op);
    if (!info ||
        (info->part != ChunkPart::Chunk && info->part != ChunkPart::Ring))
      continue;
    indices[node] = info->index.value_or(0);
    depths[node] = 0;
    bool isRing = info->part == ChunkPart::Ring;
    // A step sends what the one before it has delivered.
    if (isRing && isa<CollectiveOpInterface>(op))
      --indices[node];
    regions.join(firstOf.try_emplace(info->of, node).first->second, node);
    for (Value operand : op->getOperands()) {
      Operation *definition = operand.getDefiningOp();
      auto it = definition ? nodeOf.find(definition) : nodeOf.end();
      if (it == nodeOf.end() || !isChunk(it->second))
        continue;
      if (!isRing)
        depths[node] = std::max(depths[node], depths[it->second]);
      regions.join(it->second, node);
    }
    if (!isRing)
      depths[node] += isa<WaitOpInterface>(op);
  }
  regions.compress();
}

/// Distributes the chunks of each region over the places that they have,
/// software-pipelined: what is behind the d-th wait of chunk c is in slot c +
/// d; of a ring, what is behind the wait of chunk c and the next step are in
/// slot c.
void ChunkOrder::placeChunks() {
  std::vector<std::vector<NodeId>> chunks(regions.getNumClasses());
  for (NodeId node = 0; node < count; ++node)
    if (isChunk(node))
      chunks[regions[node]].push_back(node);
  for (const std::vector<NodeId> &region : chunks) {
    std::vector<NodeId> pipelined = region;
    llvm::sort(pipelined, [&](NodeId a, NodeId b) {
      return std::tuple(depths[a] + indices[a], depths[a], a) <
             std::tuple(depths[b] + indices[b], depths[b], b);
    });
    for (auto [place, node] : llvm::zip(region, pipelined))
      places[node] = place;
  }
}

/// Keeps other operations where they are, or behind what they depend on.
void ChunkOrder::placeOthers() {
  for (NodeId node = 0; node < count; ++node) {
    if (isChunk(node))
      continue;
    places[node] = node;
    for (const schedule::DependenceEnd &end :
         block.getProblem().predecessors(node))
      places[node] = std::max(places[node], places[end.node]);
  }
}

/// The operations by their places, each behind all that it depends on.
schedule::Order ChunkOrder::emit() const {
  std::vector<NodeId> wanted(count);
  for (NodeId node = 0; node < count; ++node)
    wanted[node] = node;
  llvm::sort(wanted, [&](NodeId a, NodeId b) {
    return std::pair(places[a], a) < std::pair(places[b], b);
  });
  schedule::Order order;
  order.reserve(count);
  std::vector<char> isEmitted(count, false);
  SmallVector<std::pair<NodeId, size_t>> stack;
  for (NodeId root : wanted) {
    if (!isEmitted[root])
      stack.emplace_back(root, 0);
    while (!stack.empty()) {
      auto &[node, next] = stack.back();
      auto needed = block.getProblem().predecessors(node);
      while (next < needed.size() && isEmitted[needed[next].node])
        ++next;
      if (next < needed.size()) {
        stack.emplace_back(needed[next].node, 0);
        continue;
      }
      isEmitted[node] = true;
      order.push_back(node);
      stack.pop_back();
    }
  }
  return order;
}

schedule::Order ChunkOrder::find() {
  places.assign(count, 0);
  findDepths();
  placeChunks();
  placeOthers();
  return emit();
}

LogicalResult mlir::commsched::orderChunks(Block &block) {
  FailureOr<BlockProblem> problem =
      BlockProblem::create(block, StreamOrder::Free);
  if (failed(problem))
    return failure();
  problem->apply(ChunkOrder(*problem).find());
  return success();
}
