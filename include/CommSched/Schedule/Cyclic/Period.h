//===- Period.h - Time and memory of programs that repeat -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a repetition costs once the program has repeated long enough: the time
// of a period, by the rules of simulate(), and the peak of live bytes, by those
// of simulateMemory(); and lower bounds of the period.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_SCHEDULE_CYCLIC_PERIOD_H
#define COMMSCHED_SCHEDULE_CYCLIC_PERIOD_H

#include "CommSched/Schedule/Allocator/CachingAllocator.h"
#include "CommSched/Schedule/Cyclic/CyclicProblem.h"
#include "CommSched/Schedule/Model/Simulator.h"

namespace mlir::commsched::schedule {

/// The times of one period, in nanoseconds.
struct PeriodTimeline {
  /// From one period to the next, rounded up to whole nanoseconds.
  int64_t periodNs = 0;
  /// The times of the operations in a period of the steady state, from its
  /// beginning; `stepNs` is when its last collective ends, which may be in the
  /// next period, and `exposedCommNs` is periodNs - computeNs.
  Timeline steady;
};

/// Runs periods until two in a row leave all streams in the same state relative
/// to each other. Where this takes more than 64 periods and 2^26 operations,
/// 2^22 with contention, the period is the mean of the second half of them:
/// streams with nearly the same work take that long. `schedule` is legal
/// (verify()). Error: the one of `problem` or `contention`; the times of so
/// many periods with contention might not fit 64 bits. O(nodes * periods), with
/// contention times the logarithm of the nodes.
Result<PeriodTimeline> simulatePeriod(const CyclicProblem &problem,
                                      const CyclicOrder &schedule,
                                      const Contention &contention = {});

/// The time of `count` repetitions, from the first to the last, in nanoseconds.
/// `schedule` is legal, `problem` and `contention` have no error, the times fit
/// 64 bits, and `count` is from 1 to CyclicProblem::maxRepetitions.
/// O(nodes * (count + depth)), with contention times the logarithm of the
/// nodes.
int64_t simulateRun(const CyclicProblem &problem, const CyclicOrder &schedule,
                    int32_t count, const Contention &contention = {});

/// So many repetitions are simulated: of more, only the number of periods
/// differs.
inline constexpr int64_t maxSimulatedRepetitions = 64;

/// simulateRun() for any `count` from 0: repetitions beyond the first
/// maxSimulatedRepetitions take a period each. INT64_MAX if it does not, or
/// with contention might not, fit 64 bits. O(nodes * periods), with contention
/// times the logarithm of the nodes.
int64_t computeRunNs(const CyclicProblem &problem, const CyclicOrder &schedule,
                     int64_t count, const Contention &contention = {});

/// By position, the live bytes of all repetitions that are in progress, after
/// the operation there allocated and before it freed. `schedule` is legal.
/// O(depth * (nodes + dependences + uses)).
std::vector<int64_t> simulatePeriodMemory(const CyclicProblem &problem,
                                          const CyclicOrder &schedule);

/// The buffers of the body that are live at `position` of the period, each as
/// often as repetitions hold one, ascending: their sizes add up to what
/// simulatePeriodMemory() has there. `schedule` is legal. O(nodes + buffers +
/// uses + result).
std::vector<BufferId> findLiveInPeriod(const CyclicProblem &problem,
                                       const CyclicOrder &schedule,
                                       int32_t position);

/// The peak of live bytes of a whole run, from the first repetition to the last
/// of sufficiently many: the periods in which repetitions begin and end
/// included. O(depth * (nodes + dependences + uses)).
int64_t computeRunPeak(const CyclicProblem &problem,
                       const CyclicOrder &schedule);

/// What the allocator reserves in that run, beside buffers of `otherBytes` that
/// are there from the beginning to the end. `schedule` is legal. Error: that of
/// simulate() or replayAllocations() for the unrolled program.
/// O(depth * (nodes + buffers + dependences + uses) * log of these).
Result<ReservedMemory> replayRun(const CyclicProblem &problem,
                                 const CyclicOrder &schedule,
                                 const std::vector<int64_t> &otherBytes,
                                 const Contention &contention,
                                 SegmentKind kind);

/// Why a period cannot be shorter.
enum class PeriodBoundKind : uint8_t {
  /// The compute stream runs all computation of a repetition in a period.
  Computation,
  /// A communication stream runs all its collectives of a repetition, and waits
  /// for what has to lie between them.
  Stream,
  /// A circle of dependences: its time divided by the number of repetitions
  /// that it spans.
  Circle,
};

/// Lower bound of the period of every legal schedule, in nanoseconds.
struct PeriodBound {
  int64_t ns = 0;
  /// Of several with that bound, the first.
  PeriodBoundKind kind = PeriodBoundKind::Computation;
  /// The communication stream, or noStream.
  StreamId stream = noStream;
  /// The operations of a circle that limits the period, in the order of the
  /// dependences, from the smallest index; filled whenever there is a circle
  /// that takes time, also if another bound is larger.
  std::vector<NodeId> circle;
  int64_t circleNs = 0;
  int32_t circleDistance = 1;
};

/// Returns the largest of each stream's work, of the circles' time over their
/// distance (the minimum initiation interval of modulo scheduling: ResMII and
/// RecMII), and of the tight lower bound of what lies between an operation and
/// that of the next repetition. Error: the one of `problem`.
Result<PeriodBound> computePeriodBound(const CyclicProblem &problem);

} // namespace mlir::commsched::schedule

#endif // COMMSCHED_SCHEDULE_CYCLIC_PERIOD_H
