//===- Classification.cpp - Needs of forward and backward -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/Partition/Classification.h"
#include "CommSched/Partition/MinCut.h"

#include <algorithm>
#include <utility>

using namespace mlir::commsched;
using namespace mlir::commsched::partition;

bool partition::isKeptInForward(const JointNode &node) {
  if (node.tag == PartitionTag::MustBeForward)
    return true;
  return node.isPinned && node.tag != PartitionTag::Backward &&
         node.tag != PartitionTag::MustBeBackward;
}

bool partition::isKeptInBackward(const JointNode &node) {
  return node.tag == PartitionTag::MustBeBackward ||
         (node.isPinned && node.tag == PartitionTag::Backward);
}

bool partition::isOnlyInBackward(const JointNode &node) {
  return isBackwardArgument(node.kind) || isKeptInBackward(node);
}

const char *partition::whyOnlyInBackward(const JointNode &node) {
  switch (node.kind) {
  case JointNodeKind::Tangent:
    return "is a tangent, which only the backward has";
  case JointNodeKind::BackwardSeed:
    return "is a random state that only the backward has";
  default:
    return "has to be in the backward";
  }
}

namespace {

class Classifier {
public:
  explicit Classifier(const JointGraph &graph) : graph(graph) {}

  PartitionResult<Classification> run() {
    findTangentUsers();
    if (std::optional<PartitionConflict> conflict = findForward())
      return *conflict;
    findBackward();
    measureDistances();
    findGatheredParameters();
    return std::move(result);
  }

private:
  void findTangentUsers();
  std::optional<PartitionConflict> findForward();
  PartitionConflict explain(NodeId node, std::string why) const;
  void findBackward();
  void measureDistances();
  void findGatheredParameters();

  const JointGraph &graph;
  Classification result;
  /// By node that needs a tangent: the first thing of the backward that it
  /// needs, for messages.
  std::vector<NodeId> origins;
};

} // namespace

void Classifier::findTangentUsers() {
  result.needsTangent.assign(graph.size(), 0);
  origins.assign(graph.size(), noNode);
  for (NodeId node = 0; node < graph.size(); ++node) {
    if (isOnlyInBackward(graph[node]))
      origins[node] = node;
    else
      for (NodeId operand : graph.getOperands(node))
        if (origins[node] == noNode)
          origins[node] = origins[operand];
    result.needsTangent[node] = origins[node] != noNode;
  }
}

/// `node`, which belongs to the forward because of `why`, needs what only the
/// backward has.
PartitionConflict Classifier::explain(NodeId node, std::string why) const {
  NodeId origin = origins[node];
  const char *what = whyOnlyInBackward(graph[origin]);
  if (origin == node)
    return {node, why + ", but " + what, noNode, "", noNode};
  NodeId user = node, read = node;
  while (read != origin) {
    user = read;
    ArrayView<NodeId> operands = graph.getOperands(user);
    read = *std::find_if(operands.begin(), operands.end(), [&](NodeId operand) {
      return origins[operand] == origin;
    });
  }
  return {node, why + ", but needs what only the backward has", origin, what,
          user == node ? noNode : user};
}

std::optional<PartitionConflict> Classifier::findForward() {
  std::vector<char> &required = result.requiredForward;
  required.assign(graph.size(), 0);
  for (NodeId value : graph.getForwardResults()) {
    required[value] = 1;
    if (result.needsTangent[value])
      return explain(value, "is a result of the forward");
  }
  for (NodeId node = graph.size() - 1; node >= 0; --node) {
    if (graph[node].kind == JointNodeKind::Primal)
      required[node] = 1;
    if (isKeptInForward(graph[node])) {
      // An effect without a tag belongs where its operands are.
      if (!result.needsTangent[node])
        required[node] = 1;
      else if (graph[node].tag == PartitionTag::MustBeForward)
        return explain(node, "has to be in the forward");
    }
    if (required[node])
      for (NodeId operand : graph.getOperands(node))
        required[operand] = 1;
  }
  int32_t numForward = 0;
  result.forwardOrder.assign(graph.size(), -1);
  for (NodeId node = 0; node < graph.size(); ++node)
    if (required[node])
      result.forwardOrder[node] = numForward++;
  return std::nullopt;
}

void Classifier::findBackward() {
  result.requiredBackward = result.needsTangent;
  for (NodeId value : graph.getBackwardResults())
    result.requiredBackward[value] = 1;
}

