//===- SavedBytes.cpp - What saved values take ----------------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Partition/Split.h"

#include <algorithm>
#include <unordered_map>

using namespace mlir::commsched;
using namespace mlir::commsched::partition;

int64_t partition::computeSavedBytes(const JointGraph &graph,
                                     const std::vector<NodeId> &saved) {
  std::vector<char> isSaved(graph.size(), 0);
  for (NodeId value : saved)
    isSaved[value] = 1;

  int64_t total = 0;
  // By storage: the bytes of the largest saved value in it.
  std::unordered_map<int32_t, int64_t> largest;
  for (NodeId value = 0; value < graph.size(); ++value) {
    if (!isSaved[value])
      continue;
    const JointNode &node = graph[value];
    if (node.storage >= 0)
      largest[node.storage] = std::max(largest[node.storage], node.bytes);
    else if (!graph.isArgument(value))
      total += node.bytes;
  }
  // The first value in a storage is what made it.
  for (NodeId owner = 0; owner < graph.size() && !largest.empty(); ++owner) {
    auto found = largest.find(graph[owner].storage);
    if (found == largest.end())
      continue;
    if (!graph.isArgument(owner))
      total += std::max(found->second, graph[owner].bytes);
    largest.erase(found);
  }
  return total;
}
