//===- SplitRegion.cpp - Regions to compute in chunks ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/Analysis/Split/SplitRegion.h"

#include "CommSched/Analysis/Problem/Aliasing.h"
#include "CommSched/Analysis/Split/SplitSpecs.h"
#include "CommSched/Dialect/CommSchedAttributes.h"
#include "CommSched/Dialect/CommSchedDialect.h"
#include "RegionGraph.h"

#include <map>
#include <numeric>

using namespace mlir;
using namespace mlir::commsched;

/// Members of a nearest region; what is further away joins only the widest.
static constexpr size_t maxNearest = 256;

bool mlir::commsched::isLargeComputation(Operation *op, const SplitRule &rule) {
  if (isa<CollectiveOpInterface>(op))
    return false;
  if (auto cost = dyn_cast<CostOpInterface>(op); cost && cost.isExpensive())
    return true;
  return llvm::any_of(rule.axes, [](const SplitAxis &axis) {
    return axis.kind == SplitAxisKind::Sum && axis.operands.size() >= 2;
  });
}

bool mlir::commsched::hasLargeComputation(Block &block) {
  return llvm::any_of(block, [](Operation &op) {
    return !getUnsplittableReason(&op) &&
           isLargeComputation(&op, cast<SplitOpInterface>(op).getSplitRule());
  });
}

/// Whether `user` is a collective or makes views that one sends, behind at most
/// so many views in a row.
static bool isSent(Operation *user, int views = 8) {
  if (isa<CollectiveOpInterface>(user) || views == 0)
    return true;
  return isFreeView(user) && llvm::any_of(user->getUsers(), [&](Operation *op) {
           return isSent(op, views - 1);
         });
}

bool mlir::commsched::isSliceCopied(Value value, ValueSplit split,
                                    Operation *user) {
  // Operators of frameworks read blocks with strides.
  if (split.outer != 1 && !isa<ComputeOp>(user))
    return true;
  if (!isSent(user))
    return false;
  if (split.outer != 1)
    return true;
  ArrayRef<int64_t> shape = cast<ShapedType>(value.getType()).getShape();
  return llvm::any_of(shape.take_front(split.dim),
                      [](int64_t size) { return size != 1; });
}

