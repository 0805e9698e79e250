//===- PeakMemoryOrders.h - Orders for low peak memory ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Orders of operations that need little memory at their peak: three greedy
// topological sorts, none of which is always best, and the choice of the best
// of them by simulation.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_SCHEDULE_INDUCTOR_PEAKMEMORYORDERS_H
#define COMMSCHED_SCHEDULE_INDUCTOR_PEAKMEMORYORDERS_H

#include "CommSched/Schedule/Model/Problem.h"

#include <array>

namespace mlir::commsched::schedule {

// The sorts are those of `topological_sort_lpmf`, `_bfs` and `_dfs` in PyTorch
// 2.13, torch/_inductor/memory.py, with the same result on the same graph:
// predecessors are all dependences, a node's size is the sum of the buffers
// that it makes, and what is not freed is an output of the graph, or an input
// that stays. The reference does not count inputs that stay; neither do these.
//
// All return verified orders. Error: the problem's own, or a buffer that has a
// user without dependence on its producer.

/// "Least peak memory first", after "Buffer memory optimization for video codec
/// application modeled in Simulink" (DAC 2006). With the peak so far known, the
/// next is of all ready nodes
///   - among those that fit below the peak, the one after which least stays;
///   - if none fits, the one that raises the peak least; of several, the one
///     after which least stays;
/// and of several of these the first in the program. The peak to start from is
/// what is live at the start, or at the end if that is more.
///
/// O((nodes + buffers + uses) * log(nodes) + dependences).
Result<Order> sortLeastPeakMemoryFirst(const Problem &problem);

/// First come, first served: the next is the ready node whose predecessors ran
/// earliest, by the ascending list of their positions (a list comes after its
/// own beginning); of several the first in the program.
///
/// O((nodes + dependences) * log(nodes)).
Result<Order> sortBreadthFirst(const Problem &problem);

/// Visits nodes by the bytes that they make and read, fewest first; of several
/// the first in the program. A visit runs first the predecessors, in the same
/// order, then the node.
///
/// O(nodes * log(nodes) + dependences + uses).
Result<Order> sortDepthFirst(const Problem &problem);

/// The method that produced an order.
enum class PeakMemoryMethod {
  Incoming,
  LeastPeakMemoryFirst,
  BreadthFirst,
  DepthFirst
};

/// The sorts among them.
inline constexpr std::array<PeakMemoryMethod, 3> peakMemorySorts = {
    PeakMemoryMethod::LeastPeakMemoryFirst, PeakMemoryMethod::BreadthFirst,
    PeakMemoryMethod::DepthFirst};

/// "incoming", "lpmf", "bfs" or "dfs".
const char *toString(PeakMemoryMethod method);

/// The peak memory of the order of one method.
struct PeakMemoryCandidate {
  PeakMemoryMethod method;
  int64_t peakBytes;
};

/// The order with the lowest peak of those that were tried.
struct PeakMemoryChoice {
  Order order;
  /// The method of the order and its peak memory.
  PeakMemoryCandidate best;
  /// All that were tried; the incoming order is the first.
  std::vector<PeakMemoryCandidate> candidates;
};

/// Tries the order of the program and each of `methods`, and takes the one
/// whose simulateMemory() has the lowest peak; of several the first that was
/// tried. So the peak never rises, and what is not better moves nothing.
/// `methods` are sorts (Incoming is tried in any case).
///
/// Error: the problem's own, or why the order of the program is not legal.
/// Complexity: that of the sorts.
Result<PeakMemoryChoice>
choosePeakMemoryOrder(const Problem &problem,
                      const std::vector<PeakMemoryMethod> &methods = {
                          peakMemorySorts.begin(), peakMemorySorts.end()});

} // namespace mlir::commsched::schedule

#endif // COMMSCHED_SCHEDULE_INDUCTOR_PEAKMEMORYORDERS_H
