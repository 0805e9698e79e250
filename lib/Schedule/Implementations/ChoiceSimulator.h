//===- ChoiceSimulator.h - Times of choices at one order --------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Simulates one order with several choices of implementations, and estimates
// from one such timeline what each other implementation gains.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_SCHEDULE_IMPLEMENTATIONS_CHOICESIMULATOR_H
#define COMMSCHED_LIB_SCHEDULE_IMPLEMENTATIONS_CHOICESIMULATOR_H

#include "CommSched/Schedule/Implementations/Implementations.h"

#include <map>

namespace mlir::commsched::schedule {

/// The number of streams of all implementations.
StreamId countStreams(const Problem &problem,
                      const Implementations &implementations);

/// Returns the costs and streams of a valid choice. O(nodes).
std::vector<CollectiveCost>
getCollectiveCosts(const Implementations &implementations,
                   const ImplementationChoice &choice);

/// The number of operations with another implementation than their first.
int32_t countChanged(const ImplementationChoice &choice);

/// By how many millionths of its time a collective of the stream lengthens the
/// computation beside it.
int64_t getTaxPpm(const Contention &contention, StreamId stream);

/// Takes for each operation, of which so many millionths are exposed, the
/// implementation with the lowest price: what is exposed costs its time, the
/// rest the time by which it lengthens computation. Of equal prices the first.
/// O(nodes + implementations).
ImplementationChoice choosePrices(const Implementations &implementations,
                                  const Contention &contention,
                                  const std::vector<int64_t> &exposedPpm);

/// By the first stream of an operation and another one: the operations with an
/// implementation there, and its index. O((nodes + implementations) log
/// streams).
using StreamGroups = std::map<std::pair<StreamId, StreamId>,
                              std::vector<std::pair<NodeId, int32_t>>>;
StreamGroups groupByStreams(const Implementations &implementations);

/// Another implementation for one operation.
struct Change {
  NodeId node;
  int32_t implementation;
  /// When the collective would begin.
  int64_t beginNs;
  /// By how much the step would become shorter.
  int64_t gainNs;
};

class ChoiceSimulator {
public:
  /// The arguments are checked and outlive the simulator.
  ChoiceSimulator(const Problem &problem,
                  const Implementations &implementations, const Order &order,
                  const Contention &contention);

  /// Error: that of simulate(). O(nodes), and as simulate().
  Result<Timeline> run(const ImplementationChoice &choice);

  /// Returns all implementations that `choice`, whose timeline is given, does
  /// not have, with estimates: the rest of the timeline stays as it is, but
  /// for those that are queued on the same streams. O(nodes +
  /// implementations).
  std::vector<Change> listChanges(const ImplementationChoice &choice,
                                  const Timeline &timeline) const;

  /// By operation: whether it stalls the compute stream in this timeline, or
  /// holds up one that does on its stream. O(nodes).
  std::vector<bool> findExposed(const ImplementationChoice &choice,
                                const Timeline &timeline) const;

private:
  /// A collective among those of its stream.
  struct Place {
    /// When the compute stream issues it.
    int64_t issuedNs = 0;
    /// The next one on its stream.
    NodeId next = noNode;
    /// By how much the stall of it or of those that are queued behind it could
    /// shrink if it ended earlier.
    int64_t savableNs = 0;
    /// How much later it could end without another stall.
    int64_t slackNs = 0;
  };

  std::vector<Place> findPlaces(const ImplementationChoice &choice,
                                const Timeline &timeline) const;
  int64_t estimateDuration(const Implementation &own,
                           const Implementation &other, int64_t ownNs) const;
  int64_t estimateGain(const Change &change, const Implementation &own,
                       NodeId nextOnOther, const std::vector<Place> &places,
                       const Timeline &timeline) const;
  /// That of an operation of the problem itself if it has no choice.
  Implementation get(NodeId node, const ImplementationChoice &choice) const {
    if (implementations[node].empty())
      return {problem.costNs(node), problem.stream(node)};
    return implementations[node][choice[node]];
  }

  /// With the choice of the last run.
  Problem problem;
  const Implementations &implementations;
  const Order &order;
  const Contention &contention;
};

} // namespace mlir::commsched::schedule

#endif // COMMSCHED_LIB_SCHEDULE_IMPLEMENTATIONS_CHOICESIMULATOR_H
