//===- StepStructure.cpp - Roles of the operations of a step --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "StepStructure.h"

#include <algorithm>

using namespace mlir::commsched;
using namespace mlir::commsched::schedule;

/// Whether an operation can move: it is cheap computation, and communication
/// can move past it.
static bool isMovable(const Problem &problem, NodeId node) {
  if (problem.kind(node) != NodeKind::Compute || problem.isExpensive(node))
    return false;
  auto isBarrier = [](const DependenceEnd &end) {
    return end.kind == DependenceKind::Barrier;
  };
  ArrayView<DependenceEnd> before = problem.predecessors(node);
  ArrayView<DependenceEnd> after = problem.successors(node);
  return std::none_of(before.begin(), before.end(), isBarrier) &&
         std::none_of(after.begin(), after.end(), isBarrier);
}

/// Whether only `node` and the producer use the buffer.
static bool isOnlyUser(const Problem &problem, BufferId buffer, NodeId node) {
  NodeId producer = problem.buffer(buffer).producer;
  for (NodeId user : problem.users(buffer))
    if (user != node && user != producer)
      return false;
  return true;
}

/// Whether the operation allocates at least as much as it frees.
static bool makesMoreThanItFrees(const Problem &problem, NodeId node) {
  int64_t net = 0;
  for (BufferId buffer : problem.buffersMadeBy(node))
    net += problem.buffer(buffer).bytes;
  for (BufferId buffer : problem.buffersUsedBy(node))
    if (problem.buffer(buffer).freed && isOnlyUser(problem, buffer, node))
      net -= problem.buffer(buffer).bytes;
  return net >= 0;
}

/// Whether `node` depends directly on at most one operation.
static bool isUnary(const Problem &problem, NodeId node) {
  ArrayView<DependenceEnd> needed = problem.predecessors(node);
  return std::all_of(needed.begin(), needed.end(), [&](DependenceEnd end) {
    return end.node == needed[0].node;
  });
}

/// Finds operations that only one start depends on, from the starts backwards:
/// casts, and copies of several operands if they come directly before the
/// start. Other operations that join branches of the computation are no
/// preparation.
void StepStructure::findPreparation() {
  preparedStarts.assign(problem->numNodes(), noNode);
  const Order &order = problem->topologicalOrder();
  for (size_t place = order.size(); place-- > 0;) {
    NodeId node = order[place];
    if (problem->successors(node).empty() || !isMovable(*problem, node) ||
        !makesMoreThanItFrees(*problem, node))
      continue;
    NodeId start = noNode;
    bool isPreparation = true, isLast = true;
    for (DependenceEnd successor : problem->successors(node)) {
      NodeId prepared = problem->kind(successor.node) == NodeKind::Start
                            ? successor.node
                            : preparedStarts[successor.node];
      isPreparation &=
          prepared != noNode && (start == noNode || prepared == start);
      start = prepared;
      isLast &= problem->kind(successor.node) == NodeKind::Start;
    }
    if (isPreparation && (isLast || isUnary(*problem, node)))
      preparedStarts[node] = start;
  }
}

/// Finds the operations that are neither a start or wait nor issued with one.
void StepStructure::findComputation() {
  inComputeOrder.assign(problem->numNodes(), 0);
  // By operation: the start whose result it unpacks or converts, if it is one.
  std::vector<NodeId> followed(problem->numNodes(), noNode);
  for (NodeId node : problem->topologicalOrder()) {
    NodeKind kind = problem->kind(node);
    if (kind == NodeKind::Wait)
      followed[node] = problem->startOf(node);
    if (kind == NodeKind::Start || kind == NodeKind::Wait ||
        preparedStarts[node] != noNode)
      continue;
    ArrayView<DependenceEnd> needed = problem->predecessors(node);
    NodeId start = needed.empty() ? noNode : followed[needed[0].node];
    // An operation that takes long belongs to the computation.
    bool isFollower =
        start != noNode && isMovable(*problem, node) &&
        problem->costNs(node) <= problem->costNs(start) / 2 &&
        std::all_of(needed.begin(), needed.end(), [&](DependenceEnd end) {
          return followed[end.node] == start;
        });
    if (isFollower)
      followed[node] = start;
    inComputeOrder[node] = !isFollower;
  }
}

void StepStructure::findCollectives() {
  collectiveOfNode.assign(problem->numNodes(), noCollective);
  for (NodeId node = 0; node < problem->numNodes(); ++node)
    if (problem->kind(node) == NodeKind::Start) {
      NodeId wait = problem->waitOf(node);
      collectiveOfNode[node] = collectiveOfNode[wait] = numCollectives();
      collectives.emplace_back();
      collectives.back().start = node;
      collectives.back().wait = wait;
    }
  for (NodeId node : problem->topologicalOrder())
    if (NodeId start = preparedStarts[node]; start != noNode)
      collectives[collectiveOfNode[start]].preparation.push_back(node);
}

