//===- ChainPlaces.h - Operations beside a long chain -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which operations depend on each other is known of all pairs in quadratic time
// only. Where most of a program hangs on one chain of dependences, as layers
// do, two numbers an operation say nearly as much.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_SCHEDULE_GRAPHS_CHAINPLACES_H
#define COMMSCHED_SCHEDULE_GRAPHS_CHAINPLACES_H

#include "CommSched/Schedule/Model/Problem.h"

#include <vector>

namespace mlir::commsched::schedule {

/// By operation, its place relative to a chain of dependences, whose members
/// are numbered from 0.
struct ChainPlaces {
  /// The last member that it depends on or is; -1 if there is none.
  std::vector<int32_t> last;
  /// The first member that depends on it or is it; the length of the chain if
  /// there is none.
  std::vector<int32_t> next;

  /// Whether `to` is known to depend on `from`: by way of the chain.
  bool isBefore(NodeId from, NodeId to) const {
    return from != to && next[from] <= last[to];
  }
};

/// The places relative to a chain with most collectives, and of these one with
/// most operations. Order dependences do not count: they join collectives that
/// may become one. O(nodes + dependences).
ChainPlaces findChainPlaces(const Problem &problem);

} // namespace mlir::commsched::schedule

#endif // COMMSCHED_SCHEDULE_GRAPHS_CHAINPLACES_H
