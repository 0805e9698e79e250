//===- RandomJointGraph.cpp - Random joint graphs -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "../Testing.h"
#include "TestGraphs.h"

#include <gtest/gtest.h>
#include <vector>

using namespace mlir::commsched;
using namespace mlir::commsched::partition;
using namespace mlir::commsched::testing;
using namespace mlir::commsched::partition::testing;

namespace {

class Builder {
public:
  Builder(uint32_t seed, const RandomJointOptions &options)
      : random(seed), options(options) {}

  JointGraph build();

private:
  using Values = std::vector<NodeId>;

  NodeId addNode(const JointNode &node, bool needsTangent);
  void addArguments(JointNodeKind kind, int32_t count, Values &values);
  JointNode drawOperation();
  int64_t drawBytes();
  Values drawOperands(bool isBackward);
  NodeId pick(const Values &values);
  void addOperation(bool isBackward);
  void addView(const Values &operands, Values &values);
  void addStart(const Values &operands, Values &pending);
  void addWait(Values &pending, Values &values);
  void addResults(NodeId operation, Values &values);
  void drawPolicy(JointNode &node);
  void drawTag(JointNode &node, bool isBackward);
  void touchMemory(NodeId operation);

  Random random;
  const RandomJointOptions &options;
  JointGraph graph;
  int32_t numStorages = 0;
  /// The values that the operations of either half may read.
  Values forwardValues;
  Values gradients;
  /// Starts without a wait.
  Values pendingForward;
  Values pendingBackward;
  /// By node: whether it depends on a tangent, or is kept in the backward.
  std::vector<char> isBackwardOnly;
  NodeId lastPinned = noNode;
};

} // namespace

NodeId Builder::addNode(const JointNode &node, bool needsTangent) {
  isBackwardOnly.push_back(
      needsTangent || node.tag == PartitionTag::MustBeBackward ||
      (node.isPinned && node.tag == PartitionTag::Backward));
  return graph.addNode(node);
}

int64_t Builder::drawBytes() {
  return random.percent(20) ? random.below(4) : 4 * random.below(1000);
}

void Builder::addArguments(JointNodeKind kind, int32_t count, Values &values) {
  for (int32_t i = 0; i < count; ++i) {
    JointNode node;
    node.kind = kind;
    node.isSaveable = true;
    node.isStatic = kind == JointNodeKind::Primal && random.percent(60);
    node.bytes = drawBytes();
    node.storage = numStorages++;
    values.push_back(addNode(node, isBackwardArgument(kind)));
  }
}

NodeId Builder::pick(const Values &values) {
  // Mostly what was made last: chains, with a few long ways.
  auto size = static_cast<int32_t>(values.size());
  int32_t window = random.percent(60) ? std::min(size, 4) : size;
  return values[size - 1 - random.below(window)];
}

Builder::Values Builder::drawOperands(bool isBackward) {
  Values operands;
  // Of gradients, some are computed of the forward's values alone.
  if (isBackward && !random.percent(8))
    operands.push_back(pick(gradients));
  int32_t numOthers = isBackward ? random.below(3) : 1 + random.below(2);
  for (int32_t i = 0; i < numOthers; ++i)
    operands.push_back(pick(forwardValues));
  if (random.percent(5) && !operands.empty())
    operands.push_back(operands[0]);
  return operands;
}

void Builder::drawPolicy(JointNode &node) {
  if (!random.percent(options.policyPercent))
    return;
  node.policy = static_cast<RecomputePolicy>(1 + random.below(4));
  node.region = random.below(3);
}

void Builder::drawTag(JointNode &node, bool isBackward) {
  if (!random.percent(options.tagPercent))
    return;
  bool isHard = random.percent(50);
  if (isBackward)
    node.tag = isHard ? PartitionTag::MustBeBackward : PartitionTag::Backward;
  else
    node.tag = isHard ? PartitionTag::MustBeForward : PartitionTag::Forward;
}

JointNode Builder::drawOperation() {
  static constexpr OperatorClass classes[] = {OperatorClass::Pointwise,
                                              OperatorClass::Pointwise,
                                              OperatorClass::Pointwise,
                                              OperatorClass::Reduction,
                                              OperatorClass::DataMovement,
                                              OperatorClass::Concatenation,
                                              OperatorClass::ComputeIntensive,
                                              OperatorClass::ComputeIntensive,
                                              OperatorClass::Other,
                                              OperatorClass::Constant};
  JointNode node;
  node.operatorClass = classes[random.below(std::size(classes))];
  if (random.percent(options.randomPercent))
    node.operatorClass = OperatorClass::Random;
  bool isExpensive = node.operatorClass == OperatorClass::ComputeIntensive;
  node.cost = random.below(isExpensive ? 10000 : 100);
  node.isSaveable = true;
  node.bytes = drawBytes();
  drawPolicy(node);
  return node;
}

void Builder::addView(const Values &operands, Values &values) {
  JointNode node;
  node.operatorClass = OperatorClass::View;
  node.isSaveable = true;
  node.bytes = graph[operands[0]].bytes;
  node.storage = graph[operands[0]].storage;
  drawPolicy(node);
  NodeId view = addNode(node, isBackwardOnly[operands[0]]);
  graph.addUse(operands[0], view);
  values.push_back(view);
}