const SplitMember *mlir::commsched::findUndivided(const SplitRegion &region,
                                                  int64_t count) {
  for (const SplitMember &member : region.members)
    if (getSplitLength(member.axis, member.blocks) % count != 0)
      return &member;
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Regions from nodes
//===----------------------------------------------------------------------===//

namespace {

/// Makes regions of sets of nodes.
class RegionBuilder {
public:
  RegionBuilder(const RegionGraph &graph, bool membersOnly)
      : graph(graph), membersOnly(membersOnly),
        written(std::make_shared<const DenseSet<Value>>(graph.getWritten())),
        memberOf(graph.getNumOperations(), RegionGraph::none) {}

  SplitRegion build(ArrayRef<int32_t> nodes, SplitExtent extent);

private:
  void addMembers(ArrayRef<int32_t> nodes);
  void addEntries();
  void addExits();
  void sign();
  /// The member that gives `value`; null for values from outside.
  const SplitMember *findGiver(Value value) const;
  int64_t getKind(Operation *op);

  const RegionGraph &graph;
  bool membersOnly;
  std::shared_ptr<const DenseSet<Value>> written;
  SplitRegion region;
  /// By operation of the block: its number among the members.
  std::vector<int32_t> memberOf;
  std::map<std::vector<const void *>, int64_t> kinds;
  std::map<std::vector<int64_t>, unsigned> signatures;
};

} // namespace

const SplitMember *RegionBuilder::findGiver(Value value) const {
  Operation *op = value.getDefiningOp();
  int32_t index = op ? graph.getIndex(op) : RegionGraph::none;
  if (index == RegionGraph::none || memberOf[index] == RegionGraph::none)
    return nullptr;
  return &region.members[memberOf[index]];
}

void RegionBuilder::addMembers(ArrayRef<int32_t> nodes) {
  for (int32_t id : nodes) {
    const RegionGraph::Node &node = graph.getNodes()[id];
    auto add = [&](int32_t index) {
      region.members.push_back({graph.getOperation(index), index,
                                node.split.axis, graph.getAxis(id),
                                node.split.blocks});
    };
    add(node.op);
    region.hasSums |= graph.getAxis(id).kind == SplitAxisKind::Sum;
    region.numLarge += graph.isLarge(node.op);
    if (graph.isStart(node.op)) {
      add(graph.getWait(node.op));
      if (isRingAxis(graph.getOperation(node.op), graph.getAxis(id)))
        region.ringSize = graph.getAxis(id).size;
      region.collectives.push_back(graph.getOperation(node.op));
    }
  }
  llvm::sort(region.members, [](const SplitMember &a, const SplitMember &b) {
    return a.index < b.index;
  });
  for (auto [number, member] : llvm::enumerate(region.members))
    memberOf[member.index] = static_cast<int32_t>(number);
  for (const SplitMember &member : region.members)
    region.length =
        std::gcd(region.length, getSplitLength(member.axis, member.blocks));
}

void RegionBuilder::addEntries() {
  std::map<std::tuple<const void *, int64_t, int64_t, bool>, size_t> known;
  for (auto [number, member] : llvm::enumerate(region.members))
    for (OpOperand &operand : member.op->getOpOperands()) {
      std::optional<ValueSplit> split =
          member.getOperandSplit(operand.getOperandNumber());
      if (!split)
        continue;
      Value value = operand.get();
      const SplitMember *giver = findGiver(value);
      if (giver && giver->getResultSplit(
                       cast<OpResult>(value).getResultNumber()) == split)
        continue;
      // Then a chunk in several pieces is equal to one that is contiguous.
      if (split->outer != 1 && hasEqualChunks(value, *split))
        split->outer = 1;
      bool isCopied = isSliceCopied(value, *split, member.op);
      auto [it, isNew] = known.try_emplace(
          {value.getAsOpaquePointer(), split->dim, split->outer, isCopied},
          region.entries.size());
      if (isNew)
        region.entries.push_back({value, *split, isCopied, {}});
      region.entries[it->second].uses.push_back(
          {static_cast<int32_t>(number), operand.getOperandNumber()});
    }
}

void RegionBuilder::addExits() {
  for (const SplitMember &member : region.members) {
    if (member.isStart())
      continue;
    for (OpResult result : member.op->getResults()) {
      std::optional<ValueSplit> split =
          member.getResultSplit(result.getResultNumber());
      bool isWhole = llvm::any_of(result.getUses(), [&](OpOperand &use) {
        int32_t user = graph.getIndex(use.getOwner());
        if (user == RegionGraph::none || memberOf[user] == RegionGraph::none)
          return true;
        return !split || region.members[memberOf[user]].getOperandSplit(
                             use.getOperandNumber()) != split;
      });
      if (isWhole)
        region.exits.push_back({result, split});
    }
  }
}

int64_t RegionBuilder::getKind(Operation *op) {
  std::vector<const void *> key = {
      op->getName().getAsOpaquePointer(),
      op->getPropertiesAsAttribute().getAsOpaquePointer(),
      op->getDiscardableAttr(runtimeNsAttrName).getAsOpaquePointer(),
      op->getDiscardableAttr(measuredNsAttrName).getAsOpaquePointer()};
  for (Type type : op->getOperandTypes())
    key.push_back(type.getAsOpaquePointer());
  key.push_back(nullptr);
  for (Type type : op->getResultTypes())
    key.push_back(type.getAsOpaquePointer());
  for (Region &nested : op->getRegions())
    nested.walk([&](Operation *inner) {
      key.push_back(inner->getName().getAsOpaquePointer());
      key.push_back(inner->getPropertiesAsAttribute().getAsOpaquePointer());
    });
  return kinds.try_emplace(std::move(key), kinds.size()).first->second;
}

void RegionBuilder::sign() {
  std::vector<int64_t> text;
  std::map<const void *, int64_t> outside;
  size_t nextExit = 0;
  for (const SplitMember &member : region.members) {
    text.push_back(getKind(member.op));
    text.push_back(member.axisIndex);
    text.push_back(member.blocks);
    for (Value operand : member.op->getOperands()) {
      // Members count from 0 up, values from outside from -1 down.
      if (const SplitMember *giver = findGiver(operand)) {
        text.push_back(giver - region.members.data());
        text.push_back(cast<OpResult>(operand).getResultNumber());
        continue;
      }
      auto number = -static_cast<int64_t>(outside.size()) - 1;
      text.push_back(outside.try_emplace(operand.getAsOpaquePointer(), number)
                         .first->second);
    }
    for (OpResult result : member.op->getResults()) {
      bool isExit = nextExit < region.exits.size() &&
                    region.exits[nextExit].value == result;
      nextExit += isExit;
      text.push_back(isExit);
    }
  }
  region.signature =
      signatures.try_emplace(std::move(text), signatures.size()).first->second;
}

SplitRegion RegionBuilder::build(ArrayRef<int32_t> nodes, SplitExtent extent) {
  region = {};
  region.extent = extent;
  region.length = 0;
  region.written = written;
  addMembers(nodes);
  if (!membersOnly) {
    addEntries();
    addExits();
    findUncopiedExits(region);
    sign();
  }
  for (const SplitMember &member : region.members)
    memberOf[member.index] = RegionGraph::none;
  return std::move(region);
}

//===----------------------------------------------------------------------===//
// Extents
//===----------------------------------------------------------------------===//

/// The nodes of the nearest region of the collective `seed`, in program order.
static std::vector<int32_t> findNearest(const RegionGraph &graph,
                                        int32_t seed) {
  const RegionGraph::Node &start = graph.getNodes()[seed];
  CollectiveKind kind =
      cast<CollectiveOpInterface>(graph.getOperation(start.op))
          .getCollectiveKind();
  std::vector<int32_t> found = {seed};
  DenseSet<int32_t> known = {seed};
  auto add = [&](int32_t node) {
    if (found.size() < maxNearest && known.insert(node).second)
      found.push_back(node);
  };
  auto isLarge = [&](int32_t node) {
    return graph.isLarge(graph.getNodes()[node].op);
  };
  if (kind != CollectiveKind::ReduceScatter)
    for (size_t next = 0; next < found.size(); ++next)
      if (!isLarge(found[next]))
        graph.forEachUser(found[next], add);
  if (kind != CollectiveKind::AllGather) {
    // Not from what the search forward has found.
    std::vector<int32_t> forward = std::exchange(found, {seed});
    for (size_t next = 0; next < found.size(); ++next)
      if (!isLarge(found[next]))
        graph.forEachDefinition(found[next], add);
    found.insert(found.end(), forward.begin() + 1, forward.end());
  }
  for (size_t next = 0; next < found.size(); ++next) {
    auto addAbsorbed = [&](int32_t node) {
      if (graph.isAbsorbed(node))
        add(node);
    };
    graph.forEachUser(found[next], addAbsorbed);
    graph.forEachDefinition(found[next], addAbsorbed);
  }
  // Free views behind large computations, so that these have fewer exits.
  for (size_t next = 0; next < found.size(); ++next) {
    Operation *op = graph.getOperation(graph.getNodes()[found[next]].op);
    if ((isLarge(found[next]) || isFreeView(op)) && op->hasOneUse())
      graph.forEachUser(found[next], [&](int32_t user) {
        if (isFreeView(graph.getOperation(graph.getNodes()[user].op)))
          add(user);
      });
  }
  llvm::sort(found, [&](int32_t a, int32_t b) {
    return graph.getNodes()[a].op < graph.getNodes()[b].op;
  });
  return found;
}

static bool hasLarge(const RegionGraph &graph, ArrayRef<int32_t> nodes) {
  return llvm::any_of(nodes, [&](int32_t node) {
    return graph.isLarge(graph.getNodes()[node].op);
  });
}

SplitRegions::SplitRegions(Block &block, const SplitRegionOptions &options)
    : options(options) {
  RegionGraph graph(block, options);
  RegionBuilder builder(graph, options.membersOnly);
  std::vector<int32_t> regionOfPiece(graph.getPieces().size(),
                                     RegionGraph::none);
  std::map<std::vector<int32_t>, int32_t> regionOfNodes;
  for (size_t index = 0; index < graph.getNumOperations(); ++index) {
    Operation *op = graph.getOperation(index);
    auto collective = dyn_cast<CollectiveOpInterface>(op);
    if (!collective || !collective.getInFlightFuture())
      continue;
    seedOf[op] = seeds.size();
    seeds.push_back({op, {}, {}, {}});
  }
  regions.reserve(2 * graph.getSeeds().size());
  for (int32_t id : graph.getSeeds()) {
    const RegionGraph::Node &node = graph.getNodes()[id];
    if (node.piece == RegionGraph::none)
      continue;
    Seed &seed = seeds[seedOf.lookup(graph.getOperation(node.op))];
    ArrayRef<int32_t> piece = graph.getPieces()[node.piece];
    std::vector<int32_t> nearest = findNearest(graph, id);
    bool isAll = nearest.size() == piece.size();
    if (hasLarge(graph, nearest)) {
      auto [it, isNew] = regionOfNodes.try_emplace(
          nearest, static_cast<int32_t>(regions.size()));
      if (isNew) {
        regions.push_back(builder.build(nearest, SplitExtent::Nearest));
        regions.back().isNearestAndWidest = isAll;
      }
      seed.nearest.push_back(it->second);
      if (isAll)
        regionOfPiece[node.piece] = it->second;
    }
    int32_t &widest = regionOfPiece[node.piece];
    if (widest == RegionGraph::none) {
      widest = static_cast<int32_t>(regions.size());
      regions.push_back(builder.build(piece, SplitExtent::Widest));
    }
    seed.widest.push_back(widest);
  }
  if (options.membersOnly)
    return;
  for (auto [number, region] : llvm::enumerate(regions)) {
    region.signature += options.firstSignature;
    bool isNearest = region.extent == SplitExtent::Nearest;
    for (const SplitMember &member : region.members) {
      if (isNearest)
        nearestOf.try_emplace(member.op, number);
      if (!isNearest || region.isNearestAndWidest)
        widestOf.try_emplace(member.op, number);
    }
  }
  for (Seed &seed : seeds) {
    auto hasMore = [&](int32_t a, int32_t b) {
      return regions[a].numLarge > regions[b].numLarge;
    };
    llvm::stable_sort(seed.nearest, hasMore);
    llvm::stable_sort(seed.widest, hasMore);
    for (int32_t region : seed.nearest)
      llvm::append_range(seed.stops, getStops(regions[region], /*limit=*/1));
    if (seed.nearest.empty() && seed.widest.empty())
      if (std::optional<std::string> reason =
              options.rings ? getRingObstacle(seed.start)
                            : getUnsplittableReason(seed.start))
        seed.stops.push_back({seed.start, seed.start, *reason});
  }
  // Where the search ended from collectives without a region.
  for (int32_t id : graph.getSeeds()) {
    Operation *start = graph.getOperation(graph.getNodes()[id].op);
    Seed &seed = seeds[seedOf.lookup(start)];
    if (seed.nearest.empty() && seed.widest.empty() && seed.stops.empty())
      llvm::append_range(seed.stops,
                         getSplitStops(builder.build(findNearest(graph, id),
                                                     SplitExtent::Nearest),
                                       options, /*limit=*/1));
  }
}
