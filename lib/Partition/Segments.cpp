//===- Segments.cpp - Segments of the forward -----------------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Partition/Segments.h"

#include "CutNetwork.h"

#include <algorithm>

using namespace mlir::commsched;
using namespace mlir::commsched::partition;

namespace {

/// The storages that the forward makes, by where it makes and reads them.
class ForwardStorages {
public:
  ForwardStorages(const JointGraph &graph, const Classification &classes);

  /// Whether `node` is a value that the forward makes.
  bool isMade(NodeId node) const {
    return classes.requiredForward[node] && !graph.isArgument(node) &&
           !classes.isGatheredParameter[node] && graph[node].bytes > 0;
  }
  /// The value that stands for the storage of `node`: the first one in it.
  NodeId getFirst(NodeId node) const { return first[node]; }
  /// The last node of the forward that reads the storage of that first value.
  NodeId getLastUse(NodeId firstValue) const { return lastUse[firstValue]; }
  int64_t getBytes(NodeId firstValue) const { return graph[firstValue].bytes; }

private:
  const JointGraph &graph;
  const Classification &classes;
  /// By node.
  std::vector<NodeId> first;
  std::vector<NodeId> lastUse;
};

} // namespace

ForwardStorages::ForwardStorages(const JointGraph &graph,
                                 const Classification &classes)
    : graph(graph), classes(classes),
      first(static_cast<size_t>(graph.size()), noNode),
      lastUse(static_cast<size_t>(graph.size()), noNode) {
  std::vector<NodeId> byStorage;
  for (NodeId node = 0; node < graph.size(); ++node) {
    if (!isMade(node))
      continue;
    int32_t storage = graph[node].storage;
    first[node] = node;
    if (storage >= 0) {
      if (static_cast<size_t>(storage) >= byStorage.size())
        byStorage.resize(static_cast<size_t>(storage) + 1, noNode);
      if (byStorage[storage] == noNode)
        byStorage[storage] = node;
      first[node] = byStorage[storage];
    }
    NodeId &last = lastUse[first[node]];
    last = std::max(last, node);
    for (NodeId user : graph.getUsers(node))
      if (classes.requiredForward[user])
        last = std::max(last, user);
  }
}

int64_t partition::computeForwardBytes(const JointGraph &graph,
                                       const Classification &classes) {
  ForwardStorages storages(graph, classes);
  int64_t total = 0;
  for (NodeId node = 0; node < graph.size(); ++node)
    if (storages.getFirst(node) == node)
      total += graph[node].bytes;
  return total;
}

/// By node, whether a segment ends right behind it.
static std::vector<char> findSegmentEnds(const JointGraph &graph,
                                         const ForwardStorages &storages,
                                         int64_t segmentBytes) {
  auto size = static_cast<size_t>(graph.size());
  // By node: the bytes that become live and that end there.
  std::vector<int64_t> ended(size, 0);
  std::vector<char> isEnd(size, 0);
  int64_t madeBytes = 0, crossingBytes = 0, leastBytes = 0;
  NodeId best = noNode;
  // What was made behind `best`.
  int64_t restBytes = 0;
  for (NodeId node = 0; node < graph.size(); ++node) {
    if (storages.getFirst(node) == node) {
      int64_t bytes = storages.getBytes(node);
      if (best != noNode && madeBytes + bytes > segmentBytes) {
        isEnd[best] = 1;
        madeBytes = restBytes;
        best = noNode;
      }
      madeBytes += bytes;
      restBytes += bytes;
      crossingBytes += bytes;
      ended[storages.getLastUse(node)] += bytes;
    }
    crossingBytes -= ended[node];
    // The results of an operation stay with it.
    bool isInside = node + 1 < graph.size() &&
                    graph[node + 1].kind == JointNodeKind::Result;
    if (isInside || madeBytes < segmentBytes / 2 ||
        (best != noNode && crossingBytes > leastBytes))
      continue;
    best = node;
    leastBytes = crossingBytes;
    restBytes = 0;
  }
  return isEnd;
}

std::vector<char> partition::findSegmentInputs(const JointGraph &graph,
                                               const Classification &classes,
                                               int64_t segmentBytes) {
  ForwardStorages storages(graph, classes);
  std::vector<char> isEnd = findSegmentEnds(graph, storages, segmentBytes);
  // By node: how many segments end in front of it.
  std::vector<int32_t> segment;
  segment.reserve(isEnd.size());
  int32_t count = 0;
  for (char end : isEnd) {
    segment.push_back(count);
    count += end;
  }
  std::vector<char> isInput(isEnd.size(), 0);
  for (NodeId node = 0; node < graph.size(); ++node) {
    NodeId first = storages.getFirst(node);
    isInput[node] = first != noNode && !isFreeToRepeat(graph[node]) &&
                    segment[storages.getLastUse(first)] > segment[first];
  }
  return isInput;
}
