//===- SmallestMove.h - One operation earlier or later ----------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The least that can be done for a collective: its start, with what prepares
// it, passes the nearest operation in front that holds the compute stream; or
// its wait, with what follows from it, the nearest behind. The move is made,
// looked at, and taken back.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_SCHEDULE_EXPOSURE_SMALLESTMOVE_H
#define COMMSCHED_LIB_SCHEDULE_EXPOSURE_SMALLESTMOVE_H

#include "../Reordering/MovingGroup.h"
#include "CommSched/Schedule/ExposureReasons.h"

namespace mlir::commsched::schedule {

class SmallestMove {
public:
  /// Makes the move in `schedule`, whose times are how long operations hold the
  /// compute stream, as far as dependences let it. Memory does not matter.
  SmallestMove(EditableSchedule &schedule, NodeId node, ExposureMove move);
  /// Takes it back.
  ~SmallestMove();
  SmallestMove(const SmallestMove &) = delete;
  SmallestMove &operator=(const SmallestMove &) = delete;

  /// Whether an operation that holds the compute stream was passed.
  bool isPossible() const { return possible; }
  /// The operation that was passed; or else the one that moves no further
  /// because of a dependence; noNode at the end of the order.
  NodeId getOther() const { return other; }
  /// Start or wait, and what moved with it, in their order.
  std::vector<NodeId> getMoving() const;
  /// How long those hold the compute stream.
  int64_t getMovingNs() const { return group.computeTime(); }

  /// Where live memory is highest among what has changed. O(log n).
  NodeId getFullest() const;

private:
  void passUntil(int32_t position);

  static constexpr size_t maxMembers = 32;

  EditableSchedule &schedule;
  MovingGroup group;
  ExposureMove move;
  /// Where the members were, from the start or wait on.
  std::vector<int32_t> origins;
  bool possible = false;
  NodeId other = noNode;
};

} // namespace mlir::commsched::schedule

#endif // COMMSCHED_LIB_SCHEDULE_EXPOSURE_SMALLESTMOVE_H
