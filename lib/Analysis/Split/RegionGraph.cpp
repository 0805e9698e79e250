//===- RegionGraph.cpp - Operations and the axes that divide them ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "RegionGraph.h"

#include "CommSched/Analysis/Problem/Aliasing.h"
#include "CommSched/Analysis/Problem/StorageAnalysis.h"
#include "CommSched/Analysis/Split/SplitRegion.h"
#include "CommSched/Dialect/CommSchedDialect.h"
#include "llvm/ADT/IntEqClasses.h"

using namespace mlir;
using namespace mlir::commsched;

/// Axes considered for one operation. Real programs divide an operation along
/// two or three.
static constexpr size_t maxNodesOfOperation = 8;

//===----------------------------------------------------------------------===//
// Storages
//===----------------------------------------------------------------------===//

Value mlir::commsched::getViewedValue(Value value) {
  // Chains of views are short; a longer one counts as a value of its own.
  constexpr int maxViews = 64;
  for (int view = 0; view < maxViews; ++view) {
    auto result = dyn_cast<OpResult>(value);
    Value viewed = result ? getAliasedValue(result) : Value();
    if (!viewed)
      break;
    value = viewed;
  }
  return value;
}

/// Calls `visit` with each operand that `op` writes in place.
static void forEachWritten(Operation *op, function_ref<void(Value)> visit) {
  auto effects = dyn_cast<MemoryEffectOpInterface>(op);
  if (!effects)
    return;
  for (OpOperand &operand : op->getOpOperands())
    if (isa<TensorType>(operand.get().getType()) &&
        effects.getEffectOnValue<MemoryEffects::Write>(operand.get()))
      visit(operand.get());
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

RegionGraph::RegionGraph(Block &block, const SplitRegionOptions &options)
    : allowSums(options.allowSums && !options.rings), rings(options.rings) {
  index(block);
  grow();
  findStages();
  findPieces();
}

void RegionGraph::index(Block &block) {
  for (Operation &op : getScheduledOperations(block)) {
    indices[&op] = static_cast<int32_t>(operations.size());
    operations.push_back(&op);
  }
  size_t count = operations.size();
  partners.assign(count, none);
  isWait.assign(count, false);
  large.assign(count, false);
  rules.resize(count);
  isRuleKnown.assign(count, false);
  nodesOf.resize(count);
  for (auto [index, op] : llvm::enumerate(operations)) {
    forEachWritten(op,
                   [&](Value value) { written.insert(getViewedValue(value)); });
    auto collective = dyn_cast<CollectiveOpInterface>(op);
    Operation *wait = collective ? collective.getWait() : nullptr;
    int32_t waitIndex = wait ? getIndex(wait) : none;
    if (waitIndex == none)
      continue;
    partners[index] = waitIndex;
    partners[waitIndex] = index;
    isWait[waitIndex] = true;
  }
  // Waits have no nodes of their own.
  for (size_t index = 0; index < count; ++index)
    if (isWait[index])
      isRuleKnown[index] = true;
}

const SplitRule *RegionGraph::getRule(int32_t index) {
  if (!isRuleKnown[index]) {
    isRuleKnown[index] = true;
    Operation *op = operations[index];
    if (rings && isa<CollectiveOpInterface>(op)) {
      if (std::optional<SplitAxis> axis = getRingAxis(op))
        rules[index] = SplitRule{{*axis}, {}};
    } else if (!getUnsplittableReason(op)) {
      rules[index] = cast<SplitOpInterface>(op).getSplitRule();
      large[index] = isLargeComputation(op, *rules[index]);
    }
  }
  return rules[index] ? &*rules[index] : nullptr;
}

bool RegionGraph::isDividable(int32_t op, const SplitAxis &axis) const {
  if (axis.kind == SplitAxisKind::Sum && !allowSums)
    return false;
  auto isDivided = [](Value value) {
    return isa<RankedTensorType>(value.getType());
  };
  ValueRange results = getResults(op);
  if (!llvm::all_of(axis.results, [&](const AxisPlace &place) {
        return isDivided(results[place.value]);
      }))
    return false;
  // The parts of a value that is overwritten would be read at another time.
  return llvm::all_of(axis.operands, [&](const AxisPlace &place) {
    Value value = operations[op]->getOperand(place.value);
    return isDivided(value) &&
           (written.empty() || !written.contains(getViewedValue(value)));
  });
}

int32_t RegionGraph::getOwner(Value value) const {
  Operation *op = value.getDefiningOp();
  int32_t index = op ? getIndex(op) : none;
  return index != none && isWait[index] ? partners[index] : index;
}

ValueRange RegionGraph::getResults(int32_t op) const {
  int32_t wait = partners[op];
  return operations[wait == none ? op : wait]->getResults();
}

//===----------------------------------------------------------------------===//
// Components
//===----------------------------------------------------------------------===//

int32_t RegionGraph::findNode(int32_t op, int32_t component) const {
  for (int32_t node : nodesOf[op])
    if (nodes[node].component == component)
      return node;
  return none;
}

void RegionGraph::visit(int32_t op, std::optional<AxisSplit> split,
                        int32_t component) {
  if (!split || nodesOf[op].size() >= maxNodesOfOperation)
    return;
  if (!isDividable(op, rules[op]->axes[split->axis]))
    return;
  for (int32_t node : nodesOf[op])
    if (nodes[node].component == component ||
        (nodes[node].split.axis == split->axis &&
         nodes[node].split.blocks == split->blocks))
      return;
  auto node = static_cast<int32_t>(nodes.size());
  nodes.push_back({op, *split, component});
  nodesOf[op].push_back(node);
  queue.push_back(node);
}

void RegionGraph::grow() {
  for (size_t start = 0; start < operations.size(); ++start) {
    if (partners[start] == none || isWait[start])
      continue;
    const SplitRule *rule = getRule(start);
    for (unsigned axis = 0; rule && axis < rule->axes.size(); ++axis) {
      if (rule->axes[axis].size < 2)
        continue;
      size_t first = queue.size();
      visit(start, AxisSplit{axis, 1}, numComponents);
      if (queue.size() == first)
        continue;
      ++numComponents;
      for (size_t next = first; next < queue.size(); ++next) {
        // Nodes move when new ones are added.
        Node node = nodes[queue[next]];
        const SplitAxis &divided = getAxis(queue[next]);
        Operation *op = operations[node.op];
        for (const AxisPlace &place : divided.operands) {
          Value value = op->getOperand(place.value);
          int32_t owner = getOwner(value);
          // The ranks of another gather may be in another order.
          bool isOtherRing = owner != none && rings && isStart(owner);
          if (owner != none && !isOtherRing && getRule(owner))
            visit(owner,
                  findAxisOfResult(
                      *rules[owner], cast<OpResult>(value).getResultNumber(),
                      {place.dim, place.outer * node.split.blocks}),
                  node.component);
        }
        ValueRange results = getResults(node.op);
        for (const AxisPlace &place : divided.results) {
          // The order of uses is not that of the program.
          SmallVector<std::pair<int32_t, unsigned>> uses;
          for (OpOperand &use : results[place.value].getUses())
            if (int32_t user = getIndex(use.getOwner()); user != none)
              uses.emplace_back(user, use.getOperandNumber());
          llvm::sort(uses);
          for (auto [user, operand] : uses)
            if (getRule(user))
              visit(user,
                    findAxisOfOperand(
                        *rules[user], operand,
                        {place.dim, place.outer * node.split.blocks}),
                    node.component);
        }
      }
    }
    if (rule)
      for (int32_t node : nodesOf[start])
        if (nodes[node].split.blocks == 1)
          seeds.push_back(node);
  }
}

//===----------------------------------------------------------------------===//
// Neighbours
//===----------------------------------------------------------------------===//

int32_t RegionGraph::findGiver(Value value, ValueSplit split,
                               int32_t component) const {
  int32_t owner = getOwner(value);
  int32_t giver = owner == none ? none : findNode(owner, component);
  if (giver == none)
    return none;
  std::optional<ValueSplit> given =
      getResultSplit(getAxis(giver), cast<OpResult>(value).getResultNumber(),
                     nodes[giver].split.blocks);
  return given == split ? giver : none;
}

void RegionGraph::forEachGiver(int32_t node,
                               function_ref<void(int32_t)> visit) const {
  const Node &user = nodes[node];
  for (const AxisPlace &place : getAxis(node).operands) {
    ValueSplit split = {place.dim, place.outer * user.split.blocks};
    int32_t giver = findGiver(operations[user.op]->getOperand(place.value),
                              split, user.component);
    if (giver != none && nodes[giver].stage == user.stage)
      visit(giver);
  }
}

void RegionGraph::forEachDefinition(int32_t node,
                                    function_ref<void(int32_t)> visit) const {
  forEachGiver(node, [&](int32_t giver) {
    if (nodes[giver].piece == nodes[node].piece)
      visit(giver);
  });
}

int32_t RegionGraph::findUser(OpOperand &use, int32_t giver) const {
  int32_t index = getIndex(use.getOwner());
  int32_t user = index == none ? none : findNode(index, nodes[giver].component);
  if (user == none || nodes[user].stage != nodes[giver].stage)
    return none;
  std::optional<ValueSplit> read = getOperandSplit(
      getAxis(user), use.getOperandNumber(), nodes[user].split.blocks);
  auto result = cast<OpResult>(use.get()).getResultNumber();
  return read && read == getResultSplit(getAxis(giver), result,
                                        nodes[giver].split.blocks)
             ? user
             : none;
}

void RegionGraph::forEachReader(int32_t node,
                                function_ref<void(int32_t)> visit) const {
  for (const AxisPlace &place : getAxis(node).results)
    for (OpOperand &use : getResults(nodes[node].op)[place.value].getUses())
      if (int32_t user = findUser(use, node); user != none)
        visit(user);
}

void RegionGraph::forEachUser(int32_t node,
                              function_ref<void(int32_t)> visit) const {
  forEachReader(node, [&](int32_t user) {
    if (nodes[user].piece == nodes[node].piece)
      visit(user);
  });
}

//===----------------------------------------------------------------------===//
// Stages
//===----------------------------------------------------------------------===//

/// What an operation depends on in a component: twice the latest stage, and one
/// more if the path from there leads through an operation outside.
struct RegionGraph::Label {
  int32_t component;
  int32_t level;
};

/// Labels of an operation. A program in which more components overlap gets
/// regions that are not the best.
static constexpr size_t maxLabels = 16;

int32_t RegionGraph::getStage(int32_t node, ArrayRef<Labels> labels) const {
  const Node &member = nodes[node];
  Operation *op = operations[member.op];
  int32_t stage = 0;
  auto add = [&](Value value, std::optional<ValueSplit> split) {
    Operation *definition = value.getDefiningOp();
    int32_t index = definition ? getIndex(definition) : none;
    if (index == none)
      return;
    for (const Label &label : labels[index]) {
      if (label.component != member.component)
        continue;
      bool isDirect = label.level % 2 == 0 && split &&
                      findGiver(value, *split, member.component) != none;
      stage = std::max(stage, label.level / 2 + (isDirect ? 0 : 1));
    }
  };
  for (OpOperand &operand : op->getOpOperands())
    add(operand.get(),
        getOperandSplit(getAxis(node), operand.getOperandNumber(),
                        member.split.blocks));
  if (op->getNumRegions() > 0)
    op->walk([&](Operation *inner) {
      if (inner != op)
        for (Value value : inner->getOperands())
          add(value, std::nullopt);
    });
  return stage;
}

void RegionGraph::findStages() {
  std::vector<int32_t> lastOf(numComponents, none);
  for (const Node &node : nodes)
    lastOf[node.component] = std::max(lastOf[node.component], node.op);
  std::vector<Labels> labels(operations.size());
  for (int32_t index = 0, end = operations.size(); index < end; ++index) {
    Labels &own = labels[index];
    auto raise = [&](int32_t component, int32_t level) {
      auto it = llvm::find_if(own, [&](const Label &label) {
        return label.component == component;
      });
      if (it != own.end())
        it->level = std::max(it->level, level);
      else if (own.size() < maxLabels && lastOf[component] > index)
        own.push_back({component, level});
    };
    int32_t owner = isWait[index] ? partners[index] : index;
    // Own labels first, so that they are never those that are left out.
    for (int32_t node : nodesOf[owner]) {
      if (!isWait[index])
        nodes[node].stage = getStage(node, labels);
      raise(nodes[node].component, 2 * nodes[node].stage);
    }
    auto inherit = [&](Value value) {
      Operation *definition = value.getDefiningOp();
      int32_t from = definition ? getIndex(definition) : none;
      if (from == none)
        return;
      for (const Label &label : labels[from])
        if (findNode(owner, label.component) == none)
          raise(label.component, label.level | 1);
    };
    operations[index]->walk([&](Operation *op) {
      for (Value operand : op->getOperands())
        inherit(operand);
    });
  }
}

//===----------------------------------------------------------------------===//
// Pieces
//===----------------------------------------------------------------------===//

/// Whether an expensive operation that is not divided with `node`, such as
/// attention, reads its results.
bool RegionGraph::isReadByExpensive(int32_t node) const {
  int32_t op = nodes[node].op;
  return !isStart(op) &&
         llvm::any_of(operations[op]->getUsers(), [&](Operation *user) {
           auto cost = dyn_cast<CostOpInterface>(user);
           int32_t index = cost ? getIndex(user) : none;
           return index != none && cost.isExpensive() &&
                  findNode(index, nodes[node].component) == none;
         });
}

/// Keeps computation between what is useful and an expensive operation at which
/// the region ends: the expensive one has to wait for all chunks, but all
/// except the last ones run while others are communicated. `order` is that of
/// the program; `behind` says what has something useful before it.
void RegionGraph::keepBeforeExpensive(ArrayRef<int32_t> order,
                                      ArrayRef<char> behind,
                                      std::vector<char> &kept) const {
  // By node: whether the way leads through it, and whether what is kept of the
  // way reads it. The views at its end are free undivided.
  std::vector<char> isOnWay(nodes.size(), false), isRead(nodes.size(), false);
  for (int32_t node : llvm::reverse(order)) {
    if (!isOnWay[node] && !isReadByExpensive(node))
      continue;
    bool keeps = behind[node] &&
                 (isRead[node] || !isFreeView(operations[nodes[node].op]));
    kept[node] = kept[node] || keeps;
    forEachGiver(node, [&](int32_t giver) {
      isOnWay[giver] = true;
      isRead[giver] = isRead[giver] || keeps;
    });
  }
}

/// The nodes that are worth dividing: collectives, large computations, what is
/// between such, free views directly behind large computations, and what leads
/// to an expensive operation that is not divided.
std::vector<char> RegionGraph::findKept() const {
  size_t count = nodes.size();
  // Nodes are numbered in the order of the search.
  std::vector<int32_t> order(count);
  for (size_t node = 0; node < count; ++node)
    order[node] = static_cast<int32_t>(node);
  llvm::sort(order, [&](int32_t a, int32_t b) {
    return std::pair(nodes[a].op, a) < std::pair(nodes[b].op, b);
  });
  auto isUseful = [&](int32_t node) {
    return isStart(nodes[node].op) || large[nodes[node].op];
  };
  std::vector<char> behind(count, false), before(count, false);
  std::vector<char> kept(count, false);
  for (int32_t node : order) {
    behind[node] = isUseful(node);
    forEachGiver(node, [&](int32_t giver) {
      behind[node] = behind[node] || behind[giver];
    });
  }
  for (int32_t node : llvm::reverse(order)) {
    before[node] = before[node] || isUseful(node);
    if (before[node])
      forEachGiver(node, [&](int32_t giver) { before[giver] = true; });
  }
  for (int32_t node : order) {
    kept[node] = behind[node] && before[node];
    Operation *op = operations[nodes[node].op];
    if (kept[node] || !isFreeView(op))
      continue;
    // Dividing a view makes none of the exits larger if nothing else reads what
    // it views.
    forEachGiver(node, [&](int32_t giver) {
      Operation *from = operations[nodes[giver].op];
      bool isBehindLarge = large[nodes[giver].op] || isFreeView(from);
      kept[node] =
          kept[node] || (kept[giver] && isBehindLarge && from->hasOneUse());
    });
  }
  keepBeforeExpensive(order, behind, kept);
  return kept;
}

/// Whether dividing a node costs nothing where chunks come or go: its chunks
/// read parts of values, and are written into parts.
bool RegionGraph::isAbsorbable(int32_t node) const {
  Operation *op = operations[nodes[node].op];
  auto isStatic = [](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor && tensor.hasStaticShape();
  };
  return isa<ComputeOp>(op) && !isFreeView(op) && op->getNumResults() == 1 &&
         getAxis(node).kind == SplitAxisKind::Parallel &&
         llvm::all_of(getAxis(node).operands,
                      [&](const AxisPlace &place) {
                        return isStatic(op->getOperandTypes()[place.value]);
                      }) &&
         isStatic(op->getResult(0).getType());
}

/// The node that the views behind which `node` is are made of, if nothing else
/// reads them; `node` itself if it is no such view.
int32_t RegionGraph::skipViews(int32_t node,
                               SmallVectorImpl<int32_t> &views) const {
  while (isFreeView(operations[nodes[node].op]) &&
         operations[nodes[node].op]->hasOneUse()) {
    int32_t viewed = none;
    forEachGiver(node, [&](int32_t giver) { viewed = giver; });
    if (viewed == none)
      break;
    views.push_back(node);
    node = viewed;
  }
  return node;
}

/// Keeps what alone reads what a collective delivers, and what alone computes
/// what one sends, if chunks would be copied there otherwise.
void RegionGraph::absorb(std::vector<char> &kept) {
  absorbed.assign(nodes.size(), false);
  auto keep = [&](int32_t node, ArrayRef<int32_t> views) {
    for (int32_t added : views)
      absorbed[added] = !kept[added];
    absorbed[node] = true;
  };
  auto count = static_cast<int32_t>(nodes.size());
  for (int32_t node = 0; node < count; ++node) {
    if (!kept[node] && isAbsorbable(node))
      forEachGiver(node, [&](int32_t giver) {
        SmallVector<int32_t, 4> views;
        int32_t from = skipViews(giver, views);
        if (kept[from] && isStart(nodes[from].op) &&
            operations[partners[nodes[from].op]]->hasOneUse())
          keep(node, views);
      });
    if (!kept[node] || !isStart(nodes[node].op))
      continue;
    Operation *start = operations[nodes[node].op];
    std::optional<ValueSplit> split =
        getOperandSplit(getAxis(node), 0, nodes[node].split.blocks);
    auto sent = dyn_cast<RankedTensorType>(start->getOperand(0).getType());
    if (split && sent && sent.hasStaticShape() &&
        isSliceCopied(start->getOperand(0), *split, start))
      forEachGiver(node, [&](int32_t giver) {
        SmallVector<int32_t, 4> views;
        int32_t from = skipViews(giver, views);
        if (!kept[from] && isAbsorbable(from) &&
            operations[nodes[from].op]->hasOneUse())
          keep(from, views);
      });
  }
  for (int32_t node = 0; node < count; ++node)
    kept[node] = kept[node] || absorbed[node];
}

void RegionGraph::findPieces() {
  std::vector<char> kept = findKept();
  absorb(kept);
  keepTails(kept);
  llvm::IntEqClasses classes(nodes.size());
  auto count = static_cast<int32_t>(nodes.size());
  for (int32_t node = 0; node < count; ++node)
    if (kept[node])
      forEachGiver(node, [&](int32_t giver) {
        if (kept[giver])
          classes.join(node, giver);
      });
  classes.compress();
  std::vector<std::vector<int32_t>> found(classes.getNumClasses());
  for (int32_t node = 0; node < count; ++node)
    if (kept[node])
      found[classes[node]].push_back(node);
  for (std::vector<int32_t> &piece : found) {
    auto isCollective = [&](int32_t node) { return isStart(nodes[node].op); };
    auto isLargeNode = [&](int32_t node) { return isLarge(nodes[node].op); };
    if (llvm::none_of(piece, isCollective) || llvm::none_of(piece, isLargeNode))
      continue;
    llvm::sort(piece,
               [&](int32_t a, int32_t b) { return nodes[a].op < nodes[b].op; });
    for (int32_t node : piece)
      nodes[node].piece = static_cast<int32_t>(pieces.size());
    pieces.push_back(std::move(piece));
  }
}