/// Finds the operations that each collective depends on. An operation counts
/// once, however many dependences there are.
void StepStructure::findCollectivePredecessors() {
  struct Awaited {
    NodeId node;
    CollectiveId collective;
  };
  std::vector<Awaited> all;
  std::vector<CollectiveId> countedFor(problem->numNodes(), noCollective);
  for (CollectiveId id = 0; id < numCollectives(); ++id) {
    MovableCollective &collective = collectives[id];
    auto count = [&](NodeId node) {
      for (DependenceEnd end : problem->predecessors(node)) {
        if (preparedStarts[end.node] == collective.start ||
            countedFor[end.node] == id)
          continue;
        countedFor[end.node] = id;
        all.push_back({end.node, id});
        ++collective.numPredecessors;
      }
    };
    for (NodeId node : collective.preparation)
      count(node);
    count(collective.start);
  }
  successorRows.build(
      problem->numNodes(), all.size(), [&](size_t i) { return all[i].node; },
      [&](size_t i) { return all[i].collective; });
}

CollectiveBytes
schedule::computeCollectiveBytes(const Problem &problem, NodeId start,
                                 const std::vector<NodeId> &preparation) {
  std::vector<NodeId> own = preparation;
  std::sort(own.begin(), own.end());
  auto isOwn = [&](NodeId node) {
    return std::binary_search(own.begin(), own.end(), node);
  };
  NodeId wait = problem.waitOf(start);
  CollectiveBytes bytes;
  for (BufferId buffer : problem.buffersMadeBy(start))
    bytes.delivered += problem.buffer(buffer).bytes;
  // What a packed gather writes in place is made by its copy-in.
  auto isPassedOn = [&](BufferId buffer) {
    ArrayView<NodeId> users = problem.users(buffer);
    return !problem.buffer(buffer).freed ||
           std::any_of(users.begin(), users.end(), [&](NodeId user) {
             return user != start && user != wait && !isOwn(user);
           });
  };
  if (problem.buffersMadeBy(start).empty())
    for (NodeId part : preparation)
      for (BufferId buffer : problem.buffersMadeBy(part))
        if (isPassedOn(buffer))
          bytes.delivered += problem.buffer(buffer).bytes;
  std::vector<NodeId> parts = preparation;
  parts.push_back(start);
  std::vector<BufferId> used;
  for (NodeId part : parts) {
    for (BufferId buffer : problem.buffersMadeBy(part))
      bytes.issuing += problem.buffer(buffer).bytes;
    for (BufferId buffer : problem.buffersUsedBy(part))
      used.push_back(buffer);
  }
  bytes.issued = bytes.issuing;
  std::sort(used.begin(), used.end());
  used.erase(std::unique(used.begin(), used.end()), used.end());
  for (BufferId id : used) {
    const Buffer &buffer = problem.buffer(id);
    if (!buffer.freed)
      continue;
    // A collective on the result of another one begins behind the other's wait.
    NodeId producerWait =
        buffer.producer != noNode &&
                problem.kind(buffer.producer) == NodeKind::Start
            ? problem.waitOf(buffer.producer)
            : noNode;
    bool isIssue = true, isCompletion = true;
    for (NodeId user : problem.users(id)) {
      bool isBefore =
          isOwn(user) || user == buffer.producer || user == producerWait;
      isIssue &= isBefore;
      isCompletion &= isBefore || user == start || user == wait;
      if (!isCompletion)
        break;
    }
    if (!isCompletion)
      continue;
    if (isIssue)
      bytes.issued -= buffer.bytes;
    if (producerWait != noNode)
      bytes.passedOn += buffer.bytes;
    else if (!isOwn(buffer.producer))
      bytes.released += buffer.bytes;
  }
  return bytes;
}

Result<StepStructure> StepStructure::create(const Problem &problem) {
  if (!problem.check())
    return problem.check();
  StepStructure structure(problem);
  structure.findPreparation();
  structure.findComputation();
  structure.findCollectives();
  structure.findCollectivePredecessors();
  std::vector<char> leadsToComputation(problem.numNodes(), 0);
  const Order &order = problem.topologicalOrder();
  for (size_t place = order.size(); place-- > 0;)
    for (DependenceEnd end : problem.successors(order[place]))
      leadsToComputation[order[place]] |=
          structure.inComputeOrder[end.node] || leadsToComputation[end.node];
  for (MovableCollective &collective : structure.collectives) {
    CollectiveBytes bytes = computeCollectiveBytes(problem, collective.start,
                                                   collective.preparation);
    collective.issuedBytes = bytes.issued;
    collective.issuingBytes = bytes.issuing;
    collective.isReleasing =
        bytes.isReleasing() || !leadsToComputation[collective.start];
    collective.isFreeing = bytes.passedOn > 0;
  }
  return structure;
}
