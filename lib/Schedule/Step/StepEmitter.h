//===- StepEmitter.h - Issues operations with all they need -----*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What all constructions of a step share: an operation is issued after what it
// needs, what nothing of the backbone needs follows as soon as it can, and
// collectives become available once all that they await has run.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_SCHEDULE_STEP_STEPEMITTER_H
#define COMMSCHED_LIB_SCHEDULE_STEP_STEPEMITTER_H

#include "CommSched/Schedule/StepStructure.h"
#include "IssuedOrder.h"

#include <functional>
#include <queue>

namespace mlir::commsched::schedule {

class StepEmitter {
public:
  /// `isNeeded`, by operation: whether the backbone needs it. The others are
  /// those of IssuedOrder.
  StepEmitter(const StepStructure &structure, const std::vector<char> &isNeeded,
              const std::vector<std::pair<StreamId, StreamId>> &exclusive,
              int32_t slackPercent);
  virtual ~StepEmitter() = default;

protected:
  /// Makes what awaits nothing available.
  void begin();
  /// Issues an operation, and before it all that it needs.
  void demand(NodeId node);
  /// Issues all that is left, in the order of the program as far as it can be.
  void demandRest();

  /// `id` can be issued from now on.
  virtual void makeAvailable(CollectiveId id) = 0;

  const StepStructure &structure;
  const Problem &problem;
  IssuedOrder issued;

private:
  void issue(NodeId node);
  bool isLooseEnd(NodeId node) const;

  const std::vector<char> &isNeeded;
  /// By collective: how many operations have to run before it.
  std::vector<int32_t> numAwaited;
  /// By operation: how many dependences on it are not met.
  std::vector<int32_t> numMissing;
  std::vector<NodeId> stack;
  /// To be issued, the first of the program first.
  std::priority_queue<NodeId, std::vector<NodeId>, std::greater<>> looseEnds;
};

} // namespace mlir::commsched::schedule

#endif // COMMSCHED_LIB_SCHEDULE_STEP_STEPEMITTER_H
