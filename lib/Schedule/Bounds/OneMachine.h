//===- OneMachine.h - Jobs that share one machine ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bounds of the one-machine problem: a machine runs jobs one at a time. Each
// job has a release time (its head), a processing time, and a delivery time
// after it (its tail). These are relaxations of a stream, for lower bounds.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_SCHEDULE_BOUNDS_ONEMACHINE_H
#define COMMSCHED_LIB_SCHEDULE_BOUNDS_ONEMACHINE_H

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace mlir::commsched::schedule {

/// A job, in nanoseconds; nothing is negative.
struct Job {
  int64_t headNs;
  int64_t timeNs;
  int64_t tailNs;
};

/// When the last tail of `jobs` is over, at the earliest, if the machine may
/// interrupt jobs: 0 without jobs. At all times the machine runs, of the jobs
/// that are available, the one with the longest tail (Jackson's rule). That is
/// the largest, over all sets of jobs, of the shortest head, the sum of the
/// times and the shortest tail in the set; so it bounds also what a machine
/// that does not interrupt can do. See J. Carlier, "The one-machine sequencing
/// problem", European Journal of Operational Research 11 (1982).
/// O(n log n).
int64_t computePreemptiveEnd(std::vector<Job> jobs);

/// Sets of jobs on several machines, of which only heads and times matter: when
/// each machine is busy if it runs its jobs in the order of their heads, none
/// before its head. Sets can be joined.
///
/// A busy period stands for all jobs in it, without loss: in a larger set, no
/// job of the period says more on when the machine is done than the period as
/// one job does, which has the head of the first and the time of all. So a set
/// holds its periods and nothing else; where computation is one chain that is
/// few.
class BusyPeriods {
public:
  /// Adds a job to `machine`. O(log n), amortised.
  void add(int32_t machine, int64_t headNs, int64_t timeNs);

  /// Adds the jobs of `other`, which is left without any. The smaller set goes
  /// into the larger: n jobs are joined, in any order, in O(n log² n).
  void join(BusyPeriods &other);

  /// When all machines are done: the least time at which jobs with these heads
  /// can be.
  int64_t endNs() const { return end; }

private:
  /// (machine, begin) -> end. On one machine they neither overlap nor touch.
  std::map<std::pair<int32_t, int64_t>, int64_t> periods;
  int64_t end = 0;
};

} // namespace mlir::commsched::schedule

#endif // COMMSCHED_LIB_SCHEDULE_BOUNDS_ONEMACHINE_H
