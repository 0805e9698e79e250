//===- CollectiveOrders.cpp - Search for orders of collectives ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CollectiveOrders.h"

#include <algorithm>

using namespace mlir::commsched;
using namespace mlir::commsched::schedule;

Order schedule::listStarts(const Problem &problem, const Order &order) {
  Order starts;
  for (NodeId node : order)
    if (problem.kind(node) == NodeKind::Start)
      starts.push_back(node);
  return starts;
}

/// Moves the entry at `from` to `to`.
static void moveEntry(Order &order, size_t from, size_t to) {
  auto begin = order.begin();
  if (from < to)
    std::rotate(begin + from, begin + from + 1, begin + to + 1);
  else
    std::rotate(begin + to, begin + from, begin + from + 1);
}

void schedule::improveCollectives(const Problem &problem, int64_t goalNs,
                                  int64_t &effort, RankedOrder &best) {
  constexpr size_t maxDistance = 8;
  Order starts = listStarts(problem, best.order);
  // Keeps what the order of the starts gives if it is shorter.
  auto keepIfShorter = [&] {
    effort -= problem.numNodes();
    std::optional<RankedOrder> found = scheduleByStarts(problem, starts);
    if (!found || found->stepNs >= best.stepNs)
      return false;
    best = std::move(*found);
    return true;
  };
  keepIfShorter();
  bool hasImproved = true;
  while (hasImproved) {
    hasImproved = false;
    for (size_t from = 0; from < starts.size(); ++from) {
      size_t first = from - std::min(from, maxDistance);
      size_t last = std::min(from + maxDistance, starts.size() - 1);
      for (size_t to = first; to <= last; ++to) {
        if (to == from)
          continue;
        if (best.stepNs <= goalNs || effort <= 0)
          return;
        moveEntry(starts, from, to);
        if (keepIfShorter()) {
          hasImproved = true;
          break;
        }
        moveEntry(starts, to, from);
      }
    }
  }
}