void Classifier::measureDistances() {
  std::vector<int32_t> &distance = result.distanceToBackward;
  distance.assign(graph.size(), Classification::far);
  for (NodeId node = graph.size() - 1; node >= 0; --node) {
    if (!result.requiredForward[node])
      distance[node] = 0;
    else
      for (NodeId user : graph.getUsers(node))
        distance[node] = std::min(distance[node], distance[user] + 1);
  }
}

void Classifier::findGatheredParameters() {
  std::vector<char> fromParameters(graph.size(), 0);
  result.isGatheredParameter.assign(graph.size(), 0);
  for (NodeId node = 0; node < graph.size(); ++node) {
    const JointNode &data = graph[node];
    if (graph.isArgument(node)) {
      fromParameters[node] = data.isStatic;
      continue;
    }
    // A product of two parameters is computation, not a parameter.
    if (data.isPinned || data.operatorClass == OperatorClass::Random ||
        data.operatorClass == OperatorClass::ComputeIntensive)
      continue;
    bool gathered = data.operatorClass == OperatorClass::Collective;
    bool derived = data.operatorClass == OperatorClass::Constant ||
                   !graph.getOperands(node).empty();
    for (NodeId operand : graph.getOperands(node)) {
      derived &= fromParameters[operand] != 0;
      gathered |= result.isGatheredParameter[operand] != 0;
    }
    fromParameters[node] = derived;
    result.isGatheredParameter[node] = derived && gathered;
  }
}

PartitionResult<Classification> partition::classify(const JointGraph &graph) {
  return Classifier(graph).run();
}

//===----------------------------------------------------------------------===//
// Recomputation policies
//===----------------------------------------------------------------------===//

namespace {

class PolicySettler {
public:
  PolicySettler(JointGraph &graph, const Classification &classes)
      : graph(graph), classes(classes) {}

  void joinCollectives();
  void settleResults();
  void saveBetweenRegions();
  void repeatGathers(bool onlyFree);

private:
  bool isCollective(NodeId node) const {
    return graph[node].operatorClass == OperatorClass::Collective &&
           graph[node].kind == JointNodeKind::Operation;
  }

  JointGraph &graph;
  const Classification &classes;
};

} // namespace

NodeId partition::findMarkedForRecomputation(const JointGraph &graph) {
  for (NodeId node = 0; node < graph.size(); ++node)
    if (graph[node].policy == RecomputePolicy::PreferRecompute ||
        graph[node].policy == RecomputePolicy::MustRecompute)
      return node;
  return noNode;
}

void PolicySettler::joinCollectives() {
  for (NodeId wait = 0; wait < graph.size(); ++wait) {
    if (!isCollective(wait))
      continue;
    for (NodeId start : graph.getOperands(wait)) {
      if (!isCollective(start) || graph[start].isSaveable)
        continue;
      if (graph[start].policy == RecomputePolicy::None)
        graph[start].policy = graph[wait].policy;
      else if (graph[wait].policy == RecomputePolicy::None)
        graph[wait].policy = graph[start].policy;
      // The token of a start cannot be saved, the result of its wait can.
      if (graph[start].policy == RecomputePolicy::MustSave &&
          graph[wait].policy != RecomputePolicy::MustRecompute)
        graph[start].policy = RecomputePolicy::None;
    }
  }
}

void PolicySettler::settleResults() {
  for (NodeId node = 0; node < graph.size(); ++node) {
    if (graph[node].kind != JointNodeKind::Result)
      continue;
    const JointNode &operation = graph[graph.getOperation(node)];
    // One of several results knows nothing of what its operation draws or
    // writes.
    bool isRefused = operation.policy == RecomputePolicy::PreferRecompute &&
                     !isToBeRecomputed(operation);
    graph[node].policy = isRefused ? RecomputePolicy::None : operation.policy;
  }
}

void PolicySettler::saveBetweenRegions() {
  for (NodeId node = 0; node < graph.size(); ++node) {
    if (!isToBeRecomputed(graph[node]) || graph[node].region < 0 ||
        !graph[node].isSaveable || classes.isGatheredParameter[node])
      continue;
    for (NodeId user : graph.getUsers(node))
      if (isToBeRecomputed(graph[user]) &&
          graph[user].region > graph[node].region) {
        graph[node].policy = RecomputePolicy::MustSave;
        break;
      }
  }
}