void Builder::addStart(const Values &operands, Values &pending) {
  JointNode node;
  node.operatorClass = OperatorClass::Collective;
  node.cost = 100 + random.below(1000);
  drawPolicy(node);
  NodeId start = addNode(node, isBackwardOnly[operands[0]]);
  graph.addUse(operands[0], start);
  pending.push_back(start);
}

void Builder::addWait(Values &pending, Values &values) {
  int32_t place = random.below(static_cast<int64_t>(pending.size()));
  NodeId start = pending[place];
  pending.erase(pending.begin() + place);
  JointNode node;
  node.operatorClass = OperatorClass::Collective;
  node.policy = graph[start].policy;
  node.region = graph[start].region;
  node.isSaveable = random.percent(90);
  if (node.isSaveable) {
    node.bytes = drawBytes();
    node.storage = numStorages++;
  }
  NodeId wait = addNode(node, isBackwardOnly[start]);
  graph.addUse(start, wait);
  if (node.isSaveable)
    values.push_back(wait);
  else
    addResults(wait, values);
}

void Builder::addResults(NodeId operation, Values &values) {
  for (int32_t count = 1 + random.below(3); count > 0; --count) {
    JointNode node = graph[operation];
    node.kind = JointNodeKind::Result;
    node.isSaveable = !random.percent(5);
    node.isPinned = false;
    node.bytes = drawBytes();
    node.cost = 0;
    node.storage = numStorages++;
    NodeId result = addNode(node, isBackwardOnly[operation]);
    graph.addUse(operation, result);
    // A value that no half can return still is an operand.
    values.push_back(result);
  }
}

/// Orders a pinned operation after the last one, and after another operation
/// now and then.
void Builder::touchMemory(NodeId operation) {
  if (lastPinned != noNode &&
      (!isBackwardOnly[lastPinned] || isBackwardOnly[operation]))
    graph.addMemoryOrder(lastPinned, operation);
  lastPinned = operation;
  NodeId other = random.below(operation);
  if (random.percent(30) && graph[other].kind == JointNodeKind::Operation &&
      (!isBackwardOnly[other] || isBackwardOnly[operation]))
    graph.addMemoryOrder(other, operation);
}

void Builder::addOperation(bool isBackward) {
  Values &values = isBackward ? gradients : forwardValues;
  Values &pending = isBackward ? pendingBackward : pendingForward;
  if (!pending.empty() && random.percent(30))
    return addWait(pending, values);
  Values operands = drawOperands(isBackward);
  if (!operands.empty() && random.percent(options.viewPercent))
    return addView(operands, values);
  if (!operands.empty() && random.percent(options.collectivePercent))
    return addStart(operands, pending);

  JointNode node = drawOperation();
  if (node.operatorClass == OperatorClass::Constant)
    operands.clear();
  bool needsTangent = false;
  for (NodeId operand : operands)
    needsTangent |= isBackwardOnly[operand] != 0;
  drawTag(node, isBackward || needsTangent);
  node.isPinned = random.percent(options.memoryPercent);
  bool hasSeveral = random.percent(options.severalResultsPercent);
  if (hasSeveral) {
    node.isSaveable = false;
    node.bytes = 0;
  } else {
    node.storage = numStorages++;
  }
  NodeId operation = addNode(node, needsTangent);
  for (NodeId operand : operands)
    graph.addUse(operand, operation);
  if (node.isPinned)
    touchMemory(operation);
  // Operands of the forward do not depend on the backward.
  Values &into = isBackwardOnly[operation] ? gradients : values;
  if (hasSeveral)
    addResults(operation, into);
  else
    into.push_back(operation);
}

JointGraph Builder::build() {
  addArguments(JointNodeKind::Primal, 1 + random.below(options.maxPrimals),
               forwardValues);
  int32_t numForwardResults = 1 + random.below(3);
  addArguments(JointNodeKind::Tangent, numForwardResults, gradients);
  addArguments(JointNodeKind::BackwardSeed, random.below(2), gradients);
  int32_t numForward = random.below(options.maxForwardOperations + 1);
  for (int32_t i = 0; i < numForward; ++i)
    addOperation(/*isBackward=*/false);
  while (!pendingForward.empty())
    addWait(pendingForward, forwardValues);
  for (int32_t i = 0; i < numForwardResults; ++i)
    graph.addForwardResult(pick(forwardValues));

  int32_t numBackward = random.below(options.maxBackwardOperations + 1);
  for (int32_t i = 0; i < numBackward; ++i)
    addOperation(/*isBackward=*/!random.percent(6));
  while (!pendingForward.empty())
    addWait(pendingForward, forwardValues);
  while (!pendingBackward.empty())
    addWait(pendingBackward, gradients);
  for (int32_t count = random.below(4); count > 0; --count)
    graph.addBackwardResult(
        pick(random.percent(8) ? forwardValues : gradients));
  if (Status status = graph.finalize(); !status)
    ADD_FAILURE() << status.error();
  return std::move(graph);
}

JointGraph
partition::testing::makeRandomJointGraph(uint32_t seed,
                                         const RandomJointOptions &options) {
  return Builder(seed, options).build();
}
