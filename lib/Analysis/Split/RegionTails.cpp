//===- RegionTails.cpp - What is cheap behind the last collective ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A region ends where its values have the fewest bytes: what experts return is
// six times the sum of it that each token gets. The operations up to there are
// cheap, and they hide the next chunk of the collective as well.
//===----------------------------------------------------------------------===//

#include "RegionGraph.h"

#include "mlir/IR/BuiltinTypes.h"

#include <set>

using namespace mlir;
using namespace mlir::commsched;

/// Operations behind a collective that are looked at.
static constexpr size_t maxTail = 16;

namespace {

/// The operations behind one collective, in program order, as far as they
/// divide like what it delivers.
class Tail {
public:
  Tail(const RegionGraph &graph, ArrayRef<char> kept, int32_t start)
      : graph(graph), kept(kept), found({start}) {}

  /// The first nodes of it, behind which the fewest bytes leave the region.
  ArrayRef<int32_t> findShortest();

private:
  bool isInside(int32_t node) const { return llvm::is_contained(found, node); }
  bool leaves(OpOperand &use, int32_t giver) const;
  int64_t countBytes() const;
  bool canAdd(int32_t node) const;

  const RegionGraph &graph;
  ArrayRef<char> kept;
  SmallVector<int32_t, maxTail> found;
};

} // namespace

/// Whether `use`, of what `giver` gives, reads it whole, and would not if the
/// region ended elsewhere: what the block returns is whole in any case. What is
/// absorbed alone may be where the region ends.
bool Tail::leaves(OpOperand &use, int32_t giver) const {
  Operation *op = use.getOwner();
  if (op->hasTrait<OpTrait::IsTerminator>())
    return false;
  int32_t user = graph.findUser(use, giver);
  return user == RegionGraph::none ||
         !(isInside(user) || (kept[user] && !graph.isAbsorbed(user)));
}

int64_t Tail::countBytes() const {
  int64_t total = 0;
  for (int32_t node : found)
    for (Value result : graph.getResults(graph.getNodes()[node].op))
      if (llvm::any_of(result.getUses(),
                       [&](OpOperand &use) { return leaves(use, node); }))
        total += getStaticBytes(getSizedType(result)).value_or(0);
  return total;
}

/// Whether a node reads no chunks but those of the tail, and parts of other
/// values that need no copy.
bool Tail::canAdd(int32_t node) const {
  const RegionGraph::Node &added = graph.getNodes()[node];
  Operation *op = graph.getOperation(added.op);
  if (graph.isStart(added.op) || graph.isLarge(added.op) ||
      graph.getAxis(node).kind != SplitAxisKind::Parallel)
    return false;
  bool isJoint = false;
  SmallVector<Value, 4> given;
  graph.forEachGiver(node, [&](int32_t giver) {
    isJoint |= kept[giver] && !isInside(giver);
    if (isInside(giver))
      llvm::append_range(given, graph.getResults(graph.getNodes()[giver].op));
  });
  if (isJoint)
    return false;
  return llvm::all_of(
      graph.getAxis(node).operands, [&](const AxisPlace &place) {
        Value value = op->getOperand(place.value);
        ValueSplit split = {place.dim, place.outer * added.split.blocks};
        return llvm::is_contained(given, value) ||
               (cast<RankedTensorType>(value.getType()).hasStaticShape() &&
                !isSliceCopied(value, split, op));
      });
}

ArrayRef<int32_t> Tail::findShortest() {
  size_t bestSize = found.size();
  int64_t bestBytes = countBytes();
  std::set<std::pair<int32_t, int32_t>> next;
  auto addUsers = [&](int32_t node) {
    graph.forEachReader(node, [&](int32_t user) {
      if (!kept[user] || graph.isAbsorbed(user))
        next.insert({graph.getNodes()[user].op, user});
    });
  };
  addUsers(found.front());
  while (!next.empty() && found.size() < maxTail) {
    int32_t node = next.begin()->second;
    next.erase(next.begin());
    if (isInside(node) || (!kept[node] && !canAdd(node)))
      continue;
    found.push_back(node);
    addUsers(node);
    if (int64_t bytes = countBytes(); bytes < bestBytes) {
      bestBytes = bytes;
      bestSize = found.size();
    }
  }
  return ArrayRef<int32_t>(found).take_front(bestSize);
}

void RegionGraph::keepTails(std::vector<char> &kept) {
  auto count = static_cast<int32_t>(nodes.size());
  for (int32_t node = 0; node < count; ++node) {
    if (!kept[node] || !isStart(nodes[node].op))
      continue;
    Tail tail(*this, kept, node);
    for (int32_t added : tail.findShortest().drop_front()) {
      absorbed[added] = absorbed[added] || !kept[added];
      kept[added] = true;
    }
  }
}
