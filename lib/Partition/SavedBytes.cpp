//===- SavedBytes.cpp - What saved values take ----------------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Partition/Split.h"

#include <algorithm>

using namespace commsched;

namespace {

struct SavedStorage {
  int32_t storage;
  int64_t bytes;
  bool isSeen = false;
};

} // namespace

int64_t commsched::computeSavedBytes(const JointGraph &graph,
                                     const std::vector<NodeId> &saved) {
  std::vector<NodeId> values = saved;
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());

  int64_t total = 0;
  std::vector<SavedStorage> storages;
  for (NodeId value : values) {
    if (graph[value].storage >= 0)
      storages.push_back({graph[value].storage, graph[value].bytes});
    else if (!graph.isArgument(value))
      total += graph[value].bytes;
  }
  // Of each storage the largest value.
  std::sort(storages.begin(), storages.end(),
            [](const SavedStorage &a, const SavedStorage &b) {
              return a.storage != b.storage ? a.storage < b.storage
                                            : a.bytes > b.bytes;
            });
  storages.erase(std::unique(storages.begin(), storages.end(),
                             [](const SavedStorage &a, const SavedStorage &b) {
                               return a.storage == b.storage;
                             }),
                 storages.end());
  for (NodeId node = 0; node < graph.size(); ++node) {
    auto found =
        std::lower_bound(storages.begin(), storages.end(), graph[node].storage,
                         [](const SavedStorage &entry, int32_t other) {
                           return entry.storage < other;
                         });
    if (found == storages.end() || found->storage != graph[node].storage ||
        found->isSeen)
      continue;
    // The first value in a storage is what made it.
    found->isSeen = true;
    found->bytes =
        graph.isArgument(node) ? 0 : std::max(found->bytes, graph[node].bytes);
  }
  for (const SavedStorage &entry : storages)
    total += entry.bytes;
  return total;
}
