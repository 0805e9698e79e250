//===- RegionGraph.h - Operations and the axes that divide them -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The search behind SplitRegions. A node is an operation with an axis that is
// divided; two nodes are neighbours if one divides a value as the other one
// does. A *component* is what is reached from the axes of collectives; in one
// component an operation is divided along one axis only, the first that
// reaches it. A *piece* is a connected part of a stage of a component.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_ANALYSIS_SPLIT_REGIONGRAPH_H
#define COMMSCHED_LIB_ANALYSIS_SPLIT_REGIONGRAPH_H

#include "CommSched/Analysis/Split/SplitRegion.h"
#include "llvm/ADT/DenseMap.h"

#include <vector>

namespace mlir::commsched {

/// The value whose storage `value` is a view of, through views of views.
Value getViewedValue(Value value);

class RegionGraph {
public:
  static constexpr int32_t none = -1;

  struct Node {
    /// The index of the operation; of a collective, that of the start.
    int32_t op;
    AxisSplit split;
    int32_t component;
    int32_t stage = 0;
    /// The piece that it belongs to; none if it was trimmed.
    int32_t piece = none;
  };

  RegionGraph(Block &block, const SplitRegionOptions &options);

  size_t getNumOperations() const { return operations.size(); }
  Operation *getOperation(int32_t index) const { return operations[index]; }
  /// The index of an operation of the block; none for others.
  int32_t getIndex(Operation *op) const {
    auto it = indices.find(op);
    return it == indices.end() ? none : it->second;
  }
  /// The wait of the start at `index`; none for other operations.
  int32_t getWait(int32_t index) const { return partners[index]; }
  /// Whether the operation at `index` is a collective with a rule.
  bool isStart(int32_t index) const { return partners[index] != none; }
  bool isLarge(int32_t index) const { return large[index]; }
  /// What operations write in place, behind views.
  const DenseSet<Value> &getWritten() const { return written; }
  /// Whether a node is divided only so that no copy is needed beside a
  /// collective.
  bool isAbsorbed(int32_t node) const { return absorbed[node]; }
  /// The results of an operation; of a start, those of its wait.
  ValueRange getResults(int32_t op) const;

  ArrayRef<Node> getNodes() const { return nodes; }
  const SplitAxis &getAxis(int32_t node) const {
    return rules[nodes[node].op]->axes[nodes[node].split.axis];
  }
  /// The nodes of each piece, in program order. A piece has a collective and a
  /// large computation.
  ArrayRef<std::vector<int32_t>> getPieces() const { return pieces; }
  /// The nodes of axes of collectives, in program order.
  ArrayRef<int32_t> getSeeds() const { return seeds; }

  /// Calls `visit` with each node of the same piece that gives operands of
  /// `node`, or reads its results, in the same chunks. For a node that was
  /// trimmed, the others that were.
  void forEachDefinition(int32_t node, function_ref<void(int32_t)> visit) const;
  void forEachUser(int32_t node, function_ref<void(int32_t)> visit) const;

  /// Calls `visit` with each node of the same component and stage that gives
  /// operands of `node`, or reads its results, in the same chunks.
  void forEachGiver(int32_t node, function_ref<void(int32_t)> visit) const;
  void forEachReader(int32_t node, function_ref<void(int32_t)> visit) const;
  /// The node that reads with `use` the chunks that `giver` gives; none if the
  /// value is needed whole.
  int32_t findUser(OpOperand &use, int32_t giver) const;

private:
  const SplitRule *getRule(int32_t op);
  bool isDividable(int32_t op, const SplitAxis &axis) const;
  /// The operation of the block that gives `value` and has its node: of what a
  /// wait gives, the start.
  int32_t getOwner(Value value) const;

  void index(Block &block);
  void grow();
  void visit(int32_t op, std::optional<AxisSplit> split, int32_t component);
  int32_t findNode(int32_t op, int32_t component) const;
  /// The node of `component` that gives `value` in chunks of `split`.
  int32_t findGiver(Value value, ValueSplit split, int32_t component) const;

  void findStages();
  struct Label;
  using Labels = SmallVector<Label, 2>;
  int32_t getStage(int32_t node, ArrayRef<Labels> labels) const;
  void findPieces();
  std::vector<char> findKept() const;
  bool isReadByExpensive(int32_t node) const;
  void keepBeforeExpensive(ArrayRef<int32_t> order, ArrayRef<char> behind,
                           std::vector<char> &kept) const;
  bool isAbsorbable(int32_t node) const;
  int32_t skipViews(int32_t node, SmallVectorImpl<int32_t> &views) const;
  void absorb(std::vector<char> &kept);
  void keepTails(std::vector<char> &kept);

  bool allowSums;
  bool rings;
  std::vector<Operation *> operations;
  DenseMap<Operation *, int32_t> indices;
  /// Of a start its wait, and the reverse; none for other operations.
  std::vector<int32_t> partners;
  std::vector<char> isWait;
  std::vector<char> large;
  std::vector<std::optional<SplitRule>> rules;
  std::vector<char> isRuleKnown;
  std::vector<Node> nodes;
  /// Values that an operation writes in place, and what they are views of.
  DenseSet<Value> written;
  std::vector<SmallVector<int32_t, 1>> nodesOf;
  std::vector<int32_t> queue;
  std::vector<int32_t> seeds;
  int32_t numComponents = 0;
  std::vector<std::vector<int32_t>> pieces;
  /// By node.
  std::vector<char> absorbed;
};

/// Finds the exits that need no copy, and adds the values that they are views
/// of. `region` has its members and its other exits. Linear in the region and
/// in what reads its values, but for chains of views.
void findUncopiedExits(SplitRegion &region);

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_ANALYSIS_SPLIT_REGIONGRAPH_H
