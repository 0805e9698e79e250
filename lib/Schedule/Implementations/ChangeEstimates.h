//===- ChangeEstimates.h - What another implementation gains ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Estimates from the timeline of one choice how much shorter the step would
// become with another implementation for one of the operations.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_SCHEDULE_IMPLEMENTATIONS_CHANGEESTIMATES_H
#define COMMSCHED_LIB_SCHEDULE_IMPLEMENTATIONS_CHANGEESTIMATES_H

#include "CommSched/Schedule/Implementations/Implementations.h"

#include <utility>

namespace mlir::commsched::schedule {

/// Another implementation for one operation.
struct Change {
  NodeId node;
  int32_t implementation;
  /// When the collective would begin.
  int64_t beginNs;
  /// By how much the step would become shorter.
  int64_t gainNs;
};

/// What changes of one choice would do, estimated from its timeline: durations
/// stay as they are, as if what is in flight together did not change.
class ChangeEstimates {
public:
  /// `timeline` is that of `choice` at `order`, both of `problem` with enough
  /// streams for all implementations. The arguments outlive the estimates.
  /// O(nodes).
  ChangeEstimates(const Problem &problem,
                  const Implementations &implementations, const Order &order,
                  const Contention &contention,
                  const ImplementationChoice &choice, const Timeline &timeline);

  /// Returns all implementations that the choice does not have, in the order of
  /// their operations. Steps of decades have no estimates. O((nodes +
  /// implementations) log nodes).
  std::vector<Change> listChanges() const;

  /// Whether the step would become shorter if the collective did.
  bool isCritical(NodeId collective) const {
    return places[collective].savableNs > 0;
  }

  /// From when the collective begins, with the change or without, until it has
  /// ended and is waited for.
  std::pair<int64_t, int64_t> getTimes(const Change &change) const;

private:
  /// A collective among those of its stream.
  struct Place {
    /// When the compute stream issues it.
    int64_t issuedNs = 0;
    /// The next one on its stream.
    NodeId next = noNode;
    /// By how much the step could become shorter if the collective did.
    int64_t savableNs = 0;
    /// How much later it could end without a longer step.
    int64_t slackNs = 0;
  };
  /// The critical computation: when each one begins, and what was done before.
  struct Work {
    int64_t beginNs;
    int64_t endNs;
    int64_t doneNs;
  };

  void findIssues();
  void findSlack();
  int64_t criticalNs(int64_t ns) const;
  int64_t estimateDuration(const Implementation &own,
                           const Implementation &other, int64_t ownNs) const;
  int64_t estimateGain(const Change &change, const Implementation &own,
                       NodeId nextOnOther) const;
  /// That of the problem itself if the operation has no choice.
  Implementation get(NodeId node) const;

  const Problem &problem;
  const Implementations &implementations;
  const Order &order;
  const Contention &contention;
  const ImplementationChoice &choice;
  const Timeline &timeline;
  /// By operation.
  std::vector<Place> places;
  std::vector<Work> critical;
};

} // namespace mlir::commsched::schedule

#endif // COMMSCHED_LIB_SCHEDULE_IMPLEMENTATIONS_CHANGEESTIMATES_H