void PolicySettler::repeatGathers(bool onlyFree) {
  // By node: whether a gather that it is computed from is done again.
  std::vector<char> repeated(graph.size(), 0);
  for (NodeId node = 0; node < graph.size(); ++node) {
    if (!classes.isGatheredParameter[node] || !classes.requiredForward[node])
      continue;
    bool isGather = isCollective(node);
    bool operandIsRepeated = false;
    for (NodeId operand : graph.getOperands(node))
      operandIsRepeated |= repeated[operand] != 0;
    bool isWait = isGather && graph[node].isSaveable;
    if (isGather && !isWait)
      repeated[node] = !onlyFree || graph[node].cost == 0;
    else if (isWait)
      repeated[node] = operandIsRepeated;
    else
      // A gathered parameter in another shape or type is as large, so saving
      // that would be no better.
      repeated[node] =
          operandIsRepeated && isRecomputable(graph[node].operatorClass);
    if (repeated[node] && graph[node].policy == RecomputePolicy::None)
      graph[node].policy = RecomputePolicy::MustRecompute;
    else if (graph[node].policy == RecomputePolicy::MustSave ||
             graph[node].policy == RecomputePolicy::PreferSave)
      repeated[node] = 0;
  }
}

void partition::settlePolicies(JointGraph &graph, const Classification &classes,
                               CollectivePolicy collectives) {
  PolicySettler settler(graph, classes);
  settler.joinCollectives();
  settler.settleResults();
  settler.saveBetweenRegions();
  if (collectives != CollectivePolicy::Save)
    settler.repeatGathers(/*onlyFree=*/collectives == CollectivePolicy::Cost);
}

//===----------------------------------------------------------------------===//
// Prices of repeated gathers
//===----------------------------------------------------------------------===//

/// By node of a gathered parameter: the first backward operation that uses it
/// or what is made of it and other parameters; noNode: none does.
static std::vector<NodeId> findFirstUses(const JointGraph &graph,
                                         const Classification &classes) {
  std::vector<NodeId> first(graph.size(), noNode);
  for (NodeId node = graph.size() - 1; node >= 0; --node) {
    if (!classes.isGatheredParameter[node])
      continue;
    for (NodeId user : graph.getUsers(node)) {
      NodeId use = classes.needsTangent[user] ? user : first[user];
      if (use != noNode && (first[node] == noNode || use < first[node]))
        first[node] = use;
    }
  }
  return first;
}

void partition::priceGathers(JointGraph &graph, const Classification &classes) {
  auto isStart = [&](NodeId node) {
    return graph[node].operatorClass == OperatorClass::Collective &&
           !graph[node].isSaveable;
  };
  std::vector<NodeId> firstUses = findFirstUses(graph, classes);
  std::vector<NodeId> gathers;
  for (NodeId node = 0; node < graph.size(); ++node)
    if (isStart(node) && classes.isGatheredParameter[node] &&
        firstUses[node] != noNode)
      gathers.push_back(node);
  std::sort(gathers.begin(), gathers.end(), [&](NodeId a, NodeId b) {
    return std::make_pair(firstUses[a], a) < std::make_pair(firstUses[b], b);
  });

  int64_t computeClock = 0;
  int64_t streamClock = 0;
  // How long the stream had nothing to do: later gathers fill that time.
  int64_t idleTime = 0;
  auto letStreamIdle = [&] {
    idleTime += std::max<int64_t>(0, computeClock - streamClock);
    streamClock = std::max(streamClock, computeClock);
  };
  auto next = gathers.begin();
  for (NodeId node = 0; node < graph.size(); ++node) {
    if (!classes.needsTangent[node])
      continue;
    for (; next != gathers.end() && firstUses[*next] == node; ++next) {
      letStreamIdle();
      int64_t hidden = std::min(idleTime, graph[*next].cost);
      int64_t rest = graph[*next].cost - hidden;
      idleTime -= hidden;
      streamClock += rest;
      graph[*next].cost = rest == 0 ? 0 : streamClock - computeClock;
      computeClock += graph[*next].cost;
    }
    if (isStart(node)) {
      letStreamIdle();
      streamClock += graph[node].cost;
    } else {
      computeClock += graph[node].cost;
    }
  }
}
