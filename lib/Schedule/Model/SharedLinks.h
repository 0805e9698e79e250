//===- SharedLinks.h - Collectives that share links -------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Links as processor sharing: of k collectives on a link each progresses at a
// k-th of its speed. All of them progress alike, so one clock does for a link:
// it tells how far a collective has come that has been there from the start,
// and a collective ends when the clock has gone on by its cost.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_SCHEDULE_MODEL_SHAREDLINKS_H
#define COMMSCHED_LIB_SCHEDULE_MODEL_SHAREDLINKS_H

#include "CommSched/Schedule/Problem.h"

#include <limits>
#include <queue>

namespace mlir::commsched::schedule {

/// Wide enough for any time in fractions of a nanosecond, times any number of
/// streams.
__extension__ using WideTime = unsigned __int128;

/// The time of an event that does not come.
inline constexpr int64_t neverNs = std::numeric_limits<int64_t>::max();

/// One link. Times do not decrease from call to call.
class SharedLink {
public:
  /// The parts of a nanosecond in which the clock counts: divisible by all
  /// numbers up to 16.
  static constexpr int64_t partsPerNs = 720'720;

  /// O(log collectives).
  void begin(NodeId collective, int64_t costNs, int64_t nowNs);
  /// Ends the collective that nextEndNs() is about, which is now. Of several
  /// the one with the lowest index. O(log collectives).
  NodeId end(int64_t nowNs);
  /// When a collective ends next if none begins before: the first nanosecond
  /// at which it has made all of its progress. neverNs if there is none.
  int64_t nextEndNs() const;

private:
  struct InFlight {
    /// By the clock of the link.
    WideTime end;
    NodeId collective;
    bool operator>(const InFlight &other) const {
      return end != other.end ? end > other.end : collective > other.collective;
    }
  };

  void setClock(int64_t nowNs);

  std::priority_queue<InFlight, std::vector<InFlight>, std::greater<>> inFlight;
  WideTime clock = 0;
  /// When the clock was last set.
  int64_t clockSetNs = 0;
};

/// All links, and which of them has the next end.
class SharedLinks {
public:
  /// `linkOf`: by stream its link, any number from 0 on, or -1 for one of its
  /// own. Empty: all have their own. O(streams * log streams).
  SharedLinks(StreamId numStreams, const std::vector<int32_t> &linkOf);

  /// O(log events).
  void begin(StreamId stream, NodeId collective, int64_t costNs, int64_t nowNs);
  /// When a collective ends next if none begins before, or neverNs. O(1), and
  /// O(log events) once for each begin and end.
  int64_t nextEndNs();
  /// Ends it: sets `nowNs` to nextEndNs(), which is not neverNs, and returns
  /// the collective. O(log events).
  NodeId end(int64_t &nowNs);
  bool isIdle() const { return numInFlight == 0; }

private:
  /// When a link was about to have its next end. Out of date if the link says
  /// otherwise now.
  struct Event {
    int64_t timeNs;
    int32_t link;
    bool operator>(const Event &other) const {
      return timeNs != other.timeNs ? timeNs > other.timeNs : link > other.link;
    }
  };

  std::vector<SharedLink> links;
  /// By stream: an index of `links`.
  std::vector<int32_t> linkIndices;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events;
  int32_t numInFlight = 0;
};

} // namespace mlir::commsched::schedule

#endif // COMMSCHED_LIB_SCHEDULE_MODEL_SHAREDLINKS_H
