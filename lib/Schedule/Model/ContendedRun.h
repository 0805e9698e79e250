//===- ContendedRun.h - State of a schedule with contention -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The time model with contention, one operation at a time: what Clocks are to
// the model without. simulate() runs it over a whole order, and
// simulatePeriod() over one period after another.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_SCHEDULE_MODEL_CONTENDEDRUN_H
#define COMMSCHED_LIB_SCHEDULE_MODEL_CONTENDEDRUN_H

#include "CommSched/Schedule/Model/Simulator.h"
#include "RunState.h"

#include <limits>
#include <queue>

namespace mlir::commsched::schedule {

//===----------------------------------------------------------------------===//
// What is shared
//===----------------------------------------------------------------------===//

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

  /// Returns its end by the clock of the link. O(log collectives).
  WideTime begin(NodeId collective, int64_t costNs, int64_t nowNs);
  /// Ends the collective that nextEndNs() is about, which is now. Of several
  /// the one with the lowest index. O(log collectives).
  NodeId end(int64_t nowNs);
  /// When a collective ends next if none begins before: the first nanosecond
  /// at which it has made all of its progress. neverNs if there is none.
  int64_t nextEndNs() const;
  /// The clock, and when it was last set.
  WideTime time() const { return clock; }
  int64_t setNs() const { return clockSetNs; }

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
  int64_t clockSetNs = 0;
};

/// All links, and which of them has the next end.
class SharedLinks {
public:
  /// `linkOf`: by stream its link, any number from 0 on, or -1 for one of its
  /// own. Empty: all have their own. O(streams * log streams).
  SharedLinks(StreamId numStreams, const std::vector<int32_t> &linkOf);

  /// Returns its end by the clock of its link. O(log events).
  WideTime begin(StreamId stream, NodeId collective, int64_t costNs,
                 int64_t nowNs);
  /// When a collective ends next if none begins before, or neverNs. O(1), and
  /// O(log events) once for each begin and end.
  int64_t nextEndNs();
  /// Ends it: sets `nowNs` to nextEndNs(), which is not neverNs, and returns
  /// the collective. O(log events).
  NodeId end(int64_t &nowNs);
  const SharedLink &linkOf(StreamId stream) const {
    return links[linkIndices[stream]];
  }

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
};

/// The speed of computation beside the collectives in flight.
class ComputeSpeed {
public:
  /// O(streams * log streams).
  ComputeSpeed(StreamId numStreams, const std::vector<int64_t> &slowdownPpm);

  /// A collective of the stream begins or ends. O(1) and O(log slowdowns).
  void begin(StreamId stream);
  void end(StreamId stream);
  /// The present speed, in parts of a nanosecond of cost for each nanosecond.
  /// O(1), and O(log slowdowns) once for each begin.
  int64_t get();
  /// The number of these parts in a nanosecond of cost: the speed if nothing
  /// slows computation down.
  int64_t full() const { return partsPerNs; }

private:
  static constexpr int64_t maxPartsPerNs = int64_t(1) << 62;
  /// The level of streams that slow nothing down.
  static constexpr int32_t noLevel = -1;

  struct Level {
    int64_t speed;
    int32_t numInFlight;
    bool isQueued;
  };

  /// The different slowdowns, ascending.
  std::vector<Level> levels;
  /// By stream: an index of `levels`, or noLevel.
  std::vector<int32_t> levelOf;
  /// Those of which collectives are in flight, and some of which none are any
  /// more.
  std::priority_queue<int32_t> queue;
  int64_t partsPerNs = 1;
};

//===----------------------------------------------------------------------===//
// The run
//===----------------------------------------------------------------------===//

/// Runs operations, and between them the ends of collectives, at which others
/// begin. What ends at the instant of an operation may come after it: no
/// progress is made at an instant.
class ContendedRun {
public:
  using Interval = Clocks::Interval;

  /// Nothing is issued. Both have no error, and `problem` has to live on.
  /// O(nodes + pairs + streams * log streams).
  ContendedRun(const Problem &problem, const Contention &contention);

  /// Issues an operation, also one that was issued before; the Start of a Wait
  /// has been issued and not been waited for since. What is returned for a
  /// Start says nothing. As fast as simulate().
  Interval issue(NodeId node);

  /// When the compute stream is done with all that is issued.
  int64_t nowNs() const { return timeNs; }
  /// When a collective that has ended, and was not issued again, began and
  /// ended.
  Interval intervalOf(NodeId collective) const {
    return {beginsNs[collective], endsNs[collective], 0};
  }
  /// What decides on the times of all that is issued from now on, relative to
  /// now. O(collectives issued and not ended, times its logarithm).
  std::vector<int64_t> state() const;

private:
  /// A stream, whose collectives are issued, begin and end in one order.
  struct Stream {
    /// Those that were issued and have not ended, linked by `behind`.
    NodeId first = noNode;
    NodeId last = noNode;
    /// Whether the first has begun, and its end by the clock of its link.
    bool hasBegun = false;
    WideTime linkEnd = 0;
    /// How many of the streams exclusive with this one have nothing left that
    /// was issued before `first`.
    size_t numPassed = 0;
    /// The streams whose first collective waits for the first of this one.
    std::vector<StreamId> waiting;
  };

  void compute(NodeId node);
  void issueCollective(NodeId collective);
  /// Begins the first collective of the stream if nothing is in its way, and
  /// else lets it wait for one that is.
  void beginFirst(StreamId id);
  /// Goes on to when the next collective ends, and ends it.
  void passEnd();
  /// Goes on until `collective` has ended, if it was issued.
  void passEndOf(NodeId collective) {
    while (endsNs[collective] == neverNs && links.nextEndNs() != neverNs)
      passEnd();
  }

  const Problem &problem;
  /// By stream: those that are exclusive with it.
  Csr<StreamId> exclusive;
  SharedLinks links;
  ComputeSpeed speed;

  int64_t timeNs = 0;
  std::vector<Stream> streams;
  /// By collective: when it was issued last, counted in collectives; when it
  /// began and ended, which is never before it does; and the one behind it on
  /// its stream.
  std::vector<int64_t> issued;
  std::vector<int64_t> beginsNs;
  std::vector<int64_t> endsNs;
  std::vector<NodeId> behind;
  int64_t numIssued = 0;
};

/// Error: the times of `count` runs of all operations might not fit 64 bits.
/// `problem` has none. O(nodes).
Status checkContendedTimes(const Problem &problem, const Contention &contention,
                           int64_t count);

} // namespace mlir::commsched::schedule

#endif // COMMSCHED_LIB_SCHEDULE_MODEL_CONTENDEDRUN_H
